//! Disks that fail: what is torn is cut off, and what could not be synced is never called durable.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::files::Files;
use super::{Frames, Recorder, RecorderOptions};
use crate::signer::BoxFuture;
use crate::{Client, HttpRequest, HttpResponse, Result, Transport, TransportFailure};

/// A service that never answers.
struct Silent;

impl Transport for Silent {
    fn send(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        Box::pin(std::future::pending())
    }
}

fn client() -> Client {
    let builder = Client::builder().endpoint("https://a.example").api_key("key").transport(Arc::new(Silent));
    builder.origin_fingerprint([7; 32]).build().unwrap()
}

#[derive(Default)]
struct Failing {
    /// A write ends after half of its bytes, and the next one fails.
    is_full: AtomicBool,
    has_written_half: AtomicBool,
    cannot_cut: AtomicBool,
    cannot_sync: AtomicBool,
    cannot_sync_folder: AtomicBool,
    syncs: AtomicUsize,
    synced_folders: Mutex<Vec<PathBuf>>,
}

impl Files for Failing {
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let mut file = file;
        if !self.is_full.load(SeqCst) {
            return io::Write::write(&mut file, bytes);
        }
        if self.has_written_half.swap(true, SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        io::Write::write(&mut file, &bytes[..bytes.len() / 2])
    }

    fn cut(&self, file: &File, length: u64) -> io::Result<()> {
        if self.cannot_cut.load(SeqCst) {
            return Err(io::Error::other("it cannot be cut"));
        }
        file.set_len(length)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.syncs.fetch_add(1, SeqCst);
        if self.cannot_sync.load(SeqCst) {
            return Err(io::Error::other("it cannot be synced"));
        }
        file.sync_data()
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        if self.cannot_sync_folder.load(SeqCst) {
            return Err(io::Error::other("it cannot be synced"));
        }
        self.synced_folders.lock().unwrap().push(folder.to_owned());
        super::files::sync_folder(folder)
    }
}

struct Opened {
    recorder: Recorder,
    files: Arc<Failing>,
    folder: PathBuf,
}

impl Opened {
    async fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("event-anchoring-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let files = Arc::new(Failing::default());
        let options = RecorderOptions { batch_wait: Duration::from_secs(3_600), ..RecorderOptions::default() };
        let recorder =
            Recorder::open_with(client(), folder.clone(), options.on_error(|_| ()), files.clone()).await.unwrap();
        Self { recorder, files, folder }
    }

    fn record(&self, number: u32) -> Result<super::RecordedEvent> {
        self.recorder.record(&json!({ "number": number }), "test")
    }

    /// Whole frames in each file.
    fn frames(&self) -> Vec<usize> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(self.folder.join("spool")).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.iter().map(|path| Frames::new(&fs::read(path).unwrap()).filter(|frame| frame.is_ok()).count()).collect()
    }

    async fn end(self) {
        self.recorder.close(Duration::ZERO).await;
        fs::remove_dir_all(&self.folder).unwrap();
    }
}

#[tokio::test]
async fn one_sync_serves_all_who_wait() {
    let opened = Opened::new("group").await;
    let handles: Vec<_> = (0..100).map(|number| opened.record(number).unwrap()).collect();
    assert_eq!(opened.recorder.progress().durable, 0);
    for durable in futures_util::future::join_all(handles.iter().map(|handle| handle.durable())).await {
        durable.unwrap();
    }
    assert_eq!(opened.recorder.progress().durable, 100);
    // One, and one that was asked for while it was under way.
    assert!(opened.files.syncs.load(SeqCst) <= 2);
    opened.end().await;
}

#[tokio::test]
async fn what_could_not_be_synced_is_never_durable_and_its_file_gets_no_more_events() {
    let opened = Opened::new("sync").await;
    let before = opened.record(0).unwrap();
    before.durable().await.unwrap();
    let lost = opened.record(1).unwrap();
    opened.files.cannot_sync.store(true, SeqCst);
    assert!(lost.durable().await.unwrap_err().is_spool_write_failed());
    // The disk is well again. A sync of that file would say so, and nothing of what it has dropped.
    opened.files.cannot_sync.store(false, SeqCst);
    let after = opened.record(2).unwrap();
    after.durable().await.unwrap();
    assert!(lost.durable().await.unwrap_err().is_spool_write_failed());
    before.durable().await.unwrap();
    let progress = opened.recorder.progress();
    assert_eq!((progress.recorded, progress.durable), (3, 2));
    assert_eq!(opened.frames(), [2, 1]);
    opened.end().await;
}

#[tokio::test]
async fn a_file_whose_name_could_not_be_synced_is_given_up() {
    let opened = Opened::new("name").await;
    opened.files.cannot_sync_folder.store(true, SeqCst);
    let lost = opened.record(0).unwrap();
    assert!(lost.durable().await.unwrap_err().is_spool_write_failed());
    opened.files.cannot_sync_folder.store(false, SeqCst);
    opened.record(1).unwrap().durable().await.unwrap();
    assert!(lost.durable().await.unwrap_err().is_spool_write_failed());
    assert_eq!((opened.frames(), opened.recorder.progress().durable), (vec![1, 1], 1));
    opened.end().await;
}

#[tokio::test]
async fn folders_that_are_made_are_synced_where_they_are_named_once() {
    let opened = Opened::new("above/a/b").await;
    let synced = || -> Vec<PathBuf> { opened.files.synced_folders.lock().unwrap().clone() };
    opened.record(0).unwrap().durable().await.unwrap();
    let mut folders = synced();
    folders.sort();
    let mut expected: Vec<PathBuf> = opened.folder.ancestors().take(4).map(Path::to_owned).collect();
    expected.push(opened.folder.join("spool"));
    expected.sort();
    assert_eq!(folders, expected);
    opened.record(1).unwrap().durable().await.unwrap();
    assert_eq!(synced().len(), expected.len());
    let base = opened.folder.ancestors().nth(2).unwrap().to_owned();
    opened.end().await;
    fs::remove_dir_all(base).unwrap();
}

#[tokio::test]
async fn a_torn_frame_is_cut_off_or_ends_its_file() {
    for cannot_cut in [false, true] {
        let opened = Opened::new(&format!("torn-{cannot_cut}")).await;
        opened.record(0).unwrap();
        opened.files.is_full.store(true, SeqCst);
        opened.files.cannot_cut.store(cannot_cut, SeqCst);
        assert!(opened.record(1).unwrap_err().is_spool_write_failed());
        opened.files.is_full.store(false, SeqCst);
        opened.record(2).unwrap().durable().await.unwrap();
        assert_eq!(opened.frames(), if cannot_cut { vec![1, 1] } else { vec![2] });
        let Opened { recorder, folder, .. } = opened;
        assert_eq!(recorder.close(Duration::ZERO).await, 2);
        // The next run finds both.
        let again = Recorder::open(client(), &folder, RecorderOptions::default()).await.unwrap();
        assert_eq!((again.progress().recorded, again.progress().durable), (2, 0));
        again.close(Duration::ZERO).await;
        fs::remove_dir_all(&folder).unwrap();
    }
}

#[tokio::test]
async fn a_closed_recorder_takes_nothing_and_leaves_nobody_waiting() {
    let opened = Opened::new("closed").await;
    let handle = opened.record(0).unwrap();
    assert!(opened.recorder.flush(Duration::from_millis(1)).await.unwrap_err().is_not_flushed());
    assert_eq!(opened.recorder.close(Duration::ZERO).await, 1);
    assert!(handle.anchored().await.unwrap_err().is_not_flushed());
    handle.durable().await.unwrap();
    assert_eq!(opened.record(1).unwrap_err().field(), Some("recorder"));
    assert_eq!(opened.recorder.close(Duration::ZERO).await, 0);
    let names = fs::read_dir(&opened.folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.starts_with("lock-")));
    opened.end().await;
}
