//! From the spool to what is kept: when a batch goes, what becomes of each event of it, and when it is asked again.

use std::pin::pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, select, Either};
use tokio::time::{timeout_at, Instant};

use super::recording::{Anchored, Recording, Taken};
use super::requests::{is_about_events, is_for_good, is_signed, request_of};
use crate::answers::CreatedBatch;
use crate::client::{BatchOptions, Client, SIGNED_ITEMS_MAX};
use crate::error::{Error, Result};
use crate::input::Event;

const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Runs something that reads or writes files, where it holds up nobody else. `None`: the runtime has ended.
async fn blocking<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(run).await.ok()
}

/// Syncs the spool whenever somebody wants that; one sync serves all who have asked before it began.
pub(super) async fn sync_on(recording: Arc<Recording>) {
    let mut stop = recording.stop.subscribe();
    loop {
        let wanted = pin!(recording.board.sync_wanted.notified());
        let stopped = pin!(stop.wait_for(|is_stopping| *is_stopping));
        if let Either::Right(_) = select(wanted, stopped).await {
            return;
        }
        let syncing = Arc::clone(&recording);
        if blocking(move || syncing.sync_now()).await.is_none() {
            return;
        }
    }
}

pub(super) struct Delivery {
    recording: Arc<Recording>,
    client: Client,
    /// Committed, and without a receipt; or not now.
    again: Vec<Arc<Taken>>,
    again_at: Instant,
    again_pause: Duration,
}

/// The recorder was stopped.
struct Stopped;

impl Delivery {
    pub(super) fn new(recording: Arc<Recording>, client: Client) -> Self {
        Self { recording, client, again: Vec::new(), again_at: Instant::now(), again_pause: PAUSE_MIN }
    }

    /// Goes on until the recording stops.
    pub(super) async fn run(mut self) {
        let recording = Arc::clone(&self.recording);
        while !recording.is_stopping() {
            match self.due_at() {
                None => recording.wake.notified().await,
                Some(due) if due > Instant::now() => {
                    // Either the time is up, or there is something new: it is looked at again.
                    let _ = timeout_at(due, recording.wake.notified()).await;
                }
                Some(_) => {
                    if self.send_what_is_due().await.is_none() {
                        return;
                    }
                }
            }
        }
    }

    /// When something is to be sent; `None`: nothing waits.
    fn due_at(&self) -> Option<Instant> {
        let now = Instant::now();
        let is_hurried = self.recording.is_hurried.load(SeqCst);
        let again_at = (!self.again.is_empty()).then_some(if is_hurried { now } else { self.again_at });
        let (untaken, oldest_at) = self.recording.untaken();
        let options = &self.recording.options;
        let is_due = untaken >= options.batch_events_max as u64 || self.recording.flushes.load(SeqCst) > 0;
        let batch_at = match untaken {
            0 => None,
            _ if is_due => Some(now),
            _ => Some(now + options.batch_wait.saturating_sub(oldest_at.elapsed())),
        };
        again_at.into_iter().chain(batch_at).min()
    }

    async fn send_what_is_due(&mut self) -> Option<()> {
        let is_hurried = self.recording.take_hurry();
        let taking = Arc::clone(&self.recording);
        let mut batch = match blocking(move || taking.take()).await? {
            Ok(batch) => batch,
            Err(error) => {
                self.recording.break_down(&error);
                return None;
            }
        };
        if is_hurried || batch.is_empty() || Instant::now() >= self.again_at {
            batch.splice(0..0, self.again.drain(..));
        }
        let most = self.recording.options.batch_events_max;
        let mut parts: Vec<Vec<Arc<Taken>>> = parts_of(batch, most).collect();
        parts.reverse();
        self.send(parts).await.ok()
    }

    /// Asks until there is an answer about each event. The last part goes first.
    async fn send(&mut self, mut parts: Vec<Vec<Arc<Taken>>>) -> Result<(), Stopped> {
        let mut pause = PAUSE_MIN;
        while let Some(part) = parts.pop() {
            let Some((part, error)) = self.ask(&part).await? else {
                pause = PAUSE_MIN;
                self.recording.tell_changes();
                continue;
            };
            if is_about_events(&error) && part.len() > 1 {
                // One of them is the reason: halves are sent, until it is alone.
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second.to_vec(), first.to_vec()]);
            } else if is_about_events(&error) && error.is_problem() {
                self.refuse(part.into_iter().zip([error]).collect()).await?;
                self.recording.tell_changes();
            } else {
                self.recording.options.tell_error(&error);
                parts.push(part);
                self.rest(pause.max(error.retry_after().unwrap_or_default())).await?;
                pause = (2 * pause).min(PAUSE_MAX);
            }
        }
        Ok(())
    }

    /// One request. What is answered is settled, or asked again later. Returns what was asked for, if nothing is said
    /// of single events.
    async fn ask(&mut self, part: &[Arc<Taken>]) -> Result<Option<(Vec<Arc<Taken>>, Error)>, Stopped> {
        let (asked, events) = self.requests(part).await;
        if events.is_empty() {
            return Ok(None);
        }
        let options = BatchOptions { shared_receipts: true, ..BatchOptions::default() };
        let mut stop = self.recording.stop.subscribe();
        let asking = async {
            let answer = pin!(self.client.create_event_anchors(&events, options));
            let stopped = pin!(stop.wait_for(|is_stopping| *is_stopping));
            match select(answer, stopped).await {
                Either::Left((answer, _)) => Ok(answer),
                // What may be recorded is in the spool, and is sent with the same ids by the next recorder.
                Either::Right(_) => Err(Stopped),
            }
        };
        match join(asking, self.synced(&asked)).await.0? {
            Ok(batch) => self.sort_out(asked, batch).await.map(|()| None),
            Err(error) => Ok(Some((asked, error))),
        }
    }

    /// The spool's files of these events are synced, or given up.
    async fn synced(&self, events: &[Arc<Taken>]) {
        let board = &self.recording.board;
        let mut syncs = board.syncs.subscribe();
        let is_done = |taken: &Arc<Taken>| taken.segment.is_synced_to(taken.number) || taken.segment.is_given_up();
        while !events.iter().all(is_done) && !self.recording.is_stopping() {
            board.sync_wanted.notify_one();
            let mut stop = self.recording.stop.subscribe();
            select(pin!(syncs.changed()), pin!(stop.wait_for(|is_stopping| *is_stopping))).await;
        }
    }

    /// Events as the client takes them, without those that nobody here can sign.
    async fn requests(&mut self, part: &[Arc<Taken>]) -> (Vec<Arc<Taken>>, Vec<Event>) {
        let recording = Arc::clone(&self.recording);
        let (mut asked, mut events) = (Vec::with_capacity(part.len()), Vec::with_capacity(part.len()));
        for taken in part {
            match request_of(&self.client, recording.options.actor.as_deref(), &taken.event).await {
                Ok(event) => {
                    asked.push(Arc::clone(taken));
                    events.push(event);
                }
                Err(error) => {
                    recording.options.tell_error(&error);
                    self.ask_again(vec![Arc::clone(taken)]);
                }
            }
        }
        (asked, events)
    }

    async fn sort_out(&mut self, asked: Vec<Arc<Taken>>, answer: CreatedBatch) -> Result<(), Stopped> {
        let (mut anchored, mut refused, mut again) = (Vec::<Anchored>::new(), Vec::new(), Vec::new());
        for (taken, result) in asked.into_iter().zip(answer.results) {
            let error = result.problem.map(|problem| Error::from_problem(problem.status, problem));
            match (result.anchor, result.receipt, error) {
                (Some(anchor), Some(receipt), None) => anchored.push((taken, anchor, receipt)),
                (_, _, Some(error)) if is_for_good(&error) => refused.push((taken, error)),
                (_, _, error) => {
                    if let Some(error) = error {
                        self.recording.options.tell_error(&error);
                    }
                    again.push(taken);
                }
            }
        }
        if again.is_empty() && self.again.is_empty() {
            self.again_pause = PAUSE_MIN;
        }
        self.ask_again(again);
        self.refuse(refused).await?;
        let keeping = Arc::clone(&self.recording);
        let kept = blocking(move || (keeping.keep(&anchored), anchored)).await;
        let (kept, anchored) = kept.ok_or(Stopped)?;
        if let Err(error) = kept {
            // The files could not be written. The service will replay what it has recorded.
            self.recording.options.tell_error(&error);
            self.ask_again(anchored.into_iter().map(|(taken, ..)| taken).collect());
        }
        Ok(())
    }

    async fn refuse(&mut self, refused: Vec<(Arc<Taken>, Error)>) -> Result<(), Stopped> {
        for (taken, error) in refused {
            let (recording, put_aside) = (Arc::clone(&self.recording), Arc::clone(&taken));
            let done = blocking(move || recording.put_aside(&put_aside, &error)).await.ok_or(Stopped)?;
            if let Err(error) = done {
                self.recording.options.tell_error(&error);
                self.ask_again(vec![taken]);
            }
        }
        Ok(())
    }

    fn ask_again(&mut self, events: Vec<Arc<Taken>>) {
        if events.is_empty() {
            return;
        }
        if self.again.is_empty() {
            self.again_at = Instant::now() + self.again_pause;
            self.again_pause = (2 * self.again_pause).min(PAUSE_MAX);
        }
        self.again.extend(events);
    }

    /// Waits so long, or until somebody is in a hurry.
    async fn rest(&self, time: Duration) -> Result<(), Stopped> {
        let until = Instant::now() + time;
        while !self.recording.is_stopping() && !self.recording.take_hurry() {
            if timeout_at(until, self.recording.wake.notified()).await.is_err() {
                break;
            }
        }
        if self.recording.is_stopping() {
            return Err(Stopped);
        }
        Ok(())
    }
}

/// Batches that the service takes: events in their order, and of those that are signed not too many.
fn parts_of(batch: Vec<Arc<Taken>>, most: usize) -> impl Iterator<Item = Vec<Arc<Taken>>> {
    let mut left = batch.into_iter().peekable();
    std::iter::from_fn(move || {
        let (mut part, mut signed) = (Vec::new(), 0);
        while let Some(taken) = left.next_if(|taken| {
            signed += usize::from(is_signed(&taken.event));
            part.len() < most && signed <= SIGNED_ITEMS_MAX
        }) {
            part.push(taken);
        }
        (!part.is_empty()).then_some(part)
    })
}
