//! What verifying answers: the service's own word, but for the receipt.

use serde::{Deserialize, Serialize};

use super::anchors::Anchor;
use super::problem::Problem;
use super::proof::Proof;
use super::words::{CheckResult, RecordState};
use crate::hash::{AnchorId, PublicKey};
use crate::receipt::Receipt;

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
    /// If it was asked for: what proves the verdicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
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
    /// Revocations of the claim.
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
    /// Revocations of the grant and of the records that it depends on.
    pub revocations: Vec<RevocationInView>,
    /// From the grant towards the root.
    pub delegation: Vec<DelegationHop>,
    /// Hops towards the root that are judged and not shown.
    pub delegation_omitted: u64,
}

/// A revocation of the record, or of a record that it depends on.
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
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
