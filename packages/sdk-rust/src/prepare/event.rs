//! Events that who acts has signed.

use super::payload::{Payload, SignerRole};
use crate::error::{Error, Result};
use crate::hash::{OriginFingerprint, PublicKey, Signature};
use crate::input::{Actor, Event};
use crate::payloads::event_actor_payload;
use crate::signer::Signer;

/// An event that its actor is to sign.
#[derive(Clone, Debug)]
pub struct PreparedEventAnchor {
    origin_fingerprint: OriginFingerprint,
    event: Event,
    actor_payload: Payload,
}

/// Prepares an event that its actor signs, offline. The `client_event_id` is not signed.
///
/// # Errors
/// `invalid_input`, naming the field.
pub fn prepare_event_anchor(
    origin_fingerprint: &OriginFingerprint,
    event: &Event,
    actor_public_key: &PublicKey,
) -> Result<PreparedEventAnchor> {
    event.check()?;
    let bytes = event_actor_payload(origin_fingerprint, &event.event_hash, &event.semantic_anchor.hashes());
    let actor_payload = Payload { role: SignerRole::Actor, public_key: *actor_public_key, bytes };
    Ok(PreparedEventAnchor { origin_fingerprint: *origin_fingerprint, event: event.clone(), actor_payload })
}

impl PreparedEventAnchor {
    /// What the actor signs: 289 bytes.
    pub fn actor_payload(&self) -> &Payload {
        &self.actor_payload
    }

    /// The event with a signature that was made elsewhere. It is verified.
    ///
    /// # Errors
    /// `invalid_input`.
    pub fn with_signature<S>(&self, actor_signature: S) -> Result<Event>
    where
        S: TryInto<Signature>,
        Error: From<S::Error>,
    {
        let signature = self.actor_payload.check(actor_signature)?;
        let public_key = self.actor_payload.public_key;
        let actor = Actor { public_key, signature, origin_fingerprint: self.origin_fingerprint };
        Ok(Event { actor: Some(actor), ..self.event.clone() })
    }

    /// Asks the signer.
    ///
    /// # Errors
    /// `signer_failed`.
    pub async fn sign<S: Signer + ?Sized>(&self, actor: &S) -> Result<Event> {
        self.with_signature(self.actor_payload.sign_with(actor).await?)
    }
}
