use serde_json::Value;

use super::{hash, list, text, vectors};
use crate::checkpoint::{is_cluster_name, is_node_id};
use crate::note::{parse_note, verify_known_lines};
use crate::{Checkpoint, TlogPolicy, Vkey};

#[test]
fn notes_and_keys() {
    let Some(file) = vectors("note") else { return };
    for case in list(&file, "/good") {
        let note = parse_note(text(case, "note")).unwrap();
        let keys: Vec<Vkey> =
            list(case, "/vkeys").iter().map(|vkey| Vkey::parse(vkey.as_str().unwrap()).unwrap()).collect();
        let known: Vec<&Vkey> = keys.iter().collect();
        assert_eq!(verify_known_lines(&note, &known).unwrap().len(), keys.len(), "{}", text(case, "name"));
    }
    for case in list(&file, "/bad") {
        assert_eq!(parse_note(text(case, "note")).unwrap_err().code(), text(case, "error"), "{}", text(case, "name"));
    }
    for case in list(&file, "/vkey/good") {
        assert_eq!(Vkey::parse(case.as_str().unwrap()).unwrap().to_string(), case.as_str().unwrap());
    }
    for case in list(&file, "/vkey/bad") {
        assert_eq!(Vkey::parse(text(case, "vkey")).unwrap_err().code(), text(case, "error"), "{case}");
    }
}

#[test]
fn checkpoints_and_names() {
    let Some(file) = vectors("checkpoint") else { return };
    for case in list(&file, "/good") {
        let checkpoint = Checkpoint::parse(text(case, "text")).unwrap();
        assert_eq!(checkpoint.origin, text(case, "origin"));
        assert_eq!(checkpoint.tree_size, case["tree_size"].as_u64().unwrap());
        assert_eq!(checkpoint.root_hash, hash(case, "root_hash"));
    }
    for case in list(&file, "/bad") {
        let error = Checkpoint::parse(text(case, "text")).unwrap_err();
        assert_eq!(error.code(), text(case, "error"), "{}", text(case, "name"));
    }
    let check = |pointer: &str, is_legal: fn(&str) -> bool, expected: bool| {
        for case in list(&file, pointer) {
            assert_eq!(is_legal(case.as_str().unwrap()), expected, "{case}");
        }
    };
    check("/cluster_names/good", is_cluster_name, true);
    check("/cluster_names/bad", is_cluster_name, false);
    check("/node_ids/good", is_node_id, true);
    check("/node_ids/bad", is_node_id, false);
}

/// By the keys of a policy: satisfied, not satisfied, or refused with a code.
fn judge(policy: &TlogPolicy, case: &Value) -> Result<bool, String> {
    match policy.verify_note(text(case, "note")) {
        Ok(_) => Ok(true),
        Err(error) if error.code() == "quorum_not_met" => Ok(false),
        Err(error) => Err(error.code().to_owned()),
    }
}

#[test]
fn cosignatures_and_policies() {
    let Some(file) = vectors("cosignature") else { return };
    let policy = TlogPolicy::parse(text(&file, "policy")).unwrap();
    for case in list(&file, "/good") {
        assert_eq!(judge(&policy, case), Ok(true), "{}", text(case, "name"));
    }
    for case in list(&file, "/bad") {
        let expected = match case["refusal"].as_str() {
            Some(code) => Err(code.to_owned()),
            None => Ok(false),
        };
        assert_eq!(judge(&policy, case), expected, "{}", text(case, "name"));
    }
    for case in list(&file, "/policies/good") {
        let policy = TlogPolicy::parse(case.as_str().unwrap()).unwrap();
        assert_eq!(TlogPolicy::parse(&policy.to_string()).unwrap(), policy);
    }
    for case in list(&file, "/policies/bad") {
        let error = TlogPolicy::parse(text(case, "policy")).unwrap_err();
        assert_eq!(error.code(), text(case, "error"), "{}", text(case, "name"));
    }
}
