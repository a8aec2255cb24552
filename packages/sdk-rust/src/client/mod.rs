//! The asynchronous client: one request is one call, over any of the endpoints.

mod config;
mod event_stream;
mod follow;
mod guard;
mod held;
mod histories;
mod items;
mod logging;
mod many;
mod monitor;
mod operations;
mod options;
mod questions;
mod refusal;
mod retry;
mod tiles;
mod transport;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use zeroize::Zeroizing;

pub use config::{ClientBuilder, Timeouts};
pub use follow::{FollowOptions, FollowedHead, HeadFollower, HeldHead};
pub use items::{EventItems, RecordItems};
#[cfg(feature = "recorder")]
pub(crate) use many::SIGNED_ITEMS_MAX;
pub use many::{ManyEvents, ManyItem, ManyOptions};
pub use monitor::{FileMonitorStore, MemoryMonitorStore, Monitor, MonitorStore, Observation};
pub use options::{
    BatchOptions, ClaimFilter, EventFilter, EventOptions, GrantFilter, Page, Position, Prefer, TraceOptions,
    VerifyItem, VerifyOptions,
};
pub use retry::RetryPolicy;
pub use transport::{HttpBody, HttpRequest, HttpResponse, HttpStream, Transport, TransportFailure, TransportStage};

use crate::bytes::to_hex;
use crate::error::{Error, Result};
use crate::hash::OriginFingerprint;
use crate::trust_root_chain::TrustRootChain;
use logging::{log_request, outcome_of};
use options::check_prefer;
use refusal::{conclude, parse_answer, refusal, unanswered, unreadable, Asked};
use retry::{with_retries, Failed, Repeat};

/// A client of one cluster. Cloning it is cheap, and clones share their connections.
///
/// All operations are asynchronous and need a tokio runtime.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    prefer: Prefer,
}

struct Shared {
    /// Without trailing slashes; at least one.
    endpoints: Vec<String>,
    /// Place of the endpoint that is asked first: the last one that answered.
    preferred: AtomicUsize,
    api_key: Option<Zeroizing<String>>,
    /// Read once, and pinned.
    origin_fingerprint: OnceCell<OriginFingerprint>,
    /// What receipts of answers are held against. It grows with the trust root.
    trust_root: Mutex<Option<TrustRootChain>>,
    retry: RetryPolicy,
    timeouts: Timeouts,
    transport: Arc<dyn Transport>,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("endpoints", &self.shared.endpoints).finish_non_exhaustive()
    }
}

/// What a request may do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Read,
    /// `Repeat` says whether two of them are one record.
    Write(Repeat),
}

/// Whether a call carries the API key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyUse {
    Needed,
    /// Not needed; with a key the answer shows more.
    Welcome,
    Unsent,
}

/// One call of the API.
struct Call {
    method: &'static str,
    /// Path and query.
    target: String,
    body: Option<Value>,
    effect: Effect,
    timeout: Duration,
    prefer: Option<String>,
    /// What to say about asking again, should the outcome be unknown.
    hint: String,
    /// The client event ids in it, to be reported in that case.
    client_event_ids: Vec<Option<String>>,
    key: KeyUse,
    accept: &'static str,
}

impl Client {
    /// A client of one endpoint, with all else as it is by default.
    ///
    /// # Errors
    /// `invalid_input`, naming the setting.
    pub fn new(endpoint: impl Into<String>, api_key: impl Into<String>) -> Result<Self> {
        Self::builder().endpoint(endpoint).api_key(api_key).build()
    }

    /// Sets up a client.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::new()
    }

    /// The same client with another preference for its writes, and for the anchors and receipts that it reads.
    #[must_use]
    pub fn with_prefer(&self, prefer: Prefer) -> Self {
        Self { shared: Arc::clone(&self.shared), prefer }
    }

    /// The origin that is written to: that of the settings, or that of the first node that answered.
    ///
    /// # Errors
    /// Those of [`healthz`](Self::healthz).
    pub async fn origin_fingerprint(&self) -> Result<OriginFingerprint> {
        let read = || async { Ok(self.healthz().await?.origin_fingerprint) };
        self.shared.origin_fingerprint.get_or_try_init(read).await.copied()
    }

    fn get(&self, target: impl Into<String>) -> Call {
        Call {
            method: "GET",
            target: target.into(),
            body: None,
            effect: Effect::Read,
            timeout: self.shared.timeouts.read,
            prefer: None,
            hint: String::new(),
            client_event_ids: Vec::new(),
            key: KeyUse::Needed,
            accept: "application/json",
        }
    }

    /// A read of what has a receipt. It waits for it, whatever writes do.
    fn get_with_receipt(&self, target: impl Into<String>) -> Result<Call> {
        check_prefer(self.prefer)?;
        let prefer = Prefer { respond_async: false, ..self.prefer };
        let timeout = self.shared.timeouts.read.max(prefer.timeout());
        Ok(Call { timeout, prefer: prefer.header(), ..self.get(target) })
    }

    /// A request that changes nothing, in spite of its body.
    fn question(&self, target: &str, body: Value) -> Call {
        Call { method: "POST", body: Some(body), ..self.get(target) }
    }

    /// A write that is known by its content.
    fn write(&self, target: impl Into<String>, body: Value) -> Call {
        Call {
            method: "POST",
            body: Some(body),
            effect: Effect::Write(Repeat::Freely),
            timeout: self.shared.timeouts.write.max(self.prefer.timeout()),
            prefer: self.prefer.header(),
            hint: "; send the same again: it is recorded once".into(),
            ..self.get(target)
        }
    }

    /// Makes a call whose answer is JSON.
    async fn call<T: DeserializeOwned>(&self, call: &Call) -> Result<T> {
        let response = self.call_raw(call, &[]).await?;
        parse_answer(&response).map_err(|error| unreadable(call, error))
    }

    /// Makes a call, over as many tries as it takes. A status that is `also_good` is an answer too.
    async fn call_raw(&self, call: &Call, also_good: &[u16]) -> Result<HttpResponse> {
        if call.key == KeyUse::Needed && self.shared.api_key.is_none() {
            return Err(Error::invalid_input("api_key", "this operation needs one"));
        }
        let body = call.body.as_ref().map(|body| body.to_string().into_bytes());
        let name = random_hex::<8>()?;
        let repeat = match call.effect {
            Effect::Read => Repeat::Freely,
            Effect::Write(repeat) => repeat,
        };
        let endpoints = self.shared.endpoints.len();
        let first = self.shared.preferred.load(Ordering::Relaxed);
        let outcome = with_retries(&self.shared.retry, endpoints, repeat, |number| {
            let place = first.wrapping_add(number as usize) % endpoints;
            let asked = Asked { endpoint: self.endpoint(place).to_owned(), request_id: format!("{name}-{number}") };
            self.attempt(call, body.clone(), (number + 1, place), asked, also_good)
        })
        .await;
        outcome.result.map_err(|error| conclude(call, error, outcome.is_unknown))
    }

    async fn attempt(
        &self,
        call: &Call,
        body: Option<Vec<u8>>,
        (number, place): (u32, usize),
        asked: Asked,
        also_good: &[u16],
    ) -> Result<HttpResponse, Failed> {
        let request = self.request(call, body, place, &asked.request_id);
        let started = Instant::now();
        let sent = tokio::time::timeout(call.timeout, self.shared.transport.send(request)).await;
        log_request(call, &asked, number, outcome_of(&sent, |response| response.status), started.elapsed());
        let is_write = call.effect != Effect::Read;
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(TransportFailure { stage, source })) => return Err(unanswered(stage, is_write, &asked, source)),
            Err(elapsed) => return Err(unanswered(TransportStage::TimedOut, is_write, &asked, elapsed.into())),
        };
        let status = response.status;
        if status < 500 {
            self.shared.preferred.store(place, Ordering::Relaxed);
        }
        if matches!(status, 200..=202) || also_good.contains(&status) {
            return Ok(response);
        }
        let api_key = self.shared.api_key.as_deref().filter(|_| call.key != KeyUse::Unsent);
        let error = refusal(&response, &asked.request_id, api_key.map(String::as_str));
        // A 503 promises nothing, and a 5xx from something on the way even less. A success that is none of the API's
        // may have been one.
        let is_in_doubt = matches!(status, 200..=299) || status >= 500 && !error.is_unavailable();
        let is_unknown = is_write && (is_in_doubt || error.is_outcome_unknown());
        Err(Failed { error, is_unknown, is_final: status < 500 && status != 429 })
    }

    fn endpoint(&self, place: usize) -> &str {
        self.shared.endpoints.get(place).map_or("", String::as_str)
    }

    fn request(&self, call: &Call, body: Option<Vec<u8>>, place: usize, request_id: &str) -> HttpRequest {
        let endpoint = self.endpoint(place);
        let mut headers = vec![("accept", call.accept.to_owned()), ("x-request-id", request_id.to_owned())];
        if let Some(api_key) = self.shared.api_key.as_deref().filter(|_| call.key != KeyUse::Unsent) {
            headers.push(("authorization", format!("Bearer {api_key}")));
        }
        if body.is_some() {
            headers.push(("content-type", "application/json".to_owned()));
        }
        if let Some(prefer) = &call.prefer {
            headers.push(("prefer", prefer.clone()));
        }
        let url = format!("{endpoint}{}", call.target);
        HttpRequest { method: call.method, url, headers, body, timeout: call.timeout }
    }
}

/// Random bytes as hex.
fn random_hex<const N: usize>() -> Result<String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|cause| {
        Error::invalid_input("client_event_id", "the system has no randomness").with_source(cause.to_string())
    })?;
    Ok(to_hex(&bytes))
}
