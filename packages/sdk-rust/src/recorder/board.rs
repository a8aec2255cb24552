//! What handles are told by: they outlive their recorder.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use tokio::sync::{watch, Notify};

use super::recorded_event::KeptEvent;

/// What became of an event.
#[derive(Clone)]
pub(super) enum Outcome {
    Kept(Arc<KeptEvent>),
    Refused { code: String, detail: String, status: u16 },
}

/// What became of an event whose handle somebody holds.
#[derive(Default)]
pub(super) struct Fate {
    pub(super) outcome: OnceLock<Outcome>,
    pub(super) told: Notify,
}

pub(super) struct Board {
    /// Rises with each sync of the spool, good or not.
    pub(super) syncs: watch::Sender<u64>,
    pub(super) sync_wanted: Notify,
    is_closed: AtomicBool,
    /// By the numbers of their events.
    fates: Mutex<HashMap<u64, Weak<Fate>>>,
}

/// What a thread has left that panicked is whole: nothing here is changed in two steps.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    pub(super) fn new() -> Self {
        Self {
            syncs: watch::Sender::new(0),
            sync_wanted: Notify::new(),
            is_closed: AtomicBool::new(false),
            fates: Mutex::default(),
        }
    }

    pub(super) fn await_fate(&self, number: u64) -> Arc<Fate> {
        let fate = Arc::new(Fate::default());
        lock(&self.fates).insert(number, Arc::downgrade(&fate));
        fate
    }

    /// Nobody waits for it any more.
    pub(super) fn forget(&self, number: u64) {
        lock(&self.fates).remove(&number);
    }

    pub(super) fn tell(&self, number: u64, outcome: Outcome) {
        let fate = lock(&self.fates).remove(&number).and_then(|fate| fate.upgrade());
        if let Some(fate) = fate {
            // It is told once: an event is settled once.
            let _ = fate.outcome.set(outcome);
            fate.told.notify_waiters();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(SeqCst)
    }

    /// Nothing more is synced or anchored.
    pub(super) fn close(&self) {
        self.is_closed.store(true, SeqCst);
        self.syncs.send_modify(|count| *count += 1);
        for fate in std::mem::take(&mut *lock(&self.fates)).into_values() {
            if let Some(fate) = fate.upgrade() {
                fate.told.notify_waiters();
            }
        }
    }
}
