//! The client over a scripted transport: what is sent, and what is made of answers.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::time::Duration;

use common::{answer, body, example, header, open_api, problem, Reply, Script};
use event_anchoring::*;
use serde_json::{json, Value};

#[tokio::test]
async fn an_event_is_sent_with_key_origin_id_and_nothing_else() {
    let script = Script::new([Reply::Recorded]);
    let event_hash = Hash::sha256(b"what happened");
    let made = script.client().create_event_anchor(event_hash).await.unwrap();
    assert_eq!(made.anchor.content.event().unwrap().event_hash, event_hash);
    assert_eq!(made.receipt, None);
    let request = &script.requests()[0];
    assert_eq!((request.method, request.url.as_str()), ("POST", "https://a.example/v1/event-anchors"));
    assert_eq!(header(request, "authorization"), Some("Bearer secret-key-of-the-test"));
    assert_eq!(header(request, "content-type"), Some("application/json"));
    assert_eq!(header(request, "prefer"), None);
    let sent = body(request);
    assert_eq!(sent["event_hash"], event_hash.to_hex());
    assert_eq!(sent["origin_fingerprint"], Hash::new([7; 32]).to_hex());
    assert_eq!(sent["client_event_id"].as_str().unwrap().len(), 32);
    assert_eq!(sent.as_object().unwrap().len(), 3);
}

#[tokio::test]
async fn options_of_an_event_are_sent() {
    let script = Script::new([Reply::Recorded]);
    let options = EventOptions {
        semantic_anchor: SemanticAnchor {
            iris_ref: Some([1; 32].into()),
            grant_ref: Some(Hash::ZERO),
            ..Default::default()
        },
        client_event_id: ClientEventId::Given("order 42".into()),
        prefer: Some(Prefer { wait_s: Some(20), respond_async: true, witnessed: false }),
    };
    script.client().create_event_anchor_with_options([3; 32], options).await.unwrap();
    let request = &script.requests()[0];
    assert_eq!(header(request, "prefer"), Some("respond-async, wait=20"));
    assert!(request.timeout >= Duration::from_secs(20));
    assert_eq!(body(request)["client_event_id"], "order 42");
    assert_eq!(body(request)["semantic_anchor"], json!({"iris_ref": Hash::new([1; 32])}));
}

#[tokio::test(start_paused = true)]
async fn a_write_can_prefer_a_witnessed_receipt() {
    let script = Script::new([Reply::Recorded]);
    script.client().with_prefer(Prefer::witnessed(5)).create_event_anchor([3; 32]).await.unwrap();
    assert_eq!(header(&script.requests()[0], "prefer"), Some("wait=5, witnessed"));
}

#[tokio::test(start_paused = true)]
async fn a_read_of_a_receipt_waits_for_witnesses_and_never_asks_for_less_than_a_receipt() {
    let script = Script::new([problem(404, "anchor_not_found"), problem(404, "anchor_not_found")]);
    script.client().with_prefer(Prefer::witnessed(5)).get_anchor([3; 32]).await.unwrap_err();
    script.client().with_prefer(Prefer::respond_async()).get_receipt([3; 32]).await.unwrap_err();
    let requests = script.requests();
    assert_eq!([0, 1].map(|at| header(&requests[at], "prefer")), [Some("wait=5, witnessed"), None]);
}

#[tokio::test]
async fn an_api_key_that_is_echoed_is_not_repeated() {
    let key = "secret-key-of-the-test";
    let said = format!("you sent Bearer {key}\u{1b}[2J{}", "x".repeat(5_000));
    let echo = json!({
        "code": "invalid_request", "status": 400, "title": said, "detail": said, "request_id": said,
        "errors": [{ "code": said, "detail": said, "pointer": said }], key: [said, { "deep": said }],
    });
    let headers = vec![("x-request-id".to_owned(), format!("{key} \u{1b}[2J"))];
    let body = echo.to_string().into_bytes();
    let script = Script::new([Reply::Answer(HttpResponse { status: 400, headers, body })]);
    let error = script.client().get_anchor([3; 32]).await.unwrap_err();
    let shown = format!("{error} {error:?} {:?} {:?}", error.problem(), error.request_id());
    assert!(!shown.contains(key), "{shown}");
    assert!(error.to_string().contains("<API_KEY>"));
    assert!(!error.to_string().contains('\u{1b}') && error.to_string().len() < 1_200);
}

#[tokio::test]
async fn the_origin_is_read_once_and_pinned() {
    let Some(open_api) = open_api() else { return };
    let health = example(&open_api, "getHealth", "200");
    let script = Script::new([answer(200, &health), Reply::Recorded, Reply::Recorded]);
    let client = script.builder().build().unwrap();
    client.create_event_anchor([3; 32]).await.unwrap();
    client.clone().create_event_anchor([4; 32]).await.unwrap();
    let requests = script.requests();
    assert_eq!(requests[0].url, "https://a.example/healthz");
    for request in &requests[1..] {
        assert_eq!(body(request)["origin_fingerprint"], health["origin_fingerprint"]);
    }
}

#[tokio::test]
async fn not_being_ready_is_an_answer() {
    let Some(open_api) = open_api() else { return };
    let script = Script::new([answer(503, &example(&open_api, "getReadiness", "503"))]);
    let ready = script.client().readyz().await.unwrap();
    assert!(!ready.ready && ready.checks.iter().any(|check| check.result == CheckResult::Fail));
}

#[tokio::test]
async fn bad_input_is_refused_before_anything_is_sent() {
    let script = Script::new([]);
    let client = script.client();
    let short = client.create_event_anchor("00").await.unwrap_err();
    assert_eq!((short.code(), short.field()), ("invalid_input", Some("event_hash")));
    for bad in ["", &"x".repeat(129), "tab\t", "é"] {
        let options = EventOptions { client_event_id: ClientEventId::Given((*bad).into()), ..Default::default() };
        let error = client.create_event_anchor_with_options([3; 32], options).await.unwrap_err();
        assert_eq!(error.field(), Some("client_event_id"));
    }
    let field = |error: Error| error.field().map(str::to_owned);
    assert_eq!(field(client.get_anchor("0x12").await.unwrap_err()).as_deref(), Some("anchor_id"));
    assert_eq!(
        field(client.trace(&[0_u8; 31][..], &TraceOptions::default()).await.unwrap_err()).as_deref(),
        Some("anchor_id")
    );
    assert_eq!(field(client.get_claim_anchor("zz", 1).await.unwrap_err()).as_deref(), Some("entity_fingerprint"));
    assert_eq!(
        field(client.create_event_anchors(&[], BatchOptions::default()).await.unwrap_err()).as_deref(),
        Some("events")
    );
    let impatient = client.with_prefer(Prefer::wait(0)).create_event_anchor([3; 32]).await.unwrap_err();
    assert_eq!(impatient.field(), Some("prefer"));
    let keyless = Client::builder().endpoint("https://a.example").transport(script.clone()).build().unwrap();
    assert_eq!(field(keyless.get_anchor([3; 32]).await.unwrap_err()).as_deref(), Some("api_key"));
    assert_eq!(script.count(), 0);
}

#[test]
fn settings_are_checked() {
    let field = |builder: ClientBuilder| builder.build().unwrap_err().field().map(str::to_owned);
    assert_eq!(field(Client::builder()).as_deref(), Some("endpoint"));
    assert_eq!(field(Client::builder().endpoint("http://a.example")).as_deref(), Some("endpoint"));
    assert_eq!(field(Client::builder().endpoint("https://a.example").api_key("a\nb")).as_deref(), Some("api_key"));
    let bad_origin = Client::builder().endpoint("https://a.example").origin_fingerprint("00");
    assert_eq!(field(bad_origin).as_deref(), Some("origin_fingerprint"));
    let bad_roots = Client::builder().endpoint("https://a.example").tls_roots_pem(*b"no certificate");
    assert_eq!(field(bad_roots).as_deref(), Some("tls_roots_pem"));
    assert!(Client::new("https://a.example", "key").is_ok());
}

#[tokio::test]
async fn secrets_are_not_printed() {
    let script = Script::new([problem(401, "api_key_invalid")]);
    let client = script.client();
    let error = client.create_event_anchor([3; 32]).await.unwrap_err();
    let key = LocalKey::from_seed([9; 32]);
    let shown = format!("{client:?} {:?} {error} {error:?} {key:?} {:?}", script.builder(), script.requests());
    assert!(!shown.contains("secret-key-of-the-test"));
    assert!(!shown.contains(&"09".repeat(32)));
    assert!(shown.contains(&key.public_key().to_hex()));
    let refused = LocalKey::from_hex("not a key, and secret").unwrap_err();
    assert!(!format!("{refused} {refused:?}").contains("secret"));
}

#[tokio::test]
async fn a_batch_names_every_event_and_keeps_their_order() {
    let script = Script::new([Reply::Recorded]);
    let given = Event::new([4; 32]).unwrap().client_event_id(ClientEventId::Given("mine".into()));
    let events = [Event::new([3; 32]).unwrap(), given];
    let made = script
        .client()
        .create_event_anchors(&events, BatchOptions { atomic: true, ..BatchOptions::default() })
        .await
        .unwrap();
    assert_eq!(made.results.len(), 2);
    let sent = body(&script.requests()[0]);
    assert_eq!(sent["atomic"], true);
    assert_eq!(sent["events"][1]["client_event_id"], "mine");
    assert_eq!(sent["events"][0]["client_event_id"].as_str().unwrap().len(), 32);
    assert_eq!(sent["events"][0]["event_hash"], Hash::new([3; 32]).to_hex());
}

#[tokio::test(start_paused = true)]
async fn an_unknown_batch_tells_every_id_also_those_that_were_drawn() {
    let forget: fn(&mut Value) = |sent| sent["events"] = json!([]);
    for reply in [Reply::Silence, Reply::Altered(forget)] {
        let script = Script::new([reply]);
        let client = script.builder().origin_fingerprint([7; 32]).retry(RetryPolicy::none()).build().unwrap();
        let given = Event::new([4; 32]).unwrap().client_event_id(ClientEventId::Given("mine".into()));
        let nameless = Event::new([5; 32]).unwrap().client_event_id(ClientEventId::None);
        let events = [Event::new([3; 32]).unwrap(), given, nameless];
        let error = client.create_event_anchors(&events, BatchOptions::default()).await.unwrap_err();
        assert!(error.is_outcome_unknown(), "{error:?}");
        let drawn = body(&script.requests()[0])["events"][0]["client_event_id"].as_str().map(str::to_owned);
        assert!(drawn.is_some());
        assert_eq!(error.client_event_ids(), [drawn, Some("mine".to_owned()), None]);
        assert_eq!(error.client_event_id(), None);
    }
}

#[tokio::test]
async fn signed_events_are_written_to_the_origin_that_was_signed() {
    let script = Script::new([Reply::Recorded]);
    let client = script.client();
    let key = LocalKey::generate().unwrap();
    let sign = |origin: [u8; 32]| {
        let event = Event::new([3; 32]).unwrap();
        let prepared = prepare_event_anchor(&origin.into(), &event, &key.public_key()).unwrap();
        let signature = key.sign_bytes(prepared.actor_payload().bytes());
        prepared.with_signature(signature).unwrap()
    };
    client.create_event(&sign([1; 32])).await.unwrap();
    assert_eq!(body(&script.requests()[0])["origin_fingerprint"], Hash::new([1; 32]).to_hex());
    let error =
        client.create_event_anchors(&[sign([1; 32]), sign([2; 32])], BatchOptions::default()).await.unwrap_err();
    assert_eq!(error.field(), Some("events"));
}

#[tokio::test]
async fn signers_that_do_not_sign_are_noticed() {
    let key = LocalKey::from_seed([1; 32]);
    let other = LocalKey::from_seed([2; 32]);
    let input = ClaimInput {
        entity_fingerprint: [1; 32].into(),
        attribute_type: 0x10,
        attribute_hash: [2; 32].into(),
        subject_public_key: key.public_key(),
        issuer_public_key: other.public_key(),
        issued_at: None,
        expires_at: None,
    };
    let prepared = prepare_claim_anchor(&[3; 32].into(), &input).unwrap();
    assert!(prepared.sign(&key, &other).await.is_ok());
    assert!(prepared.sign(&other, &key).await.unwrap_err().is_signer_failed());
    let failing = signer_of(key.public_key(), |_| async { Err(Error::from_signer("the HSM is locked")) });
    let error = prepared.sign(&failing, &other).await.unwrap_err();
    assert!(error.is_signer_failed());
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("locked"));
    let wrong = signer_of(key.public_key(), |_| async { Ok(Signature::ZERO) });
    assert!(prepared.sign(&wrong, &other).await.unwrap_err().is_signer_failed());
    let too_late = ClaimInput { expires_at: Some(1 << 53), ..input };
    assert_eq!(prepare_claim_anchor(&[3; 32].into(), &too_late).unwrap_err().field(), Some("expires_at"));
}

#[tokio::test]
async fn a_proof_is_not_asked_for_without_trust_roots() {
    let script = Script::new([answer(200, &json!({}))]);
    let client = script.client();
    let traced = client.trace([1; 32], &TraceOptions { proof: true, ..TraceOptions::default() }).await;
    let options = VerifyOptions { proof: true, ..VerifyOptions::default() };
    let verified = client.verify_claim_anchor([1; 32], &options).await;
    for error in [traced.unwrap_err(), verified.unwrap_err()] {
        assert_eq!((error.code(), error.field()), ("invalid_input", Some("trust_root")));
    }
    assert_eq!(script.count(), 0);
}

#[tokio::test]
async fn queries_are_encoded() {
    let Some(open_api) = open_api() else { return };
    let list = json!({ "items": [], "next_cursor": null, "certified": [] });
    let trace = example(&open_api, "traceEventAnchor", "200");
    let script = Script::new([answer(200, &list), answer(200, &trace)]);
    let client = script.client();
    let filter = EventFilter::ClientEventId("a b+c&d=é%".into());
    client.list_event_anchors(&filter, &Page { cursor: Some("x/y".into()), limit: Some(7) }).await.unwrap();
    let options = TraceOptions {
        as_of: Some(Position::Time("2026-01-01T00:00:00+01:00".into())),
        trusted_roots: vec![[1; 32].into(), [2; 32].into()],
        page: Page::default(),
        proof: false,
    };
    client.trace(trace["anchor"]["anchor_id"].as_str().unwrap(), &options).await.unwrap();
    let urls: Vec<String> = script.requests().into_iter().map(|request| request.url).collect();
    assert!(urls[0].ends_with("?client_event_id=a%20b%2Bc%26d%3D%C3%A9%25&cursor=x%2Fy&limit=7"), "{}", urls[0]);
    let (one, two) = ("01".repeat(32), "02".repeat(32));
    let query = format!("/trace?as_of=2026-01-01T00%3A00%3A00%2B01%3A00&trusted_roots={one}%2C{two}");
    assert!(urls[1].ends_with(&query), "{}", urls[1]);
}

#[tokio::test]
async fn histories_are_asked_for_page_by_page() {
    let as_of = json!({ "sequence": null, "time_ms": 0, "time": "1970-01-01T00:00:00.000Z" });
    let list = json!({ "items": [], "next_cursor": "a-b", "certified": [], "as_of": as_of });
    let script = Script::new([0; 4].map(|_| answer(200, &list)));
    let client = script.client();
    let (one, two): (Hash, Hash) = ([1; 32].into(), [2; 32].into());
    let claims = ClaimFilter { entity_fingerprint: one, attribute_type: Some(16) };
    let first = client.list_claim_anchors(&claims, &Page::default()).await.unwrap();
    let next = Page { cursor: first.next_cursor, limit: Some(7) };
    client.list_claim_anchors(&ClaimFilter { attribute_type: None, ..claims }, &next).await.unwrap();
    client.list_grant_anchors(&GrantFilter::Grantor(one), &next).await.unwrap();
    client.list_grant_anchors(&GrantFilter::Between { grantor: one, grantee: two }, &Page::default()).await.unwrap();
    let targets: Vec<String> = script.requests().into_iter().map(|request| request.url).collect();
    let (one, two) = ("01".repeat(32), "02".repeat(32));
    for (target, query) in targets.iter().zip([
        format!("claim-anchors?entity_fingerprint={one}&attribute_type=16&history=true"),
        format!("claim-anchors?entity_fingerprint={one}&history=true&cursor=a-b&limit=7"),
        format!("grant-anchors?grantor_fingerprint={one}&history=true&cursor=a-b&limit=7"),
        format!("grant-anchors?grantor_fingerprint={one}&grantee_fingerprint={two}&history=true"),
    ]) {
        assert!(target.ends_with(&format!("/v1/{query}")), "{target}");
    }
}

#[tokio::test]
async fn lists_are_iterated_to_their_end() {
    let Some(open_api) = open_api() else { return };
    let mut first = example(&open_api, "listEventAnchors", "200");
    first["next_cursor"] = "a-b".into();
    let mut last = first.clone();
    last["next_cursor"] = Value::Null;
    let item = first["items"][0].clone();
    let filter = EventFilter::EventHash(Hash::from_hex(item["event_hash"].as_str().unwrap()).unwrap());
    for list in [&mut first, &mut last] {
        list["items"] = json!([item.clone()]);
    }
    let refused = answer(500, &json!({}));
    let script = Script::new([answer(200, &first), refused, answer(200, &last)]);
    let client = script.builder().origin_fingerprint([7; 32]).retry(RetryPolicy::none()).build().unwrap();
    let mut events = client.iterate_event_anchors(filter);
    assert!(events.next().await.unwrap().is_some());
    assert!(events.next().await.is_err());
    assert!(events.next().await.unwrap().is_some());
    assert!(events.next().await.unwrap().is_none());
    assert!(events.next().await.unwrap().is_none());
    let urls: Vec<String> = script.requests().into_iter().map(|request| request.url).collect();
    assert_eq!(urls.len(), 3);
    assert!(urls[2].ends_with("&cursor=a-b"), "{}", urls[2]);
}

#[tokio::test]
async fn the_log_is_open_without_a_key_and_a_key_that_there_is_is_sent() {
    let Some(open_api) = open_api() else { return };
    let latest = example(&open_api, "getLatestEventAnchor", "200");
    let receipt = example(&open_api, "getReceipt", "200");
    let origin = Hash::from_hex(latest["origin_fingerprint"].as_str().unwrap()).unwrap();
    let note = latest["checkpoint"].as_str().unwrap();
    let raw = |body: &[u8]| Reply::Answer(HttpResponse { status: 200, headers: Vec::new(), body: body.to_vec() });
    for key in [None, Some("key")] {
        let script =
            Script::new([raw(note.as_bytes()), raw(&[7; 32]), raw(&[0, 1, 9]), raw(receipt.to_string().as_bytes())]);
        let builder = Client::builder().endpoint("https://a.example").transport(script.clone());
        let client = key.into_iter().fold(builder, ClientBuilder::api_key).build().unwrap();
        client.get_checkpoint(&origin).await.unwrap();
        client.get_tile(&origin, 0, 0, 1).await.unwrap();
        client.get_entries(&origin, 0, 1).await.unwrap();
        client.get_receipt(receipt["anchor_id"].as_str().unwrap()).await.unwrap();
        let sent = script.requests().iter().map(|sent| header(sent, "authorization").is_some()).collect::<Vec<_>>();
        assert_eq!(sent, [key.is_some(); 4]);
    }
}

#[tokio::test]
async fn the_log_is_read_as_tiles() {
    let Some(open_api) = open_api() else { return };
    let latest = example(&open_api, "getLatestEventAnchor", "200");
    let note = latest["checkpoint"].as_str().unwrap();
    let origin = Hash::from_hex(latest["origin_fingerprint"].as_str().unwrap()).unwrap();
    let raw = |body: &[u8]| Reply::Answer(HttpResponse { status: 200, headers: Vec::new(), body: body.to_vec() });
    let script = Script::new([
        raw(note.as_bytes()),
        raw(&[7; 64]),
        raw(&[0, 1, 9]),
        raw(&[7; 64]),
        raw(&[0xff]),
        raw(b"<html>"),
        raw(note.as_bytes()),
    ]);
    let client = script.client();
    assert_eq!(client.get_checkpoint(&origin).await.unwrap(), note);
    assert_eq!(client.get_tile(&origin, 1, 1_234_067, 2).await.unwrap(), [Hash::new([7; 32]); 2]);
    assert_eq!(client.get_entries(&origin, 0, 1).await.unwrap(), [vec![9]]);
    assert!(client.get_tile(&origin, 0, 0, 256).await.unwrap_err().is_response_invalid());
    assert!(client.get_checkpoint(&origin).await.unwrap_err().is_response_invalid());
    assert!(client.get_checkpoint(&origin).await.unwrap_err().is_response_invalid());
    assert_eq!(client.get_checkpoint(&Hash::ZERO).await.unwrap_err().code(), "origin_differs");
    let base = format!("https://a.example/v1/origins/{origin}");
    let urls: Vec<String> = script.requests().into_iter().map(|request| request.url).collect();
    assert_eq!(urls[0], format!("{base}/checkpoint"));
    assert_eq!(urls[1], format!("{base}/tile/1/x001/x234/067.p/2"));
    assert_eq!(urls[2], format!("{base}/tile/entries/000.p/1"));
    assert_eq!(urls[3], format!("{base}/tile/0/000"));
    assert_eq!(header(&script.requests()[0], "accept"), Some("text/plain"));
    assert_eq!(client.get_entries(&origin, 0, 0).await.unwrap_err().field(), Some("width"));
    assert_eq!(client.get_tile(&origin, 64, 0, 1).await.unwrap_err().field(), Some("level"));
}
