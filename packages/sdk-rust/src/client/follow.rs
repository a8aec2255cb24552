//! The feed of an origin, from its events to verified heads.

use std::collections::VecDeque;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::{sleep, timeout, Instant};

use super::event_stream::{EventStream, ServerSentEvent};
use super::logging::{log_request, outcome_of};
use super::operations::read_proof;
use super::refusal::{refusal, unanswered, Asked};
use super::retry::chance;
use super::transport::{HttpBody, HttpResponse, HttpStream, TransportFailure, TransportStage};
use super::{random_hex, Call, Client, KeyUse};
use crate::answers::LatestConsistency;
use crate::error::{Error, Result};
use crate::hash::{Hash, OriginFingerprint};
use crate::merkle::is_consistent;
use crate::verify_checkpoint::VerifiedCheckpoint;

/// So many tries in a row, before the first feed was opened, and the error is returned: the address may be wrong.
const UNOPENED_TRIES_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// A feed that has lived so long did not fail at once: the pauses begin anew.
const STEADY: Duration = Duration::from_secs(10);
/// A refusal is far smaller.
const REFUSAL_BYTES_MAX: usize = 1024 * 1024;

/// A head that was verified before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldHead {
    /// Leaves in the tree.
    pub tree_size: u64,
    /// Its root.
    pub root_hash: Hash,
}

/// A head whose signatures and quorum are good, and which is proved to continue the one before.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FollowedHead {
    /// The head, verified.
    pub checkpoint: VerifiedCheckpoint,
    /// The whole signed note: evidence, should another come up.
    pub note: String,
    /// Leaves in the head before; `None`: this is the first, and none was held.
    pub previous_tree_size: Option<u64>,
}

impl From<&FollowedHead> for HeldHead {
    fn from(head: &FollowedHead) -> Self {
        let checkpoint = &head.checkpoint.checkpoint;
        Self { tree_size: checkpoint.tree_size, root_hash: checkpoint.root_hash }
    }
}

/// What following can be told.
#[derive(Clone, Debug)]
pub struct FollowOptions {
    /// `None`: the origin that writes go to.
    pub origin_fingerprint: Option<OriginFingerprint>,
    /// The head at which an earlier run has ended: the first one is then larger, and proved from it.
    pub after: Option<HeldHead>,
    /// A connection on which nothing has come for so long is dead. A node sends something every 10 seconds.
    pub silence_max: Duration,
}

impl Default for FollowOptions {
    fn default() -> Self {
        Self { origin_fingerprint: None, after: None, silence_max: Duration::from_secs(30) }
    }
}

/// Follows the heads of an origin: see [`Client::follow_heads`].
pub struct HeadFollower {
    client: Client,
    options: FollowOptions,
    feed: Option<Feed>,
    /// Counted on from one endpoint to the next.
    place: usize,
    failures: u32,
    has_opened: bool,
}

/// A feed that is open.
struct Feed {
    body: Box<dyn HttpBody>,
    stream: EventStream,
    events: VecDeque<ServerSentEvent>,
    opened_at: Option<Instant>,
    asked: Asked,
}

#[derive(Deserialize)]
struct HeadEvent {
    checkpoint: String,
    consistency: Option<LatestConsistency>,
}

impl Client {
    /// Follows the heads of an origin as they come, each verified before you have it, until you drop what this returns.
    /// The client needs a trust root. A feed that breaks is taken up after the last head, after growing pauses, at the
    /// next endpoint.
    pub fn follow_heads(&self, options: FollowOptions) -> HeadFollower {
        let client = self.clone();
        HeadFollower { client, options, feed: None, place: 0, failures: 0, has_opened: false }
    }
}

impl HeadFollower {
    /// The next head. It may be dropped before it is ready, and called again: no head is lost.
    ///
    /// # Errors
    /// `rollback`, `split_view`: a head contradicts the one before; another [verification](Error::is_verification)
    /// error: a head is not good; the problem of a feed that is refused; that of the connection, if no endpoint has
    /// opened a feed at all.
    pub async fn next(&mut self) -> Result<FollowedHead> {
        loop {
            let error = match self.advance().await {
                Ok(head) => {
                    self.failures = 0;
                    return Ok(head);
                }
                Err(error) => error,
            };
            let opened_at = self.feed.take().and_then(|feed| feed.opened_at);
            if !is_passing(&error) {
                return Err(self.refused(error));
            }
            if opened_at.is_some_and(|at| at.elapsed() >= STEADY) {
                self.failures = 0;
            }
            self.failures += 1;
            if !self.has_opened && self.failures >= UNOPENED_TRIES_MAX {
                self.failures = 0;
                return Err(error);
            }
            let backoff = PAUSE.saturating_mul(2_u32.saturating_pow(self.failures - 1)).min(PAUSE_MAX);
            sleep(backoff.mul_f64(0.5 + chance() / 2.0).max(error.retry_after().unwrap_or_default())).await;
        }
    }

    async fn advance(&mut self) -> Result<FollowedHead> {
        if self.feed.is_none() {
            self.feed = Some(self.open().await?);
        }
        loop {
            while let Some(event) = self.feed.as_ref().and_then(|feed| feed.events.front().cloned()) {
                let head = self.judge(&event).await?;
                // Taken only now: a future that is dropped before loses nothing.
                self.feed.as_mut().and_then(|feed| feed.events.pop_front());
                if let Some(head) = head {
                    self.options.after = Some((&head).into());
                    return Ok(head);
                }
            }
            let silence_max = self.options.silence_max;
            let Some(feed) = self.feed.as_mut() else { return Err(ended("")) };
            let chunk = received(feed.body.as_mut(), silence_max, &feed.asked).await?;
            let Some(chunk) = chunk else { return Err(ended("by the other side")) };
            self.has_opened = true;
            feed.opened_at.get_or_insert_with(Instant::now);
            feed.stream.push(&chunk, &mut feed.events)?;
        }
    }

    /// One try at the next endpoint.
    async fn open(&mut self) -> Result<Feed> {
        if self.client.held_trust_root().is_none() {
            return Err(Error::invalid_input("trust_root", "heads are verified: make the client with a trust root"));
        }
        let (client, silence_max) = (&self.client, self.options.silence_max);
        let origin = match self.options.origin_fingerprint {
            Some(origin) => origin,
            None => client.origin_fingerprint().await?,
        };
        self.options.origin_fingerprint = Some(origin);
        let call = Call {
            key: KeyUse::Welcome,
            accept: "text/event-stream",
            timeout: silence_max,
            ..client.get(format!("/v1/origins/{origin}/feed"))
        };
        let place = self.place % client.shared.endpoints.len();
        let asked = Asked { endpoint: client.endpoint(place).to_owned(), request_id: random_hex::<8>()? };
        let mut request = client.request(&call, None, place, &asked.request_id);
        if let Some(held) = &self.options.after {
            request.headers.push(("last-event-id", held.tree_size.to_string()));
        }
        let started = Instant::now();
        let opened = timeout(silence_max, client.shared.transport.open(request)).await;
        log_request(&call, &asked, 1, outcome_of(&opened, |stream| stream.status), started.elapsed());
        self.place = self.place.wrapping_add(1);
        let HttpStream { status, headers, mut body } = match opened {
            Ok(opened) => opened.map_err(|error| lost(error, &asked))?,
            Err(elapsed) => return Err(unanswered(TransportStage::TimedOut, false, &asked, elapsed.into()).error),
        };
        if status == 200 {
            let (stream, events) = (EventStream::default(), VecDeque::new());
            return Ok(Feed { body, stream, events, opened_at: None, asked });
        }
        // A 429 is about the API key: another endpoint would say the same.
        if status == 429 {
            self.place = self.place.wrapping_sub(1);
        }
        let mut response = HttpResponse { status, headers, body: Vec::new() };
        while let Some(chunk) = received(body.as_mut(), silence_max, &asked).await? {
            response.body.extend_from_slice(&chunk);
            if response.body.len() > REFUSAL_BYTES_MAX {
                return Err(Error::response_invalid("the answer is too large").with_status(status));
            }
        }
        Err(refusal(&response, &asked.request_id, client.shared.api_key.as_deref().map(String::as_str)))
    }

    /// What an event shows; `None`: no head, or the one that was given out last once more.
    async fn judge(&self, event: &ServerSentEvent) -> Result<Option<FollowedHead>> {
        match event.kind.as_str() {
            "head" => {}
            "end" => return Err(ended(&format!("by the node: {}", event.data))),
            _ => return Ok(None),
        }
        let shown: HeadEvent = serde_json::from_str(&event.data)
            .map_err(|cause| Error::response_invalid("an event is no head").with_source(cause))?;
        let verified = self.client.checked_checkpoint(&shown.checkpoint).await?;
        if Some(verified.origin_fingerprint) != self.options.origin_fingerprint {
            return Err(Error::verification("origin_differs", "the head is of another origin"));
        }
        let head = &verified.checkpoint;
        let held = self.options.after.as_ref();
        if let Some(held) = held {
            let is_larger = head.tree_size > held.tree_size;
            let proof = shown.consistency.filter(|proof| proof.from_size == held.tree_size);
            if is_larger && proof.is_none() {
                let detail = format!("the proof of a head does not begin at {} leaves", held.tree_size);
                return Err(Error::response_invalid(detail));
            }
            let proof = if is_larger { proof.map_or_else(Vec::new, |proof| proof.proof) } else { Vec::new() };
            compare(held, head.tree_size, &head.root_hash, &read_proof(&proof)?)?;
            if !is_larger {
                return Ok(None);
            }
        }
        let previous_tree_size = held.map(|held| held.tree_size);
        Ok(Some(FollowedHead { checkpoint: verified, note: shown.checkpoint, previous_tree_size }))
    }

    /// A quorum that does not know a head that was seen has rolled back.
    fn refused(&self, error: Error) -> Error {
        match &self.options.after {
            Some(held) if error.code() == "from_size_ahead" => {
                let detail = format!("a head of {} leaves was seen before, and a quorum knows less", held.tree_size);
                Error::verification("rollback", detail).with_source(error)
            }
            _ => error,
        }
    }
}

fn compare(held: &HeldHead, tree_size: u64, root_hash: &Hash, proof: &[Hash]) -> Result<()> {
    if tree_size < held.tree_size {
        let detail = format!("the head has {tree_size} leaves, one of {} was seen before", held.tree_size);
        return Err(Error::verification("rollback", detail));
    }
    if is_consistent(held.tree_size, &held.root_hash, tree_size, root_hash, proof) {
        return Ok(());
    }
    let detail = format!("the tree of {} leaves is not the beginning of that of {tree_size}", held.tree_size);
    Err(Error::verification("split_view", detail))
}

async fn received(body: &mut dyn HttpBody, silence_max: Duration, asked: &Asked) -> Result<Option<Vec<u8>>> {
    match timeout(silence_max, body.next_chunk()).await {
        Ok(chunk) => chunk.map_err(|error| lost(error, asked)),
        Err(elapsed) => Err(unanswered(TransportStage::TimedOut, false, asked, elapsed.into()).error),
    }
}

fn lost(TransportFailure { stage, source }: TransportFailure, asked: &Asked) -> Error {
    unanswered(stage, false, asked, source).error
}

fn ended(how: &str) -> Error {
    Error::connection_failed(format!("the feed was ended {how}"))
}

/// What another try, or another node, may do better.
fn is_passing(error: &Error) -> bool {
    let is_of_node = error.is_problem() && error.status().is_some_and(|status| status >= 500);
    error.is_connection_failed() || error.is_timeout() || error.is_rate_limited() || is_of_node
}
