//! The monitor over a scripted transport: what is consistent is remembered, what is not is raised and not remembered.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{answer, example, open_api, problem, Reply, Script};
use event_anchoring::*;
use serde_json::{json, Value};

struct Examples {
    trust_root: Value,
    latest: Value,
    consistency: Value,
    pin: String,
    origin: Hash,
}

fn read() -> Option<Examples> {
    let open_api = open_api()?;
    let trust_root = example(&open_api, "getTrustRoot", "200");
    let latest = example(&open_api, "getLatestEventAnchor", "200");
    Some(Examples {
        pin: trust_root["chain"][0]["root_thk"].as_str().unwrap().to_owned(),
        origin: Hash::from_hex(latest["origin_fingerprint"].as_str().unwrap()).unwrap(),
        consistency: example(&open_api, "getConsistency", "200"),
        trust_root,
        latest,
    })
}

impl Examples {
    fn look(&self, latest: &Value) -> [Reply; 2] {
        [answer(200, &self.trust_root), answer(200, latest)]
    }

    /// What a monitor keeps that has seen a tree of this size and root.
    fn seen(&self, tree_size: u64, root_hash: &str) -> String {
        let origins =
            json!({ self.origin.to_hex(): { "tree_size": tree_size, "root_hash": root_hash, "checkpoint": "" } });
        json!({ "format": "event-anchoring/v4.2/monitor", "trust_root": null, "origins": origins }).to_string()
    }
}

async fn observe(
    examples: &Examples,
    state: Option<&str>,
    replies: Vec<Reply>,
) -> (Result<Observation>, Option<String>) {
    let folder = std::env::temp_dir().join(format!("anchoring-monitor-{}", LocalKey::generate().unwrap().public_key()));
    std::fs::create_dir(&folder).unwrap();
    let store = FileMonitorStore::new(folder.join("seen.json"));
    if let Some(state) = state {
        store.save(state).await.unwrap();
    }
    let script = Script::new(replies);
    let client = script.builder().retry(RetryPolicy::none()).build().unwrap();
    let monitor = Monitor::new(client, &examples.pin, store.clone()).unwrap();
    let observed = monitor.update(&examples.origin).await;
    let kept = store.load().await.unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    (observed, kept)
}

#[tokio::test]
async fn a_first_look_is_remembered_and_a_second_holds_against_it() {
    let Some(examples) = read() else { return };
    let (first, kept) = observe(&examples, None, examples.look(&examples.latest).into()).await;
    let first = first.unwrap();
    assert_eq!(first.seen_size, None);
    assert_eq!(first.checkpoint.origin_fingerprint, examples.origin);
    let (second, again) = observe(&examples, kept.as_deref(), examples.look(&examples.latest).into()).await;
    assert_eq!(second.unwrap().seen_size, Some(first.checkpoint.checkpoint.tree_size));
    assert_eq!(again, kept);
}

#[tokio::test]
async fn growth_needs_a_proof() {
    let Some(examples) = read() else { return };
    let (from, to) = (&examples.consistency["from"], &examples.consistency["to"]);
    assert_eq!(to["tree_size"], examples.latest["tree_size"]);
    let state = examples.seen(from["tree_size"].as_u64().unwrap(), from["root_hash"].as_str().unwrap());
    let mut grown = examples.latest.clone();
    grown["consistency"] = json!({
        "from_size": from["tree_size"], "tree_size": to["tree_size"], "proof": examples.consistency["proof"],
    });
    let (observed, kept) = observe(&examples, Some(&state), examples.look(&grown).into()).await;
    assert_eq!(observed.unwrap().seen_size, from["tree_size"].as_u64());
    assert!(kept.unwrap().contains(examples.latest["root_hash"].as_str().unwrap()));
    let (without, kept) = observe(&examples, Some(&state), examples.look(&examples.latest).into()).await;
    assert_eq!(without.unwrap_err().code(), "consistency_missing");
    assert_eq!(kept.as_deref(), Some(state.as_str()));
    grown["consistency"]["proof"] = json!([]);
    let (unproved, _) = observe(&examples, Some(&state), examples.look(&grown).into()).await;
    assert_eq!(unproved.unwrap_err().code(), "split_view");
}

#[tokio::test]
async fn what_contradicts_is_raised_and_nothing_is_forgotten() {
    let Some(examples) = read() else { return };
    let size = examples.latest["tree_size"].as_u64().unwrap();
    let other = "11".repeat(32);
    let mut unsigned = examples.latest.clone();
    let checkpoint = unsigned["checkpoint"].as_str().unwrap().rsplitn(3, '\n').nth(2).unwrap().to_owned() + "\n";
    unsigned["checkpoint"] = checkpoint.into();
    let mut older_anchor = examples.latest.clone();
    let open_api = open_api().unwrap();
    let created = example(&open_api, "createEventAnchor", "201");
    older_anchor["anchor"] = created["anchor"].clone();
    older_anchor["receipt"] = created["receipt"].clone();
    let cases: Vec<(&str, String, Vec<Reply>)> = vec![
        ("split_view", examples.seen(size, &other), examples.look(&examples.latest).into()),
        ("rollback", examples.seen(size + 1, &other), examples.look(&examples.latest).into()),
        (
            "rollback",
            examples.seen(size, &other),
            vec![answer(200, &examples.trust_root), problem(409, "from_size_ahead")],
        ),
        (
            "rollback",
            examples.seen(size, &other),
            vec![answer(200, &examples.trust_root), problem(404, "no_anchor_yet")],
        ),
        ("quorum_not_met", examples.seen(0, &other), examples.look(&unsigned).into()),
        ("response_invalid", examples.seen(0, &other), examples.look(&older_anchor).into()),
    ];
    for (code, state, replies) in cases {
        let (observed, kept) = observe(&examples, Some(&state), replies).await;
        let error = observed.unwrap_err();
        assert_eq!((error.code(), error.is_verification()), (code, code != "response_invalid"), "{error:?}");
        assert_eq!(kept.as_deref(), Some(state.as_str()));
    }
}

#[tokio::test]
async fn trust_roots_neither_go_back_nor_fork() {
    let Some(examples) = read() else { return };
    let state = |version: u32, root_thk: &str| {
        json!({
            "format": "event-anchoring/v4.2/monitor", "origins": {},
            "trust_root": { "version": version, "root_thk": root_thk },
        })
        .to_string()
    };
    for (code, state) in [("rollback", state(9, &examples.pin)), ("fork", state(1, &"11".repeat(32)))] {
        let (observed, _) = observe(&examples, Some(&state), vec![answer(200, &examples.trust_root)]).await;
        assert_eq!(observed.unwrap_err().code(), code);
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_read_is_not_an_empty_one() {
    let Some(examples) = read() else { return };
    for state in ["", "{", "{}", r#"{"format":"another","trust_root":null,"origins":{}}"#] {
        let (observed, kept) = observe(&examples, Some(state), Vec::new()).await;
        assert!(observed.unwrap_err().is_store_failed());
        assert_eq!(kept.as_deref(), Some(state));
    }
    let nowhere = FileMonitorStore::new("/nowhere/at/all/seen.json");
    assert!(nowhere.load().await.unwrap().is_none());
    assert!(nowhere.save("x").await.unwrap_err().is_store_failed());
    let memory = MemoryMonitorStore::default();
    memory.save("x").await.unwrap();
    assert_eq!(memory.load().await.unwrap().as_deref(), Some("x"));
}
