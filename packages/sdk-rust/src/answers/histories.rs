//! All claims and grants of an entity, and how each has ended.

use serde::{Deserialize, Serialize};

use super::anchors::Anchor;
use super::records::CertifiedSize;
use super::verified::AsOfAnswer;
use crate::hash::AnchorId;

/// One page of claims or grants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordHistory {
    /// Ascending by sequence, ended or not.
    pub items: Vec<RecordHistoryItem>,
    /// For the next page; `None`: there is nothing more at the moment.
    pub next_cursor: Option<String>,
    /// The tree size of each origin that the list reaches.
    pub certified: Vec<CertifiedSize>,
    /// The position at which states were judged.
    pub as_of: AsOfAnswer,
}

/// A claim or a grant, and how it has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordHistoryItem {
    /// The record, with its state.
    pub anchor: Anchor,
    /// What gave it that state; `None`: it is active.
    pub ended: Option<RecordEnd>,
}

/// What gave a record another state than active.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordEnd {
    /// Such as `claim_revoked`.
    pub code: String,
    /// The record whose end it was: this one, or one that it depends on.
    pub anchor_id: AnchorId,
    /// The sequence where that record ended; `None`: time ended it.
    pub sequence: Option<u64>,
    /// The anchor at that sequence: a revocation, or the record that superseded it.
    pub ended_by: Option<AnchorId>,
}
