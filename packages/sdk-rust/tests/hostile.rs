//! Servers that do what they like with a connection: each call ends in time, in one error of ours, without the key.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::error::Error as StdError;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{channel, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use event_anchoring::{Client, Error, RetryPolicy, Timeouts};

const KEY: &str = "ea_the-key-of-this-test";
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

/// Answers each connection with these parts; the last one again and again, if it is told to go on.
fn serve(first: impl Into<Vec<u8>>, then: Option<Vec<u8>>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (seen, asked) = channel();
    let first = first.into();
    // It ends with the test program: a thread that waits for connections holds nothing up.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut buffer = [0; 65_536];
            let count = stream.read(&mut buffer).unwrap_or(0);
            if seen.send(String::from_utf8_lossy(&buffer[..count]).into_owned()).is_err() {
                return;
            }
            let (first, then) = (first.clone(), then.clone());
            thread::spawn(move || behave(stream, &first, then.as_deref()));
        }
    });
    (endpoint, asked)
}

fn behave(mut stream: TcpStream, first: &[u8], then: Option<&[u8]>) {
    let mut is_open = stream.write_all(first).is_ok();
    while let Some(part) = then.filter(|_| is_open) {
        is_open = stream.write_all(part).is_ok();
        // A server that drips: the pause is what it does to its client, and nothing waits for it.
        if part.len() < 1_000 {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn with_body(head: &str, body: &[u8]) -> Vec<u8> {
    let mut answer = format!("{head}content-length: {}\r\nconnection: close\r\n\r\n", body.len()).into_bytes();
    answer.extend_from_slice(body);
    answer
}

fn client(endpoint: &str, timeout: Duration, attempts_max: u32) -> Client {
    let timeouts = Timeouts { read: timeout, write: timeout, batch: timeout };
    let retry = RetryPolicy { attempts_max, ..RetryPolicy::default() };
    let builder = Client::builder().endpoint(endpoint).api_key(KEY).origin_fingerprint([7; 32]);
    builder.timeouts(timeouts).retry(retry).build().unwrap()
}

/// All that a log would show of an error.
fn shown(error: &Error) -> String {
    let mut text = format!("{error} {error:?} {:?}", error.problem());
    let mut cause = StdError::source(error);
    while let Some(inner) = cause {
        text.push_str(&format!(" {inner} {inner:?}"));
        cause = inner.source();
    }
    text
}

/// What a read and a write come to.
async fn errors(endpoint: &str, timeout: Duration) -> (Error, Error) {
    let client = client(endpoint, timeout, 1);
    let read = client.get_anchor([3; 32]).await.unwrap_err();
    let write = client.create_event_anchor([3; 32]).await.unwrap_err();
    assert!(!shown(&read).contains(KEY) && !shown(&write).contains(KEY));
    assert!(write.is_outcome_unknown() || write.status().is_some_and(|status| status >= 300), "{write:?}");
    (read, write)
}

const PATIENT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn what_has_no_end_ends_in_time() {
    let cases: [(&str, String, Option<&str>); 6] = [
        ("nothing", String::new(), Some("")),
        ("a status line without end", "HTTP/1.1 200 O".into(), Some("K")),
        ("headers without end", HEAD.into(), Some("x: y\r\n")),
        ("hints without end", String::new(), Some("HTTP/1.1 103 Early Hints\r\n\r\n")),
        ("a body byte by byte", format!("{HEAD}content-length: 99999\r\n\r\n"), Some(" ")),
        ("chunks without end", format!("{HEAD}transfer-encoding: chunked\r\n\r\n"), Some("1\r\n \r\n")),
    ];
    for (name, first, then) in cases {
        let (endpoint, asked) = serve(first, then.map(|part| part.as_bytes().to_vec()));
        let started = Instant::now();
        let (read, _) = errors(&endpoint, Duration::from_millis(300)).await;
        assert!(started.elapsed() < Duration::from_secs(5), "{name}");
        assert!(read.is_timeout() || read.is_connection_failed(), "{name}: {read:?}");
        assert!(asked.recv().unwrap().contains(KEY));
    }
}

#[tokio::test]
async fn what_breaks_is_a_lost_connection() {
    for broken in [
        String::new(),
        "SSH-2.0-OpenSSH_9.6\r\n".into(),
        format!("{HEAD}content-length: 500\r\n\r\n{{"),
        format!("{HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n{{}}"),
        format!("{HEAD}content-length: -1\r\n\r\n{{}}"),
        format!("{HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n{{}}"),
        format!("{HEAD}x: {}\r\n\r\n", "y".repeat(1_000_000)),
    ] {
        let (endpoint, _asked) = serve(broken.clone(), None);
        let (read, _) = errors(&endpoint, PATIENT).await;
        assert!(read.is_connection_failed(), "{read:?} after {:.60}", broken);
    }
}

#[tokio::test]
async fn what_is_not_of_the_api() {
    let deep = "[".repeat(200_000);
    let html = HEAD.replace("application/json", "text/html");
    let gzip = format!("{HEAD}content-encoding: gzip\r\n");
    let cases: [(&str, &[u8]); 8] = [
        (HEAD, b"{\"status\":\"ok\",\"node"),
        (HEAD, b"{\"anchor\":7}"),
        (&html, b"<html>hello</html>"),
        (HEAD, b"\xff\xfe{}"),
        (HEAD, b"\xef\xbb\xbf{}"),
        (&gzip, b"\x1f\x8b\x08"),
        (HEAD, b"{\"status\":NaN}"),
        (HEAD, deep.as_bytes()),
    ];
    for (head, body) in cases {
        let (endpoint, _asked) = serve(with_body(head, body), None);
        let (read, write) = errors(&endpoint, PATIENT).await;
        assert!(read.is_response_invalid(), "{read:?}");
        assert!(write.is_outcome_unknown() && write.client_event_id().is_some());
    }
}

#[tokio::test]
async fn two_hundred_megabytes() {
    let part = vec![b' '; 1 << 20];
    let mut chunk = b"100000\r\n".to_vec();
    chunk.extend_from_slice(&part);
    chunk.extend_from_slice(b"\r\n");
    let cases = [("content-length: 209715200", part), ("transfer-encoding: chunked", chunk)];
    for (header, part) in cases {
        let (endpoint, asked) = serve(format!("{HEAD}{header}\r\n\r\n"), Some(part));
        let client = client(&endpoint, PATIENT, 5);
        assert!(client.get_anchor([3; 32]).await.unwrap_err().is_response_invalid());
        assert!(client.create_event_anchor([3; 32]).await.unwrap_err().is_outcome_unknown());
        assert_eq!(asked.try_iter().count(), 2);
    }
}

#[tokio::test]
async fn a_redirect_takes_the_key_nowhere() {
    for status in [301, 302, 303, 307, 308] {
        let (elsewhere, visited) = serve(with_body(HEAD, b"{}"), None);
        let head = format!("HTTP/1.1 {status} Go\r\nlocation: {elsewhere}/v1\r\n");
        let (endpoint, asked) = serve(with_body(&head, b""), None);
        let (read, write) = errors(&endpoint, PATIENT).await;
        assert_eq!((read.is_response_invalid(), read.status()), (true, Some(status)));
        assert!(write.is_response_invalid());
        assert!(asked.try_iter().all(|request| request.contains(KEY)));
        assert_eq!(visited.try_iter().count(), 0);
    }
}
