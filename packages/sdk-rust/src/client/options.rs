//! What operations can be told besides what they need.

use std::time::Duration;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash};
use crate::input::{ClientEventId, SemanticAnchor};

/// How a write, or the question for an anchor or its receipt, is to be answered (RFC 7240).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefer {
    /// Seconds that the answer may take, 1 to 30.
    pub wait_s: Option<u8>,
    /// Answer a write as soon as the record is committed; the receipt is asked for later.
    pub respond_async: bool,
    /// Wait, within that time, for a receipt that enough witnesses have cosigned. If none comes the receipt is of a head
    /// that is certified: [`verify_receipt`](crate::verify_receipt) says which it is, and `require_witnessed` refuses the
    /// one.
    pub witnessed: bool,
}

impl Prefer {
    /// The answer may take this long.
    pub const fn wait(seconds: u8) -> Self {
        Self { wait_s: Some(seconds), respond_async: false, witnessed: false }
    }

    /// Answer as soon as the record is committed.
    pub const fn respond_async() -> Self {
        Self { wait_s: None, respond_async: true, witnessed: false }
    }

    /// The answer may take this long, and its receipt is to be one that enough witnesses have cosigned.
    pub const fn witnessed(seconds: u8) -> Self {
        Self { wait_s: Some(seconds), respond_async: false, witnessed: true }
    }

    pub(super) fn header(self) -> Option<String> {
        let wait = self.wait_s.map(|seconds| format!("wait={seconds}"));
        let respond_async = self.respond_async.then(|| "respond-async".to_owned());
        let witnessed = self.witnessed.then(|| "witnessed".to_owned());
        let words: Vec<String> = respond_async.into_iter().chain(wait).chain(witnessed).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// The answer needs some time to arrive as well.
    pub(super) fn timeout(self) -> Duration {
        Duration::from_secs(self.wait_s.map_or(0, |seconds| u64::from(seconds) + 5))
    }
}

/// What an event can be told besides its hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventOptions {
    /// What it refers to.
    pub semantic_anchor: SemanticAnchor,
    /// How it names itself.
    pub client_event_id: ClientEventId,
    /// How it is to be answered; `None`: as the client prefers.
    pub prefer: Option<Prefer>,
}

/// What a batch can be told besides its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchOptions {
    /// One refused item refuses all, and nothing is anchored.
    pub atomic: bool,
    /// The answer has each checkpoint once, which makes it smaller; the receipts of the result are whole all the same.
    pub shared_receipts: bool,
}

/// A position in the ledger to judge at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// That of a sequence.
    Sequence(u64),
    /// A time, RFC 3339 with offset: that of the last leaf accepted no later.
    Time(String),
}

impl Position {
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Sequence(sequence) => (*sequence).into(),
            Self::Time(time) => time.clone().into(),
        }
    }

    pub(super) fn to_query(&self) -> String {
        match self {
            Self::Sequence(sequence) => sequence.to_string(),
            Self::Time(time) => time.clone(),
        }
    }
}

/// What verifying can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// The position to judge at; `None`: now.
    pub as_of: Option<Position>,
    /// For events: the hash that you expect.
    pub event_hash: Option<Hash>,
    /// For grants: claims whose lineages are trusted to grant without a parent.
    pub trusted_roots: Vec<AnchorId>,
    /// The result has a proof of its verdict, verified by the trust roots of the client. It is as of a state that a
    /// quorum signs for it, up to two seconds later.
    pub proof: bool,
}

/// One anchor of a batch to verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyItem {
    /// The id of an anchor of any kind.
    pub anchor_id: AnchorId,
    /// What you believe was anchored.
    pub event_hash: Option<Hash>,
}

/// What a trace can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// The position that *now* means; `None`: now.
    pub as_of: Option<Position>,
    /// Claims whose lineages are trusted to grant without a parent.
    pub trusted_roots: Vec<AnchorId>,
    /// The page of the leaves before the anchor.
    pub page: Page,
    /// The result has a proof of its verdicts, as in [`VerifyOptions`].
    pub proof: bool,
}

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// From the page before; `None`: the first.
    pub cursor: Option<String>,
    /// Items at most.
    pub limit: Option<u16>,
}

/// Which events a list holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventFilter {
    /// With this hash.
    EventHash(Hash),
    /// By whom this claim is.
    IrisRef(AnchorId),
    /// Under this grant.
    GrantRef(AnchorId),
    /// Which your API client has given this id: one, or none.
    ClientEventId(String),
}

impl EventFilter {
    pub(super) fn pair(&self) -> (&'static str, String) {
        match self {
            Self::EventHash(hash) => ("event_hash", hash.to_hex()),
            Self::IrisRef(id) => ("iris_ref", id.to_hex()),
            Self::GrantRef(id) => ("grant_ref", id.to_hex()),
            Self::ClientEventId(id) => ("client_event_id", id.clone()),
        }
    }
}

/// Whose claims a history holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimFilter {
    /// The entity whose claims are listed.
    pub entity_fingerprint: Hash,
    /// The type of claims that are listed; `None`: every type.
    pub attribute_type: Option<u32>,
}

impl ClaimFilter {
    pub(super) fn query(&self) -> Vec<(&'static str, Option<String>)> {
        vec![
            ("entity_fingerprint", Some(self.entity_fingerprint.to_hex())),
            ("attribute_type", self.attribute_type.map(|attribute_type| attribute_type.to_string())),
        ]
    }
}

/// Whose grants a history holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantFilter {
    /// All that this entity has granted.
    Grantor(Hash),
    /// All that were granted to this entity.
    Grantee(Hash),
    /// Those from one entity to another.
    Between {
        /// Who granted.
        grantor: Hash,
        /// To whom.
        grantee: Hash,
    },
}

impl GrantFilter {
    pub(super) fn query(&self) -> Vec<(&'static str, Option<String>)> {
        let (grantor, grantee) = match self {
            Self::Grantor(grantor) => (Some(grantor), None),
            Self::Grantee(grantee) => (None, Some(grantee)),
            Self::Between { grantor, grantee } => (Some(grantor), Some(grantee)),
        };
        vec![("grantor_fingerprint", grantor.map(Hash::to_hex)), ("grantee_fingerprint", grantee.map(Hash::to_hex))]
    }
}

/// A path with a query. Everything but unreserved characters is encoded; values that are `None` are left out.
pub(super) fn target(path: &str, query: Vec<(&str, Option<String>)>) -> String {
    let pairs: Vec<String> =
        query.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", percent_encode(&value?)))).collect();
    if pairs.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", pairs.join("&"))
    }
}

fn percent_encode(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
        encoded
    })
}

/// Seconds of `Prefer: wait=` are 1 to 30.
pub(super) fn check_prefer(prefer: Prefer) -> Result<()> {
    if prefer.wait_s.is_some_and(|seconds| !(1..=30).contains(&seconds)) {
        return Err(Error::invalid_input("prefer", "expected 1 to 30 seconds"));
    }
    Ok(())
}
