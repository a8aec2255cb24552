//! From what happened to the bytes that are hashed. Each member is checked by the rule that readers have.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;

use super::options::{Content, EnvelopeOptions, BYTES_TYPE, JSON_TYPE};
use super::{malformed, number_unsafe, too_large, Attachment, ATTACHMENTS_MAX, BYTES_MAX, FORMAT, NESTING_MAX};
use crate::bytes::INTEGER_MAX;
use crate::canonical_json::{canonical_json, fault_of, Fault};
use crate::error::Result;
use crate::hash::Hash;

/// Characters (code points) of `what`, `who`, a name or a media type.
const TEXT_CHARS_MAX: usize = 256;

/// The members, of which the canonical form has its own order.
#[derive(Serialize)]
struct Members<'a> {
    format: &'static str,
    what: &'a str,
    when: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<&'a str>,
    content_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_hash: Option<Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_size: Option<u64>,
    #[serde(skip_serializing_if = "<[Attachment]>::is_empty")]
    attachments: &'a [Attachment],
    #[serde(skip_serializing_if = "Option::is_none")]
    salt: Option<Hash>,
}

/// The canonical bytes of an envelope. `when` is one that was checked; `who` and `salt` come from elsewhere if the
/// options have none.
///
/// # Errors
/// `envelope_malformed`, `envelope_number_unsafe` or `envelope_too_large`.
pub(crate) fn encode(
    content: &Content<'_>,
    options: &EnvelopeOptions,
    when: &str,
    who: Option<&str>,
    salt: Option<Hash>,
) -> Result<Vec<u8>> {
    let apart = match content {
        Content::Json(_) => None,
        Content::Bytes(bytes) => Some((Hash::sha256(bytes), bytes.len() as u64)),
        Content::Hash { hash, size } => Some((*hash, *size)),
    };
    let json = if let Content::Json(value) = content { Some(*value) } else { None };
    let usual = if json.is_some() { JSON_TYPE } else { BYTES_TYPE };
    let members = Members {
        format: FORMAT,
        what: &options.what,
        when,
        who,
        content_type: options.content_type.as_deref().unwrap_or(usual),
        content: json,
        content_hash: apart.map(|(hash, _)| hash),
        content_size: apart.map(|(_, size)| size),
        attachments: &options.attachments,
        salt,
    };
    check(&members)?;
    let bytes = canonical_json(&members).map_err(|cause| malformed(cause.to_string()))?;
    if bytes.len() > BYTES_MAX {
        return Err(too_large(format!("over {BYTES_MAX} bytes: record large contents as bytes")));
    }
    Ok(bytes)
}

fn check(members: &Members<'_>) -> Result<()> {
    check_text("what", members.what)?;
    if let Some(who) = members.who {
        check_text("who", who)?;
    }
    check_media_type("content_type", members.content_type)?;
    if let Some(content) = members.content {
        check_json_type(members.content_type)?;
        check_value(content, NESTING_MAX - 1)?;
    }
    check_size("content_size", members.content_size.unwrap_or(0))?;
    check_attachments(members.attachments)
}

/// That it has a text on which all languages agree.
fn check_value(value: &Value, depth_left: usize) -> Result<()> {
    match fault_of(value, depth_left) {
        None => Ok(()),
        Some(Fault::UnsafeNumber) => Err(number_unsafe()),
        Some(Fault::NoDouble) => Err(malformed("a number is beyond the doubles")),
        Some(Fault::TooDeep) => Err(too_large(format!("nested deeper than {NESTING_MAX}"))),
    }
}

pub(super) fn check_text(name: &str, text: &str) -> Result<()> {
    // Most texts are short: only of a long one are the characters counted.
    let is_long = text.len() > TEXT_CHARS_MAX && text.chars().count() > TEXT_CHARS_MAX;
    if text.is_empty() || is_long {
        return Err(malformed(format!("{name} is no text of 1 to {TEXT_CHARS_MAX} characters")));
    }
    if text.chars().any(char::is_control) {
        return Err(malformed(format!("{name} holds a control character")));
    }
    Ok(())
}

/// RFC 9110 section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// Two tokens, and parameters, which are not looked into.
pub(super) fn check_media_type(name: &str, text: &str) -> Result<()> {
    let (own, parameters) = text.split_once(';').unwrap_or((text, ""));
    let (kind, subtype) = own.split_once('/').unwrap_or_default();
    let subtype = if own.len() < text.len() { subtype.trim_end_matches(' ') } else { subtype };
    let is_printable = parameters.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    if text.len() <= TEXT_CHARS_MAX && is_token(kind) && is_token(subtype) && is_printable {
        Ok(())
    } else {
        Err(malformed(format!("{name} is no media type")))
    }
}

pub(super) fn check_json_type(media_type: &str) -> Result<()> {
    let own = media_type.split(';').next().unwrap_or_default().trim_end_matches(' ');
    if own == JSON_TYPE || own.ends_with("+json") {
        Ok(())
    } else {
        Err(malformed("content_type is no JSON, and content is"))
    }
}

pub(super) fn check_size(name: &str, size: u64) -> Result<()> {
    if size > INTEGER_MAX {
        return Err(malformed(format!("{name} is no integer from 0 to 2^53 - 1")));
    }
    Ok(())
}

pub(super) fn check_attachments(attachments: &[Attachment]) -> Result<()> {
    if attachments.len() > ATTACHMENTS_MAX {
        return Err(malformed(format!("more than {ATTACHMENTS_MAX} attachments")));
    }
    for Attachment { content_type, name, size, .. } in attachments {
        check_text("name of an attachment", name)?;
        check_media_type("content_type of an attachment", content_type)?;
        check_size("size of an attachment", *size)?;
    }
    let names: HashSet<&str> = attachments.iter().map(|attachment| attachment.name.as_str()).collect();
    if names.len() < attachments.len() {
        return Err(malformed("two attachments have one name"));
    }
    Ok(())
}
