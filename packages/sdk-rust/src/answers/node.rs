//! What a node reports about itself and its cluster.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::words::{CheckResult, HealthStatus};
use crate::hash::{Hash, OriginFingerprint};

/// What `GET /v1/trust-root` answers. It proves itself from a pin: see [`TrustRootChain`](crate::TrustRootChain).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrustRootAnswer {
    /// The newest.
    pub version: u32,
    /// RootTHK of the newest version.
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
    /// How the node takes part in consensus. `None`: it is told to a key with `read` alone, while the control plane
    /// answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raft: Option<RaftStatus>,
    /// Contradictions that the node knows of. `None`: only shown to a key with `read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradictions: Option<Contradictions>,
    /// Peers that the node has cut off now. `None`: only shown to a key with `read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers_cut_off: Option<Vec<PeerCutOff>>,
    /// Versions of the contract, the service and the rules.
    pub versions: Versions,
}

/// The root sync summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RootSync {
    /// `prime` or `replica`.
    pub role: String,
    /// Version of the node's trust root.
    pub version: u32,
    /// RootTHK of the node's trust root.
    pub root_thk: Option<Hash>,
    /// Version of the prime's trust root.
    pub prime_version: Option<u32>,
    /// Whether both are the same.
    pub in_sync: bool,
    /// RFC 3339.
    pub last_success_at: Option<String>,
    /// Seconds since then.
    pub age_seconds: Option<f64>,
    /// Expiry of the node's trust root, RFC 3339.
    pub expires_at: Option<String>,
    /// Error of the last attempt.
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

/// What a node holds against others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Contradictions {
    /// Nodes whose key has signed two roots of one size.
    pub named: Vec<String>,
    /// Origins that have stopped: another certificate than the node's exists.
    pub origins: Vec<OriginFingerprint>,
    /// Sizes that wait while all nodes exchange what they have signed.
    pub withheld: Vec<WithheldSize>,
    /// Peers whose tree or effects differed in the last seconds.
    pub differing: Vec<String>,
    /// Names of files, the first 64.
    pub evidence: Vec<String>,
    /// How many there are.
    pub evidence_files: u64,
}

/// A size that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WithheldSize {
    /// The origin of the tree.
    pub origin_fingerprint: OriginFingerprint,
    /// The size.
    pub tree_size: u64,
}

/// A peer that a node does not listen to for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PeerCutOff {
    /// Which one.
    pub node_id: String,
    /// From now on.
    pub remaining_seconds: f64,
    /// What it has done since the node's process began.
    pub offences: Vec<Offence>,
}

/// What no node does that keeps its promises.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Offence {
    /// Its kind.
    pub offence: String,
    /// How often.
    pub count: u64,
}

/// What a node speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Versions {
    /// `4.2`.
    pub api_contract: String,
    /// `V4.2`.
    pub locked_code: String,
    /// Version of the service.
    pub service: String,
    /// The rules by which the node decides the next entry; `None`: not known yet, or not shown by its release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<u64>,
    /// The highest rules that its program can decide by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_known: Option<u64>,
    /// Nodes that hold back higher rules; empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_held_back_by: Option<String>,
    /// Version of the entries that a leader writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_version: Option<u64>,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Tokens a second at each node, of a key that has no rate of its own; `None`: no limit.
    pub key_requests_per_second: Option<u32>,
    /// What else there is.
    #[serde(flatten)]
    pub others: std::collections::BTreeMap<String, Value>,
}
