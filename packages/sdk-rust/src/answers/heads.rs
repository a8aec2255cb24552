//! The latest certified anchor of an origin, and proofs between trees.

use serde::{Deserialize, Serialize};

use super::anchors::Anchor;
use crate::hash::{Hash, OriginFingerprint};
use crate::receipt::Receipt;

/// The latest certified anchor (EEA) of one origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Latest {
    /// The origin.
    pub origin_fingerprint: OriginFingerprint,
    /// The depth of the anchor.
    pub depth: u64,
    /// The tree size of the checkpoint: depth + 1.
    pub tree_size: u64,
    /// The newest leaf below the certified size.
    pub anchor: Anchor,
    /// The root hash in the checkpoint.
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
