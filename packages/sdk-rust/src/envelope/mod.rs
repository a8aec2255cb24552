//! Envelopes: what happened, when, by whom, with its content or the hash of it, as the bytes that are anchored.
//! docs/PROTOCOL.md, "Envelopes".

mod encode;
mod options;
mod read;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::hash::Hash;

pub(crate) use encode::encode;
pub(crate) use options::{salt_of, time_text};
pub use options::{Content, EnvelopeOptions, Salt, When};

const FORMAT: &str = "event-anchoring/v4.2/envelope";
const BYTES_MAX: usize = 1024 * 1024;
/// Lists and objects that are open at one place, the envelope itself among them.
const NESTING_MAX: usize = 64;
const ATTACHMENTS_MAX: usize = 64;

/// What happened, as it was recorded. Its [`event_hash`](Self::event_hash) is what a receipt proves; `when` and `who`
/// are the word of who recorded it.
///
/// ```
/// use event_anchoring::{Envelope, EnvelopeOptions};
/// let content = serde_json::json!({"order": "4711", "amount": 19.5});
/// let envelope = Envelope::make(&content, &EnvelopeOptions::new("refund.paid").who("billing-agent"))?;
/// let read = Envelope::parse(envelope.canonical())?;
/// assert_eq!((read.what(), read.event_hash()), ("refund.paid", envelope.event_hash()));
/// # Ok::<(), event_anchoring::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Envelope {
    what: String,
    when: String,
    who: Option<String>,
    content_type: String,
    content: EnvelopeContent,
    attachments: Vec<Attachment>,
    salt: Option<Hash>,
    canonical: Vec<u8>,
}

/// The content of an envelope.
#[derive(Clone, Debug, PartialEq)]
pub enum EnvelopeContent {
    /// It is in the envelope.
    Json(Value),
    /// It lies elsewhere.
    Apart {
        /// SHA-256 of its bytes.
        hash: Hash,
        /// How many bytes.
        size: u64,
    },
}

/// A file that belongs to an event, by its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// Its media type.
    pub content_type: String,
    /// SHA-256 of its bytes.
    pub hash: Hash,
    /// What it is called: no other attachment of the event has the name.
    pub name: String,
    /// How many bytes: at most 2^53 − 1.
    pub size: u64,
}

impl Attachment {
    /// The attachment that these bytes are, of the type `application/octet-stream`.
    pub fn of_bytes(name: impl Into<String>, content: &[u8]) -> Self {
        let (hash, size) = (Hash::sha256(content), content.len() as u64);
        Self { content_type: options::BYTES_TYPE.to_owned(), hash, name: name.into(), size }
    }
}

impl Envelope {
    /// A new envelope.
    ///
    /// # Errors
    /// `envelope_malformed`, `envelope_number_unsafe` or `envelope_too_large`.
    pub fn make<'a>(content: impl Into<Content<'a>>, options: &EnvelopeOptions) -> Result<Self> {
        let when = time_text(&options.when)?;
        let salt = salt_of(options.salt.as_ref().unwrap_or(&Salt::None))?;
        Self::parse(encode(&content.into(), options, &when, options.who.as_deref(), salt)?)
    }

    /// Reads an envelope, which may be attacker-controlled.
    ///
    /// # Errors
    /// `envelope_too_large`, `envelope_json_invalid`, `envelope_format_unknown`, `envelope_number_unsafe`,
    /// `envelope_not_canonical` or `envelope_malformed`.
    pub fn parse(source: impl AsRef<[u8]>) -> Result<Self> {
        read::read(source.as_ref())
    }

    /// The type of the event, such as `tool.call`.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// When it happened, by the clock of who recorded it: `2026-11-23T10:00:00.000Z`.
    pub fn when(&self) -> &str {
        &self.when
    }

    /// Who acted: a name or a fingerprint. It is no proof: that is the actor's signature, or the grant.
    pub fn who(&self) -> Option<&str> {
        self.who.as_deref()
    }

    /// Media type of the content.
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    /// What happened.
    pub fn content(&self) -> &EnvelopeContent {
        &self.content
    }

    /// Files that belong to it.
    pub fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }

    /// 32 bytes that keep others from guessing the content behind the hash.
    pub fn salt(&self) -> Option<&Hash> {
        self.salt.as_ref()
    }

    /// The bytes that are hashed: keep exactly these.
    pub fn canonical(&self) -> &[u8] {
        &self.canonical
    }

    /// SHA-256 of the envelope's bytes: what is anchored.
    pub fn event_hash(&self) -> Hash {
        Hash::sha256(&self.canonical)
    }
}

impl fmt::Debug for Envelope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Envelope({:?} at {}, event hash {})", self.what, self.when, self.event_hash())
    }
}

fn malformed(message: impl Into<String>) -> Error {
    Error::verification("envelope_malformed", message)
}

fn too_large(message: impl Into<String>) -> Error {
    Error::verification("envelope_too_large", message)
}

fn number_unsafe() -> Error {
    Error::verification("envelope_number_unsafe", "a number is from 2^53 to 10^21: write it as a text")
}
