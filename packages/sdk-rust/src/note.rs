//! C2SP signed-note: a text and the lines that sign it.

use crate::bytes::{from_base64, to_base64, to_hex};
use crate::ed25519::is_good_signature;
use crate::error::{Error, Result};
use crate::hash::{Hash, PublicKey, Signature};

/// A note with more signature lines is refused: each line of a known key costs a verification.
pub(crate) const NOTE_SIGNATURES_MAX: usize = 64;
/// UTF-16 units of a whole note, as every implementation counts them.
pub(crate) const NOTE_LENGTH_MAX: usize = 1_000_000;

/// Whether a text is longer than any note may be.
pub(crate) fn is_too_long(text: &str) -> bool {
    // No character has fewer UTF-8 bytes than UTF-16 units, so short texts need no count.
    text.len() > NOTE_LENGTH_MAX && text.encode_utf16().count() > NOTE_LENGTH_MAX
}

/// One signature line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignatureLine {
    pub(crate) name: String,
    pub(crate) key_id: [u8; 4],
    /// What follows the key id.
    pub(crate) signature: Vec<u8>,
}

/// A parsed note. Nothing in it has been verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignedNote {
    /// The signed text, with its final newline.
    pub(crate) text: String,
    pub(crate) lines: Vec<SignatureLine>,
}

/// What a key signs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VkeyType {
    /// 0x01: the text itself.
    Ed25519,
    /// 0x04: a cosignature, which has a time.
    Cosignature,
}

impl VkeyType {
    const fn number(self) -> u8 {
        match self {
            Self::Ed25519 => 1,
            Self::Cosignature => 4,
        }
    }
}

/// A named verification key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Vkey {
    name: String,
    key_type: VkeyType,
    public_key: PublicKey,
}

fn is_key_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|character: char| character == '+' || character.is_whitespace())
}

impl Vkey {
    /// Reads `name+hex8(key id)+base64(type ‖ public key)`. Hex is lower case, so that a key has one text.
    ///
    /// # Errors
    /// `vkey_invalid`, `vkey_type_unknown` or `vkey_id_mismatch`.
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = || Error::verification("vkey_invalid", "not a vkey");
        // The base64 part may contain "+": only the first two separate.
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(hex), Some(base64)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(invalid());
        };
        let is_hex = hex.len() == 8 && hex.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        if !is_key_name(name) || !is_hex || base64.is_empty() {
            return Err(invalid());
        }
        let key = from_base64(base64).ok_or_else(invalid)?;
        let key_type = match key.first() {
            Some(1) => VkeyType::Ed25519,
            Some(4) => VkeyType::Cosignature,
            _ => {
                return Err(Error::verification("vkey_type_unknown", format!("unknown key type in the vkey of {name}")))
            }
        };
        let public_key = key.get(1..).and_then(|bytes| PublicKey::try_from(bytes).ok()).ok_or_else(invalid)?;
        let vkey = Self { name: name.to_owned(), key_type, public_key };
        if to_hex(&vkey.key_id()) != hex {
            return Err(Error::verification(
                "vkey_id_mismatch",
                format!("the key id of {name} is not that of its key"),
            ));
        }
        Ok(vkey)
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it signs with.
    pub fn key_type(&self) -> VkeyType {
        self.key_type
    }

    /// The key itself.
    pub fn public_key(&self) -> &PublicKey {
        &self.public_key
    }

    /// The first four bytes of SHA-256(name ‖ 0x0A ‖ type ‖ public key).
    pub(crate) fn key_id(&self) -> [u8; 4] {
        let parts = [self.name.as_bytes(), &[0x0a, self.key_type.number()], self.public_key.as_bytes()];
        let [a, b, c, d, ..] = *Hash::of_parts(&parts).as_bytes();
        [a, b, c, d]
    }
}

impl std::fmt::Display for Vkey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = [&[self.key_type.number()], self.public_key.as_bytes().as_slice()].concat();
        write!(formatter, "{}+{}+{}", self.name, to_hex(&self.key_id()), to_base64(&key))
    }
}

fn parse_signature_line(line: &str) -> Result<SignatureLine> {
    let invalid = |detail: &str| Error::verification("signature_line_invalid", detail);
    let form = "a signature line is a dash, a key name and base64";
    let rest = line.strip_prefix("\u{2014} ").ok_or_else(|| invalid(form))?;
    let mut words = rest.split(' ');
    let (Some(name), Some(base64), None) = (words.next(), words.next(), words.next()) else {
        return Err(invalid(form));
    };
    if !is_key_name(name) {
        return Err(invalid(form));
    }
    let blob = from_base64(base64).ok_or_else(|| invalid("not base64"))?;
    match blob.split_first_chunk::<4>() {
        Some((key_id, signature)) if !signature.is_empty() => {
            Ok(SignatureLine { name: name.to_owned(), key_id: *key_id, signature: signature.to_vec() })
        }
        _ => Err(invalid("the signature is too short")),
    }
}

/// Reads a note, which may be attacker-controlled: nothing is verified here, and nothing malformed is skipped.
pub(crate) fn parse_note(note: &str) -> Result<SignedNote> {
    if is_too_long(note) {
        return Err(Error::verification("note_too_large", format!("over {NOTE_LENGTH_MAX} characters")));
    }
    if note.chars().any(|character| character < '\u{20}' && character != '\n') {
        return Err(Error::verification("note_text_invalid", "a note has no control characters"));
    }
    let unsigned = || Error::verification("note_unsigned", "no signature lines");
    // The text ends at the last empty line.
    let split = note.rfind("\n\n").ok_or_else(unsigned)?;
    let (text, signatures) = note.split_at_checked(split + 1).ok_or_else(unsigned)?;
    let signatures = signatures.strip_prefix('\n').and_then(|lines| lines.strip_suffix('\n')).ok_or_else(unsigned)?;
    let lines: Vec<&str> = signatures.split('\n').collect();
    if lines.len() > NOTE_SIGNATURES_MAX {
        let detail = format!("{} signature lines, at most {NOTE_SIGNATURES_MAX}", lines.len());
        return Err(Error::verification("signatures_too_many", detail));
    }
    let lines = lines.into_iter().map(parse_signature_line).collect::<Result<_>>()?;
    Ok(SignedNote { text: text.to_owned(), lines })
}

/// A line whose signature is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedLine {
    /// The key.
    pub vkey: Vkey,
    /// Unix seconds of a cosignature; `None` for a line of type 0x01.
    pub time_s: Option<u64>,
}

/// `cosignature/v1`, the time, then the whole checkpoint text. The signer's name is not in it.
fn cosignature_message(time_s: u64, checkpoint: &str) -> String {
    format!("cosignature/v1\ntime {time_s}\n{checkpoint}")
}

fn verify_line(text: &str, line: &SignatureLine, vkey: &Vkey) -> Option<VerifiedLine> {
    let (time_s, message, signature) = match vkey.key_type {
        VkeyType::Ed25519 => (None, text.to_owned(), line.signature.as_slice()),
        VkeyType::Cosignature => {
            let (time, signature) = line.signature.split_first_chunk::<8>()?;
            let time_s = u64::from_be_bytes(*time);
            if time_s > crate::bytes::INTEGER_MAX {
                return None;
            }
            (Some(time_s), cosignature_message(time_s, text), signature)
        }
    };
    let signature = Signature::try_from(signature).ok()?;
    let is_good = is_good_signature(&vkey.public_key, message.as_bytes(), &signature);
    is_good.then(|| VerifiedLine { vkey: vkey.clone(), time_s })
}

/// Verifies the lines of known keys and ignores all others. One bad or repeated line of a known key refuses the whole
/// note. Repeats are refused before anything is verified, so copies of one line can neither count nor cost twice.
pub(crate) fn verify_known_lines(note: &SignedNote, known: &[&Vkey]) -> Result<Vec<VerifiedLine>> {
    if note.lines.len() > NOTE_SIGNATURES_MAX {
        return Err(Error::verification("signatures_too_many", "too many signature lines"));
    }
    let mut index: std::collections::HashMap<(&str, [u8; 4]), &Vkey> = std::collections::HashMap::new();
    for vkey in known {
        let other = index.insert((vkey.name(), vkey.key_id()), vkey);
        if other.is_some_and(|other| other != *vkey) {
            return Err(Error::verification("key_ambiguous", format!("two keys are called {}", vkey.name())));
        }
    }
    let mut found: Vec<(&Vkey, &SignatureLine)> = Vec::new();
    for line in &note.lines {
        let Some(vkey) = index.get(&(line.name.as_str(), line.key_id)).copied() else { continue };
        if found.iter().any(|(other, _)| *other == vkey) {
            return Err(Error::verification("signature_repeated", format!("two lines of {}", vkey.name())));
        }
        found.push((vkey, line));
    }
    let verify = |(vkey, line): (&Vkey, &SignatureLine)| {
        verify_line(&note.text, line, vkey)
            .ok_or_else(|| Error::verification("signature_invalid", format!("the line of {} is bad", vkey.name())))
    };
    found.into_iter().map(verify).collect()
}
