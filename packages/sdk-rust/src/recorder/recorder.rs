//! The recorder itself.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::board::lock;
use super::delivery::{sync_on, Delivery};
use super::errors::{closed, not_flushed};
use super::files::{Files, SystemFiles};
use super::frame::write_frame;
use super::options::{RecordOptions, RecorderOptions, RecorderProgress};
use super::recorded_event::RecordedEvent;
use super::recording::Recording;
use super::requests::fields_of;
use crate::client::Client;
use crate::envelope::{encode, salt_of, time_text, Content, Salt};
use crate::error::{Error, Result};
use crate::hash::{Hash, PublicKey};

const CONTENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Writes down what happens, and has it anchored in the background.
///
/// ```no_run
/// # async fn example(client: event_anchoring::Client) -> event_anchoring::Result<()> {
/// use event_anchoring::{EnvelopeOptions, Recorder, RecorderOptions};
/// let recorder = Recorder::open(client, "audit", RecorderOptions::default()).await?;
/// let refund = serde_json::json!({"order": "4711", "amount": 19.5});
/// recorder.record(&refund, EnvelopeOptions::new("refund.paid").who("billing-agent"))?;
/// recorder.close(std::time::Duration::from_secs(10)).await;
/// # Ok(())
/// # }
/// ```
///
/// [`record`](Self::record) returns when the event is written to the folder: `kill -9` loses nothing then. A task sends
/// what waits in batches, asks again with the same ids until each event is anchored, exactly once, and puts its
/// envelope and its receipt into `kept`. What is left at the end is sent by the next recorder of the folder, in any
/// language.
///
/// It may be used by many threads at once, by one process. Close it at the end: if it is dropped, nothing more is sent.
pub struct Recorder {
    recording: Arc<Recording>,
    /// Fields of a request that refers to what the recorder was opened with.
    fields: Vec<u8>,
    actor_public_key: Option<PublicKey>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Recorder {
    /// Takes the folder, which is made if it is not there, and begins to send what an earlier run has left in it, with
    /// tasks of the tokio runtime that this is called in.
    ///
    /// # Errors
    /// `invalid_input`, `folder_in_use`, `spool_corrupt`; `spool_write_failed` if the folder cannot be made.
    pub async fn open(client: Client, directory: impl Into<PathBuf>, options: RecorderOptions) -> Result<Self> {
        Self::open_with(client, directory.into(), options, Arc::new(SystemFiles)).await
    }

    pub(super) async fn open_with(
        client: Client,
        directory: PathBuf,
        options: RecorderOptions,
        files: Arc<dyn Files>,
    ) -> Result<Self> {
        options.check()?;
        let actor_public_key = options.actor.as_ref().map(|actor| actor.public_key());
        let fields = fields_of(&options.semantic_anchor, actor_public_key)?;
        let runtime = Handle::try_current().map_err(|cause| {
            Error::invalid_input("runtime", "a recorder is opened in a tokio runtime").with_source(cause)
        })?;
        let opening = runtime.spawn_blocking(move || Recording::open(&directory, options, files));
        let recording = Arc::new(opening.await.map_err(|_| closed())??);
        let delivery = Delivery::new(Arc::clone(&recording), client);
        let tasks = vec![runtime.spawn(sync_on(Arc::clone(&recording))), runtime.spawn(delivery.run())];
        Ok(Self { recording, fields, actor_public_key, tasks: Mutex::new(tasks) })
    }

    /// Records an event: it survives the end of the process when this returns. Needs no runtime, and does not wait for
    /// the service.
    ///
    /// # Errors
    /// Nothing was recorded then: `envelope_malformed`, `envelope_number_unsafe`, `envelope_too_large`,
    /// `invalid_input`; `spool_full`: wait with [`room`](Self::room), or do without it; `spool_write_failed`.
    pub fn record<'a>(
        &self,
        content: impl Into<Content<'a>>,
        options: impl Into<RecordOptions>,
    ) -> Result<RecordedEvent> {
        let (content, RecordOptions { envelope: options, semantic_anchor, client_event_id }) =
            (content.into(), options.into());
        let own = &self.recording.options;
        let apart = if let Content::Bytes(bytes) = content { Some(bytes) } else { None };
        if apart.is_some_and(|bytes| bytes.len() > CONTENT_BYTES_MAX) {
            let message = format!("over {CONTENT_BYTES_MAX} bytes: keep it yourself, and record its hash");
            return Err(Error::invalid_input("content", message));
        }
        let usual = if own.salt { Salt::Drawn } else { Salt::None };
        let salt = salt_of(options.salt.as_ref().unwrap_or(&usual))?;
        let who = options.who.as_deref().or(own.who.as_deref());
        let envelope = encode(&content, &options, &time_text(&options.when)?, who, salt)?;
        let client_event_id = client_event_id.map_or_else(drawn, Ok)?;
        let frame = match semantic_anchor {
            None => write_frame(&client_event_id, apart, &self.fields, &envelope),
            Some(other) => {
                let fields = fields_of(&other, self.actor_public_key)?;
                write_frame(&client_event_id, apart, &fields, &envelope)
            }
        };
        self.recording.add(client_event_id, Hash::sha256(&envelope), &frame)
    }

    /// The same for a content that you keep yourself, by its SHA-256 and its number of bytes.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub fn record_hash(&self, hash: Hash, size: u64, options: impl Into<RecordOptions>) -> Result<RecordedEvent> {
        self.record(Content::Hash { hash, size }, options)
    }

    /// How many events are recorded, durable and anchored.
    pub fn progress(&self) -> RecorderProgress {
        self.recording.progress()
    }

    /// Returns when what was refused as `spool_full` would be taken.
    ///
    /// # Errors
    /// That nothing more is sent: `invalid_input` if the recorder is closed, or why it cannot read its spool.
    pub async fn room(&self) -> Result<()> {
        let mut changes = self.recording.changes.subscribe();
        while !self.recording.has_room()? {
            if self.recording.is_closed() {
                return Err(closed());
            }
            // It cannot end: the recording is held here.
            let _ = changes.changed().await;
        }
        Ok(())
    }

    /// Returns when all is settled that was recorded by now: anchored and kept, or refused for good.
    ///
    /// # Errors
    /// `not_flushed` if the time was up; why it cannot read its spool.
    pub async fn flush(&self, time: Duration) -> Result<()> {
        let recording = &self.recording;
        let number = recording.appended();
        let mut changes = recording.changes.subscribe();
        let flush = Flush::begin(recording);
        let settled = async {
            while !recording.is_settled_to(number)? {
                if recording.is_closed() {
                    return Err(not_flushed(recording.left()));
                }
                let _ = changes.changed().await;
            }
            Ok(())
        };
        let flushed = timeout(time, settled).await;
        drop(flush);
        flushed.unwrap_or_else(|_| Err(not_flushed(recording.left())))
    }

    /// Flushes, at most for so long, and lets go of the folder.
    ///
    /// Returns how many events are left: the next recorder of the folder sends them.
    pub async fn close(&self, time: Duration) -> u64 {
        if self.recording.is_closed() || self.recording.is_stopping() {
            return 0;
        }
        // Whatever is not flushed is counted.
        let _ = self.flush(time).await;
        self.recording.stop.send_replace(true);
        self.recording.wake.notify_one();
        let tasks = std::mem::take(&mut *lock(&self.tasks));
        for task in tasks {
            // A file that is being written is waited for.
            let _ = task.await;
        }
        let closing = Arc::clone(&self.recording);
        let _ = tokio::task::spawn_blocking(move || closing.close()).await;
        self.recording.left()
    }
}

/// While it is there, nothing waits for others to go with it.
struct Flush<'a>(&'a Recording);

impl<'a> Flush<'a> {
    fn begin(recording: &'a Recording) -> Self {
        recording.flushes.fetch_add(1, SeqCst);
        recording.is_hurried.store(true, SeqCst);
        recording.wake.notify_one();
        Self(recording)
    }
}

impl Drop for Flush<'_> {
    fn drop(&mut self) {
        self.0.flushes.fetch_sub(1, SeqCst);
    }
}

fn drawn() -> Result<[u8; 16]> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|cause| {
        Error::invalid_input("client_event_id", "the system has no randomness").with_source(cause.to_string())
    })?;
    Ok(id)
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.recording.stop.send_replace(true);
        self.recording.wake.notify_one();
        self.recording.board.close();
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Recorder({:?})", self.progress())
    }
}
