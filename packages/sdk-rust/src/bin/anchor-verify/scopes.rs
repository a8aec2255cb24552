//! What grants allow, as far as it was disclosed.

use event_anchoring::{ProvedScope, Scope};
use serde_json::{json, Value};

use crate::files::read_text;
use crate::output::{Fault, Mark};

/// The longest document that any reader takes is shorter.
const SCOPE_BYTES_MAX: u64 = 4 * 1024 * 1024;
const SHORT_DIGITS: usize = 12;

/// A document that fits together.
pub(crate) fn read(path: &String) -> Result<Scope, Fault> {
    let text = read_text(path, SCOPE_BYTES_MAX)?;
    Scope::parse(&text).map_err(|error| Fault::invalid(error.code(), format!("{path}: {error} ({})", error.code())))
}

pub(crate) fn to_json(scope: &ProvedScope) -> Value {
    let grants: Vec<String> = scope.grants.iter().map(|grant| grant.to_hex()).collect();
    json!({
        "scope_hash": scope.scope_hash.to_hex(), "grants": grants, "statements": scope.statements,
        "withheld": scope.withheld,
    })
}

/// A value as JSON in ASCII: nothing is hidden, and nothing moves a cursor.
fn plain(value: &Value) -> String {
    let mut text = String::new();
    for unit in value.to_string().encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if (0x20..0x7f).contains(&byte) => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\u{unit:04x}")),
        }
    }
    text
}

pub(crate) fn lines(scope: &ProvedScope, mark: Mark) -> Vec<String> {
    let short = |hex: String| format!("{}…", hex.get(..SHORT_DIGITS).unwrap_or_default());
    let grants: Vec<String> = scope.grants.iter().map(|grant| short(grant.to_hex())).collect();
    let (count, withheld) = (scope.statements.len(), scope.withheld);
    let detail = format!("of {}: {count} statements disclosed, {withheld} withheld", grants.join(", "));
    let statements = scope.statements.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
    std::iter::once(mark.line("scope", &detail)).chain(statements.map(|text| mark.line("", &text))).collect()
}
