//! What the log is told of requests: every try, and no secret. The logger of a process is one, so this is one test.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::sync::Mutex;

use common::{header, problem, Reply, Script};
use event_anchoring::*;

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Kept;

impl log::Log for Kept {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        SAID.lock().unwrap().push(format!("{} {} {}", record.level(), record.target(), record.args()));
    }

    fn flush(&self) {}
}

#[tokio::test(start_paused = true)]
async fn every_try_is_logged_without_key_and_body() {
    log::set_logger(&Kept).unwrap();
    log::set_max_level(log::LevelFilter::Debug);
    let script = Script::new([
        Reply::Fails(TransportStage::NotSent),
        Reply::Fails(TransportStage::Lost),
        Reply::Silence,
        problem(503, "no_leader"),
        Reply::Recorded,
    ]);
    script.client().create_event_anchor([0xab; 32]).await.unwrap();
    let requests = script.requests();
    let names: Vec<&str> = requests.iter().map(|request| header(request, "x-request-id").unwrap()).collect();
    let said = SAID.lock().unwrap().clone();
    let line = |attempt: usize, endpoint: &str, outcome: &str, milliseconds: u32| {
        let name = names[attempt - 1];
        format!(
            "DEBUG event_anchoring POST /v1/event-anchors, try {attempt}, at https://{endpoint}: {outcome} in \
             {milliseconds} ms, request {name}"
        )
    };
    let silent_ms = said[2].split(" in time in ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(silent_ms >= 1_000, "{silent_ms}");
    assert_eq!(
        said,
        [
            line(1, "a.example", "no connection", 0),
            line(2, "b.example/base", "lost", 0),
            line(3, "a.example", "no answer in time", silent_ms),
            line(4, "b.example/base", "503", 0),
            line(5, "a.example", "202", 0),
        ]
    );
    assert_eq!(header(&requests[0], "authorization"), Some("Bearer secret-key-of-the-test"));
    let everything = said.join("\n");
    assert!(!everything.contains("secret-key-of-the-test"));
    assert!(!everything.contains(&"ab".repeat(32)));
    let id = common::body(&requests[0])["client_event_id"].as_str().unwrap().to_owned();
    assert!(!everything.contains(&id));

    SAID.lock().unwrap().clear();
    log::set_max_level(log::LevelFilter::Info);
    let script = Script::new([Reply::Recorded]);
    script.client().create_event_anchor([0xab; 32]).await.unwrap();
    assert!(SAID.lock().unwrap().is_empty());
}
