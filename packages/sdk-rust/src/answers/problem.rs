//! RFC 9457 problems.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An RFC 9457 problem. `code` is the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// `urn:event-anchoring:problem:` and the code.
    #[serde(rename = "type", default)]
    pub problem_type: String,
    /// For people.
    #[serde(default)]
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// For people.
    #[serde(default)]
    pub detail: String,
    /// Match on it.
    pub code: String,
    /// Finds the log line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Where the request is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ProblemItem>,
    /// What some codes say besides: `anchor_id`, `state`, `results`, `summary`.
    #[serde(flatten)]
    pub extensions: std::collections::BTreeMap<String, Value>,
}

/// One place where a request is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProblemItem {
    /// RFC 6901, into the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Name of the query parameter, path parameter or header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// What kind of fault.
    pub code: String,
    /// For people.
    #[serde(default)]
    pub detail: String,
}
