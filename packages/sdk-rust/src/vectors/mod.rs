//! The shared vectors, good and bad, of `test/vectors` in the repository. A packaged crate has no vectors beside it:
//! there these tests say so and pass.

mod bundle;
mod bytes;
mod ed25519;
mod envelope;
mod hostile;
mod leaf;
mod merkle;
mod names;
mod note;
mod prepare;
mod receipt;
mod scope;
#[cfg(feature = "recorder")]
mod spool;
mod trust_root;

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A file of the repository, as JSON.
pub(crate) fn repository_file(relative: &str) -> Option<Value> {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(relative);
    let Ok(text) = std::fs::read_to_string(&path) else {
        // In a checkout the vectors are there; without them a green run would say nothing.
        assert!(!root.join("test/vectors").exists(), "{} is missing", path.display());
        println!("skipped: no {} beside this crate", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

pub(crate) fn vectors(name: &str) -> Option<Value> {
    repository_file(&format!("test/vectors/{name}.json"))
}

pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a Vec<Value> {
    value.pointer(pointer).and_then(Value::as_array).unwrap_or_else(|| panic!("no list at {pointer}"))
}

pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no text {name} in {value}"))
}

pub(crate) fn hex(value: &Value, name: &str) -> Vec<u8> {
    crate::bytes::from_hex(text(value, name)).unwrap()
}

pub(crate) fn hash(value: &Value, name: &str) -> crate::Hash {
    crate::Hash::from_hex(text(value, name)).unwrap()
}
