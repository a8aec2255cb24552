//! What an envelope is made of.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::{malformed, Attachment};
use crate::calendar::to_rfc3339;
use crate::dates::is_rfc3339;
use crate::error::{Error, Result};
use crate::hash::Hash;

pub(super) const JSON_TYPE: &str = "application/json";
pub(super) const BYTES_TYPE: &str = "application/octet-stream";
/// 10000-01-01.
const TIME_MS_END: u128 = 253_402_300_800_000;

/// What happened: a JSON value; bytes, which lie beside the envelope; or the hash of what you keep yourself.
///
/// `serde_json` makes `null` of NaN and infinity before they come here.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// A value that goes into the envelope.
    Json(&'a Value),
    /// The envelope has their hash.
    Bytes(&'a [u8]),
    /// It lies elsewhere.
    Hash {
        /// SHA-256 of its bytes.
        hash: Hash,
        /// How many bytes.
        size: u64,
    },
}

impl<'a> From<&'a Value> for Content<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Json(value)
    }
}

impl<'a> From<&'a [u8]> for Content<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Content<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Content<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

/// When an event happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// As it is written down.
    #[default]
    Now,
    /// Then, cut to milliseconds.
    At(SystemTime),
    /// A text as envelopes have it: `2026-11-23T10:00:00.000Z`.
    Text(String),
}

/// Whether others could guess a content by its hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Salt {
    /// There is none.
    #[default]
    None,
    /// 32 random bytes are drawn.
    Drawn,
    /// 32 bytes of yours.
    Given(Hash),
}

/// What an envelope says beside its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvelopeOptions {
    /// The type of the event, such as `tool.call`: 1 to 256 characters.
    pub what: String,
    /// When it happened.
    pub when: When,
    /// Who acted: 1 to 256 characters.
    pub who: Option<String>,
    /// Media type of the content; `None`: `application/json`, of bytes `application/octet-stream`.
    pub content_type: Option<String>,
    /// Files that belong to it: at most 64.
    pub attachments: Vec<Attachment>,
    /// `None`: no salt; of what is recorded, as the recorder was opened with.
    pub salt: Option<Salt>,
}

impl EnvelopeOptions {
    /// An event of this type that happens now.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), when: When::Now, who: None, content_type: None, attachments: Vec::new(), salt: None }
    }

    /// When it happened.
    #[must_use]
    pub fn when(mut self, when: When) -> Self {
        self.when = when;
        self
    }

    /// Who acted.
    #[must_use]
    pub fn who(mut self, who: impl Into<String>) -> Self {
        self.who = Some(who.into());
        self
    }

    /// Media type of the content.
    #[must_use]
    pub fn content_type(mut self, content_type: impl Into<String>) -> Self {
        self.content_type = Some(content_type.into());
        self
    }

    /// Adds a file that belongs to it.
    #[must_use]
    pub fn attachment(mut self, attachment: Attachment) -> Self {
        self.attachments.push(attachment);
        self
    }

    /// Whether it gets a salt.
    #[must_use]
    pub fn salt(mut self, salt: Salt) -> Self {
        self.salt = Some(salt);
        self
    }
}

impl From<&str> for EnvelopeOptions {
    fn from(what: &str) -> Self {
        Self::new(what)
    }
}

/// The time as envelopes hold it. Errors: `envelope_malformed`.
pub(crate) fn time_text(when: &When) -> Result<String> {
    let time = match when {
        When::Text(text) if is_rfc3339(text) => return Ok(text.clone()),
        When::Text(_) => return Err(malformed("when is no time such as 2026-11-23T10:00:00.000Z, from 1970 on")),
        When::Now => SystemTime::now(),
        When::At(time) => *time,
    };
    let time_ms = time.duration_since(UNIX_EPOCH).map(|since| since.as_millis()).unwrap_or(TIME_MS_END);
    match u64::try_from(time_ms) {
        Ok(plain) if time_ms < TIME_MS_END => Ok(to_rfc3339(plain)),
        _ => Err(malformed("when is before 1970 or after 9999")),
    }
}

pub(crate) fn salt_of(salt: &Salt) -> Result<Option<Hash>> {
    match salt {
        Salt::None => Ok(None),
        Salt::Given(salt) => Ok(Some(*salt)),
        Salt::Drawn => {
            let mut drawn = [0; 32];
            getrandom::fill(&mut drawn).map_err(|cause| {
                Error::invalid_input("salt", "the system has no randomness").with_source(cause.to_string())
            })?;
            Ok(Some(Hash::new(drawn)))
        }
    }
}
