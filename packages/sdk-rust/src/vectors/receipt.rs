use serde_json::Value;

use super::{hash, hex, list, text, vectors};
use crate::{
    inspect_receipt, verify_checkpoint, verify_receipt, verify_trust_root, Error, Hash, Outcome, Receipt,
    ReceiptExpectation, ReceiptRenewal, ReceiptReport, TrustRootChain, VerifiedReceipt, RECEIPT_STEPS,
};

fn chain(file: &Value, case: &Value) -> TrustRootChain {
    let held = case["trust_root_versions"].as_u64().unwrap() as usize;
    let documents: Vec<&str> =
        list(file, "/trust_roots").iter().take(held).map(|document| document.as_str().unwrap()).collect();
    verify_trust_root(&documents, &hash(file, "pinned_root_thk")).unwrap()
}

fn renewal_of(renewal: &Value) -> ReceiptRenewal {
    let hashes = list(renewal, "/consistency").iter().map(|hash| hash.as_str().unwrap());
    let hashes = hashes.map(|hash| Hash::new(crate::bytes::from_base64_exact(hash).unwrap()));
    ReceiptRenewal { checkpoint: text(renewal, "checkpoint").to_owned(), consistency: hashes.collect() }
}

/// The report of a case, and what verifying it gives.
fn judge(file: &Value, case: &Value) -> (ReceiptReport, Result<VerifiedReceipt, Error>) {
    let receipt = Receipt::from_json(&case["receipt"].to_string()).unwrap();
    let expect = &case["expect"];
    let given = |name: &str| expect.get(name).map(|_| hash(expect, name));
    let expect = ReceiptExpectation {
        event_hash: given("event_hash"),
        payload: expect.get("payload").map(|_| hex(expect, "payload")),
        anchor_id: given("anchor_id"),
        renewal: case.get("renewal").map(renewal_of),
        require_current: false,
        require_witnessed: case["require_witnessed"].as_bool().unwrap_or(false),
    };
    let chain = chain(file, case);
    (inspect_receipt(&receipt, &chain, &expect).unwrap(), verify_receipt(&receipt, &chain, &expect))
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
        let (found, verified) = judge(&file, case);
        assert_eq!(found.failure.is_none(), text(case, "verdict") == "valid", "{name}");
        assert_eq!(found.superseded_trust_root.map(u64::from), case["superseded_trust_root"].as_u64(), "{name}");
        assert_eq!(found.is_origin_lost, case["origin_lost"].as_bool().unwrap(), "{name}");
        let codes: Vec<&str> = found.steps.iter().map(|step| step.code).collect();
        assert_eq!(codes, RECEIPT_STEPS, "{name}");
        let failed: Vec<&str> =
            found.steps.iter().filter(|step| step.result == Outcome::Fail).map(|step| step.code).collect();
        match found.failure {
            None => {
                assert!(failed.is_empty() && case["failure"].is_null(), "{name}");
                assert_eq!(verified.unwrap().steps, found.steps, "{name}");
            }
            Some(failure) => {
                assert_eq!(failed, [failure.step], "{name}");
                let expected = (text(&case["failure"], "step"), text(&case["failure"], "code"));
                assert_eq!((failure.step, failure.code), expected, "{name}");
                let error = verified.unwrap_err();
                assert_eq!((error.step(), error.code()), (Some(failure.step), failure.code), "{name}");
                assert_eq!(error.steps(), found.steps, "{name}");
            }
        }
    }
}

#[test]
fn witnesses() {
    let Some(file) = vectors("receipt") else { return };
    for case in list(&file, "/witnessed/good").iter().chain(list(&file, "/witnessed/bad")) {
        let name = text(case, "name");
        let (found, verified) = judge(&file, case);
        let shown: Vec<Value> = found
            .witnesses
            .iter()
            .map(|each| serde_json::json!({ "name": each.name, "witnessed_at": each.witnessed_at }))
            .collect();
        assert_eq!(&shown, list(case, "/witnesses"), "{name}");
        assert_eq!(found.witnesses_needed as u64, case["witnesses_needed"].as_u64().unwrap(), "{name}");
        assert_eq!(found.witnessed, case["witnessed"].as_bool().unwrap(), "{name}");
        assert_eq!(found.superseded_trust_root.map(u64::from), case["superseded_trust_root"].as_u64(), "{name}");
        assert!(found.verified.iter().all(|line| line.vkey.name().starts_with("anchor.example/demo/")), "{name}");
        let failure = found.failure.map(|failure| (failure.step, failure.code));
        let expected =
            case["failure"].as_object().map(|_| (text(&case["failure"], "step"), text(&case["failure"], "code")));
        assert_eq!(failure, expected, "{name}");
        match verified {
            Ok(verified) => assert_eq!((verified.witnesses, verified.witnessed), (found.witnesses, found.witnessed)),
            Err(error) => {
                assert_eq!((error.step(), Some(error.code())), (failure.map(|at| at.0), failure.map(|at| at.1)))
            }
        }
    }
}

#[test]
fn every_receipt_that_is_not_witnessed_is_refused_if_it_is_demanded() {
    let Some(file) = vectors("receipt") else { return };
    for case in list(&file, "/good").iter().chain(list(&file, "/witnessed/good")) {
        let mut demanded = case.clone();
        demanded["require_witnessed"] = Value::Bool(true);
        let is_witnessed = case["witnessed"].as_bool().unwrap_or(false);
        assert_eq!(judge(&file, &demanded).1.is_ok(), is_witnessed, "{}", text(case, "name"));
    }
}

#[test]
fn a_superseded_receipt_is_refused_as_that_before_its_witnesses_are_counted() {
    let Some(file) = vectors("receipt") else { return };
    let cases = list(&file, "/witnessed/good");
    let superseded = cases.iter().find(|case| case["superseded_trust_root"].is_u64()).unwrap();
    let receipt = Receipt::from_json(&superseded["receipt"].to_string()).unwrap();
    let expect = ReceiptExpectation { require_current: true, require_witnessed: true, ..ReceiptExpectation::default() };
    let mut unlisted = superseded.clone();
    unlisted["trust_root_versions"] = 3.into();
    for held in [superseded, &unlisted] {
        let error = verify_receipt(&receipt, &chain(&file, held), &expect).unwrap_err();
        assert_eq!((error.step(), error.code()), (Some("trust_root"), "trust_root_superseded"));
    }
}

#[test]
fn a_checkpoint_says_who_has_witnessed_it() {
    let Some(file) = vectors("receipt") else { return };
    let case = &list(&file, "/witnessed/good")[0];
    let found = verify_checkpoint(text(&case["receipt"], "checkpoint"), &chain(&file, case)).unwrap();
    assert_eq!(found.witnesses.iter().map(|each| each.name.as_str()).collect::<Vec<_>>(), ["north", "south"]);
    assert_eq!((found.witnesses_needed, found.witnessed, found.verified.len()), (2, true, 3));
}

#[test]
fn a_superseded_receipt_is_refused_where_a_current_one_is_required() {
    let Some(file) = vectors("receipt") else { return };
    let superseded = list(&file, "/good").iter().find(|case| case["superseded_trust_root"].is_u64()).unwrap();
    let receipt = Receipt::from_json(&superseded["receipt"].to_string()).unwrap();
    let expect = ReceiptExpectation { require_current: true, ..ReceiptExpectation::default() };
    let error = verify_receipt(&receipt, &chain(&file, superseded), &expect).unwrap_err();
    assert_eq!((error.step(), error.code()), (Some("trust_root"), "trust_root_superseded"));
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
            (Some("origin"), Ok(found)) => assert!(judge(&file, case)
                .0
                .leaf
                .is_some_and(|leaf| { leaf.header.origin_fingerprint != found.origin_fingerprint })),
            (Some(_), Err(error)) => assert_eq!(error.code(), code, "{name}"),
            (Some(_), Ok(_)) => assert_eq!(code, "tree_size_differs", "{name}"),
            (None, Ok(found)) => assert!(found.certified_at_s.is_some(), "{name}"),
            (None, Err(error)) => panic!("{name}: {error}"),
        }
    }
}
