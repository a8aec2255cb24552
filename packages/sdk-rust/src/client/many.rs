//! Any number of events, as batches of which some are under way at once.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::stream::{FuturesOrdered, StreamExt as _};

use super::operations::BATCH_ITEMS_MAX;
use super::{random_hex, BatchOptions, Client};
use crate::answers::{BatchItemResult, CreatedBatch};
use crate::error::{Error, Result};
use crate::input::{ClientEventId, Event};
use crate::signer::BoxFuture;

/// A batch takes fewer events that carry a signature.
pub(crate) const SIGNED_ITEMS_MAX: usize = 256;
const CONCURRENCY_MAX: usize = 16;

/// What [`Client::create_many`] can be told besides its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManyOptions {
    /// Batches that are under way at once: 1 to 16.
    pub concurrency: usize,
}

impl Default for ManyOptions {
    fn default() -> Self {
        Self { concurrency: 2 }
    }
}

/// What the service says of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManyItem {
    /// The id that the event was sent with.
    pub client_event_id: String,
    /// Its anchor, or why it was refused.
    pub result: BatchItemResult,
}

/// The answers to any number of events: see [`Client::create_many`]. Nothing is sent between two calls of
/// [`next`](Self::next), and what is under way ends if this is dropped.
pub struct ManyEvents<I> {
    client: Client,
    events: I,
    concurrency: usize,
    /// Events of a batch that is not full yet.
    gathered: Vec<Event>,
    /// Taken and not answered, oldest first. The first ones are under way.
    batches: VecDeque<Arc<[Event]>>,
    under_way: FuturesOrdered<BoxFuture<'static, Result<CreatedBatch>>>,
    answered: VecDeque<ManyItem>,
    done: u64,
}

impl Client {
    /// Anchors any number of events, in batches. A `Recorder` keeps them on the disk, too. An event is taken from the
    /// iterator when there is room for it in a batch, and has an id before it is sent.
    ///
    /// ```no_run
    /// # async fn example(client: event_anchoring::Client) -> event_anchoring::Result<()> {
    /// use event_anchoring::{Event, Hash, ManyOptions};
    /// let events: Result<Vec<Event>, _> = ["a", "b"].iter().map(|text| Event::new(Hash::sha256(text))).collect();
    /// let mut many = client.create_many(events?, ManyOptions::default())?;
    /// while let Some(item) = many.next().await? {
    ///     println!("{}: {}", item.client_event_id, item.result.status);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `invalid_input`, naming the option.
    pub fn create_many<E>(&self, events: E, options: ManyOptions) -> Result<ManyEvents<E::IntoIter>>
    where
        E: IntoIterator<Item = Event>,
    {
        if !(1..=CONCURRENCY_MAX).contains(&options.concurrency) {
            return Err(Error::invalid_input("concurrency", format!("expected 1 to {CONCURRENCY_MAX}")));
        }
        Ok(ManyEvents {
            client: self.clone(),
            events: events.into_iter(),
            concurrency: options.concurrency,
            gathered: Vec::new(),
            batches: VecDeque::new(),
            under_way: FuturesOrdered::new(),
            answered: VecDeque::new(),
            done: 0,
        })
    }
}

impl<I: Iterator<Item = Event>> ManyEvents<I> {
    /// The answer to the next event, in their order; `None`: all are answered. After an error the next call asks again
    /// for what is left, with the same ids: what was recorded is replayed, not recorded twice.
    ///
    /// # Errors
    /// As [`create_event_anchors`](Client::create_event_anchors), of the first batch that failed; `outcome_unknown`
    /// with the ids of all events that may be recorded and of which nothing was said; `invalid_input` for an event that
    /// names itself [`ClientEventId::None`], which is left out.
    pub async fn next(&mut self) -> Result<Option<ManyItem>> {
        loop {
            if let Some(item) = self.answered.pop_front() {
                self.done += 1;
                return Ok(Some(item));
            }
            self.send_batches()?;
            match self.under_way.next().await {
                None => return Ok(None),
                Some(Ok(batch)) => self.take_answer(batch),
                Some(Err(error)) => return Err(self.interrupted(error).await),
            }
        }
    }

    /// How many answers [`next`](Self::next) has given.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Events that were taken from the iterator and are not answered, with the ids that they were sent with: whoever
    /// gives them to [`create_many`](Client::create_many) again, in another process say, records none of them twice.
    pub fn left(&self) -> impl Iterator<Item = &Event> {
        self.batches.iter().flat_map(|batch| batch.iter()).chain(&self.gathered)
    }

    fn send_batches(&mut self) -> Result<()> {
        while self.under_way.len() < self.concurrency {
            if self.under_way.len() == self.batches.len() {
                let Some(batch) = self.next_batch()? else { return Ok(()) };
                self.batches.push_back(batch.into());
            }
            let Some(batch) = self.batches.get(self.under_way.len()) else { return Ok(()) };
            let (client, batch) = (self.client.clone(), Arc::clone(batch));
            let options = BatchOptions { shared_receipts: true, ..BatchOptions::default() };
            self.under_way.push_back(Box::pin(async move { client.create_event_anchors(&batch, options).await }));
        }
        Ok(())
    }

    fn next_batch(&mut self) -> Result<Option<Vec<Event>>> {
        let mut signed = self.gathered.iter().filter(|event| event.actor.is_some()).count();
        for event in self.events.by_ref() {
            let event = named(event)?;
            let is_signed = event.actor.is_some();
            let is_full = self.gathered.len() == BATCH_ITEMS_MAX || is_signed && signed == SIGNED_ITEMS_MAX;
            let before = if is_full { std::mem::take(&mut self.gathered) } else { Vec::new() };
            signed += usize::from(is_signed);
            self.gathered.push(event);
            if is_full {
                return Ok(Some(before));
            }
        }
        let last = std::mem::take(&mut self.gathered);
        Ok((!last.is_empty()).then_some(last))
    }

    fn take_answer(&mut self, batch: CreatedBatch) {
        let events = self.batches.pop_front();
        let ids = events.iter().flat_map(|events| events.iter()).filter_map(id_of);
        self.answered =
            ids.zip(batch.results).map(|(client_event_id, result)| ManyItem { client_event_id, result }).collect();
    }

    /// Waits for the others that are under way, and tells of which nobody knows whether they are recorded.
    async fn interrupted(&mut self, error: Error) -> Error {
        let mut is_in_doubt = vec![error.is_outcome_unknown()];
        // If this future is dropped, they are dropped too: the next call asks again, from the first batch on.
        let mut others = std::mem::take(&mut self.under_way);
        while let Some(answer) = others.next().await {
            is_in_doubt.push(answer.map_or_else(|error| error.is_outcome_unknown(), |_| true));
        }
        let batches = self.batches.iter().zip(is_in_doubt).filter(|(_, is_in_doubt)| *is_in_doubt);
        let ids: Vec<Option<String>> = batches.flat_map(|(batch, _)| batch.iter().map(id_of)).collect();
        if ids.is_empty() {
            return error;
        }
        let message = format!("of {} events it is not known whether they are recorded: ask again", ids.len());
        let told = Error::outcome_unknown(message).with_client_event_ids(&ids).with_retry_after(error.retry_after());
        match error.request_id().map(str::to_owned) {
            Some(request_id) => told.with_request_id(&request_id).with_source(error),
            None => told.with_source(error),
        }
    }
}

fn id_of(event: &Event) -> Option<String> {
    match &event.client_event_id {
        ClientEventId::Given(id) => Some(id.clone()),
        ClientEventId::Generated | ClientEventId::None => None,
    }
}

/// An event with the id that it is sent with, so that an error can name it.
fn named(event: Event) -> Result<Event> {
    event.check()?;
    match event.client_event_id {
        ClientEventId::Given(_) => Ok(event),
        ClientEventId::Generated => {
            let id = random_hex::<16>()?;
            Ok(event.client_event_id(ClientEventId::Given(id)))
        }
        ClientEventId::None => Err(Error::invalid_input("client_event_id", "many are not sent without ids")),
    }
}
