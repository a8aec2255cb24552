//! Grants: signed by the grantor, then by the witness.

use std::fmt;

use serde_json::{Map, Value};

use super::payload::{Body, Payload, SignerRole};
use crate::bytes::Shown;
use crate::error::{Error, Result};
use crate::hash::{Hash, OriginFingerprint, Signature};
use crate::input::GrantInput;
use crate::payloads::{grant_payload, second_payload, GrantContent};
use crate::signer::Signer;

/// A grant that is to be signed: by its grantor, then by its witness.
#[derive(Clone, Debug)]
pub struct PreparedGrantAnchor {
    origin_fingerprint: OriginFingerprint,
    input: GrantInput,
    grantor_payload: Payload,
}

/// A grant that both have signed: what is sent.
#[derive(Clone)]
pub struct SignedGrant {
    payload: Vec<u8>,
    body: Map<String, Value>,
}

impl fmt::Debug for SignedGrant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("SignedGrant");
        shown.field("payload", &Shown(&self.payload)).field("body", &self.body).finish()
    }
}

/// Prepares a grant, offline.
///
/// # Errors
/// `invalid_input`, naming the field.
pub fn prepare_grant_anchor(origin_fingerprint: &OriginFingerprint, input: &GrantInput) -> Result<PreparedGrantAnchor> {
    input.check()?;
    let bytes = grant_payload(&GrantContent {
        origin_fingerprint,
        grantor_claim_ref: &input.grantor_claim_ref,
        grantee_claim_ref: &input.grantee_claim_ref,
        parent_grant_ref: &input.parent_grant_ref.unwrap_or(Hash::ZERO),
        scope_hash: &input.scope_hash,
        delegation_depth: input.delegation_depth,
        issued_at: input.issued_at.unwrap_or(0),
        not_before: input.not_before.unwrap_or(0),
        expires_at: input.expires_at.unwrap_or(0),
        grantor_public_key: &input.grantor_public_key,
        witness_public_key: &input.witness_public_key,
    });
    let grantor_payload = Payload { role: SignerRole::Grantor, public_key: input.grantor_public_key, bytes };
    Ok(PreparedGrantAnchor { origin_fingerprint: *origin_fingerprint, input: input.clone(), grantor_payload })
}

impl PreparedGrantAnchor {
    /// Who signs, in this order.
    pub const SIGNING_ORDER: [SignerRole; 2] = [SignerRole::Grantor, SignerRole::Witness];

    /// What the grantor signs: 279 bytes.
    pub fn grantor_payload(&self) -> &Payload {
        &self.grantor_payload
    }

    /// What the witness signs, once the grantor has signed: 131 bytes.
    ///
    /// # Errors
    /// `invalid_input` if the grantor's signature is none over its payload.
    pub fn witness_payload<S>(&self, grantor_signature: S) -> Result<Payload>
    where
        S: TryInto<Signature>,
        Error: From<S::Error>,
    {
        let grantor_signature = self.grantor_payload.check(grantor_signature)?;
        let bytes = second_payload("grant-witness", self.grantor_payload.bytes(), &grantor_signature);
        Ok(Payload { role: SignerRole::Witness, public_key: self.input.witness_public_key, bytes })
    }

    /// The grant with signatures that were made elsewhere. Both are verified.
    ///
    /// # Errors
    /// `invalid_input`, naming the signature.
    pub fn with_signatures<G, W>(&self, grantor_signature: G, witness_signature: W) -> Result<SignedGrant>
    where
        G: TryInto<Signature>,
        W: TryInto<Signature>,
        Error: From<G::Error> + From<W::Error>,
    {
        let grantor_signature = self.grantor_payload.check(grantor_signature)?;
        let witness_signature = self.witness_payload(grantor_signature)?.check(witness_signature)?;
        let mut body = Body::new(Some(&self.origin_fingerprint));
        body.text("grantor_claim_ref", self.input.grantor_claim_ref);
        body.text("grantee_claim_ref", self.input.grantee_claim_ref);
        body.text("scope_hash", self.input.scope_hash);
        body.0.insert("delegation_depth".into(), self.input.delegation_depth.into());
        body.text("grantor_public_key", self.input.grantor_public_key);
        body.text("grantor_signature", grantor_signature);
        body.text("witness_public_key", self.input.witness_public_key);
        body.text("witness_signature", witness_signature);
        if let Some(parent) = self.input.parent_grant_ref.and_then(Hash::non_zero) {
            body.text("parent_grant_ref", parent);
        }
        body.time("issued_at", self.input.issued_at);
        body.time("not_before", self.input.not_before);
        body.time("expires_at", self.input.expires_at);
        Ok(SignedGrant { payload: self.grantor_payload.bytes.clone(), body: body.0 })
    }

    /// Asks the signers, one after the other.
    ///
    /// # Errors
    /// `signer_failed`.
    pub async fn sign<G, W>(&self, grantor: &G, witness: &W) -> Result<SignedGrant>
    where
        G: Signer + ?Sized,
        W: Signer + ?Sized,
    {
        let grantor_signature = self.grantor_payload.sign_with(grantor).await?;
        let witness_signature = self.witness_payload(grantor_signature)?.sign_with(witness).await?;
        self.with_signatures(grantor_signature, witness_signature)
    }
}

impl SignedGrant {
    /// What the grantor has signed: hold a receipt against it.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The body of `POST /v1/grant-anchors`.
    pub fn to_json(&self) -> Value {
        Value::Object(self.body.clone())
    }
}
