//! The client over a scripted transport: when something is sent again, and when a refusal is final.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::collections::HashSet;
use std::time::Duration;

use common::{answer, body, example, header, open_api, problem, Reply, Script};
use event_anchoring::*;
use serde_json::json;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_second_try_goes_to_the_next_endpoint_with_the_same_id() {
    let script = Script::new([Reply::Fails(TransportStage::Lost), Reply::Silence, Reply::Recorded]);
    script.client().create_event_anchor([3; 32]).await.unwrap();
    let requests = script.requests();
    let hosts: Vec<&str> = requests.iter().map(|request| request.url.split("/v1").next().unwrap()).collect();
    assert_eq!(hosts, ["https://a.example", "https://b.example/base", "https://a.example"]);
    let ids: HashSet<String> =
        requests.iter().map(|request| body(request)["client_event_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 1);
    let names: HashSet<&str> = requests.iter().map(|request| header(request, "x-request-id").unwrap()).collect();
    assert_eq!(names.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_endpoint_that_answers_stays_the_first() {
    let Some(open_api) = open_api() else { return };
    let limits = example(&open_api, "getLimits", "200");
    let script = Script::new([Reply::Fails(TransportStage::NotSent), answer(200, &limits), answer(200, &limits)]);
    let client = script.client();
    client.limits().await.unwrap();
    client.limits().await.unwrap();
    let last = script.requests().pop().unwrap();
    assert!(last.url.starts_with("https://b.example/base/v1/limits"));
    assert_eq!(header(&last, "authorization"), None);
}

#[tokio::test(start_paused = true)]
async fn what_the_service_asks_for_is_waited() {
    let script = Script::new([problem(503, "no_leader"), problem(429, "rate_limited"), Reply::Recorded]);
    let started = Instant::now();
    script.client().create_event_anchor([3; 32]).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(4) && started.elapsed() < Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn tries_are_bounded_in_number_and_in_time() {
    let script = Script::new((0..9).map(|_| Reply::Fails(TransportStage::NotSent)));
    let error = script.client().create_event_anchor([3; 32]).await.unwrap_err();
    assert_eq!(script.count(), 5);
    assert!(error.is_connection_failed() && !error.is_outcome_unknown());

    let script = Script::new((0..9).map(|_| Reply::Silence));
    let started = Instant::now();
    let error = script.client().get_anchor([3; 32]).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert!(script.count() < 5 && started.elapsed() <= Duration::from_secs(41));

    let script = Script::new([Reply::Fails(TransportStage::NotSent)]);
    let client = script.builder().retry(RetryPolicy::none()).build().unwrap();
    assert!(client.healthz().await.unwrap_err().is_connection_failed());
}

#[tokio::test(start_paused = true)]
async fn refusals_are_final_and_say_why() {
    type Question = fn(&Error) -> bool;
    let cases: [(u16, &str, Question); 5] = [
        (401, "api_key_invalid", Error::is_unauthorized),
        (403, "scope_missing", Error::is_forbidden),
        (404, "anchor_not_found", Error::is_not_found),
        (409, "client_event_id_conflict", Error::is_conflict),
        (422, "signature_invalid", Error::is_unprocessable),
    ];
    for (status, code, question) in cases {
        let script = Script::new([problem(status, code)]);
        let error = script.client().create_event_anchor([3; 32]).await.unwrap_err();
        assert_eq!(script.count(), 1);
        assert_eq!((error.code(), error.status(), error.request_id()), (code, Some(status), Some("of-the-service")));
        assert!(question(&error) && error.is_problem() && !error.is_outcome_unknown());
        let others = cases.iter().filter(|(_, other, _)| *other != code);
        assert!(others.into_iter().all(|(_, _, question)| !question(&error)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_without_an_answer_is_unknown_and_says_what_to_do() {
    let given = EventOptions { client_event_id: ClientEventId::Given("order-42".into()), ..Default::default() };
    let scripts = [
        vec![Reply::Silence, Reply::Silence, Reply::Silence],
        vec![Reply::Fails(TransportStage::Lost), Reply::Fails(TransportStage::Lost), problem(401, "api_key_invalid")],
        vec![
            Reply::Fails(TransportStage::Lost),
            Reply::Fails(TransportStage::NotSent),
            Reply::Fails(TransportStage::NotSent),
        ],
        vec![problem(500, "internal_error"), problem(502, "x"), problem(503, "no_leader")],
        vec![problem(503, "no_leader"), problem(503, "no_leader"), problem(503, "outcome_unknown")],
    ];
    for replies in scripts {
        let script = Script::new(replies);
        let client = script.builder().origin_fingerprint([7; 32]);
        let client = client.retry(RetryPolicy { attempts_max: 3, ..RetryPolicy::default() }).build().unwrap();
        let error = client.create_event_anchor_with_options([3; 32], given.clone()).await.unwrap_err();
        assert_eq!(script.count(), 3);
        assert!(error.is_outcome_unknown() && !error.is_connection_failed() && !error.is_timeout(), "{error:?}");
        assert_eq!(error.code(), "outcome_unknown");
        assert!(error.to_string().contains("ask again with the same client_event_id: \"order-42\""), "{error}");
        assert!(error.request_id().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_by_rule_after_a_lost_try_is_believed() {
    let script = Script::new([Reply::Fails(TransportStage::Lost), problem(409, "client_event_id_conflict")]);
    let error = script.client().create_event_anchor([3; 32]).await.unwrap_err();
    assert!(error.is_conflict() && !error.is_outcome_unknown());
}

#[tokio::test(start_paused = true)]
async fn an_event_without_an_id_is_not_sent_twice() {
    let nameless = EventOptions { client_event_id: ClientEventId::None, ..Default::default() };
    for reply in
        [Reply::Fails(TransportStage::Lost), Reply::Silence, problem(503, "outcome_unknown"), problem(503, "no_leader")]
    {
        let script = Script::new([reply]);
        script.client().create_event_anchor_with_options([3; 32], nameless.clone()).await.unwrap_err();
        assert_eq!(script.count(), 1);
        assert_eq!(body(&script.requests()[0]).get("client_event_id"), None);
    }
    let script = Script::new([Reply::Fails(TransportStage::NotSent), problem(429, "rate_limited"), Reply::Recorded]);
    script.client().create_event_anchor_with_options([3; 32], nameless).await.unwrap();
    assert_eq!(script.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_the_apis_is_not_taken_for_it() {
    let html = |status| {
        Reply::Answer(HttpResponse { status, headers: Vec::new(), body: b"<html>bad gateway</html>".to_vec() })
    };
    let client = |reply| Script::new([reply]).builder().retry(RetryPolicy::none()).build().unwrap();
    let error = client(html(200)).healthz().await.unwrap_err();
    assert!(error.is_response_invalid());
    // A write may be recorded for all that.
    let script = Script::new([html(200)]);
    let unknown = script.client().create_event_anchor([3; 32]).await.unwrap_err();
    assert!(unknown.is_outcome_unknown() && !unknown.is_response_invalid());
    assert_eq!(unknown.client_event_id(), body(&script.requests()[0])["client_event_id"].as_str());
    let error = client(html(302)).healthz().await.unwrap_err();
    assert!(error.is_response_invalid());
    assert_eq!(error.status(), Some(302));
    let error = client(html(502)).healthz().await.unwrap_err();
    assert_eq!((error.code(), error.status()), ("http_502", Some(502)));
    let error = client(html(503)).healthz().await.unwrap_err();
    assert!(error.is_unavailable());
    let error = client(answer(200, &json!({"status": "ok"}))).healthz().await.unwrap_err();
    assert!(error.is_response_invalid());
}

#[tokio::test(start_paused = true)]
async fn what_is_beyond_all_limits_is_asked_for_once() {
    for status in [None, Some(204), Some(226)] {
        let reply = || match status {
            None => Reply::Fails(TransportStage::TooLarge),
            Some(status) => Reply::Answer(HttpResponse { status, ..HttpResponse::default() }),
        };
        let script = Script::new([reply(), reply()]);
        let client = script.client();
        assert!(client.healthz().await.unwrap_err().is_response_invalid());
        assert!(client.create_event_anchor([3; 32]).await.unwrap_err().is_outcome_unknown());
        assert_eq!(script.count(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_date_to_come_back_at_is_honoured() {
    let at = |header: &str| {
        let headers = vec![("retry-after".to_owned(), header.to_owned())];
        Reply::Answer(HttpResponse { status: 503, headers, body: Vec::new() })
    };
    let script = Script::new([at("Fri, 31 Dec 9999 23:59:59 GMT")]);
    let error = script.client().healthz().await.unwrap_err();
    assert_eq!((error.retry_after(), script.count()), (Some(Duration::from_secs(3_600)), 1));
    let script = Script::new([at("Sun, 06 Nov 1994 08:49:37 GMT"), at("soon"), at("99999999999999999999")]);
    let client = script.builder().retry(RetryPolicy { attempts_max: 3, ..RetryPolicy::default() }).build().unwrap();
    assert_eq!(client.healthz().await.unwrap_err().retry_after(), None);
    assert_eq!(script.count(), 3);
}
