//! Reading, verifying and tracing: operations that change nothing.

use std::time::Duration;

use serde_json::{json, Map, Value};

use super::held::{hold_batch, hold_consistency, hold_content, hold_id, hold_latest, hold_list, hold_origin};
use super::operations::{read_id, BATCH_ITEMS_MAX};
use super::options::target;
use super::{Call, Client, EventFilter, KeyUse, Page, TraceOptions, VerifyItem, VerifyOptions};
use crate::answers::{
    ActiveClaim, ActiveGrant, AnchorAnswer, ClaimAnchor, Consistency, EventList, Latest, RecordState, Trace, Verified,
    VerifiedBatch, VerifiedClaim, VerifiedGrant,
};
use crate::bundle::BundleExpectation;
use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash, OriginFingerprint};
use crate::input::read;
use crate::receipt::Receipt;

/// Ten are enough for all hops that a service shows.
const TRACE_PAGES_MAX: usize = 100;

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
        let anchor_id = read_id(anchor_id)?;
        let call = self.get_with_receipt(format!("/v1/event-anchors/{anchor_id}"))?;
        let answer: AnchorAnswer = self.call(&call).await?;
        hold_id(&answer.anchor, &anchor_id)?;
        self.check_beside(&answer.anchor, answer.receipt.as_ref()).await?;
        Ok(answer)
    }

    /// The receipt of an anchor, against the newest checkpoint. If it is not certified yet, the service waits for that.
    /// The receipt is of the anchor that was asked for; [`verify_receipt`](crate::verify_receipt) proves the rest. A
    /// public log needs no API key.
    ///
    /// # Errors
    /// `anchor_not_found`, `certification_stalled`, `anchor_id_differs`.
    pub async fn get_receipt<H>(&self, anchor_id: H) -> Result<Receipt>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let anchor_id = read_id(anchor_id)?;
        let target = format!("/v1/event-anchors/{anchor_id}/receipt");
        let call = Call { key: KeyUse::Welcome, ..self.get_with_receipt(target)? };
        let receipt: Receipt = self.call(&call).await?;
        self.check_receipt(&receipt, &anchor_id).await?;
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
        let active: ActiveClaim = self.call(&self.get(target("/v1/claim-anchors", query))).await?;
        let claim = active.anchor.content.claim();
        let is_asked =
            |claim: &ClaimAnchor| claim.entity_fingerprint == entity && claim.attribute_type == attribute_type;
        hold_content(claim.is_some_and(is_asked))?;
        self.check_receipt(&active.receipt, &active.anchor.anchor_id).await?;
        Ok(active)
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
        let active: ActiveGrant = self.call(&self.get(target("/v1/grant-anchors", query))).await?;
        hold_content(active.anchor.content.grant().is_some())?;
        self.check_receipt(&active.receipt, &active.anchor.anchor_id).await?;
        Ok(active)
    }

    /// Certified events, ascending by sequence.
    ///
    /// # Errors
    /// `client_event_id_erased`, whose problem names the event.
    pub async fn list_event_anchors(&self, filter: &EventFilter, page: &Page) -> Result<EventList> {
        let (name, value) = filter.pair();
        let limit = page.limit.map(|limit| limit.to_string());
        let query = vec![(name, Some(value)), ("cursor", page.cursor.clone()), ("limit", limit)];
        let list: EventList = self.call(&self.get(target("/v1/event-anchors", query))).await?;
        hold_list(&list, filter)?;
        Ok(list)
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
        self.held_latest(&self.get(target("/v1/event-anchors/latest", query)), origin_fingerprint).await
    }

    /// The same, as soon as the tree is larger than `after_size`; when `wait_seconds` (1 to 30) are over, the answer is
    /// what there is, larger or not.
    ///
    /// # Errors
    /// `no_anchor_yet`, `overloaded`.
    pub async fn latest_after(
        &self,
        origin_fingerprint: Option<&OriginFingerprint>,
        after_size: u64,
        wait_seconds: u32,
    ) -> Result<Latest> {
        let query = vec![
            ("origin_fingerprint", origin_fingerprint.map(Hash::to_hex)),
            ("after_size", Some(after_size.to_string())),
            ("wait", Some(wait_seconds.to_string())),
        ];
        let usual = self.get(target("/v1/event-anchors/latest", query));
        let timeout = usual.timeout + Duration::from_secs(u64::from(wait_seconds));
        self.held_latest(&Call { timeout, ..usual }, origin_fingerprint).await
    }

    async fn held_latest(&self, call: &Call, origin_fingerprint: Option<&OriginFingerprint>) -> Result<Latest> {
        let latest: Latest = self.call(call).await?;
        hold_latest(&latest)?;
        hold_origin(&latest.origin_fingerprint, origin_fingerprint)?;
        self.check_receipt(&latest.receipt, &latest.anchor.anchor_id).await?;
        Ok(latest)
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
        hold_origin(&answer.origin_fingerprint, origin_fingerprint)?;
        hold_consistency(&answer, from_size, to_size)?;
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
        let anchor_id = read_id(anchor_id)?;
        let mut body = verify_body(anchor_id, options);
        if let Some(event_hash) = options.event_hash {
            body.insert("event_hash".into(), event_hash.to_hex().into());
        }
        let call = self.verdict_question("/v1/event-anchors:verify", body, options)?;
        let mut verified: Verified = self.call(&call).await?;
        self.checked(&mut verified, &anchor_id, options, None).await?;
        Ok(verified)
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
        let anchor_id = read_id(anchor_id)?;
        let body = verify_body(anchor_id, options);
        let call = self.verdict_question("/v1/claim-anchors:verify", body, options)?;
        let mut found: VerifiedClaim = self.call(&call).await?;
        self.checked(&mut found.verified, &anchor_id, options, Some(&found.state)).await?;
        Ok(found)
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
        let anchor_id = read_id(anchor_id)?;
        let mut body = verify_body(anchor_id, options);
        if !options.trusted_roots.is_empty() {
            body.insert("trusted_roots".into(), json!(options.trusted_roots));
        }
        let call = self.verdict_question("/v1/grant-anchors:verify", body, options)?;
        let mut found: VerifiedGrant = self.call(&call).await?;
        self.checked(&mut found.verified, &anchor_id, options, Some(&found.state)).await?;
        Ok(found)
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
        let found: VerifiedBatch = self.call(&Call { timeout: self.shared.timeouts.batch, ..question }).await?;
        hold_batch(&found, items)?;
        Ok(found)
    }

    /// A question for one verdict, which may ask for its proof.
    fn verdict_question(&self, path: &str, body: Map<String, Value>, options: &VerifyOptions) -> Result<Call> {
        self.assert_provable(options.proof)?;
        let path = if options.proof { format!("{path}?proof=true") } else { path.to_owned() };
        Ok(self.question(&path, Value::Object(body)))
    }

    /// @param state of a claim or a grant, which its proof has to show as well
    async fn checked(
        &self,
        verified: &mut Verified,
        asked: &AnchorId,
        options: &VerifyOptions,
        state: Option<&RecordState>,
    ) -> Result<()> {
        hold_id(&verified.anchor, asked)?;
        self.check_receipt(&verified.receipt, asked).await?;
        if !options.proof {
            verified.proof = None;
            return Ok(());
        }
        let expect = BundleExpectation {
            anchor_id: Some(*asked),
            event_hash: options.event_hash,
            ..BundleExpectation::default()
        };
        let proved = self.checked_proof(verified.proof.as_ref(), &verified.as_of, &expect).await?;
        let is_same =
            state.is_none_or(|state| proved.standing.is_some_and(|standing| standing.state == state.as_str()));
        hold_verdict(is_same)
    }

    /// From an anchor back to who acted, who delegated, and within what bounds. A long delegation comes in pages of
    /// hops, and all of them are fetched.
    ///
    /// # Errors
    /// `anchor_not_found`, `as_of_future`.
    pub async fn trace<H>(&self, anchor_id: H, options: &TraceOptions) -> Result<Trace>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let roots: Vec<String> = options.trusted_roots.iter().map(Hash::to_hex).collect();
        let mut query = vec![
            ("as_of", options.as_of.as_ref().map(super::Position::to_query)),
            ("trusted_roots", (!roots.is_empty()).then(|| roots.join(","))),
            ("cursor", options.page.cursor.clone()),
            ("limit", options.page.limit.map(|limit| limit.to_string())),
        ];
        let anchor_id = read_id(anchor_id)?;
        let path = format!("/v1/event-anchors/{anchor_id}/trace");
        self.assert_provable(options.proof)?;
        // The first page carries the proof, which is of all hops.
        query.push(("proof", options.proof.then(|| "true".to_owned())));
        let mut trace: Trace = self.call(&self.get(target(&path, query.clone()))).await?;
        hold_id(&trace.anchor, &anchor_id)?;
        self.check_receipt(&trace.receipt, &trace.anchor.anchor_id).await?;
        self.check_trace_proof(&mut trace, options.proof).await?;
        query.pop();
        query.push(("delegation_cursor", None));
        for pages in 1..=TRACE_PAGES_MAX {
            let Some(cursor) = trace.delegation_next_cursor.take() else { return Ok(trace) };
            if pages == TRACE_PAGES_MAX {
                break;
            }
            if let Some((_, value)) = query.last_mut() {
                *value = Some(cursor);
            }
            let page: Trace = self.call(&self.get(target(&path, query.clone()))).await?;
            hold_id(&page.anchor, &anchor_id)?;
            trace.delegation.extend(page.delegation);
            trace.delegation_omitted = page.delegation_omitted;
            trace.delegation_next_cursor = page.delegation_next_cursor;
        }
        Err(Error::response_invalid("the hops of the delegation have no end"))
    }
}

/// A proof says what the answer says.
fn hold_verdict(is_same: bool) -> Result<()> {
    if is_same {
        return Ok(());
    }
    Err(Error::verification("verdict_differs", "the proof says something else than the answer"))
}

impl Client {
    async fn check_trace_proof(&self, trace: &mut Trace, wants_proof: bool) -> Result<()> {
        if !wants_proof {
            trace.proof = None;
            return Ok(());
        }
        let expect = BundleExpectation { anchor_id: Some(trace.anchor.anchor_id), ..BundleExpectation::default() };
        let proved = self.checked_proof(trace.proof.as_ref(), &trace.as_of, &expect).await?;
        hold_verdict(
            proved.is_actor_proven == trace.actor_proven
                && proved.authorised_at_action == trace.authorised_at_action
                && proved.authorised_now == trace.authorised_now
                && proved.is_suspect == trace.suspect,
        )
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
