//! A chain of trust-root versions from a pinned hash to the newest one held.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::note::{verify_known_lines, Vkey};
use crate::trust_root::SignedTrustRoot;
use crate::trust_root_text::{refuse_unless, NodeStatus, OriginStatus, TrustRoot};

/// Versions without gaps, each verified from the one before it, and the first one pinned. Only verification makes one.
#[derive(Clone, Debug)]
pub struct TrustRootChain {
    /// Ascending by version.
    older: Vec<SignedTrustRoot>,
    newest: SignedTrustRoot,
}

/// Verifies signed documents, which may be attacker-controlled, from the one whose hash is pinned.
///
/// Expiry is not judged: it needs a clock, and never invalidates a version of a chain.
///
/// - `documents`: whole signed notes in ascending order; those before the pinned one are passed over.
/// - `pinned_root_thk`: RootTHK learnt out of band, or that of a version verified earlier.
///
/// # Errors
/// The codes of docs/PROTOCOL.md, "Trust root": `pin_mismatch`, `version_gap`, `root_quorum_missing`, ….
pub fn verify_trust_root<D: AsRef<str>>(documents: &[D], pinned_root_thk: &Hash) -> Result<TrustRootChain> {
    crate::ed25519::check_canaries()?;
    let is_pinned =
        |document: &D| SignedTrustRoot::parse(document.as_ref()).is_ok_and(|one| one.root_thk == *pinned_root_thk);
    let pinned_at = documents.iter().position(is_pinned).unwrap_or(0);
    let from_pinned = documents.get(pinned_at..).unwrap_or_default();
    let (first, rest) =
        from_pinned.split_first().ok_or_else(|| Error::verification("chain_empty", "there is no document"))?;
    let pinned = SignedTrustRoot::parse(first.as_ref())?;
    refuse_unless(pinned.root_thk == *pinned_root_thk, "pin_mismatch", || {
        format!("the first document has RootTHK {}", pinned.root_thk)
    })?;
    check_signatures(&pinned, &[&pinned.trust_root])?;
    let pinned = TrustRootChain { older: Vec::new(), newest: pinned };
    rest.iter().try_fold(pinned, |chain, document| extend_trust_root(chain, document.as_ref()))
}

/// The chain with the next version added.
///
/// # Errors
/// As [`verify_trust_root`].
pub fn extend_trust_root(mut chain: TrustRootChain, document: &str) -> Result<TrustRootChain> {
    let next = SignedTrustRoot::parse(document)?;
    check_successor(&chain, &next)?;
    chain.older.push(std::mem::replace(&mut chain.newest, next));
    Ok(chain)
}

impl TrustRootChain {
    /// The newest version held.
    pub fn newest(&self) -> &SignedTrustRoot {
        &self.newest
    }

    /// Every version held, ascending.
    pub fn versions(&self) -> impl DoubleEndedIterator<Item = &SignedTrustRoot> {
        self.older.iter().chain(std::iter::once(&self.newest))
    }

    /// Holds the chain against the highest version this verifier has ever seen and kept.
    ///
    /// # Errors
    /// `rollback` if its newest version is lower; `fork` if it has another document for that version, or begins after
    /// it and so cannot show that it has the same.
    pub fn check_not_older(&self, version: u32, root_thk: &Hash) -> Result<()> {
        let newest = self.newest.trust_root.version;
        refuse_unless(newest >= version, "rollback", || format!("version {version} was seen, and this is {newest}"))?;
        let same = self.versions().find(|held| held.trust_root.version == version);
        refuse_unless(same.is_some_and(|held| held.root_thk == *root_thk), "fork", || {
            format!("another document was seen for version {version}")
        })
    }
}

/// Signatures by the threshold of distinct root keys of each of the given versions.
fn check_signatures(document: &SignedTrustRoot, signers: &[&TrustRoot]) -> Result<()> {
    let known: Vec<&Vkey> = signers.iter().flat_map(|signer| signer.root_keys.iter()).collect();
    let lines = verify_known_lines(&document.note, &known).map_err(|error| match error.code() {
        "signatures_too_many" => Error::verification("malformed", error.to_string()),
        "key_ambiguous" => Error::verification("key_reused", error.to_string()),
        _ => error,
    })?;
    signers.iter().try_for_each(|signer| {
        let count = signer.root_keys.iter().filter(|key| lines.iter().any(|line| line.vkey == **key)).count();
        refuse_unless(count >= signer.root_threshold, "root_quorum_missing", || {
            let TrustRoot { version, root_threshold, .. } = signer;
            format!("{count} of the {root_threshold} root keys that version {version} asks for have signed")
        })
    })
}

/// Whether a status may follow another: where it may stay is not listed.
fn is_origin_move(from: OriginStatus, to: OriginStatus) -> bool {
    use OriginStatus::{Active, Closed, Lost};
    from == to || matches!((from, to), (Active, Closed | Lost) | (Closed, Lost))
}

/// learner → active → retired → distrusted; steps may be left out, none taken back.
fn is_node_move(from: NodeStatus, to: NodeStatus) -> bool {
    from <= to
}

fn check_origins(before: &TrustRoot, after: &TrustRoot) -> Result<()> {
    for old in &before.origins {
        let name = old.origin_fingerprint;
        let next = after
            .origin(&name)
            .ok_or_else(|| Error::verification("origin_removed", format!("the line of origin {name} is gone")))?;
        refuse_unless(is_origin_move(old.status, next.status), "origin_status_reversed", || {
            format!("origin {name} goes from {} to {}", old.status.as_str(), next.status.as_str())
        })?;
        refuse_unless(old.log_vkey == next.log_vkey, "log_key_changed", || format!("the log key of {name} changes"))?;
    }
    after.origins.iter().try_for_each(|origin| {
        let is_new = before.origin(&origin.origin_fingerprint).is_none();
        refuse_unless(!is_new || origin.status == OriginStatus::Active, "origin_not_active_first", || {
            format!("origin {} is first listed as {}", origin.origin_fingerprint, origin.status.as_str())
        })
    })
}

fn check_nodes(before: &TrustRoot, after: &TrustRoot) -> Result<()> {
    for old in &before.nodes {
        let next =
            after.nodes.iter().find(|node| node.node_id == old.node_id).ok_or_else(|| {
                Error::verification("node_removed", format!("the line of node {} is gone", old.node_id))
            })?;
        refuse_unless(is_node_move(old.status, next.status), "node_status_reversed", || {
            format!("node {} goes from {} to {}", old.node_id, old.status.as_str(), next.status.as_str())
        })?;
    }
    let mut of_new_origins = after.nodes.iter().filter(|node| before.origin(&node.origin_fingerprint).is_none());
    of_new_origins.try_for_each(|node| after.check_first_cosigner(node))
}

/// A key keeps its one use through all versions.
fn check_key_uses(chain: &TrustRootChain, after: &TrustRoot) -> Result<()> {
    let owners: HashMap<_, _> = chain.versions().flat_map(|version| version.trust_root.keys()).collect();
    after.keys().into_iter().try_for_each(|(key, owner)| {
        let before = owners.get(&key).unwrap_or(&owner);
        refuse_unless(*before == owner, "key_reused", || format!("the key of {owner} was that of {before}"))
    })
}

fn check_successor(chain: &TrustRootChain, document: &SignedTrustRoot) -> Result<()> {
    let (before, after) = (&chain.newest.trust_root, &document.trust_root);
    refuse_unless(Some(after.version) == before.version.checked_add(1), "version_gap", || {
        format!("version {} does not follow version {}", after.version, before.version)
    })?;
    let is_linked = after.previous == chain.newest.root_thk;
    refuse_unless(is_linked, "previous_mismatch", || "it follows another document".into())?;
    let is_same_cluster = after.cluster_name == before.cluster_name && after.cluster_id == before.cluster_id;
    refuse_unless(is_same_cluster, "cluster_changed", || "cluster name and id never change".into())?;
    refuse_unless(after.epoch >= before.epoch, "epoch_decreased", || {
        format!("epoch goes from {} to {}", before.epoch, after.epoch)
    })?;
    check_origins(before, after)?;
    check_nodes(before, after)?;
    check_key_uses(chain, after)?;
    check_signatures(document, &[before, after])
}
