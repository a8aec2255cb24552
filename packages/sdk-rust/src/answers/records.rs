//! What creating, revoking, reading and erasing records answers.

use serde::{Deserialize, Serialize};

use super::anchors::Anchor;
use super::problem::Problem;
use super::words::RecordState;
use crate::hash::{AnchorId, OriginFingerprint};
use crate::receipt::Receipt;

/// What creating a record answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Created {
    /// The record.
    pub anchor: Anchor,
    /// Keep it: it proves the anchor offline. `None`: committed and not yet certified; ask for it with
    /// `Client::get_receipt`.
    pub receipt: Option<Receipt>,
    /// The same was recorded before, and this is that record.
    pub replayed: bool,
}

/// What revoking answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Revoked {
    /// The record of the revocation.
    pub anchor: Anchor,
    /// What was revoked.
    pub revoked_anchor_id: AnchorId,
    /// Receipt of the revocation's record. `None`: not yet certified.
    pub receipt: Option<Receipt>,
    /// The same was recorded before.
    pub replayed: bool,
}

/// What creating a batch answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CreatedBatch {
    /// In the order of the request.
    pub results: Vec<BatchItemResult>,
    /// How many of which.
    pub summary: BatchSummary,
}

/// `anchor`, `receipt` and `replayed`; or `problem`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BatchItemResult {
    /// What the item would have been answered alone.
    pub status: u16,
    /// The record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    /// Its receipt, once it is certified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// The same was recorded before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<bool>,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// How many items of a batch came to what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BatchSummary {
    /// All of them.
    pub total: u64,
    /// Status 201.
    pub created: u64,
    /// Status 200.
    pub replayed: u64,
    /// Status 202.
    pub committed: u64,
    /// Any other.
    pub refused: u64,
}

/// One anchor, with a receipt of now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnchorAnswer {
    /// The record.
    pub anchor: Anchor,
    /// `None`: not yet certified.
    pub receipt: Option<Receipt>,
}

/// The active claim of a pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ActiveClaim {
    /// The claim.
    pub anchor: Anchor,
    /// Proves it.
    pub receipt: Receipt,
    /// Its state.
    pub state: RecordState,
}

/// The grant in force between two entities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ActiveGrant {
    /// The grant.
    pub anchor: Anchor,
    /// Proves it.
    pub receipt: Receipt,
    /// Its state.
    pub state: RecordState,
    /// How many more are in force between other lineages of the same two entities.
    pub others: u64,
}

/// One page of a list of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventList {
    /// Ascending by sequence, all certified.
    pub items: Vec<Anchor>,
    /// For the next page; `None`: there is nothing more at the moment.
    pub next_cursor: Option<String>,
    /// The tree size of each origin that the list reaches.
    pub certified: Vec<CertifiedSize>,
}

/// How far an origin is certified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CertifiedSize {
    /// The origin.
    pub origin_fingerprint: OriginFingerprint,
    /// Its newest certified size.
    pub tree_size: u64,
}

/// What erasing a `client_event_id` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Erased {
    /// The event, which stays.
    pub anchor: Anchor,
    /// False: there was nothing to erase.
    pub erased: bool,
}
