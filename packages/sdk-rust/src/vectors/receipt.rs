use serde_json::Value;

use super::{hash, hex, list, text, vectors};
use crate::{
    verify_checkpoint, verify_receipt, verify_receipt_with_renewal, Hash, Outcome, Receipt, ReceiptExpectation,
    ReceiptRenewal, ReceiptVerification, TrustRootChain, RECEIPT_STEPS,
};

fn chain(file: &Value, case: &Value) -> TrustRootChain {
    let held = case["trust_root_versions"].as_u64().unwrap() as usize;
    let documents: Vec<&str> =
        list(file, "/trust_roots").iter().take(held).map(|document| document.as_str().unwrap()).collect();
    TrustRootChain::verify(&documents, &hash(file, "pinned_root_thk")).unwrap()
}

fn verify(file: &Value, case: &Value) -> ReceiptVerification {
    let receipt = Receipt::from_json(&case["receipt"].to_string()).unwrap();
    let expect = &case["expect"];
    let given = |name: &str| expect.get(name).map(|_| hash(expect, name));
    let expect = ReceiptExpectation {
        event_hash: given("event_hash"),
        payload: expect.get("payload").map(|_| hex(expect, "payload")),
        anchor_id: given("anchor_id"),
    };
    let chain = chain(file, case);
    match case.get("renewal") {
        None => verify_receipt(&receipt, &chain, &expect).unwrap(),
        Some(renewal) => {
            let hashes = list(renewal, "/consistency")
                .iter()
                .map(|hash| Hash::new(crate::bytes::from_base64_exact(hash.as_str().unwrap()).unwrap()));
            let renewal =
                ReceiptRenewal { checkpoint: text(renewal, "checkpoint").to_owned(), consistency: hashes.collect() };
            verify_receipt_with_renewal(&receipt, &chain, &expect, &renewal).unwrap()
        }
    }
}

#[test]
fn proof_texts_and_json() {
    let Some(file) = vectors("receipt") else { return };
    for case in list(&file, "/proof/good") {
        let receipt = Receipt::from_proof_text(text(case, "proof")).unwrap();
        assert_eq!(receipt.to_proof_text(), text(case, "proof"));
        let json = Receipt::from_json(&case["json"].to_string()).unwrap();
        assert_eq!(json.to_proof_text(), text(case, "proof"));
        assert_eq!(serde_json::from_str::<Value>(&json.to_json()).unwrap(), case["json"]);
        assert_eq!(Receipt::parse(text(case, "proof")).unwrap(), receipt);
    }
    for case in list(&file, "/proof/bad") {
        let error = Receipt::from_proof_text(text(case, "proof")).unwrap_err();
        assert_eq!(error.code(), text(case, "error"), "{}", text(case, "name"));
    }
    for case in list(&file, "/json/bad") {
        assert!(Receipt::from_json(&case["value"].to_string()).unwrap_err().is_verification(), "{case}");
    }
}

#[test]
fn receipts() {
    let Some(file) = vectors("receipt") else { return };
    for case in list(&file, "/good").iter().chain(list(&file, "/bad")) {
        let name = text(case, "name");
        let found = verify(&file, case);
        assert_eq!(found.is_valid(), text(case, "verdict") == "valid", "{name}");
        assert_eq!(found.superseded_trust_root.map(u64::from), case["superseded_trust_root"].as_u64(), "{name}");
        assert_eq!(found.is_origin_lost, case["origin_lost"].as_bool().unwrap(), "{name}");
        let codes: Vec<&str> = found.steps.iter().map(|step| step.code).collect();
        assert_eq!(codes, RECEIPT_STEPS, "{name}");
        let failed: Vec<&str> =
            found.steps.iter().filter(|step| step.result == Outcome::Fail).map(|step| step.code).collect();
        match &found.failure {
            None => assert!(failed.is_empty() && case["failure"].is_null(), "{name}"),
            Some((step, code)) => {
                assert_eq!(failed, [*step], "{name}");
                assert_eq!(
                    (*step, code.as_str()),
                    (text(&case["failure"], "step"), text(&case["failure"], "code")),
                    "{name}"
                );
                let code = code.clone();
                assert_eq!(found.require_valid().unwrap_err().code(), code, "{name}");
            }
        }
    }
}

#[test]
fn checkpoints_by_the_same_rules() {
    let Some(file) = vectors("receipt") else { return };
    // Steps that are about a leaf, or about what the caller expects, are none of a checkpoint's.
    let leafless = ["leaf", "content", "anchor_id", "index", "inclusion"];
    for case in list(&file, "/good").iter().chain(list(&file, "/bad")).filter(|case| case.get("renewal").is_none()) {
        let name = text(case, "name");
        let expected = case["failure"]["step"].as_str().filter(|step| !leafless.contains(step));
        let code = case["failure"]["code"].as_str().unwrap_or_default();
        match (expected, verify_checkpoint(text(&case["receipt"], "checkpoint"), &chain(&file, case))) {
            // A checkpoint of another origin of the cluster is judged as that origin's.
            (Some("origin"), Err(error)) => assert!(error.is_verification(), "{name}"),
            (Some("origin"), Ok(found)) => assert!(verify(&file, case)
                .leaf
                .is_some_and(|leaf| { leaf.header.origin_fingerprint != found.origin_fingerprint })),
            (Some(_), Err(error)) => assert_eq!(error.code(), code, "{name}"),
            (Some(_), Ok(_)) => assert_eq!(code, "tree_size_differs", "{name}"),
            (None, Ok(found)) => assert!(found.certified_at_s.is_some(), "{name}"),
            (None, Err(error)) => panic!("{name}: {error}"),
        }
    }
}
