//! The trust-root document: one version and its rules. docs/PROTOCOL.md, "Trust root".

use std::collections::HashSet;

use crate::bytes::{from_hex_exact, parse_decimal};
use crate::checkpoint::{checkpoint_origin, is_cluster_name, is_node_id, is_root_label};
use crate::error::{Error, Result};
use crate::hash::{Hash, OriginFingerprint, PublicKey};
use crate::note::{is_too_long, parse_note, SignedNote, Vkey, VkeyType};
use crate::policy::{PolicyGroup, TlogPolicy};
use crate::tags::origin_fingerprint_of;

const HEADER: &str = "event-anchoring/v4.2/trust-root";
const ROOT_KEYS_MAX: usize = 32;
const CAS_MAX: usize = 32;
const ORIGINS_MAX: usize = 1024;
const NODES_MAX: usize = 1024;
/// Words of the policy rendering that a node must not be called.
const RESERVED_NODE_IDS: [&str; 2] = ["nodes", "none"];

/// What may be written to an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OriginStatus {
    /// New records are taken.
    Active,
    /// Only revocations of its own records, and trust-root leaves.
    Closed,
    /// Never written again: its newest head cannot be reproduced.
    Lost,
}

/// What a node may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeStatus {
    /// It follows, and does not cosign.
    Learner,
    /// It cosigns.
    Active,
    /// It is gone; what it signed stands.
    Retired,
    /// Nothing it signed counts any more.
    Distrusted,
}

/// One origin line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRootOrigin {
    /// The origin.
    pub origin_fingerprint: OriginFingerprint,
    /// Whether it is written to.
    pub status: OriginStatus,
    /// The key of its log line.
    pub log_vkey: Vkey,
}

/// One node line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRootNode {
    /// The node.
    pub node_id: String,
    /// Whether its cosignatures count.
    pub status: NodeStatus,
    /// The origin it writes to.
    pub origin_fingerprint: OriginFingerprint,
    /// The key it cosigns with.
    pub cosigner_vkey: Vkey,
    /// The key of its control plane.
    pub auth_public_key: PublicKey,
}

/// One version of a cluster's trust root. It keeps every rule of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrustRoot {
    /// The name of the cluster.
    pub cluster_name: String,
    /// Drawn once when the cluster was made.
    pub cluster_id: Hash,
    /// From 1.
    pub version: u32,
    /// How many restores of the whole cluster there were.
    pub epoch: u32,
    /// RootTHK of the version before; zeros in version 1.
    pub previous: Hash,
    /// Unix seconds.
    pub issued_s: u64,
    /// Unix seconds. It bounds the freshness of the newest version for clients that are online, and nothing else.
    pub expires_s: u64,
    /// How many of the root keys must sign.
    pub root_threshold: usize,
    /// Offline keys.
    pub root_keys: Vec<Vkey>,
    /// SHA-256 of the SubjectPublicKeyInfo of each accepted CA.
    pub ca: Vec<Hash>,
    /// Ascending by fingerprint.
    pub origins: Vec<TrustRootOrigin>,
    /// Ascending by node id.
    pub nodes: Vec<TrustRootNode>,
    /// How many active nodes must cosign a checkpoint.
    pub quorum: usize,
}

fn refuse<T>(code: &'static str, detail: impl Into<String>) -> Result<T> {
    Err(Error::verification(code, detail))
}

pub(crate) fn refuse_unless(condition: bool, code: &'static str, detail: impl FnOnce() -> String) -> Result<()> {
    if condition {
        Ok(())
    } else {
        refuse(code, detail())
    }
}

impl OriginStatus {
    fn parse(word: &str) -> Result<Self> {
        match word {
            "active" => Ok(Self::Active),
            "closed" => Ok(Self::Closed),
            "lost" => Ok(Self::Lost),
            _ => refuse("malformed", "not a status of an origin"),
        }
    }

    /// The word of the document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Closed => "closed",
            Self::Lost => "lost",
        }
    }
}

impl NodeStatus {
    fn parse(word: &str) -> Result<Self> {
        match word {
            "learner" => Ok(Self::Learner),
            "active" => Ok(Self::Active),
            "retired" => Ok(Self::Retired),
            "distrusted" => Ok(Self::Distrusted),
            _ => refuse("malformed", "not a status of a node"),
        }
    }

    /// The word of the document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Learner => "learner",
            Self::Active => "active",
            Self::Retired => "retired",
            Self::Distrusted => "distrusted",
        }
    }
}

/// The lines of a document, taken in order.
struct Lines<'a> {
    rest: std::iter::Peekable<std::str::Split<'a, char>>,
}

impl<'a> Lines<'a> {
    /// The words after `keyword` on the next line: at least `min` of them, at most `max`.
    fn take(&mut self, keyword: &str, min: usize, max: usize) -> Result<Vec<&'a str>> {
        let line = self.rest.peek().copied().unwrap_or_default();
        let mut words: Vec<&str> = line.split(' ').collect();
        let malformed = || Error::verification("malformed", format!("cannot read a line of {keyword}"));
        if words.first() != Some(&keyword) || words.len() - 1 < min {
            return Err(malformed());
        }
        words.remove(0);
        if words.len() > max {
            let is_list = max > min;
            return if is_list {
                refuse("too_large", format!("over {max} words after {keyword}"))
            } else {
                Err(malformed())
            };
        }
        self.rest.next();
        Ok(words)
    }

    fn take_exact<const N: usize>(&mut self, keyword: &str) -> Result<[&'a str; N]> {
        let words = self.take(keyword, N, N)?;
        words.try_into().map_err(|_| Error::verification("malformed", format!("cannot read a line of {keyword}")))
    }

    fn take_all<const N: usize>(&mut self, keyword: &str, max: usize) -> Result<Vec<[&'a str; N]>> {
        let mut taken = Vec::new();
        while self.rest.peek().is_some_and(|line| line.strip_prefix(keyword).is_some_and(|rest| rest.starts_with(' ')))
        {
            if taken.len() == max {
                return refuse("too_large", format!("more than {max} {keyword} lines"));
            }
            taken.push(self.take_exact(keyword)?);
        }
        Ok(taken)
    }
}

fn decimal(word: &str) -> Result<u64> {
    parse_decimal(word).ok_or_else(|| Error::verification("malformed", "not a number"))
}

fn hash(word: &str) -> Result<Hash> {
    from_hex_exact(word).map(Hash::new).ok_or_else(|| Error::verification("malformed", "not a hash"))
}

fn vkey(word: &str) -> Result<Vkey> {
    Vkey::parse(word).map_err(|error| Error::verification("malformed", error.to_string()))
}

/// Numbers as they stand in the text: their ranges are judged after everything that is judged before them.
struct RawNumbers {
    version: u64,
    epoch: u64,
    root_threshold: u64,
    quorum: u64,
}

/// The grammar alone: neither order nor rules are checked.
fn read_text(text: &str) -> Result<(TrustRoot, RawNumbers)> {
    if is_too_long(text) {
        return refuse("too_large", "the text is too long");
    }
    let Some(body) = text.strip_suffix('\n') else {
        return refuse("malformed", "the text ends with a newline");
    };
    let mut lines = Lines { rest: body.split('\n').peekable() };
    let [] = lines.take_exact(HEADER)?;
    let [cluster_name, cluster_id] = lines.take_exact("cluster")?;
    let [version, epoch, previous] = lines.take_exact("version")?;
    let [issued_s, expires_s] = lines.take_exact("validity")?;
    let root = lines.take("root", 2, 1 + ROOT_KEYS_MAX)?;
    let ca = lines.take("ca", 1, CAS_MAX)?;
    let origins = lines.take_all("origin", ORIGINS_MAX)?;
    let nodes = lines.take_all("node", NODES_MAX)?;
    let [quorum] = lines.take_exact("quorum")?;
    if lines.rest.next().is_some() {
        return refuse("malformed", "lines are left over");
    }
    let Some((threshold, root_keys)) = root.split_first() else { return refuse("malformed", "no root keys") };
    let numbers = RawNumbers {
        version: decimal(version)?,
        epoch: decimal(epoch)?,
        root_threshold: decimal(threshold)?,
        quorum: decimal(quorum)?,
    };
    let trust_root = TrustRoot {
        cluster_name: cluster_name.to_owned(),
        cluster_id: hash(cluster_id)?,
        version: u32::try_from(numbers.version).unwrap_or(u32::MAX),
        epoch: u32::try_from(numbers.epoch).unwrap_or(u32::MAX),
        previous: hash(previous)?,
        issued_s: decimal(issued_s)?,
        expires_s: decimal(expires_s)?,
        root_threshold: usize::try_from(numbers.root_threshold).unwrap_or(usize::MAX),
        root_keys: root_keys.iter().map(|word| vkey(word)).collect::<Result<_>>()?,
        ca: ca.into_iter().map(hash).collect::<Result<_>>()?,
        origins: origins.into_iter().map(read_origin).collect::<Result<_>>()?,
        nodes: nodes.into_iter().map(read_node).collect::<Result<_>>()?,
        quorum: usize::try_from(numbers.quorum).unwrap_or(usize::MAX),
    };
    Ok((trust_root, numbers))
}

fn read_origin([fingerprint, status, log_vkey]: [&str; 3]) -> Result<TrustRootOrigin> {
    Ok(TrustRootOrigin {
        origin_fingerprint: hash(fingerprint)?,
        status: OriginStatus::parse(status)?,
        log_vkey: vkey(log_vkey)?,
    })
}

fn read_node([node_id, status, fingerprint, cosigner, auth]: [&str; 5]) -> Result<TrustRootNode> {
    Ok(TrustRootNode {
        node_id: node_id.to_owned(),
        status: NodeStatus::parse(status)?,
        origin_fingerprint: hash(fingerprint)?,
        cosigner_vkey: vkey(cosigner)?,
        auth_public_key: PublicKey::new(*hash(auth)?.as_bytes()),
    })
}

/// The one text of a trust root: keys, origins and nodes in their order, whatever order they were read in.
fn print_text(root: &TrustRoot, numbers: &RawNumbers) -> String {
    let mut keys: Vec<String> = root.root_keys.iter().map(Vkey::to_string).collect();
    keys.sort_unstable();
    let mut ca: Vec<String> = root.ca.iter().map(Hash::to_hex).collect();
    ca.sort_unstable();
    let mut origins: Vec<&TrustRootOrigin> = root.origins.iter().collect();
    origins.sort_by_key(|origin| origin.origin_fingerprint);
    let mut nodes: Vec<&TrustRootNode> = root.nodes.iter().collect();
    nodes.sort_by(|a, b| a.node_id.cmp(&b.node_id));
    let mut lines = vec![
        HEADER.to_owned(),
        format!("cluster {} {}", root.cluster_name, root.cluster_id),
        format!("version {} {} {}", numbers.version, numbers.epoch, root.previous),
        format!("validity {} {}", root.issued_s, root.expires_s),
        format!("root {} {}", numbers.root_threshold, keys.join(" ")),
        format!("ca {}", ca.join(" ")),
    ];
    for origin in origins {
        lines.push(format!("origin {} {} {}", origin.origin_fingerprint, origin.status.as_str(), origin.log_vkey));
    }
    for node in nodes {
        let TrustRootNode { node_id, status, origin_fingerprint, cosigner_vkey, auth_public_key } = node;
        lines
            .push(format!("node {node_id} {} {origin_fingerprint} {cosigner_vkey} {auth_public_key}", status.as_str()));
    }
    lines.push(format!("quorum {}\n", numbers.quorum));
    lines.join("\n")
}

impl TrustRoot {
    /// Reads the text of one version, which may be attacker-controlled, and holds it against every rule of one
    /// document.
    ///
    /// # Errors
    /// The codes of docs/PROTOCOL.md, "Trust root", in its order.
    pub fn parse(text: &str) -> Result<Self> {
        let (root, numbers) = read_text(text)?;
        if print_text(&root, &numbers) != text {
            return refuse("not_canonical", "the text is not the one text of this trust root");
        }
        root.check_names()?;
        root.check_key_names()?;
        root.check_numbers(&numbers)?;
        root.check_lines()?;
        root.check_keys_differ()?;
        if root.version == 1 {
            root.nodes.iter().try_for_each(|node| root.check_first_cosigner(node))?;
        }
        Ok(root)
    }

    fn check_names(&self) -> Result<()> {
        refuse_unless(is_cluster_name(&self.cluster_name), "name_invalid", || "the cluster name is not legal".into())?;
        self.nodes.iter().try_for_each(|node| {
            let is_legal = is_node_id(&node.node_id) && !RESERVED_NODE_IDS.contains(&node.node_id.as_str());
            refuse_unless(is_legal, "name_invalid", || format!("not a node id: {}", node.node_id))
        })
    }

    fn check_key_names(&self) -> Result<()> {
        let cluster = &self.cluster_name;
        for key in &self.root_keys {
            let label = key.name().strip_prefix(cluster).and_then(|rest| rest.strip_prefix("/root/"));
            let is_root_key = label.is_some_and(is_root_label) && key.key_type() == VkeyType::Ed25519;
            refuse_unless(is_root_key, "key_misnamed", || format!("{} is not a root key of this cluster", key.name()))?;
        }
        for origin in &self.origins {
            let key = &origin.log_vkey;
            let is_named = key.name() == checkpoint_origin(cluster, &origin.origin_fingerprint);
            let is_log_key = is_named && key.key_type() == VkeyType::Ed25519;
            refuse_unless(is_log_key, "key_misnamed", || format!("{} is not this origin's log key", key.name()))?;
        }
        self.nodes.iter().try_for_each(|node| {
            let key = &node.cosigner_vkey;
            let is_named = key.name() == format!("{cluster}/node/{}", node.node_id);
            let is_cosigner = is_named && key.key_type() == VkeyType::Cosignature;
            refuse_unless(is_cosigner, "key_misnamed", || format!("{} is not a cosigner key of its node", key.name()))
        })
    }

    fn check_numbers(&self, numbers: &RawNumbers) -> Result<()> {
        let is_u32 = numbers.version <= u64::from(u32::MAX) && numbers.epoch <= u64::from(u32::MAX);
        refuse_unless(numbers.version >= 1 && is_u32, "version_invalid", || "version and epoch are u32".into())?;
        let is_first = self.version == 1;
        refuse_unless(is_first == self.previous.is_zero(), "previous_invalid", || {
            "zeros stand for the version before version 1".into()
        })?;
        refuse_unless(self.issued_s < self.expires_s, "validity_invalid", || "it expires before it is issued".into())?;
        let is_reachable = (1..=self.root_keys.len()).contains(&self.root_threshold);
        refuse_unless(is_reachable, "root_threshold_invalid", || {
            format!("{} of {} root keys", numbers.root_threshold, self.root_keys.len())
        })?;
        let active = self.active_nodes().count();
        let is_majority = self.quorum > active / 2 && self.quorum <= active;
        refuse_unless(is_majority, "quorum_unsafe", || {
            format!("a quorum of {} is not a majority of {active} active nodes", numbers.quorum)
        })
    }

    /// Order is settled by the canonical text; what is left is that nothing is listed twice or missing.
    fn check_lines(&self) -> Result<()> {
        fn repeats<T: Eq + std::hash::Hash>(items: impl Iterator<Item = T>) -> bool {
            let mut seen = HashSet::new();
            !items.into_iter().all(|item| seen.insert(item))
        }
        refuse_unless(!repeats(self.ca.iter()), "item_repeated", || "a CA is listed twice".into())?;
        let fingerprints = || self.origins.iter().map(|origin| origin.origin_fingerprint);
        refuse_unless(!repeats(fingerprints()), "item_repeated", || "an origin is listed twice".into())?;
        let ids = self.nodes.iter().map(|node| node.node_id.as_str());
        refuse_unless(!repeats(ids), "item_repeated", || "a node is listed twice".into())?;
        let used = || self.nodes.iter().map(|node| node.origin_fingerprint);
        refuse_unless(!repeats(used()), "item_repeated", || "two nodes share an origin".into())?;
        let listed: HashSet<OriginFingerprint> = fingerprints().collect();
        used().try_for_each(|origin| {
            refuse_unless(listed.contains(&origin), "origin_unlisted", || {
                format!("a node's origin {origin} has no line")
            })
        })
    }

    fn check_keys_differ(&self) -> Result<()> {
        let mut seen = HashSet::new();
        self.keys().into_iter().try_for_each(|(key, owner)| {
            refuse_unless(seen.insert(key), "key_reused", || format!("the key of {owner} has another use as well"))
        })
    }

    /// The origin of a node's first cosigner key.
    pub(crate) fn check_first_cosigner(&self, node: &TrustRootNode) -> Result<()> {
        let expected = origin_fingerprint_of(&self.cluster_id, node.cosigner_vkey.public_key());
        refuse_unless(expected == node.origin_fingerprint, "origin_fingerprint_wrong", || {
            format!("the origin of {} is not that of its cosigner key", node.node_id)
        })
    }

    /// Every key with the name of its one use.
    pub(crate) fn keys(&self) -> Vec<(PublicKey, String)> {
        let named = |key: &Vkey| (*key.public_key(), key.name().to_owned());
        let mut keys: Vec<(PublicKey, String)> = self.root_keys.iter().map(named).collect();
        keys.extend(self.origins.iter().map(|origin| named(&origin.log_vkey)));
        keys.extend(self.nodes.iter().map(|node| named(&node.cosigner_vkey)));
        keys.extend(self.nodes.iter().map(|node| (node.auth_public_key, format!("auth of {}", node.node_id))));
        keys
    }

    fn active_nodes(&self) -> impl Iterator<Item = &TrustRootNode> {
        self.nodes.iter().filter(|node| node.status == NodeStatus::Active)
    }

    /// Who may cosign under this version: its active nodes.
    pub(crate) fn cosigners(&self) -> Vec<&Vkey> {
        self.active_nodes().map(|node| &node.cosigner_vkey).collect()
    }

    /// The line of an origin, if this version lists it.
    pub fn origin(&self, origin_fingerprint: &OriginFingerprint) -> Option<&TrustRootOrigin> {
        self.origins.iter().find(|origin| origin.origin_fingerprint == *origin_fingerprint)
    }

    /// The quorum rule as a C2SP tlog-policy, for tools that others wrote.
    pub fn tlog_policy(&self) -> TlogPolicy {
        let members: Vec<String> = self.active_nodes().map(|node| node.node_id.clone()).collect();
        TlogPolicy {
            logs: self.origins.iter().map(|origin| origin.log_vkey.clone()).collect(),
            witnesses: self.active_nodes().map(|node| (node.node_id.clone(), node.cosigner_vkey.clone())).collect(),
            groups: vec![PolicyGroup { name: "nodes".into(), threshold: self.quorum, members }],
            quorum: Some("nodes".into()),
        }
    }
}

/// A document with its signatures.
#[derive(Clone, Debug)]
pub struct SignedTrustRoot {
    pub(crate) trust_root: TrustRoot,
    pub(crate) root_thk: Hash,
    pub(crate) note: SignedNote,
    pub(crate) document: String,
}

impl SignedTrustRoot {
    /// Signatures are read, not verified: a chain does that.
    pub(crate) fn parse(document: &str) -> Result<Self> {
        let note = parse_note(document).map_err(|error| Error::verification("malformed", error.to_string()))?;
        let trust_root = TrustRoot::parse(&note.text)?;
        let root_thk = Hash::sha256(&note.text);
        Ok(Self { trust_root, root_thk, note, document: document.to_owned() })
    }

    /// What it says.
    pub fn trust_root(&self) -> &TrustRoot {
        &self.trust_root
    }

    /// SHA-256 of the text, signatures excluded: what is pinned.
    pub fn root_thk(&self) -> &Hash {
        &self.root_thk
    }

    /// The whole signed note, as it was read.
    pub fn document(&self) -> &str {
        &self.document
    }
}
