//! Verifies receipts offline, step by step. docs/PROTOCOL.md, "Receipt".

use crate::checkpoint::{read_checkpoint_note, Checkpoint};
use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash};
use crate::leaf::{anchor_id_of, Leaf};
use crate::merkle::verify_inclusion;
use crate::note::VerifiedLine;
use crate::payloads::payload_of_leaf;
use crate::receipt::Receipt;
use crate::trust_root_chain::TrustRootChain;
use crate::trust_root_text::{refuse_unless, OriginStatus};
use crate::verify_checkpoint::{find_origin, malformed_checkpoint, verify_lines, Judged, ReceiptRenewal};

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
    steps.pass(format!("{} hashes lead to root {}", receipt.path.len(), root_hash));
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
/// The receipt may be attacker-controlled. The trust roots must not come from whoever gave the receipt, unless their
/// pin was learnt elsewhere. Not verified are signatures *inside* the leaf, nor whether a claim or grant is still in
/// force.
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
