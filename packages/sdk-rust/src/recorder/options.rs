//! How a recorder is opened, and what an event says beside its content.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::frame::OwnId;
use super::recorded_event::KeptEvent;
use crate::envelope::EnvelopeOptions;
use crate::error::{Error, Result};
use crate::input::SemanticAnchor;
use crate::signer::Signer;

pub(super) const BATCH_EVENTS_MAX: usize = 1_000;

/// How far a recorder is, since it was opened; what an earlier run has left counts as recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecorderProgress {
    /// Events in the spool, or once in it.
    pub recorded: u64,
    /// Those that survive the loss of power: they are synced, or kept.
    pub durable: u64,
    /// Those that are anchored and kept.
    pub anchored: u64,
    /// Those that the service refuses for good.
    pub refused: u64,
}

/// What a recorder calls while it sends: it should be brief. If it panics, the recorder goes on.
pub(super) type Callback<T> = Arc<dyn Fn(&T) + Send + Sync>;

/// How a recorder is opened.
#[derive(Clone)]
pub struct RecorderOptions {
    /// Where envelopes and receipts are kept; `None`: `kept` in the folder.
    pub keep: Option<PathBuf>,
    /// As many events go at once: 1 to 1,000.
    pub batch_events_max: usize,
    /// An event waits so long for others to go with it.
    pub batch_wait: Duration,
    /// More bytes of events that are not anchored yet are not taken: `spool_full`.
    pub spool_bytes_max: u64,
    /// Every event gets a salt that does not say otherwise, so that nobody can guess its content by its hash.
    pub salt: bool,
    /// Who acts, for the envelopes that do not say it.
    pub who: Option<String>,
    /// What events refer to that do not say it, such as the claim of who acts and the grant.
    pub semantic_anchor: SemanticAnchor,
    /// Signs every event, when it is sent.
    pub actor: Option<Arc<dyn Signer>>,
    /// See [`on_anchored`](Self::on_anchored()).
    pub on_anchored: Option<Callback<KeptEvent>>,
    /// See [`on_error`](Self::on_error()).
    pub on_error: Option<Callback<Error>>,
    /// See [`on_progress`](Self::on_progress()).
    pub on_progress: Option<Callback<RecorderProgress>>,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self {
            keep: None,
            batch_events_max: BATCH_EVENTS_MAX,
            batch_wait: Duration::from_millis(200),
            spool_bytes_max: 256 * 1024 * 1024,
            salt: false,
            who: None,
            semantic_anchor: SemanticAnchor::default(),
            actor: None,
            on_anchored: None,
            on_error: None,
            on_progress: None,
        }
    }
}

impl fmt::Debug for RecorderOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RecorderOptions").field("keep", &self.keep).finish_non_exhaustive()
    }
}

impl RecorderOptions {
    /// Is called with each event that is kept.
    #[must_use]
    pub fn on_anchored(mut self, call: impl Fn(&KeptEvent) + Send + Sync + 'static) -> Self {
        self.on_anchored = Some(Arc::new(call));
        self
    }

    /// Is called with what went wrong; without it, it is logged. What was not anchored is sent again.
    #[must_use]
    pub fn on_error(mut self, call: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Arc::new(call));
        self
    }

    /// Is called with the counts when they have changed.
    #[must_use]
    pub fn on_progress(mut self, call: impl Fn(&RecorderProgress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(call));
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        if !(1..=BATCH_EVENTS_MAX).contains(&self.batch_events_max) {
            return Err(Error::invalid_input("batch_events_max", format!("expected 1 to {BATCH_EVENTS_MAX}")));
        }
        Ok(())
    }

    pub(super) fn tell_anchored(&self, kept: &KeptEvent) {
        tell(self.on_anchored.as_ref(), kept);
    }

    pub(super) fn tell_error(&self, error: &Error) {
        match &self.on_error {
            Some(call) => tell(Some(call), error),
            None => log::warn!("recorded events are not anchored yet: {error}"),
        }
    }

    pub(super) fn tell_progress(&self, progress: &RecorderProgress) {
        tell(self.on_progress.as_ref(), progress);
    }
}

fn tell<T>(callback: Option<&Callback<T>>, value: &T) {
    let Some(call) = callback else { return };
    // It is the caller's, and must not end the recording of everybody else's events. The panic was printed.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| call(value)));
}

/// What an event says beside its content. The type of the event is enough:
/// [`Recorder::record`](crate::Recorder::record) takes a text, or [`EnvelopeOptions`], in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordOptions {
    /// What its envelope says.
    pub envelope: EnvelopeOptions,
    /// What it refers to; `None`: as the recorder was opened with.
    pub semantic_anchor: Option<SemanticAnchor>,
    /// 16 bytes of yours: the same id and content is one event. `None` draws some.
    pub client_event_id: Option<OwnId>,
}

impl From<EnvelopeOptions> for RecordOptions {
    fn from(envelope: EnvelopeOptions) -> Self {
        Self { envelope, semantic_anchor: None, client_event_id: None }
    }
}

impl From<&str> for RecordOptions {
    fn from(what: &str) -> Self {
        EnvelopeOptions::new(what).into()
    }
}
