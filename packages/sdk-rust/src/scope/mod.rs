//! Scope documents: what a grant allows, as statements that can be disclosed one by one. docs/PROTOCOL.md, "Scope
//! documents".

mod statement;

use std::collections::HashSet;
use std::fmt;

use serde_json::{json, Value};

use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::strict_json::read_strict_json;
use crate::tags::tag;
use statement::{malformed, too_large, Statement};

const FORMAT: &str = "event-anchoring/v4.2/scope";
/// Bytes of UTF-8 of a document.
const BYTES_MAX: usize = 1024 * 1024;
/// Statements, those that are withheld among them.
const STATEMENTS_MAX: usize = 1_024;
const NAMES: [&str; 4] = ["format", "scope_hash", "statements", "withheld"];

/// What a grant allows: all statements, or those that are disclosed and the digests of the others.
///
/// The parts of one make the hash that it states. Only [`verify`](Self::verify), or a bundle, says that it is the scope
/// of a grant. It holds salts, so it is not printed: who has one can guess at its statement.
///
/// ```
/// use event_anchoring::Scope;
/// let scope = Scope::make(&serde_json::json!({"actions": ["refund"], "max_amount": 5000, "customer": "c-417"}))?;
/// let shown = Scope::parse(&scope.disclose(&["actions", "max_amount"])?.to_text())?;
/// shown.verify(&scope.scope_hash())?;
/// assert_eq!(shown.value("max_amount"), Some(&serde_json::json!(5000)));
/// assert_eq!(shown.withheld(), 1);
/// # Ok::<(), event_anchoring::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Scope {
    scope_hash: Hash,
    /// Ascending by name.
    statements: Vec<Statement>,
    /// Ascending.
    withheld: Vec<Hash>,
}

/// A document as it was read: nothing is verified.
#[derive(Clone)]
pub(crate) struct StatedScope {
    pub(crate) scope_hash: Hash,
    statements: Vec<Statement>,
    withheld: Vec<Hash>,
}

fn repeated(what: &str) -> Error {
    Error::verification("scope_repeated", format!("{what} is there twice"))
}

fn hex_of(value: &Value, place: &str) -> Result<Hash> {
    let text = value.as_str().ok_or_else(|| malformed(format!("{place} is no text")))?;
    Hash::from_hex(text).map_err(|_| malformed(format!("{place} is not 64 hex digits")))
}

fn list_of<T>(value: &Value, place: &str, read: impl Fn(&Value, &str) -> Result<T>) -> Result<Vec<T>> {
    let items = value.as_array().ok_or_else(|| malformed(format!("{place} is no list")))?;
    if items.len() > STATEMENTS_MAX {
        return Err(too_large(format!("{place} has more than {STATEMENTS_MAX} items")));
    }
    items.iter().enumerate().map(|(at, item)| read(item, &format!("{place}[{at}]"))).collect()
}

fn read_statement(value: &Value, place: &str) -> Result<Statement> {
    match value.as_array().map(Vec::as_slice) {
        Some([salt, name, stated]) => {
            let name = name.as_str().ok_or_else(|| malformed(format!("{place}[1] is no text")))?;
            Statement::new(hex_of(salt, place)?, name, stated)
        }
        _ => Err(malformed(format!("{place} is not a salt, a name and a value"))),
    }
}

/// One text of one disclosure, which does not show in which order its statements were made.
fn check_ascending<T: Ord>(items: &[T], place: &str) -> Result<()> {
    for pair in items.windows(2) {
        match pair {
            [before, item] if before == item => return Err(repeated(place)),
            [before, item] if before > item => return Err(malformed(format!("{place} are not ascending"))),
            _ => {}
        }
    }
    Ok(())
}

fn check_count(statements: &[Statement], withheld: &[Hash]) -> Result<()> {
    match statements.len() + withheld.len() {
        0 => Err(malformed("there is no statement")),
        1..=STATEMENTS_MAX => Ok(()),
        count => Err(too_large(format!("{count} statements, at most {STATEMENTS_MAX}"))),
    }
}

fn check_salts(statements: &[Statement]) -> Result<()> {
    let salts: HashSet<&Hash> = statements.iter().map(|statement| &statement.salt).collect();
    if salts.len() == statements.len() {
        Ok(())
    } else {
        Err(repeated("a salt"))
    }
}

impl StatedScope {
    /// A document inside of other JSON, which the strict reader has read.
    pub(crate) fn of_json(value: &Value) -> Result<Self> {
        let object = value.as_object().ok_or_else(|| malformed("it is no object"))?;
        if object.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Err(Error::verification("scope_format_unknown", format!("its format is not {FORMAT}")));
        }
        if object.len() != NAMES.len() || NAMES.iter().any(|name| !object.contains_key(*name)) {
            return Err(malformed(format!("it has other members than {}", NAMES.join(", "))));
        }
        let member = |name: &str| object.get(name).unwrap_or(&Value::Null);
        let stated = Self {
            scope_hash: hex_of(member("scope_hash"), "scope_hash")?,
            statements: list_of(member("statements"), "statements", read_statement)?,
            withheld: list_of(member("withheld"), "withheld", hex_of)?,
        };
        check_count(&stated.statements, &stated.withheld)?;
        let names: Vec<&str> = stated.statements.iter().map(|statement| statement.name.as_str()).collect();
        check_ascending(&names, "statements")?;
        check_ascending(&stated.withheld, "withheld")?;
        check_salts(&stated.statements)?;
        Ok(stated)
    }

    /// The document, if its parts make the hash that it states.
    pub(crate) fn verified(self) -> Result<Scope> {
        let scope = Scope::of_parts(self.statements, self.withheld)?;
        if scope.scope_hash == self.scope_hash {
            return Ok(scope);
        }
        let made = format!("it states {}, and its statements make {}", self.scope_hash, scope.scope_hash);
        Err(Error::verification("scope_hash_differs", format!("{made}: something was altered or left out")))
    }
}

impl Scope {
    /// A new document, for whoever delegates, of an object: values by names, each a text, an integer from 0 to
    /// 2^53 − 1, a boolean, or lists and objects of these. It is a secret: who has it can disclose all of it.
    ///
    /// # Errors
    /// `scope_malformed`, `scope_too_large`.
    pub fn make(statements: &Value) -> Result<Self> {
        Self::make_with(statements, || {
            let mut salt = [0; 32];
            getrandom::fill(&mut salt).map_err(|cause| {
                Error::invalid_input("salt", "the system has no randomness").with_source(cause.to_string())
            })?;
            Ok(Hash::new(salt))
        })
    }

    pub(crate) fn make_with(statements: &Value, mut next_salt: impl FnMut() -> Result<Hash>) -> Result<Self> {
        let object = statements.as_object().ok_or_else(|| malformed("the statements are no object"))?;
        let salted: Result<Vec<Statement>> =
            object.iter().map(|(name, value)| Statement::new(next_salt()?, name, value)).collect();
        let scope = Self::of_parts(salted?, Vec::new())?;
        if scope.to_text().len() > BYTES_MAX {
            return Err(too_large(format!("over {BYTES_MAX} bytes")));
        }
        Ok(scope)
    }

    fn of_parts(mut statements: Vec<Statement>, mut withheld: Vec<Hash>) -> Result<Self> {
        check_count(&statements, &withheld)?;
        check_salts(&statements)?;
        statements.sort_by(|a, b| a.name.cmp(&b.name));
        withheld.sort_unstable();
        let mut digests: Vec<Hash> = statements.iter().map(Statement::digest).chain(withheld.iter().copied()).collect();
        digests.sort_unstable();
        if digests.windows(2).any(|pair| matches!(pair, [before, item] if before == item)) {
            return Err(repeated("a digest"));
        }
        let count = u32::try_from(digests.len()).map_err(|_| too_large("too many statements"))?;
        let (tag, count) = (tag("scope"), count.to_be_bytes());
        let head: [&[u8]; 2] = [&tag, &count];
        let parts: Vec<&[u8]> = head.into_iter().chain(digests.iter().map(|digest| digest.as_ref())).collect();
        Ok(Self { scope_hash: Hash::of_parts(&parts), statements, withheld })
    }

    /// Reads a document, which may be attacker-controlled.
    ///
    /// # Errors
    /// `scope_too_large`, `scope_json_invalid`, `scope_format_unknown`, `scope_malformed`, `scope_repeated` or
    /// `scope_hash_differs`.
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() > BYTES_MAX {
            return Err(too_large(format!("over {BYTES_MAX} bytes")));
        }
        StatedScope::of_json(&read_strict_json(text, "scope_json_invalid")?)?.verified()
    }

    /// What a grant has of it.
    pub fn scope_hash(&self) -> Hash {
        self.scope_hash
    }

    /// The statements that are disclosed, ascending by name.
    pub fn statements(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.statements.iter().map(|statement| (statement.name.as_str(), &statement.value))
    }

    /// The value of a statement; `None`: it is not there, or withheld.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.statements().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// How many statements are not disclosed.
    pub fn withheld(&self) -> usize {
        self.withheld.len()
    }

    /// The same document with these statements alone; of the others only the digests are left.
    ///
    /// # Errors
    /// `scope_name_unknown`.
    pub fn disclose(&self, names: &[&str]) -> Result<Self> {
        if let Some(unknown) = names.iter().find(|name| self.value(name).is_none()) {
            let detail = format!("there is no statement {unknown:?} to disclose");
            return Err(Error::verification("scope_name_unknown", detail));
        }
        let is_shown = |statement: &&Statement| names.contains(&statement.name.as_str());
        let (shown, hidden): (Vec<_>, Vec<_>) = self.statements.iter().partition(is_shown);
        let withheld = hidden.into_iter().map(Statement::digest).chain(self.withheld.iter().copied()).collect();
        Self::of_parts(shown.into_iter().cloned().collect(), withheld)
    }

    /// That it is the scope of a grant with this `scope_hash`, which is known by a receipt or a bundle.
    ///
    /// # Errors
    /// `scope_not_granted`.
    pub fn verify(&self, scope_hash: &Hash) -> Result<()> {
        if self.scope_hash == *scope_hash {
            return Ok(());
        }
        let detail = format!("its scope_hash is {}, not {scope_hash}", self.scope_hash);
        Err(Error::verification("scope_not_granted", detail))
    }

    /// The document, as a bundle holds it.
    pub fn to_json(&self) -> Value {
        let statements: Vec<Value> =
            self.statements.iter().map(|each| json!([each.salt, each.name, each.value])).collect();
        json!({
            "format": FORMAT,
            "scope_hash": self.scope_hash,
            "statements": statements,
            "withheld": self.withheld,
        })
    }

    /// The document as a file: one line of JSON. Without anything withheld, keep it where only its owner reads.
    pub fn to_text(&self) -> String {
        format!("{}\n", self.to_json())
    }
}

#[cfg(test)]
impl Scope {
    /// The canonical JSON of each statement.
    pub(crate) fn canonical(&self) -> Vec<String> {
        self.statements.iter().map(|each| String::from_utf8_lossy(&each.content).into_owned()).collect()
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (disclosed, withheld) = (self.statements.len(), self.withheld.len());
        write!(formatter, "Scope({}, {disclosed} disclosed, {withheld} withheld)", self.scope_hash)
    }
}

impl fmt::Debug for StatedScope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "StatedScope({})", self.scope_hash)
    }
}
