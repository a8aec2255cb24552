use serde_json::{json, Map, Value};

use super::{hash, list, text, vectors};
use crate::{Hash, Scope};

fn statements_of(scope: &Scope) -> Value {
    scope.statements().map(|(name, value)| (name.to_owned(), value.clone())).collect::<Map<_, _>>().into()
}

#[test]
fn hashes() {
    let Some(file) = vectors("scope") else { return };
    for case in list(&file, "/hash") {
        let name = text(case, "name");
        let mut salts = list(case, "/salts").iter().map(|salt| Hash::from_hex(salt.as_str().unwrap()));
        let scope = Scope::make_with(&case["statements"], || salts.next().unwrap()).unwrap();
        assert_eq!(scope.canonical(), *list(case, "/canonical"), "{name}");
        let mut digests = list(case, "/digests").clone();
        digests.sort_by_key(|digest| digest.as_str().unwrap().to_owned());
        assert_eq!(scope.disclose(&[]).unwrap().to_json()["withheld"], Value::from(digests), "{name}");
        assert_eq!(scope.scope_hash(), hash(case, "scope_hash"), "{name}");
        // Objects inside of values are written in another order, which says nothing.
        assert_eq!(Scope::parse(text(case, "text")).unwrap(), scope, "{name}");
        assert_eq!(Scope::parse(&scope.to_text()).unwrap(), scope, "{name}");
    }
}

#[test]
fn good_ones() {
    let Some(file) = vectors("scope") else { return };
    for case in list(&file, "/good") {
        let name = text(case, "name");
        let scope = Scope::parse(text(case, "text")).unwrap();
        scope.verify(&hash(case, "scope_hash")).unwrap();
        assert_eq!(statements_of(&scope), case["statements"], "{name}");
        assert_eq!(json!(scope.withheld()), case["withheld"], "{name}");
        assert_eq!(Scope::parse(&scope.to_text()).unwrap(), scope, "{name}");
    }
}

fn only(case: &Value) -> Vec<&str> {
    list(case, "/only").iter().map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn disclosures() {
    let Some(file) = vectors("scope") else { return };
    for case in list(&file, "/disclose") {
        let disclosed = Scope::parse(text(case, "text")).unwrap().disclose(&only(case)).unwrap();
        assert_eq!(disclosed.to_text(), text(case, "disclosed"), "{}", text(case, "name"));
    }
    for case in list(&file, "/undisclosable") {
        let error = Scope::parse(text(case, "text")).unwrap().disclose(&only(case)).unwrap_err();
        assert_eq!(error.code(), text(case, "error"), "{}", text(case, "name"));
    }
}

#[test]
fn bad_ones() {
    let Some(file) = vectors("scope") else { return };
    for case in list(&file, "/bad") {
        let error = Scope::parse(text(case, "text")).unwrap_err();
        assert_eq!(error.code(), text(case, "error"), "{}: {error}", text(case, "name"));
    }
    for case in list(&file, "/not_granted") {
        let error = Scope::parse(text(case, "text")).unwrap().verify(&hash(case, "scope_hash")).unwrap_err();
        assert_eq!(error.code(), "scope_not_granted", "{}", text(case, "name"));
    }
    for case in list(&file, "/unmakeable") {
        let error = Scope::make(&case["statements"]).unwrap_err();
        assert_eq!(error.code(), text(case, "error"), "{}", text(case, "name"));
    }
}

#[test]
fn limits_and_secrets() {
    let large: Map<String, Value> = (0..100).map(|at| (format!("s{at}"), json!("ä".repeat(8_000)))).collect();
    assert_eq!(Scope::make(&Value::from(large)).unwrap_err().code(), "scope_too_large");
    let scope = Scope::make(&json!({"a": 1})).unwrap();
    let spaced = format!("{}{}", " ".repeat(1024 * 1024), scope.to_text());
    assert_eq!(Scope::parse(&spaced).unwrap_err().code(), "scope_too_large");
    let json = scope.to_json();
    assert!(!format!("{scope:?}").contains(json["statements"][0][0].as_str().unwrap()));
    assert_ne!(Scope::make(&json!({"a": 1})).unwrap(), scope);
}
