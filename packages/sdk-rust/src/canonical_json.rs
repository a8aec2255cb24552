//! Canonical JSON (RFC 8785): one text for one value, in every language.

use serde::Serialize;
use serde_json::Value;

use crate::bytes::INTEGER_MAX;

/// From here on an exponent is written, so that nobody takes the number for an integer.
const EXPONENT_FROM: f64 = 1e21;

/// The bytes of a value. Numbers are written as the doubles that they are: [`fault_of`] refuses those that it changes.
///
/// # Errors
/// A name that is no text, or is there twice. A [`Value`] has none of these.
pub(crate) fn canonical_json<T: Serialize>(value: &T) -> serde_json::Result<Vec<u8>> {
    serde_json_canonicalizer::to_vec(value)
}

/// Why a value has no text on which all languages agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Another language may read it as an integer, which a double has rounded.
    UnsafeNumber,
    /// It is no double.
    NoDouble,
    /// Lists and objects are nested deeper than was allowed.
    TooDeep,
}

/// The first fault; `depth_left` lists and objects may be open at one place.
pub(crate) fn fault_of(value: &Value, depth_left: usize) -> Option<Fault> {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => None,
        Value::Number(number) => match number.as_f64() {
            Some(double) if double.is_finite() => {
                let is_unsafe = double.abs() > INTEGER_MAX as f64 && double.abs() < EXPONENT_FROM;
                is_unsafe.then_some(Fault::UnsafeNumber)
            }
            _ => Some(Fault::NoDouble),
        },
        Value::Array(_) | Value::Object(_) if depth_left == 0 => Some(Fault::TooDeep),
        Value::Array(items) => items.iter().find_map(|item| fault_of(item, depth_left - 1)),
        Value::Object(members) => members.values().find_map(|member| fault_of(member, depth_left - 1)),
    }
}

/// Whether more lists and objects than that are open at one place, in a text that nobody has read yet.
pub(crate) fn is_nested_deeper(text: &[u8], depth_max: i64) -> bool {
    let (mut depth, mut is_in_text, mut is_escaped) = (0_i64, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_in_text => is_escaped = true,
            b'"' => is_in_text = !is_in_text,
            b'[' | b'{' if !is_in_text => depth += 1,
            b']' | b'}' if !is_in_text => depth -= 1,
            _ => {}
        }
        if depth > depth_max {
            return true;
        }
    }
    false
}
