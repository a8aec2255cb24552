//! A client that was given a trust root shows no receipt that it has not verified.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{answer, example, open_api, Script};
use event_anchoring::*;
use serde_json::{json, Value};

fn chain(trust_root: &Value) -> TrustRootChain {
    let version = &trust_root["chain"][0];
    let pin = Hash::from_hex(version["root_thk"].as_str().unwrap()).unwrap();
    verify_trust_root(&[version["document"].as_str().unwrap()], &pin).unwrap()
}

fn client(script: &Arc<Script>, trust_roots: TrustRootChain) -> Client {
    script.builder().origin_fingerprint([7; 32]).trust_root(trust_roots).retry(RetryPolicy::none()).build().unwrap()
}

/// The event of the examples.
fn event(created: &Value) -> (Hash, EventOptions) {
    let reference = |name: &str| {
        let reference = created["anchor"]["semantic_anchor"][name].as_str();
        reference.map(|reference| Hash::from_hex(reference).unwrap())
    };
    let semantic_anchor = SemanticAnchor {
        iris_ref: reference("iris_ref"),
        grant_ref: reference("grant_ref"),
        event_data_hash: reference("event_data_hash"),
        ..SemanticAnchor::default()
    };
    let event_hash = Hash::from_hex(created["anchor"]["event_hash"].as_str().unwrap()).unwrap();
    (event_hash, EventOptions { semantic_anchor, ..EventOptions::default() })
}

#[tokio::test]
async fn what_was_sent_is_what_is_recorded() {
    let Some(open_api) = open_api() else { return };
    let created = example(&open_api, "createEventAnchor", "201");
    let held = chain(&example(&open_api, "getTrustRoot", "200"));
    let (event_hash, options) = event(&created);

    let script = Script::new([answer(201, &created), answer(201, &created), answer(201, &created)]);
    let client = client(&script, held);
    client.create_event_anchor_with_options(event_hash, options.clone()).await.unwrap();
    // The same hash without its references, and another hash: a node has recorded something else.
    let error = client.create_event_anchor(event_hash).await.unwrap_err();
    assert_eq!((error.code(), error.is_verification()), ("content_differs", true));
    let error = client.create_event_anchor_with_options([3; 32], options).await.unwrap_err();
    assert_eq!(error.code(), "content_differs");
}

#[tokio::test]
async fn receipts_that_do_not_verify_are_not_shown() {
    let Some(open_api) = open_api() else { return };
    let created = example(&open_api, "createEventAnchor", "201");
    let held = chain(&example(&open_api, "getTrustRoot", "200"));
    let (event_hash, options) = event(&created);
    let spoil = |pointer: &str, value: Value| {
        let mut spoiled = created.clone();
        *spoiled.pointer_mut(pointer).unwrap() = value;
        spoiled
    };
    let checkpoint = created["receipt"]["checkpoint"].as_str().unwrap();
    let one_line_less = checkpoint.trim_end().rsplit_once('\n').unwrap().0.to_owned() + "\n";
    let trust_root = example(&open_api, "getTrustRoot", "200");
    for (code, spoiled) in [
        // Nobody can read that: an anchor is what its id is the hash of.
        ("outcome_unknown", spoil("/anchor/anchor_id", "11".repeat(32).into())),
        ("anchor_id_differs", spoil("/receipt/anchor_id", "11".repeat(32).into())),
        ("inclusion_wrong", spoil("/receipt/inclusion", json!([]))),
        ("quorum_not_met", spoil("/receipt/checkpoint", one_line_less.into())),
    ] {
        let script = Script::new([answer(201, &spoiled), answer(200, &trust_root)]);
        let sent = client(&script, held.clone()).create_event_anchor_with_options(event_hash, options.clone()).await;
        let error = sent.unwrap_err();
        assert_eq!((error.code(), error.is_verification()), (code, code != "outcome_unknown"));
    }
    // Not certified yet: there is nothing to verify.
    let committed = example(&open_api, "createEventAnchor", "202");
    let script = Script::new([answer(202, &committed)]);
    let made = client(&script, held).create_event_anchor_with_options(event_hash, options).await.unwrap();
    assert!(made.receipt.is_none());
}

#[tokio::test]
async fn a_newer_trust_root_is_followed_and_never_replaces_the_held_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/vectors/receipt.json");
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let vectors: Value = serde_json::from_str(&text).unwrap();
    let documents: Vec<&str> =
        vectors["trust_roots"].as_array().unwrap().iter().map(|document| document.as_str().unwrap()).collect();
    let pin = Hash::from_hex(vectors["pinned_root_thk"].as_str().unwrap()).unwrap();
    let first = verify_trust_root(&documents[..1], &pin).unwrap();
    let both = verify_trust_root(&documents[..2], &pin).unwrap();
    // A chain may be pinned at any version: those before it are passed over, as in the other SDKs.
    let second = both.newest().root_thk();
    assert_eq!(verify_trust_root(&documents[..2], second).unwrap().versions().count(), 1);
    assert_eq!(verify_trust_root(&documents[..1], second).unwrap_err().code(), "pin_mismatch");
    // One that only the newer version judges to be good.
    let judge = |case: &Value, chain: &TrustRootChain| {
        let receipt = Receipt::parse(&case["receipt"].to_string()).unwrap();
        verify_receipt(&receipt, chain, &ReceiptExpectation::default()).is_ok()
    };
    let mut cases = vectors["good"].as_array().unwrap().iter().chain(vectors["bad"].as_array().unwrap());
    let receipt = &cases.find(|case| !judge(case, &first) && judge(case, &both)).unwrap()["receipt"];
    let anchor_id = Receipt::parse(&receipt.to_string()).unwrap().anchor_id();
    let versions: Vec<Value> = both
        .versions()
        .map(|version| {
            let number = version.trust_root().version;
            json!({ "version": number, "root_thk": version.root_thk(), "document": version.document() })
        })
        .collect();
    let mut newest = versions[1].clone();
    newest["chain"] = versions.clone().into();

    let script = Script::new([answer(200, receipt), answer(200, &newest), answer(200, receipt)]);
    let following = client(&script, first.clone());
    following.get_receipt(anchor_id).await.unwrap();
    assert_eq!(following.held_trust_root().unwrap().newest().trust_root().version, 2);
    following.get_receipt(anchor_id).await.unwrap();
    assert_eq!(script.count(), 3);

    // A chain that does not go through the held version is not looked at.
    let open_api = open_api().unwrap();
    let script = Script::new([answer(200, receipt), answer(200, &example(&open_api, "getTrustRoot", "200"))]);
    let stubborn = client(&script, first);
    assert!(stubborn.get_receipt(anchor_id).await.unwrap_err().is_verification());
    assert_eq!(stubborn.held_trust_root().unwrap().newest().trust_root().version, 1);
}
