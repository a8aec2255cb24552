use serde_json::{json, Map, Value};

use super::{list, text, vectors};
use crate::names::{BYTES_MAX, NAMES_MAX};
use crate::{attribute_type_of, parse_names, NameFile, ATTRIBUTE_TYPES};

fn json_of(names: &NameFile) -> Value {
    let hashes: Map<_, _> = names.hashes.iter().map(|(hash, name)| (hash.to_hex(), json!(name))).collect();
    json!({"hashes": hashes, "attribute_types": names.attribute_types, "statements": names.statements})
}

#[test]
fn good_ones() {
    let Some(file) = vectors("names") else { return };
    for case in list(&file, "/good") {
        let types: Map<_, _> =
            list(case, "/attribute_types").iter().map(|pair| (pair[0].to_string(), pair[1].clone())).collect();
        let expected = json!({"hashes": case["hashes"], "attribute_types": types, "statements": case["statements"]});
        assert_eq!(json_of(&parse_names(text(case, "text")).unwrap()), expected, "{}", text(case, "name"));
    }
}

#[test]
fn bad_ones() {
    let Some(file) = vectors("names") else { return };
    for case in list(&file, "/bad") {
        let error = parse_names(text(case, "text")).unwrap_err();
        assert_eq!(error.code(), text(case, "code"), "{}", text(case, "name"));
        if let Some(line) = case["line"].as_u64() {
            assert!(error.to_string().contains(&format!("line {line}: ")), "{}: {error}", text(case, "name"));
        }
    }
}

fn code_of(source: impl AsRef<[u8]>) -> String {
    parse_names(source).unwrap_err().code().to_owned()
}

#[test]
fn limits() {
    let remark = format!("# names\n# {}\n", "\u{e9}".repeat((BYTES_MAX - 12) / 2));
    assert_eq!(parse_names(&remark).unwrap(), NameFile::default());
    assert_eq!(code_of(format!("{remark}xx")), "names_too_large");
    let lines: String = (0..NAMES_MAX).map(|at| format!("attribute {at} a\n")).collect();
    assert_eq!(parse_names(format!("# names\n{lines}")).unwrap().attribute_types.len(), NAMES_MAX);
    assert_eq!(code_of(format!("# names\n{lines}scope a a\n")), "names_too_large");
    assert_eq!(code_of(b"# names\n\xff"), "names_malformed");
    assert_eq!(code_of("# names\nattribute +1 a\n"), "names_malformed");
}

#[test]
fn characters_that_are_not_seen() {
    for character in ['\u{7f}', '\u{ad}', '\u{600}', '\u{2029}', '\u{e000}', '\u{feff}', '\u{e0041}', '\u{10fffd}'] {
        assert_eq!(code_of(format!("# names\nattribute 1 a{character}b\n")), "names_malformed", "{character:?}");
    }
}

#[test]
fn attribute_types() {
    let Some(file) = vectors("names") else { return };
    for case in list(&file, "/attribute_types") {
        let value = attribute_type_of(text(case, "name")).unwrap();
        assert_eq!(json!(value), case["value"], "{}", text(case, "name"));
        assert!(value >= 1 << 31);
    }
    for name in list(&file, "/no_attribute_types") {
        assert!(attribute_type_of(name.as_str().unwrap()).unwrap_err().is_invalid_input(), "{name}");
    }
    assert!(attribute_type_of(&format!("com.example.{}", "a".repeat(117))).is_err());
    for (name, value) in ATTRIBUTE_TYPES {
        assert_eq!(attribute_type_of(name).unwrap(), value);
    }
}
