//! What `record` gives back, and what is kept.

use std::fmt;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use super::board::{Board, Fate, Outcome};
use super::errors::{not_durable, not_flushed};
use super::frame::OwnId;
use super::spool::Segment;
use crate::answers::Anchor;
use crate::bytes::to_hex;
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::receipt::Receipt;

/// An event that is anchored, and the files that prove it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeptEvent {
    /// 32 hex digits, by which the files are named.
    pub client_event_id: String,
    /// SHA-256 of the file at `payload_path`.
    pub event_hash: Hash,
    /// As the service shows it.
    pub anchor: Anchor,
    /// Its proof.
    pub receipt: Receipt,
    /// The envelope.
    pub payload_path: PathBuf,
    /// The receipt, beside it.
    pub receipt_path: PathBuf,
    /// Bytes that were recorded as bytes; `None`: there are none.
    pub content_path: Option<PathBuf>,
}

/// An event that was recorded: the end of this process does not lose it. Dropping this changes nothing.
pub struct RecordedEvent {
    pub(super) client_event_id: OwnId,
    pub(super) event_hash: Hash,
    pub(super) number: u64,
    pub(super) segment: Arc<Segment>,
    pub(super) fate: Arc<Fate>,
    pub(super) board: Arc<Board>,
}

impl RecordedEvent {
    /// 32 hex digits, by which the service knows the event again.
    pub fn client_event_id(&self) -> String {
        to_hex(&self.client_event_id)
    }

    /// What is anchored: SHA-256 of its envelope.
    pub fn event_hash(&self) -> Hash {
        self.event_hash
    }

    /// Returns when the event survives the loss of power, too: its file is synced. Who asks starts a sync, which all
    /// who ask meanwhile share.
    ///
    /// # Errors
    /// `spool_write_failed` if the file could not be synced: then it gets no other sync, and this event, which is sent
    /// all the same, is durable when it is kept. `not_flushed` if the recorder ended before.
    pub async fn durable(&self) -> Result<()> {
        let mut syncs = self.board.syncs.subscribe();
        loop {
            if self.fate.outcome.get().is_some() || self.segment.is_synced_to(self.number) {
                return Ok(());
            }
            if self.segment.is_given_up() {
                return Err(not_durable());
            }
            if self.board.is_closed() {
                return Err(not_flushed(1));
            }
            self.board.sync_wanted.notify_one();
            // It cannot end: the board is held here.
            let _ = syncs.changed().await;
        }
    }

    /// Returns when the event is anchored, and envelope and receipt are on the disk.
    ///
    /// # Errors
    /// That of the service, with its `code()` and `status()`, if it refuses the event for good: it is in the folder
    /// `refused` then. `not_flushed` if the recorder was closed before: it is in the spool, and sent by the next one.
    pub async fn anchored(&self) -> Result<Arc<KeptEvent>> {
        loop {
            let mut told = pin!(self.fate.told.notified());
            told.as_mut().enable();
            match self.fate.outcome.get() {
                Some(Outcome::Kept(kept)) => return Ok(Arc::clone(kept)),
                Some(Outcome::Refused { code, detail, status }) => {
                    return Err(Error::refused_event(code, detail, *status, self.client_event_id()));
                }
                None if self.board.is_closed() => return Err(not_flushed(1)),
                None => told.await,
            }
        }
    }
}

impl Drop for RecordedEvent {
    fn drop(&mut self) {
        self.board.forget(self.number);
    }
}

impl fmt::Debug for RecordedEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RecordedEvent({})", self.client_event_id())
    }
}
