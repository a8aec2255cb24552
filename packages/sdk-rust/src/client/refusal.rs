//! What it is called when there is no answer, or another one than was asked for.

use std::error::Error as StdError;
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::retry::Failed;
use super::transport::{HttpResponse, TransportStage};
use super::{Call, Effect};
use crate::answers::Problem;
use crate::dates::from_http_date;
use crate::error::{Error, Result};

/// What was asked, for those who look into it.
#[derive(Clone)]
pub(super) struct Asked {
    /// No API key can be in it: an endpoint has no user and no query.
    pub(super) endpoint: String,
    pub(super) request_id: String,
}

/// No answer came.
pub(super) fn unanswered(
    stage: TransportStage,
    is_write: bool,
    Asked { endpoint, request_id }: &Asked,
    source: Box<dyn StdError + Send + Sync>,
) -> Failed {
    let is_unknown = is_write && stage != TransportStage::NotSent;
    let error = match stage {
        TransportStage::NotSent => Error::connection_failed(format!("no connection to {endpoint}")),
        TransportStage::TimedOut if is_write => {
            Error::outcome_unknown(format!("no answer from {endpoint} in time: it may be recorded"))
        }
        TransportStage::TimedOut => Error::timeout(format!("no answer from {endpoint} in time")),
        TransportStage::Lost if is_write => {
            Error::outcome_unknown(format!("the connection to {endpoint} was lost: it may be recorded"))
        }
        TransportStage::Lost => Error::connection_failed(format!("the connection to {endpoint} was lost")),
        TransportStage::TooLarge if is_write => Error::outcome_unknown("the answer is too large: it may be recorded"),
        TransportStage::TooLarge => Error::response_invalid("the answer is too large"),
    };
    let is_final = stage == TransportStage::TooLarge;
    Failed { error: error.with_source(source).with_request_id(request_id), is_unknown, is_final }
}

/// The two forms of RFC 9110 section 10.2.3; at most an hour, whatever somebody on the way says.
fn retry_after(response: &HttpResponse) -> Option<Duration> {
    const LONGEST: Duration = Duration::from_secs(3_600);
    let said = response.header("retry-after")?.trim();
    let asked = match crate::bytes::parse_decimal(said) {
        Some(seconds) => Duration::from_secs(seconds),
        None => {
            let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(from_http_date(said)?))?;
            at.duration_since(SystemTime::now()).unwrap_or_default()
        }
    };
    Some(asked.min(LONGEST))
}

/// The `X-Request-Id` of an answer, if it is one.
fn request_id_of(response: &HttpResponse) -> Option<&str> {
    let is_legal = |id: &&str| (1..=128).contains(&id.len()) && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
    response.header("x-request-id").filter(is_legal)
}

/// What is shorter is no secret, and may be part of any word.
const SECRET_BYTES_MIN: usize = 8;
const PLACEHOLDER: &str = "<API_KEY>";

/// The same without the API key: whoever answers knows it, and an error ends up in logs.
fn without_key(value: Value, api_key: &str) -> Value {
    match value {
        Value::String(text) => text.replace(api_key, PLACEHOLDER).into(),
        Value::Array(items) => items.into_iter().map(|item| without_key(item, api_key)).collect(),
        Value::Object(members) => {
            let members = members
                .into_iter()
                .map(|(name, value)| (name.replace(api_key, PLACEHOLDER), without_key(value, api_key)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        other => other,
    }
}

fn read_problem(body: &[u8], api_key: Option<&str>) -> Option<Problem> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let value = match api_key.filter(|key| key.len() >= SECRET_BYTES_MIN) {
        Some(api_key) => without_key(value, api_key),
        None => value,
    };
    serde_json::from_value(value).ok()
}

/// An answer other than the one that was asked for.
pub(super) fn refusal(response: &HttpResponse, request_id: &str, api_key: Option<&str>) -> Error {
    let status = response.status;
    let request_id = request_id_of(response).unwrap_or(request_id);
    if !(400..600).contains(&status) {
        let error = Error::response_invalid(format!("an answer with status {status}, which the API does not give"));
        return error.with_status(status).with_request_id(request_id);
    }
    let problem = read_problem(&response.body, api_key).unwrap_or_else(|| Problem {
        problem_type: String::new(),
        title: String::new(),
        status,
        detail: "the answer is none of the service's: something on the way gave it".into(),
        code: format!("http_{status}"),
        request_id: None,
        errors: Vec::new(),
        extensions: std::collections::BTreeMap::new(),
    });
    Error::from_problem(status, problem).with_request_id(request_id).with_retry_after(retry_after(response))
}

/// A write whose outcome nobody knows, and what to do about it.
fn unknown(call: &Call, error: Error) -> Error {
    error.with_hint(&call.hint).with_client_event_ids(&call.client_event_ids)
}

/// What the caller is told after the last try.
pub(super) fn conclude(call: &Call, error: Error, is_unknown: bool) -> Error {
    if error.is_outcome_unknown() {
        return unknown(call, error);
    }
    // A refusal by rule is final, as a replay would have come before it; one by key, rate or connection says nothing
    // about an earlier try.
    let is_final = error.is_problem() && !matches!(error.status(), Some(401 | 403 | 408 | 429 | 500..));
    if !is_unknown || is_final {
        return error;
    }
    instead(call, "it may be recorded, and the last answer does not say", error)
}

/// An answer that nobody can read. Of a write it says nothing about whether it was recorded.
pub(super) fn unreadable(call: &Call, error: Error) -> Error {
    match call.effect {
        Effect::Read => error,
        Effect::Write(_) => instead(call, "the answer cannot be read, so it may be recorded", error),
    }
}

fn instead(call: &Call, message: &str, error: Error) -> Error {
    let told = unknown(call, Error::outcome_unknown(message)).with_retry_after(error.retry_after());
    let told = match error.request_id() {
        Some(request_id) => told.with_request_id(request_id),
        None => told,
    };
    told.with_source(error)
}

pub(super) fn parse_answer<T: DeserializeOwned>(response: &HttpResponse) -> Result<T> {
    serde_json::from_slice(&response.body).map_err(|cause| {
        let error = Error::response_invalid("the answer is none of the API's").with_status(response.status);
        let error = match request_id_of(response) {
            Some(request_id) => error.with_request_id(request_id),
            None => error,
        };
        error.with_source(cause)
    })
}
