//! Claims: signed by the subject, then by the issuer.

use std::fmt;

use serde_json::{Map, Value};

use super::payload::{Body, Payload, SignerRole};
use crate::bytes::Shown;
use crate::error::{Error, Result};
use crate::hash::{OriginFingerprint, Signature};
use crate::input::ClaimInput;
use crate::payloads::{claim_payload, second_payload, ClaimContent};
use crate::signer::Signer;

/// A claim that is to be signed: by its subject, then by its issuer.
#[derive(Clone, Debug)]
pub struct PreparedClaimAnchor {
    origin_fingerprint: OriginFingerprint,
    input: ClaimInput,
    subject_payload: Payload,
}

/// A claim that both have signed: what is sent.
#[derive(Clone)]
pub struct SignedClaim {
    payload: Vec<u8>,
    body: Map<String, Value>,
}

impl fmt::Debug for SignedClaim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("SignedClaim");
        shown.field("payload", &Shown(&self.payload)).field("body", &self.body).finish()
    }
}

/// Prepares a claim, offline.
///
/// # Errors
/// `invalid_input`, naming the field.
pub fn prepare_claim_anchor(origin_fingerprint: &OriginFingerprint, input: &ClaimInput) -> Result<PreparedClaimAnchor> {
    input.check()?;
    let bytes = claim_payload(&ClaimContent {
        origin_fingerprint,
        entity_fingerprint: &input.entity_fingerprint,
        attribute_type: input.attribute_type,
        attribute_hash: &input.attribute_hash,
        issued_at: input.issued_at.unwrap_or(0),
        expires_at: input.expires_at.unwrap_or(0),
        subject_public_key: &input.subject_public_key,
        issuer_public_key: &input.issuer_public_key,
    });
    let subject_payload = Payload { role: SignerRole::Subject, public_key: input.subject_public_key, bytes };
    Ok(PreparedClaimAnchor { origin_fingerprint: *origin_fingerprint, input: input.clone(), subject_payload })
}

impl PreparedClaimAnchor {
    /// Who signs, in this order.
    pub const SIGNING_ORDER: [SignerRole; 2] = [SignerRole::Subject, SignerRole::Issuer];

    /// What the subject signs: 207 bytes.
    pub fn subject_payload(&self) -> &Payload {
        &self.subject_payload
    }

    /// What the issuer signs, once the subject has signed: 130 bytes.
    ///
    /// # Errors
    /// `invalid_input` if the subject's signature is none over its payload.
    pub fn issuer_payload<S>(&self, subject_signature: S) -> Result<Payload>
    where
        S: TryInto<Signature>,
        Error: From<S::Error>,
    {
        let subject_signature = self.subject_payload.check(subject_signature)?;
        let bytes = second_payload("claim-issuer", self.subject_payload.bytes(), &subject_signature);
        Ok(Payload { role: SignerRole::Issuer, public_key: self.input.issuer_public_key, bytes })
    }

    /// The claim with signatures that were made elsewhere, in an HSM for example. Both are verified.
    ///
    /// # Errors
    /// `invalid_input`, naming the signature.
    pub fn with_signatures<S, I>(&self, subject_signature: S, issuer_signature: I) -> Result<SignedClaim>
    where
        S: TryInto<Signature>,
        I: TryInto<Signature>,
        Error: From<S::Error> + From<I::Error>,
    {
        let subject_signature = self.subject_payload.check(subject_signature)?;
        let issuer_signature = self.issuer_payload(subject_signature)?.check(issuer_signature)?;
        let ClaimInput { entity_fingerprint, attribute_type, attribute_hash, .. } = &self.input;
        let mut body = Body::new(Some(&self.origin_fingerprint));
        body.text("entity_fingerprint", entity_fingerprint);
        body.0.insert("attribute_type".into(), (*attribute_type).into());
        body.text("attribute_hash", attribute_hash);
        body.text("subject_public_key", self.input.subject_public_key);
        body.text("subject_signature", subject_signature);
        body.text("issuer_public_key", self.input.issuer_public_key);
        body.text("issuer_signature", issuer_signature);
        body.time("issued_at", self.input.issued_at);
        body.time("expires_at", self.input.expires_at);
        Ok(SignedClaim { payload: self.subject_payload.bytes.clone(), body: body.0 })
    }

    /// Asks the signers, one after the other.
    ///
    /// # Errors
    /// `signer_failed`.
    pub async fn sign<S, I>(&self, subject: &S, issuer: &I) -> Result<SignedClaim>
    where
        S: Signer + ?Sized,
        I: Signer + ?Sized,
    {
        let subject_signature = self.subject_payload.sign_with(subject).await?;
        let issuer_signature = self.issuer_payload(subject_signature)?.sign_with(issuer).await?;
        self.with_signatures(subject_signature, issuer_signature)
    }
}

impl SignedClaim {
    /// What the subject has signed: hold a receipt against it.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The body of `POST /v1/claim-anchors`.
    pub fn to_json(&self) -> Value {
        Value::Object(self.body.clone())
    }
}
