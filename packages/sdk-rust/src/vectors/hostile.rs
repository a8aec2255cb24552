//! Nothing that a stranger hands in makes a reader or a verifier panic: random bytes, and good input with a flaw.

use serde_json::Value;

use super::{hash, hex, list, text, vectors};
use crate::merkle::{is_consistent, is_included};
use crate::*;

/// SplitMix64: a seed gives a run.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }

    /// One flaw: a byte changed, cut off, doubled or put in.
    fn spoil(&mut self, good: &[u8]) -> Vec<u8> {
        let mut bytes = good.to_vec();
        let at = self.below(bytes.len());
        match self.below(5) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
            1 => bytes.truncate(at),
            2 => bytes.insert(at, self.next() as u8),
            3 => bytes.splice(at..at, good[at..].iter().copied()).for_each(drop),
            _ if !bytes.is_empty() => drop(bytes.remove(at)),
            _ => {}
        }
        bytes
    }
}

/// Hands a text to everything that reads texts.
fn read_everything(text: &str, chain: &TrustRootChain) {
    let _ = Hash::from_hex(text);
    let _ = Signature::from_hex(text);
    let _ = Vkey::parse(text);
    let _ = Checkpoint::parse(text);
    let _ = TrustRoot::parse(text);
    let _ = verify_trust_root(&[text], &Hash::ZERO);
    let _ = extend_trust_root(chain.clone(), text);
    let _ = verify_checkpoint(text, chain);
    if let Ok(policy) = TlogPolicy::parse(text) {
        let _ = policy.verify_note(text);
    }
    if let Ok(receipt) = Receipt::parse(text) {
        let _ = verify_receipt(&receipt, chain, &ReceiptExpectation::default());
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let _ = ClaimInput::from_json(&value);
        let _ = GrantInput::from_json(&value);
        let _ = Event::from_json(&value);
        let _ = RevocationInput::from_json(&value);
        let _ = serde_json::from_value::<Created>(value);
    }
}

fn held_chain(file: &Value) -> TrustRootChain {
    let documents: Vec<&str> = list(file, "/trust_roots").iter().map(|document| document.as_str().unwrap()).collect();
    verify_trust_root(&documents, &hash(file, "pinned_root_thk")).unwrap()
}

#[test]
fn random_bytes() {
    let Some(file) = vectors("receipt") else { return };
    let chain = held_chain(&file);
    let mut dice = Dice(1);
    for _ in 0..300 {
        let length = dice.below(600);
        let bytes = dice.bytes(length);
        let _ = Leaf::decode(&bytes);
        let _ = anchor_id_of(&bytes);
        read_everything(&String::from_utf8_lossy(&bytes), &chain);
        let ascii: String = bytes.iter().map(|byte| char::from(byte & 0x7f)).collect();
        read_everything(&ascii, &chain);
    }
}

#[test]
fn good_texts_with_a_flaw() {
    let Some(file) = vectors("receipt") else { return };
    let chain = held_chain(&file);
    let good = &list(&file, "/good")[0];
    let mut texts: Vec<String> = vec![
        text(&list(&file, "/proof/good")[0], "proof").to_owned(),
        good["receipt"].to_string(),
        text(&good["receipt"], "checkpoint").to_owned(),
        text(&list(&file, "/trust_roots")[1].clone().as_str().map(|t| serde_json::json!({"t": t})).unwrap(), "t")
            .to_owned(),
    ];
    let prepare = vectors("prepare").unwrap();
    for family in ["claims", "grants", "events", "revocations"] {
        texts.push(list(&prepare, &format!("/{family}/good"))[1]["input"].to_string());
    }
    let cosignatures = vectors("cosignature").unwrap();
    texts.push(text(&cosignatures, "policy").to_owned());
    let mut dice = Dice(2);
    for text in &texts {
        for _ in 0..60 {
            let spoiled = dice.spoil(text.as_bytes());
            read_everything(&String::from_utf8_lossy(&spoiled), &chain);
        }
    }
}

#[test]
fn a_flaw_in_a_leaf_is_noticed() {
    let Some(file) = vectors("leaf") else { return };
    let mut dice = Dice(3);
    for case in list(&file, "/good") {
        let good = hex(case, "leaf");
        for _ in 0..300 {
            let spoiled = dice.spoil(&good);
            if let Ok(leaf) = Leaf::decode(&spoiled) {
                assert_eq!(leaf.encode().unwrap(), spoiled);
            }
            assert!(spoiled == good || anchor_id_of(&spoiled) != anchor_id_of(&good));
        }
    }
}

#[test]
fn random_proofs_prove_nothing() {
    let mut dice = Dice(4);
    for _ in 0..400 {
        let hash = Hash::try_from(dice.bytes(32)).unwrap();
        let length = dice.below(70);
        let path: Vec<Hash> = (0..length).map(|_| Hash::try_from(dice.bytes(32)).unwrap()).collect();
        let (a, b) = (dice.next() >> dice.below(64), dice.next() >> dice.below(64));
        assert!(!is_included(&hash, a, b, &path, &Hash::ZERO));
        assert!(!is_included(&hash, u64::MAX - 1, u64::MAX, &path, &Hash::ZERO));
        assert!(!is_consistent(a, &hash, b, &Hash::ZERO, &path));
    }
}
