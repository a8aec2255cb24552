//! One opaque error for everything that can go wrong, asked with `is_*` questions.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::answers::Problem;
use crate::verify_receipt::Step;

/// What most functions of this crate return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something did not work.
///
/// Ask it with the `is_*` methods, or match on [`code`](Error::code), which is stable: the service's own code for
/// what the service answers (`signature_invalid`, `claim_conflict`, …), and for the rest
///
/// | code | means |
/// |---|---|
/// | `invalid_input` | refused before anything was signed or sent; [`field`](Error::field) names the fault |
/// | `connection_failed` | no connection, or one lost under a request that changes nothing |
/// | `timeout` | no answer in time, of a request that changes nothing |
/// | `outcome_unknown` | a write may be recorded or not: ask again with the same `client_event_id` |
/// | `response_invalid` | an answer that is not the API's |
/// | `signer_failed` | a signer gave no signature, or a bad one |
/// | `store_failed` | the monitor could not load or save its state |
/// | `folder_in_use`, `spool_corrupt` | a recorder could not take its folder |
/// | `spool_full`, `spool_write_failed` | a recorder could not take an event |
/// | `not_kept`, `not_flushed` | what was recorded is not kept yet |
/// | `http_<status>` | something on the way to the service has answered |
/// | others | [`is_verification`](Error::is_verification): what was verified offline is not what it seems |
///
/// Messages are for people and may change. They hold no key and no API key.
pub struct Error(Box<Inner>);

struct Inner {
    kind: Kind,
    code: Cow<'static, str>,
    message: String,
    field: Option<String>,
    problem: Option<Problem>,
    status: Option<u16>,
    request_id: Option<String>,
    retry_after: Option<Duration>,
    client_event_ids: Vec<Option<String>>,
    step: Option<&'static str>,
    steps: Vec<Step>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    InvalidInput,
    Problem,
    Connection,
    Timeout,
    OutcomeUnknown,
    Response,
    Signer,
    Store,
    #[cfg(feature = "recorder")]
    Recorder,
    Verification,
}

impl Error {
    fn new(kind: Kind, code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            code: code.into(),
            message: message.into(),
            field: None,
            problem: None,
            status: None,
            request_id: None,
            retry_after: None,
            client_event_ids: Vec::new(),
            step: None,
            steps: Vec::new(),
            source: None,
        }))
    }

    pub(crate) fn invalid_input(field: impl Into<String>, message: impl Into<String>) -> Self {
        let mut error = Self::new(Kind::InvalidInput, "invalid_input", message);
        error.0.field = Some(field.into());
        error
    }

    pub(crate) fn verification(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Kind::Verification, code, message)
    }

    /// The step at which a verification ended, and all its steps.
    pub(crate) fn with_steps(mut self, step: &'static str, steps: Vec<Step>) -> Self {
        self.0.step = Some(step);
        self.0.steps = steps;
        self
    }

    pub(crate) fn store(message: impl Into<String>) -> Self {
        Self::new(Kind::Store, "store_failed", message)
    }

    pub(crate) fn signer(message: impl Into<String>) -> Self {
        Self::new(Kind::Signer, "signer_failed", message)
    }

    /// For a [`Signer`](crate::Signer) of your own: what kept it from signing.
    pub fn from_signer(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::signer("the signer gave no signature").with_source(cause)
    }

    /// For a [`MonitorStore`](crate::MonitorStore) of your own: what kept it from loading or saving.
    pub fn from_store(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::store("the store of the monitor failed").with_source(cause)
    }

    pub(crate) fn with_source(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(cause.into());
        self
    }

    /// The stable code: see the table above and the service's list of problems.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// The field at fault of an invalid input, in wire names (`semantic_anchor.iris_ref` for members).
    pub fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// What the service answered, if it answered with a problem (RFC 9457).
    pub fn problem(&self) -> Option<&Problem> {
        self.0.problem.as_ref()
    }

    /// The HTTP status of the answer, if there was one.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Finds the log line at the service: that of the answer, or the one that was sent if none came.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// How long the service asks to wait before the next try.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// For an unknown outcome: the `client_event_id` of each event that was sent, in their order, generated or given;
    /// `None` for one that was sent without. Other records have none: they are identified by their content.
    pub fn client_event_ids(&self) -> &[Option<String>] {
        &self.0.client_event_ids
    }

    /// For an unknown outcome of one event: the id to ask again with.
    pub fn client_event_id(&self) -> Option<&str> {
        match self.client_event_ids() {
            [only] => only.as_deref(),
            _ => None,
        }
    }

    /// For a receipt or a bundle that is not good: the step or the check that failed or, for a bundle that is not
    /// proved, the first that was not made.
    pub fn step(&self) -> Option<&'static str> {
        self.0.step
    }

    /// For a receipt or a bundle that is not good: all steps or checks, in their order. Empty for other errors.
    pub fn steps(&self) -> &[Step] {
        &self.0.steps
    }

    /// The input was refused before anything was signed or sent.
    pub fn is_invalid_input(&self) -> bool {
        self.0.kind == Kind::InvalidInput
    }

    /// The service answered, and refused.
    pub fn is_problem(&self) -> bool {
        self.0.problem.is_some()
    }

    /// No endpoint was reached, or the connection was lost under a request that changes nothing.
    pub fn is_connection_failed(&self) -> bool {
        self.0.kind == Kind::Connection
    }

    /// No answer came in time.
    pub fn is_timeout(&self) -> bool {
        self.0.kind == Kind::Timeout
    }

    /// A write may have been recorded, or not. Ask again with the same `client_event_id`; claims, grants and
    /// revocations can be sent again as they are. What was recorded is replayed, not recorded twice.
    pub fn is_outcome_unknown(&self) -> bool {
        self.0.kind == Kind::OutcomeUnknown || self.0.code == "outcome_unknown"
    }

    /// What answered does not speak this API, or said something that it cannot mean.
    pub fn is_response_invalid(&self) -> bool {
        self.0.kind == Kind::Response
    }

    /// A signer failed, or its signature does not verify.
    pub fn is_signer_failed(&self) -> bool {
        self.0.kind == Kind::Signer
    }

    /// The store of the monitor failed.
    pub fn is_store_failed(&self) -> bool {
        self.0.kind == Kind::Store
    }

    /// Something that was verified offline is not what it seems. [`code`](Error::code) says what.
    pub fn is_verification(&self) -> bool {
        self.0.kind == Kind::Verification
    }

    fn is_answered(&self, status: u16) -> bool {
        self.0.kind == Kind::Problem && self.0.status == Some(status)
    }

    /// 401: the API key is missing, unknown, expired or revoked.
    pub fn is_unauthorized(&self) -> bool {
        self.is_answered(401)
    }

    /// 403: the API key lacks the scope of the route, or another API client recorded the anchor (`not_own_record`).
    pub fn is_forbidden(&self) -> bool {
        self.is_answered(403)
    }

    /// 404: no such anchor, tile or route, or none in force.
    pub fn is_not_found(&self) -> bool {
        self.is_answered(404)
    }

    /// 409: the request contradicts what is recorded.
    pub fn is_conflict(&self) -> bool {
        self.is_answered(409)
    }

    /// 422: a rule of the ledger refuses the record.
    pub fn is_unprocessable(&self) -> bool {
        self.is_answered(422)
    }

    /// 429: too many requests with this API key.
    pub fn is_rate_limited(&self) -> bool {
        self.is_answered(429)
    }

    /// 503: not now. Nothing is promised; asking again is safe, for an event with the same `client_event_id`.
    pub fn is_unavailable(&self) -> bool {
        self.is_answered(503)
    }
}

#[cfg(feature = "recorder")]
impl Error {
    pub(crate) fn recorder(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Kind::Recorder, code, message)
    }

    /// What the service has said of an event for good.
    pub(crate) fn refused_event(code: &str, message: &str, status: u16, client_event_id: String) -> Self {
        let mut error = Self::new(Kind::Problem, code.to_owned(), message);
        error.0.status = Some(status);
        error.0.client_event_ids = vec![Some(client_event_id)];
        error
    }
}

#[cfg(feature = "client")]
impl Error {
    pub(crate) fn connection_failed(message: impl Into<String>) -> Self {
        Self::new(Kind::Connection, "connection_failed", message)
    }

    pub(crate) fn timeout(message: impl Into<String>) -> Self {
        Self::new(Kind::Timeout, "timeout", message)
    }

    pub(crate) fn outcome_unknown(message: impl Into<String>) -> Self {
        Self::new(Kind::OutcomeUnknown, "outcome_unknown", message)
    }

    pub(crate) fn response_invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Response, "response_invalid", message)
    }

    pub(crate) fn from_problem(status: u16, problem: Problem) -> Self {
        let message = format!("{} {}: {}", status, one_line(&problem.code), one_line(&problem.detail));
        let mut error = Self::new(Kind::Problem, problem.code.clone(), message);
        error.0.status = Some(status);
        error.0.problem = Some(problem);
        error
    }

    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    pub(crate) fn with_request_id(mut self, request_id: &str) -> Self {
        self.0.request_id.get_or_insert_with(|| request_id.to_owned());
        self
    }

    pub(crate) fn with_retry_after(mut self, delay: Option<Duration>) -> Self {
        self.0.retry_after = delay;
        self
    }

    pub(crate) fn with_client_event_ids(mut self, ids: &[Option<String>]) -> Self {
        self.0.client_event_ids = ids.to_vec();
        self
    }

    pub(crate) fn with_hint(mut self, hint: &str) -> Self {
        self.0.message.push_str(hint);
        self
    }
}

/// How an untrusted text is shown: on one line, and cut at a limit.
#[cfg(feature = "client")]
fn one_line(text: &str) -> String {
    const TEXT_CHARS_MAX: usize = 1_000;
    text.chars().take(TEXT_CHARS_MAX).map(|shown| if shown.is_control() { ' ' } else { shown }).collect()
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = &self.0.field {
            write!(formatter, "{field}: ")?;
        }
        formatter.write_str(&self.0.message)?;
        if let Some(request_id) = &self.0.request_id {
            write!(formatter, " (request {request_id})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Error");
        shown.field("code", &self.0.code).field("message", &self.0.message);
        if let Some(field) = &self.0.field {
            shown.field("field", field);
        }
        if let Some(step) = &self.0.step {
            shown.field("step", step);
        }
        if let Some(status) = &self.0.status {
            shown.field("status", status);
        }
        if let Some(request_id) = &self.0.request_id {
            shown.field("request_id", request_id);
        }
        if let Some(source) = &self.0.source {
            shown.field("source", source);
        }
        shown.finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
