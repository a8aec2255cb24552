//! An answer is about what was asked for or sent, and an anchor is what its id is the hash of.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{answer, event_anchor, example, examples, open_api, Reply, Script};
use event_anchoring::*;
use serde_json::{json, Value};

const OTHER: [u8; 32] = [0x1b; 32];

fn client(reply: Reply) -> Client {
    Script::new([reply]).builder().origin_fingerprint([7; 32]).retry(RetryPolicy::none()).build().unwrap()
}

#[tokio::test]
async fn an_answer_about_another_anchor() {
    let Some(open_api) = open_api() else { return };
    let reply = |operation: &str| client(answer(200, &example(&open_api, operation, "200")));
    let (verify, trace) = (VerifyOptions::default(), TraceOptions::default());
    let codes = [
        reply("getEventAnchor").get_anchor(OTHER).await.unwrap_err(),
        reply("getReceipt").get_receipt(OTHER).await.unwrap_err(),
        reply("verifyEventAnchor").verify_event_anchor(OTHER, &verify).await.unwrap_err(),
        reply("verifyClaimAnchor").verify_claim_anchor(OTHER, &verify).await.unwrap_err(),
        reply("verifyGrantAnchor").verify_grant_anchor(OTHER, &verify).await.unwrap_err(),
        reply("traceEventAnchor").trace(OTHER, &trace).await.unwrap_err(),
        reply("eraseClientEventId").erase_client_event_id(OTHER).await.unwrap_err(),
    ]
    .map(|error| error.code().to_owned());
    assert_eq!(codes, ["anchor_id_differs"; 7]);
}

#[tokio::test]
async fn an_answer_to_another_question() {
    let Some(open_api) = open_api() else { return };
    let reply = |operation: &str| client(answer(200, &example(&open_api, operation, "200")));
    let code = |error: Error| error.code().to_owned();
    let page = Page::default();
    let error = reply("getClaimAnchor").get_claim_anchor(OTHER, 4_097).await.unwrap_err();
    assert_eq!(code(error), "content_differs");
    for filter in [
        EventFilter::EventHash(OTHER.into()),
        EventFilter::IrisRef(OTHER.into()),
        EventFilter::GrantRef(OTHER.into()),
        EventFilter::ClientEventId("other".into()),
    ] {
        let error = reply("listEventAnchors").list_event_anchors(&filter, &page).await.unwrap_err();
        assert_eq!(code(error), "content_differs");
    }
    let item = VerifyItem { anchor_id: OTHER.into(), event_hash: None };
    let options = VerifyOptions::default();
    let error = reply("verifyEventAnchors").verify_event_anchors(&[item], &options).await.unwrap_err();
    assert_eq!(code(error), "content_differs");
    let origin = Hash::new(OTHER);
    let error = reply("getLatestEventAnchor").latest(Some(&origin), None).await.unwrap_err();
    assert_eq!(code(error), "origin_differs");
    let error = reply("getConsistency").consistency(Some(&origin), 6, None).await.unwrap_err();
    assert_eq!(code(error), "origin_differs");
    for (from, to) in [(5, None), (6, Some(7))] {
        let error = reply("getConsistency").consistency(None, from, to).await.unwrap_err();
        assert_eq!(code(error), "consistency_wrong");
    }
}

#[tokio::test]
async fn histories_of_something_else() {
    let Some(open_api) = open_api() else { return };
    let history = |operation: &str| examples(&open_api, operation, "200").remove(1);
    let (claims, grants) = (history("getClaimAnchor"), history("getGrantAnchor"));
    let page = Page::default();
    let entity = Hash::from_hex(claims["items"][0]["anchor"]["entity_fingerprint"].as_str().unwrap()).unwrap();
    for (entity_fingerprint, attribute_type, is_asked) in
        [(entity, None, true), (entity, Some(16), true), (entity, Some(17), false), (OTHER.into(), None, false)]
    {
        let filter = ClaimFilter { entity_fingerprint, attribute_type };
        let found = client(answer(200, &claims)).list_claim_anchors(&filter, &page).await;
        assert_eq!(
            found.map_err(|error| error.code().to_owned()).err().as_deref(),
            match is_asked {
                true => None,
                false => Some("content_differs"),
            }
        );
    }
    let filter = GrantFilter::Grantee(OTHER.into());
    let found = client(answer(200, &grants)).list_grant_anchors(&filter, &page).await.unwrap();
    assert_eq!(found.items[0].ended.as_ref().unwrap().code, "grant_revoked");
    let error = client(answer(200, &claims)).list_grant_anchors(&filter, &page).await.unwrap_err();
    assert_eq!(error.code(), "content_differs");
}

#[tokio::test]
async fn a_head_whose_parts_are_not_of_one_tree() {
    let Some(open_api) = open_api() else { return };
    let latest = example(&open_api, "getLatestEventAnchor", "200");
    client(answer(200, &latest)).latest(None, None).await.unwrap();
    client(answer(200, &latest)).latest_after(None, 3, 30).await.unwrap();
    for (name, lie) in [
        ("depth", json!(6)),
        ("tree_size", json!(9)),
        ("root_hash", json!("00".repeat(32))),
        ("origin_fingerprint", json!("00".repeat(32))),
        ("checkpoint", json!("no note")),
    ] {
        let mut bent = latest.clone();
        bent[name] = lie;
        assert!(client(answer(200, &bent)).latest(None, None).await.unwrap_err().is_response_invalid(), "{name}");
    }
}

#[test]
fn an_anchor_that_is_not_what_its_id_is_the_hash_of() {
    let Some(open_api) = open_api() else { return };
    let sent = json!({ "origin_fingerprint": "07".repeat(32), "event_hash": "03".repeat(32), "client_event_id": "a" });
    let anchors = [
        example(&open_api, "createEventAnchor", "201")["anchor"].clone(),
        example(&open_api, "createClaimAnchor", "201")["anchor"].clone(),
        example(&open_api, "createGrantAnchor", "201")["anchor"].clone(),
        example(&open_api, "revokeClaimAnchor", "201")["anchor"].clone(),
        event_anchor(&sent),
    ];
    let words = ["kind", "state", "finality"];
    let mut lies = 0;
    for anchor in anchors {
        let read: Anchor = serde_json::from_value(anchor.clone()).unwrap();
        assert_eq!(anchor_id_of(&read.leaf().unwrap().encode().unwrap()), read.anchor_id);
        for (name, value) in anchor.as_object().unwrap() {
            let lie = match value {
                Value::Number(number) => json!(number.as_u64().unwrap() ^ 1),
                Value::String(text) if text.len() >= 64 => json!("1c".repeat(text.len() / 2)),
                Value::String(_) if !words.contains(&name.as_str()) => json!("2025-01-01T00:00:00.000Z"),
                _ => continue,
            };
            let mut bent = anchor.clone();
            bent[name] = lie;
            assert!(serde_json::from_value::<Anchor>(bent).is_err(), "{name} of {}", anchor["kind"]);
            lies += 1;
        }
    }
    assert!(lies > 50, "{lies}");
}

#[tokio::test]
async fn what_is_recorded_is_what_was_sent() {
    let iris_ref = Some(Hash::new(OTHER));
    let options =
        || EventOptions { semantic_anchor: SemanticAnchor { iris_ref, ..Default::default() }, ..Default::default() };
    client(Reply::Recorded).create_event_anchor_with_options([3; 32], options()).await.unwrap();
    // A replay may be in another origin.
    let elsewhere: fn(&mut Value) = |sent| sent["origin_fingerprint"] = json!("1b".repeat(32));
    client(Reply::Altered(elsewhere)).create_event_anchor_with_options([3; 32], options()).await.unwrap();
    let lies: [fn(&mut Value); 4] = [
        |sent| sent["event_hash"] = json!("1b".repeat(32)),
        |sent| sent["semantic_anchor"] = Value::Null,
        |sent| sent["semantic_anchor"]["bond_ref"] = json!("1b".repeat(32)),
        |sent| {
            sent["actor_public_key"] = json!("1b".repeat(32));
            sent["actor_signature"] = json!("1b".repeat(64));
        },
    ];
    for lie in lies {
        let made = client(Reply::Altered(lie)).create_event_anchor_with_options([3; 32], options()).await;
        assert_eq!(made.unwrap_err().code(), "content_differs");
    }
}

#[tokio::test]
async fn a_revocation_of_something_else() {
    let Some(open_api) = open_api() else { return };
    let revoked = example(&open_api, "revokeClaimAnchor", "201");
    let revocation = Revocation::by_client(OTHER, RevocationReason::KeyCompromise).unwrap();
    let error = client(answer(201, &revoked)).revoke_claim_anchor(&revocation).await.unwrap_err();
    assert_eq!(error.code(), "content_differs");
}
