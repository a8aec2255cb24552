//! A transport that answers as a script says, and the examples of the OpenAPI document.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

pub mod service;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use event_anchoring::*;
use serde_json::{json, Value};

pub enum Reply {
    Answer(HttpResponse),
    Fails(TransportStage),
    /// Never.
    Silence,
    /// As `Recorded`, once it is let go.
    Held(Arc<tokio::sync::Notify>),
    /// Committed as it was sent: the answer holds together, and proves nothing.
    Recorded,
    /// Something else than was sent is recorded: what the function makes of it.
    Altered(fn(&mut Value)),
}

#[derive(Default)]
pub struct Script {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<HttpRequest>>,
}

impl Script {
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        Arc::new(Self { replies: Mutex::new(replies.into_iter().collect()), requests: Mutex::default() })
    }

    pub fn requests(&self) -> Vec<HttpRequest> {
        self.requests.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// A client of two endpoints whose origin is known.
    pub fn client(self: &Arc<Self>) -> Client {
        self.builder().origin_fingerprint([7; 32]).build().unwrap()
    }

    pub fn builder(self: &Arc<Self>) -> ClientBuilder {
        Client::builder()
            .endpoint("https://a.example/")
            .endpoint("https://b.example/base")
            .api_key("secret-key-of-the-test")
            .transport(self.clone())
    }
}

impl Transport for Script {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        let sent = request.body.as_deref().map(|body| serde_json::from_slice::<Value>(body).unwrap());
        self.requests.lock().unwrap().push(request);
        let reply = self.replies.lock().unwrap().pop_front();
        Box::pin(async move {
            match reply {
                Some(Reply::Answer(response)) => Ok(response),
                Some(Reply::Fails(stage)) => Err(TransportFailure { stage, source: "scripted".into() }),
                Some(Reply::Silence) => std::future::pending().await,
                Some(Reply::Held(go_on)) => {
                    go_on.notified().await;
                    Ok(recorded(&sent.unwrap()))
                }
                Some(Reply::Recorded) => Ok(recorded(&sent.unwrap())),
                Some(Reply::Altered(alter)) => {
                    let mut sent = sent.unwrap();
                    alter(&mut sent);
                    Ok(recorded(&sent))
                }
                None => panic!("the script is over"),
            }
        })
    }
}

pub fn answer(status: u16, body: &Value) -> Reply {
    let headers = vec![("x-request-id".to_owned(), "of-the-service".to_owned())];
    Reply::Answer(HttpResponse { status, headers, body: body.to_string().into_bytes() })
}

pub fn problem(status: u16, code: &str) -> Reply {
    let body = serde_json::json!({
        "type": format!("urn:event-anchoring:problem:{code}"), "title": "t", "status": status, "detail": "d",
        "code": code, "request_id": "of-the-service",
    });
    let mut headers = vec![("x-request-id".to_owned(), "of-the-service".to_owned())];
    if status == 429 || status == 503 {
        headers.push(("retry-after".to_owned(), "2".to_owned()));
    }
    Reply::Answer(HttpResponse { status, headers, body: body.to_string().into_bytes() })
}

pub fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(own, _)| *own == name).map(|(_, value)| value.as_str())
}

pub fn body(request: &HttpRequest) -> Value {
    serde_json::from_slice(request.body.as_deref().unwrap()).unwrap()
}

/// docs/openapi.json; a packaged crate has none beside it.
pub fn open_api() -> Option<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match std::fs::read_to_string(root.join("docs/openapi.json")) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(_) => {
            assert!(!root.join("test/vectors").exists(), "docs/openapi.json is missing");
            println!("skipped: no docs/openapi.json beside this crate");
            None
        }
    }
}

/// The examples of an operation's answer, in the order of the document.
pub fn examples(open_api: &Value, operation: &str, status: &str) -> Vec<Value> {
    let paths = open_api["paths"].as_object().unwrap();
    let found = paths
        .values()
        .flat_map(|path| path.as_object().unwrap().values())
        .find(|found| found["operationId"] == operation)
        .unwrap_or_else(|| panic!("no operation {operation}"));
    let examples = &found["responses"][status]["content"]["application/json"]["examples"];
    examples.as_object().unwrap().values().map(|example| example["value"].clone()).collect()
}

pub fn example(open_api: &Value, operation: &str, status: &str) -> Value {
    examples(open_api, operation, status).remove(0)
}

const SALT: [u8; 32] = [0x5a; 32];

fn hash(value: &Value) -> Option<Hash> {
    value.as_str().map(|text| Hash::from_hex(text).unwrap())
}

/// Standard base64 with padding.
fn base64(bytes: &[u8]) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0, |word, at| word << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        let digit = |at: usize| char::from(alphabet[(word >> (18 - 6 * at) & 63) as usize]);
        text.extend((0..4).map(|at| if at <= chunk.len() { digit(at) } else { '=' }));
    }
    text
}

/// The anchor of an event that was sent.
pub fn event_anchor(sent: &Value) -> Value {
    event_anchor_and_leaf(sent).0
}

/// The same, and its leaf in base64.
pub fn event_anchor_and_leaf(sent: &Value) -> (Value, String) {
    let refs = &sent["semantic_anchor"];
    let reference = |name: &str| hash(&refs[name]);
    let id = sent["client_event_id"].as_str();
    let salt = Hash::new(SALT);
    let event = EventBody {
        event_hash: hash(&sent["event_hash"]).unwrap(),
        semantic_anchor: SemanticHashes {
            iris_ref: reference("iris_ref").unwrap_or(Hash::ZERO),
            scroll_ref: reference("scroll_ref").unwrap_or(Hash::ZERO),
            grant_ref: reference("grant_ref").unwrap_or(Hash::ZERO),
            bond_ref: reference("bond_ref").unwrap_or(Hash::ZERO),
            yield_ref: reference("yield_ref").unwrap_or(Hash::ZERO),
            event_data_hash: reference("event_data_hash").unwrap_or(Hash::ZERO),
        },
        client_event_commit: id.map_or(Hash::ZERO, |id| client_event_commit(&salt, id)),
    };
    let header = LeafHeader {
        origin_fingerprint: hash(&sent["origin_fingerprint"]).unwrap(),
        depth: 4,
        parent_anchor_id: [0x1b; 32].into(),
        sequence: 6,
        accepted_ms: 1_767_225_600_060,
    };
    let mut anchor = json!({
        "kind": "event", "origin_fingerprint": header.origin_fingerprint, "depth": header.depth,
        "sequence": header.sequence, "parent_anchor_id": header.parent_anchor_id, "accepted_ms": header.accepted_ms,
        "accepted_at": "2026-01-01T00:00:00.060Z", "finality": "committed", "event_hash": event.event_hash,
        "semantic_anchor": null, "client_event_commit": event.client_event_commit.non_zero(),
    });
    if refs.is_object() {
        let names = ["iris_ref", "scroll_ref", "grant_ref", "bond_ref", "yield_ref", "event_data_hash"];
        anchor["semantic_anchor"] = names.iter().map(|name| ((*name).to_owned(), refs[*name].clone())).collect();
    }
    if let Some(id) = id {
        anchor["client_event_id"] = id.into();
        anchor["client_event_salt"] = salt.to_hex().into();
    }
    let body = match sent["actor_public_key"].as_str() {
        None => LeafBody::Event(event),
        Some(key) => {
            let signature = sent["actor_signature"].as_str().unwrap();
            anchor["kind"] = "signed_event".into();
            anchor["actor_public_key"] = key.into();
            anchor["actor_signature"] = signature.into();
            let actor = ActorBody {
                actor_public_key: PublicKey::from_hex(key).unwrap(),
                actor_signature: Signature::from_hex(signature).unwrap(),
            };
            LeafBody::SignedEvent(event, actor)
        }
    };
    let leaf = Leaf { header, body }.encode().unwrap();
    anchor["anchor_id"] = anchor_id_of(&leaf).to_hex().into();
    (anchor, base64(&leaf))
}

/// What a service answers that has committed an event, or a batch of them.
fn recorded(sent: &Value) -> HttpResponse {
    let body = match sent["events"].as_array() {
        None => json!({ "anchor": event_anchor(sent), "receipt": null, "replayed": false }),
        Some(events) => {
            let results: Vec<Value> = events
                .iter()
                .map(|event| {
                    let mut event = event.clone();
                    event["origin_fingerprint"] = sent["origin_fingerprint"].clone();
                    json!({ "status": 202, "anchor": event_anchor(&event), "receipt": null })
                })
                .collect();
            let total = results.len();
            let summary = json!({ "total": total, "created": 0, "replayed": 0, "committed": total, "refused": 0 });
            json!({ "results": results, "summary": summary })
        }
    };
    HttpResponse { status: 202, headers: Vec::new(), body: body.to_string().into_bytes() }
}
