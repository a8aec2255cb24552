//! Where an anchor comes from.

use serde::{Deserialize, Serialize};

use super::anchors::Anchor;
use super::proof::Proof;
use super::verified::{AsOfAnswer, DelegationHop};
use super::words::{Authorised, CheckResult, RecordState, TraceVerdict};
use crate::hash::{AnchorId, Hash, OriginFingerprint};
use crate::receipt::Receipt;

/// Where an anchor comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trace {
    /// What is traced.
    pub anchor: Anchor,
    /// The subject of the claim that the event names has signed it. False: only the client that recorded the event says
    /// who acted, even if the act was authorised.
    pub actor_proven: bool,
    /// Judged at the event's own position.
    pub authorised_at_action: Authorised,
    /// Judged at `as_of`.
    pub authorised_now: Authorised,
    /// A revocation in view names a `suspect_since` that is not after the event.
    pub suspect: bool,
    /// Why a verdict is not true.
    pub reasons: Vec<TraceReason>,
    /// Who acted.
    pub actor: TracedActor,
    /// From the grant towards the root.
    pub delegation: Vec<DelegationHop>,
    /// Hops towards the root that are judged and not shown.
    pub delegation_omitted: u64,
    /// Where the next page of hops begins; `None`: there is none. The client follows the pages.
    #[serde(default)]
    pub delegation_next_cursor: Option<String>,
    /// The newest claim of each lineage on the way, at the event and at `as_of`, unless it is shown elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage_claims: Vec<Anchor>,
    /// How far the delegation reaches.
    pub boundary: Option<Boundary>,
    /// `not_checked` unless trusted roots were given.
    pub root_authority: CheckResult,
    /// Grants in force under which the root grantor could stand.
    pub possible_parents: Vec<AnchorId>,
    /// Revocations of the claims and grants on the way.
    pub revocations: Vec<TracedRevocation>,
    /// What the rules exclude: a row was altered, or a rule broken.
    pub violations: Vec<TraceViolation>,
    /// The references that are not empty.
    pub references: Vec<PointedAnchor>,
    /// The leaves before it in its origin, deepest first.
    pub parents: ParentPage,
    /// The latest certified anchor of its origin, in brief.
    pub eea: LatestBrief,
    /// The position judged at.
    pub as_of: AsOfAnswer,
    /// The receipt of the traced anchor.
    pub receipt: Receipt,
    /// If it was asked for: what proves the verdicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
}

/// Why a verdict is not true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TraceReason {
    /// Which verdict.
    pub verdict: TraceVerdict,
    /// Why. More may come.
    pub code: String,
    /// The record at fault.
    pub anchor_id: Option<AnchorId>,
    /// Where it ended; `None` for a matter of time.
    pub sequence: Option<u64>,
}

/// Who acted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TracedActor {
    /// The ClaimAnchor that `iris_ref` names.
    pub claim: Option<Anchor>,
    /// The state of that claim, at `as_of`.
    pub state: Option<RecordState>,
    /// `not_checked`: the event is unsigned.
    pub actor_signature: CheckResult,
}

/// How far a delegation reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Boundary {
    /// What is delegated, hashed.
    pub scope_hash: Hash,
    /// Hops.
    pub depth: BoundaryDepth,
    /// Time.
    pub window: BoundaryWindow,
}

/// How many hops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BoundaryDepth {
    /// That the root grant allows below itself.
    pub granted: u64,
    /// That the chain has below the root grant.
    pub used: u64,
    /// That may be granted below the grant that the event names.
    pub left: u64,
}

/// From when to when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BoundaryWindow {
    /// Unix milliseconds; 0: unbounded.
    pub not_before: u64,
    /// Unix milliseconds; 0: never.
    pub expires_at: u64,
}

/// A revocation on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TracedRevocation {
    /// The record of the revocation.
    pub anchor: Anchor,
    /// What was revoked.
    pub target_anchor_id: AnchorId,
    /// Whether it came before the event.
    pub before_action: bool,
}

/// Something that the rules exclude.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TraceViolation {
    /// What is wrong. More may come.
    pub code: String,
    /// The record at fault.
    pub anchor_id: AnchorId,
    /// For people.
    pub detail: String,
}

/// A reference and what it leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PointedAnchor {
    /// Such as `iris_ref`.
    pub field: String,
    /// What it names.
    pub anchor_id: AnchorId,
    /// Whether that is there.
    pub exists: bool,
    /// What kind it is of.
    pub kind: Option<String>,
}

/// One page of the leaves before an anchor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ParentPage {
    /// Deepest first.
    pub items: Vec<Anchor>,
    /// For the next page.
    pub next_cursor: Option<String>,
}

/// The latest certified anchor of an origin, in brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LatestBrief {
    /// The origin.
    pub origin_fingerprint: OriginFingerprint,
    /// The anchor.
    pub anchor_id: AnchorId,
    /// The depth of the anchor.
    pub depth: u64,
    /// The tree size of the checkpoint.
    pub tree_size: u64,
    /// The root hash in the checkpoint.
    pub root_hash: Hash,
    /// RFC 3339.
    pub certified_at: String,
}
