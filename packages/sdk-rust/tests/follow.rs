//! Following heads, at a node of a few lines that ends its feeds, repeats itself, is silent, or lies.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::time::Duration;

use common::{example, open_api, Script};
use event_anchoring::*;
use serde_json::{json, Value};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a node does with one request for a feed.
enum Step {
    /// Shows this, and ends the feed.
    Ends(String),
    /// Shows this, piece by piece, and keeps the feed open.
    Stays(String),
    Refuses(u16, &'static str),
}

struct Examples {
    chain: TrustRootChain,
    trust_root: Value,
    latest: Value,
    consistency: Value,
    origin: OriginFingerprint,
}

fn read() -> Option<Examples> {
    let open_api = open_api()?;
    let trust_root = example(&open_api, "getTrustRoot", "200");
    let latest = example(&open_api, "getLatestEventAnchor", "200");
    let pin = Hash::from_hex(trust_root["chain"][0]["root_thk"].as_str().unwrap()).unwrap();
    let documents: Vec<&str> =
        trust_root["chain"].as_array().unwrap().iter().map(|version| version["document"].as_str().unwrap()).collect();
    Some(Examples {
        chain: verify_trust_root(&documents, &pin).unwrap(),
        origin: Hash::from_hex(latest["origin_fingerprint"].as_str().unwrap()).unwrap(),
        consistency: example(&open_api, "getConsistency", "200"),
        trust_root,
        latest,
    })
}

impl Examples {
    fn held(&self) -> HeldHead {
        let from = &self.consistency["from"];
        HeldHead {
            tree_size: from["tree_size"].as_u64().unwrap(),
            root_hash: Hash::from_hex(from["root_hash"].as_str().unwrap()).unwrap(),
        }
    }

    fn size(&self) -> u64 {
        self.latest["tree_size"].as_u64().unwrap()
    }

    fn shown(&self) -> Value {
        json!({
            "tree_size": self.size(),
            "checkpoint": self.latest["checkpoint"],
            "consistency": {
                "from_size": self.held().tree_size, "tree_size": self.size(), "proof": self.consistency["proof"],
            },
        })
    }

    /// What came of following: sizes, the error, and each `Last-Event-ID` that was asked with.
    async fn follow(&self, after: Option<HeldHead>, steps: Vec<Step>, count: usize) -> Followed {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let node = tokio::spawn(serve(listener, steps, self.trust_root.to_string()));
        let client = Client::builder().endpoint(endpoint).api_key("the-key").trust_root(self.chain.clone());
        let client = client.origin_fingerprint(self.origin).build().unwrap();
        let options = FollowOptions { after, silence_max: Duration::from_millis(400), ..FollowOptions::default() };
        let mut heads = client.follow_heads(options);
        let mut followed = Followed::default();
        while followed.sizes.len() < count {
            match heads.next().await {
                Ok(head) => followed.sizes.push((head.previous_tree_size, head.checkpoint.checkpoint.tree_size)),
                Err(error) => {
                    followed.error = Some(error);
                    break;
                }
            }
        }
        drop(heads);
        followed.asked = stop(node).await;
        followed
    }
}

#[derive(Default)]
struct Followed {
    sizes: Vec<(Option<u64>, u64)>,
    error: Option<Error>,
    asked: Vec<Option<String>>,
}

impl Followed {
    fn code(&self) -> &str {
        self.error.as_ref().unwrap().code()
    }
}

fn event(shown: &Value) -> String {
    format!("id: 1\r\nevent: head\r\ndata: {shown}\r\n\r\n")
}

async fn stop(node: JoinHandle<Vec<Option<String>>>) -> Vec<Option<String>> {
    tokio::time::timeout(Duration::from_secs(5), node).await.unwrap().unwrap()
}

async fn head_of(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        text.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(text).unwrap()
}

/// Does the steps in their order, one for each request, and then waits until its client has gone.
async fn serve(listener: TcpListener, steps: Vec<Step>, trust_root: String) -> Vec<Option<String>> {
    let mut asked = Vec::new();
    let mut steps = steps.into_iter();
    let mut last = None;
    while steps.len() > 0 {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = head_of(&mut stream).await;
        assert!(head.contains("accept: text/event-stream\r\n") && head.contains("authorization: Bearer the-key\r\n"));
        asked.push(head.lines().find_map(|line| line.strip_prefix("last-event-id: ").map(str::to_owned)));
        let (text, stays) = match steps.next().unwrap() {
            Step::Refuses(status, code) => {
                let body =
                    json!({ "type": "about:blank", "title": code, "status": status, "detail": "", "code": code });
                let body = body.to_string();
                (format!("HTTP/1.1 {status} No\r\ncontent-length: {}\r\n\r\n{body}", body.len()), false)
            }
            Step::Ends(text) => (stream_of(&text), false),
            Step::Stays(text) => (stream_of(&text), true),
        };
        for piece in text.as_bytes().chunks(97) {
            // Whoever has seen enough may have gone.
            if stream.write_all(piece).await.is_err() {
                break;
            }
        }
        last = stays.then_some(stream);
    }
    while let Some(stream) = &mut last {
        tokio::select! {
            _gone = stream.read_u8() => last = None,
            // Who doubts a quorum asks for a newer trust root.
            accepted = listener.accept() => show_trust_root(accepted.unwrap().0, &trust_root).await,
        }
    }
    asked
}

async fn show_trust_root(mut stream: TcpStream, trust_root: &str) {
    assert!(head_of(&mut stream).await.starts_with("GET /v1/trust-root "));
    let length = trust_root.len();
    let text = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{trust_root}");
    stream.write_all(text.as_bytes()).await.unwrap();
}

fn stream_of(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\nretry: 1000\n\n:\n\n{text}")
}

#[tokio::test]
async fn it_goes_on_after_the_last_head_and_gives_none_twice() {
    let Some(examples) = read() else { return };
    let (text, held) = (event(&examples.shown()), examples.held());
    let end = "event: end\ndata: {\"code\":\"unavailable\"}\n\n";
    let steps = vec![
        Step::Ends(text[..text.len() - 3].to_owned()),
        Step::Refuses(503, "overloaded"),
        Step::Stays(String::new()),
        Step::Stays(text.clone() + &text),
        Step::Ends(end.to_owned()),
        Step::Refuses(409, "from_size_ahead"),
    ];
    let followed = examples.follow(Some(held.clone()), steps, 2).await;
    assert_eq!(followed.sizes, [(Some(held.tree_size), examples.size())]);
    assert_eq!(followed.code(), "rollback");
    let [before, after] = [Some(held.tree_size.to_string()), Some(examples.size().to_string())];
    assert_eq!(followed.asked, [&before, &before, &before, &before, &after, &after].map(Clone::clone));
}

#[tokio::test]
async fn a_first_head_needs_no_proof() {
    let Some(examples) = read() else { return };
    let mut shown = examples.shown();
    shown["consistency"] = Value::Null;
    let followed = examples.follow(None, vec![Step::Stays(event(&shown))], 1).await;
    assert_eq!(followed.sizes, [(None, examples.size())]);
    assert_eq!(followed.asked, [None]);
}

#[tokio::test]
async fn what_is_not_good_is_not_given_out() {
    let Some(examples) = read() else { return };
    let altered = |alter: &dyn Fn(&mut Value)| {
        let mut shown = examples.shown();
        alter(&mut shown);
        event(&shown)
    };
    let note = examples.latest["checkpoint"].as_str().unwrap().to_owned();
    let unsigned = note.rsplitn(3, '\n').nth(2).unwrap().to_owned() + "\n";
    let root = note.lines().nth(2).unwrap().to_owned();
    let held = examples.held();
    let other = HeldHead { root_hash: Hash::from([1; 32]), ..held.clone() };
    let larger = HeldHead { tree_size: examples.size() + 1, ..other.clone() };
    let same = HeldHead { tree_size: examples.size(), ..other.clone() };
    let good = event(&examples.shown());
    let cases: Vec<(&str, &HeldHead, String)> = vec![
        ("quorum_not_met", &held, altered(&|shown| shown["checkpoint"] = unsigned.clone().into())),
        (
            "signature_invalid",
            &held,
            altered(&|shown| shown["checkpoint"] = note.replace(&root, &format!("{}=", "A".repeat(43))).into()),
        ),
        ("split_view", &other, good.clone()),
        ("split_view", &same, good.clone()),
        ("rollback", &larger, good.clone()),
        ("response_invalid", &held, altered(&|shown| shown["consistency"] = Value::Null)),
        ("response_invalid", &held, altered(&|shown| shown["consistency"]["from_size"] = 1.into())),
        ("response_invalid", &held, "event: head\ndata: {}\n\n".to_owned()),
    ];
    for (code, held, text) in cases {
        let followed = examples.follow(Some(held.clone()), vec![Step::Stays(text)], 1).await;
        assert_eq!((followed.code(), followed.sizes.len()), (code, 0), "{:?}", followed.error);
    }
}

#[tokio::test(start_paused = true)]
async fn it_needs_a_trust_root_and_a_transport_that_can_stream() {
    let Some(examples) = read() else { return };
    let script = Script::new([]);
    let without = script.client().follow_heads(FollowOptions::default()).next().await.unwrap_err();
    assert_eq!(without.field(), Some("trust_root"));
    let client = script.builder().origin_fingerprint([7; 32]).trust_root(examples.chain).build().unwrap();
    let deaf = client.follow_heads(FollowOptions::default()).next().await.unwrap_err();
    assert!(deaf.is_connection_failed());
}
