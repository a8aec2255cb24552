//! What the log is told of a request.

use std::time::Duration;

use super::refusal::Asked;
use super::transport::{TransportFailure, TransportStage};
use super::Call;

/// The target of all that this crate logs about requests.
const TARGET: &str = "event_anchoring";

/// How a try ended: its status, or how far it came without one.
pub(super) type Ended = Result<u16, TransportStage>;

/// One line, at the level `debug`, about a try, counted from 1. Headers and bodies are no part of it, nor is the API key.
pub(super) fn log_request(call: &Call, asked: &Asked, attempt: u32, ended: Ended, took: Duration) {
    let Call { method, target, .. } = call;
    let Asked { endpoint, request_id } = asked;
    let outcome = match ended {
        Ok(status) => status.to_string(),
        Err(TransportStage::NotSent) => "no connection".to_owned(),
        Err(TransportStage::TimedOut) => "no answer in time".to_owned(),
        Err(TransportStage::Lost) => "lost".to_owned(),
        Err(TransportStage::TooLarge) => "too large an answer".to_owned(),
    };
    let milliseconds = took.as_millis();
    log::debug!(
        target: TARGET,
        "{method} {target}, try {attempt}, at {endpoint}: {outcome} in {milliseconds} ms, request {request_id}"
    );
}

/// What sending within a time came to.
pub(super) fn outcome_of<T, E>(sent: &Result<Result<T, TransportFailure>, E>, status: impl Fn(&T) -> u16) -> Ended {
    match sent {
        Ok(Ok(answered)) => Ok(status(answered)),
        Ok(Err(failure)) => Err(failure.stage),
        Err(_) => Err(TransportStage::TimedOut),
    }
}
