//! A trace is asked for page by page, and is one answer.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{answer, example, open_api, Reply, Script};
use event_anchoring::*;
use serde_json::{json, Value};

/// One page of a trace, with so many hops.
fn trace_page(whole: &Value, hops: usize, omitted: u64, next: Value) -> Reply {
    let mut page = whole.clone();
    page["delegation"] = vec![whole["delegation"][0].clone(); hops].into();
    page["delegation_omitted"] = omitted.into();
    page["delegation_next_cursor"] = next;
    answer(200, &page)
}

#[tokio::test]
async fn a_trace_has_the_hops_of_all_its_pages() {
    let Some(open_api) = open_api() else { return };
    let whole = example(&open_api, "traceEventAnchor", "200");
    let script = Script::new([
        trace_page(&whole, 2, 3, json!("2.7.9")),
        trace_page(&whole, 2, 1, json!("4.7.9")),
        trace_page(&whole, 1, 0, Value::Null),
    ]);
    let options = TraceOptions { as_of: Some(Position::Sequence(7)), ..Default::default() };
    let trace = script.client().trace(whole["anchor"]["anchor_id"].as_str().unwrap(), &options).await.unwrap();
    assert_eq!((trace.delegation.len(), trace.delegation_omitted, trace.delegation_next_cursor), (5, 0, None));
    let urls: Vec<String> = script.requests().into_iter().map(|request| request.url).collect();
    let queries: Vec<&str> = urls.iter().map(|url| url.split_once('?').unwrap().1).collect();
    assert_eq!(queries, ["as_of=7", "as_of=7&delegation_cursor=2.7.9", "as_of=7&delegation_cursor=4.7.9"]);
}

#[tokio::test]
async fn a_page_of_another_trace_is_no_answer() {
    let Some(open_api) = open_api() else { return };
    let whole = example(&open_api, "traceEventAnchor", "200");
    let mut other = whole.clone();
    other["anchor"]["anchor_id"] = "1b".repeat(32).into();
    let script = Script::new([trace_page(&whole, 1, 1, json!("1.7.9")), trace_page(&other, 1, 0, Value::Null)]);
    let asked = script.client();
    let anchor_id = whole["anchor"]["anchor_id"].as_str().unwrap();
    assert!(asked.trace(anchor_id, &TraceOptions::default()).await.unwrap_err().is_response_invalid());
}

#[tokio::test]
async fn hops_without_an_end_are_no_answer() {
    let Some(open_api) = open_api() else { return };
    let whole = example(&open_api, "traceEventAnchor", "200");
    let script = Script::new((0..101).map(|_| trace_page(&whole, 1, 1, json!("1.1.1"))));
    let asked = script.client();
    let anchor_id = whole["anchor"]["anchor_id"].as_str().unwrap();
    let error = asked.trace(anchor_id, &TraceOptions::default()).await.unwrap_err();
    assert!(error.to_string().contains("no end"), "{error}");
    assert_eq!(script.count(), 100);
}
