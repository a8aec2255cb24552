//! The only door from text to bytes, and back. Every function here is strict: what it refuses, nothing later sees.

/// Lower-case hex, two digits a byte.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Hex of either case: no `0x`, no spaces, no odd length.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    if text.len() % 2 != 0 {
        return None;
    }
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| match pair {
            [high, low] => Some(hex_digit(*high)? << 4 | hex_digit(*low)?),
            _ => None,
        })
        .collect()
}

/// Exactly `N` bytes of hex.
pub(crate) fn from_hex_exact<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != N * 2 {
        return None;
    }
    from_hex(text)?.try_into().ok()
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64_digit(value: u32) -> char {
    ALPHABET.get((value & 63) as usize).map_or('=', |digit| char::from(*digit))
}

/// Standard base64 with padding (RFC 4648 section 4).
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| chunk.get(at).map_or(0, |byte| u32::from(*byte));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        text.push(base64_digit(word >> 18));
        text.push(base64_digit(word >> 12));
        text.push(if chunk.len() > 1 { base64_digit(word >> 6) } else { '=' });
        text.push(if chunk.len() > 2 { base64_digit(word) } else { '=' });
    }
    text
}

fn base64_value(digit: u8) -> Option<u32> {
    match digit {
        b'A'..=b'Z' => Some(u32::from(digit - b'A')),
        b'a'..=b'z' => Some(u32::from(digit - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(digit - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// Standard padded base64 that re-encodes to itself: missing padding, spaces, another alphabet and loose trailing bits
/// are refused, so one value has one text.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    if text.len() % 4 != 0 {
        return None;
    }
    let digits = match text.strip_suffix("==") {
        Some(digits) => digits,
        None => text.strip_suffix('=').unwrap_or(text),
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut bits) = (0u32, 0u32);
    for digit in digits.bytes() {
        word = word << 6 | base64_value(digit)?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits & 0xff) as u8);
        }
        word &= 0xffff;
    }
    // At most 4 loose bits are left, and they are zeros in the one text of a value.
    let is_canonical = bits < 6 && word & ((1 << bits) - 1) == 0;
    is_canonical.then_some(bytes)
}

/// Exactly `N` bytes of base64.
pub(crate) fn from_base64_exact<const N: usize>(text: &str) -> Option<[u8; N]> {
    from_base64(text)?.try_into().ok()
}

/// The largest integer of any format: 2^53 − 1.
pub(crate) const INTEGER_MAX: u64 = (1 << 53) - 1;

/// A decimal from 0 to 2^53 − 1 in its one spelling: no sign, no leading zero.
pub(crate) fn parse_decimal(text: &str) -> Option<u64> {
    let is_plain = text == "0"
        || (text.len() <= 16
            && !text.starts_with('0')
            && !text.is_empty()
            && text.bytes().all(|digit| digit.is_ascii_digit()));
    let value: u64 = if is_plain { text.parse().ok()? } else { return None };
    (value <= INTEGER_MAX).then_some(value)
}

/// Reads fixed-width big-endian values. Every read is bounded; the input may be attacker-controlled.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

/// Why bytes are not what a format expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFault {
    Truncated,
    IntegerUnsafe,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], ReadFault> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(ReadFault::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadFault> {
        self.take(N)?.try_into().map_err(|_| ReadFault::Truncated)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, ReadFault> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ReadFault> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// At most 2^53 − 1.
    pub(crate) fn u64(&mut self) -> Result<u64, ReadFault> {
        let value = u64::from_be_bytes(self.array()?);
        if value > INTEGER_MAX {
            return Err(ReadFault::IntegerUnsafe);
        }
        Ok(value)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Bytes that print as hex.
pub(crate) struct Shown<'a>(pub(crate) &'a [u8]);

impl std::fmt::Debug for Shown<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&to_hex(self.0))
    }
}
