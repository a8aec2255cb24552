//! From text to the parts of a bundle: strict, bounded, and nothing is verified.

use serde_json::{Map, Value};

use crate::bytes::{from_base64, from_base64_exact};
use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash};
use crate::scope::StatedScope;
use crate::state_head::LEVEL_MAX;
use crate::strict_json::read_strict_json;

const FORMAT: &str = "event-anchoring/v4.2/bundle";
/// Bytes of UTF-8.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Single leaves, those of ranges and those of records together.
const LEAVES_MAX: usize = 100_000;
const TRUST_ROOTS_MAX: usize = 1_000;
const CHECKPOINTS_MAX: usize = 1_024;
/// Hashes of one inclusion path, or of one frontier.
const HASHES_MAX: usize = 53;
const SCOPES_MAX: usize = 1_024;

/// A position in the ledger: a sequence, and the time that goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsOf {
    /// Position among the leaves of all origins.
    pub sequence: u64,
    /// Unix milliseconds.
    pub time_ms: u64,
}

/// Everything that a trace needs in one file, to be judged without asking anybody. Every part proves itself; the file
/// as a whole is neither hashed nor signed. Read it with [`Bundle::parse`], judge it with
/// [`verify_bundle`](crate::verify_bundle).
#[derive(Clone, Debug)]
pub struct Bundle {
    pub(super) subject: AnchorId,
    pub(super) as_of: AsOf,
    pub(super) trust_roots: Vec<String>,
    pub(super) checkpoints: Vec<String>,
    pub(super) leaves: Vec<BundleLeaf>,
    pub(super) ranges: Vec<BundleRange>,
    pub(super) state: Option<BundleState>,
    pub(super) scopes: Vec<StatedScope>,
    pub(super) stated: Value,
}

/// One leaf with its own proof.
#[derive(Clone, Debug)]
pub(super) struct BundleLeaf {
    pub(super) leaf: Vec<u8>,
    /// Place in `checkpoints`; `None`: the state head has its tree.
    pub(super) checkpoint: Option<usize>,
    pub(super) inclusion: Vec<Hash>,
}

/// The last leaves of a tree, without gaps: with the frontier before them they make its root.
#[derive(Clone, Debug)]
pub(super) struct BundleRange {
    pub(super) checkpoint: usize,
    /// Depth of the first leaf.
    pub(super) from: u64,
    pub(super) frontier: Vec<Hash>,
    pub(super) leaves: Vec<Vec<u8>>,
}

/// A claim or a grant with its value in the state tree.
#[derive(Clone, Debug)]
pub(super) struct StatedRecord {
    pub(super) leaf: Vec<u8>,
    pub(super) value: Vec<u8>,
    /// Halves between the root of the state tree and it.
    pub(super) level: u64,
}

/// A state head, records that are in its tree, and the other halves of their paths.
#[derive(Clone, Debug)]
pub(super) struct BundleState {
    pub(super) head: String,
    pub(super) records: Vec<StatedRecord>,
    pub(super) siblings: Vec<Hash>,
}

fn malformed(place: &str, what: &str) -> Error {
    let place = if place.is_empty() { "the bundle" } else { place };
    Error::verification("bundle_malformed", format!("{place} {what}"))
}

fn too_large(detail: String) -> Error {
    Error::verification("bundle_too_large", detail)
}

/// An object that has these members and no others.
struct Members<'a> {
    object: &'a Map<String, Value>,
    place: &'a str,
}

impl<'a> Members<'a> {
    fn new(value: &'a Value, names: &[&str], place: &'a str) -> Result<Self> {
        let object = value.as_object().ok_or_else(|| malformed(place, "is no object"))?;
        if let Some(missing) = names.iter().find(|name| !object.contains_key(**name)) {
            return Err(malformed(place, &format!("has no {missing}")));
        }
        if let Some(unknown) = object.keys().find(|name| !names.contains(&name.as_str())) {
            return Err(malformed(place, &format!("has {unknown:?}, which nothing is known of")));
        }
        Ok(Self { object, place })
    }

    fn place(&self, name: &str) -> String {
        if self.place.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.place)
        }
    }

    fn value(&self, name: &str) -> &'a Value {
        self.object.get(name).unwrap_or(&Value::Null)
    }

    fn text(&self, name: &str) -> Result<&'a str> {
        text_of(self.value(name), &self.place(name))
    }

    fn integer(&self, name: &str) -> Result<u64> {
        self.value(name).as_u64().ok_or_else(|| malformed(&self.place(name), "is no integer"))
    }

    fn place_of_checkpoint(&self) -> Result<usize> {
        // A place that no list can have is refused with the others that name nothing.
        Ok(usize::try_from(self.integer("checkpoint")?).unwrap_or(usize::MAX))
    }

    fn list<T>(&self, name: &str, max: usize, read: impl Fn(&'a Value, &str) -> Result<T>) -> Result<Vec<T>> {
        let place = self.place(name);
        let items = self.value(name).as_array().ok_or_else(|| malformed(&place, "is no list"))?;
        if items.len() > max {
            return Err(too_large(format!("{place} has more than {max} items")));
        }
        items.iter().enumerate().map(|(at, item)| read(item, &format!("{place}[{at}]"))).collect()
    }
}

fn text_of<'a>(value: &'a Value, place: &str) -> Result<&'a str> {
    value.as_str().ok_or_else(|| malformed(place, "is no text"))
}

fn base64_of(value: &Value, place: &str) -> Result<Vec<u8>> {
    from_base64(text_of(value, place)?).ok_or_else(|| malformed(place, "is not base64"))
}

fn hash_of(value: &Value, place: &str) -> Result<Hash> {
    from_base64_exact(text_of(value, place)?).map(Hash::new).ok_or_else(|| malformed(place, "is no hash in base64"))
}

fn read_leaf(value: &Value, place: &str) -> Result<BundleLeaf> {
    let members = Members::new(value, &["leaf", "checkpoint", "inclusion"], place)?;
    Ok(BundleLeaf {
        leaf: base64_of(members.value("leaf"), &members.place("leaf"))?,
        checkpoint: match members.value("checkpoint") {
            Value::Null => None,
            _ => Some(members.place_of_checkpoint()?),
        },
        inclusion: members.list("inclusion", HASHES_MAX, hash_of)?,
    })
}

fn read_range(value: &Value, place: &str) -> Result<BundleRange> {
    let members = Members::new(value, &["checkpoint", "from", "frontier", "leaves"], place)?;
    Ok(BundleRange {
        checkpoint: members.place_of_checkpoint()?,
        from: members.integer("from")?,
        frontier: members.list("frontier", HASHES_MAX, hash_of)?,
        leaves: members.list("leaves", LEAVES_MAX, base64_of)?,
    })
}

fn read_record(value: &Value, place: &str) -> Result<StatedRecord> {
    let members = Members::new(value, &["leaf", "value", "level"], place)?;
    let level = members.integer("level")?;
    if level > LEVEL_MAX {
        return Err(malformed(&members.place("level"), &format!("is above {LEVEL_MAX}")));
    }
    Ok(StatedRecord {
        leaf: base64_of(members.value("leaf"), &members.place("leaf"))?,
        value: base64_of(members.value("value"), &members.place("value"))?,
        level,
    })
}

fn read_state(value: &Value) -> Result<Option<BundleState>> {
    if value.is_null() {
        return Ok(None);
    }
    let members = Members::new(value, &["head", "records", "siblings"], "state")?;
    let siblings = base64_of(members.value("siblings"), "state.siblings")?;
    let hashes: std::result::Result<Vec<Hash>, _> = siblings.chunks(32).map(Hash::try_from).collect();
    Ok(Some(BundleState {
        head: members.text("head")?.to_owned(),
        records: members.list("records", LEAVES_MAX, read_record)?,
        siblings: hashes.map_err(|_| malformed("state.siblings", "has bytes which are no hashes"))?,
    }))
}

/// A disclosure, whose faults are those of the bundle that holds it.
fn read_scope(value: &Value, place: &str) -> Result<StatedScope> {
    StatedScope::of_json(value).map_err(|error| match error.code() {
        "scope_too_large" => too_large(format!("{place}: {error}")),
        _ => malformed(place, &format!("is no scope: {error}")),
    })
}

fn note_of(value: &Value, place: &str) -> Result<String> {
    text_of(value, place).map(str::to_owned)
}

const NAMES: [&str; 10] =
    ["format", "subject", "as_of", "trust_roots", "checkpoints", "leaves", "ranges", "state", "scopes", "stated"];

impl Bundle {
    /// Reads a bundle, which may be attacker-controlled. Nothing is verified.
    ///
    /// # Errors
    /// `bundle_too_large`, `bundle_json_invalid`, `bundle_format_unknown` or `bundle_malformed`.
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() > BYTES_MAX {
            return Err(too_large(format!("over {BYTES_MAX} bytes")));
        }
        let mut json = read_strict_json(text, "bundle_json_invalid")?;
        let object = json.as_object_mut().ok_or_else(|| malformed("", "is no object"))?;
        if object.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Err(Error::verification("bundle_format_unknown", format!("its format is not {FORMAT}")));
        }
        // A state head and disclosures are the only members that may be missing.
        for name in ["state", "scopes"] {
            object.entry(name).or_insert(Value::Null);
        }
        let members = Members::new(&json, &NAMES, "")?;
        let position = Members::new(members.value("as_of"), &["sequence", "time_ms"], "as_of")?;
        let stated = members.value("stated");
        let bundle = Self {
            subject: Hash::from_hex(members.text("subject")?).map_err(|_| malformed("subject", "is no anchor id"))?,
            as_of: AsOf { sequence: position.integer("sequence")?, time_ms: position.integer("time_ms")? },
            trust_roots: members.list("trust_roots", TRUST_ROOTS_MAX, note_of)?,
            checkpoints: members.list("checkpoints", CHECKPOINTS_MAX, note_of)?,
            leaves: members.list("leaves", LEAVES_MAX, read_leaf)?,
            ranges: members.list("ranges", CHECKPOINTS_MAX, read_range)?,
            state: read_state(members.value("state"))?,
            scopes: match members.value("scopes") {
                Value::Null => Vec::new(),
                _ => members.list("scopes", SCOPES_MAX, read_scope)?,
            },
            stated: stated.clone(),
        };
        if !stated.is_null() && !stated.is_object() {
            return Err(malformed("stated", "is neither an object nor null"));
        }
        bundle.check_parts()?;
        Ok(bundle)
    }

    /// Places in `checkpoints` exist, and the leaves of all parts are not too many.
    fn check_parts(&self) -> Result<()> {
        let records = self.state.as_ref().map_or(0, |state| state.records.len());
        let count = self.leaves.len() + records + self.ranges.iter().map(|range| range.leaves.len()).sum::<usize>();
        if count > LEAVES_MAX {
            return Err(too_large(format!("{count} leaves, at most {LEAVES_MAX}")));
        }
        if self.state.is_some() && !(self.checkpoints.is_empty() && self.ranges.is_empty()) {
            return Err(malformed("state", "takes the place of checkpoints and ranges, and they are here"));
        }
        let is_nowhere = |checkpoint: usize| checkpoint >= self.checkpoints.len();
        let has_no_tree = |leaf: &BundleLeaf| leaf.checkpoint.map_or(self.state.is_none(), is_nowhere);
        if let Some(at) = self.leaves.iter().position(has_no_tree) {
            return Err(malformed(&format!("leaves[{at}].checkpoint"), "names no checkpoint"));
        }
        if let Some(at) = self.ranges.iter().position(|range| is_nowhere(range.checkpoint)) {
            return Err(malformed(&format!("ranges[{at}].checkpoint"), "names no checkpoint"));
        }
        Ok(())
    }

    /// The anchor that is traced.
    pub fn subject(&self) -> &AnchorId {
        &self.subject
    }

    /// The position that *now* means.
    pub fn as_of(&self) -> AsOf {
        self.as_of
    }

    /// The signed documents of the trust root, ascending by version. They prove nothing without a pin.
    pub fn trust_roots(&self) -> &[String] {
        &self.trust_roots
    }

    /// The service's own answer, unsigned. `null` if there is none.
    pub fn stated(&self) -> &Value {
        &self.stated
    }
}
