//! A receipt as C2SP tlog-proof text (the canonical form) and as JSON. Reading one verifies nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bytes::{from_base64, from_base64_exact, parse_decimal, to_base64, Shown, INTEGER_MAX};
use crate::checkpoint::read_checkpoint_note;
use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash};
use crate::leaf::anchor_id_of;
use crate::note::{is_too_long, NOTE_LENGTH_MAX};

const HEADER: &str = "c2sp.org/tlog-proof@v1";
/// No tree of at most 2^53 − 1 leaves has a longer path.
const PATH_LENGTH_MAX: usize = 53;

/// A leaf, its inclusion path and a cosigned checkpoint: all that proves one anchor, given a trust root.
///
/// Keep it, in a file named `*.tlog-proof`: [`verify_receipt`](crate::verify_receipt) needs nothing else, ever.
#[derive(Clone, PartialEq, Eq)]
pub struct Receipt {
    pub(crate) leaf: Vec<u8>,
    pub(crate) index: u64,
    pub(crate) tree_size: u64,
    pub(crate) path: Vec<Hash>,
    pub(crate) checkpoint: String,
    /// What the JSON form states beside the receipt itself. None of it is relied on.
    pub(crate) stated: Option<Stated>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stated {
    pub(crate) anchor_id: AnchorId,
    trust_root_version: u64,
}

fn malformed(detail: impl Into<String>) -> Error {
    Error::verification("proof_malformed", detail)
}

fn read_path<'a>(hashes: impl ExactSizeIterator<Item = &'a str>) -> Result<Vec<Hash>> {
    if hashes.len() > PATH_LENGTH_MAX {
        let detail = format!("{} hashes, at most {PATH_LENGTH_MAX}", hashes.len());
        return Err(Error::verification("proof_path_too_long", detail));
    }
    hashes.map(read_hash).collect()
}

fn read_hash(text: &str) -> Result<Hash> {
    from_base64_exact(text).map(Hash::new).ok_or_else(|| malformed("not a hash in base64"))
}

impl Receipt {
    /// Reads tlog-proof text, which may be attacker-controlled.
    ///
    /// # Errors
    /// `proof_header_unknown`, `proof_leaf_missing`, `proof_malformed`, `proof_path_too_long`, `proof_too_large` or
    /// `proof_checkpoint_malformed`.
    pub(crate) fn from_proof_text(text: &str) -> Result<Self> {
        if is_too_long(text) {
            return Err(Error::verification("proof_too_large", format!("over {NOTE_LENGTH_MAX} characters")));
        }
        let (head, checkpoint) = text.split_once("\n\n").unwrap_or_default();
        let lines: Vec<&str> = head.split('\n').collect();
        let mut rest = lines.iter().copied();
        if rest.next() != Some(HEADER) {
            return Err(Error::verification("proof_header_unknown", format!("the first line is not {HEADER}")));
        }
        let leaf = rest
            .next()
            .and_then(|line| line.strip_prefix("extra "))
            .ok_or_else(|| Error::verification("proof_leaf_missing", "the second line does not hold the leaf"))?;
        let index = rest
            .next()
            .and_then(|line| line.strip_prefix("index "))
            .and_then(parse_decimal)
            .ok_or_else(|| malformed("the third line is not a leaf index"))?;
        let leaf = from_base64(leaf).ok_or_else(|| malformed("the leaf is not base64"))?;
        let noted = read_checkpoint_note(checkpoint)
            .map_err(|error| Error::verification("proof_checkpoint_malformed", error.to_string()))?;
        let path = read_path(rest)?;
        let tree_size = noted.checkpoint.tree_size;
        Ok(Self { leaf, index, tree_size, path, checkpoint: checkpoint.to_owned(), stated: None })
    }

    /// The canonical form.
    pub fn to_proof_text(&self) -> String {
        let mut text = format!("{HEADER}\nextra {}\nindex {}\n", to_base64(&self.leaf), self.index);
        for hash in &self.path {
            text.push_str(&to_base64(hash.as_bytes()));
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&self.checkpoint);
        text
    }

    /// Reads the JSON form, which may be attacker-controlled. Fields it does not know are ignored.
    ///
    /// # Errors
    /// `proof_malformed` or `proof_path_too_long`.
    pub(crate) fn from_json(text: &str) -> Result<Self> {
        let wire: Wire = serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        Self::try_from(wire)
    }

    /// The JSON form, on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a receipt, which may be attacker-controlled, and verifies nothing: tlog-proof text, or JSON, which begins
    /// with `{`.
    ///
    /// # Errors
    /// `proof_header_unknown`, `proof_leaf_missing`, `proof_malformed`, `proof_path_too_long`, `proof_too_large` or
    /// `proof_checkpoint_malformed`.
    pub fn parse(text: &str) -> Result<Self> {
        if text.trim_start().starts_with('{') {
            Self::from_json(text)
        } else {
            Self::from_proof_text(text)
        }
    }

    /// What the leaf hashes to. Nothing proves that it was anchored until the receipt is verified.
    pub fn anchor_id(&self) -> AnchorId {
        anchor_id_of(&self.leaf)
    }

    /// The bytes of the leaf.
    pub fn leaf(&self) -> &[u8] {
        &self.leaf
    }

    /// Leaf index, which is the leaf's depth.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Tree size of the checkpoint.
    pub fn tree_size(&self) -> u64 {
        self.tree_size
    }

    /// The inclusion path, from the leaf up.
    pub fn inclusion(&self) -> &[Hash] {
        &self.path
    }

    /// The whole signed note of the checkpoint.
    pub fn checkpoint(&self) -> &str {
        &self.checkpoint
    }
}

/// The JSON form. `trust_root_version` is a hint that nothing relies on.
#[derive(Serialize, Deserialize)]
struct Wire {
    anchor_id: AnchorId,
    leaf: String,
    index: u64,
    tree_size: u64,
    inclusion: Vec<String>,
    checkpoint: String,
    trust_root_version: u64,
}

impl TryFrom<Wire> for Receipt {
    type Error = Error;

    fn try_from(wire: Wire) -> Result<Self> {
        let Wire { anchor_id, leaf, index, tree_size, inclusion, checkpoint, trust_root_version } = wire;
        if [index, tree_size, trust_root_version].iter().any(|value| *value > INTEGER_MAX) {
            return Err(malformed("an integer is above 2^53 - 1"));
        }
        if is_too_long(&checkpoint) || is_too_long(&leaf) {
            return Err(malformed("a text is too long"));
        }
        Ok(Self {
            leaf: from_base64(&leaf).ok_or_else(|| malformed("the leaf is not base64"))?,
            index,
            tree_size,
            path: read_path(inclusion.iter().map(String::as_str))?,
            checkpoint,
            stated: Some(Stated { anchor_id, trust_root_version }),
        })
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Receipt");
        shown.field("leaf", &Shown(&self.leaf)).field("index", &self.index).field("tree_size", &self.tree_size);
        shown.field("inclusion", &self.path).field("checkpoint", &self.checkpoint).finish_non_exhaustive()
    }
}

impl Serialize for Receipt {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire {
            anchor_id: self.anchor_id(),
            leaf: to_base64(&self.leaf),
            index: self.index,
            tree_size: self.tree_size,
            inclusion: self.path.iter().map(|hash| to_base64(hash.as_bytes())).collect(),
            checkpoint: self.checkpoint.clone(),
            trust_root_version: self.stated.as_ref().map_or(0, |stated| stated.trust_root_version),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Receipt {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Wire::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
