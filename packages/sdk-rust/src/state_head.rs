//! State heads, and proofs that values are in the state tree. docs/PROTOCOL.md, "State tree" and "State head".

use crate::bytes::{from_hex_exact, parse_decimal};
use crate::checkpoint::is_cluster_name;
use crate::ed25519::is_good_signature;
use crate::error::{Error, Result};
use crate::hash::{Hash, OriginFingerprint, Signature};
use crate::note::{parse_note, SignedNote};
use crate::tags::tag;
use crate::trust_root::SignedTrustRoot;
use crate::trust_root_text::{refuse_unless, NodeStatus, TrustRootNode};

const HEADER: &str = "event-anchoring/v4.2/state-head";
/// Members of a list, and origins.
const LISTED_MAX: usize = 1024;
/// Bits of a key: no path is longer.
pub(crate) const LEVEL_MAX: u64 = 256;

/// The tree of an origin as a state head gives it.
#[derive(Clone, Debug)]
pub(crate) struct StateOrigin {
    pub(crate) origin_fingerprint: OriginFingerprint,
    pub(crate) tree_size: u64,
    pub(crate) root_hash: Hash,
}

/// What nodes have signed of the state after one log entry: the fields that a verifier needs.
#[derive(Clone, Debug)]
pub(crate) struct StateHead {
    pub(crate) cluster_name: String,
    pub(crate) cluster_id: Hash,
    pub(crate) epoch: u64,
    pub(crate) version: u64,
    pub(crate) root_thk: Hash,
    /// How many leaves there are.
    pub(crate) next_sequence: u64,
    /// Time of the newest leaf.
    pub(crate) last_accepted_ms: u64,
    /// No later leaf has a time below this.
    pub(crate) stamp_ms: u64,
    pub(crate) origins: Vec<StateOrigin>,
    pub(crate) state_root: Hash,
}

fn malformed(line: &str) -> Error {
    Error::verification("malformed", format!("cannot read the line {:?}", line.chars().take(80).collect::<String>()))
}

fn number(word: &str) -> Result<u64> {
    parse_decimal(word).ok_or_else(|| malformed(word))
}

fn is_lower_hex(word: &str) -> bool {
    word.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// 64 digits in lower case: a hash has one text.
fn hash(word: &str) -> Result<Hash> {
    from_hex_exact(word).filter(|_| is_lower_hex(word)).map(Hash::new).ok_or_else(|| malformed(word))
}

fn is_ascending(words: &[&str]) -> bool {
    words.windows(2).all(|pair| pair.first() < pair.last())
}

/// Takes lines by their keywords, in order.
struct HeadLines<'a> {
    rest: &'a str,
}

impl<'a> HeadLines<'a> {
    /// The words after a keyword.
    fn words(&mut self, keyword: &str) -> Result<Vec<&'a str>> {
        let (line, rest) = self.rest.split_once('\n').ok_or_else(|| malformed(self.rest))?;
        let mut words = line.split(' ');
        refuse_unless(words.next() == Some(keyword), "malformed", || format!("a line {keyword} is missing"))?;
        self.rest = rest;
        Ok(words.collect())
    }

    fn take<const N: usize>(&mut self, keyword: &str) -> Result<[&'a str; N]> {
        self.words(keyword)?.try_into().map_err(|_| malformed(keyword))
    }

    fn check_members(&mut self, keyword: &str) -> Result<()> {
        let ids = self.words(keyword)?;
        let is_id = |id: &&str| id.len() == 16 && is_lower_hex(id);
        let is_list = ids.len() <= LISTED_MAX && ids.iter().all(is_id) && is_ascending(&ids);
        refuse_unless(is_list, "malformed", || format!("{keyword} is no list of raft ids"))
    }

    fn origins(&mut self) -> Result<Vec<StateOrigin>> {
        let (mut origins, mut names) = (Vec::new(), Vec::new());
        while self.rest.starts_with("origin ") {
            let [name, tree_size, root_hash] = self.take("origin")?;
            names.push(name);
            origins.push(StateOrigin {
                origin_fingerprint: hash(name)?,
                tree_size: number(tree_size)?,
                root_hash: hash(root_hash)?,
            });
        }
        let is_list = names.len() <= LISTED_MAX && is_ascending(&names);
        refuse_unless(is_list, "not_canonical", || "origins are out of order".into())?;
        Ok(origins)
    }
}

/// Reads the text of a state head, which may be attacker-controlled.
fn parse_text(text: &str) -> Result<StateHead> {
    let mut lines = HeadLines { rest: text };
    lines.take::<0>(HEADER)?;
    let [cluster_name, cluster_id] = lines.take("cluster")?;
    let [epoch, version, root_thk] = lines.take("trust-root")?;
    let [index, term, effect] = lines.take("entry")?;
    let [next_sequence, last_accepted_ms] = lines.take("leaves")?;
    let [stamp_ms] = lines.take("time")?;
    let [rules] = lines.take("rules")?;
    for keyword in ["voters", "outgoing", "learners", "learners-next"] {
        lines.check_members(keyword)?;
    }
    let [auto_leave] = lines.take("auto-leave")?;
    let origins = lines.origins()?;
    let [state_root] = lines.take("state")?;
    let [group_ids] = lines.take("group-ids")?;
    let [client_events] = lines.take("client-events")?;
    [index, term, rules].into_iter().try_for_each(|word| number(word).map(drop))?;
    [effect, group_ids, client_events].into_iter().try_for_each(|word| hash(word).map(drop))?;
    let is_whole = lines.rest.is_empty() && matches!(auto_leave, "0" | "1") && is_cluster_name(cluster_name);
    refuse_unless(is_whole, "malformed", || "the text is not that of a state head".into())?;
    Ok(StateHead {
        cluster_name: cluster_name.to_owned(),
        cluster_id: hash(cluster_id)?,
        epoch: number(epoch)?,
        version: number(version)?,
        root_thk: hash(root_thk)?,
        next_sequence: number(next_sequence)?,
        last_accepted_ms: number(last_accepted_ms)?,
        stamp_ms: number(stamp_ms)?,
        origins,
        state_root: hash(state_root)?,
    })
}

/// A state head and the note that signs it.
pub(crate) fn parse_state_head(note: &str) -> Result<(StateHead, SignedNote)> {
    let note = parse_note(note).map_err(|error| Error::verification("malformed", error.to_string()))?;
    Ok((parse_text(&note.text)?, note))
}

/// A signature of this type has a key id of its own, though the key is the node's cosigner key.
fn key_id_of(node: &TrustRootNode) -> [u8; 4] {
    let key = &node.cosigner_vkey;
    let parts = [key.name().as_bytes(), &[0x0a, 0xff], HEADER.as_bytes(), key.public_key().as_bytes()];
    let [a, b, c, d, ..] = *Hash::of_parts(&parts).as_bytes();
    [a, b, c, d]
}

/// The distinct active nodes with a good line over the head, by the version that it names: at least its quorum.
pub(crate) fn signers_of<'a>(
    head: &StateHead,
    note: &SignedNote,
    signed: &'a SignedTrustRoot,
) -> Result<Vec<&'a TrustRootNode>> {
    let root = &signed.trust_root;
    let is_named = head.cluster_name == root.cluster_name
        && head.cluster_id == root.cluster_id
        && head.epoch == u64::from(root.epoch)
        && head.version == u64::from(root.version)
        && head.root_thk == signed.root_thk;
    refuse_unless(is_named, "trust_root_differs", || "the state head names another trust root".into())?;
    let message = [tag("state-head"), note.text.as_bytes().to_vec()].concat();
    let mut signers = Vec::new();
    for node in root.nodes.iter().filter(|node| node.status == NodeStatus::Active) {
        let (name, key_id) = (node.cosigner_vkey.name(), key_id_of(node));
        let mut own = note.lines.iter().filter(|line| line.name == name && line.key_id == key_id);
        let Some(line) = own.next() else { continue };
        refuse_unless(own.next().is_none(), "signature_repeated", || format!("{name} signed twice"))?;
        let is_good = Signature::try_from(line.signature.as_slice())
            .is_ok_and(|signature| is_good_signature(node.cosigner_vkey.public_key(), &message, &signature));
        refuse_unless(is_good, "signature_invalid", || format!("the signature of {name} does not verify"))?;
        signers.push(node);
    }
    refuse_unless(signers.len() >= root.quorum, "quorum_missing", || {
        format!("{} good signatures, {} are needed", signers.len(), root.quorum)
    })?;
    Ok(signers)
}

/// A key of the state tree with its value's hash, and how many halves lie between the root and it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedLeaf {
    pub(crate) key: Hash,
    pub(crate) value_hash: Hash,
    pub(crate) level: u64,
}

/// Where the value of an anchor lies.
pub(crate) fn state_key(kind: u8, anchor_id: &Hash) -> Hash {
    Hash::of_parts(&[&tag("state-key"), &[kind], anchor_id.as_bytes()])
}

/// Whether a key goes right at a level.
fn goes_right(key: &Hash, level: u64) -> bool {
    let byte = usize::try_from(level / 8).ok().and_then(|at| key.as_bytes().get(at)).copied().unwrap_or(0);
    byte & (0x80 >> (level % 8)) != 0
}

/// Hash of the subtree with these keys, ascending. `None`: the proof does not go together.
fn fold(leaves: &[PlacedLeaf], level: u64, siblings: &mut std::slice::Iter<'_, Hash>) -> Option<Hash> {
    let Some(first) = leaves.first() else { return siblings.next().copied() };
    if level > first.level {
        return None;
    }
    if leaves.len() == 1 && first.level == level {
        let parts = [&tag("state-leaf") as &[u8], first.key.as_bytes(), first.value_hash.as_bytes()];
        return Some(Hash::of_parts(&parts));
    }
    if level >= LEVEL_MAX {
        return None;
    }
    let split = leaves.partition_point(|leaf| !goes_right(&leaf.key, level));
    let (lower, upper) = leaves.split_at(split);
    let left = fold(lower, level + 1, siblings)?;
    let right = fold(upper, level + 1, siblings)?;
    Some(Hash::of_parts(&[&tag("state-interior"), left.as_bytes(), right.as_bytes()]))
}

/// Root of the tree that these leaves are in, whatever their order. `None`: the proof does not go together.
pub(crate) fn state_root_of(mut leaves: Vec<PlacedLeaf>, siblings: &[Hash]) -> Option<Hash> {
    leaves.sort_by_key(|leaf| leaf.key);
    let mut rest = siblings.iter();
    let root = if leaves.is_empty() { None } else { fold(&leaves, 0, &mut rest) };
    root.filter(|_| rest.next().is_none())
}
