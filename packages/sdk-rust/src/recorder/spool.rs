//! The spool: files to which events are appended before they are sent, and which go when all in them is kept.
//! docs/recorder.md, "The spool". Nothing here takes a lock: the recording does.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use super::board::lock;
use super::errors::{spool_corrupt, spool_full, spool_write_failed};
use super::files::{make_folder, private_file, sync_above, Files};
use super::frame::Frames;
use crate::envelope::Envelope;
use crate::error::Result;

/// A file that is larger gets no more events.
const SEGMENT_BYTES: u64 = 8 * 1024 * 1024;
const NAME_DIGITS: usize = 16;

/// One file of the spool. Events are numbered from 1 in the order in which they lie in the spool.
pub(crate) struct Segment {
    pub(super) path: PathBuf,
    file: File,
    /// Bytes of whole frames. What is behind them is torn.
    size: AtomicU64,
    /// Number of its newest event.
    newest: AtomicU64,
    /// Events in it that are neither kept nor refused.
    waiting: AtomicU64,
    /// Number of the newest event that survives the loss of power, as a sync has said; those before this file do.
    synced: AtomicU64,
    /// Whether the disk has it is not known, whatever a later sync says: what the system has dropped it does not report
    /// again. So a sync that failed is the last one, and a file of an earlier run gets none that counts.
    is_given_up: AtomicBool,
    /// The folder that names it was synced.
    is_named: AtomicBool,
    /// Folders above that of the spool that are not synced yet; shared by all files.
    above: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Segment {
    pub(super) fn is_synced_to(&self, number: u64) -> bool {
        self.synced.load(SeqCst) >= number
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up.load(SeqCst)
    }

    /// What it holds now survives the loss of power, and so does its name.
    pub(super) fn sync(&self, files: &dyn Files) -> io::Result<()> {
        files.sync(&self.file)?;
        if !self.is_named.load(SeqCst) {
            files.sync_folder(self.path.parent().unwrap_or(&self.path))?;
            let mut above = lock(&self.above);
            sync_above(files, &above)?;
            above.clear();
            self.is_named.store(true, SeqCst);
        }
        Ok(())
    }

    pub(super) fn give_up(&self) {
        self.is_given_up.store(true, SeqCst);
    }

    /// Its events up to this number are synced. Returns how many were not before.
    pub(super) fn set_synced(&self, number: u64) -> u64 {
        number - self.synced.swap(number, SeqCst).min(number)
    }
}

/// Bytes of a file that nobody has read yet.
pub(super) struct Unread {
    pub(super) segment: Arc<Segment>,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// The files of one folder, oldest first.
pub(super) struct Spool {
    folder: PathBuf,
    files: Arc<dyn Files>,
    above: Arc<Mutex<BTreeSet<PathBuf>>>,
    bytes_max: u64,
    segments: Vec<Arc<Segment>>,
    /// Is appended to; one of the segments.
    active: Option<Arc<Segment>>,
    unread: VecDeque<Arc<Segment>>,
    /// Offset in the first of the unread.
    read_to: u64,
    next_name: u64,
    bytes: u64,
    /// Number of the newest event.
    appended: u64,
    /// Number of the newest event that was read to be sent.
    taken: u64,
}

impl Spool {
    /// Finds what an earlier run has left. Nothing is changed if it fails. Folders `above` are synced with its first file.
    ///
    /// # Errors
    /// `spool_corrupt`, `spool_write_failed`.
    pub(super) fn open(
        folder: PathBuf,
        mut above: BTreeSet<PathBuf>,
        files: Arc<dyn Files>,
        bytes_max: u64,
    ) -> Result<Self> {
        let failed = |cause: io::Error| spool_write_failed(&folder, "opened", cause);
        above.extend(make_folder(&folder).map_err(failed)?);
        let paths = fs::read_dir(&folder).map_err(failed)?.map(|entry| entry.map(|entry| entry.path()));
        let paths: Vec<PathBuf> = paths.collect::<io::Result<_>>().map_err(failed)?;
        let mut named: Vec<(u64, PathBuf)> =
            paths.into_iter().filter_map(|path| Some((name_of(&path)?, path))).collect();
        named.sort();
        let read: Vec<(u64, u64)> = named.iter().map(|(_, path)| read_file(path)).collect::<Result<_>>()?;
        let mut spool = Self {
            next_name: named.last().map_or(0, |(name, _)| *name) + 1,
            folder,
            files,
            above: Arc::new(Mutex::new(above)),
            bytes_max,
            segments: Vec::new(),
            active: None,
            unread: VecDeque::new(),
            read_to: 0,
            bytes: 0,
            appended: 0,
            taken: 0,
        };
        for ((_, path), (size, count)) in named.into_iter().zip(read) {
            let failed = |cause: io::Error| spool_write_failed(&path, "opened", cause);
            spool.recover(&path, size, count).map_err(failed)?;
        }
        Ok(spool)
    }

    fn recover(&mut self, path: &Path, size: u64, count: u64) -> io::Result<()> {
        if count == 0 {
            return fs::remove_file(path);
        }
        let file = OpenOptions::new().append(true).open(path)?;
        self.files.cut(&file, size)?;
        self.appended += count;
        self.bytes += size;
        self.add_segment(path.to_owned(), file, size, count).give_up();
        Ok(())
    }

    fn add_segment(&mut self, path: PathBuf, file: File, size: u64, count: u64) -> Arc<Segment> {
        let segment = Arc::new(Segment {
            path,
            file,
            size: size.into(),
            newest: self.appended.into(),
            waiting: count.into(),
            synced: (self.appended - count).into(),
            is_given_up: false.into(),
            is_named: false.into(),
            above: Arc::clone(&self.above),
        });
        self.segments.push(Arc::clone(&segment));
        self.unread.push_back(Arc::clone(&segment));
        segment
    }

    pub(super) fn appended(&self) -> u64 {
        self.appended
    }

    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    pub(super) fn has_room(&self, length: u64) -> bool {
        self.bytes.saturating_add(length) <= self.bytes_max
    }

    /// Appends an event: when this returns, the end of this process does not lose it. Its number is that of `appended`.
    ///
    /// # Errors
    /// `spool_full`, `spool_write_failed`.
    pub(super) fn append(&mut self, frame: &[u8]) -> Result<Arc<Segment>> {
        let length = frame.len() as u64;
        if !self.has_room(length) {
            return Err(spool_full(self.bytes_max));
        }
        let segment = match self.active.take().filter(|active| active.size.load(SeqCst) < SEGMENT_BYTES) {
            Some(active) => active,
            None => self.begin().map_err(|cause| spool_write_failed(&self.folder, "written", cause))?,
        };
        let written = self.write(&segment, frame);
        if let Err(cause) = written {
            // What is there of it is taken back, so that the next one follows a whole one. If that fails, the file ends
            // in a torn frame, which is good as long as nothing follows: the next event goes to another file.
            if self.files.cut(&segment.file, segment.size.load(SeqCst)).is_ok() {
                self.active = Some(Arc::clone(&segment));
            }
            return Err(spool_write_failed(&segment.path, "written", cause));
        }
        self.appended += 1;
        self.bytes += length;
        segment.size.fetch_add(length, SeqCst);
        segment.waiting.fetch_add(1, SeqCst);
        segment.newest.store(self.appended, SeqCst);
        self.active = Some(Arc::clone(&segment));
        Ok(segment)
    }

    fn write(&self, segment: &Segment, frame: &[u8]) -> io::Result<()> {
        let mut left = frame;
        while !left.is_empty() {
            match self.files.write(&segment.file, left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => left = left.get(count..).unwrap_or_default(),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
        Ok(())
    }

    /// A new file.
    fn begin(&mut self) -> io::Result<Arc<Segment>> {
        let path = self.folder.join(format!("{:0NAME_DIGITS$}.spool", self.next_name));
        let file = private_file().append(true).create_new(true).open(&path)?;
        self.next_name += 1;
        Ok(self.add_segment(path, file, 0, 0))
    }

    /// Files that hold what is not synced, each with the number of its newest event.
    pub(super) fn unsynced(&self) -> Vec<(Arc<Segment>, u64)> {
        let newest = self.segments.iter().map(|segment| (Arc::clone(segment), segment.newest.load(SeqCst)));
        newest.filter(|(segment, newest)| !segment.is_given_up() && !segment.is_synced_to(*newest)).collect()
    }

    /// New events go to another file than this.
    pub(super) fn leave(&mut self, segment: &Arc<Segment>) {
        self.active = self.active.take().filter(|active| !Arc::ptr_eq(active, segment));
    }

    /// What comes next in the files; `None`: all is read.
    pub(super) fn unread(&mut self) -> Option<Unread> {
        loop {
            let segment = Arc::clone(self.unread.front()?);
            let (from, to) = (self.read_to, segment.size.load(SeqCst));
            if from < to {
                return Some(Unread { segment, from, to });
            }
            if self.active.as_ref().is_some_and(|active| Arc::ptr_eq(active, &segment)) {
                return None;
            }
            self.unread.pop_front();
            self.read_to = 0;
        }
    }

    /// So many bytes were read, with one event.
    pub(super) fn take(&mut self, bytes: u64) -> u64 {
        self.read_to += bytes;
        self.taken += 1;
        self.taken
    }

    /// One event of this file is kept or refused. The file goes with the last one.
    ///
    /// # Errors
    /// Those of the system: then the file is sent again by the next one who opens the folder.
    pub(super) fn settle(&mut self, segment: &Arc<Segment>) -> io::Result<()> {
        if segment.waiting.fetch_sub(1, SeqCst) > 1 {
            return Ok(());
        }
        self.leave(segment);
        if self.unread.front().is_some_and(|front| Arc::ptr_eq(front, segment)) {
            self.unread.pop_front();
            self.read_to = 0;
        }
        self.segments.retain(|other| !Arc::ptr_eq(other, segment));
        self.bytes -= segment.size.load(SeqCst);
        fs::remove_file(&segment.path)
    }
}

/// The number of a file of the spool; `None`: it is another file.
fn name_of(path: &Path) -> Option<u64> {
    let digits = path.file_name()?.to_str()?.strip_suffix(".spool")?;
    let is_name = digits.len() == NAME_DIGITS && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|_| is_name)
}

/// Bytes of whole frames, and how many they are.
fn read_file(path: &Path) -> Result<(u64, u64)> {
    let file = fs::read(path).map_err(|cause| spool_write_failed(path, "read", cause))?;
    let (mut size, mut count) = (0, 0);
    for frame in Frames::new(&file) {
        let (event, end) = frame.map_err(|spoiled| spool_corrupt(path, spoiled.offset as u64, spoiled.detail))?;
        if Envelope::parse(&event.envelope).is_err() {
            return Err(spool_corrupt(path, size, "a frame holds no envelope"));
        }
        size = end as u64;
        count += 1;
    }
    Ok((size, count))
}
