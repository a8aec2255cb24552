//! Whether a quorum has cosigned a tree: the part of a receipt's verification that is about no leaf.

use crate::checkpoint::{checkpoint_origin, read_checkpoint_note, Checkpoint, NotedCheckpoint};
use crate::error::{Error, Result};
use crate::hash::{Hash, OriginFingerprint};
use crate::merkle::is_consistent;
use crate::note::{verify_known_lines, VerifiedLine, Vkey, VkeyType};
use crate::policy::distinct_lines;
use crate::trust_root::SignedTrustRoot;
use crate::trust_root_chain::TrustRootChain;
use crate::trust_root_text::{refuse_unless, NodeStatus, OriginStatus, TrustRoot, TrustRootOrigin};
use crate::witnessing::{without_witnesses, witnessing_of, WitnessSignature, Witnessing};

/// A later checkpoint of the same origin, and the proof that the receipt's tree is the beginning of its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptRenewal {
    /// The whole signed note.
    pub checkpoint: String,
    /// RFC 6962 consistency proof.
    pub consistency: Vec<Hash>,
}

/// The newest version must list the origin: it says which log key is right, and whether the origin is lost.
pub(crate) fn find_origin<'a>(
    newest: &'a TrustRoot,
    fingerprint: &OriginFingerprint,
    checkpoint: &Checkpoint,
) -> Result<&'a TrustRootOrigin> {
    let expected = checkpoint_origin(&newest.cluster_name, fingerprint);
    refuse_unless(checkpoint.origin == expected, "origin_differs", || {
        format!("the checkpoint is not of origin {expected}")
    })?;
    newest.origin(fingerprint).ok_or_else(|| {
        let detail = format!("trust root {} does not list origin {expected}", newest.version);
        Error::verification("origin_unknown", detail)
    })
}

/// Verifies the lines of the nodes of every version held and of the newest one's witnesses; one of the log key must be
/// there.
fn verify_lines(
    noted: &NotedCheckpoint,
    chain: &TrustRootChain,
    origin: &TrustRootOrigin,
) -> Result<Vec<VerifiedLine>> {
    let nodes = chain.versions().flat_map(|version| version.trust_root.nodes.iter());
    let witnesses = chain.newest().trust_root.witnesses.iter().map(|witness| &witness.vkey);
    let known = std::iter::once(&origin.log_vkey).chain(nodes.map(|node| &node.cosigner_vkey)).chain(witnesses);
    let known: Vec<&Vkey> = known.collect();
    let verified = verify_known_lines(&noted.note, &known)?;
    let is_logged = verified.iter().any(|line| line.vkey == origin.log_vkey);
    refuse_unless(is_logged, "log_signature_missing", || format!("no signature line of {}", origin.log_vkey.name()))?;
    Ok(verified)
}

/// Whether distinct good lines of this version's active nodes reach its quorum.
fn meets(version: &SignedTrustRoot, origin: &OriginFingerprint, verified: &[VerifiedLine]) -> bool {
    let root = &version.trust_root;
    root.origin(origin).is_some() && distinct_lines(verified, &root.cosigners()).len() >= root.quorum
}

/// Drops lines of nodes that the newest version marks `distrusted`, whichever key they used.
fn without_distrusted(newest: &TrustRoot, verified: &[VerifiedLine]) -> Vec<VerifiedLine> {
    let distrusted = |line: &VerifiedLine| {
        newest.nodes.iter().filter(|node| node.status == NodeStatus::Distrusted).any(|node| {
            let key = &node.cosigner_vkey;
            key.name() == line.vkey.name() || key.public_key() == line.vkey.public_key()
        })
    };
    verified.iter().filter(|line| !distrusted(line)).cloned().collect()
}

/// A checkpoint that is judged, and by what.
pub(crate) struct Judged<'a> {
    pub(crate) noted: NotedCheckpoint,
    pub(crate) chain: &'a TrustRootChain,
    pub(crate) origin: &'a TrustRootOrigin,
    /// Good lines of the log and of nodes.
    pub(crate) verified: Vec<VerifiedLine>,
    pub(crate) witnessing: Witnessing,
}

impl<'a> Judged<'a> {
    /// Verifies the lines.
    pub(crate) fn new(noted: NotedCheckpoint, chain: &'a TrustRootChain, origin: &'a TrustRootOrigin) -> Result<Self> {
        let lines = verify_lines(&noted, chain, origin)?;
        let newest = &chain.newest().trust_root;
        let witnessing = witnessing_of(newest, &lines);
        Ok(Self { noted, chain, origin, verified: without_witnesses(newest, lines), witnessing })
    }

    fn meets(&self, version: &SignedTrustRoot, verified: &[VerifiedLine]) -> bool {
        meets(version, &self.origin.origin_fingerprint, verified)
    }

    pub(crate) fn check_quorum(&self) -> Result<String> {
        let cosigners = || self.verified.iter().filter(|line| line.vkey.key_type() == VkeyType::Cosignature);
        let is_met = self.chain.versions().any(|version| self.meets(version, &self.verified));
        refuse_unless(is_met, "quorum_not_met", || {
            let quorum = self.chain.newest().trust_root.quorum;
            format!("{} good cosignatures, a quorum is {quorum}", cosigners().count())
        })?;
        Ok(cosigners().map(|line| line.vkey.name()).collect::<Vec<_>>().join(", "))
    }

    /// Whether the renewal leads to a checkpoint that satisfies the newest version.
    fn is_renewed(&self, renewal: &ReceiptRenewal) -> Result<bool> {
        let later = read_checkpoint_note(&renewal.checkpoint).map_err(malformed_checkpoint)?;
        let verified = verify_lines(&later, self.chain, self.origin)?;
        let (old, new) = (&self.noted.checkpoint, &later.checkpoint);
        let is_same_tree = new.origin == old.origin
            && is_consistent(old.tree_size, &old.root_hash, new.tree_size, &new.root_hash, &renewal.consistency);
        Ok(is_same_tree && self.meets(self.chain.newest(), &verified))
    }

    /// The older version that alone is satisfied; `None` if the newest one is, directly or by renewal.
    pub(crate) fn check_trust_root(&self, renewal: Option<&ReceiptRenewal>) -> Result<Option<u32>> {
        let newest = self.chain.newest();
        if self.meets(newest, &self.verified) {
            return Ok(None);
        }
        if let Some(renewal) = renewal {
            if self.is_renewed(renewal)? {
                return Ok(None);
            }
        }
        let trusted = without_distrusted(&newest.trust_root, &self.verified);
        let satisfied = self.chain.versions().rev().find(|version| self.meets(version, &trusted));
        match satisfied {
            Some(version) => Ok(Some(version.trust_root.version)),
            None => {
                let version = newest.trust_root.version;
                let detail = format!("the quorum needs a node that trust root {version} distrusts");
                Err(Error::verification("cosigner_distrusted", detail))
            }
        }
    }
}

pub(crate) fn malformed_checkpoint(error: Error) -> Error {
    Error::verification("checkpoint_malformed", error.to_string())
}

/// A checkpoint that a quorum has cosigned.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifiedCheckpoint {
    /// Whose tree it is.
    pub origin_fingerprint: OriginFingerprint,
    /// Size and root.
    pub checkpoint: Checkpoint,
    /// Only this older version of the trust root is satisfied.
    pub superseded_trust_root: Option<u32>,
    /// As the newest trust root lists it.
    pub origin_status: OriginStatus,
    /// Good lines of the log and of nodes.
    pub verified: Vec<VerifiedLine>,
    /// The witnesses of the newest trust root that have signed, by name.
    pub witnesses: Vec<WitnessSignature>,
    /// How many it asks for; 0 if it lists none.
    pub witnesses_needed: usize,
    /// Enough have signed.
    pub witnessed: bool,
    /// When the quorum was complete, Unix seconds: the k-th smallest time of the cosignatures.
    pub certified_at_s: Option<u64>,
}

/// The origin that a checkpoint is of, which the newest version must list.
fn origin_of<'a>(newest: &'a TrustRoot, checkpoint: &Checkpoint) -> Result<&'a TrustRootOrigin> {
    let TrustRoot { cluster_name, version, .. } = newest;
    let name = &checkpoint.origin;
    let is_of_cluster = name.strip_prefix(cluster_name.as_str()).is_some_and(|rest| rest.starts_with("/origin/"));
    refuse_unless(is_of_cluster, "origin_differs", || format!("{name} is no origin of cluster {cluster_name}"))?;
    let listed = newest.origins.iter().find(|origin| origin.log_vkey.name() == name);
    listed.ok_or_else(|| Error::verification("origin_unknown", format!("trust root {version} does not list {name}")))
}

/// Verifies a signed checkpoint as [`verify_receipt`](crate::verify_receipt) does from its step `checkpoint` on,
/// without a leaf. It may be attacker-controlled; whose tree it is, is in the answer.
///
/// # Errors
/// The codes of those steps: `checkpoint_malformed`, `origin_differs`, `signature_invalid`, `quorum_not_met`, ….
pub fn verify_checkpoint(note: &str, trust_roots: &TrustRootChain) -> Result<VerifiedCheckpoint> {
    crate::ed25519::check_canaries()?;
    let noted = read_checkpoint_note(note).map_err(malformed_checkpoint)?;
    let newest = trust_roots.newest();
    let origin = origin_of(&newest.trust_root, &noted.checkpoint)?;
    let judged = Judged::new(noted, trust_roots, origin)?;
    judged.check_quorum()?;
    let superseded_trust_root = judged.check_trust_root(None)?;
    let judge = trust_roots
        .versions()
        .find(|version| Some(version.trust_root.version) == superseded_trust_root)
        .unwrap_or(newest);
    let counted = distinct_lines(&judged.verified, &judge.trust_root.cosigners());
    let mut times: Vec<u64> = counted.iter().filter_map(|line| line.time_s).collect();
    times.sort_unstable();
    let certified_at_s = times.get(judge.trust_root.quorum.saturating_sub(1)).copied();
    Ok(VerifiedCheckpoint {
        origin_fingerprint: origin.origin_fingerprint,
        origin_status: origin.status,
        checkpoint: judged.noted.checkpoint,
        superseded_trust_root,
        verified: judged.verified,
        witnesses_needed: newest.trust_root.witness_quorum,
        witnessed: judged.witnessing.is_enough,
        witnesses: judged.witnessing.witnesses,
        certified_at_s,
    })
}

/// Verifies that one tree is the beginning of another of the same origin, offline. Who has signed them it does not say:
/// [`verify_checkpoint`] does.
///
/// # Errors
/// `origin_differs`, `consistency_wrong`.
pub fn verify_consistency(old: &Checkpoint, new: &Checkpoint, proof: &[Hash]) -> Result<()> {
    refuse_unless(old.origin == new.origin, "origin_differs", || "the checkpoints are of different origins".into())?;
    let is_shown = is_consistent(old.tree_size, &old.root_hash, new.tree_size, &new.root_hash, proof);
    refuse_unless(is_shown, "consistency_wrong", || {
        format!("the tree of {} leaves is not shown to begin that of {}", old.tree_size, new.tree_size)
    })
}
