//! From the parts of a bundle to leaves that are proved to be in trees which a quorum has cosigned.

use std::collections::{HashMap, HashSet};

use super::parse::{BundleLeaf, BundleRange};
use super::Failure;
use crate::hash::{AnchorId, Hash, OriginFingerprint};
use crate::leaf::{anchor_id_of, Leaf};
use crate::merkle::{is_included, Frontier};
use crate::trust_root_chain::TrustRootChain;
use crate::trust_root_text::OriginStatus;
use crate::verify_checkpoint::{verify_checkpoint, VerifiedCheckpoint};

/// A tree of leaves, as a checkpoint or a state head gives it.
#[derive(Clone, Debug)]
pub(super) struct CertifiedTree {
    pub(super) origin_fingerprint: OriginFingerprint,
    /// In the newest version.
    pub(super) origin_status: OriginStatus,
    pub(super) tree_size: u64,
    pub(super) root_hash: Hash,
}

fn tree_of(verified: &VerifiedCheckpoint) -> CertifiedTree {
    CertifiedTree {
        origin_fingerprint: verified.origin_fingerprint,
        origin_status: verified.origin_status,
        tree_size: verified.checkpoint.tree_size,
        root_hash: verified.checkpoint.root_hash,
    }
}

/// A leaf that is in a certified tree.
#[derive(Clone, Debug)]
pub(super) struct ProvedLeaf {
    pub(super) anchor_id: AnchorId,
    pub(super) leaf: Leaf,
    /// Status of its origin in the newest version.
    pub(super) origin_status: OriginStatus,
}

impl ProvedLeaf {
    pub(super) fn sequence(&self) -> u64 {
        self.leaf.header.sequence
    }
}

pub(super) fn prove_checkpoints(
    notes: &[String],
    trust_roots: &TrustRootChain,
) -> Result<Vec<VerifiedCheckpoint>, Failure> {
    let mut origins = HashSet::new();
    let prove = |(at, note): (usize, &String)| {
        let verified = verify_checkpoint(note, trust_roots)
            .map_err(|error| Failure::new(format!("checkpoint {at}: {}: {error}", error.code())))?;
        let is_first = origins.insert(verified.origin_fingerprint);
        let origin = &verified.checkpoint.origin;
        Failure::unless(is_first, || format!("checkpoint {at} is a second one of origin {origin}"))?;
        Ok(verified)
    };
    notes.iter().enumerate().map(prove).collect()
}

/// The leaf that bytes are, which must be of the origin of its checkpoint.
fn read_leaf(bytes: &[u8], verified: &VerifiedCheckpoint, place: &str) -> Result<Leaf, Failure> {
    let leaf = Leaf::decode(bytes).map_err(|error| Failure::new(format!("{place} is no leaf: {error}")))?;
    let origin = leaf.header.origin_fingerprint;
    Failure::unless(origin == verified.origin_fingerprint, || {
        format!("{place} is of origin {origin}, its checkpoint is of another")
    })?;
    Ok(leaf)
}

fn checkpoint_at(checkpoints: &[VerifiedCheckpoint], at: usize) -> Result<&VerifiedCheckpoint, Failure> {
    checkpoints.get(at).ok_or_else(|| Failure::new(format!("there is no checkpoint {at}")))
}

pub(super) fn prove_leaves(
    leaves: &[BundleLeaf],
    checkpoints: &[VerifiedCheckpoint],
    of_state: Option<&HashMap<OriginFingerprint, CertifiedTree>>,
) -> Result<Vec<ProvedLeaf>, Failure> {
    let prove = |(at, part): (usize, &BundleLeaf)| {
        let place = format!("leaf {at}");
        let leaf = Leaf::decode(&part.leaf).map_err(|error| Failure::new(format!("{place} is no leaf: {error}")))?;
        let origin = leaf.header.origin_fingerprint;
        let tree = match part.checkpoint {
            Some(at) => tree_of(checkpoint_at(checkpoints, at)?),
            None => of_state
                .and_then(|trees| trees.get(&origin))
                .cloned()
                .ok_or_else(|| Failure::new(format!("{place}: there is no tree of origin {origin}")))?,
        };
        Failure::unless(origin == tree.origin_fingerprint, || {
            format!("{place} is of origin {origin}, its checkpoint is of another")
        })?;
        let (depth, size) = (leaf.header.depth, tree.tree_size);
        Failure::unless(depth < size, || format!("{place} has depth {depth}, its tree has {size} leaves"))?;
        let anchor_id = anchor_id_of(&part.leaf);
        let is_included = is_included(&anchor_id, depth, size, &part.inclusion, &tree.root_hash);
        Failure::unless(is_included, || format!("{place}: the path does not lead to the root of its tree"))?;
        Ok(ProvedLeaf { anchor_id, leaf, origin_status: tree.origin_status })
    };
    leaves.iter().enumerate().map(prove).collect()
}

fn prove_range(range: &BundleRange, verified: &VerifiedCheckpoint, place: &str) -> Result<Vec<ProvedLeaf>, Failure> {
    let (size, count) = (verified.checkpoint.tree_size, range.leaves.len());
    let from = range.from;
    let is_whole = count > 0 && from.checked_add(count as u64) == Some(size);
    Failure::unless(is_whole, || format!("{place} has {count} leaves from depth {from} on, its tree has {size}"))?;
    let mut frontier = Frontier::new(from, range.frontier.clone()).ok_or_else(|| {
        Failure::new(format!("{place}: {} hashes are no frontier of {from} leaves", range.frontier.len()))
    })?;
    let mut proved = Vec::with_capacity(count);
    for (depth, bytes) in (from..).zip(&range.leaves) {
        let leaf = read_leaf(bytes, verified, place)?;
        let own = leaf.header.depth;
        Failure::unless(own == depth, || format!("{place}: the leaf of depth {depth} says that it is {own}"))?;
        let anchor_id = anchor_id_of(bytes);
        frontier.append(anchor_id);
        proved.push(ProvedLeaf { anchor_id, leaf, origin_status: verified.origin_status });
    }
    let is_root = frontier.root() == verified.checkpoint.root_hash;
    Failure::unless(is_root, || format!("{place} does not make the root of its checkpoint"))?;
    Ok(proved)
}

pub(super) fn prove_ranges(
    ranges: &[BundleRange],
    checkpoints: &[VerifiedCheckpoint],
) -> Result<Vec<ProvedLeaf>, Failure> {
    let mut seen = HashSet::new();
    let mut proved = Vec::new();
    for (at, range) in ranges.iter().enumerate() {
        let place = format!("range {at}");
        let checkpoint = range.checkpoint;
        Failure::unless(seen.insert(checkpoint), || format!("{place} is a second one of checkpoint {checkpoint}"))?;
        proved.extend(prove_range(range, checkpoint_at(checkpoints, checkpoint)?, &place)?);
    }
    Ok(proved)
}

/// The leaves of a bundle by their ids, and in the order of their sequences.
#[derive(Default)]
pub(super) struct ProvedLeaves {
    /// Ascending; that no two have one sequence is judged later.
    by_sequence: Vec<ProvedLeaf>,
    by_id: HashMap<AnchorId, usize>,
}

impl ProvedLeaves {
    pub(super) fn new(mut leaves: Vec<ProvedLeaf>) -> Self {
        leaves.sort_by_key(ProvedLeaf::sequence);
        let by_id = leaves.iter().enumerate().map(|(at, proved)| (proved.anchor_id, at)).collect();
        Self { by_sequence: leaves, by_id }
    }

    pub(super) fn all(&self) -> &[ProvedLeaf] {
        &self.by_sequence
    }

    pub(super) fn find(&self, anchor_id: &AnchorId) -> Option<&ProvedLeaf> {
        self.by_id.get(anchor_id).and_then(|at| self.by_sequence.get(*at))
    }

    pub(super) fn at_sequence(&self, sequence: u64) -> Option<&ProvedLeaf> {
        let at = self.by_sequence.partition_point(|proved| proved.sequence() < sequence);
        self.by_sequence.get(at).filter(|proved| proved.sequence() == sequence)
    }
}
