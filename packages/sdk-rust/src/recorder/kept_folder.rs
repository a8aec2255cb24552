//! Where envelopes, contents and receipts stay. docs/recorder.md, "The folder".

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::Deserialize;
use serde_json::json;

use super::board::lock;
use super::files::{make_folder, private_file, sync_above, sync_folder, SystemFiles};
use super::frame::SpooledEvent;
use super::recorded_event::KeptEvent;
use crate::answers::Anchor;
use crate::bytes::to_hex;
use crate::dates::is_rfc3339;
use crate::error::Error;
use crate::hash::Hash;
use crate::receipt::Receipt;

const DAY_CHARS: usize = "2026-11-23".len();

pub(super) struct KeptFolder {
    kept: PathBuf,
    refused: PathBuf,
    /// Folders that name those that files were written to, and are not synced yet.
    above: Mutex<BTreeSet<PathBuf>>,
}

/// What of an envelope says the day that its files are kept under.
#[derive(Deserialize)]
struct Dated {
    when: String,
}

fn day_of(envelope: &[u8]) -> io::Result<String> {
    let Dated { when } = serde_json::from_slice(envelope)?;
    match when.get(..DAY_CHARS) {
        Some(day) if is_rfc3339(&when) => Ok(day.to_owned()),
        _ => Err(io::Error::other("the envelope has no time")),
    }
}

impl KeptFolder {
    pub(super) fn new(kept: PathBuf, refused: PathBuf) -> io::Result<Self> {
        let above = Mutex::new(make_folder(&kept)?);
        Ok(Self { kept, refused, above })
    }

    pub(super) fn path(&self) -> &Path {
        &self.kept
    }

    /// Writes the files of events that are anchored, durably.
    pub(super) fn keep(&self, anchored: &[(&SpooledEvent, &Anchor, &Receipt)]) -> io::Result<Vec<KeptEvent>> {
        let mut written = Written::begin(&self.kept)?;
        let events = anchored.iter();
        let kept: Vec<KeptEvent> = events
            .map(|(event, anchor, receipt)| self.write(&mut written, event, anchor, receipt))
            .collect::<io::Result<_>>()?;
        self.sync(&written)?;
        Ok(kept)
    }

    /// The receipt is written last: where it is, the others are.
    fn write(
        &self,
        written: &mut Written,
        event: &SpooledEvent,
        anchor: &Anchor,
        receipt: &Receipt,
    ) -> io::Result<KeptEvent> {
        let client_event_id = to_hex(&event.client_event_id);
        let folder = self.kept.join(day_of(&event.envelope)?);
        if !folder.is_dir() {
            lock(&self.above).extend(make_folder(&folder)?);
        }
        let path = |ending: &str| folder.join(format!("{client_event_id}{ending}"));
        let (payload_path, receipt_path) = (path(".json"), path(".json.tlog-proof"));
        let content_path = event.content.as_ref().map(|_| path(".content"));
        if let (Some(path), Some(content)) = (&content_path, &event.content) {
            written.write(path, content)?;
        }
        written.write(&payload_path, &event.envelope)?;
        written.write(&receipt_path, receipt.to_proof_text().as_bytes())?;
        let (anchor, receipt) = (anchor.clone(), receipt.clone());
        let event_hash = Hash::sha256(&event.envelope);
        Ok(KeptEvent { client_event_id, event_hash, anchor, receipt, payload_path, receipt_path, content_path })
    }

    /// Sets an event apart that the service refuses for good, durably.
    pub(super) fn put_aside(&self, event: &SpooledEvent, refusal: &Error) -> io::Result<()> {
        if !self.refused.is_dir() {
            lock(&self.above).extend(make_folder(&self.refused)?);
        }
        let mut written = Written::begin(&self.refused)?;
        let name = to_hex(&event.client_event_id);
        let path = |ending: &str| self.refused.join(format!("{name}{ending}"));
        if let Some(content) = &event.content {
            written.write(&path(".content"), content)?;
        }
        written.write(&path(".json"), &event.envelope)?;
        let detail = refusal.problem().map_or_else(|| refusal.to_string(), |problem| problem.detail.clone());
        let problem = json!({ "code": refusal.code(), "status": refusal.status(), "detail": detail });
        written.write(&path(".json.problem"), format!("{problem}\n").as_bytes())?;
        self.sync(&written)
    }

    /// Files, the folders that name them, and those that name these.
    fn sync(&self, written: &Written) -> io::Result<()> {
        written.sync()?;
        let mut above = lock(&self.above);
        sync_above(&SystemFiles, &above)?;
        above.clear();
        Ok(())
    }
}

/// Files that are written and not synced yet.
struct Written {
    /// Opened before the first of them is written: so it is told of every error since.
    #[cfg(target_os = "linux")]
    file_system: File,
    files: Vec<PathBuf>,
    folders: BTreeSet<PathBuf>,
}

impl Written {
    fn begin(_folder: &Path) -> io::Result<Self> {
        Ok(Self {
            #[cfg(target_os = "linux")]
            file_system: File::open(_folder)?,
            files: Vec::new(),
            folders: BTreeSet::new(),
        })
    }

    fn write(&mut self, path: &Path, content: &[u8]) -> io::Result<()> {
        private_file().write(true).create(true).truncate(true).open(path)?.write_all(content)?;
        self.files.push(path.to_owned());
        self.folders.extend(path.parent().map(Path::to_owned));
        Ok(())
    }

    /// One call for some thousand files where the system has it: each sync of its own is a commit of the file system's
    /// journal.
    fn sync(&self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        match rustix::fs::syncfs(&self.file_system) {
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::OPNOTSUPP) => {}
            synced => return Ok(synced?),
        }
        for path in &self.files {
            File::open(path)?.sync_all()?;
        }
        self.folders.iter().try_for_each(|folder| sync_folder(folder))
    }
}
