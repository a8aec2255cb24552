//! Every operation of the API.

use serde_json::{json, Map, Value};

use super::options::{check_prefer, target};
use super::retry::Repeat;
use super::{
    parse_answer, random_hex, BatchOptions, Call, Client, Effect, EventFilter, EventOptions, Page, TraceOptions,
    VerifyItem, VerifyOptions,
};
use crate::answers::{
    ActiveClaim, ActiveGrant, AnchorAnswer, Consistency, Created, CreatedBatch, Erased, EventList, Health, Latest,
    Limits, Ready, Revoked, Trace, TrustRootAnswer, Verified, VerifiedBatch, VerifiedClaim, VerifiedGrant,
};
use crate::bytes::from_base64_exact;
use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash, OriginFingerprint, PublicKey};
use crate::input::{read, ClaimInput, ClientEventId, Event, GrantInput, RevocationInput};
use crate::merkle::verify_consistency;
use crate::prepare::{
    prepare_claim_anchor, prepare_event_anchor, prepare_grant_anchor, prepare_revocation, PreparedClaim, PreparedEvent,
    PreparedGrant, PreparedRevocation, Revocation, SignedClaim, SignedGrant,
};
use crate::receipt::Receipt;
use crate::trust_root_chain::TrustRootChain;

/// Of the API.
const BATCH_ITEMS_MAX: usize = 1_000;

/// Reads an anchor id of the caller's.
fn read_id<H>(anchor_id: H) -> Result<AnchorId>
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

/// Health, limits and the trust root: no API key is needed, and none is sent.
impl Client {
    /// The health of the node that answers, its origin, and its root sync summary.
    ///
    /// # Errors
    /// That of the connection.
    pub async fn healthz(&self) -> Result<Health> {
        self.call(&Call { needs_key: false, ..self.get("/healthz") }).await
    }

    /// Whether the node that answers is ready. Not being ready is an answer, not an error.
    ///
    /// # Errors
    /// That of the connection.
    pub async fn readyz(&self) -> Result<Ready> {
        let call = Call { needs_key: false, ..self.get("/readyz") };
        parse_answer(&self.call_raw(&call, &[503]).await?)
    }

    /// Every limit of the service.
    ///
    /// # Errors
    /// That of the connection.
    pub async fn limits(&self) -> Result<Limits> {
        self.call(&Call { needs_key: false, ..self.get("/v1/limits") }).await
    }

    /// The trust root, unverified: see [`trust_root_chain`](Self::trust_root_chain).
    ///
    /// # Errors
    /// That of the connection.
    pub async fn trust_root(&self) -> Result<TrustRootAnswer> {
        self.call(&Call { needs_key: false, ..self.get("/v1/trust-root") }).await
    }

    /// The trust root, verified from a RootTHK that was learnt out of band, of any version. Keep the newest version and
    /// its RootTHK, and hold the next chain against it with
    /// [`check_against_seen`](TrustRootChain::check_against_seen).
    ///
    /// # Errors
    /// `pin_mismatch` and the other codes of [`TrustRootChain::verify`].
    pub async fn trust_root_chain<H>(&self, pinned_root_thk: H) -> Result<TrustRootChain>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let pin = read("pinned_root_thk", pinned_root_thk)?;
        let answer = self.trust_root().await?;
        let start = answer.chain.iter().position(|version| version.root_thk == pin).unwrap_or(0);
        let documents: Vec<&str> = answer.chain.iter().skip(start).map(|version| version.document.as_str()).collect();
        TrustRootChain::verify(&documents, &pin)
    }
}

/// Preparing what is signed, for the origin that this client writes to. Once that is known, nothing is sent.
impl Client {
    /// A claim, to be signed by its subject and then by its issuer.
    ///
    /// # Errors
    /// `invalid_input`, or that of reading the origin.
    pub async fn prepare_claim_anchor(&self, input: &ClaimInput) -> Result<PreparedClaim> {
        prepare_claim_anchor(&self.origin_fingerprint().await?, input)
    }

    /// A grant, to be signed by its grantor and then by its witness.
    ///
    /// # Errors
    /// `invalid_input`, or that of reading the origin.
    pub async fn prepare_grant_anchor(&self, input: &GrantInput) -> Result<PreparedGrant> {
        prepare_grant_anchor(&self.origin_fingerprint().await?, input)
    }

    /// An event, to be signed by who acts.
    ///
    /// # Errors
    /// `invalid_input`, or that of reading the origin.
    pub async fn prepare_event_anchor(&self, event: &Event, actor: &PublicKey) -> Result<PreparedEvent> {
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
        self.call(&self.write("/v1/claim-anchors", claim.to_json())).await
    }

    /// Registers a GrantAnchor.
    ///
    /// # Errors
    /// `signature_invalid`, `claim_not_in_force`, `depth_exceeded`, … and `outcome_unknown`.
    pub async fn create_grant_anchor(&self, grant: &SignedGrant) -> Result<Created> {
        check_prefer(self.prefer)?;
        self.call(&self.write("/v1/grant-anchors", grant.to_json())).await
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

    /// Anchors an event with all that can be said of it, signatures aside.
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
        let write = self.write("/v1/event-anchors", event.to_request(&origin));
        self.call(&Call { effect: Effect::Write(repeat), hint, ..write }).await
    }

    /// Anchors up to 1,000 events at once, of which at most 256 may be signed. The answer is in their order, and an item
    /// may have been refused: look at each.
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
        let write = self.write("/v1/event-anchors/batch", Value::Object(body));
        let call = Call {
            effect: Effect::Write(if is_repeatable { Repeat::Freely } else { Repeat::IfNotSent }),
            timeout: self.shared.timeouts.batch.max(self.prefer.timeout()),
            hint: "; ask again with the same client_event_id for each event: what was recorded is replayed".into(),
            ..write
        };
        self.call(&call).await
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
        self.call(&self.write(path, revocation.to_json())).await
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
        let path = format!("/v1/event-anchors/{}/erase-client-event-id", read_id(anchor_id)?);
        self.call(&Call { prefer: None, ..self.write(path, json!({})) }).await
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

/// An event with the id that it will be known by, drawn if that is wanted; whether it may be sent twice; and what to say.
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

/// Reading. Answers are never older than any answer given before the request came.
impl Client {
    /// One anchor of any kind, with a receipt of now.
    ///
    /// # Errors
    /// `anchor_not_found`.
    pub async fn get_anchor<H>(&self, anchor_id: H) -> Result<AnchorAnswer>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        self.call(&self.get(format!("/v1/event-anchors/{}", read_id(anchor_id)?))).await
    }

    /// The receipt of an anchor, against the newest checkpoint. If it is not certified yet, the service waits for that.
    /// The receipt is of the anchor that was asked for; [`verify_receipt`](crate::verify_receipt) proves the rest.
    ///
    /// # Errors
    /// `anchor_not_found`, `certification_stalled`, `anchor_id_differs`.
    pub async fn get_receipt<H>(&self, anchor_id: H) -> Result<Receipt>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let anchor_id = read_id(anchor_id)?;
        let receipt: Receipt = self.call(&self.get(format!("/v1/event-anchors/{anchor_id}/receipt"))).await?;
        if receipt.anchor_id() != anchor_id {
            return Err(Error::verification("anchor_id_differs", "the receipt is of another anchor"));
        }
        Ok(receipt)
    }

    /// The active claim of a pair.
    ///
    /// # Errors
    /// `no_active_claim`, whose problem names the newest one, if there ever was one.
    pub async fn get_claim_anchor<H>(&self, entity_fingerprint: H, attribute_type: u32) -> Result<ActiveClaim>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let entity: Hash = read("entity_fingerprint", entity_fingerprint)?;
        let query =
            vec![("entity_fingerprint", Some(entity.to_hex())), ("attribute_type", Some(attribute_type.to_string()))];
        self.call(&self.get(target("/v1/claim-anchors", query))).await
    }

    /// The grant in force from one entity to another.
    ///
    /// # Errors
    /// `no_active_grant`, whose problem names the newest one, if there ever was one.
    pub async fn get_grant_anchor<G, H>(&self, grantor_fingerprint: G, grantee_fingerprint: H) -> Result<ActiveGrant>
    where
        G: TryInto<Hash>,
        H: TryInto<Hash>,
        Error: From<G::Error> + From<H::Error>,
    {
        let grantor: Hash = read("grantor_fingerprint", grantor_fingerprint)?;
        let grantee: Hash = read("grantee_fingerprint", grantee_fingerprint)?;
        let query =
            vec![("grantor_fingerprint", Some(grantor.to_hex())), ("grantee_fingerprint", Some(grantee.to_hex()))];
        self.call(&self.get(target("/v1/grant-anchors", query))).await
    }

    /// Certified events, ascending by sequence.
    ///
    /// # Errors
    /// `client_event_id_erased`, whose problem names the event.
    pub async fn list_event_anchors(&self, filter: &EventFilter, page: &Page) -> Result<EventList> {
        let (name, value) = filter.pair();
        let limit = page.limit.map(|limit| limit.to_string());
        let query = vec![(name, Some(value)), ("cursor", page.cursor.clone()), ("limit", limit)];
        self.call(&self.get(target("/v1/event-anchors", query))).await
    }

    /// The latest certified anchor (EEA) of an origin; `None`: of the node that answers. With `from_size`, also the
    /// proof that the tree of that size is its beginning. [`Monitor`](super::Monitor) checks all of it.
    ///
    /// # Errors
    /// `no_anchor_yet`, `from_size_ahead`.
    pub async fn latest(
        &self,
        origin_fingerprint: Option<&OriginFingerprint>,
        from_size: Option<u64>,
    ) -> Result<Latest> {
        let query = vec![
            ("origin_fingerprint", origin_fingerprint.map(Hash::to_hex)),
            ("from_size", from_size.map(|size| size.to_string())),
        ];
        self.call(&self.get(target("/v1/event-anchors/latest", query))).await
    }

    /// Proof that the tree of `from_size` is the beginning of that of `to_size` (`None`: the newest certified one). The
    /// proof is checked; that the roots are those of the cluster is for the caller to know.
    ///
    /// # Errors
    /// `from_size_ahead`; `consistency_wrong` if the proof proves nothing.
    pub async fn consistency(
        &self,
        origin_fingerprint: Option<&OriginFingerprint>,
        from_size: u64,
        to_size: Option<u64>,
    ) -> Result<Consistency> {
        let query = vec![
            ("origin_fingerprint", origin_fingerprint.map(Hash::to_hex)),
            ("from_size", Some(from_size.to_string())),
            ("to_size", to_size.map(|size| size.to_string())),
        ];
        let answer: Consistency = self.call(&self.get(target("/v1/event-anchors/consistency", query))).await?;
        let (from, to) = (&answer.from, &answer.to);
        let proof = read_proof(&answer.proof)?;
        let is_asked = from.tree_size == from_size && to_size.is_none_or(|size| size == to.tree_size);
        if !is_asked || !verify_consistency(from.tree_size, &from.root_hash, to.tree_size, &to.root_hash, &proof) {
            return Err(Error::verification(
                "consistency_wrong",
                "the proof does not lead from the one root to the other",
            ));
        }
        Ok(answer)
    }
}

/// Verifying and tracing: the service's own word. What needs no trust in it is the receipt beside it.
impl Client {
    /// Integrity and depth of an anchor of any kind.
    ///
    /// # Errors
    /// `anchor_not_found`, `as_of_future`.
    pub async fn verify_event_anchor<H>(&self, anchor_id: H, options: &VerifyOptions) -> Result<Verified>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let mut body = verify_body(read_id(anchor_id)?, options);
        if let Some(event_hash) = options.event_hash {
            body.insert("event_hash".into(), event_hash.to_hex().into());
        }
        self.call(&self.question("/v1/event-anchors:verify", Value::Object(body))).await
    }

    /// Nested signatures, anchor and revocation state of a claim.
    ///
    /// # Errors
    /// `anchor_not_found`, `wrong_kind`, `as_of_future`.
    pub async fn verify_claim_anchor<H>(&self, anchor_id: H, options: &VerifyOptions) -> Result<VerifiedClaim>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let body = verify_body(read_id(anchor_id)?, options);
        self.call(&self.question("/v1/claim-anchors:verify", Value::Object(body))).await
    }

    /// Nested signatures, delegation chain and linked claims of a grant.
    ///
    /// # Errors
    /// `anchor_not_found`, `wrong_kind`, `as_of_future`.
    pub async fn verify_grant_anchor<H>(&self, anchor_id: H, options: &VerifyOptions) -> Result<VerifiedGrant>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let mut body = verify_body(read_id(anchor_id)?, options);
        if !options.trusted_roots.is_empty() {
            body.insert("trusted_roots".into(), json!(options.trusted_roots));
        }
        self.call(&self.question("/v1/grant-anchors:verify", Value::Object(body))).await
    }

    /// Up to 1,000 anchors of any kind, in their order. Of the options only `as_of` is looked at.
    ///
    /// # Errors
    /// `as_of_future`. An unknown id is the problem of its item.
    pub async fn verify_event_anchors(&self, items: &[VerifyItem], options: &VerifyOptions) -> Result<VerifiedBatch> {
        if items.is_empty() || items.len() > BATCH_ITEMS_MAX {
            return Err(Error::invalid_input("anchors", "expected 1 to 1,000 of them"));
        }
        let anchors = items.iter().map(|VerifyItem { anchor_id, event_hash }| match event_hash {
            None => json!({ "anchor_id": anchor_id }),
            Some(event_hash) => json!({ "anchor_id": anchor_id, "event_hash": event_hash }),
        });
        let mut body = Map::new();
        body.insert("anchors".into(), anchors.collect());
        if let Some(as_of) = &options.as_of {
            body.insert("as_of".into(), as_of.to_json());
        }
        let question = self.question("/v1/event-anchors:batchVerify", Value::Object(body));
        self.call(&Call { timeout: self.shared.timeouts.batch, ..question }).await
    }

    /// From an anchor back to who acted, who delegated, and within what bounds.
    ///
    /// # Errors
    /// `anchor_not_found`, `as_of_future`.
    pub async fn trace<H>(&self, anchor_id: H, options: &TraceOptions) -> Result<Trace>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let roots: Vec<String> = options.trusted_roots.iter().map(Hash::to_hex).collect();
        let query = vec![
            ("as_of", options.as_of.as_ref().map(super::Position::to_query)),
            ("trusted_roots", (!roots.is_empty()).then(|| roots.join(","))),
            ("cursor", options.page.cursor.clone()),
            ("limit", options.page.limit.map(|limit| limit.to_string())),
        ];
        self.call(&self.get(target(&format!("/v1/event-anchors/{}/trace", read_id(anchor_id)?), query))).await
    }
}

fn verify_body(anchor_id: AnchorId, options: &VerifyOptions) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("anchor_id".into(), anchor_id.to_hex().into());
    if let Some(as_of) = &options.as_of {
        body.insert("as_of".into(), as_of.to_json());
    }
    body
}
