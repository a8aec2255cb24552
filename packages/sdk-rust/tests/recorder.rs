//! A recorder over a service of this test: what is recorded is anchored exactly once, and kept beside its receipt.
#![cfg(feature = "recorder")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;
#[path = "../examples/record_events.rs"]
mod record_events;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::service::{Fault, Service};
use event_anchoring::*;
use serde_json::{json, Value};

const LONG: Duration = Duration::from_secs(60);

/// A folder of its own for each test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("recorder-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn hasty() -> RecorderOptions {
    RecorderOptions { batch_wait: Duration::ZERO, ..RecorderOptions::default() }
}

async fn open(service: &Arc<Service>, folder: &Path, options: RecorderOptions) -> Recorder {
    Recorder::open(service.client(), folder, options).await.unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The envelope and the receipt that are kept of an event belong together.
fn check_kept(kept: &KeptEvent) {
    let envelope = Envelope::parse(fs::read(&kept.payload_path).unwrap()).unwrap();
    assert_eq!(envelope.event_hash(), kept.event_hash);
    assert!(kept.payload_path.to_str().unwrap().contains(&envelope.when()[..10]));
    let receipt = Receipt::parse(&fs::read_to_string(&kept.receipt_path).unwrap()).unwrap();
    assert_eq!(receipt.to_proof_text(), kept.receipt.to_proof_text());
    let Ok(Leaf { body: LeafBody::Event(event), .. }) = Leaf::decode(receipt.leaf()) else { panic!("no event") };
    assert_eq!(event.event_hash, kept.event_hash);
    assert_eq!(kept.anchor.content.event().unwrap().client_event_id.as_deref(), Some(&*kept.client_event_id));
}

#[tokio::test]
async fn what_is_recorded_is_anchored_and_kept() {
    let Some(service) = Service::new() else { return };
    let folder = folder("kept");
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let (anchored, progress) = (Arc::clone(&told), Arc::new(Mutex::new(RecorderProgress::default())));
    let last = Arc::clone(&progress);
    let options = RecorderOptions { salt: true, who: Some("billing-agent".into()), ..hasty() }
        .on_anchored(move |kept| anchored.lock().unwrap().push(kept.client_event_id.clone()))
        .on_progress(move |progress| *last.lock().unwrap() = *progress);
    let recorder = open(&service, &folder, options).await;
    let refund = json!({ "order": "4711", "amount": 19.5 });
    let value = recorder.record(&refund, "refund.paid").unwrap();
    let given = RecordOptions { client_event_id: Some([0xab; 16]), ..EnvelopeOptions::new("file").who("me").into() };
    let bytes = recorder.record(b"bytes", given).unwrap();
    let plain = EnvelopeOptions::new("file").salt(Salt::None).content_type("text/plain");
    let hash = recorder.record_hash(Hash::sha256("elsewhere"), 9, plain).unwrap();
    assert_eq!(bytes.client_event_id(), "ab".repeat(16));

    let kept = value.anchored().await.unwrap();
    check_kept(&kept);
    let envelope = Envelope::parse(fs::read(&kept.payload_path).unwrap()).unwrap();
    assert_eq!((envelope.who(), envelope.content()), (Some("billing-agent"), &EnvelopeContent::Json(refund)));
    assert!(envelope.salt().is_some() && kept.content_path.is_none());
    let kept = bytes.anchored().await.unwrap();
    check_kept(&kept);
    assert_eq!(fs::read(kept.content_path.as_ref().unwrap()).unwrap(), b"bytes");
    let kept = hash.anchored().await.unwrap();
    check_kept(&kept);
    let envelope = Envelope::parse(fs::read(&kept.payload_path).unwrap()).unwrap();
    assert_eq!((envelope.salt(), envelope.content_type()), (None, "text/plain"));
    value.durable().await.unwrap();

    recorder.flush(LONG).await.unwrap();
    assert_eq!(recorder.close(LONG).await, 0);
    assert_eq!((told.lock().unwrap().len(), service.count()), (3, 3));
    let RecorderProgress { recorded, durable, anchored, refused, .. } = *progress.lock().unwrap();
    assert_eq!((recorded, durable, anchored, refused), (3, 3, 3, 0));
    assert_eq!((names(&folder), names(&folder.join("spool"))), (vec!["kept".into(), "spool".into()], vec![]));
}

#[tokio::test]
async fn a_batch_waits_for_others_and_goes_when_it_is_full() {
    let Some(service) = Service::new() else { return };
    let options = || RecorderOptions { batch_events_max: 10, batch_wait: LONG, ..RecorderOptions::default() };
    let recorder = open(&service, &folder("full"), options()).await;
    let handles: Vec<_> = (0..25).map(|number| recorder.record(&json!(number), "n").unwrap()).collect();
    handles[19].anchored().await.unwrap();
    assert_eq!(service.count(), 20);
    recorder.flush(LONG).await.unwrap();
    assert_eq!(*service.batches.lock().unwrap(), [10, 10, 5]);
    recorder.close(LONG).await;
    for wrong in [0, 1_001] {
        let options = RecorderOptions { batch_events_max: wrong, ..options() };
        let refused = Recorder::open(service.client(), folder("wrong"), options).await;
        assert_eq!(refused.unwrap_err().field(), Some("batch_events_max"));
    }
}

#[tokio::test]
async fn it_asks_again_with_the_same_ids() {
    let Some(service) = Service::new() else { return };
    service.fails([Fault::Lost, Fault::Problem(503, "no_leader"), Fault::Problem(401, "x"), Fault::Uncertified]);
    let errors: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&errors);
    let options = hasty().on_error(move |error| told.lock().unwrap().push(error.code().to_owned()));
    let recorder = open(&service, &folder("again"), options.on_anchored(|_| panic!("a callback that fails"))).await;
    let handles: Vec<_> = (0..3).map(|number| recorder.record(&json!(number), "n").unwrap()).collect();
    // Each flush is in a hurry: it ends one pause.
    while recorder.flush(Duration::from_millis(50)).await.is_err() {}
    for handle in &handles {
        check_kept(&handle.anchored().await.unwrap());
    }
    assert_eq!(service.count(), 3);
    assert!(errors.lock().unwrap().iter().any(|code| code == "outcome_unknown"));
    recorder.close(LONG).await;
}

#[tokio::test]
async fn what_is_refused_for_good_holds_up_nobody() {
    let Some(service) = Service::new() else { return };
    let folder = folder("refused");
    let recorder = open(&service, &folder, hasty().on_error(|_| ())).await;
    let batch: Vec<_> = (0..8)
        .map(|number| {
            let handle = recorder.record(&json!(number), "n");
            if number == 3 {
                let hash = handle.as_ref().unwrap().event_hash().to_hex();
                service.problems.lock().unwrap().insert(hash, (422, "reference_not_found"));
            }
            handle.unwrap()
        })
        .collect();
    recorder.flush(LONG).await.unwrap();
    let error = batch[3].anchored().await.unwrap_err();
    assert_eq!((error.code(), error.status()), ("reference_not_found", Some(422)));
    assert_eq!(error.client_event_id(), Some(&*batch[3].client_event_id()));
    let name = batch[3].client_event_id();
    let refused = folder.join("refused");
    assert_eq!(names(&refused), [format!("{name}.json"), format!("{name}.json.problem")]);
    let problem: Value =
        serde_json::from_slice(&fs::read(refused.join(format!("{name}.json.problem"))).unwrap()).unwrap();
    assert_eq!(problem, json!({ "code": "reference_not_found", "status": 422, "detail": "no" }));
    assert_eq!(Hash::sha256(fs::read(refused.join(format!("{name}.json"))).unwrap()), batch[3].event_hash());

    // One for which every request is refused is found.
    let spoilt = recorder.record(b"spoilt", "n").unwrap();
    let hash = Value::from(spoilt.event_hash().to_hex());
    *service.spoils.lock().unwrap() = Some(Box::new(move |event| event["event_hash"] == hash));
    let others: Vec<_> = (0..20).map(|number| recorder.record(&json!(number), "n").unwrap()).collect();
    recorder.flush(LONG).await.unwrap();
    for other in others {
        check_kept(&other.anchored().await.unwrap());
    }
    if service.count() == 27 {
        assert_eq!(spoilt.anchored().await.unwrap_err().code(), "invalid_request");
    }
    assert_eq!(recorder.progress().refused + recorder.progress().anchored, 29);
    assert_eq!(recorder.close(LONG).await, 0);
    assert_eq!(names(&folder.join("spool")), Vec::<String>::new());
}

/// A path and those below it, each with its rights.
#[cfg(unix)]
fn rights_from(path: &Path) -> Vec<(PathBuf, u32)> {
    use std::os::unix::fs::PermissionsExt as _;
    let rights = fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let below = names(path).into_iter().flat_map(|name| rights_from(&path.join(name)));
    [(path.to_owned(), rights)].into_iter().chain(below).collect()
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_recorded_is_for_its_user_alone() {
    let Some(service) = Service::new() else { return };
    let folder = folder("rights");
    let recorder = open(&service, &folder, hasty().on_error(|_| ())).await;
    let refused = recorder.record(b"refused", "n").unwrap();
    service.problems.lock().unwrap().insert(refused.event_hash().to_hex(), (422, "reference_not_found"));
    recorder.record(b"kept", "n").unwrap();
    recorder.flush(LONG).await.unwrap();
    assert_eq!((recorder.progress().anchored, recorder.progress().refused), (1, 1));
    recorder.record(b"waits", "n").unwrap();
    let found = rights_from(&folder);
    for part in ["/kept/", ".tlog-proof", ".problem", ".content", "/lock-", ".spool"] {
        assert!(found.iter().any(|(path, _)| path.to_str().unwrap().contains(part)), "{part}: {found:?}");
    }
    for (path, rights) in &found {
        assert_eq!(*rights, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    recorder.close(LONG).await;
}

#[tokio::test]
async fn references_and_signatures() {
    let Some(service) = Service::new() else { return };
    let folder = folder("signed");
    let key = || Arc::new(LocalKey::from_seed([9; 32]));
    let semantic_anchor = SemanticAnchor { iris_ref: Some(Hash::sha256("claim")), ..Default::default() };
    let options = RecorderOptions { actor: Some(key()), semantic_anchor, ..hasty() };
    service.fails([Fault::Problem(503, "no_leader")]);
    let recorder = open(&service, &folder, options.clone().on_error(|_| ())).await;
    recorder.record(&json!(1), "n").unwrap();
    let other = SemanticAnchor { grant_ref: Some(Hash::sha256("grant")), ..Default::default() };
    let what = RecordOptions { semantic_anchor: Some(other), ..RecordOptions::from("n") };
    recorder.record(&json!(2), what).unwrap();
    assert_eq!(recorder.close(Duration::ZERO).await, 2);
    // The spool has no key: what was recorded for a signer waits until a recorder has that signer.
    let errors: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&errors);
    let without = hasty().on_error(move |error| told.lock().unwrap().push(error.field().unwrap_or("").to_owned()));
    let recorder = open(&service, &folder, without).await;
    assert!(recorder.flush(Duration::from_millis(300)).await.unwrap_err().is_not_flushed());
    assert_eq!((recorder.close(Duration::ZERO).await, service.count()), (2, 0));
    assert!(errors.lock().unwrap().iter().all(|field| field == "actor") && !errors.lock().unwrap().is_empty());

    let recorder = open(&service, &folder, options).await;
    recorder.flush(LONG).await.unwrap();
    recorder.close(LONG).await;
    let anchors = service.anchors.lock().unwrap();
    let mut refs: Vec<Value> = anchors.values().map(|(anchor, _)| anchor["semantic_anchor"].clone()).collect();
    refs.sort_by_key(|refs| refs["iris_ref"].is_null());
    assert_eq!(refs[0]["iris_ref"], Hash::sha256("claim").to_hex());
    assert_eq!(refs[1]["grant_ref"], Hash::sha256("grant").to_hex());
    assert!(anchors.values().all(|(anchor, _)| anchor["actor_public_key"] == key().public_key().to_hex()));
}

#[tokio::test]
async fn a_full_spool_pushes_back_until_there_is_room() {
    let Some(service) = Service::new() else { return };
    let options = RecorderOptions { spool_bytes_max: 2_000, batch_wait: LONG, ..RecorderOptions::default() };
    let recorder = open(&service, &folder("room"), options).await;
    let mut taken = 0;
    let error = loop {
        match recorder.record(&json!(taken), "n") {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
    };
    assert!(error.is_spool_full() && taken > 5, "{error:?}");
    let (room, flushed) = tokio::join!(recorder.room(), recorder.flush(LONG));
    room.unwrap();
    flushed.unwrap();
    recorder.record(&json!("more"), "n").unwrap();
    assert_eq!(recorder.close(LONG).await, 0);
    assert_eq!(service.count(), taken + 1);
    assert!(recorder.room().await.is_ok());
}

/// A file of the spool as another language leaves it, from the shared vectors.
fn leave_behind(folder: &Path, name: &str) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let vectors: Value = serde_json::from_slice(&fs::read(root.join("test/vectors/spool.json")).unwrap()).unwrap();
    let cases = vectors["good"].as_array().unwrap().iter().chain(vectors["corrupt"].as_array().unwrap());
    let case = cases.into_iter().find(|case| case["name"] == name).unwrap();
    let hex = case["hex"].as_str().unwrap();
    let bytes: Vec<u8> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    fs::create_dir_all(folder.join("spool")).unwrap();
    fs::write(folder.join("spool/0000000000000007.spool"), bytes).unwrap();
    case["events"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn what_another_run_has_left_is_sent() {
    let Some(service) = Service::new() else { return };
    let folder = folder("left");
    let count = leave_behind(&folder, "torn in the second body");
    // The lock of a process that has ended, and files that are none of the recorder's.
    fs::write(folder.join("lock-999999999-1-0123abcd"), "").unwrap();
    fs::write(folder.join("lock-note.txt"), "mine").unwrap();
    let recorder = open(&service, &folder, hasty()).await;
    let mine = recorder.record(&json!("mine"), "n").unwrap();
    assert_eq!(names(&folder.join("spool")).last().unwrap(), "0000000000000008.spool");
    recorder.flush(LONG).await.unwrap();
    check_kept(&mine.anchored().await.unwrap());
    assert_eq!(service.count(), count + 1);
    let kept = folder.join("kept/2026-11-23");
    assert!(kept.join("a116c9ed46d6207734a43317d30fd88f.json.tlog-proof").exists());
    recorder.close(LONG).await;
    assert_eq!(names(&folder), ["kept", "lock-note.txt", "spool"]);
}

#[tokio::test]
async fn a_spoiled_spool_is_refused_and_nothing_is_changed() {
    let Some(service) = Service::new() else { return };
    let folder = folder("spoiled");
    leave_behind(&folder, "the length of the last frame spoiled");
    let before = fs::read(folder.join("spool/0000000000000007.spool")).unwrap();
    let error = Recorder::open(service.client(), &folder, hasty()).await.unwrap_err();
    assert!(error.is_spool_corrupt() && error.to_string().contains("0000000000000007.spool, at 228"), "{error}");
    assert_eq!(fs::read(folder.join("spool/0000000000000007.spool")).unwrap(), before);
    assert_eq!(names(&folder), ["spool"]);
}

#[tokio::test]
async fn a_folder_has_one_recorder() {
    let Some(service) = Service::new() else { return };
    let folder = folder("lock");
    let recorder = open(&service, &folder, hasty()).await;
    let error = Recorder::open(service.client(), &folder, hasty()).await.unwrap_err();
    assert!(error.is_folder_in_use() && error.to_string().contains(&std::process::id().to_string()), "{error}");
    recorder.close(LONG).await;
    open(&service, &folder, hasty()).await.close(LONG).await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_tried_again() {
    let Some(service) = Service::new() else { return };
    let folder = folder("unwritable");
    let recorder = open(&service, &folder, hasty().on_error(|_| ())).await;
    let when = When::Text("2026-11-23T10:00:00.000Z".into());
    let in_the_way = folder.join("kept/2026-11-23");
    fs::write(&in_the_way, "a file").unwrap();
    let handle = recorder.record(&json!(1), EnvelopeOptions::new("n").when(when)).unwrap();
    assert!(recorder.flush(Duration::from_millis(200)).await.unwrap_err().is_not_flushed());
    assert_eq!((service.count(), recorder.progress().anchored), (1, 0));
    fs::remove_file(&in_the_way).unwrap();
    recorder.flush(LONG).await.unwrap();
    check_kept(&handle.anchored().await.unwrap());
    assert_eq!((recorder.close(LONG).await, service.count()), (0, 1));
}

#[tokio::test(flavor = "current_thread")]
async fn many_threads_record_at_once() {
    let Some(service) = Service::new() else { return };
    let folder = folder("threads");
    let recorder = Arc::new(open(&service, &folder, hasty()).await);
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let recorder = Arc::clone(&recorder);
            std::thread::spawn(move || {
                for number in 0..300 {
                    recorder.record(&json!([thread, number]), "n").unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    recorder.flush(LONG).await.unwrap();
    assert_eq!(recorder.close(LONG).await, 0);
    assert_eq!(service.count(), 1_200);
    let kept: usize = names(&folder.join("kept")).iter().map(|day| names(&folder.join("kept").join(day)).len()).sum();
    assert_eq!(kept, 2_400);
}

#[tokio::test]
async fn bad_events_are_not_written() {
    let Some(service) = Service::new() else { return };
    let recorder = open(&service, &folder("bad"), hasty()).await;
    let code = |result: Result<RecordedEvent>| result.unwrap_err().code().to_owned();
    assert_eq!(code(recorder.record(&json!(1), "")), "envelope_malformed");
    assert_eq!(code(recorder.record(&json!(1_u64 << 53), "n")), "envelope_number_unsafe");
    assert_eq!(code(recorder.record(&json!("x".repeat(1 << 20)), "n")), "envelope_too_large");
    assert_eq!(code(recorder.record(&vec![0; (16 << 20) + 1], "n")), "invalid_input");
    assert_eq!(recorder.progress().recorded, 0);
    recorder.close(LONG).await;
}

const CHILD: &str = "EVENT_ANCHORING_TEST_CHILD";

/// What the child of the next test does; elsewhere nothing.
#[tokio::test]
async fn child_that_records_until_it_is_killed() {
    let (Ok(folder), Some(service)) = (std::env::var(CHILD), Service::new()) else { return };
    service.fails((0..1_000_000).map(|_| Fault::Lost));
    let recorder = open(&service, Path::new(&folder), hasty().on_error(|_| ())).await;
    for number in 0.. {
        let handle = recorder.record(&json!(number), "n").unwrap();
        println!("\nrecorded {}", handle.client_event_id());
        std::io::stdout().flush().unwrap();
    }
}

#[tokio::test]
async fn kill_9_loses_nothing_that_record_has_returned_for() {
    let Some(service) = Service::new() else { return };
    let folder = folder("killed");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_records_until_it_is_killed", "--nocapture"])
        .env(CHILD, &folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let recorded = |line: std::io::Result<String>| line.unwrap().strip_prefix("recorded ").map(str::to_owned);
    let mut ids: Vec<String> = lines.by_ref().filter_map(recorded).take(2_000).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    ids.extend(lines.filter_map(recorded).filter(|id| id.len() == 32));
    let recorder = open(&service, &folder, hasty()).await;
    recorder.flush(LONG).await.unwrap();
    recorder.close(LONG).await;
    let anchors = service.anchors.lock().unwrap();
    assert!(ids.len() >= 2_000 && ids.iter().all(|id| anchors.contains_key(id)));
    let kept: usize = names(&folder.join("kept")).iter().map(|day| names(&folder.join("kept").join(day)).len()).sum();
    assert_eq!(kept, 2 * anchors.len());
    assert_eq!(names(&folder.join("spool")), Vec::<String>::new());
}

#[tokio::test]
async fn the_lines_of_the_readme_run() {
    let readme = include_str!("../README.md");
    let section = readme.split("\n## Recording what happens\n").nth(1).unwrap();
    let block = section.split("```rust,no_run\n").nth(1).unwrap().split("```").next().unwrap();
    let example = include_str!("../examples/record_events.rs");
    for line in block.lines().filter(|line| !line.starts_with('#')) {
        assert!(example.lines().any(|own| own.trim() == line.trim()), "the example has no line {line:?}");
    }
    let Some(service) = Service::new() else { return };
    let folder = folder("readme");
    record_events::record_events(service.client(), folder.to_str().unwrap()).await.unwrap();
    let day = folder.join("kept").join(&names(&folder.join("kept"))[0]);
    assert_eq!((names(&day).len(), service.count()), (2, 1));
}
