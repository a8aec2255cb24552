//! The node itself, preparing, and writing.

use serde_json::{json, Map, Value};

use super::held::hold_id;
use super::options::check_prefer;
use super::retry::Repeat;
use super::{parse_answer, random_hex, unreadable, BatchOptions, Call, Client, Effect, EventOptions, KeyUse};
use crate::answers::{AnyBatch, Created, CreatedBatch, Erased, Health, Limits, Ready, Revoked, TrustRootAnswer};
use crate::bytes::from_base64_exact;
use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash, OriginFingerprint, PublicKey};
use crate::input::{read, ClaimInput, ClientEventId, Event, GrantInput, RevocationInput};
use crate::prepare::{
    prepare_claim_anchor, prepare_event_anchor, prepare_grant_anchor, prepare_revocation, PreparedClaimAnchor,
    PreparedEventAnchor, PreparedGrantAnchor, PreparedRevocation, Revocation, SignedClaim, SignedGrant,
};
use crate::trust_root_chain::{verify_trust_root, TrustRootChain};

/// Items in a batch, by the API.
pub(super) const BATCH_ITEMS_MAX: usize = 1_000;

/// Reads an anchor id of the caller's.
pub(super) fn read_id<H>(anchor_id: H) -> Result<AnchorId>
where
    H: TryInto<Hash>,
    Error: From<H::Error>,
{
    read("anchor_id", anchor_id)
}

/// The hashes of a proof, as answers write them.
pub(super) fn read_proof(proof: &[String]) -> Result<Vec<Hash>> {
    let hashes = proof.iter().map(|hash| from_base64_exact(hash).map(Hash::new)).collect::<Option<Vec<_>>>();
    hashes.ok_or_else(|| Error::verification("proof_malformed", "a hash of the proof is malformed"))
}

/// Health, limits and the trust root: no API key is needed, and one is sent only to `/healthz`, which then shows more.
impl Client {
    /// The health of the node that answers, its origin, and its root sync summary.
    ///
    /// # Errors
    /// That of the connection.
    pub async fn healthz(&self) -> Result<Health> {
        self.call(&Call { key: KeyUse::Welcome, ..self.get("/healthz") }).await
    }

    /// Whether the node that answers is ready. Not being ready is an answer, not an error.
    ///
    /// # Errors
    /// That of the connection.
    pub async fn readyz(&self) -> Result<Ready> {
        let call = Call { key: KeyUse::Unsent, ..self.get("/readyz") };
        parse_answer(&self.call_raw(&call, &[503]).await?)
    }

    /// Every limit of the service.
    ///
    /// # Errors
    /// That of the connection.
    pub async fn limits(&self) -> Result<Limits> {
        self.call(&Call { key: KeyUse::Unsent, ..self.get("/v1/limits") }).await
    }

    /// The trust root, unverified: see [`trust_root_chain`](Self::trust_root_chain).
    ///
    /// # Errors
    /// That of the connection.
    pub async fn trust_root(&self) -> Result<TrustRootAnswer> {
        self.call(&Call { key: KeyUse::Unsent, ..self.get("/v1/trust-root") }).await
    }

    /// The trust root, verified from a RootTHK that was learnt out of band, of any version. Keep the newest version and
    /// its RootTHK, and hold the next chain against it with
    /// [`check_not_older`](TrustRootChain::check_not_older).
    ///
    /// # Errors
    /// `pin_mismatch` and the other codes of [`verify_trust_root`].
    pub async fn trust_root_chain<H>(&self, pinned_root_thk: H) -> Result<TrustRootChain>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let pin = read("pinned_root_thk", pinned_root_thk)?;
        let answer = self.trust_root().await?;
        let start = answer.chain.iter().position(|version| version.root_thk == pin).unwrap_or(0);
        let documents: Vec<&str> = answer.chain.iter().skip(start).map(|version| version.document.as_str()).collect();
        verify_trust_root(&documents, &pin)
    }
}

/// Preparing what is signed, for the origin that this client writes to. Once that is known, nothing is sent.
impl Client {
    /// A claim, to be signed by its subject and then by its issuer.
    ///
    /// # Errors
    /// `invalid_input`, or that of reading the origin.
    pub async fn prepare_claim_anchor(&self, input: &ClaimInput) -> Result<PreparedClaimAnchor> {
        prepare_claim_anchor(&self.origin_fingerprint().await?, input)
    }

    /// A grant, to be signed by its grantor and then by its witness.
    ///
    /// # Errors
    /// `invalid_input`, or that of reading the origin.
    pub async fn prepare_grant_anchor(&self, input: &GrantInput) -> Result<PreparedGrantAnchor> {
        prepare_grant_anchor(&self.origin_fingerprint().await?, input)
    }

    /// An event, to be signed by who acts.
    ///
    /// # Errors
    /// `invalid_input`, or that of reading the origin.
    pub async fn prepare_event_anchor(&self, event: &Event, actor: &PublicKey) -> Result<PreparedEventAnchor> {
        prepare_event_anchor(&self.origin_fingerprint().await?, event, actor)
    }

    /// A revocation, to be signed by who revokes. It is about the target's origin, not this client's.
    ///
    /// # Errors
    /// `invalid_input`.
    pub async fn prepare_revocation(&self, input: &RevocationInput) -> Result<PreparedRevocation> {
        prepare_revocation(input)
    }
}

/// Writing. What was recorded before is answered again, with `replayed`.
impl Client {
    /// Registers a ClaimAnchor.
    ///
    /// # Errors
    /// `signature_invalid`, `claim_conflict`, … and `outcome_unknown`.
    pub async fn create_claim_anchor(&self, claim: &SignedClaim) -> Result<Created> {
        check_prefer(self.prefer)?;
        let created = self.call(&self.write("/v1/claim-anchors", claim.to_json())).await?;
        self.checked_created(created, claim).await
    }

    /// Registers a GrantAnchor.
    ///
    /// # Errors
    /// `signature_invalid`, `claim_not_in_force`, `depth_exceeded`, … and `outcome_unknown`.
    pub async fn create_grant_anchor(&self, grant: &SignedGrant) -> Result<Created> {
        check_prefer(self.prefer)?;
        let created = self.call(&self.write("/v1/grant-anchors", grant.to_json())).await?;
        self.checked_created(created, grant).await
    }

    /// Anchors an event that refers to nothing. A `client_event_id` is drawn for it.
    ///
    /// # Errors
    /// `outcome_unknown`, ….
    pub async fn create_event_anchor<H>(&self, event_hash: H) -> Result<Created>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        self.create_event(&Event::new(event_hash)?).await
    }

    /// Anchors an event with all optional fields, except a signature.
    ///
    /// # Errors
    /// `reference_not_found`, `client_event_id_conflict`, … and `outcome_unknown`.
    pub async fn create_event_anchor_with_options<H>(&self, event_hash: H, options: EventOptions) -> Result<Created>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let EventOptions { semantic_anchor, client_event_id, prefer } = options;
        let event = Event::new(event_hash)?.semantic_anchor(semantic_anchor).client_event_id(client_event_id);
        self.with_prefer(prefer.unwrap_or(self.prefer)).create_event(&event).await
    }

    /// Anchors an event that was put together before: one that its actor has signed, for example.
    ///
    /// # Errors
    /// `signature_invalid`, … and `outcome_unknown`.
    pub async fn create_event(&self, event: &Event) -> Result<Created> {
        check_prefer(self.prefer)?;
        let (event, repeat, hint) = named(event)?;
        let origin = self.origin_of(std::slice::from_ref(&event)).await?;
        let client_event_ids = ids_of(std::slice::from_ref(&event));
        let write = self.write("/v1/event-anchors", event.to_request(&origin));
        let created = self.call(&Call { effect: Effect::Write(repeat), hint, client_event_ids, ..write }).await?;
        self.checked_created(created, &event).await
    }

    /// Anchors up to 1,000 events at once, of which at most 256 may be signed. The answer is in their order, and an
    /// item may have been refused: look at each.
    ///
    /// # Errors
    /// `batch_refused` if it is atomic, `invalid_request` if one item is malformed, … and `outcome_unknown`.
    pub async fn create_event_anchors(&self, events: &[Event], options: BatchOptions) -> Result<CreatedBatch> {
        check_prefer(self.prefer)?;
        if events.is_empty() || events.len() > BATCH_ITEMS_MAX {
            return Err(Error::invalid_input("events", "expected 1 to 1,000 of them"));
        }
        let named: Vec<(Event, Repeat, String)> = events.iter().map(named).collect::<Result<_>>()?;
        let is_repeatable = named.iter().all(|(_, repeat, _)| *repeat == Repeat::Freely);
        let events: Vec<Event> = named.into_iter().map(|(event, ..)| event).collect();
        let origin = self.origin_of(&events).await?;
        let items: Vec<Value> = events.iter().map(|event| Value::Object(event.to_json())).collect();
        let mut body = Map::new();
        body.insert("origin_fingerprint".into(), origin.to_hex().into());
        body.insert("events".into(), items.into());
        if options.atomic {
            body.insert("atomic".into(), true.into());
        }
        if options.shared_receipts {
            body.insert("receipts".into(), "shared".into());
        }
        let write = self.write("/v1/event-anchors/batch", Value::Object(body));
        let call = Call {
            effect: Effect::Write(if is_repeatable { Repeat::Freely } else { Repeat::IfNotSent }),
            timeout: self.shared.timeouts.batch.max(self.prefer.timeout()),
            hint: "; ask again with the same client_event_id for each event: what was recorded is replayed".into(),
            client_event_ids: ids_of(&events),
            ..write
        };
        let AnyBatch(batch) = self.call(&call).await?;
        if batch.results.len() != events.len() {
            let fault = "the answer has another number of results than events were sent";
            return Err(unreadable(&call, Error::response_invalid(fault)));
        }
        self.checked_batch(batch, &events).await
    }

    /// Ends a claim, for good.
    ///
    /// # Errors
    /// `anchor_not_found`, `wrong_kind`, `scope_missing`, … and `outcome_unknown`.
    pub async fn revoke_claim_anchor(&self, revocation: &Revocation) -> Result<Revoked> {
        self.revoke("claim-anchors", revocation).await
    }

    /// Ends a grant, for good.
    ///
    /// # Errors
    /// `anchor_not_found`, `wrong_kind`, `scope_missing`, … and `outcome_unknown`.
    pub async fn revoke_grant_anchor(&self, revocation: &Revocation) -> Result<Revoked> {
        self.revoke("grant-anchors", revocation).await
    }

    async fn revoke(&self, family: &str, revocation: &Revocation) -> Result<Revoked> {
        check_prefer(self.prefer)?;
        let path = format!("/v1/{family}/{}/revoke", revocation.target_anchor_id());
        let revoked = self.call(&self.write(path, revocation.to_json())).await?;
        self.checked_revoked(revoked, revocation).await
    }

    /// Erases the clear text of a `client_event_id`. The event stays. It takes a key with the scope `admin`.
    ///
    /// # Errors
    /// `anchor_not_found`, `wrong_kind`, `scope_missing`, … and `outcome_unknown`.
    pub async fn erase_client_event_id<H>(&self, anchor_id: H) -> Result<Erased>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let anchor_id = read_id(anchor_id)?;
        let path = format!("/v1/event-anchors/{anchor_id}/erase-client-event-id");
        let erased: Erased = self.call(&Call { prefer: None, ..self.write(path, json!({})) }).await?;
        hold_id(&erased.anchor, &anchor_id)?;
        Ok(erased)
    }

    /// The origin that signed events were signed for, which must be one; else the client's.
    async fn origin_of(&self, events: &[Event]) -> Result<OriginFingerprint> {
        let mut signed = events.iter().filter_map(|event| event.actor.as_ref()).map(|actor| actor.origin_fingerprint);
        let Some(first) = signed.next() else { return self.origin_fingerprint().await };
        if signed.any(|other| other != first) {
            return Err(Error::invalid_input("events", "they are signed for different origins"));
        }
        Ok(first)
    }
}

/// To be told if their outcome is unknown.
fn ids_of(events: &[Event]) -> Vec<Option<String>> {
    let id = |event: &Event| match &event.client_event_id {
        ClientEventId::Given(id) => Some(id.clone()),
        ClientEventId::Generated | ClientEventId::None => None,
    };
    events.iter().map(id).collect()
}

/// An event with the id that it will be known by, drawn if that is wanted; whether it may be sent twice; and what to
/// say.
fn named(event: &Event) -> Result<(Event, Repeat, String)> {
    event.check()?;
    let id = match &event.client_event_id {
        ClientEventId::None => {
            let hint = "; without a client_event_id a second try would be a second event: look for its hash first";
            return Ok((event.clone(), Repeat::IfNotSent, hint.to_owned()));
        }
        ClientEventId::Given(id) => id.clone(),
        ClientEventId::Generated => random_hex::<16>()?,
    };
    let hint = format!("; ask again with the same client_event_id: {id:?}");
    Ok((event.clone().client_event_id(ClientEventId::Given(id)), Repeat::Freely, hint))
}
