//! A service for recorders: it anchors each client_event_id once, with receipts that hold together and prove nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use event_anchoring::*;
use serde_json::{json, Value};

/// What comes instead of the next answer.
pub enum Fault {
    /// The events are recorded, and the answer is lost.
    Lost,
    /// A problem of the whole request: status and code.
    Problem(u16, &'static str),
    /// Anchors without receipts.
    Uncertified,
}

/// A problem of each request in which an event is for which it says so.
type Refuses = Box<dyn Fn(&Value) -> bool + Send + Sync>;

pub struct Service {
    receipt: Value,
    /// By client_event_id: the anchor and its leaf.
    pub anchors: Mutex<BTreeMap<String, (Value, String)>>,
    /// How many events each request had.
    pub batches: Mutex<Vec<usize>>,
    pub faults: Mutex<VecDeque<Fault>>,
    /// Problems of single events, by their hashes: status and code.
    pub problems: Mutex<BTreeMap<String, (u16, &'static str)>>,
    pub spoils: Mutex<Option<Refuses>>,
}

fn problem(status: u16, code: &str) -> Value {
    json!({ "type": "about:blank", "title": code, "status": status, "detail": "no", "code": code })
}

fn http(status: u16, body: &Value) -> HttpResponse {
    HttpResponse { status, headers: Vec::new(), body: body.to_string().into_bytes() }
}

impl Service {
    /// `None`: the repository is not here.
    pub fn new() -> Option<Arc<Self>> {
        let receipt = super::example(&super::open_api()?, "createEventAnchor", "201")["receipt"].clone();
        Some(Arc::new(Self {
            receipt,
            anchors: Mutex::default(),
            batches: Mutex::default(),
            faults: Mutex::default(),
            problems: Mutex::default(),
            spoils: Mutex::default(),
        }))
    }

    pub fn client(self: &Arc<Self>) -> Client {
        let builder = Client::builder().endpoint("https://a.example").api_key("secret-key-of-the-test");
        let builder = builder.transport(self.clone()).origin_fingerprint([7; 32]).retry(RetryPolicy::none());
        builder.build().unwrap()
    }

    pub fn fails(&self, faults: impl IntoIterator<Item = Fault>) {
        self.faults.lock().unwrap().extend(faults);
    }

    pub fn count(&self) -> usize {
        self.anchors.lock().unwrap().len()
    }

    fn item(&self, event: &Value, origin: &Value, has_receipt: bool) -> Value {
        let hash = event["event_hash"].as_str().unwrap();
        if let Some((status, code)) = self.problems.lock().unwrap().get(hash) {
            return json!({ "status": status, "problem": problem(*status, code) });
        }
        let mut anchors = self.anchors.lock().unwrap();
        let id = event["client_event_id"].as_str().unwrap().to_owned();
        let replayed = anchors.contains_key(&id);
        let (anchor, leaf) = anchors.entry(id).or_insert_with(|| {
            let mut event = event.clone();
            event["origin_fingerprint"] = origin.clone();
            super::event_anchor_and_leaf(&event)
        });
        assert_eq!(anchor["event_hash"], hash);
        let mut receipt = self.receipt.clone();
        receipt["anchor_id"] = anchor["anchor_id"].clone();
        receipt["leaf"] = leaf.clone().into();
        let receipt = if has_receipt { receipt } else { Value::Null };
        json!({ "status": 200, "anchor": anchor, "receipt": receipt, "replayed": replayed })
    }

    fn answer(&self, body: &Value) -> Result<HttpResponse, TransportFailure> {
        let events = body["events"].as_array().unwrap();
        let fault = self.faults.lock().unwrap().pop_front();
        if let Some(Fault::Problem(status, code)) = fault {
            return Ok(http(status, &problem(status, code)));
        }
        if self.spoils.lock().unwrap().as_ref().is_some_and(|spoils| events.iter().any(spoils)) {
            return Ok(http(422, &problem(422, "invalid_request")));
        }
        self.batches.lock().unwrap().push(events.len());
        let has_receipt = !matches!(fault, Some(Fault::Uncertified));
        let items: Vec<Value> =
            events.iter().map(|event| self.item(event, &body["origin_fingerprint"], has_receipt)).collect();
        if matches!(fault, Some(Fault::Lost)) {
            return Err(TransportFailure { stage: TransportStage::Lost, source: "scripted".into() });
        }
        let total = items.len();
        let summary = json!({ "total": total, "created": 0, "replayed": 0, "committed": total, "refused": 0 });
        Ok(http(200, &json!({ "results": items, "summary": summary })))
    }
}

impl Transport for Service {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        let answer = self.answer(&super::body(&request));
        Box::pin(std::future::ready(answer))
    }
}
