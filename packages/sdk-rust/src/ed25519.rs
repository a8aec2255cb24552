//! The one Ed25519 acceptance rule (docs/PROTOCOL.md, "Ed25519"), and what it is checked with before its first verdict.

use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::hash::{PublicKey, Signature};

/// Group order L, little-endian (RFC 8032 section 5.1).
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// p = 2^255 − 19, little-endian.
const FIELD: [u8; 32] = [
    0xed, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
];

/// y coordinates of the eight points of small order without the sign bit: 0, 1, p − 1 and the two of order 8. Other
/// encodings of them are not canonical and fall to that check.
const SMALL_ORDER_Y: [[u8; 32]; 5] = [
    [0; 32],
    {
        let mut one = [0; 32];
        one[0] = 1;
        one
    },
    {
        let mut minus_one = FIELD;
        minus_one[0] = 0xec;
        minus_one
    },
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5, 0xdf,
        0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a, 0x20,
        0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
    ],
];

/// Little-endian comparison.
fn is_below(value: &[u8; 32], bound: &[u8; 32]) -> bool {
    value.iter().rev().lt(bound.iter().rev())
}

fn without_sign(mut encoding: [u8; 32]) -> [u8; 32] {
    if let Some(last) = encoding.last_mut() {
        *last &= 0x7f;
    }
    encoding
}

fn is_canonical_and_large(encoding: [u8; 32]) -> bool {
    let y = without_sign(encoding);
    is_below(&y, &FIELD) && !SMALL_ORDER_Y.contains(&y)
}

/// The part that needs no curve arithmetic: canonical A and R, neither of small order, S below L.
fn passes_prefilter(public_key: &PublicKey, signature: &Signature) -> bool {
    let (r, s) = signature.as_bytes().split_at(32);
    let (Ok(r), Ok(s)) = (<[u8; 32]>::try_from(r), <[u8; 32]>::try_from(s)) else { return false };
    is_below(&s, &ORDER) && is_canonical_and_large(*public_key.as_bytes()) && is_canonical_and_large(r)
}

fn verify_by_rule(public_key: &PublicKey, message: &[u8], signature: &Signature) -> bool {
    if !passes_prefilter(public_key, signature) {
        return false;
    }
    let Ok(key) = ed25519_dalek::VerifyingKey::from_bytes(public_key.as_bytes()) else { return false };
    // Cofactorless: it encodes [S]B − [k]A and compares with the bytes of R.
    let signature = ed25519_dalek::Signature::from_bytes(signature.as_bytes());
    ed25519_dalek::Verifier::verify(&key, message, &signature).is_ok()
}

struct Canary {
    name: &'static str,
    is_good: bool,
    public_key: &'static str,
    message: &'static str,
    signature: &'static str,
}

/// Cases 2, 3 and 4 of ed25519-speccheck ("Taming the many EdDSAs"), an ordinary signature and a moved one.
const CANARIES: [Canary; 5] = [
    Canary {
        name: "speccheck 2",
        is_good: false,
        public_key: "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
        message: "aebf3f2601a0c8c5d39cc7d8911642f740b78168218da8471772b35f9d35b9ab",
        signature: "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa8c4bd45aecaca5b24fb97bc10ac27ac8751a7dfe1baff8b953ec9f5833ca260e",
    },
    Canary {
        name: "speccheck 3",
        is_good: true,
        public_key: "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
        message: "9bd9f44f4dcc75bd531b56b2cd280b0bb38fc1cd6d1230e14861d861de092e79",
        signature: "9046a64750444938de19f227bb80485e92b83fdb4b6506c160484c016cc1852f87909e14428a7a1d62e9f22f3d3ad7802db02eb2e688b6c52fcd6648a98bd009",
    },
    Canary {
        name: "speccheck 4",
        is_good: false,
        public_key: "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
        message: "e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec4011eaccd55b53f56c",
        signature: "160a1cb0dc9c0258cd0a7d23e94d8fa878bcb1925f2c64246b2dee1796bed5125ec6bc982a269b723e0668e540911a9a6a58921d6925e434ab10aa7940551a09",
    },
    Canary {
        name: "RFC 8032 7.1 test 1",
        is_good: true,
        public_key: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        message: "",
        signature: "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    },
    Canary {
        name: "RFC 8032 7.1 test 1 over another message",
        is_good: false,
        public_key: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        message: "78",
        signature: "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    },
];

/// The canary whose verdict is not that of the rule, if there is one.
fn failed_canary(verify: impl Fn(&PublicKey, &[u8], &Signature) -> bool) -> Option<&'static str> {
    CANARIES.iter().find_map(|canary| {
        let read = || {
            let key = PublicKey::from_hex(canary.public_key).ok()?;
            let message = crate::bytes::from_hex(canary.message)?;
            let signature = Signature::from_hex(canary.signature).ok()?;
            Some(verify(&key, &message, &signature))
        };
        (read() != Some(canary.is_good)).then_some(canary.name)
    })
}

/// Whether this build's Ed25519 verifier follows the rule. It is asked before the first verdict, once.
///
/// # Errors
/// `ed25519_canary`: it does not, and nothing can be verified.
pub fn check_canaries() -> Result<()> {
    static FAILED: OnceLock<Option<&'static str>> = OnceLock::new();
    match FAILED.get_or_init(|| failed_canary(verify_by_rule)) {
        None => Ok(()),
        Some(name) => Err(Error::verification("ed25519_canary", format!("this Ed25519 verifier fails canary {name}"))),
    }
}

/// Whether a signature is good, by the one rule that the service, all its nodes and its SDKs share: canonical
/// encodings, no point of small order, S below the group order, no multiplication by the cofactor. Stricter than most
/// libraries.
///
/// # Errors
/// `ed25519_canary`: see [`check_canaries`].
pub fn verify_signature(public_key: &PublicKey, message: &[u8], signature: &Signature) -> Result<bool> {
    check_canaries()?;
    Ok(verify_by_rule(public_key, message, signature))
}

/// As [`verify_signature`], for callers that have checked the canaries at their door: false if they fail.
pub(crate) fn is_good_signature(public_key: &PublicKey, message: &[u8], signature: &Signature) -> bool {
    check_canaries().is_ok() && verify_by_rule(public_key, message, signature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verifier_passes_its_canaries() {
        assert_eq!(failed_canary(verify_by_rule), None);
    }

    #[test]
    fn verifiers_that_are_too_lax_or_too_strict_are_noticed() {
        assert_eq!(failed_canary(|_, _, _| true), Some("speccheck 2"));
        assert_eq!(failed_canary(|_, _, _| false), Some("speccheck 3"));
        let without_prefilter = |key: &PublicKey, message: &[u8], signature: &Signature| {
            let Ok(key) = ed25519_dalek::VerifyingKey::from_bytes(key.as_bytes()) else { return false };
            let signature = ed25519_dalek::Signature::from_bytes(signature.as_bytes());
            ed25519_dalek::Verifier::verify(&key, message, &signature).is_ok()
        };
        assert_eq!(failed_canary(without_prefilter), Some("speccheck 2"));
    }
}
