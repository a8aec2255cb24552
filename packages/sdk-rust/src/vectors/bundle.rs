use serde_json::{json, Value};

use super::{hash, list, text, vectors};
use crate::{
    add_scopes, inspect_bundle, verify_bundle, verify_trust_root, Authorised, Bundle, BundleExpectation, BundleOutcome,
    BundleTrust, BundleVerification, Error, Outcome, Scope, BUNDLE_CHECKS,
};

const FILES: [&str; 3] = ["bundle", "bundle-state", "bundle-scope"];

/// The bundle of a case: its own, or a shared one with members set.
fn bundle_of(file: &Value, case: &Value) -> Value {
    let Some(name) = case["of"].as_str() else { return case["bundle"].clone() };
    let mut bundle = file["bundles"][name].clone();
    for change in list(case, "/changes") {
        set(&mut bundle, text(change, "at"), change["to"].clone());
    }
    bundle
}

fn set(value: &mut Value, pointer: &str, to: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.insert(name.to_owned(), to)),
        Value::Array(items) => match name.parse::<usize>() {
            Ok(at) if at < items.len() => items[at] = to,
            _ => items.push(to),
        },
        other => panic!("{pointer} is in {other}"),
    }
}

/// The report of a case, and what verifying it gives.
fn judge(file: &Value, case: &Value) -> (BundleVerification, Result<BundleVerification, Error>) {
    let bundle = Bundle::parse(&bundle_of(file, case).to_string()).unwrap();
    let given = |name: &str| case["expect"].get(name).map(|_| hash(&case["expect"], name));
    let expect = BundleExpectation {
        anchor_id: given("anchor_id"),
        event_hash: given("event_hash"),
        highest_seen: case
            .get("highest_seen")
            .filter(|seen| seen.is_object())
            .map(|seen| (u32::try_from(seen["version"].as_u64().unwrap()).unwrap(), hash(seen, "root_thk"))),
        require_witnessed: case["require_witnessed"].as_bool().unwrap_or(false),
    };
    let trust = BundleTrust::Pin(hash(case, "pinned_root_thk"));
    (inspect_bundle(&bundle, &trust, &expect).unwrap(), verify_bundle(&bundle, &trust, &expect))
}

fn codes(found: &BundleVerification, result: Outcome) -> Vec<&str> {
    found.checks.iter().filter(|check| check.result == result).map(|check| check.code).collect()
}

fn shown_scopes(found: &BundleVerification) -> Value {
    let shown = found.scopes.iter().map(|scope| {
        json!({
            "scope_hash": scope.scope_hash,
            "grants": scope.grants,
            "statements": scope.statements,
            "withheld": scope.withheld,
        })
    });
    shown.collect()
}

#[test]
fn good_ones() {
    FILES.into_iter().filter_map(vectors).for_each(|file| check_good(&file));
}

fn check_good(file: &Value) {
    for case in list(file, "/good") {
        let name = text(case, "name");
        let (found, verified) = judge(file, case);
        assert_eq!(found.outcome.as_str(), text(case, "outcome"), "{name}: {:?}", found.checks);
        assert_eq!(found.is_actor_proven, case["actor_proven"].as_bool().unwrap(), "{name}");
        if let Some(expected) = case["reasons_at_action"].as_array() {
            let codes: Vec<&str> = found.reasons_at_action.iter().map(|reason| reason.code).collect();
            assert_eq!(codes, expected.iter().map(|code| code.as_str().unwrap()).collect::<Vec<_>>(), "{name}");
        }
        assert_eq!(serde_json::to_value(found.authorised_at_action).unwrap(), case["authorised_at_action"], "{name}");
        assert_eq!(serde_json::to_value(found.authorised_now).unwrap(), case["authorised_now"], "{name}");
        let not_checked: Vec<&str> = list(case, "/not_checked").iter().map(|code| code.as_str().unwrap()).collect();
        assert_eq!(codes(&found, Outcome::NotChecked), not_checked, "{name}");
        let complete = found.complete.map(|complete| (complete.after, complete.to));
        let expected = case["complete"]
            .as_object()
            .map(|_| (case["complete"]["after"].as_u64().unwrap(), case["complete"]["to"].as_u64().unwrap()));
        assert_eq!(complete, expected, "{name}");
        let superseded = found.superseded_trust_root.map(u64::from);
        assert_eq!(superseded, case["superseded_trust_root"].as_u64(), "{name}");
        assert!(found.leaf.is_some(), "{name}");
        assert_eq!(found.witnessed, case["witnessed"].as_bool().unwrap_or(false), "{name}");
        assert_eq!(shown_scopes(&found), case.get("scopes").cloned().unwrap_or_else(|| json!([])), "{name}");
        if let Some(state) = case["state"].as_str() {
            let standing = found.standing.as_ref().unwrap();
            assert_eq!((standing.state, standing.is_in_force), (state, case["in_force"].as_bool().unwrap()), "{name}");
        }
        match verified {
            Ok(_) => assert_eq!(found.outcome, BundleOutcome::Valid, "{name}"),
            Err(error) => {
                assert_eq!(found.outcome, BundleOutcome::ValidAsStated, "{name}");
                assert_eq!((error.step(), error.code()), (Some(not_checked[0]), "bundle_not_proved"), "{name}");
                assert_eq!(error.steps(), found.checks, "{name}");
            }
        }
    }
}

#[test]
fn bad_ones() {
    FILES.into_iter().filter_map(vectors).for_each(|file| check_bad(&file));
}

fn check_bad(file: &Value) {
    let bad = list(file, "/bad");
    assert!(bad.len() > list(file, "/good").len());
    for case in bad {
        let name = text(case, "name");
        let (found, verified) = judge(file, case);
        assert_eq!(found.outcome, BundleOutcome::Invalid, "{name}");
        assert_eq!(codes(&found, Outcome::Fail), [text(case, "fails")], "{name}: {:?}", found.checks);
        let failed = found.checks.iter().find(|check| check.result == Outcome::Fail).unwrap();
        assert!(failed.detail.contains(case["code"].as_str().unwrap_or("")), "{name}: {}", failed.detail);
        assert!(!found.witnessed, "{name}");
        assert_eq!(found.checks.iter().map(|check| check.code).collect::<Vec<_>>(), BUNDLE_CHECKS, "{name}");
        assert_eq!((found.authorised_at_action, found.authorised_now), (Authorised::Unknown, Authorised::Unknown));
        assert!(found.scopes.is_empty(), "{name}");
        let error = verified.unwrap_err();
        assert_eq!((error.step(), error.code()), (Some(text(case, "fails")), "bundle_invalid"), "{name}");
        assert_eq!(error.steps(), found.checks, "{name}");
    }
}

#[test]
fn texts() {
    FILES.into_iter().filter_map(vectors).for_each(|file| check_texts(&file));
}

fn check_texts(file: &Value) {
    for case in list(file, "/equal") {
        Bundle::parse(text(case, "text")).unwrap();
    }
    for case in list(file, "/malformed") {
        let error = Bundle::parse(text(case, "text")).unwrap_err();
        assert_eq!(error.code(), text(case, "error"), "{}", text(case, "name"));
    }
}

#[test]
fn a_chain_that_is_held_may_be_continued_and_not_contradicted() {
    let Some(file) = vectors("bundle") else { return };
    let named = |name: &str| list(&file, "/good").iter().find(|case| text(case, "name") == name).unwrap();
    let case = named("two versions, and a revocation in the newest origin");
    let bundle = Bundle::parse(&bundle_of(&file, case).to_string()).unwrap();
    let pin = hash(case, "pinned_root_thk");
    let first = verify_trust_root(&bundle.trust_roots()[..1], &pin).unwrap();
    let both = verify_trust_root(bundle.trust_roots(), &pin).unwrap();
    let expect = BundleExpectation::default();
    for held in [&first, &both] {
        let found = verify_bundle(&bundle, &BundleTrust::Held(Box::new(held.clone())), &expect).unwrap();
        assert_eq!(found.outcome, BundleOutcome::Valid);
        assert_eq!(found.trust_root_version, Some(2));
    }
    let receipts = vectors("receipt").unwrap();
    let stranger = list(&receipts, "/trust_roots")[0].as_str().unwrap();
    let stranger = verify_trust_root(&[stranger], &hash(&receipts, "pinned_root_thk")).unwrap();
    let error = verify_bundle(&bundle, &BundleTrust::Held(Box::new(stranger)), &expect).unwrap_err();
    assert_eq!(error.step(), Some("trust_roots"));
}

#[test]
fn disclosures_are_added_to_a_bundle() {
    let Some(file) = vectors("bundle-scope") else { return };
    let named = |name: &str| list(&file, "/good").iter().find(|case| text(case, "name") == name).unwrap();
    let case = named("scopes: nothing withheld");
    let bundle = bundle_of(&file, case);
    let whole = Scope::parse(&bundle["scopes"][0].to_string()).unwrap();
    let judged = |text: &str| {
        let trust = BundleTrust::Pin(hash(case, "pinned_root_thk"));
        verify_bundle(&Bundle::parse(text).unwrap(), &trust, &BundleExpectation::default())
    };
    let mut plain = bundle.clone();
    plain.as_object_mut().unwrap().remove("scopes");
    let text = add_scopes(&plain.to_string(), &[whole.disclose(&["currency"]).unwrap()]).unwrap();
    let found = judged(&text).unwrap();
    assert_eq!((found.scopes[0].statements["currency"].as_str(), found.scopes[0].withheld), (Some("EUR"), 4));
    // It takes the place of the one that is there.
    let text = add_scopes(&bundle.to_string(), &[whole.disclose(&["purpose"]).unwrap()]).unwrap();
    let found = judged(&text).unwrap();
    assert_eq!((found.scopes.len(), found.scopes[0].statements.contains_key("purpose")), (1, true));
    let forged = Scope::make(&json!({"currency": "EUR"})).unwrap();
    let error = judged(&add_scopes(&plain.to_string(), &[forged]).unwrap()).unwrap_err();
    assert_eq!(error.step(), Some("scopes"));
    assert_eq!(add_scopes("{}", &[whole]).unwrap_err().code(), "bundle_format_unknown");
}
