//! Keeps the last EEA of each origin, and raises when a later one is not consistent with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::operations::read_proof;
use super::Client;
use crate::answers::Latest;
use crate::error::{Error, Result};
use crate::hash::{Hash, OriginFingerprint};
use crate::merkle::is_consistent;
use crate::signer::BoxFuture;
use crate::trust_root_chain::TrustRootChain;
use crate::verify_checkpoint::{verify_checkpoint, VerifiedCheckpoint};
use crate::verify_receipt::{verify_receipt, ReceiptExpectation};

/// Where a [`Monitor`] keeps what it has seen. Altering it can make the monitor forget, and nothing else.
pub trait MonitorStore: Send + Sync {
    /// What was saved last; `None`: nothing yet.
    fn load(&self) -> BoxFuture<'_, Result<Option<String>>>;
    /// Replaces it as a whole: after a crash either the old or the new is there.
    fn save<'a>(&'a self, state: &'a str) -> BoxFuture<'a, Result<()>>;
}

/// Keeps it in this process alone.
#[derive(Debug, Default)]
pub struct MemoryMonitorStore(Mutex<Option<String>>);

impl MonitorStore for MemoryMonitorStore {
    fn load(&self) -> BoxFuture<'_, Result<Option<String>>> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(std::future::ready(Ok(state)))
    }

    fn save<'a>(&'a self, state: &'a str) -> BoxFuture<'a, Result<()>> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(state.to_owned());
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Keeps it in a small file, which is replaced by renaming.
#[derive(Clone, Debug)]
pub struct FileMonitorStore(PathBuf);

impl FileMonitorStore {
    /// The folder must exist.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self(path.as_ref().to_owned())
    }

    fn read(&self) -> std::io::Result<Option<String>> {
        match std::fs::read_to_string(&self.0) {
            Ok(state) => Ok(Some(state)),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(cause),
        }
    }

    fn replace(&self, state: &str) -> std::io::Result<()> {
        use std::io::Write as _;
        let mut beside = self.0.clone().into_os_string();
        beside.push(".new");
        let mut file = std::fs::File::create(&beside)?;
        file.write_all(state.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, &self.0)
    }
}

impl MonitorStore for FileMonitorStore {
    fn load(&self) -> BoxFuture<'_, Result<Option<String>>> {
        Box::pin(std::future::ready(self.read().map_err(Error::from_store)))
    }

    fn save<'a>(&'a self, state: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(std::future::ready(self.replace(state).map_err(Error::from_store)))
    }
}

const FORMAT: &str = "event-anchoring/v4.2/monitor";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    format: String,
    trust_root: Option<SeenTrustRoot>,
    origins: BTreeMap<String, SeenHead>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SeenTrustRoot {
    version: u32,
    root_thk: Hash,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SeenHead {
    tree_size: u64,
    root_hash: Hash,
    /// The signed note: evidence, should another come up.
    checkpoint: String,
}

/// What looking at an origin has shown.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Observation {
    /// The head, verified.
    pub checkpoint: VerifiedCheckpoint,
    /// The size that was seen before; `None`: this is the first look.
    pub seen_size: Option<u64>,
}

/// Watches origins of one cluster. It trusts a pinned RootTHK and its own store, and no node.
///
/// Errors that are evidence of misbehaviour are [verification errors](Error::is_verification): `rollback` (an older
/// head or trust root), `split_view` (another tree than the one seen before), `fork` (another trust root), and the
/// codes of receipts.
pub struct Monitor<S> {
    client: Client,
    pinned_root_thk: Hash,
    store: S,
}

impl<S: MonitorStore> Monitor<S> {
    /// A monitor that knows what the store holds.
    ///
    /// # Errors
    /// `invalid_input` if the pin is no hash.
    pub fn new<H>(client: Client, pinned_root_thk: H, store: S) -> Result<Self>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        Ok(Self { client, pinned_root_thk: crate::input::read("pinned_root_thk", pinned_root_thk)?, store })
    }

    /// Looks at an origin once: fetches trust root and head, verifies both, holds them against what was seen before,
    /// and remembers them. If it fails, nothing is remembered.
    ///
    /// # Errors
    /// See [`Monitor`]; also those of the connection and `no_anchor_yet`.
    pub async fn update(&self, origin_fingerprint: &OriginFingerprint) -> Result<Observation> {
        let mut state = self.load().await?;
        let chain = self.client.trust_root_chain(self.pinned_root_thk).await?;
        if let Some(seen) = &state.trust_root {
            chain.check_not_older(seen.version, &seen.root_thk)?;
        }
        let key = origin_fingerprint.to_hex();
        let seen = state.origins.get(&key).cloned();
        let latest = self.latest(origin_fingerprint, seen.as_ref()).await?;
        let verified = judge(&latest, origin_fingerprint, &chain, seen.as_ref())?;
        let newest = chain.newest();
        state.trust_root = Some(SeenTrustRoot { version: newest.trust_root().version, root_thk: *newest.root_thk() });
        let checkpoint = latest.checkpoint;
        let (tree_size, root_hash) = (verified.checkpoint.tree_size, verified.checkpoint.root_hash);
        state.origins.insert(key, SeenHead { tree_size, root_hash, checkpoint });
        let text = serde_json::to_string(&state).map_err(Error::from_store)?;
        self.store.save(&text).await?;
        Ok(Observation { checkpoint: verified, seen_size: seen.map(|seen| seen.tree_size) })
    }

    async fn load(&self) -> Result<State> {
        let Some(text) = self.store.load().await? else {
            return Ok(State { format: FORMAT.to_owned(), trust_root: None, origins: BTreeMap::new() });
        };
        // A store that cannot be read is not an empty one: starting over would forget what was promised.
        let state: State = serde_json::from_str(&text).map_err(Error::from_store)?;
        if state.format != FORMAT {
            return Err(Error::from_store("the store is of another format"));
        }
        Ok(state)
    }

    async fn latest(&self, origin_fingerprint: &OriginFingerprint, seen: Option<&SeenHead>) -> Result<Latest> {
        let from_size = seen.map(|seen| seen.tree_size);
        let answered = self.client.latest(Some(origin_fingerprint), from_size).await;
        answered.map_err(|error| match error.code() {
            "from_size_ahead" | "no_anchor_yet" if seen.is_some() => {
                Error::verification("rollback", "the service knows no head as new as the one seen before")
                    .with_source(error)
            }
            _ => error,
        })
    }
}

/// Holds an answer against the trust root and against what was seen before.
fn judge(
    latest: &Latest,
    origin_fingerprint: &OriginFingerprint,
    chain: &TrustRootChain,
    seen: Option<&SeenHead>,
) -> Result<VerifiedCheckpoint> {
    let verified = verify_checkpoint(&latest.checkpoint, chain)?;
    if verified.origin_fingerprint != *origin_fingerprint {
        return Err(Error::verification("origin_differs", "the head is of another origin"));
    }
    let expect = ReceiptExpectation::anchor(latest.anchor.anchor_id);
    let receipt = verify_receipt(&latest.receipt, chain, &expect)?;
    let head = &verified.checkpoint;
    let is_last = receipt.leaf.header.depth.checked_add(1) == Some(head.tree_size);
    if !is_last || latest.receipt.tree_size() != head.tree_size {
        return Err(Error::verification("index_differs", "the anchor is not the last leaf of the head"));
    }
    let Some(seen) = seen else { return Ok(verified) };
    if head.tree_size < seen.tree_size {
        let detail = format!("the head has {} leaves, one of {} was seen before", head.tree_size, seen.tree_size);
        return Err(Error::verification("rollback", detail));
    }
    let proof = match &latest.consistency {
        Some(consistency) => read_proof(&consistency.proof)?,
        None if head.tree_size == seen.tree_size => Vec::new(),
        None => return Err(Error::verification("consistency_missing", "the service gave no consistency proof")),
    };
    let (old, new) = ((seen.tree_size, &seen.root_hash), (head.tree_size, &head.root_hash));
    if !is_consistent(old.0, old.1, new.0, new.1, &proof) {
        let detail = format!("the tree of {} leaves seen before is not the beginning of that of {}", old.0, new.0);
        return Err(Error::verification("split_view", detail));
    }
    Ok(verified)
}
