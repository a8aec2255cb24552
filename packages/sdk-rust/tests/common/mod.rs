//! A transport that answers as a script says, and the examples of the OpenAPI document.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use event_anchoring::{
    BoxFuture, Client, ClientBuilder, HttpRequest, HttpResponse, Transport, TransportError, TransportStage,
};
use serde_json::Value;

pub enum Reply {
    Answer(HttpResponse),
    Fails(TransportStage),
    /// Never.
    Silence,
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
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        self.requests.lock().unwrap().push(request);
        let reply = self.replies.lock().unwrap().pop_front();
        Box::pin(async move {
            match reply {
                Some(Reply::Answer(response)) => Ok(response),
                Some(Reply::Fails(stage)) => Err(TransportError { stage, source: "scripted".into() }),
                Some(Reply::Silence) => std::future::pending().await,
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
