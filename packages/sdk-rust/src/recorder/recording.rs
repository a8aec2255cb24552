//! The state of a recorder, which `record`, the sender and the syncer share. One lock guards what changes together.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::{watch, Notify};

use super::board::{lock, Board, Outcome};
use super::errors::{closed, not_kept, spool_corrupt, spool_write_failed};
use super::files::{make_folder, Files};
use super::folder_lock::FolderLock;
use super::frame::{Frames, OwnId, SpooledEvent};
use super::kept_folder::KeptFolder;
use super::options::{RecorderOptions, RecorderProgress};
use super::recorded_event::RecordedEvent;
use super::spool::{Segment, Spool, Unread};
use crate::answers::Anchor;
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::receipt::Receipt;

/// Bytes that are read to be sent at once, but for one event that is larger.
const TAKEN_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// An event that was read from the spool, to be sent.
pub(super) struct Taken {
    pub(super) event: SpooledEvent,
    pub(super) segment: Arc<Segment>,
    pub(super) number: u64,
}

/// An event that is anchored and has to be kept.
pub(super) type Anchored = (Arc<Taken>, Anchor, Receipt);

struct State {
    spool: Spool,
    /// Numbers of events that are in a batch, and not settled.
    out: BTreeSet<u64>,
    /// When the oldest event came that is in no batch.
    oldest_at: Instant,
    /// Length of the frame that was refused last.
    refused_length: u64,
    durable: u64,
    anchored: u64,
    refused: u64,
    is_closed: bool,
    /// Why nothing more is sent: code and message.
    failure: Option<(String, String)>,
}

pub(super) struct Recording {
    pub(super) options: RecorderOptions,
    pub(super) board: Arc<Board>,
    state: Mutex<State>,
    files: Arc<dyn Files>,
    kept: KeptFolder,
    folder_lock: Mutex<Option<FolderLock>>,
    /// The sender is told to look again.
    pub(super) wake: Notify,
    /// True: nothing more is sent.
    pub(super) stop: watch::Sender<bool>,
    /// Rises when something is settled, or will never be.
    pub(super) changes: watch::Sender<u64>,
    /// What waits for a pause to end is sent at once, one time.
    pub(super) is_hurried: AtomicBool,
    pub(super) flushes: AtomicUsize,
}

impl Recording {
    /// Takes the folder.
    ///
    /// # Errors
    /// `folder_in_use`, `spool_corrupt`, `spool_write_failed`.
    pub(super) fn open(directory: &Path, options: RecorderOptions, files: Arc<dyn Files>) -> Result<Self> {
        let failed = |cause: std::io::Error| spool_write_failed(directory, "made", cause);
        let above = make_folder(directory).map_err(failed)?;
        let folder_lock = FolderLock::take(directory)?;
        let spool = Spool::open(directory.join("spool"), above, Arc::clone(&files), options.spool_bytes_max)?;
        let keep = options.keep.clone().unwrap_or_else(|| directory.join("kept"));
        let kept = KeptFolder::new(keep, directory.join("refused")).map_err(failed)?;
        let state = State {
            spool,
            out: BTreeSet::new(),
            oldest_at: Instant::now(),
            refused_length: 0,
            durable: 0,
            anchored: 0,
            refused: 0,
            is_closed: false,
            failure: None,
        };
        Ok(Self {
            options,
            board: Arc::new(Board::new()),
            state: Mutex::new(state),
            files,
            kept,
            folder_lock: Mutex::new(Some(folder_lock)),
            wake: Notify::new(),
            stop: watch::Sender::new(false),
            changes: watch::Sender::new(0),
            is_hurried: AtomicBool::new(false),
            flushes: AtomicUsize::new(0),
        })
    }

    /// Appends an event to the spool.
    ///
    /// # Errors
    /// `spool_full`, `spool_write_failed`, and `invalid_input` if the recorder is closed.
    pub(super) fn add(&self, client_event_id: OwnId, event_hash: Hash, frame: &[u8]) -> Result<RecordedEvent> {
        let mut state = lock(&self.state);
        if state.is_closed {
            return Err(closed());
        }
        let segment = match state.spool.append(frame) {
            Ok(segment) => segment,
            Err(error) => {
                state.refused_length = frame.len() as u64;
                return Err(error);
            }
        };
        let number = state.spool.appended();
        let untaken = number - state.spool.taken();
        if untaken == 1 {
            state.oldest_at = Instant::now();
        }
        let fate = self.board.await_fate(number);
        drop(state);
        if untaken == 1 || untaken == self.options.batch_events_max as u64 {
            self.wake.notify_one();
        }
        Ok(RecordedEvent { client_event_id, event_hash, number, segment, fate, board: Arc::clone(&self.board) })
    }

    pub(super) fn progress(&self) -> RecorderProgress {
        let state = lock(&self.state);
        let (recorded, durable) = (state.spool.appended(), state.durable);
        RecorderProgress { recorded, durable, anchored: state.anchored, refused: state.refused }
    }

    /// How many events are neither kept nor refused.
    pub(super) fn left(&self) -> u64 {
        let RecorderProgress { recorded, anchored, refused, .. } = self.progress();
        recorded - anchored - refused
    }

    /// Whether all is settled up to this number.
    ///
    /// # Errors
    /// Why nothing more is sent.
    pub(super) fn is_settled_to(&self, number: u64) -> Result<bool> {
        let state = lock(&self.state);
        check_failure(&state)?;
        Ok(state.out.first().map_or(state.spool.taken(), |first| first - 1) >= number)
    }

    /// Whether what was refused last would be taken. Errors: as above.
    pub(super) fn has_room(&self) -> Result<bool> {
        let state = lock(&self.state);
        check_failure(&state)?;
        Ok(state.spool.has_room(state.refused_length))
    }

    /// How many events wait for a batch, and since when the oldest of them.
    pub(super) fn untaken(&self) -> (u64, Instant) {
        let state = lock(&self.state);
        (state.spool.appended() - state.spool.taken(), state.oldest_at)
    }

    /// The next batch. Reads files.
    ///
    /// # Errors
    /// `spool_corrupt`, `spool_write_failed`.
    pub(super) fn take(&self) -> Result<Vec<Arc<Taken>>> {
        let mut taken = Vec::new();
        let mut bytes_left = TAKEN_BYTES_MAX;
        while bytes_left > 0 && taken.len() < self.options.batch_events_max {
            let Some(unread) = lock(&self.state).spool.unread() else { break };
            let read = self.take_from(&unread, bytes_left, &mut taken)?;
            if read == 0 {
                let changed = spool_corrupt(&unread.segment.path, unread.from, "a frame is not what was written");
                return Err(changed);
            }
            bytes_left = bytes_left.saturating_sub(read);
        }
        lock(&self.state).oldest_at = Instant::now();
        Ok(taken)
    }

    /// Whole events of the next bytes; at least one, however large it is. Returns how many bytes were read.
    fn take_from(&self, unread: &Unread, bytes_max: u64, taken: &mut Vec<Arc<Taken>>) -> Result<u64> {
        let Unread { segment, from, to } = unread;
        let failed = |cause: std::io::Error| spool_write_failed(&segment.path, "read", cause);
        let mut file = File::open(&segment.path).map_err(failed)?;
        file.seek(SeekFrom::Start(*from)).map_err(failed)?;
        let (length, mut bytes) = (to - from, Vec::new());
        (&file).take(length.min(bytes_max)).read_to_end(&mut bytes).map_err(failed)?;
        if matches!(Frames::new(&bytes).next(), None | Some(Err(_))) {
            (&file).take(length - bytes.len() as u64).read_to_end(&mut bytes).map_err(failed)?;
        }
        let mut read = 0;
        for frame in Frames::new(&bytes) {
            let (event, end) =
                frame.map_err(|spoiled| spool_corrupt(&segment.path, from + spoiled.offset as u64, spoiled.detail))?;
            if taken.len() == self.options.batch_events_max {
                break;
            }
            let mut state = lock(&self.state);
            let number = state.spool.take(end as u64 - read);
            state.out.insert(number);
            taken.push(Arc::new(Taken { event, segment: Arc::clone(segment), number }));
            read = end as u64;
        }
        Ok(read)
    }

    /// Writes and syncs the files of events that are anchored, and settles them.
    ///
    /// # Errors
    /// `not_kept`.
    pub(super) fn keep(&self, anchored: &[Anchored]) -> Result<()> {
        if anchored.is_empty() {
            return Ok(());
        }
        let events: Vec<(&SpooledEvent, &Anchor, &Receipt)> =
            anchored.iter().map(|(taken, anchor, receipt)| (&taken.event, anchor, receipt)).collect();
        let kept = self.kept.keep(&events).map_err(|cause| not_kept(self.kept.path(), cause))?;
        for ((taken, ..), kept) in anchored.iter().zip(kept) {
            let kept = Arc::new(kept);
            self.settle(taken, Outcome::Kept(Arc::clone(&kept)));
            self.options.tell_anchored(&kept);
        }
        Ok(())
    }

    /// Sets an event apart that the service refuses for good, and settles it.
    ///
    /// # Errors
    /// `not_kept`.
    pub(super) fn put_aside(&self, taken: &Taken, refusal: &Error) -> Result<()> {
        self.kept.put_aside(&taken.event, refusal).map_err(|cause| not_kept(self.kept.path(), cause))?;
        let (code, detail) = (refusal.code().to_owned(), refusal.to_string());
        self.settle(taken, Outcome::Refused { code, detail, status: refusal.status().unwrap_or(0) });
        self.options.tell_error(refusal);
        Ok(())
    }

    fn settle(&self, taken: &Taken, outcome: Outcome) {
        let mut state = lock(&self.state);
        if !state.out.remove(&taken.number) {
            return;
        }
        match &outcome {
            Outcome::Kept(_) => state.anchored += 1,
            Outcome::Refused { .. } => state.refused += 1,
        }
        // Its files are synced, whatever became of the spool.
        state.durable += u64::from(!taken.segment.is_synced_to(taken.number));
        let removed = state.spool.settle(&taken.segment);
        drop(state);
        self.board.tell(taken.number, outcome);
        if let Err(cause) = removed {
            self.options.tell_error(&spool_write_failed(&taken.segment.path, "deleted", cause));
        }
    }

    /// A batch has ended: whoever waits looks again.
    pub(super) fn tell_changes(&self) {
        self.changes.send_modify(|count| *count += 1);
        self.options.tell_progress(&self.progress());
    }

    /// Nothing more can be sent by this recorder: its spool cannot be read, say.
    pub(super) fn break_down(&self, error: &Error) {
        lock(&self.state).failure = Some((error.code().to_owned(), error.to_string()));
        self.options.tell_error(error);
        self.tell_changes();
    }

    /// What was recorded so far survives the loss of power when this returns, but for files that cannot be synced:
    /// these are given up for good.
    pub(super) fn sync_now(&self) {
        let unsynced = lock(&self.state).spool.unsynced();
        for (segment, newest) in unsynced {
            match segment.sync(&*self.files) {
                Ok(()) => {
                    let mut state = lock(&self.state);
                    state.durable += segment.set_synced(newest);
                }
                Err(cause) => {
                    let mut state = lock(&self.state);
                    segment.give_up();
                    state.spool.leave(&segment);
                    drop(state);
                    self.options.tell_error(&spool_write_failed(&segment.path, "synced", cause));
                }
            }
        }
        self.board.syncs.send_modify(|count| *count += 1);
    }

    /// Takes no more events, and tells whoever waits.
    pub(super) fn close(&self) {
        lock(&self.state).is_closed = true;
        self.sync_now();
        self.board.close();
        self.changes.send_modify(|count| *count += 1);
        *lock(&self.folder_lock) = None;
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).is_closed
    }

    pub(super) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    pub(super) fn appended(&self) -> u64 {
        lock(&self.state).spool.appended()
    }

    pub(super) fn take_hurry(&self) -> bool {
        self.is_hurried.swap(false, SeqCst)
    }
}

fn check_failure(state: &State) -> Result<()> {
    match &state.failure {
        None => Ok(()),
        Some((code, message)) => Err(Error::recorder(code.clone(), message.clone())),
    }
}
