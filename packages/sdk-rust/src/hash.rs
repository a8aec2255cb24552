//! Values of fixed length. Their constructors are the only way in: bytes of the right length, or hex digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::bytes::{from_hex_exact, to_hex};
use crate::error::{Error, Result};

macro_rules! fixed_bytes {
    ($(#[$doc:meta])* $name:ident, $length:literal, $digits:literal, $field:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $length]);

        impl $name {
            /// From its bytes.
            pub const fn new(bytes: [u8; $length]) -> Self {
                Self(bytes)
            }

            #[doc = concat!("From exactly ", $digits, " hex digits of either case: no `0x`, no spaces, nothing else.")]
            pub fn from_hex(text: &str) -> Result<Self> {
                from_hex_exact(text).map(Self).ok_or_else(|| {
                    Error::invalid_input($field, concat!("expected ", $length, " bytes or ", $digits, " hex digits"))
                })
            }

            /// Lower-case hex.
            pub fn to_hex(&self) -> String {
                to_hex(&self.0)
            }

            /// The bytes.
            pub const fn as_bytes(&self) -> &[u8; $length] {
                &self.0
            }

            /// True if every byte is zero.
            pub fn is_zero(&self) -> bool {
                self.0.iter().all(|byte| *byte == 0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.to_hex())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, concat!(stringify!($name), "({})"), self.to_hex())
            }
        }

        impl AsRef<[u8]> for $name {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        impl From<[u8; $length]> for $name {
            fn from(bytes: [u8; $length]) -> Self {
                Self(bytes)
            }
        }

        impl From<&[u8; $length]> for $name {
            fn from(bytes: &[u8; $length]) -> Self {
                Self(*bytes)
            }
        }

        impl From<&$name> for $name {
            fn from(value: &$name) -> Self {
                *value
            }
        }

        impl TryFrom<&[u8]> for $name {
            type Error = Error;
            fn try_from(bytes: &[u8]) -> Result<Self> {
                bytes.try_into().map(Self).map_err(|_| {
                    Error::invalid_input($field, format!(concat!("expected ", $length, " bytes, got {}"), bytes.len()))
                })
            }
        }

        impl TryFrom<Vec<u8>> for $name {
            type Error = Error;
            fn try_from(bytes: Vec<u8>) -> Result<Self> {
                Self::try_from(bytes.as_slice())
            }
        }

        impl TryFrom<&str> for $name {
            type Error = Error;
            fn try_from(text: &str) -> Result<Self> {
                Self::from_hex(text)
            }
        }

        impl TryFrom<&String> for $name {
            type Error = Error;
            fn try_from(text: &String) -> Result<Self> {
                Self::from_hex(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Error;
            fn try_from(text: String) -> Result<Self> {
                Self::from_hex(&text)
            }
        }

        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                Self::from_hex(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.to_hex())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Self::from_hex(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

fixed_bytes!(
    /// 32 bytes: a SHA-256 hash, an anchor id, a fingerprint.
    ///
    /// ```
    /// use event_anchoring::Hash;
    /// let hash = Hash::sha256(b"what happened");
    /// assert_eq!(Hash::from_hex(&hash.to_hex())?, hash);
    /// assert!(Hash::from_hex("0xabc").is_err());
    /// # Ok::<(), event_anchoring::Error>(())
    /// ```
    Hash,
    32,
    "64",
    "hash"
);
fixed_bytes!(
    /// An Ed25519 public key, 32 bytes. That it is a point of the curve is known only once a signature verifies.
    PublicKey,
    32,
    "64",
    "public_key"
);
fixed_bytes!(
    /// An Ed25519 signature, 64 bytes.
    Signature,
    64,
    "128",
    "signature"
);

/// What an anchor is called: the RFC 6962 leaf hash of its leaf.
pub type AnchorId = Hash;

/// What an origin (one tree) is called.
pub type OriginFingerprint = Hash;

impl Hash {
    /// 32 zero bytes: the empty reference.
    pub const ZERO: Self = Self([0; 32]);

    /// SHA-256 of bytes in memory. Hash an event with it, as `sha256sum` would.
    pub fn sha256(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes.as_ref()).into())
    }

    /// SHA-256 of several parts, one after the other.
    pub(crate) fn of_parts(parts: &[&[u8]]) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update(part);
        }
        Self(digest.finalize().into())
    }

    /// `None` for zeros: how an empty reference is answered.
    pub fn non_zero(self) -> Option<Self> {
        (!self.is_zero()).then_some(self)
    }
}

impl Signature {
    /// 64 zero bytes: what a revocation has for a signature that no party has signed.
    pub const ZERO: Self = Self([0; 64]);
}
