//! Verifies receipts and checkpoints offline, step by step. docs/PROTOCOL.md, "Receipt".

use crate::bytes::to_hex;
use crate::checkpoint::{checkpoint_origin, read_checkpoint_note, Checkpoint, NotedCheckpoint};
use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash, OriginFingerprint};
use crate::leaf::{anchor_id_of, Leaf};
use crate::merkle::{verify_consistency, verify_inclusion};
use crate::note::{verify_known_lines, VerifiedLine, Vkey, VkeyType};
use crate::payloads::payload_of_leaf;
use crate::policy::distinct_lines;
use crate::receipt::Receipt;
use crate::trust_root::{NodeStatus, OriginStatus, SignedTrustRoot, TrustRoot, TrustRootOrigin};
use crate::trust_root_chain::TrustRootChain;

/// The steps in their order. A step after a failed one is `not_checked`.
pub const RECEIPT_STEPS: [&str; 10] = [
    "leaf",
    "content",
    "anchor_id",
    "checkpoint",
    "origin",
    "index",
    "inclusion",
    "log_signature",
    "cosignatures",
    "trust_root",
];

/// How one check or step has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Pass,
    /// It does not.
    Fail,
    /// It was not looked at: nothing was given to compare with, or something before it has failed.
    NotChecked,
}

impl Outcome {
    /// `pass`, `fail` or `not_checked`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::NotChecked => "not_checked",
        }
    }
}

/// One step of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// One of [`RECEIPT_STEPS`].
    pub code: &'static str,
    /// How it has ended.
    pub result: Outcome,
    /// For people.
    pub detail: String,
}

/// What the caller knows by other means. Without `event_hash` or `payload` the content is not checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiptExpectation {
    /// SHA-256 of the caller's own event: what makes a receipt about *this* event.
    pub event_hash: Option<Hash>,
    /// What the first signer of a claim, grant, revocation or signed event has signed.
    pub payload: Option<Vec<u8>>,
    /// The anchor id that the caller holds.
    pub anchor_id: Option<AnchorId>,
}

impl ReceiptExpectation {
    /// The receipt is to be about the event with this hash.
    pub fn event(event_hash: Hash) -> Self {
        Self { event_hash: Some(event_hash), ..Self::default() }
    }

    /// The receipt is to be about the anchor with this id.
    pub fn anchor(anchor_id: AnchorId) -> Self {
        Self { anchor_id: Some(anchor_id), ..Self::default() }
    }

    /// The receipt is to be about the record whose first signer has signed these bytes.
    pub fn payload(payload: impl Into<Vec<u8>>) -> Self {
        Self { payload: Some(payload.into()), ..Self::default() }
    }
}

/// A later checkpoint of the same origin, and the proof that the receipt's tree is the beginning of its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptRenewal {
    /// The whole signed note.
    pub checkpoint: String,
    /// RFC 6962 consistency proof.
    pub consistency: Vec<Hash>,
}

/// What verifying a receipt has shown.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReceiptVerification {
    /// All of [`RECEIPT_STEPS`], in their order.
    pub steps: Vec<Step>,
    /// The step that failed and its code; `None`: the receipt is valid.
    pub failure: Option<(&'static str, String)>,
    /// Valid, but only under this older version of the trust root: renew the receipt.
    pub superseded_trust_root: Option<u32>,
    /// The newest trust root marks the origin `lost`.
    pub is_origin_lost: bool,
    /// Unless the leaf is malformed.
    pub leaf: Option<Leaf>,
    /// What the leaf hashes to, once that was reached.
    pub anchor_id: Option<AnchorId>,
    /// Good log and cosigner lines, once the step `log_signature` has passed.
    pub verified: Vec<VerifiedLine>,
}

impl ReceiptVerification {
    /// Every step has passed, or had nothing to compare with.
    pub fn is_valid(&self) -> bool {
        self.failure.is_none()
    }

    /// The verification, if it is valid.
    ///
    /// # Errors
    /// The code of the failed step: `inclusion_wrong`, `quorum_not_met`, ….
    pub fn require_valid(self) -> Result<Self> {
        let failed = self.steps.iter().find(|step| step.result == Outcome::Fail);
        match (&self.failure, failed) {
            (Some((step, code)), failed) => {
                let detail = failed.map_or("", |step| step.detail.as_str());
                Err(Error::verification(known_code(code), format!("the receipt fails at {step}: {detail}")))
            }
            (None, _) => Ok(self),
        }
    }

    /// As [`require_valid`](Self::require_valid), and the newest version of the trust root is satisfied as well.
    ///
    /// # Errors
    /// Also `trust_root_superseded`.
    pub fn require_current(self) -> Result<Self> {
        let valid = self.require_valid()?;
        match valid.superseded_trust_root {
            None => Ok(valid),
            Some(version) => {
                let detail = format!("the receipt satisfies trust root {version}, which is superseded");
                Err(Error::verification("trust_root_superseded", detail))
            }
        }
    }
}

/// Every code that a step can fail with.
const FAILURE_CODES: [&str; 16] = [
    "leaf_malformed",
    "content_differs",
    "anchor_id_differs",
    "checkpoint_malformed",
    "tree_size_differs",
    "origin_differs",
    "origin_unknown",
    "index_differs",
    "inclusion_wrong",
    "signatures_too_many",
    "key_ambiguous",
    "signature_repeated",
    "signature_invalid",
    "log_signature_missing",
    "quorum_not_met",
    "cosigner_distrusted",
];

fn known_code(code: &str) -> &'static str {
    FAILURE_CODES.iter().find(|known| **known == code).copied().unwrap_or("receipt_invalid")
}

fn refuse_unless(condition: bool, code: &'static str, detail: impl FnOnce() -> String) -> Result<()> {
    if condition {
        Ok(())
    } else {
        Err(Error::verification(code, detail()))
    }
}

/// The steps that have a result. Each is begun once, in order.
#[derive(Default)]
struct Steps(Vec<Step>);

impl Steps {
    fn push(&mut self, result: Outcome, detail: impl Into<String>) {
        let code = RECEIPT_STEPS.get(self.0.len()).copied().unwrap_or("trust_root");
        self.0.push(Step { code, result, detail: detail.into() });
    }

    fn pass(&mut self, detail: impl Into<String>) {
        self.push(Outcome::Pass, detail);
    }

    /// Fails the first step that has no result, and leaves the rest unchecked.
    fn fail(&mut self, error: &Error) -> (&'static str, String) {
        self.push(Outcome::Fail, error.to_string());
        let failed = self.0.last().map_or("trust_root", |step| step.code);
        while self.0.len() < RECEIPT_STEPS.len() {
            self.push(Outcome::NotChecked, "an earlier step failed");
        }
        (failed, error.code().to_owned())
    }
}

fn check_content(steps: &mut Steps, leaf: &Leaf, expect: &ReceiptExpectation) -> Result<()> {
    if let Some(event_hash) = &expect.event_hash {
        let is_same = leaf.body.event().is_some_and(|event| event.event_hash == *event_hash);
        refuse_unless(is_same, "content_differs", || format!("the leaf does not hold the event hash {event_hash}"))?;
    }
    if let Some(payload) = &expect.payload {
        let is_same = payload_of_leaf(leaf, payload).is_some_and(|own| own == *payload);
        refuse_unless(is_same, "content_differs", || "the leaf does not hold what the payload says".into())?;
    }
    if expect.event_hash.is_none() && expect.payload.is_none() {
        steps.push(Outcome::NotChecked, "nothing was given to compare with");
    } else {
        steps.pass("the leaf holds what was given");
    }
    Ok(())
}

/// The newest version must list the origin: it says which log key is right, and whether the origin is lost.
fn find_origin<'a>(
    newest: &'a TrustRoot,
    fingerprint: &OriginFingerprint,
    checkpoint: &Checkpoint,
) -> Result<&'a TrustRootOrigin> {
    let expected = checkpoint_origin(&newest.cluster_name, fingerprint);
    refuse_unless(checkpoint.origin == expected, "origin_differs", || {
        format!("the checkpoint is not of origin {expected}")
    })?;
    newest.origin(fingerprint).ok_or_else(|| {
        let detail = format!("trust root {} does not list origin {expected}", newest.version);
        Error::verification("origin_unknown", detail)
    })
}

/// Verifies the lines of every key of any version held; one of the log key must be there.
fn verify_lines(
    noted: &NotedCheckpoint,
    chain: &TrustRootChain,
    origin: &TrustRootOrigin,
) -> Result<Vec<VerifiedLine>> {
    let nodes = chain.versions().flat_map(|version| version.trust_root.nodes.iter());
    let known: Vec<&Vkey> = std::iter::once(&origin.log_vkey).chain(nodes.map(|node| &node.cosigner_vkey)).collect();
    let verified = verify_known_lines(&noted.note, &known)?;
    let is_logged = verified.iter().any(|line| line.vkey == origin.log_vkey);
    refuse_unless(is_logged, "log_signature_missing", || format!("no signature line of {}", origin.log_vkey.name()))?;
    Ok(verified)
}

/// Whether distinct good lines of this version's active nodes reach its quorum.
fn meets(version: &SignedTrustRoot, origin: &OriginFingerprint, verified: &[VerifiedLine]) -> bool {
    let root = &version.trust_root;
    root.origin(origin).is_some() && distinct_lines(verified, &root.cosigners()).len() >= root.quorum
}

/// Drops lines of nodes that the newest version marks `distrusted`, whichever key they used.
fn without_distrusted(newest: &TrustRoot, verified: &[VerifiedLine]) -> Vec<VerifiedLine> {
    let distrusted = |line: &VerifiedLine| {
        newest.nodes.iter().filter(|node| node.status == NodeStatus::Distrusted).any(|node| {
            let key = &node.cosigner_vkey;
            key.name() == line.vkey.name() || key.public_key() == line.vkey.public_key()
        })
    };
    verified.iter().filter(|line| !distrusted(line)).cloned().collect()
}

/// A checkpoint that is judged, and by what.
struct Judged<'a> {
    noted: NotedCheckpoint,
    chain: &'a TrustRootChain,
    origin: &'a TrustRootOrigin,
    verified: Vec<VerifiedLine>,
}

impl Judged<'_> {
    fn meets(&self, version: &SignedTrustRoot, verified: &[VerifiedLine]) -> bool {
        meets(version, &self.origin.origin_fingerprint, verified)
    }

    fn check_quorum(&self) -> Result<String> {
        let cosigners = || self.verified.iter().filter(|line| line.vkey.key_type() == VkeyType::Cosignature);
        let is_met = self.chain.versions().any(|version| self.meets(version, &self.verified));
        refuse_unless(is_met, "quorum_not_met", || {
            let quorum = self.chain.newest().trust_root.quorum;
            format!("{} good cosignatures, a quorum is {quorum}", cosigners().count())
        })?;
        Ok(cosigners().map(|line| line.vkey.name()).collect::<Vec<_>>().join(", "))
    }

    /// Whether the renewal leads to a checkpoint that satisfies the newest version.
    fn is_renewed(&self, renewal: &ReceiptRenewal) -> Result<bool> {
        let later = read_checkpoint_note(&renewal.checkpoint).map_err(malformed_checkpoint)?;
        let verified = verify_lines(&later, self.chain, self.origin)?;
        let (old, new) = (&self.noted.checkpoint, &later.checkpoint);
        let is_same_tree = new.origin == old.origin
            && verify_consistency(old.tree_size, &old.root_hash, new.tree_size, &new.root_hash, &renewal.consistency);
        Ok(is_same_tree && self.meets(self.chain.newest(), &verified))
    }

    /// The older version that alone is satisfied; `None` if the newest one is, directly or by renewal.
    fn check_trust_root(&self, renewal: Option<&ReceiptRenewal>) -> Result<Option<u32>> {
        let newest = self.chain.newest();
        if self.meets(newest, &self.verified) {
            return Ok(None);
        }
        if let Some(renewal) = renewal {
            if self.is_renewed(renewal)? {
                return Ok(None);
            }
        }
        let trusted = without_distrusted(&newest.trust_root, &self.verified);
        let satisfied = self.chain.versions().rev().find(|version| self.meets(version, &trusted));
        match satisfied {
            Some(version) => Ok(Some(version.trust_root.version)),
            None => {
                let version = newest.trust_root.version;
                let detail = format!("the quorum needs a node that trust root {version} distrusts");
                Err(Error::verification("cosigner_distrusted", detail))
            }
        }
    }
}

fn malformed_checkpoint(error: Error) -> Error {
    Error::verification("checkpoint_malformed", error.to_string())
}

fn trust_root_detail(chain: &TrustRootChain, superseded: Option<u32>, is_lost: bool) -> String {
    let newest = chain.newest().trust_root.version;
    let lost = if is_lost { "; the origin is lost" } else { "" };
    match superseded {
        None => format!("satisfies trust root {newest}, the newest held{lost}"),
        Some(version) => format!("satisfies trust root {version}, superseded by {newest}{lost}"),
    }
}

/// Runs the steps; the first that fails ends it.
fn run_steps(
    steps: &mut Steps,
    found: &mut ReceiptVerification,
    receipt: &Receipt,
    chain: &TrustRootChain,
    expect: &ReceiptExpectation,
    renewal: Option<&ReceiptRenewal>,
) -> Result<()> {
    let leaf = Leaf::decode(&receipt.leaf).map_err(|error| Error::verification("leaf_malformed", error.to_string()))?;
    let header = leaf.header.clone();
    steps.pass(format!("{}, depth {}, sequence {}", leaf.body.kind(), header.depth, header.sequence));
    let leaf = found.leaf.insert(leaf);
    check_content(steps, leaf, expect)?;
    let anchor_id = anchor_id_of(&receipt.leaf);
    found.anchor_id = Some(anchor_id);
    // What the JSON form says that its id is must be true as well.
    let stated = receipt.stated.as_ref().map(|stated| stated.anchor_id);
    let is_expected = [expect.anchor_id, stated].into_iter().flatten().all(|expected| expected == anchor_id);
    refuse_unless(is_expected, "anchor_id_differs", || format!("the leaf hashes to {anchor_id}"))?;
    steps.pass(format!("the leaf hashes to {anchor_id}"));
    let noted = read_checkpoint_note(&receipt.checkpoint).map_err(malformed_checkpoint)?;
    let Checkpoint { tree_size, root_hash, .. } = noted.checkpoint;
    refuse_unless(tree_size == receipt.tree_size, "tree_size_differs", || {
        format!("the receipt says {}, its checkpoint {tree_size}", receipt.tree_size)
    })?;
    steps.pass(format!("a tree of {tree_size} leaves"));
    let origin = find_origin(&chain.newest().trust_root, &header.origin_fingerprint, &noted.checkpoint)?;
    found.is_origin_lost = origin.status == OriginStatus::Lost;
    steps.pass(noted.checkpoint.origin.clone());
    let index = receipt.index;
    refuse_unless(index == header.depth && index < tree_size, "index_differs", || {
        format!("index {index}, depth {}, tree size {tree_size}", header.depth)
    })?;
    steps.pass(format!("leaf {index} of {tree_size}"));
    let is_included = verify_inclusion(&anchor_id, index, tree_size, &receipt.path, &root_hash);
    refuse_unless(is_included, "inclusion_wrong", || "the path does not lead from the leaf to the root hash".into())?;
    steps.pass(format!("{} hashes lead to root {}", receipt.path.len(), to_hex(root_hash.as_bytes())));
    let verified = verify_lines(&noted, chain, origin)?;
    found.verified.clone_from(&verified);
    steps.pass(origin.log_vkey.name());
    let judged = Judged { noted, chain, origin, verified };
    steps.pass(judged.check_quorum()?);
    let superseded = judged.check_trust_root(renewal)?;
    found.superseded_trust_root = superseded;
    steps.pass(trust_root_detail(chain, superseded, found.is_origin_lost));
    Ok(())
}

/// Verifies that a leaf is in a tree that a quorum of the cluster has cosigned, without a network.
///
/// The receipt may be attacker-controlled. The trust roots must not come from whoever gave the receipt, unless their pin
/// was learnt elsewhere. Not verified are signatures *inside* the leaf, nor whether a claim or grant is still in force.
///
/// # Errors
/// `ed25519_canary` alone. An invalid receipt is an answer: see [`ReceiptVerification::require_valid`].
pub fn verify_receipt(
    receipt: &Receipt,
    trust_roots: &TrustRootChain,
    expect: &ReceiptExpectation,
) -> Result<ReceiptVerification> {
    verify(receipt, trust_roots, expect, None)
}

/// As [`verify_receipt`], with a later checkpoint that may stand for one that needs a node distrusted since.
///
/// # Errors
/// As [`verify_receipt`].
pub fn verify_receipt_with_renewal(
    receipt: &Receipt,
    trust_roots: &TrustRootChain,
    expect: &ReceiptExpectation,
    renewal: &ReceiptRenewal,
) -> Result<ReceiptVerification> {
    verify(receipt, trust_roots, expect, Some(renewal))
}

fn verify(
    receipt: &Receipt,
    chain: &TrustRootChain,
    expect: &ReceiptExpectation,
    renewal: Option<&ReceiptRenewal>,
) -> Result<ReceiptVerification> {
    crate::ed25519::check_ed25519_canaries()?;
    let mut steps = Steps::default();
    let mut found = ReceiptVerification {
        steps: Vec::new(),
        failure: None,
        superseded_trust_root: None,
        is_origin_lost: false,
        leaf: None,
        anchor_id: None,
        verified: Vec::new(),
    };
    if let Err(error) = run_steps(&mut steps, &mut found, receipt, chain, expect, renewal) {
        found.failure = Some(steps.fail(&error));
    }
    found.steps = steps.0;
    Ok(found)
}

/// A checkpoint that a quorum has cosigned.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifiedCheckpoint {
    /// Whose tree it is.
    pub origin_fingerprint: OriginFingerprint,
    /// Size and root.
    pub checkpoint: Checkpoint,
    /// Only this older version of the trust root is satisfied.
    pub superseded_trust_root: Option<u32>,
    /// As the newest trust root lists it.
    pub origin_status: OriginStatus,
    /// Good log and cosigner lines.
    pub verified: Vec<VerifiedLine>,
    /// When the quorum was complete, Unix seconds: the k-th smallest time of the cosignatures.
    pub certified_at_s: Option<u64>,
}

/// The origin that a checkpoint is of, which the newest version must list.
fn origin_of<'a>(newest: &'a TrustRoot, checkpoint: &Checkpoint) -> Result<&'a TrustRootOrigin> {
    let TrustRoot { cluster_name, version, .. } = newest;
    let name = &checkpoint.origin;
    let is_of_cluster = name.strip_prefix(cluster_name.as_str()).is_some_and(|rest| rest.starts_with("/origin/"));
    refuse_unless(is_of_cluster, "origin_differs", || format!("{name} is no origin of cluster {cluster_name}"))?;
    let listed = newest.origins.iter().find(|origin| origin.log_vkey.name() == name);
    listed.ok_or_else(|| Error::verification("origin_unknown", format!("trust root {version} does not list {name}")))
}

/// Verifies a signed checkpoint as [`verify_receipt`] does from its step `checkpoint` on, without a leaf. It may be
/// attacker-controlled; whose tree it is, is in the answer.
///
/// # Errors
/// The codes of those steps: `checkpoint_malformed`, `origin_differs`, `signature_invalid`, `quorum_not_met`, ….
pub fn verify_checkpoint(note: &str, trust_roots: &TrustRootChain) -> Result<VerifiedCheckpoint> {
    crate::ed25519::check_ed25519_canaries()?;
    let noted = read_checkpoint_note(note).map_err(malformed_checkpoint)?;
    let newest = trust_roots.newest();
    let origin = origin_of(&newest.trust_root, &noted.checkpoint)?;
    let verified = verify_lines(&noted, trust_roots, origin)?;
    let judged = Judged { noted, chain: trust_roots, origin, verified };
    judged.check_quorum()?;
    let superseded_trust_root = judged.check_trust_root(None)?;
    let judge = trust_roots
        .versions()
        .find(|version| Some(version.trust_root.version) == superseded_trust_root)
        .unwrap_or(newest);
    let counted = distinct_lines(&judged.verified, &judge.trust_root.cosigners());
    let mut times: Vec<u64> = counted.iter().filter_map(|line| line.time_s).collect();
    times.sort_unstable();
    let certified_at_s = times.get(judge.trust_root.quorum.saturating_sub(1)).copied();
    Ok(VerifiedCheckpoint {
        origin_fingerprint: origin.origin_fingerprint,
        origin_status: origin.status,
        checkpoint: judged.noted.checkpoint,
        superseded_trust_root,
        verified: judged.verified,
        certified_at_s,
    })
}
