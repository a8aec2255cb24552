//! One statement of a scope document: a name and a value under a salt.

use serde_json::Value;

use crate::bytes::INTEGER_MAX;
use crate::canonical_json::canonical_json;
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::tags::tag;

/// Bytes of the canonical JSON of one statement.
const STATEMENT_BYTES_MAX: usize = 16_384;
/// Nesting of lists and objects in a value.
const NESTING_MAX: usize = 16;
const NAME_LENGTH_MAX: usize = 64;

/// The salt is a secret until the statement is disclosed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(super) salt: Hash,
    pub(super) name: String,
    pub(super) value: Value,
    /// Canonical JSON of name and value: what the digest is over, behind the salt.
    pub(super) content: Vec<u8>,
}

pub(super) fn malformed(what: impl Into<String>) -> Error {
    Error::verification("scope_malformed", what)
}

pub(super) fn too_large(what: impl Into<String>) -> Error {
    Error::verification("scope_too_large", what)
}

fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-');
    text.len() <= NAME_LENGTH_MAX
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(is_part)
}

/// A text, an integer from 0 to 2^53 − 1, a boolean, or lists and objects of these.
fn check_value(value: &Value, name: &str, depth: usize) -> Result<()> {
    match value {
        Value::Bool(_) | Value::String(_) => return Ok(()),
        Value::Number(number) => {
            let is_safe = number.as_u64().is_some_and(|integer| integer <= INTEGER_MAX);
            return if is_safe { Ok(()) } else { Err(malformed(format!("{name} is no integer from 0 to 2^53 - 1"))) };
        }
        Value::Null => return Err(malformed(format!("{name} is null: leave it out"))),
        Value::Array(_) | Value::Object(_) if depth == NESTING_MAX => {
            return Err(too_large(format!("{name} is nested deeper than {NESTING_MAX}")));
        }
        Value::Array(_) | Value::Object(_) => {}
    }
    let items = value.as_array().into_iter().flatten();
    let members = value.as_object().into_iter().flat_map(|object| object.values());
    items.chain(members).try_for_each(|inner| check_value(inner, name, depth + 1))
}

impl Statement {
    /// A statement of parts that may be attacker-controlled.
    pub(super) fn new(salt: Hash, name: &str, value: &Value) -> Result<Self> {
        if !is_name(name) {
            let form = "a name is a lower-case letter and up to 63 lower-case letters, digits, _ . -";
            return Err(malformed(form));
        }
        check_value(value, name, 0)?;
        let content = canonical_json(&(name, value)).map_err(|cause| malformed(cause.to_string()))?;
        if content.len() > STATEMENT_BYTES_MAX {
            return Err(too_large(format!("{name} has {} bytes, at most {STATEMENT_BYTES_MAX}", content.len())));
        }
        Ok(Self { salt, name: name.to_owned(), value: value.clone(), content })
    }

    /// What is left of it where it is withheld.
    pub(super) fn digest(&self) -> Hash {
        Hash::of_parts(&[&tag("scope-statement"), self.salt.as_bytes(), &self.content])
    }
}
