//! Holds an answer against what was asked for. What contradicts itself, reading it has refused before.

use super::operations::read_proof;
use super::{EventFilter, VerifyItem};
use crate::answers::{Anchor, Consistency, EventList, Latest, VerifiedBatch};
use crate::checkpoint::read_checkpoint_note;
use crate::error::{Error, Result};
use crate::hash::{AnchorId, OriginFingerprint};
use crate::merkle::is_consistent;

pub(super) fn hold_id(anchor: &Anchor, asked: &AnchorId) -> Result<()> {
    if anchor.anchor_id == *asked {
        return Ok(());
    }
    Err(Error::verification("anchor_id_differs", format!("the answer is about {}, not {asked}", anchor.anchor_id)))
}

pub(super) fn hold_origin(shown: &OriginFingerprint, asked: Option<&OriginFingerprint>) -> Result<()> {
    match asked {
        Some(asked) if asked != shown => {
            Err(Error::verification("origin_differs", format!("the answer is about origin {shown}")))
        }
        _ => Ok(()),
    }
}

pub(super) fn hold_content(is_asked: bool) -> Result<()> {
    if is_asked {
        return Ok(());
    }
    Err(Error::verification("content_differs", "the answer is about something else than was asked for"))
}

pub(super) fn hold_list(list: &EventList, filter: &EventFilter) -> Result<()> {
    let is_asked = |anchor: &Anchor| {
        let Some(event) = anchor.content.event() else { return false };
        let refs = event.semantic_anchor.as_ref();
        match filter {
            EventFilter::EventHash(hash) => event.event_hash == *hash,
            EventFilter::IrisRef(claim) => refs.and_then(|refs| refs.iris_ref) == Some(*claim),
            EventFilter::GrantRef(grant) => refs.and_then(|refs| refs.grant_ref) == Some(*grant),
            EventFilter::ClientEventId(id) => event.client_event_id.as_ref() == Some(id),
        }
    };
    hold_content(list.items.iter().all(is_asked))
}

pub(super) fn hold_batch(batch: &VerifiedBatch, asked: &[VerifyItem]) -> Result<()> {
    let is_one_each = batch.results.len() == asked.len();
    let mut pairs = batch.results.iter().zip(asked);
    hold_content(is_one_each && pairs.all(|(result, item)| result.anchor_id == item.anchor_id))
}

/// The parts of an EEA are about one tree, and its anchor is the last leaf of it.
pub(super) fn hold_latest(latest: &Latest) -> Result<()> {
    let is_one_tree = read_checkpoint_note(&latest.checkpoint).is_ok_and(|noted| {
        let head = noted.checkpoint;
        latest.depth.checked_add(1) == Some(latest.tree_size)
            && latest.anchor.depth == latest.depth
            && latest.anchor.origin_fingerprint == latest.origin_fingerprint
            && latest.receipt.tree_size() == latest.tree_size
            && head.tree_size == latest.tree_size
            && head.root_hash == latest.root_hash
            && head.origin.ends_with(&format!("/origin/{}", latest.origin_fingerprint))
    });
    if is_one_tree {
        return Ok(());
    }
    Err(Error::response_invalid("the parts of the answer are not about one tree"))
}

/// The sizes are those that were asked for, and the proof leads from one to the other.
pub(super) fn hold_consistency(answer: &Consistency, from_size: u64, to_size: Option<u64>) -> Result<()> {
    let (from, to) = (&answer.from, &answer.to);
    let proof = read_proof(&answer.proof)?;
    let is_asked = from.tree_size == from_size && to_size.is_none_or(|size| size == to.tree_size);
    if is_asked && is_consistent(from.tree_size, &from.root_hash, to.tree_size, &to.root_hash, &proof) {
        return Ok(());
    }
    Err(Error::verification("consistency_wrong", "the proof does not lead from the one root to the other"))
}
