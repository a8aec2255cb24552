//! Verifies receipts offline, step by step. docs/PROTOCOL.md, "Receipt".

use crate::checkpoint::{read_checkpoint_note, Checkpoint};
use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash};
use crate::leaf::{anchor_id_of, Leaf};
use crate::merkle::is_included;
use crate::note::VerifiedLine;
use crate::payloads::payload_of_leaf;
use crate::receipt::Receipt;
use crate::trust_root_chain::TrustRootChain;
use crate::trust_root_text::{refuse_unless, OriginStatus};
use crate::verify_checkpoint::{find_origin, malformed_checkpoint, Judged, ReceiptRenewal};
use crate::witnessing::{WitnessSignature, Witnessing};

/// The steps in their order. A step after a failed one is `not_checked`.
pub const RECEIPT_STEPS: [&str; 11] = [
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
    "witnesses",
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
    /// A later checkpoint, for a receipt that needs a node distrusted since.
    pub renewal: Option<ReceiptRenewal>,
    /// Refuse a receipt that only an older version of the trust root is satisfied with: `trust_root_superseded`.
    pub require_current: bool,
    /// Refuse a receipt that fewer witnesses have signed than the newest trust root asks for: `not_witnessed`, or
    /// `no_witnesses` if it lists none.
    pub require_witnessed: bool,
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

/// What a good receipt proves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifiedReceipt {
    /// All of [`RECEIPT_STEPS`], in their order. `content` is `not_checked` if nothing was given to compare with,
    /// `witnesses` if too few have signed.
    pub steps: Vec<Step>,
    /// Good, but only under this older version of the trust root: renew the receipt.
    pub superseded_trust_root: Option<u32>,
    /// The newest trust root marks the origin `lost`.
    pub is_origin_lost: bool,
    /// What was anchored.
    pub leaf: Leaf,
    /// What the leaf hashes to.
    pub anchor_id: AnchorId,
    /// Good lines of the log and of nodes.
    pub verified: Vec<VerifiedLine>,
    /// The witnesses of the newest trust root that have signed, by name.
    pub witnesses: Vec<WitnessSignature>,
    /// How many it asks for; 0 if it lists none.
    pub witnesses_needed: usize,
    /// Enough have signed.
    pub witnessed: bool,
}

/// Where a receipt fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiptFailure {
    /// One of [`RECEIPT_STEPS`].
    pub step: &'static str,
    /// `inclusion_wrong`, `quorum_not_met`, …: docs/PROTOCOL.md, "Receipt".
    pub code: &'static str,
}

/// What looking at a receipt has shown, good or bad: from [`inspect_receipt`].
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "a report may be of a forged receipt: look at `failure`, or call verify_receipt"]
pub struct ReceiptReport {
    /// All of [`RECEIPT_STEPS`], in their order.
    pub steps: Vec<Step>,
    /// `None`: the receipt is good.
    pub failure: Option<ReceiptFailure>,
    /// Only this older version of the trust root is satisfied: renew the receipt.
    pub superseded_trust_root: Option<u32>,
    /// The newest trust root marks the origin `lost`.
    pub is_origin_lost: bool,
    /// Unless the leaf is malformed.
    pub leaf: Option<Leaf>,
    /// What the leaf hashes to, once that was reached.
    pub anchor_id: Option<AnchorId>,
    /// Good lines of the log and of nodes, once the step `log_signature` has passed.
    pub verified: Vec<VerifiedLine>,
    /// The witnesses of the newest trust root that have signed, by name, once that step has passed.
    pub witnesses: Vec<WitnessSignature>,
    /// How many it asks for; 0 if it lists none.
    pub witnesses_needed: usize,
    /// The step `witnesses` has passed.
    pub witnessed: bool,
}

impl ReceiptReport {
    fn into_verified(self) -> Result<VerifiedReceipt> {
        let Self { steps, failure, leaf, anchor_id, .. } = self;
        match (failure, leaf, anchor_id) {
            (None, Some(leaf), Some(anchor_id)) => Ok(VerifiedReceipt {
                steps,
                superseded_trust_root: self.superseded_trust_root,
                is_origin_lost: self.is_origin_lost,
                leaf,
                anchor_id,
                verified: self.verified,
                witnesses: self.witnesses,
                witnesses_needed: self.witnesses_needed,
                witnessed: self.witnessed,
            }),
            (failure, ..) => {
                // Only a leaf that was read passes its step.
                let ReceiptFailure { step, code } =
                    failure.unwrap_or(ReceiptFailure { step: "leaf", code: "leaf_malformed" });
                let detail = steps.iter().find(|each| each.code == step).map_or("", |failed| failed.detail.as_str());
                let message = format!("the receipt fails at {step}: {detail}");
                Err(Error::verification(code, message).with_steps(step, steps))
            }
        }
    }
}

/// Every code that a step can fail with.
const FAILURE_CODES: [&str; 19] = [
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
    "trust_root_superseded",
    "no_witnesses",
    "not_witnessed",
];

fn known_code(code: &str) -> &'static str {
    FAILURE_CODES.iter().find(|known| **known == code).copied().unwrap_or("receipt_invalid")
}

/// The steps that have a result. Each is begun once, in order.
#[derive(Default)]
struct Steps(Vec<Step>);

impl Steps {
    fn push(&mut self, result: Outcome, detail: impl Into<String>) {
        let code = RECEIPT_STEPS.get(self.0.len()).copied().unwrap_or("witnesses");
        self.0.push(Step { code, result, detail: detail.into() });
    }

    fn pass(&mut self, detail: impl Into<String>) {
        self.push(Outcome::Pass, detail);
    }

    /// Fails the first step that has no result, and leaves the rest unchecked.
    fn fail(&mut self, error: &Error) -> ReceiptFailure {
        self.push(Outcome::Fail, error.to_string());
        let step = self.0.last().map_or("witnesses", |step| step.code);
        while self.0.len() < RECEIPT_STEPS.len() {
            self.push(Outcome::NotChecked, "an earlier step failed");
        }
        ReceiptFailure { step, code: known_code(error.code()) }
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
        steps.push(Outcome::NotChecked, "no event hash or payload was given to compare");
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
    found: &mut ReceiptReport,
    receipt: &Receipt,
    chain: &TrustRootChain,
    expect: &ReceiptExpectation,
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
    let is_included = is_included(&anchor_id, index, tree_size, &receipt.path, &root_hash);
    refuse_unless(is_included, "inclusion_wrong", || "the path does not lead from the leaf to the root hash".into())?;
    steps.pass(format!("{} hashes lead to root {}", receipt.path.len(), root_hash));
    let judged = Judged::new(noted, chain, origin)?;
    found.verified.clone_from(&judged.verified);
    found.witnesses.clone_from(&judged.witnessing.witnesses);
    steps.pass(origin.log_vkey.name());
    steps.pass(judged.check_quorum()?);
    let superseded = judged.check_trust_root(expect.renewal.as_ref())?;
    found.superseded_trust_root = superseded;
    let detail = trust_root_detail(chain, superseded, found.is_origin_lost);
    refuse_unless(superseded.is_none() || !expect.require_current, "trust_root_superseded", || detail.clone())?;
    steps.pass(detail);
    found.witnessed = check_witnesses(steps, chain, &judged.witnessing, expect.require_witnessed)?;
    Ok(())
}

/// What the witnesses of the newest version have signed counts, whichever version the quorum satisfies.
fn check_witnesses(
    steps: &mut Steps,
    chain: &TrustRootChain,
    witnessing: &Witnessing,
    is_required: bool,
) -> Result<bool> {
    let Witnessing { is_enough, detail, .. } = witnessing;
    let is_listed = !chain.newest().trust_root.witnesses.is_empty();
    refuse_unless(is_listed || !is_required, "no_witnesses", || detail.clone())?;
    refuse_unless(*is_enough || !is_required, "not_witnessed", || detail.clone())?;
    if *is_enough {
        steps.pass(detail.as_str());
    } else {
        steps.push(Outcome::NotChecked, format!("certified, not witnessed: {detail}"));
    }
    Ok(*is_enough)
}

/// Verifies that a leaf is in a tree that a quorum of the cluster has cosigned, without a network.
///
/// The receipt may be attacker-controlled. The trust roots must not come from whoever gave the receipt, unless their
/// pin was learnt elsewhere. Not verified are signatures *inside* the leaf, nor whether a claim or grant is still in
/// force.
///
/// # Errors
/// Every receipt that is not good: `inclusion_wrong`, `quorum_not_met`, …, with the step that failed in
/// [`Error::step`] and all steps in [`Error::steps`]. To look at a bad one without an error: [`inspect_receipt`].
pub fn verify_receipt(
    receipt: &Receipt,
    trust_roots: &TrustRootChain,
    expect: &ReceiptExpectation,
) -> Result<VerifiedReceipt> {
    inspect_receipt(receipt, trust_roots, expect)?.into_verified()
}

/// Looks at a receipt as [`verify_receipt`] does, and reports on a bad one as on a good one: for programs that show
/// what is wrong. A report that has a `failure` proves nothing.
///
/// # Errors
/// `ed25519_canary` alone.
pub fn inspect_receipt(
    receipt: &Receipt,
    trust_roots: &TrustRootChain,
    expect: &ReceiptExpectation,
) -> Result<ReceiptReport> {
    crate::ed25519::check_canaries()?;
    let mut steps = Steps::default();
    let mut found = ReceiptReport {
        steps: Vec::new(),
        failure: None,
        superseded_trust_root: None,
        is_origin_lost: false,
        leaf: None,
        anchor_id: None,
        verified: Vec::new(),
        witnesses: Vec::new(),
        witnesses_needed: trust_roots.newest().trust_root.witness_quorum,
        witnessed: false,
    };
    if let Err(error) = run_steps(&mut steps, &mut found, receipt, trust_roots, expect) {
        found.failure = Some(steps.fail(&error));
    }
    found.steps = steps.0;
    Ok(found)
}
