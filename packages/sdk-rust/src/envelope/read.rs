//! From bytes that may be an attacker's to an envelope. The order of the checks is that of docs/PROTOCOL.md,
//! "Envelopes".

use serde_json::{Map, Value};

use super::encode::{check_attachments, check_json_type, check_media_type, check_size, check_text};
use super::{malformed, number_unsafe, too_large, Attachment, Envelope, EnvelopeContent};
use super::{BYTES_MAX, FORMAT, NESTING_MAX};
use crate::canonical_json::{canonical_json, fault_of, is_nested_deeper, Fault};
use crate::dates::is_rfc3339;
use crate::error::{Error, Result};
use crate::hash::Hash;

const REQUIRED: [&str; 4] = ["format", "what", "when", "content_type"];
const OPTIONAL: [&str; 3] = ["who", "attachments", "salt"];
const APART: [&str; 2] = ["content_hash", "content_size"];

fn json_invalid(message: impl Into<String>) -> Error {
    Error::verification("envelope_json_invalid", message)
}

pub(super) fn read(given: &[u8]) -> Result<Envelope> {
    if given.len() > BYTES_MAX {
        return Err(too_large(format!("over {BYTES_MAX} bytes")));
    }
    if is_nested_deeper(given, NESTING_MAX as i64) {
        return Err(too_large(format!("nested deeper than {NESTING_MAX}")));
    }
    let value: Value = serde_json::from_slice(given).map_err(|cause| json_invalid(cause.to_string()))?;
    let fault = fault_of(&value, NESTING_MAX);
    if fault == Some(Fault::NoDouble) {
        return Err(json_invalid("a number is beyond the doubles"));
    }
    let object = value.as_object().filter(|object| object.get("format").and_then(Value::as_str) == Some(FORMAT));
    let Some(object) = object else {
        return Err(Error::verification("envelope_format_unknown", format!("no object whose format is {FORMAT}")));
    };
    if fault.is_some() {
        return Err(number_unsafe());
    }
    if canonical_json(object).ok().as_deref() != Some(given) {
        return Err(Error::verification("envelope_not_canonical", "it is not in canonical JSON"));
    }
    check_names(object)?;
    envelope_of(object, given)
}

fn check_names(object: &Map<String, Value>) -> Result<()> {
    let has = |name: &&str| object.contains_key(*name);
    let of_content = if has(&"content") { &["content"][..] } else { &APART };
    let is_known = |name: &str| REQUIRED.contains(&name) || OPTIONAL.contains(&name) || of_content.contains(&name);
    if let Some(unknown) = object.keys().find(|name| !is_known(name)) {
        return Err(malformed(format!("the member {unknown:?} is unknown, or excludes another")));
    }
    match REQUIRED.iter().chain(of_content).find(|name| !has(name)) {
        Some(missing) => Err(malformed(format!("there is no {missing}"))),
        None => Ok(()),
    }
}

fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str> {
    value.as_str().ok_or_else(|| malformed(format!("{name} is no text")))
}

fn hash(value: &Value, name: &str) -> Result<Hash> {
    let text = text(value, name)?;
    match Hash::from_hex(text) {
        Ok(hash) if !text.bytes().any(|digit| digit.is_ascii_uppercase()) => Ok(hash),
        _ => Err(malformed(format!("{name} is not 64 lower-case hex digits"))),
    }
}

fn size(value: &Value, name: &str) -> Result<u64> {
    let size = value.as_u64().ok_or_else(|| malformed(format!("{name} is no integer from 0 to 2^53 - 1")))?;
    check_size(name, size)?;
    Ok(size)
}

fn attachments(value: &Value) -> Result<Vec<Attachment>> {
    let items = value.as_array().filter(|items| !items.is_empty());
    let items = items.ok_or_else(|| malformed("attachments is no list, or an empty one"))?;
    let attachments: Vec<Attachment> = items.iter().map(attachment).collect::<Result<_>>()?;
    check_attachments(&attachments)?;
    Ok(attachments)
}

fn attachment(value: &Value) -> Result<Attachment> {
    let members = value.as_object().filter(|members| members.len() == 4);
    let member = |name: &str| members.and_then(|members| members.get(name));
    match (member("content_type"), member("hash"), member("name"), member("size")) {
        (Some(media_type), Some(digest), Some(name), Some(bytes)) => Ok(Attachment {
            content_type: text(media_type, "content_type of an attachment")?.to_owned(),
            hash: hash(digest, "hash of an attachment")?,
            name: text(name, "name of an attachment")?.to_owned(),
            size: size(bytes, "size of an attachment")?,
        }),
        _ => Err(malformed("an attachment has other members than content_type, hash, name, size")),
    }
}

fn envelope_of(object: &Map<String, Value>, given: &[u8]) -> Result<Envelope> {
    let member = |name: &str| object.get(name).unwrap_or(&Value::Null);
    let (what, when) = (text(member("what"), "what")?, text(member("when"), "when")?);
    check_text("what", what)?;
    if !is_rfc3339(when) {
        return Err(malformed("when is no time such as 2026-11-23T10:00:00.000Z, from 1970 on"));
    }
    let who = object.get("who").map(|who| text(who, "who")).transpose()?;
    if let Some(who) = who {
        check_text("who", who)?;
    }
    let content_type = text(member("content_type"), "content_type")?;
    check_media_type("content_type", content_type)?;
    let content = match object.get("content") {
        Some(content) => {
            check_json_type(content_type)?;
            EnvelopeContent::Json(content.clone())
        }
        None => EnvelopeContent::Apart {
            hash: hash(member("content_hash"), "content_hash")?,
            size: size(member("content_size"), "content_size")?,
        },
    };
    Ok(Envelope {
        what: what.to_owned(),
        when: when.to_owned(),
        who: who.map(str::to_owned),
        content_type: content_type.to_owned(),
        content,
        attachments: object.get("attachments").map(attachments).transpose()?.unwrap_or_default(),
        salt: object.get("salt").map(|salt| hash(salt, "salt")).transpose()?,
        canonical: given.to_vec(),
    })
}
