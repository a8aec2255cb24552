//! Names for hashes, attribute types and scope statements. docs/names.md

use std::collections::BTreeMap;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::error::{Error, Result};
use crate::hash::Hash;

/// Bytes of UTF-8 of a file.
pub(crate) const BYTES_MAX: usize = 1024 * 1024;
pub(crate) const NAMES_MAX: usize = 10_000;
const CHARACTERS_MAX: usize = 80;
const STATEMENT_CHARACTERS_MAX: usize = 64;

/// The registered values of `attribute_type`, by name. Every SDK has the same list.
pub const ATTRIBUTE_TYPES: [(&str, u32); 8] = [
    ("role", 0x01),
    ("software", 0x02),
    ("model", 0x03),
    ("device", 0x04),
    ("organisation", 0x10),
    ("person", 0x11),
    ("membership", 0x12),
    ("custody", 0x20),
];

const OWN_NAME_LENGTH_MAX: usize = 128;
const OWN_NAME_PARTS_MIN: usize = 3;
const OWN_BIT: u32 = 0x8000_0000;

/// What a file of names says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameFile {
    /// By an anchor id, an entity, a public key, a scope hash or an origin.
    pub hashes: BTreeMap<Hash, String>,
    /// By `attribute_type`.
    pub attribute_types: BTreeMap<u32, String>,
    /// What a statement of a scope document means, by its name.
    pub statements: BTreeMap<String, String>,
}

fn malformed(message: impl Into<String>) -> Error {
    Error::verification("names_malformed", message)
}

fn too_large(message: impl Into<String>) -> Error {
    Error::verification("names_too_large", message)
}

/// Reads a file of names, at most 1 MiB of UTF-8; it may be attacker-controlled. Names prove nothing: show the hash with
/// them.
///
/// ```
/// use event_anchoring::{attribute_type_of, parse_names};
/// let names = parse_names("# names\nattribute 0xd8e4f248 cost centre\n")?;
/// assert_eq!(names.attribute_types[&attribute_type_of("com.example.cost_centre")?], "cost centre");
/// # Ok::<(), event_anchoring::Error>(())
/// ```
///
/// # Errors
///
/// `names_too_large`, `names_malformed`, `names_repeated`, with the number of the line.
pub fn parse_names(source: impl AsRef<[u8]>) -> Result<NameFile> {
    let text = std::str::from_utf8(source.as_ref()).map_err(|_| malformed("the file is not UTF-8"))?;
    if text.len() > BYTES_MAX {
        return Err(too_large("the file is over 1 MiB"));
    }
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    if lines.next() != Some("# names") {
        return Err(malformed("the first line is not \"# names\""));
    }
    let mut names = NameFile::default();
    for (line, at) in lines.zip(2_usize..) {
        let line = line.trim_matches(is_space);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        names.put(line, &format!("line {at}"))?;
    }
    Ok(names)
}

impl NameFile {
    fn put(&mut self, line: &str, place: &str) -> Result<()> {
        let what = "it is no hash, attribute type or scope statement with a name";
        let no_line = || malformed(format!("{place}: {what}"));
        let (first, rest) = split(line).ok_or_else(no_line)?;
        if let Ok(hash) = Hash::from_hex(first) {
            put(&mut self.hashes, hash, rest, place)?;
        } else {
            let (key, name) = split(rest).ok_or_else(no_line)?;
            match first {
                "attribute" => put(&mut self.attribute_types, number(key).ok_or_else(no_line)?, name, place)?,
                "scope" if is_statement(key) => put(&mut self.statements, key.to_owned(), name, place)?,
                _ => return Err(no_line()),
            }
        }
        if self.hashes.len() + self.attribute_types.len() + self.statements.len() > NAMES_MAX {
            return Err(too_large(format!("{place}: there are over {NAMES_MAX} names")));
        }
        Ok(())
    }
}

fn put<Key: Ord>(names: &mut BTreeMap<Key, String>, key: Key, name: &str, place: &str) -> Result<()> {
    if name.chars().count() > CHARACTERS_MAX {
        return Err(malformed(format!("{place}: the name has over {CHARACTERS_MAX} characters")));
    }
    if name.chars().any(is_unseen) {
        return Err(malformed(format!("{place}: the name has characters that are not seen")));
    }
    if names.insert(key, name.to_owned()).is_some() {
        return Err(Error::verification("names_repeated", format!("{place}: it has a name already")));
    }
    Ok(())
}

/// A control, a line separator, a private character, or one that changes how others are shown.
fn is_unseen(character: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator, PrivateUse, Surrogate};
    matches!(
        character.general_category(),
        Control | Format | PrivateUse | Surrogate | LineSeparator | ParagraphSeparator
    )
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

/// The first word, and the rest behind the spaces.
fn split(line: &str) -> Option<(&str, &str)> {
    let (first, rest) = line.split_once(is_space)?;
    Some((first, rest.trim_start_matches(is_space)))
}

/// 1 to 10 digits, or `0x` and 1 to 8 hex digits.
fn number(text: &str) -> Option<u32> {
    let (digits, radix, length_max) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16, 8),
        None => (text, 10, 10),
    };
    // `from_str_radix` takes a sign.
    let is_number = digits.len() <= length_max && digits.chars().all(|digit| digit.is_digit(radix));
    if is_number {
        u32::from_str_radix(digits, radix).ok()
    } else {
        None
    }
}

fn is_statement(name: &str) -> bool {
    name.len() <= STATEMENT_CHARACTERS_MAX
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '_' | '.' | '-'))
}

/// The `attribute_type` of a registered name (`role`), or of one of your own: a domain of yours, reversed, and a word
/// (`com.example.cost_centre`). The value of one of your own is the first four bytes of its SHA-256 with the highest bit
/// set.
///
/// # Errors
///
/// `is_invalid_input()`, for any other name.
pub fn attribute_type_of(name: &str) -> Result<u32> {
    if let Some((_, value)) = ATTRIBUTE_TYPES.iter().find(|(registered, _)| *registered == name) {
        return Ok(*value);
    }
    if !is_own_name(name) {
        let expected = "expected a registered name, or one such as com.example.cost_centre";
        return Err(Error::invalid_input("attribute_type", expected));
    }
    let hash = Hash::sha256(name);
    let [first, second, third, fourth, ..] = *hash.as_bytes();
    Ok(u32::from_be_bytes([first, second, third, fourth]) | OWN_BIT)
}

fn is_own_name(name: &str) -> bool {
    name.len() <= OWN_NAME_LENGTH_MAX
        && name.split('.').count() >= OWN_NAME_PARTS_MIN
        && name.split('.').all(|part| {
            part.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
                && part.chars().all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '_' | '-'))
        })
}
