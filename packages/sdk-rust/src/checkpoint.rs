//! C2SP tlog-checkpoint: origin, size and root of one tree, as text; and the names that stand in it.

use crate::bytes::{from_base64_exact, parse_decimal};
use crate::error::{Error, Result};
use crate::hash::{Hash, OriginFingerprint};
use crate::note::{parse_note, SignedNote};

/// Origin, size and root of one tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The checkpoint origin: `<cluster name>/origin/<origin fingerprint>`. Not a URL.
    pub origin: String,
    /// How many leaves the tree has.
    pub tree_size: u64,
    /// The root over all of them.
    pub root_hash: Hash,
}

impl Checkpoint {
    /// Reads the three lines of a checkpoint text, signatures excluded. Extension lines are refused: nothing would
    /// check them.
    ///
    /// # Errors
    /// `checkpoint_malformed` or `checkpoint_extended`.
    pub fn parse(text: &str) -> Result<Self> {
        let malformed = |detail: &str| Error::verification("checkpoint_malformed", detail);
        let form = "a checkpoint is an origin, a size and a root hash";
        let body = text.strip_suffix('\n').ok_or_else(|| malformed(form))?;
        let mut lines = body.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(malformed(form));
        };
        let tree_size = parse_decimal(size).filter(|_| !origin.is_empty()).ok_or_else(|| malformed(form))?;
        if lines.next().is_some() {
            return Err(Error::verification("checkpoint_extended", "extension lines are not accepted"));
        }
        let root_hash = from_base64_exact(root).map(Hash::new).ok_or_else(|| malformed("not a root hash"))?;
        Ok(Self { origin: origin.to_owned(), tree_size, root_hash })
    }
}

/// A checkpoint and the note that carries it.
pub(crate) struct NotedCheckpoint {
    pub(crate) note: SignedNote,
    pub(crate) checkpoint: Checkpoint,
}

/// Reads a whole signed checkpoint, which may be attacker-controlled.
pub(crate) fn read_checkpoint_note(note: &str) -> Result<NotedCheckpoint> {
    let note = parse_note(note)?;
    let checkpoint = Checkpoint::parse(&note.text)?;
    Ok(NotedCheckpoint { note, checkpoint })
}

const CLUSTER_NAME_LENGTH_MAX: usize = 128;

/// `[a-z0-9.-]+(/[a-z0-9._-]+)*`, at most 128 bytes.
pub(crate) fn is_cluster_name(name: &str) -> bool {
    let is_legal = |part: &str, is_first: bool| {
        let is_extra = |byte: u8| byte == b'.' || byte == b'-' || (byte == b'_' && !is_first);
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || is_extra(byte))
    };
    name.len() <= CLUSTER_NAME_LENGTH_MAX && name.split('/').enumerate().all(|(at, part)| is_legal(part, at == 0))
}

fn is_label(text: &str, is_first_legal: impl Fn(u8) -> bool) -> bool {
    let mut bytes = text.bytes();
    text.len() <= 32
        && bytes.next().is_some_and(is_first_legal)
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// `[a-z][a-z0-9-]{0,31}`.
pub(crate) fn is_node_id(id: &str) -> bool {
    is_label(id, |byte| byte.is_ascii_lowercase())
}

/// `[a-z0-9][a-z0-9-]{0,31}`.
pub(crate) fn is_root_label(label: &str) -> bool {
    is_label(label, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// First line of a checkpoint, and name of the origin's log key.
pub(crate) fn checkpoint_origin(cluster_name: &str, origin_fingerprint: &OriginFingerprint) -> String {
    format!("{cluster_name}/origin/{origin_fingerprint}")
}
