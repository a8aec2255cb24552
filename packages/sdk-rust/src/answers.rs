//! What the service answers, typed. Fields it does not know are ignored, words it does not know are kept.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hash::{AnchorId, Hash, OriginFingerprint, PublicKey, Signature};
use crate::receipt::Receipt;
use crate::words::open_words;

open_words!(
    /// How far an anchor has come.
    Finality {
        /// Durable on a majority of the nodes.
        Committed = "committed",
        /// Also co-signed by a quorum of them.
        Certified = "certified",
    }
);

open_words!(
    /// How a claim or a grant has ended, if it has.
    RecordState {
        /// It has not.
        Active = "active",
        /// A newer one has taken its place.
        Superseded = "superseded",
        /// It was revoked.
        Revoked = "revoked",
        /// Its time is over.
        Expired = "expired",
    }
);

open_words!(
    /// How one check has ended.
    CheckResult {
        /// It holds.
        Pass = "pass",
        /// It does not.
        Fail = "fail",
        /// It was not, or could not be, made.
        NotChecked = "not_checked",
    }
);

open_words!(
    /// What `/healthz` says of a node.
    HealthStatus {
        /// All is well.
        Ok = "ok",
        /// It serves, and something is missing.
        Degraded = "degraded",
        /// It does not serve.
        Error = "error",
    }
);

open_words!(
    /// Which of a trace's two verdicts a reason is about.
    TraceVerdict {
        /// The one at the event's own position.
        AtAction = "at_action",
        /// The one at `as_of`.
        Now = "now",
    }
);

/// Whether an act was covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorised {
    /// It was.
    Yes,
    /// It was not.
    No,
    /// It cannot be said: the reasons say why.
    Unknown,
}

impl Serialize for Authorised {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Yes => serializer.serialize_bool(true),
            Self::No => serializer.serialize_bool(false),
            Self::Unknown => serializer.serialize_str("unknown"),
        }
    }
}

impl<'de> Deserialize<'de> for Authorised {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(true) => Ok(Self::Yes),
            Value::Bool(false) => Ok(Self::No),
            Value::String(word) if word == "unknown" => Ok(Self::Unknown),
            _ => Err(serde::de::Error::custom("expected true, false or \"unknown\"")),
        }
    }
}

/// A leaf of an origin's tree, as the API shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Anchor {
    /// The RFC 6962 leaf hash: the anchor's name, and what a receipt proves.
    pub anchor_id: AnchorId,
    /// The origin in whose tree it is.
    pub origin_fingerprint: OriginFingerprint,
    /// Leaf index in that tree.
    pub depth: u64,
    /// Position among the leaves of all origins.
    pub sequence: u64,
    /// The anchor one depth above; `None` for a genesis leaf.
    pub parent_anchor_id: Option<AnchorId>,
    /// When the cluster accepted it, Unix milliseconds.
    pub accepted_ms: u64,
    /// The same as RFC 3339.
    pub accepted_at: String,
    /// How far it has come.
    pub finality: Finality,
    /// What its kind adds.
    #[serde(flatten)]
    pub content: AnchorContent,
}

/// What the kind of an anchor adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnchorContent {
    /// The first leaf of an origin.
    Genesis(GenesisAnchor),
    /// An event that nobody has signed.
    Event(EventAnchor),
    /// An event that its actor has signed.
    SignedEvent(SignedEventAnchor),
    /// An identity.
    Claim(Box<ClaimAnchor>),
    /// A delegation.
    Grant(Box<GrantAnchor>),
    /// The end of a claim or a grant.
    Revocation(RevocationAnchor),
    /// A new version of the trust root.
    TrustRoot(TrustRootAnchor),
    /// A kind that came later than this version of the SDK.
    #[serde(other)]
    Unknown,
}

impl AnchorContent {
    /// The event, signed or not.
    pub fn event(&self) -> Option<&EventAnchor> {
        match self {
            Self::Event(event) => Some(event),
            Self::SignedEvent(signed) => Some(&signed.event),
            _ => None,
        }
    }

    /// The claim.
    pub fn claim(&self) -> Option<&ClaimAnchor> {
        match self {
            Self::Claim(claim) => Some(claim),
            _ => None,
        }
    }

    /// The grant.
    pub fn grant(&self) -> Option<&GrantAnchor> {
        match self {
            Self::Grant(grant) => Some(grant),
            _ => None,
        }
    }

    /// The revocation.
    pub fn revocation(&self) -> Option<&RevocationAnchor> {
        match self {
            Self::Revocation(revocation) => Some(revocation),
            _ => None,
        }
    }
}

/// The first leaf of an origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GenesisAnchor {
    /// The cluster.
    pub cluster_id: Hash,
    /// The trust root that judges the origin from here on.
    pub root_thk: Hash,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventAnchor {
    /// What happened, hashed.
    pub event_hash: Hash,
    /// What it refers to; `None`: nothing.
    pub semantic_anchor: Option<SemanticAnchorAnswer>,
    /// Commits to the client's id; `None`: it has none.
    pub client_event_commit: Option<Hash>,
    /// Shown to the API client that wrote it, and to `admin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_event_id: Option<String>,
    /// Opens the commitment. Shown to the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_event_salt: Option<Hash>,
    /// Id and salt were erased. Shown to the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client_event_erased: bool,
}

/// What an event refers to; `None` is empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SemanticAnchorAnswer {
    /// The ClaimAnchor of who acts.
    pub iris_ref: Option<AnchorId>,
    /// Any anchor.
    pub scroll_ref: Option<AnchorId>,
    /// The GrantAnchor under which it was done.
    pub grant_ref: Option<AnchorId>,
    /// Any anchor.
    pub bond_ref: Option<AnchorId>,
    /// Any anchor.
    pub yield_ref: Option<AnchorId>,
    /// In the documented flow the event hash again.
    pub event_data_hash: Option<Hash>,
}

/// An event that its actor has signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SignedEventAnchor {
    /// The event.
    #[serde(flatten)]
    pub event: EventAnchor,
    /// Who has signed.
    pub actor_public_key: PublicKey,
    /// Over the event-actor payload.
    pub actor_signature: Signature,
}

/// An identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClaimAnchor {
    /// How it has ended, if it has.
    pub state: RecordState,
    /// Whom it is about.
    pub entity_fingerprint: Hash,
    /// In what respect.
    pub attribute_type: u32,
    /// What is claimed, hashed.
    pub attribute_hash: Hash,
    /// Unix milliseconds; 0: not stated.
    pub issued_at: u64,
    /// Unix milliseconds; 0: never.
    pub expires_at: u64,
    /// The key that speaks for the entity.
    pub subject_public_key: PublicKey,
    /// Over the claim payload.
    pub subject_signature: Signature,
    /// Who vouches for it.
    pub issuer_public_key: PublicKey,
    /// Over the claim-issuer payload.
    pub issuer_signature: Signature,
}

/// A delegation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GrantAnchor {
    /// How it has ended, if it has.
    pub state: RecordState,
    /// The grantor's ClaimAnchor.
    pub grantor_claim_ref: AnchorId,
    /// The grantee's ClaimAnchor.
    pub grantee_claim_ref: AnchorId,
    /// The grant to the grantor; `None`: a root grant.
    pub parent_grant_ref: Option<AnchorId>,
    /// What is delegated, hashed.
    pub scope_hash: Hash,
    /// How many further hops may be granted below.
    pub delegation_depth: u32,
    /// Unix milliseconds; 0: not stated.
    pub issued_at: u64,
    /// Unix milliseconds; 0: as the parent has it.
    pub not_before: u64,
    /// Unix milliseconds; 0: as the parent has it.
    pub expires_at: u64,
    /// The grantor's key.
    pub grantor_public_key: PublicKey,
    /// Over the grant payload.
    pub grantor_signature: Signature,
    /// Who has seen it.
    pub witness_public_key: PublicKey,
    /// Over the grant-witness payload.
    pub witness_signature: Signature,
}

/// The end of a claim or a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RevocationAnchor {
    /// What has ended.
    pub target_anchor_id: AnchorId,
    /// Why, as [`RevocationReason::as_str`](crate::RevocationReason::as_str) names it.
    pub reason: String,
    /// Unix milliseconds; 0: none.
    pub suspect_since: u64,
    /// Unix milliseconds; 0: not stated.
    pub issued_at: u64,
    /// By whose authority, as [`RevocationAuthority::as_str`](crate::RevocationAuthority::as_str) names it.
    pub authority: String,
    /// The revoker's public key, or what names the operator's API client.
    pub revoker: Hash,
    /// `None`: an operator's.
    pub signature: Option<Signature>,
}

/// A new version of the trust root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrustRootAnchor {
    /// From 1.
    pub version: u32,
    /// Its document.
    pub root_thk: Hash,
}

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
    /// Of the record of the revocation. `None`: not yet certified.
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

/// The position at which was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AsOfAnswer {
    /// `None`: a time before the first leaf.
    pub sequence: Option<u64>,
    /// Unix milliseconds.
    pub time_ms: u64,
    /// The same as RFC 3339.
    pub time: String,
}

/// One check of a verification by the service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Check {
    /// What was checked. More may come.
    pub code: String,
    /// How it has ended.
    pub result: CheckResult,
    /// For people.
    pub detail: String,
}

/// What verifying an anchor answers: the service's own word, but for the receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verified {
    /// No deciding check has failed, and every one that applies was made.
    pub valid: bool,
    /// The position judged at.
    pub as_of: AsOfAnswer,
    /// In the order in which they were made.
    pub checks: Vec<Check>,
    /// The anchor.
    pub anchor: Anchor,
    /// Its receipt of now.
    pub receipt: Receipt,
}

/// What verifying a claim answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VerifiedClaim {
    /// What every verification has.
    #[serde(flatten)]
    pub verified: Verified,
    /// At the position judged at.
    pub state: RecordState,
    /// Of the claim.
    pub revocations: Vec<RevocationInView>,
}

/// What verifying a grant answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VerifiedGrant {
    /// What every verification has.
    #[serde(flatten)]
    pub verified: Verified,
    /// At the position judged at.
    pub state: RecordState,
    /// Of the grant and of what it hangs on.
    pub revocations: Vec<RevocationInView>,
    /// From the grant towards the root.
    pub delegation: Vec<DelegationHop>,
    /// Hops towards the root that are judged and not shown.
    pub delegation_omitted: u64,
}

/// A revocation of the record, or of what it hangs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RevocationInView {
    /// The record of the revocation.
    pub anchor: Anchor,
    /// What was revoked.
    pub target_anchor_id: AnchorId,
}

/// One grant of a delegation, and who is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DelegationHop {
    /// The grant.
    pub grant: Anchor,
    /// The claim of who granted.
    pub grantor_claim: Anchor,
    /// The claim of to whom was granted.
    pub grantee_claim: Anchor,
    /// Who has seen it.
    pub witness_public_key: PublicKey,
    /// The witness is the grantee.
    pub witness_is_grantee: bool,
}

/// What verifying a batch answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VerifiedBatch {
    /// The position judged at.
    pub as_of: AsOfAnswer,
    /// In the order of the request.
    pub results: Vec<VerifiedItem>,
    /// How many of which.
    pub summary: VerifiedSummary,
}

/// `checks` and `anchor`; or `problem`, for an id that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VerifiedItem {
    /// As it was asked for.
    pub anchor_id: AnchorId,
    /// As in [`Verified`].
    pub valid: bool,
    /// In the order in which they were made.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// The anchor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// How many items of a batch came to what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VerifiedSummary {
    /// All of them.
    pub total: u64,
    /// Valid ones.
    pub valid: u64,
    /// Those that exist and are not.
    pub invalid: u64,
    /// Those that do not exist.
    pub not_found: u64,
}

/// The latest certified anchor (EEA) of one origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Latest {
    /// The origin.
    pub origin_fingerprint: OriginFingerprint,
    /// Of the anchor.
    pub depth: u64,
    /// Of the checkpoint: one more.
    pub tree_size: u64,
    /// The newest leaf below the certified size.
    pub anchor: Anchor,
    /// Of the checkpoint.
    pub root_hash: Hash,
    /// When the quorum was complete, RFC 3339.
    pub certified_at: String,
    /// The whole signed note.
    pub checkpoint: String,
    /// Who has co-signed it.
    pub quorum: Quorum,
    /// Proves the anchor.
    pub receipt: Receipt,
    /// With `from_size`: the tree that you know is the beginning of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistency: Option<LatestConsistency>,
}

/// RFC 6962 proof from a size that you know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LatestConsistency {
    /// The size that was asked from.
    pub from_size: u64,
    /// The size of the answer.
    pub tree_size: u64,
    /// base64 of 32 bytes each.
    pub proof: Vec<String>,
}

/// Who has co-signed a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Quorum {
    /// Cosignatures that are needed.
    pub threshold: u64,
    /// The version that judged it.
    pub trust_root_version: u32,
    /// Who, and when.
    pub cosigners: Vec<Cosigner>,
}

/// One cosignature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cosigner {
    /// The name of the key.
    pub name: String,
    /// Unix seconds.
    pub time: u64,
}

/// Proof that one tree is the beginning of another. Check it: `Client::consistency` does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Consistency {
    /// The origin.
    pub origin_fingerprint: OriginFingerprint,
    /// The smaller tree.
    pub from: SizedRoot,
    /// The larger tree.
    pub to: SizedRoot,
    /// base64 of 32 bytes each.
    pub proof: Vec<String>,
}

/// A tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SizedRoot {
    /// Its size.
    pub tree_size: u64,
    /// Its root.
    pub root_hash: Hash,
    /// The signed note, of the newest certified size alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
}

/// Where an anchor comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trace {
    /// What is traced.
    pub anchor: Anchor,
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
    /// How far the delegation reaches.
    pub boundary: Option<Boundary>,
    /// `not_checked` unless trusted roots were given.
    pub root_authority: CheckResult,
    /// Grants in force under which the root grantor could stand.
    pub possible_parents: Vec<AnchorId>,
    /// Of the claims and grants on the way.
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
    /// Of the traced anchor.
    pub receipt: Receipt,
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
    /// Of that claim, at `as_of`.
    pub state: Option<RecordState>,
    /// `not_checked`: nobody has signed the event.
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
    /// Of the anchor.
    pub depth: u64,
    /// Of the checkpoint.
    pub tree_size: u64,
    /// Of the checkpoint.
    pub root_hash: Hash,
    /// RFC 3339.
    pub certified_at: String,
}

/// What `GET /v1/trust-root` answers. It proves itself from a pin: see [`TrustRootChain`](crate::TrustRootChain).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrustRootAnswer {
    /// The newest.
    pub version: u32,
    /// Of the newest.
    pub root_thk: Hash,
    /// The newest, a signed note.
    pub document: String,
    /// Every version, oldest first.
    pub chain: Vec<TrustRootVersion>,
}

/// One version of the trust root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrustRootVersion {
    /// From 1.
    pub version: u32,
    /// What is pinned.
    pub root_thk: Hash,
    /// A signed note.
    pub document: String,
}

/// What `/healthz` answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Health {
    /// In one word.
    pub status: HealthStatus,
    /// The node.
    pub node_id: String,
    /// The cluster.
    pub cluster_id: Hash,
    /// What the node writes to. Supply it with writes.
    pub origin_fingerprint: OriginFingerprint,
    /// Whether a quorum has confirmed that the node's trust root is the newest.
    pub prime_root_thk: RootSync,
    /// Of consensus.
    pub raft: RaftStatus,
    /// Of what.
    pub versions: Versions,
}

/// The root sync summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RootSync {
    /// `prime` or `replica`.
    pub role: String,
    /// Of the node's trust root.
    pub version: u32,
    /// Of the node's trust root.
    pub root_thk: Option<Hash>,
    /// Of the prime's.
    pub prime_version: Option<u32>,
    /// Both are the same.
    pub in_sync: bool,
    /// RFC 3339.
    pub last_success_at: Option<String>,
    /// Since then.
    pub age_seconds: Option<f64>,
    /// Of the node's trust root, RFC 3339.
    pub expires_at: Option<String>,
    /// Of the last attempt.
    pub last_error: Option<String>,
}

/// How a node takes part in consensus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RaftStatus {
    /// `leader`, `follower`, ….
    pub role: String,
    /// The term.
    pub term: u64,
    /// Who leads, if that is known.
    pub leader: Option<String>,
    /// Committed up to here.
    pub commit_index: u64,
    /// Applied up to here.
    pub applied_index: u64,
}

/// What a node speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Versions {
    /// `4.2`.
    pub api_contract: String,
    /// `V4.2`.
    pub locked_code: String,
    /// Of the service.
    pub service: String,
}

/// What `/readyz` answers, also when it is not ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ready {
    /// Every check passes.
    pub ready: bool,
    /// What was looked at.
    pub checks: Vec<ReadyCheck>,
}

/// One check of readiness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReadyCheck {
    /// What was looked at.
    pub check: String,
    /// How it is.
    pub result: CheckResult,
    /// For people.
    pub detail: String,
}

/// What `GET /v1/limits` answers. Maxima are inclusive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Limits {
    /// Body of any request that is no batch.
    pub body_bytes_max: u64,
    /// Body of a batch.
    pub batch_body_bytes_max: u64,
    /// Items of a batch.
    pub batch_items_max: u64,
    /// Items of a batch that carry a signature.
    pub batch_signed_items_max: u64,
    /// Characters of a `client_event_id`.
    pub client_event_id_chars_max: u64,
    /// A write that is no batch.
    pub write_timeout_ms: u64,
    /// Reads, verification, traces.
    pub read_timeout_ms: u64,
    /// Batches.
    pub batch_timeout_ms: u64,
    /// `limit` of a list.
    pub list_items_max: u64,
    /// `limit` of a trace.
    pub trace_parents_max: u64,
    /// Claims that a request names as trusted roots.
    pub trusted_roots_max: u64,
    /// Of a key that has no rate of its own; `None`: none.
    pub key_requests_per_second: Option<f64>,
    /// What else there is.
    #[serde(flatten)]
    pub others: std::collections::BTreeMap<String, Value>,
}

/// An RFC 9457 problem. `code` is the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// `urn:event-anchoring:problem:` and the code.
    #[serde(rename = "type", default)]
    pub problem_type: String,
    /// For people.
    #[serde(default)]
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// For people.
    #[serde(default)]
    pub detail: String,
    /// Match on it.
    pub code: String,
    /// Finds the log line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Where the request is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ProblemItem>,
    /// What some codes say besides: `anchor_id`, `state`, `results`, `summary`.
    #[serde(flatten)]
    pub extensions: std::collections::BTreeMap<String, Value>,
}

/// One place where a request is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProblemItem {
    /// RFC 6901, into the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Of query, path or header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// What kind of fault.
    pub code: String,
    /// For people.
    #[serde(default)]
    pub detail: String,
}
