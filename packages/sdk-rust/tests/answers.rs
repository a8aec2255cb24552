//! Every example of docs/openapi.json is read, nothing of it is lost, and its proofs hold.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{answer, example, examples, open_api, Script};
use event_anchoring::*;
use serde::{de::DeserializeOwned, Serialize};
use serde_json::{json, Value};

/// Absent and null are the same in answers.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        // 1000.0 and 1000 are one number of JSON.
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(float) if float.fract() == 0.0 => Value::from(float as i64),
            _ => Value::Number(number),
        },
        other => other,
    }
}

fn round_trip<T: DeserializeOwned + Serialize>(open_api: &Value, operation: &str, status: &str) -> Vec<T> {
    let mut all = examples(open_api, operation, status);
    // Shared receipts are whole once they are read.
    all.retain(|example| example.get("checkpoints").is_none());
    read_whole(operation, all)
}

fn read_whole<T: DeserializeOwned + Serialize>(operation: &str, all: Vec<Value>) -> Vec<T> {
    assert!(!all.is_empty());
    let read = all.into_iter().map(|example| {
        let read: T = serde_json::from_value(example.clone()).unwrap_or_else(|error| panic!("{operation}: {error}"));
        assert_eq!(without_nulls(serde_json::to_value(&read).unwrap()), without_nulls(example), "{operation}");
        read
    });
    read.collect()
}

#[test]
fn claims_of_lineages_that_went_on() {
    let Some(open_api) = open_api() else { return };
    let mut body = example(&open_api, "traceEventAnchor", "200");
    let trace: Trace = serde_json::from_value(body.clone()).unwrap();
    assert_eq!(trace.lineage_claims, []);
    body["lineage_claims"] = serde_json::json!([body["anchor"]]);
    let trace: Trace = serde_json::from_value(body.clone()).unwrap();
    assert_eq!(trace.lineage_claims, [trace.anchor]);
    for no_list in [serde_json::json!(null), serde_json::json!({}), serde_json::json!([null])] {
        body["lineage_claims"] = no_list;
        assert!(serde_json::from_value::<Trace>(body.clone()).is_err());
    }
}

#[test]
fn every_answer_is_read_and_nothing_is_lost() {
    let Some(open_api) = open_api() else { return };
    for status in ["200", "201", "202"] {
        round_trip::<Created>(&open_api, "createEventAnchor", status);
        round_trip::<Created>(&open_api, "createClaimAnchor", status);
        round_trip::<Created>(&open_api, "createGrantAnchor", status);
        round_trip::<Revoked>(&open_api, "revokeClaimAnchor", status);
        round_trip::<Revoked>(&open_api, "revokeGrantAnchor", status);
    }
    round_trip::<CreatedBatch>(&open_api, "createEventAnchors", "200");
    round_trip::<EventList>(&open_api, "listEventAnchors", "200");
    round_trip::<Verified>(&open_api, "verifyEventAnchor", "200");
    round_trip::<VerifiedBatch>(&open_api, "verifyEventAnchors", "200");
    round_trip::<VerifiedClaim>(&open_api, "verifyClaimAnchor", "200");
    round_trip::<VerifiedGrant>(&open_api, "verifyGrantAnchor", "200");
    round_trip::<Latest>(&open_api, "getLatestEventAnchor", "200");
    round_trip::<Consistency>(&open_api, "getConsistency", "200");
    round_trip::<AnchorAnswer>(&open_api, "getEventAnchor", "200");
    round_trip::<Receipt>(&open_api, "getReceipt", "200");
    round_trip::<Trace>(&open_api, "traceEventAnchor", "200");
    round_trip::<Erased>(&open_api, "eraseClientEventId", "200");
    for operation in ["getClaimAnchor", "getGrantAnchor"] {
        let (histories, current): (Vec<Value>, Vec<Value>) =
            examples(&open_api, operation, "200").into_iter().partition(|example| example.get("items").is_some());
        assert_eq!(read_whole::<RecordHistory>(operation, histories)[0].items.len(), 1);
        if operation == "getClaimAnchor" {
            read_whole::<ActiveClaim>(operation, current);
        } else {
            read_whole::<ActiveGrant>(operation, current);
        }
    }
    round_trip::<TrustRootAnswer>(&open_api, "getTrustRoot", "200");
    round_trip::<Limits>(&open_api, "getLimits", "200");
    round_trip::<Health>(&open_api, "getHealth", "200");
    round_trip::<Ready>(&open_api, "getReadiness", "200");
    round_trip::<Ready>(&open_api, "getReadiness", "503");
}

#[test]
fn a_rate_is_a_whole_number() {
    let Some(open_api) = open_api() else { return };
    let read = |rate: Value| {
        let mut body = example(&open_api, "getLimits", "200");
        body["key_requests_per_second"] = rate;
        serde_json::from_value::<Limits>(body).map(|limits| limits.key_requests_per_second)
    };
    assert_eq!(read(json!(4_294_967_295_u32)).unwrap(), Some(u32::MAX));
    assert_eq!(read(Value::Null).unwrap(), None);
    assert!(read(json!(0.5)).is_err());
    assert!(read(json!("1")).is_err());
}

#[test]
fn every_problem_is_read_and_nothing_is_lost() {
    let Some(open_api) = open_api() else { return };
    for (code, example) in open_api["components"]["examples"].as_object().unwrap() {
        let problem: Problem = serde_json::from_value(example["value"].clone()).unwrap();
        assert_eq!(problem.code, *code);
        assert_eq!(serde_json::to_value(&problem).unwrap(), example["value"]);
    }
}

/// tests/cluster.rs runs the example on a cluster.
#[test]
fn the_readme_shows_the_example_that_runs() {
    let (readme, example) = (include_str!("../README.md"), include_str!("../examples/first_anchor.rs"));
    let block = readme.split("```rust").nth(1).unwrap().split("```").next().unwrap();
    let shown: Vec<&str> = block.lines().skip(1).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!((5..=10).contains(&shown.len()));
    let own = ["use ", "let client = ", "std::fs::write("];
    for line in shown.iter().filter(|line| !own.iter().any(|start| line.starts_with(start))) {
        assert!(example.lines().any(|known| known.trim() == *line), "{line}");
    }
}

#[test]
fn words_and_kinds_that_came_later_are_kept() {
    let Some(open_api) = open_api() else { return };
    let mut created = example(&open_api, "createEventAnchor", "201");
    created["anchor"]["kind"] = "moon_landing".into();
    created["anchor"]["finality"] = "eternal".into();
    created["a_field_of_tomorrow"] = Value::Bool(true);
    let read: Created = serde_json::from_value(created).unwrap();
    assert_eq!(read.anchor.content, AnchorContent::Unknown);
    assert_eq!(read.anchor.finality.as_str(), "eternal");
}

#[tokio::test]
async fn receipts_and_heads_of_answers_verify_from_the_pin() {
    let Some(open_api) = open_api() else { return };
    let trust_root = example(&open_api, "getTrustRoot", "200");
    let pin = trust_root["chain"][0]["root_thk"].as_str().unwrap().to_owned();
    let script = Script::new([
        answer(200, &trust_root),
        answer(200, &example(&open_api, "getReceipt", "200")),
        answer(200, &example(&open_api, "getConsistency", "200")),
        answer(200, &trust_root),
    ]);
    let client = script.client();
    let chain = client.trust_root_chain(&pin).await.unwrap();
    let created: Created = serde_json::from_value(example(&open_api, "createEventAnchor", "201")).unwrap();
    let event = created.anchor.content.event().unwrap();
    let expect = ReceiptExpectation { require_current: true, ..ReceiptExpectation::event(event.event_hash) };
    verify_receipt(&created.receipt.unwrap(), &chain, &expect).unwrap();
    let receipt = client.get_receipt(created.anchor.anchor_id).await.unwrap();
    verify_receipt(&receipt, &chain, &ReceiptExpectation::default()).unwrap();
    let text = Receipt::parse(&receipt.to_proof_text()).unwrap();
    let leaf: String = receipt.leaf().iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(format!("{receipt:?}").contains(&format!("leaf: {leaf}, index: ")), "bytes are printed as hex");
    verify_receipt(&text, &chain, &ReceiptExpectation::default()).unwrap();
    let consistency = example(&open_api, "getConsistency", "200");
    let (from, to) = (consistency["from"]["tree_size"].as_u64().unwrap(), consistency["to"]["tree_size"].as_u64());
    client.consistency(None, from, to).await.unwrap();
    assert_eq!(client.trust_root_chain([1; 32]).await.unwrap_err().code(), "pin_mismatch");
    let latest: Latest = serde_json::from_value(example(&open_api, "getLatestEventAnchor", "200")).unwrap();
    let head = verify_checkpoint(&latest.checkpoint, &chain).unwrap();
    assert_eq!((head.origin_fingerprint, head.checkpoint.root_hash), (latest.origin_fingerprint, latest.root_hash));
}

#[tokio::test]
async fn answers_that_prove_something_else_are_refused() {
    let Some(open_api) = open_api() else { return };
    let mut consistency = example(&open_api, "getConsistency", "200");
    let from = consistency["from"]["tree_size"].as_u64().unwrap();
    consistency["from"]["root_hash"] = Hash::ZERO.to_hex().into();
    let receipt = example(&open_api, "getReceipt", "200");
    let script = Script::new([answer(200, &consistency), answer(200, &receipt)]);
    let client = script.client();
    assert_eq!(client.consistency(None, from, None).await.unwrap_err().code(), "consistency_wrong");
    assert_eq!(client.get_receipt([3; 32]).await.unwrap_err().code(), "anchor_id_differs");
}
