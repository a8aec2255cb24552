//! Holds receipts of answers against the trust root, if the client was given one.

use std::sync::PoisonError;

use super::held::hold_content;
use super::Client;
use crate::answers::{Anchor, AsOfAnswer, Created, CreatedBatch, Proof, Revoked};
use crate::bundle::{verify_bundle, Bundle, BundleExpectation, BundleTrust, BundleVerification};
use crate::error::{Error, Result};
use crate::hash::AnchorId;
use crate::input::Event;
use crate::leaf::{Leaf, LeafBody};
use crate::payloads::{claim_payload_of, grant_payload_of};
use crate::prepare::{Revocation, SignedClaim, SignedGrant};
use crate::receipt::Receipt;
use crate::trust_root_chain::{extend_trust_root, TrustRootChain};
use crate::verify_checkpoint::{verify_checkpoint, VerifiedCheckpoint};
use crate::verify_receipt::{verify_receipt, ReceiptExpectation};

/// What a newer version of the trust root may put right: another node, another quorum.
const CURED_BY_NEWER_TRUST_ROOT: [&str; 3] = ["quorum_not_met", "origin_unknown", "log_signature_missing"];

/// A write, to be compared with the leaf that the answer says records it.
pub(super) trait Recorded {
    fn is_recorded_by(&self, leaf: &Leaf) -> bool;
}

impl Recorded for SignedClaim {
    fn is_recorded_by(&self, leaf: &Leaf) -> bool {
        match &leaf.body {
            LeafBody::Claim(body) => claim_payload_of(&leaf.header.origin_fingerprint, body) == self.payload(),
            _ => false,
        }
    }
}

impl Recorded for SignedGrant {
    fn is_recorded_by(&self, leaf: &Leaf) -> bool {
        match &leaf.body {
            LeafBody::Grant(body) => grant_payload_of(&leaf.header.origin_fingerprint, body) == self.payload(),
            _ => false,
        }
    }
}

impl Recorded for Event {
    /// A replay may be in another origin: that is no content of an event.
    fn is_recorded_by(&self, leaf: &Leaf) -> bool {
        let (event, actor) = match &leaf.body {
            LeafBody::Event(event) => (event, None),
            LeafBody::SignedEvent(event, actor) => (event, Some(actor.actor_public_key)),
            _ => return false,
        };
        event.event_hash == self.event_hash
            && event.semantic_anchor == self.semantic_anchor.hashes()
            && actor == self.actor.as_ref().map(|actor| actor.public_key)
    }
}

impl Recorded for Revocation {
    fn is_recorded_by(&self, leaf: &Leaf) -> bool {
        match &leaf.body {
            LeafBody::Revocation(body) => self.is_content_of(body),
            _ => false,
        }
    }
}

impl Client {
    /// The newest trust root that receipts of answers are held against; `None`: the client was given none.
    pub fn held_trust_root(&self) -> Option<TrustRootChain> {
        self.shared.trust_root.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hold(&self, newer: &TrustRootChain) {
        *self.shared.trust_root.lock().unwrap_or_else(PoisonError::into_inner) = Some(newer.clone());
    }

    /// A receipt must be of the anchor that it comes with, and valid if there is a trust root to verify it with.
    pub(super) async fn check_receipt(&self, receipt: &Receipt, anchor_id: &AnchorId) -> Result<()> {
        if receipt.anchor_id() != *anchor_id
            || receipt.stated.as_ref().is_some_and(|stated| stated.anchor_id != *anchor_id)
        {
            return Err(Error::verification("anchor_id_differs", "the receipt is of another anchor"));
        }
        let Some(held) = self.held_trust_root() else { return Ok(()) };
        let expect = ReceiptExpectation::anchor(*anchor_id);
        self.judged(&held, |chain| verify_receipt(receipt, chain, &expect)).await.map(drop)
    }

    /// What a good checkpoint says.
    pub(super) async fn checked_checkpoint(&self, note: &str) -> Result<VerifiedCheckpoint> {
        let held = self.held_trust_root();
        let held = held.ok_or_else(|| Error::invalid_input("trust_root", "the client was made without one"))?;
        self.judged(&held, |chain| verify_checkpoint(note, chain)).await
    }

    /// Proofs are verified, so the client has to have trust roots.
    pub(super) fn assert_provable(&self, wants_proof: bool) -> Result<()> {
        if wants_proof && self.held_trust_root().is_none() {
            return Err(Error::invalid_input("trust_root", "proofs are verified, and the client was made without one"));
        }
        Ok(())
    }

    /// What the proof of an answer proves, which is as of the answer's position.
    pub(super) async fn checked_proof(
        &self,
        proof: Option<&Proof>,
        as_of: &AsOfAnswer,
        expect: &BundleExpectation,
    ) -> Result<BundleVerification> {
        let proof = proof.ok_or_else(|| Error::response_invalid("the answer has no proof"))?;
        let held = self.held_trust_root();
        let held = held.ok_or_else(|| Error::invalid_input("trust_root", "the client was made without one"))?;
        let bundle = Bundle::parse(proof.as_str())?;
        let proved = match verify_bundle(&bundle, &BundleTrust::Held(Box::new(held.clone())), expect) {
            Ok(proved) => proved,
            Err(error) => {
                let Some(newer) = self.newer_trust_roots(&held).await? else { return Err(error) };
                let proved = verify_bundle(&bundle, &BundleTrust::Held(Box::new(newer.clone())), expect)?;
                self.hold(&newer);
                proved
            }
        };
        if Some(proved.as_of.sequence) == as_of.sequence && proved.as_of.time_ms == as_of.time_ms {
            return Ok(proved);
        }
        Err(Error::verification("verdict_differs", "the proof is as of another position than the answer"))
    }

    /// Judges, once more under a newer trust root if there is one that may put it right.
    async fn judged<T>(&self, held: &TrustRootChain, judge: impl Fn(&TrustRootChain) -> Result<T>) -> Result<T> {
        match judge(held) {
            Err(error) if CURED_BY_NEWER_TRUST_ROOT.contains(&error.code()) => {
                let newer = self.newer_trust_roots(held).await?;
                let Some(newer) = newer else { return Err(error) };
                let judged = judge(&newer)?;
                self.hold(&newer);
                Ok(judged)
            }
            judged => judged,
        }
    }

    /// The chain with what the service has since added to it; `None`: nothing.
    async fn newer_trust_roots(&self, held: &TrustRootChain) -> Result<Option<TrustRootChain>> {
        let answer = self.trust_root().await?;
        let place = answer.chain.iter().position(|version| version.root_thk == *held.newest().root_thk());
        let Some(place) = place else { return Ok(None) };
        let mut newer = answer.chain.iter().skip(place + 1).peekable();
        if newer.peek().is_none() {
            return Ok(None);
        }
        newer.try_fold(held.clone(), |chain, version| extend_trust_root(chain, &version.document)).map(Some)
    }

    /// A record is what was sent, and its receipt is of it.
    async fn check_record(&self, anchor: &Anchor, receipt: Option<&Receipt>, sent: &impl Recorded) -> Result<()> {
        if !anchor.leaf().is_some_and(|leaf| sent.is_recorded_by(&leaf)) {
            return Err(Error::verification("content_differs", "the anchor does not hold what was sent"));
        }
        self.check_beside(anchor, receipt).await
    }

    /// The receipt beside an anchor; `None`: it is not certified yet.
    pub(super) async fn check_beside(&self, anchor: &Anchor, receipt: Option<&Receipt>) -> Result<()> {
        match receipt {
            Some(receipt) => self.check_receipt(receipt, &anchor.anchor_id).await,
            None => Ok(()),
        }
    }

    pub(super) async fn checked_created(&self, created: Created, sent: &impl Recorded) -> Result<Created> {
        self.check_record(&created.anchor, created.receipt.as_ref(), sent).await?;
        Ok(created)
    }

    pub(super) async fn checked_revoked(&self, revoked: Revoked, sent: &Revocation) -> Result<Revoked> {
        hold_content(revoked.revoked_anchor_id == *sent.target_anchor_id())?;
        self.check_record(&revoked.anchor, revoked.receipt.as_ref(), sent).await?;
        Ok(revoked)
    }

    pub(super) async fn checked_batch(&self, batch: CreatedBatch, sent: &[Event]) -> Result<CreatedBatch> {
        for (result, event) in batch.results.iter().zip(sent) {
            if let Some(anchor) = &result.anchor {
                self.check_record(anchor, result.receipt.as_ref(), event).await?;
            }
        }
        Ok(batch)
    }
}
