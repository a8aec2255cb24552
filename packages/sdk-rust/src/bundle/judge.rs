//! What the leaves of a bundle say together: signatures, order, what is named, and how far nothing can be missing.

use std::collections::{BTreeSet, HashMap};

use super::leaves::{ProvedLeaf, ProvedLeaves};
use super::parse::AsOf;
use super::records::{ClaimRecord, GrantRecord, Records};
use super::Failure;
use crate::ed25519::is_good_signature;
use crate::hash::{AnchorId, Hash, OriginFingerprint, PublicKey, Signature};
use crate::leaf::{Leaf, LeafBody, RevocationBody};
use crate::payloads::{actor_payload_of, claim_payload_of, grant_payload_of, revocation_payload_of, second_payload};
use crate::state_head::StateHead;
use crate::trust_root_chain::TrustRootChain;
use crate::trust_root_text::OriginStatus;
use crate::words::RevocationAuthority;

/// One signature inside a leaf, and what it is over.
struct Nested {
    name: &'static str,
    public_key: PublicKey,
    message: Vec<u8>,
    signature: Signature,
}

fn nested_pair(
    names: [&'static str; 2],
    second_tag: &str,
    payload: Vec<u8>,
    keys: [PublicKey; 2],
    signatures: [Signature; 2],
) -> Vec<Nested> {
    let second = second_payload(second_tag, &payload, &signatures[0]);
    let messages = [payload, second];
    let parts = names.into_iter().zip(keys).zip(messages).zip(signatures);
    parts.map(|(((name, public_key), message), signature)| Nested { name, public_key, message, signature }).collect()
}

/// By whose right a key revokes a claim or a grant, the first that it has. Outer `None`: neither claim nor grant.
fn authority_of(target: &LeafBody, key: &Hash) -> Option<Option<RevocationAuthority>> {
    let candidates = match target {
        LeafBody::Claim(claim) => [
            (claim.issuer_public_key, RevocationAuthority::Issuer),
            (claim.subject_public_key, RevocationAuthority::Subject),
        ],
        LeafBody::Grant(grant) => [
            (grant.grantor_public_key, RevocationAuthority::Grantor),
            (grant.witness_public_key, RevocationAuthority::Witness),
        ],
        _ => return None,
    };
    Some(candidates.into_iter().find(|(own, _)| own.as_bytes() == key.as_bytes()).map(|(_, authority)| authority))
}

/// That of a revoker; none for an operator, or where the target is not at hand.
fn revoker_signature(leaf: &Leaf, body: &RevocationBody, leaves: &ProvedLeaves) -> Result<Vec<Nested>, Failure> {
    let Some(target) = leaves.find(&body.target_anchor_id) else { return Ok(Vec::new()) };
    let sequence = leaf.header.sequence;
    let authority = authority_of(&target.leaf.body, &body.revoker)
        .ok_or_else(|| Failure::new(format!("sequence {sequence} revokes what is neither claim nor grant")))?;
    Failure::unless(target.sequence() < sequence, || {
        format!("sequence {sequence} revokes what is not older than itself")
    })?;
    if body.authority == RevocationAuthority::Operator {
        return Ok(Vec::new());
    }
    Failure::unless(authority == Some(body.authority), || {
        format!("sequence {sequence}: the revoker is not the {} of what it revokes", body.authority)
    })?;
    Ok(vec![Nested {
        name: "signature",
        public_key: PublicKey::new(*body.revoker.as_bytes()),
        message: revocation_payload_of(&target.leaf.header.origin_fingerprint, body),
        signature: body.signature,
    }])
}

fn signatures_of(leaf: &Leaf, leaves: &ProvedLeaves) -> Result<Vec<Nested>, Failure> {
    let origin = &leaf.header.origin_fingerprint;
    Ok(match &leaf.body {
        LeafBody::Claim(body) => nested_pair(
            ["subject_signature", "issuer_signature"],
            "claim-issuer",
            claim_payload_of(origin, body),
            [body.subject_public_key, body.issuer_public_key],
            [body.subject_signature, body.issuer_signature],
        ),
        LeafBody::Grant(body) => nested_pair(
            ["grantor_signature", "witness_signature"],
            "grant-witness",
            grant_payload_of(origin, body),
            [body.grantor_public_key, body.witness_public_key],
            [body.grantor_signature, body.witness_signature],
        ),
        LeafBody::SignedEvent(event, actor) => vec![Nested {
            name: "actor_signature",
            public_key: actor.actor_public_key,
            message: actor_payload_of(origin, event),
            signature: actor.actor_signature,
        }],
        LeafBody::Revocation(body) => revoker_signature(leaf, body, leaves)?,
        LeafBody::Genesis(_) | LeafBody::Event(_) | LeafBody::TrustRoot(_) => Vec::new(),
    })
}

/// Every signature inside a leaf; answers how many there are.
pub(super) fn judge_nested_signatures(leaves: &ProvedLeaves) -> Result<usize, Failure> {
    let mut count = 0;
    for proved in leaves.all() {
        for Nested { name, public_key, message, signature } in signatures_of(&proved.leaf, leaves)? {
            let is_good = is_good_signature(&public_key, &message, &signature);
            Failure::unless(is_good, || {
                format!("sequence {}: {name} is not one of key {public_key}", proved.sequence())
            })?;
            count += 1;
        }
    }
    Ok(count)
}

/// Why a leaf is not the one before another in its origin.
fn check_parent_leaf(leaf: &Leaf, before: &ProvedLeaf) -> Result<(), Failure> {
    let (own, parent) = (&leaf.header, &before.leaf.header);
    let is_parent = own.parent_anchor_id == before.anchor_id
        && own.origin_fingerprint == parent.origin_fingerprint
        && own.depth.checked_sub(1) == Some(parent.depth)
        && parent.sequence < own.sequence
        && parent.accepted_ms <= own.accepted_ms;
    Failure::unless(is_parent, || format!("sequence {} does not follow the leaf before it", own.sequence))
}

/// Sequences, times and depths agree, and leaves that are neighbours in one tree are linked.
pub(super) fn judge_order(leaves: &ProvedLeaves) -> Result<(), Failure> {
    let mut newest: HashMap<OriginFingerprint, &ProvedLeaf> = HashMap::new();
    let mut before: Option<&ProvedLeaf> = None;
    for proved in leaves.all() {
        let header = &proved.leaf.header;
        let sequence = header.sequence;
        if let Some(before) = before {
            Failure::unless(before.sequence() < sequence, || format!("two leaves have sequence {sequence}"))?;
            let is_younger = before.leaf.header.accepted_ms <= header.accepted_ms;
            Failure::unless(is_younger, || format!("sequence {sequence} is older than the one before it"))?;
        }
        if let Some(shallower) = newest.insert(header.origin_fingerprint, proved) {
            let depth = shallower.leaf.header.depth;
            Failure::unless(depth < header.depth, || {
                format!("sequence {sequence} has depth {}, an older leaf has {depth}", header.depth)
            })?;
            if depth + 1 == header.depth {
                check_parent_leaf(&proved.leaf, shallower)?;
            }
        }
        before = Some(proved);
    }
    Ok(())
}

/// Leaves that say which trust root is in force say it of those that are held.
pub(super) fn judge_trust_root_leaves(leaves: &ProvedLeaves, trust_roots: &TrustRootChain) -> Result<(), Failure> {
    let first = trust_roots.versions().next().map_or(1, |version| version.trust_root.version);
    let cluster_id = trust_roots.newest().trust_root.cluster_id;
    for proved in leaves.all() {
        let sequence = proved.sequence();
        match &proved.leaf.body {
            LeafBody::Genesis(body) => {
                Failure::unless(body.cluster_id == cluster_id, || {
                    format!("sequence {sequence} is of another cluster")
                })?;
                // Nothing is known of versions before the pinned one.
                let is_held = first > 1 || trust_roots.versions().any(|version| version.root_thk == body.root_thk);
                Failure::unless(is_held, || {
                    format!("sequence {sequence} names trust root {}, which is not in the bundle", body.root_thk)
                })?;
            }
            LeafBody::TrustRoot(body) if body.version >= first => {
                let mut versions = trust_roots.versions();
                let held = versions.find(|version| version.trust_root.version == body.version);
                let is_same = held.is_some_and(|version| version.root_thk == body.root_thk);
                Failure::unless(is_same, || {
                    format!("sequence {sequence} names a trust root, version {}, which is not held", body.version)
                })?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// What the verdicts about a subject rest on.
pub(super) struct View<'a> {
    /// The claim of `iris_ref`, or the subject itself.
    pub(super) iris: Option<&'a ClaimRecord>,
    /// From the grant of `grant_ref`, or the subject itself, to the root.
    pub(super) links: Vec<&'a GrantRecord>,
    /// Claims that are named: that of `iris_ref`, and both of each grant.
    pub(super) claims: Vec<&'a ClaimRecord>,
}

/// The leaf that the subject names, which must be in the bundle and older.
fn named<'a>(
    anchor_id: &AnchorId,
    subject: &ProvedLeaf,
    leaves: &'a ProvedLeaves,
    what: &str,
) -> Result<Option<&'a ProvedLeaf>, Failure> {
    if anchor_id.is_zero() {
        return Ok(None);
    }
    let found =
        leaves.find(anchor_id).ok_or_else(|| Failure::new(format!("{what} {anchor_id} is not in the bundle")))?;
    let is_older = found.sequence() < subject.sequence();
    Failure::unless(is_older, || format!("{what} {anchor_id} is not older than the subject"))?;
    Ok(Some(found))
}

/// The claim and the grant that a subject is about: those an event names, or the subject itself.
fn subjects_of<'a>(
    subject: &'a ProvedLeaf,
    leaves: &'a ProvedLeaves,
) -> Result<(Option<&'a ProvedLeaf>, Option<&'a ProvedLeaf>), Failure> {
    match &subject.leaf.body {
        LeafBody::Claim(_) => Ok((Some(subject), None)),
        LeafBody::Grant(_) => Ok((None, Some(subject))),
        LeafBody::Revocation(body) => {
            named(&body.target_anchor_id, subject, leaves, "the target")?;
            Ok((None, None))
        }
        LeafBody::Event(event) | LeafBody::SignedEvent(event, _) => {
            let references = &event.semantic_anchor;
            let iris = named(&references.iris_ref, subject, leaves, "iris_ref")?;
            named(&references.scroll_ref, subject, leaves, "scroll_ref")?;
            let grant = named(&references.grant_ref, subject, leaves, "grant_ref")?;
            named(&references.bond_ref, subject, leaves, "bond_ref")?;
            named(&references.yield_ref, subject, leaves, "yield_ref")?;
            Ok((iris, grant))
        }
        LeafBody::Genesis(_) | LeafBody::TrustRoot(_) => Ok((None, None)),
    }
}

/// The grants from one to its root, all of them with their claims.
fn links_of<'a>(grant: &ProvedLeaf, records: &'a Records) -> Result<Vec<&'a GrantRecord>, Failure> {
    let sequence = grant.sequence();
    let record = records.grant(sequence).ok_or_else(|| {
        Failure::new(format!("a claim that the grant of sequence {sequence} names is not in the bundle"))
    })?;
    let links = records.chain_of(record);
    if let Some(orphan) = links.iter().find(|link| records.orphans.contains(&link.sequence)) {
        let sequence = orphan.sequence;
        return Err(Failure::new(format!("the parent of the grant of sequence {sequence} is not in the bundle")));
    }
    let is_complete = links.last().is_some_and(|root| root.parent.is_none());
    Failure::unless(is_complete, || format!("the grant of sequence {sequence} leads to no root"))?;
    Ok(links)
}

/// Follows what the subject names.
pub(super) fn view_of<'a>(
    subject: &ProvedLeaf,
    leaves: &ProvedLeaves,
    records: &'a Records,
) -> Result<View<'a>, Failure> {
    let (iris, grant) = subjects_of(subject, leaves)?;
    let iris = iris.and_then(|iris| records.claim(iris.sequence()));
    let links = match grant {
        Some(grant) if matches!(grant.leaf.body, LeafBody::Grant(_)) => links_of(grant, records)?,
        _ => Vec::new(),
    };
    let of_links = links.iter().flat_map(|link| [link.grantor_claim, link.grantee_claim]);
    let named: BTreeSet<u64> = iris.map(|iris| iris.sequence).into_iter().chain(of_links).collect();
    let claims = named.into_iter().filter_map(|sequence| records.claim(sequence)).collect();
    Ok(View { iris, links, claims })
}

/// How far nothing that could end a record in view can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completeness {
    /// The oldest claim or grant in view. What is older ends none of them.
    pub after: u64,
    /// Every leaf of a sequence above `after`, up to this one, is in the bundle, or in what its state head says.
    pub to: u64,
}

/// Sequences count the leaves of all origins without gaps: a leaf for every sequence means every leaf. Leaves of a lost
/// origin fill no gap, as another leaf may have taken their sequence. `None`: nothing is in view.
pub(super) fn completeness_of(
    view: &View<'_>,
    leaves: &ProvedLeaves,
    head: Option<&StateHead>,
) -> Option<Completeness> {
    let in_view = || {
        let claims = view.claims.iter().map(|claim| claim.sequence);
        claims.chain(view.links.iter().map(|link| link.sequence))
    };
    let after = in_view().min()?;
    if let Some(head) = head {
        return Some(Completeness { after, to: head.next_sequence.saturating_sub(1) });
    }
    let is_lost = |proved: &ProvedLeaf| proved.origin_status == OriginStatus::Lost;
    if in_view().any(|sequence| leaves.at_sequence(sequence).is_some_and(is_lost)) {
        return Some(Completeness { after, to: after });
    }
    let to = leaves.all().iter().fold(after, |to, proved| {
        if proved.sequence() == to + 1 && !is_lost(proved) {
            proved.sequence()
        } else {
            to
        }
    });
    Some(Completeness { after, to })
}

/// Whether a claim in view can be of the lineage that the bundle puts it in.
pub(super) fn check_lineages(view: &View<'_>, records: &Records, as_of: AsOf) -> Result<(), Failure> {
    let found = records.usurpers.iter().find(|usurper| {
        usurper.sequence <= as_of.sequence && view.claims.iter().any(|claim| claim.lineage == usurper.lineage)
    });
    match found {
        None => Ok(()),
        Some(usurper) => Err(Failure::new(format!(
            "the claim of sequence {} continues one of another issuer: what ended that one is missing",
            usurper.sequence
        ))),
    }
}

/// References of another kind than their fields ask for, which no ledger would have accepted.
pub(super) fn check_reference_kinds(subject: &ProvedLeaf, leaves: &ProvedLeaves) -> Result<(), Failure> {
    let Some(event) = subject.leaf.body.event() else { return Ok(()) };
    let iris = leaves.find(&event.semantic_anchor.iris_ref);
    let is_claim = iris.is_none_or(|iris| matches!(iris.leaf.body, LeafBody::Claim(_)));
    Failure::unless(is_claim, || "reference_wrong_kind: iris_ref names no claim".into())?;
    let grant = leaves.find(&event.semantic_anchor.grant_ref);
    let is_grant = grant.is_none_or(|grant| matches!(grant.leaf.body, LeafBody::Grant(_)));
    Failure::unless(is_grant, || "reference_wrong_kind: grant_ref names no grant".into())
}

/// Hops that a trace shows at most.
const DELEGATION_MAX: usize = 1_000;

/// The revocations of what is in view, up to a position, ascending; and whether one of them makes the subject suspect.
pub(super) fn revocations_in_view(
    subject: &ProvedLeaf,
    view: &View<'_>,
    records: &Records,
    leaves: &ProvedLeaves,
    as_of: AsOf,
) -> (Vec<AnchorId>, bool) {
    let mut targets: BTreeSet<AnchorId> = BTreeSet::new();
    let mut add = |claim: &ClaimRecord| {
        targets.insert(claim.anchor_id);
        for up_to in [as_of.sequence, subject.sequence()] {
            if let Some(newest) = records.newest_claim_of(claim.lineage, up_to) {
                targets.insert(newest.anchor_id);
            }
        }
    };
    view.iris.into_iter().for_each(&mut add);
    let shown = || view.links.iter().take(DELEGATION_MAX);
    shown()
        .flat_map(|link| [link.grantor_claim, link.grantee_claim])
        .filter_map(|sequence| records.claim(sequence))
        .for_each(&mut add);
    targets.extend(shown().map(|link| link.anchor_id));
    let accepted_ms = subject.leaf.header.accepted_ms;
    let (mut revocations, mut is_suspect) = (Vec::new(), false);
    for proved in leaves.all().iter().take_while(|proved| proved.sequence() <= as_of.sequence) {
        let LeafBody::Revocation(body) = &proved.leaf.body else { continue };
        if targets.contains(&body.target_anchor_id) {
            revocations.push(proved.anchor_id);
            is_suspect |= body.suspect_since != 0 && body.suspect_since <= accepted_ms;
        }
    }
    (revocations, is_suspect)
}

/// The grants that a trace shows, by their ids, from the one in question towards the root.
pub(super) fn shown_delegation(view: &View<'_>) -> Vec<AnchorId> {
    view.links.iter().take(DELEGATION_MAX).map(|link| link.anchor_id).collect()
}

/// The leaf before the subject in its origin, if it is in the bundle, must be the one that the subject names.
pub(super) fn check_subject_parent(subject: &ProvedLeaf, leaves: &ProvedLeaves) -> Result<(), Failure> {
    match leaves.find(&subject.leaf.header.parent_anchor_id) {
        Some(before) => check_parent_leaf(&subject.leaf, before),
        None => Ok(()),
    }
}
