use std::path::Path;

use super::{hex, list, text, vectors};
use crate::{verify_signature, PublicKey, Signature};

/// A key or signature of another length cannot be expressed, which is a refusal.
fn verdict(case: &serde_json::Value, key: &str, message: &str, signature: &str) -> bool {
    let Ok(public_key) = PublicKey::try_from(hex(case, key)) else { return false };
    let Ok(signature) = Signature::try_from(hex(case, signature)) else { return false };
    verify_signature(&public_key, &hex(case, message), &signature).unwrap()
}

#[test]
fn the_rule() {
    let Some(file) = vectors("ed25519") else { return };
    for case in list(&file, "/good") {
        assert!(verdict(case, "public_key", "message", "signature"), "{}", text(case, "name"));
    }
    for case in list(&file, "/bad") {
        assert!(!verdict(case, "public_key", "message", "signature"), "{}", text(case, "name"));
    }
}

#[test]
fn payloads_and_every_signature_under_every_other_payload() {
    let Some(file) = vectors("payloads") else { return };
    for case in list(&file, "/good") {
        assert!(verdict(case, "public_key", "message", "signature"), "{}", text(case, "name"));
    }
    for case in list(&file, "/bad") {
        assert!(!verdict(case, "public_key", "message", "signature"), "{}", text(case, "name"));
    }
}

/// Public collections, which are not part of the repository. `EVENT_ANCHORING_PUBLIC_VECTORS` names their folder.
fn public_vectors(name: &str) -> Option<serde_json::Value> {
    let Ok(folder) = std::env::var("EVENT_ANCHORING_PUBLIC_VECTORS") else {
        println!("skipped: EVENT_ANCHORING_PUBLIC_VECTORS names no folder with {name}");
        return None;
    };
    let path = Path::new(&folder).join(name);
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

#[test]
fn of_speccheck_only_case_3_is_good() {
    let Some(file) = public_vectors("ed25519-speccheck.json") else { return };
    let good: Vec<usize> = (0..file.as_array().unwrap().len())
        .filter(|index| verdict(&file[*index], "pub_key", "message", "signature"))
        .collect();
    assert_eq!(good, [3]);
}

#[test]
fn of_cctv_43_of_914_are_good() {
    let Some(file) = public_vectors("cctv-ed25519.json") else { return };
    let cases = file.as_array().unwrap();
    assert_eq!(cases.len(), 914);
    let good = cases.iter().filter(|case| {
        let message = text(case, "msg").as_bytes();
        let key = PublicKey::try_from(hex(case, "key")).unwrap();
        let signature = Signature::try_from(hex(case, "sig")).unwrap();
        verify_signature(&key, message, &signature).unwrap()
    });
    assert_eq!(good.count(), 43);
}

#[test]
fn wycheproof_agrees() {
    let Some(file) = public_vectors("wycheproof-ed25519.json") else { return };
    let mut count = 0;
    for group in list(&file, "/testGroups") {
        let key = PublicKey::from_hex(group["publicKey"]["pk"].as_str().unwrap()).unwrap();
        for case in list(group, "/tests") {
            count += 1;
            let is_good = Signature::try_from(hex(case, "sig"))
                .is_ok_and(|signature| verify_signature(&key, &hex(case, "msg"), &signature).unwrap());
            assert_eq!(is_good, text(case, "result") == "valid", "{case}");
        }
    }
    assert_eq!(count, 151);
}
