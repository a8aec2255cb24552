//! Judges a bundle without asking anybody. docs/PROTOCOL.md, "Bundle".

mod force;
mod judge;
mod leaves;
mod outcome;
mod parse;
mod records;
mod scopes;
mod standing;
mod state;
mod stated;
mod trust;
mod window;

pub use force::AuthorityReason;
pub use judge::Completeness;
pub use outcome::BundleOutcome;
pub use parse::{AsOf, Bundle};
pub use scopes::{add_scopes, ProvedScope};
pub use standing::Standing;
pub use trust::BundleTrust;

use crate::answers::Authorised;
use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash};
use crate::leaf::{Leaf, LeafBody};
use crate::trust_root_chain::TrustRootChain;
use crate::trust_root_text::TrustRoot;
use crate::verify_checkpoint::VerifiedCheckpoint;
use crate::verify_receipt::{Outcome, Step};
use force::{check_link, foreign_key, judge_authority};
use judge::{
    check_lineages, check_reference_kinds, check_subject_parent, completeness_of, judge_nested_signatures, judge_order,
    judge_trust_root_leaves, revocations_in_view, shown_delegation, view_of,
};
use leaves::{prove_checkpoints, prove_leaves, prove_ranges, ProvedLeaf, ProvedLeaves};
use records::Records;
use scopes::prove_scopes;
use standing::standing_of;
use state::{check_newest_claims, check_stated_lineages, check_values, prove_state, ProvedState};
use stated::check_stated;
use trust::judge_trust_roots;
use window::{check_window, positions_of};

/// In the order in which they are made. After one that fails nothing more is checked.
pub const BUNDLE_CHECKS: [&str; 15] = [
    "trust_roots",
    "checkpoints",
    "state",
    "witnesses",
    "leaves",
    "ranges",
    "subject",
    "signatures",
    "records",
    "revocation",
    "superseded",
    "window",
    "authority",
    "stated",
    "scopes",
];

/// What the reader wants the bundle to be about, and has seen before.
#[derive(Clone, Debug, Default)]
pub struct BundleExpectation {
    /// The anchor that was asked about.
    pub anchor_id: Option<AnchorId>,
    /// SHA-256 of the reader's own event.
    pub event_hash: Option<Hash>,
    /// The highest version of the trust root that the reader has ever seen, with its RootTHK.
    pub highest_seen: Option<(u32, Hash)>,
    /// Refuse a bundle that rests on a head which fewer witnesses have signed than the newest trust root asks for: the
    /// check `witnesses` fails. A bundle with a state head is always refused: no witness signs one.
    pub require_witnessed: bool,
}

/// What verifying a bundle has shown.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "it may be of a forged bundle: look at `outcome`, or call verify_bundle"]
pub struct BundleVerification {
    /// In one word. From [`verify_bundle`] it is always [`Valid`](BundleOutcome::Valid).
    pub outcome: BundleOutcome,
    /// All of [`BUNDLE_CHECKS`], in their order.
    pub checks: Vec<Step>,
    /// As the bundle names it.
    pub subject: AnchorId,
    /// The position of *now*.
    pub as_of: AsOf,
    /// The subject of the claim that the event names has signed it. False: only the client that recorded the event says
    /// who acted, even if the act was authorised; or the bundle is invalid.
    pub is_actor_proven: bool,
    /// At the event's own position; unknown if the bundle is invalid.
    pub authorised_at_action: Authorised,
    /// At `as_of`; unknown if the bundle is invalid.
    pub authorised_now: Authorised,
    /// Why `authorised_at_action` is not true.
    pub reasons_at_action: Vec<AuthorityReason>,
    /// Why `authorised_now` is not true.
    pub reasons_now: Vec<AuthorityReason>,
    /// A revocation on the way names a `suspect_since` that is not after the subject.
    pub is_suspect: bool,
    /// Whether a claim or a grant is in force at `as_of`; `None` of anything else, and if the bundle is invalid.
    pub standing: Option<Standing>,
    /// The grants from the one in question towards the root, at most 1,000.
    pub delegation: Vec<AnchorId>,
    /// The revocations on the way, ascending.
    pub revocations: Vec<AnchorId>,
    /// How far it is proved that no ending is missing; `None`: nothing can end, or it was not reached. If `to` is not
    /// below the sequence of the subject, the verdict at the action is proved, whatever the outcome.
    pub complete: Option<Completeness>,
    /// What is disclosed of the scopes of the grants; nothing if the bundle is invalid.
    pub scopes: Vec<ProvedScope>,
    /// The leaf of the subject; `None` if the bundle is invalid.
    pub leaf: Option<Leaf>,
    /// Witnesses outside the cluster have signed every head that it rests on; false also if the bundle is invalid.
    pub witnessed: bool,
    /// The newest version that was judged by.
    pub trust_root_version: Option<u32>,
    /// The oldest version that a checkpoint or the state head needed instead of the newest, if one did.
    pub superseded_trust_root: Option<u32>,
}

impl BundleVerification {
    fn require_valid(self) -> Result<Self> {
        let (code, culprit) = match self.outcome {
            BundleOutcome::Valid => return Ok(self),
            BundleOutcome::ValidAsStated => ("bundle_not_proved", Outcome::NotChecked),
            BundleOutcome::Invalid => ("bundle_invalid", Outcome::Fail),
        };
        let found = self.checks.iter().find(|check| check.result == culprit);
        let (step, detail) = found.map_or(("trust_roots", ""), |check| (check.code, check.detail.as_str()));
        let message = match self.outcome {
            BundleOutcome::ValidAsStated => format!("the bundle does not prove {step}: {detail}"),
            _ => format!("the bundle fails at {step}: {detail}"),
        };
        Err(Error::verification(code, message).with_steps(step, self.checks))
    }
}

/// Ends the verification of a bundle at the check that is under way.
struct Failure(String);

impl Failure {
    fn new(detail: impl Into<String>) -> Self {
        Self(detail.into())
    }

    fn unless(condition: bool, detail: impl FnOnce() -> String) -> Result<(), Self> {
        if condition {
            Ok(())
        } else {
            Err(Self(detail()))
        }
    }
}

/// The checks that have a result. Each is begun once, in order.
struct Checks(Vec<Step>);

impl Checks {
    fn push(&mut self, result: Outcome, detail: impl Into<String>) {
        if let Some(code) = BUNDLE_CHECKS.get(self.0.len()).copied() {
            self.0.push(Step { code, result, detail: detail.into() });
        }
    }

    fn pass(&mut self, detail: impl Into<String>) {
        self.push(Outcome::Pass, detail);
    }

    fn outcome(&self) -> BundleOutcome {
        if self.0.iter().any(|check| check.result == Outcome::Fail) {
            BundleOutcome::Invalid
        } else if self.0.iter().all(|check| check.result == Outcome::Pass) {
            BundleOutcome::Valid
        } else {
            BundleOutcome::ValidAsStated
        }
    }
}

/// What the verdicts rest on, and what they are.
struct Findings {
    is_actor_proven: bool,
    authorised_at_action: Authorised,
    authorised_now: Authorised,
    reasons_at_action: Vec<AuthorityReason>,
    reasons_now: Vec<AuthorityReason>,
    is_suspect: bool,
    standing: Option<Standing>,
    delegation: Vec<AnchorId>,
    revocations: Vec<AnchorId>,
    complete: Option<Completeness>,
    scopes: Vec<ProvedScope>,
    leaf: Leaf,
}

/// The newest version, the oldest that a checkpoint needed instead of it, and whether witnesses have signed every head.
#[derive(Default)]
struct JudgedBy {
    version: Option<u32>,
    superseded: Option<u32>,
    witnessed: bool,
}

/// Verifies a bundle without a network. Success means that its verdicts are correct, not that they are
/// "yes": a bundle can prove that an act was not authorised as well as that one was.
///
/// # Errors
/// Every bundle that is not proved throughout: `bundle_invalid` if something is wrong, `bundle_not_proved` if something
/// rests on the word of its maker; with the check in [`Error::step`] and all checks in [`Error::steps`]. To look
/// at such a bundle without an error: [`inspect_bundle`].
pub fn verify_bundle(bundle: &Bundle, trust: &BundleTrust, expect: &BundleExpectation) -> Result<BundleVerification> {
    inspect_bundle(bundle, trust, expect)?.require_valid()
}

/// Looks at a bundle as [`verify_bundle`] does, and reports on any: its `outcome` is one of three, and only
/// [`Valid`](BundleOutcome::Valid) is proved.
///
/// # Errors
/// `ed25519_canary` alone.
pub fn inspect_bundle(bundle: &Bundle, trust: &BundleTrust, expect: &BundleExpectation) -> Result<BundleVerification> {
    crate::ed25519::check_canaries()?;
    let mut checks = Checks(Vec::with_capacity(BUNDLE_CHECKS.len()));
    let mut judged_by = JudgedBy::default();
    let found = match make_checks(bundle, trust, expect, &mut checks, &mut judged_by) {
        Ok(findings) => Some(findings),
        Err(Failure(detail)) => {
            checks.push(Outcome::Fail, detail);
            while checks.0.len() < BUNDLE_CHECKS.len() {
                checks.push(Outcome::NotChecked, "an earlier check failed");
            }
            None
        }
    };
    let mut verification = BundleVerification {
        outcome: checks.outcome(),
        checks: checks.0,
        subject: bundle.subject,
        as_of: bundle.as_of,
        is_actor_proven: false,
        authorised_at_action: Authorised::Unknown,
        authorised_now: Authorised::Unknown,
        reasons_at_action: Vec::new(),
        reasons_now: Vec::new(),
        is_suspect: false,
        standing: None,
        delegation: Vec::new(),
        revocations: Vec::new(),
        complete: None,
        witnessed: false,
        scopes: Vec::new(),
        leaf: None,
        trust_root_version: judged_by.version,
        superseded_trust_root: judged_by.superseded,
    };
    if let Some(findings) = found {
        verification.is_actor_proven = findings.is_actor_proven;
        verification.authorised_at_action = findings.authorised_at_action;
        verification.authorised_now = findings.authorised_now;
        verification.reasons_at_action = findings.reasons_at_action;
        verification.reasons_now = findings.reasons_now;
        verification.is_suspect = findings.is_suspect;
        verification.standing = findings.standing;
        verification.delegation = findings.delegation;
        verification.revocations = findings.revocations;
        verification.complete = findings.complete;
        verification.witnessed = judged_by.witnessed;
        verification.scopes = findings.scopes;
        verification.leaf = Some(findings.leaf);
    }
    Ok(verification)
}

fn make_checks(
    bundle: &Bundle,
    trust: &BundleTrust,
    expect: &BundleExpectation,
    checks: &mut Checks,
    judged_by: &mut JudgedBy,
) -> Result<Findings, Failure> {
    let chain = judge_trust_roots(&bundle.trust_roots, trust, expect.highest_seen)?;
    let newest = chain.newest().trust_root.version;
    judged_by.version = Some(newest);
    let from = match trust {
        BundleTrust::Pin(_) => "the pinned one",
        BundleTrust::Held(_) => "the one that the reader holds",
    };
    checks.pass(format!("{} versions up to {newest}, from {from} on", chain.versions().count()));
    let (leaves, state) = check_parts(bundle, &chain, expect, checks, judged_by)?;
    let subject = check_subject(bundle, expect, &leaves)?;
    checks.pass(format!("{}, sequence {}", subject.leaf.body.kind(), subject.sequence()));
    let count = judge_nested_signatures(&leaves)?;
    checks.pass(format!("{count} signatures inside of leaves are good"));
    judge_order(&leaves)?;
    judge_trust_root_leaves(&leaves, &chain)?;
    let (head, records) = match state {
        Some(state) => (Some(state.head), state.records),
        None => (None, Records::derive(&leaves)),
    };
    let view = view_of(subject, &leaves, &records)?;
    if head.is_some() {
        check_stated_lineages(&leaves, &records)?;
        check_newest_claims(&view, &records, [subject.sequence(), bundle.as_of.sequence])?;
    }
    let complete = completeness_of(&view, &leaves, head.as_ref());
    checks.pass(format!("{} claims and {} grants are named", view.claims.len(), view.links.len()));
    check_endings(bundle.as_of, complete, "revocation", checks);
    check_endings(bundle.as_of, complete, "successor", checks);
    check_window(bundle.as_of, complete, &positions_of(&leaves, head.as_ref()), head.as_ref(), checks)?;
    if head.is_some() {
        check_reference_kinds(subject, &leaves)?;
        check_values(subject, &view, &records, &leaves, bundle.as_of)?;
    }
    let mut findings = judge_subject(bundle.as_of, subject, &view, &records, &leaves, complete)?;
    checks.pass(format!("at action: {:?}; now: {:?}", findings.authorised_at_action, findings.authorised_now));
    check_stated(bundle, &findings, checks)?;
    findings.scopes = prove_scopes(&bundle.scopes, &view, &leaves)?;
    checks.pass(format!("{} disclosures are of grants on the way", findings.scopes.len()));
    Ok(findings)
}

/// Checkpoints, the state head, leaves and ranges.
fn check_parts(
    bundle: &Bundle,
    chain: &TrustRootChain,
    expect: &BundleExpectation,
    checks: &mut Checks,
    judged_by: &mut JudgedBy,
) -> Result<(ProvedLeaves, Option<ProvedState>), Failure> {
    let checkpoints: Vec<VerifiedCheckpoint> = prove_checkpoints(&bundle.checkpoints, chain)?;
    judged_by.superseded = checkpoints.iter().filter_map(|verified| verified.superseded_trust_root).min();
    checks.pass(format!("{} trees, each cosigned by a quorum", checkpoints.len()));
    let mut state = bundle.state.as_ref().map(|state| prove_state(state, chain)).transpose()?;
    check_state(bundle.as_of, state.as_ref(), checks)?;
    let named = state.as_ref().map(|state| state.version).filter(|version| judged_by.version != Some(*version));
    judged_by.superseded = judged_by.superseded.into_iter().chain(named).min();
    let newest = &chain.newest().trust_root;
    judged_by.witnessed = check_witnesses(&checkpoints, state.is_some(), newest, expect.require_witnessed, checks)?;
    let mut proved = prove_leaves(&bundle.leaves, &checkpoints, state.as_ref().map(|state| &state.trees))?;
    checks.pass(format!("{} leaves lead to their roots", proved.len()));
    let in_ranges = prove_ranges(&bundle.ranges, &checkpoints)?;
    checks.pass(format!("{} leaves in {} ranges make their roots", in_ranges.len(), bundle.ranges.len()));
    proved.extend(in_ranges);
    proved.extend(state.iter_mut().flat_map(|state| std::mem::take(&mut state.leaves)));
    Ok((ProvedLeaves::new(proved), state))
}

/// Whether enough witnesses have signed every head; nothing rests on them if the reader demands none.
fn check_witnesses(
    checkpoints: &[VerifiedCheckpoint],
    has_state_head: bool,
    newest: &TrustRoot,
    is_required: bool,
    checks: &mut Checks,
) -> Result<bool, Failure> {
    let needed = newest.witness_quorum;
    let missing = checkpoints.iter().position(|checkpoint| !checkpoint.witnessed);
    let (code, detail) = match (newest.witnesses.len(), has_state_head, missing) {
        (0, ..) => ("no_witnesses", format!("trust root {} lists no witness", newest.version)),
        (_, true, _) => ("state_not_witnessed", "no witness signs a state head, and this bundle rests on one".into()),
        (listed, false, Some(at)) => {
            let signed = checkpoints.get(at).map_or(0, |checkpoint| checkpoint.witnesses.len());
            ("not_witnessed", format!("checkpoint {at}: {signed} of {listed} witnesses, {needed} needed"))
        }
        (_, false, None) => {
            checks.pass(format!("{} trees, each signed by {needed} witnesses or more", checkpoints.len()));
            return Ok(true);
        }
    };
    Failure::unless(!is_required, || format!("{code}: {detail}"))?;
    checks.pass(format!("certified, not witnessed: {detail}"));
    Ok(false)
}

/// The head is not older than the position of now.
fn check_state(as_of: AsOf, state: Option<&ProvedState>, checks: &mut Checks) -> Result<(), Failure> {
    let Some(ProvedState { head, leaves, .. }) = state else {
        checks.pass("there is no state head");
        return Ok(());
    };
    let (next, sequence) = (head.next_sequence, as_of.sequence);
    Failure::unless(next > sequence, || format!("as_of is sequence {sequence}, the state head ends before {next}"))?;
    checks.pass(format!("{} records are in the state before sequence {next}, which a quorum has signed", leaves.len()));
    Ok(())
}

fn check_subject<'a>(
    bundle: &Bundle,
    expect: &BundleExpectation,
    leaves: &'a ProvedLeaves,
) -> Result<&'a ProvedLeaf, Failure> {
    let id = bundle.subject;
    let subject = leaves.find(&id).ok_or_else(|| Failure::new(format!("the subject {id} is not in the bundle")))?;
    Failure::unless(subject.sequence() <= bundle.as_of.sequence, || "the subject is younger than as_of".into())?;
    let is_asked = expect.anchor_id.is_none_or(|expected| expected == id);
    Failure::unless(is_asked, || format!("the subject is {id}, which was not asked about"))?;
    let own = subject.leaf.body.event().map(|event| event.event_hash);
    let is_same = expect.event_hash.is_none() || expect.event_hash == own;
    Failure::unless(is_same, || "the subject does not hold the event hash".into())?;
    Ok(subject)
}

/// Whether an ending of what is in view can be missing.
fn check_endings(as_of: AsOf, complete: Option<Completeness>, ending: &str, checks: &mut Checks) {
    let sequence = as_of.sequence;
    match complete {
        None => checks.pass("no claim or grant is named"),
        Some(Completeness { after, to }) if to >= sequence => {
            checks.pass(format!("no {ending} is missing from sequence {after} to {sequence}"));
        }
        Some(Completeness { to, .. }) => {
            let detail = format!(
                "that no {ending} is missing is as stated by the service at sequence {sequence}: \
                 the leaf of sequence {} is not here",
                to + 1
            );
            checks.push(Outcome::NotChecked, detail);
        }
    }
}

type Verdict = (Authorised, Vec<AuthorityReason>);

/// Both verdicts; if there is nothing to judge they are unknown, with the reason, unless another key has signed.
fn verdicts_of(as_of: AsOf, subject: &ProvedLeaf, view: &judge::View<'_>, records: &Records) -> [Verdict; 2] {
    let foreign_key = foreign_key(&subject.leaf.body, view.iris);
    let without = |codes: &[&'static str]| {
        let authorised = if foreign_key.is_some() { Authorised::No } else { Authorised::Unknown };
        let missing = codes.iter().map(|code| AuthorityReason::nowhere(code));
        let reasons: Vec<AuthorityReason> = foreign_key.clone().into_iter().chain(missing).collect();
        [(authorised, reasons.clone()), (authorised, reasons)]
    };
    if subject.leaf.body.event().is_none() {
        return without(&["not_an_event"]);
    }
    match (view.iris, view.links.is_empty()) {
        (Some(iris), false) => {
            let header = &subject.leaf.header;
            let action = AsOf { sequence: header.sequence, time_ms: header.accepted_ms };
            [action, as_of].map(|at| judge_authority(foreign_key.clone(), iris, &view.links, at, records))
        }
        (None, true) => without(&["iris_ref_empty", "grant_ref_empty"]),
        (None, false) => without(&["iris_ref_empty"]),
        (Some(_), true) => without(&["grant_ref_empty"]),
    }
}

/// The subject of the claim that the event names has signed it: every signature inside of a leaf is good by now.
fn is_actor_proven(subject: &Leaf, view: &judge::View<'_>) -> bool {
    let is_signed = matches!(subject.body, LeafBody::SignedEvent(..));
    is_signed && view.iris.is_some() && foreign_key(&subject.body, view.iris).is_none()
}

/// The trace of the subject; an error if it contains what no ledger would have accepted.
fn judge_subject(
    as_of: AsOf,
    subject: &ProvedLeaf,
    view: &judge::View<'_>,
    records: &Records,
    leaves: &ProvedLeaves,
    complete: Option<Completeness>,
) -> Result<Findings, Failure> {
    check_lineages(view, records, as_of)?;
    check_reference_kinds(subject, leaves)?;
    view.links.iter().try_for_each(|link| check_link(link, records))?;
    check_subject_parent(subject, leaves)?;
    let (revocations, is_suspect) = revocations_in_view(subject, view, records, leaves, as_of);
    let [at_action, now] = verdicts_of(as_of, subject, view, records);
    let mut reasons = at_action.1.iter().chain(&now.1);
    Failure::unless(!reasons.any(|reason| reason.code == "records_not_loaded"), || {
        "a record that decides is not in the bundle".into()
    })?;
    Ok(Findings {
        is_actor_proven: is_actor_proven(&subject.leaf, view),
        authorised_at_action: at_action.0,
        authorised_now: now.0,
        reasons_at_action: at_action.1,
        reasons_now: now.1,
        is_suspect,
        standing: standing_of(subject, view, as_of, records),
        delegation: shown_delegation(view),
        revocations,
        complete,
        scopes: Vec::new(),
        leaf: subject.leaf.clone(),
    })
}
