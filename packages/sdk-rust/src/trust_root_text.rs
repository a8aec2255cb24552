//! The text of a trust root: what its lines are, how they are read and printed. Rules are in `trust_root`.

use crate::bytes::{from_hex_exact, parse_decimal};
use crate::error::{Error, Result};
use crate::hash::{Hash, OriginFingerprint, PublicKey};
use crate::note::{is_too_long, Vkey};

const HEADER: &str = "event-anchoring/v4.2/trust-root";
const ROOT_KEYS_MAX: usize = 32;
const CAS_MAX: usize = 32;
const ORIGINS_MAX: usize = 1024;
const NODES_MAX: usize = 1024;
const OPERATORS_MAX: usize = 64;
const WITNESSES_MAX: usize = 32;

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

/// One operator line: whose signature counts for what operators do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRootOperator {
    /// The operator.
    pub name: String,
    /// The key of its acts.
    pub vkey: Vkey,
}

/// One witness line: somebody outside the cluster who cosigns checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRootWitness {
    /// The witness.
    pub name: String,
    /// The key it cosigns with, under its own name.
    pub vkey: Vkey,
    /// Where it takes checkpoints.
    pub url: String,
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
    /// Ascending by name.
    pub operators: Vec<TrustRootOperator>,
    /// How many active nodes must cosign a checkpoint.
    pub quorum: usize,
    /// Ascending by name.
    pub witnesses: Vec<TrustRootWitness>,
    /// How many of the witnesses must cosign; 0 if there are none.
    pub witness_quorum: usize,
}

pub(crate) fn refuse<T>(code: &'static str, detail: impl Into<String>) -> Result<T> {
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
pub(crate) struct RawNumbers {
    pub(crate) version: u64,
    pub(crate) epoch: u64,
    pub(crate) root_threshold: u64,
    pub(crate) quorum: u64,
    pub(crate) witness_quorum: u64,
}

/// The grammar alone: neither order nor rules are checked.
pub(crate) fn read_text(text: &str) -> Result<(TrustRoot, RawNumbers)> {
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
    let operators = lines.take_all("operator", OPERATORS_MAX)?;
    let [quorum] = lines.take_exact("quorum")?;
    let witnesses = lines.take_all("witness", WITNESSES_MAX)?;
    let [witness_quorum] = if witnesses.is_empty() { ["0"] } else { lines.take_exact("witnesses")? };
    if lines.rest.next().is_some() {
        return refuse("malformed", "lines are left over");
    }
    let Some((threshold, root_keys)) = root.split_first() else { return refuse("malformed", "no root keys") };
    let numbers = RawNumbers {
        version: decimal(version)?,
        epoch: decimal(epoch)?,
        root_threshold: decimal(threshold)?,
        quorum: decimal(quorum)?,
        witness_quorum: decimal(witness_quorum)?,
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
        operators: operators.into_iter().map(read_operator).collect::<Result<_>>()?,
        quorum: usize::try_from(numbers.quorum).unwrap_or(usize::MAX),
        witnesses: witnesses.into_iter().map(read_witness).collect::<Result<_>>()?,
        witness_quorum: usize::try_from(numbers.witness_quorum).unwrap_or(usize::MAX),
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

fn read_operator([name, key]: [&str; 2]) -> Result<TrustRootOperator> {
    Ok(TrustRootOperator { name: name.to_owned(), vkey: vkey(key)? })
}

fn read_witness([name, key, url]: [&str; 3]) -> Result<TrustRootWitness> {
    Ok(TrustRootWitness { name: name.to_owned(), vkey: vkey(key)?, url: url.to_owned() })
}

/// The one text of a trust root: keys and lines in their order, whatever order they were read in.
pub(crate) fn print_text(root: &TrustRoot, numbers: &RawNumbers) -> String {
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
    let mut operators: Vec<&TrustRootOperator> = root.operators.iter().collect();
    operators.sort_by(|a, b| a.name.cmp(&b.name));
    lines.extend(operators.into_iter().map(|TrustRootOperator { name, vkey }| format!("operator {name} {vkey}")));
    lines.push(format!("quorum {}", numbers.quorum));
    let mut witnesses: Vec<&TrustRootWitness> = root.witnesses.iter().collect();
    witnesses.sort_by(|a, b| a.name.cmp(&b.name));
    lines.extend(witnesses.iter().map(|TrustRootWitness { name, vkey, url }| format!("witness {name} {vkey} {url}")));
    if !witnesses.is_empty() {
        lines.push(format!("witnesses {}", numbers.witness_quorum));
    }
    lines.join("\n") + "\n"
}
