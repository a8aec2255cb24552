//! The client's own transport, against a server of a few lines on this host.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::time::Duration;

use event_anchoring::{Client, RetryPolicy, Timeouts};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Head and body of one request.
async fn read_request(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(count > 0, "the client went away");
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    (listener, endpoint)
}

/// Answers one connection, and tells what was asked.
async fn serve(listener: TcpListener, answer: String) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let request = read_request(&mut stream).await;
    stream.write_all(answer.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    request
}

fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

fn client(endpoints: &[&str]) -> Client {
    let builder = endpoints.iter().fold(Client::builder(), |builder, endpoint| builder.endpoint(*endpoint));
    let timeouts =
        Timeouts { read: Duration::from_millis(300), write: Duration::from_millis(300), ..Timeouts::default() };
    let retry = RetryPolicy { attempts_max: 1, ..RetryPolicy::default() };
    builder.api_key("the-key").origin_fingerprint([7; 32]).timeouts(timeouts).retry(retry).build().unwrap()
}

#[tokio::test]
async fn requests_and_answers_travel() {
    let sent = json!({ "origin_fingerprint": "07".repeat(32), "event_hash": "03".repeat(32) });
    let anchor = common::event_anchor(&sent);
    let created = json!({ "anchor": anchor, "receipt": null, "replayed": false });
    let (listener, endpoint) = listen().await;
    let server = tokio::spawn(serve(listener, http("201 Created", "x-request-id: abc\r\n", &created.to_string())));
    let made = client(&[&endpoint]).create_event_anchor([3; 32]).await.unwrap();
    assert_eq!(made.anchor.anchor_id.to_hex(), anchor["anchor_id"]);
    let request = server.await.unwrap();
    assert!(request.starts_with("POST /v1/event-anchors HTTP/1.1\r\n"));
    assert!(request.contains("authorization: Bearer the-key\r\n"));
    assert!(request.contains(concat!("user-agent: event-anchoring-rust/", env!("CARGO_PKG_VERSION"), "\r\n")));
    assert!(request.contains(&"03".repeat(32)));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (target, elsewhere) = listen().await;
    let (listener, endpoint) = listen().await;
    let location = format!("location: {elsewhere}/healthz\r\n");
    tokio::spawn(serve(listener, http("307 Temporary Redirect", &location, "")));
    let error = client(&[&endpoint]).healthz().await.unwrap_err();
    assert_eq!((error.is_response_invalid(), error.status()), (true, Some(307)));
    // Whoever is redirected to would learn the key: nobody has come.
    let nobody = tokio::time::timeout(Duration::from_millis(50), target.accept()).await;
    assert!(nobody.is_err());
}

#[tokio::test]
async fn silence_a_lost_connection_and_no_connection_are_told_apart() {
    let (silent, endpoint) = listen().await;
    let held = tokio::spawn(async move { silent.accept().await.unwrap() });
    assert!(client(&[&endpoint]).get_anchor([3; 32]).await.unwrap_err().is_timeout());
    drop(held.await.unwrap());

    let (hanging_up, endpoint) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = hanging_up.accept().await.unwrap();
        read_request(&mut stream).await;
    });
    assert!(client(&[&endpoint]).create_event_anchor([3; 32]).await.unwrap_err().is_outcome_unknown());
    server.await.unwrap();

    let (gone, endpoint) = listen().await;
    drop(gone);
    let error = client(&[&endpoint]).create_event_anchor([3; 32]).await.unwrap_err();
    assert!(error.is_connection_failed() && !error.is_outcome_unknown(), "{error:?}");
    assert!(std::error::Error::source(&error).is_some());
}

#[tokio::test]
async fn an_answer_that_is_cut_off_is_unknown() {
    let (listener, endpoint) = listen().await;
    let cut = "HTTP/1.1 201 Created\r\ncontent-length: 500\r\n\r\n{\"anchor\":".to_owned();
    tokio::spawn(serve(listener, cut));
    let error = client(&[&endpoint]).create_event_anchor([3; 32]).await.unwrap_err();
    assert!(error.is_outcome_unknown(), "{error:?}");
}

#[tokio::test]
async fn a_node_that_is_down_is_passed_over() {
    let Some(open_api) = common::open_api() else { return };
    let health = common::example(&open_api, "getHealth", "200");
    let (gone, down) = listen().await;
    drop(gone);
    let (listener, up) = listen().await;
    tokio::spawn(serve(listener, http("200 OK", "", &health.to_string())));
    let client = Client::builder().endpoint(&*down).endpoint(&*up).build().unwrap();
    assert_eq!(client.healthz().await.unwrap().node_id, health["node_id"]);
}
