//! Words of answers, some of which may come later than this version.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::open_words;

open_words!(
    /// How far an anchor has come.
    Finality {
        /// Durable on a majority of the nodes.
        Committed = "committed",
        /// Also co-signed by a quorum of them.
        Certified = "certified",
    }
);

open_words!(
    /// How a claim or a grant has ended, if it has.
    RecordState {
        /// It has not.
        Active = "active",
        /// A newer one has taken its place.
        Superseded = "superseded",
        /// It was revoked.
        Revoked = "revoked",
        /// Its time is over.
        Expired = "expired",
    }
);

open_words!(
    /// How one check has ended.
    CheckResult {
        /// It holds.
        Pass = "pass",
        /// It does not.
        Fail = "fail",
        /// Only in a node's readiness: it serves, and an operator should look.
        Warn = "warn",
        /// It was not, or could not be, made.
        NotChecked = "not_checked",
    }
);

open_words!(
    /// The state of a node in `/healthz`.
    HealthStatus {
        /// All is well.
        Ok = "ok",
        /// It serves, and something is missing.
        Degraded = "degraded",
        /// It does not serve.
        Error = "error",
    }
);

open_words!(
    /// Which of a trace's two verdicts a reason is about.
    TraceVerdict {
        /// The one at the event's own position.
        AtAction = "at_action",
        /// The one at `as_of`.
        Now = "now",
    }
);

/// Whether an act was covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorised {
    /// It was.
    Yes,
    /// It was not.
    No,
    /// Not known: the reasons say why.
    Unknown,
}

impl Serialize for Authorised {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Yes => serializer.serialize_bool(true),
            Self::No => serializer.serialize_bool(false),
            Self::Unknown => serializer.serialize_str("unknown"),
        }
    }
}

impl<'de> Deserialize<'de> for Authorised {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(true) => Ok(Self::Yes),
            Value::Bool(false) => Ok(Self::No),
            Value::String(word) if word == "unknown" => Ok(Self::Unknown),
            _ => Err(serde::de::Error::custom("expected true, false or \"unknown\"")),
        }
    }
}
