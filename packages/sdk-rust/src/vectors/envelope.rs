use serde_json::{json, Value};

use super::{hash, hex, list, text, vectors};
use crate::{Attachment, Content, Envelope, EnvelopeContent, EnvelopeOptions, Error, Hash, Salt, When};

const WHAT: &str = "tool.call";

/// Its members, written again.
fn again(envelope: &Envelope) -> Envelope {
    let options = EnvelopeOptions {
        who: envelope.who().map(str::to_owned),
        attachments: envelope.attachments().to_vec(),
        ..EnvelopeOptions::new(envelope.what())
    };
    let options = options.content_type(envelope.content_type()).when(When::Text(envelope.when().to_owned()));
    let options = options.salt(envelope.salt().map_or(Salt::None, |salt| Salt::Given(*salt)));
    let content = match envelope.content() {
        EnvelopeContent::Json(value) => Content::Json(value),
        EnvelopeContent::Apart { hash, size } => Content::Hash { hash: *hash, size: *size },
    };
    Envelope::make(content, &options).unwrap()
}

fn code_of<T>(result: Result<T, Error>) -> String {
    result.err().map(|error| error.code().to_owned()).unwrap_or_default()
}

#[test]
fn good_ones() {
    let Some(file) = vectors("envelope") else { return };
    for case in list(&file, "/good") {
        let (name, given) = (text(case, "name"), text(case, "text"));
        let envelope = Envelope::parse(given).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(envelope.event_hash(), hash(case, "event_hash"), "{name}");
        let made = again(&envelope);
        assert_eq!((String::from_utf8_lossy(made.canonical()), &made), (given.into(), &envelope), "{name}");
    }
}

fn number(bits: &Value) -> Value {
    json!(f64::from_bits(u64::from_str_radix(bits.as_str().unwrap(), 16).unwrap()))
}

#[test]
fn numbers() {
    let Some(file) = vectors("envelope") else { return };
    for case in list(&file, "/numbers") {
        let envelope = Envelope::make(&number(&case["ieee754"]), &WHAT.into()).unwrap();
        let written = format!("{{\"content\":{},", text(case, "text"));
        assert!(envelope.canonical().starts_with(written.as_bytes()), "{written}");
    }
    for bits in list(&file, "/unsafe_numbers") {
        assert_eq!(code_of(Envelope::make(&number(bits), &WHAT.into())), "envelope_number_unsafe", "{bits}");
    }
    for integer in [json!(1_u64 << 53), json!(-(1_i64 << 53)), json!(u64::MAX), json!(i64::MIN)] {
        assert_eq!(code_of(Envelope::make(&integer, &WHAT.into())), "envelope_number_unsafe", "{integer}");
    }
}

#[test]
fn bad_ones() {
    let Some(file) = vectors("envelope") else { return };
    for case in list(&file, "/bad") {
        assert_eq!(code_of(Envelope::parse(text(case, "text"))), text(case, "error"), "{}", text(case, "name"));
    }
    for case in list(&file, "/bad_bytes") {
        assert_eq!(code_of(Envelope::parse(hex(case, "hex"))), text(case, "error"), "{}", text(case, "name"));
    }
    for case in list(&file, "/long") {
        let pieces = list(case, "/pieces").iter();
        let long: String =
            pieces.map(|piece| piece[0].as_str().unwrap().repeat(piece[1].as_u64().unwrap() as usize)).collect();
        assert_eq!(code_of(Envelope::parse(long)), case["error"].as_str().unwrap_or(""), "{}", text(case, "name"));
    }
}

#[test]
fn what_a_writer_refuses() {
    let content = json!({"order": "4711"});
    let what = || EnvelopeOptions::new(WHAT);
    let attachment = |name: &str| Attachment::of_bytes(name, b"a file");
    let malformed = [
        EnvelopeOptions::new(""),
        EnvelopeOptions::new("a\nb"),
        EnvelopeOptions::new("x".repeat(257)),
        what().who("\u{9f}"),
        what().content_type("text/plain"),
        what().content_type("json"),
        what().content_type("application/json "),
        what().content_type("application/json; ä"),
        what().when(When::Text("2026-11-23T10:00:00Z".into())),
        what().when(When::At(std::time::UNIX_EPOCH - std::time::Duration::from_millis(1))),
        what().attachment(attachment("")),
        what().attachment(attachment("a")).attachment(attachment("a")),
        what().attachment(Attachment { size: 1 << 53, ..attachment("a") }),
        (0..65).fold(what(), |options, at| options.attachment(attachment(&at.to_string()))),
    ];
    for options in malformed {
        assert_eq!(code_of(Envelope::make(&content, &options)), "envelope_malformed", "{options:?}");
    }
    let deep = (0..63).fold(json!(1), |inner, _| json!([inner]));
    assert!(Envelope::make(&deep, &what()).is_ok());
    assert_eq!(code_of(Envelope::make(&json!([deep]), &what())), "envelope_too_large");
    assert_eq!(code_of(Envelope::make(&json!("x".repeat(1 << 20)), &what())), "envelope_too_large");
}

#[test]
fn salts_bytes_and_times() {
    let content = json!(null);
    let salted = Envelope::make(&content, &EnvelopeOptions::new(WHAT).salt(Salt::Drawn)).unwrap();
    let other = Envelope::make(&content, &EnvelopeOptions::new(WHAT).salt(Salt::Drawn)).unwrap();
    assert!(salted.salt().is_some() && salted.salt() != other.salt());
    assert!(!format!("{salted:?}").contains(&salted.salt().unwrap().to_hex()));
    assert_eq!(salted.content(), &EnvelopeContent::Json(Value::Null));

    let at = std::time::UNIX_EPOCH + std::time::Duration::from_micros(1_767_225_600_060_999);
    let bytes = Envelope::make(b"bytes", &EnvelopeOptions::new(WHAT).when(When::At(at))).unwrap();
    assert_eq!((bytes.when(), bytes.content_type()), ("2026-01-01T00:00:00.060Z", "application/octet-stream"));
    assert_eq!(bytes.content(), &EnvelopeContent::Apart { hash: Hash::sha256("bytes"), size: 5 });
}
