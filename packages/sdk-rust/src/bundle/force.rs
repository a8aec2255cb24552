//! Whether a claim or a grant is in force at a position, and whether an act was covered. docs/PROTOCOL.md, "In force",
//! "Delegation" and "Authority".

use super::parse::AsOf;
use super::records::{ClaimRecord, GrantRecord, Records};
use super::Failure;
use crate::answers::Authorised;
use crate::hash::AnchorId;
use crate::leaf::LeafBody;

/// Why a verdict is not true.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthorityReason {
    /// As in the service's traces: `grant_revoked`, `actor_not_grantee`, ….
    pub code: &'static str,
    /// The record at fault, if there is one.
    pub anchor_id: Option<AnchorId>,
    /// Where it ended; `None` for a matter of time, or of nothing.
    pub sequence: Option<u64>,
}

impl AuthorityReason {
    pub(super) fn nowhere(code: &'static str) -> Self {
        Self { code, anchor_id: None, sequence: None }
    }

    fn of(code: &'static str, anchor_id: AnchorId, sequence: Option<u64>) -> Self {
        Self { code, anchor_id: Some(anchor_id), sequence }
    }
}

/// Reasons that are given for one verdict: a root that has ended may end ten thousand links.
pub(super) const REASONS_MAX: usize = 100;

fn has_happened(sequence: Option<u64>, at: AsOf) -> bool {
    sequence.is_some_and(|sequence| sequence <= at.sequence)
}

fn is_past(expires_at: u64, at: AsOf) -> bool {
    expires_at != 0 && at.time_ms >= expires_at
}

/// A revocation outweighs a supersession, and either outweighs time.
pub(super) fn claim_fault(claim: &ClaimRecord, at: AsOf) -> Option<AuthorityReason> {
    let reason = |code, sequence| Some(AuthorityReason::of(code, claim.anchor_id, sequence));
    if has_happened(claim.revoked_at, at) {
        return reason("claim_revoked", claim.revoked_at);
    }
    if has_happened(claim.superseded_at, at) {
        return reason("claim_superseded", claim.superseded_at);
    }
    if is_past(claim.expires_at, at) {
        return reason("claim_expired", None);
    }
    None
}

fn add_own_faults(grant: &GrantRecord, at: AsOf, faults: &mut Vec<AuthorityReason>) {
    let mut add = |code, sequence| faults.push(AuthorityReason::of(code, grant.anchor_id, sequence));
    if has_happened(grant.revoked_at, at) {
        add("grant_revoked", grant.revoked_at);
    } else if has_happened(grant.superseded_at, at) {
        add("grant_superseded", grant.superseded_at);
    }
    if at.time_ms < grant.not_before {
        add("grant_not_yet_valid", None);
    }
    if is_past(grant.expires_at, at) {
        add("grant_expired", None);
    }
}

/// One side of a grant, and what its faults are called.
struct Party {
    claim: u64,
    lineage: u64,
    revoked: &'static str,
    not_in_force: &'static str,
}

/// What is wrong on one side of a grant; false if a record is missing.
fn add_party_faults(party: &Party, at: AsOf, records: &Records, faults: &mut Vec<AuthorityReason>) -> bool {
    let found = (records.claim(party.claim), records.newest_claim_of(party.lineage, at.sequence));
    let (Some(named), Some(newest)) = found else { return false };
    let is_revoked = has_happened(named.revoked_at, at);
    if is_revoked {
        faults.push(AuthorityReason::of(party.revoked, named.anchor_id, named.revoked_at));
    }
    let is_said = is_revoked && newest.sequence == named.sequence;
    if let Some(fault) = claim_fault(newest, at).filter(|_| !is_said) {
        faults.push(AuthorityReason::of(party.not_in_force, newest.anchor_id, fault.sequence));
    }
    true
}

/// Why one link of a chain is not in force, its parent aside; false if a record was missing.
pub(super) fn add_link_faults(
    grant: &GrantRecord,
    at: AsOf,
    records: &Records,
    faults: &mut Vec<AuthorityReason>,
) -> bool {
    add_own_faults(grant, at, faults);
    let grantor = Party {
        claim: grant.grantor_claim,
        lineage: grant.grantor_lineage,
        revoked: "grantor_claim_revoked",
        not_in_force: "grantor_not_in_force",
    };
    let grantee = Party {
        claim: grant.grantee_claim,
        lineage: grant.grantee_lineage,
        revoked: "grantee_claim_revoked",
        not_in_force: "grantee_not_in_force",
    };
    let has_grantor = add_party_faults(&grantor, at, records, faults);
    add_party_faults(&grantee, at, records, faults) && has_grantor
}

/// The event is signed with another key than that of the claim it names, whose act it therefore is not.
pub(super) fn foreign_key(subject: &LeafBody, iris: Option<&ClaimRecord>) -> Option<AuthorityReason> {
    match (subject, iris) {
        (LeafBody::SignedEvent(_, actor), Some(iris)) if actor.actor_public_key != iris.subject_public_key => {
            Some(AuthorityReason::of("actor_key_mismatch", iris.anchor_id, Some(iris.sequence)))
        }
        _ => None,
    }
}

/// Whether an act is covered at a position: the actor's claim and the grant are in force there, the grant with every
/// link to its root, the actor is the grantee, and the event is not signed by another key.
pub(super) fn judge_authority(
    foreign_key: Option<AuthorityReason>,
    iris: &ClaimRecord,
    links: &[&GrantRecord],
    at: AsOf,
    records: &Records,
) -> (Authorised, Vec<AuthorityReason>) {
    let mut reasons: Vec<AuthorityReason> = foreign_key.into_iter().chain(claim_fault(iris, at)).collect();
    if links.first().is_some_and(|grant| grant.grantee_lineage != iris.lineage) {
        reasons.push(AuthorityReason::of("actor_not_grantee", iris.anchor_id, Some(iris.sequence)));
    }
    let mut is_complete = links.last().is_some_and(|root| root.parent.is_none());
    for link in links {
        let mut faults = Vec::new();
        is_complete = add_link_faults(link, at, records, &mut faults) && is_complete;
        if reasons.len() < REASONS_MAX {
            reasons.extend(faults);
        }
    }
    let is_covered = reasons.is_empty();
    reasons.truncate(REASONS_MAX);
    if !is_complete {
        reasons.insert(0, AuthorityReason::nowhere("records_not_loaded"));
        return (Authorised::Unknown, reasons);
    }
    (if is_covered { Authorised::Yes } else { Authorised::No }, reasons)
}

fn is_inside(child: &GrantRecord, parent: &GrantRecord) -> bool {
    let ends_inside = parent.expires_at == 0 || (child.expires_at != 0 && child.expires_at <= parent.expires_at);
    child.not_before >= parent.not_before && ends_inside
}

/// How a grant does not follow from its parent.
fn check_parent(child: &GrantRecord, records: &Records) -> Result<(), Failure> {
    let Some(parent) = child.parent.and_then(|parent| records.grant(parent)) else { return Ok(()) };
    let broken = |what: &str| format!("delegation_broken: grant of sequence {}: {what}", child.sequence);
    Failure::unless(parent.grantee_lineage == child.grantor_lineage, || {
        broken("its grantor is of another lineage than its parent's grantee")
    })?;
    Failure::unless(child.delegation_depth < parent.delegation_depth, || {
        broken("its delegation depth is not below its parent's")
    })?;
    Failure::unless(is_inside(child, parent), || broken("its window is not inside its parent's"))
}

/// What no ledger would have accepted of one link. That its parties have signed was checked before.
pub(super) fn check_link(grant: &GrantRecord, records: &Records) -> Result<(), Failure> {
    let sequence = grant.sequence;
    Failure::unless(grant.witness_public_key != grant.grantor_public_key, || {
        format!("witness_is_grantor: sequence {sequence}")
    })?;
    let grantor = records.claim(grant.grantor_claim);
    Failure::unless(grantor.is_none_or(|claim| claim.subject_public_key == grant.grantor_public_key), || {
        format!("grantor_key_mismatch: sequence {sequence}: the claim names another key")
    })?;
    check_parent(grant, records)
}
