//! Revocations: signed by a party, or the API client's own.

use serde_json::Value;

use super::payload::{Body, Payload, SignerRole};
use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash, PublicKey, Signature};
use crate::input::{check_integer, read, RevocationInput};
use crate::payloads::revocation_payload;
use crate::signer::Signer;
use crate::words::RevocationReason;

/// A revocation that a party is to sign, or the API client's own, which nobody signs.
#[derive(Clone, Debug)]
pub struct PreparedRevocation {
    input: RevocationInput,
    revoker_payload: Option<Payload>,
}

/// Prepares a revocation, offline.
///
/// # Errors
/// `invalid_input`, naming the field.
pub fn prepare_revocation(input: &RevocationInput) -> Result<PreparedRevocation> {
    input.check()?;
    let RevocationInput { target_origin_fingerprint, target_anchor_id, reason, suspect_since, issued_at, .. } = input;
    let revoker_payload = input.revoker_public_key.map(|public_key| {
        let (suspect_since, issued_at) = (suspect_since.unwrap_or(0), issued_at.unwrap_or(0));
        let bytes = revocation_payload(target_origin_fingerprint, target_anchor_id, *reason, suspect_since, issued_at);
        Payload { role: SignerRole::Revoker, public_key, bytes }
    });
    Ok(PreparedRevocation { input: input.clone(), revoker_payload })
}

impl PreparedRevocation {
    /// What the revoker signs: 113 bytes; `None` if the API client revokes.
    pub fn revoker_payload(&self) -> Option<&Payload> {
        self.revoker_payload.as_ref()
    }

    fn payload(&self) -> Result<&Payload> {
        self.revoker_payload
            .as_ref()
            .ok_or_else(|| Error::invalid_input("revoker_public_key", "an API client's revocation is not signed"))
    }

    fn unsigned(&self) -> Revocation {
        let RevocationInput { target_anchor_id, reason, suspect_since, issued_at, .. } = self.input;
        Revocation { target_anchor_id, reason, suspect_since, issued_at, signer: None }
    }

    /// The revocation with a signature that was made elsewhere. It is verified.
    ///
    /// # Errors
    /// `invalid_input`.
    pub fn with_signature<S>(&self, revoker_signature: S) -> Result<Revocation>
    where
        S: TryInto<Signature>,
        Error: From<S::Error>,
    {
        let payload = self.payload()?;
        let signature = payload.check(revoker_signature)?;
        Ok(Revocation { signer: Some((payload.public_key, signature)), ..self.unsigned() })
    }

    /// Asks the signer.
    ///
    /// # Errors
    /// `signer_failed`.
    pub async fn sign<S: Signer + ?Sized>(&self, revoker: &S) -> Result<Revocation> {
        self.with_signature(self.payload()?.sign_with(revoker).await?)
    }

    /// The revocation as the API client's, which has recorded the target.
    ///
    /// # Errors
    /// `invalid_input` if a revoker is named, who has to sign.
    pub fn by_client(&self) -> Result<Revocation> {
        if self.revoker_payload.is_some() {
            return Err(Error::invalid_input("revoker_signature", "a revoker is named, and has not signed"));
        }
        Ok(self.unsigned())
    }
}

/// A revocation as it is sent.
#[derive(Clone, Debug)]
pub struct Revocation {
    target_anchor_id: AnchorId,
    reason: RevocationReason,
    suspect_since: Option<u64>,
    issued_at: Option<u64>,
    signer: Option<(PublicKey, Signature)>,
}

impl Revocation {
    /// The API client revokes what it has recorded itself: its key needs the scope `revoke`, and nobody signs. Of what
    /// another client has recorded the service answers `not_own_record`.
    ///
    /// # Errors
    /// `invalid_input` if it is no anchor id.
    pub fn by_client<H>(target_anchor_id: H, reason: RevocationReason) -> Result<Self>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let target_anchor_id = read("target_anchor_id", target_anchor_id)?;
        Ok(Self { target_anchor_id, reason, suspect_since: None, issued_at: None, signer: None })
    }

    /// Earlier acts accepted from then on (Unix milliseconds) are shown as suspect. Unsigned alone: otherwise it
    /// is signed.
    ///
    /// # Errors
    /// `invalid_input` if it is too large, or the revocation is signed.
    pub fn suspect_since(mut self, suspect_since: u64) -> Result<Self> {
        check_integer("suspect_since", Some(suspect_since))?;
        if self.signer.is_some() {
            return Err(Error::invalid_input("suspect_since", "the revocation is signed"));
        }
        self.suspect_since = Some(suspect_since);
        Ok(self)
    }

    /// Whether a leaf records it; of an unsigned one it does not say whose.
    #[cfg(feature = "client")]
    pub(crate) fn is_content_of(&self, body: &crate::leaf::RevocationBody) -> bool {
        let is_same_revoker = match &self.signer {
            Some((public_key, _)) => public_key.as_bytes() == body.revoker.as_bytes(),
            None => body.authority == crate::words::RevocationAuthority::Operator,
        };
        is_same_revoker
            && body.target_anchor_id == self.target_anchor_id
            && body.reason == self.reason
            && body.suspect_since == self.suspect_since.unwrap_or(0)
            && body.issued_at == self.issued_at.unwrap_or(0)
    }

    /// What ends.
    pub fn target_anchor_id(&self) -> &AnchorId {
        &self.target_anchor_id
    }

    /// The body of `POST …/{anchor_id}/revoke`.
    pub fn to_json(&self) -> Value {
        let mut body = Body::new(None);
        if self.reason != RevocationReason::Unspecified {
            body.text("reason", self.reason);
        }
        body.time("suspect_since", self.suspect_since);
        body.time("issued_at", self.issued_at);
        if let Some((public_key, signature)) = self.signer {
            body.text("revoker_public_key", public_key);
            body.text("revoker_signature", signature);
        }
        Value::Object(body.0)
    }
}
