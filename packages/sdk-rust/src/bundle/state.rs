//! What the state head of a bundle proves. docs/PROTOCOL.md, "Bundle with a state head".

use std::collections::{BTreeMap, HashMap};

use super::judge::View;
use super::leaves::{CertifiedTree, ProvedLeaf, ProvedLeaves};
use super::parse::{AsOf, BundleState, StatedRecord};
use super::records::{ClaimRecord, GrantRecord, Records};
use super::Failure;
use crate::bytes::{ReadFault, Reader};
use crate::error::Error;
use crate::hash::{AnchorId, Hash, OriginFingerprint};
use crate::leaf::{anchor_id_of, GrantBody, Leaf, LeafBody};
use crate::state_head::{parse_state_head, signers_of, state_key, state_root_of, PlacedLeaf, StateHead};
use crate::trust_root_chain::TrustRootChain;
use crate::trust_root_text::NodeStatus;

const KIND_CLAIM: u8 = 1;
const KIND_GRANT: u8 = 3;

/// A head that a quorum has signed, and the records that are in its tree.
pub(super) struct ProvedState {
    pub(super) head: StateHead,
    /// The version that the head names and that judged it.
    pub(super) version: u32,
    pub(super) trees: HashMap<OriginFingerprint, CertifiedTree>,
    pub(super) leaves: Vec<ProvedLeaf>,
    pub(super) records: Records,
}

fn failure(error: &Error) -> Failure {
    Failure::new(format!("{}: {error}", error.code()))
}

/// The head, and the version that it names; a quorum of that has signed it, without those who are distrusted since.
fn prove_head(note: &str, chain: &TrustRootChain) -> Result<(StateHead, u32), Failure> {
    let (head, note) = parse_state_head(note).map_err(|error| failure(&error))?;
    let newest = &chain.newest().trust_root;
    Failure::unless(head.epoch == u64::from(newest.epoch), || {
        format!("epoch_differs: the head is of epoch {}, the newest trust root of {}", head.epoch, newest.epoch)
    })?;
    let named = chain.versions().find(|version| u64::from(version.trust_root.version) == head.version);
    let signed = named.ok_or_else(|| {
        Failure::new(format!("trust_root_unknown: the head names version {}, which is not held", head.version))
    })?;
    let mut signers = signers_of(&head, &note, signed).map_err(|error| failure(&error))?;
    signers.retain(|signer| {
        let is_same = |key: &[u8; 32]| key == signer.cosigner_vkey.public_key().as_bytes();
        !newest.nodes.iter().any(|node| {
            node.status == NodeStatus::Distrusted
                && (node.node_id == signer.node_id || is_same(node.cosigner_vkey.public_key().as_bytes()))
        })
    });
    Failure::unless(signers.len() >= signed.trust_root.quorum, || {
        format!("cosigner_distrusted: the quorum needs a node that version {} distrusts", newest.version)
    })?;
    Ok((head, signed.trust_root.version))
}

fn trees_of(head: &StateHead, chain: &TrustRootChain) -> Result<HashMap<OriginFingerprint, CertifiedTree>, Failure> {
    let tree = |origin: &crate::state_head::StateOrigin| {
        let origin_fingerprint = origin.origin_fingerprint;
        let listed = chain.newest().trust_root.origin(&origin_fingerprint);
        let status = listed
            .map(|listed| listed.status)
            .ok_or_else(|| Failure::new(format!("no trust root lists origin {origin_fingerprint}")))?;
        let (tree_size, root_hash) = (origin.tree_size, origin.root_hash);
        Ok((origin_fingerprint, CertifiedTree { origin_fingerprint, origin_status: status, tree_size, root_hash }))
    };
    head.origins.iter().map(tree).collect()
}

/// What the value of a record says.
struct Value {
    sequence: u64,
    lineage: u64,
    /// Only a grant has one.
    grantee_lineage: u64,
    parent: u64,
    links: u32,
    not_before: u64,
    expires_at: u64,
    superseded: u64,
    revoked: u64,
}

fn read_value(bytes: &[u8], is_grant: bool) -> Result<Value, ReadFault> {
    let mut reader = Reader::new(bytes);
    let sequence = reader.u64()?;
    reader.take(16)?;
    let lineage = reader.u64()?;
    let mut value = Value {
        sequence,
        lineage,
        grantee_lineage: 0,
        parent: 0,
        links: 0,
        not_before: 0,
        expires_at: 0,
        superseded: 0,
        revoked: 0,
    };
    if is_grant {
        value.grantee_lineage = reader.u64()?;
        value.parent = reader.u64()?;
        value.links = reader.u32()?;
        value.not_before = reader.u64()?;
        value.expires_at = reader.u64()?;
    }
    value.superseded = reader.u64()?;
    value.revoked = reader.u64()?;
    if reader.is_empty() {
        Ok(value)
    } else {
        Err(ReadFault::Truncated)
    }
}

fn or_none(sequence: u64) -> Option<u64> {
    (sequence != 0).then_some(sequence)
}

/// A grant whose claims are looked for when all records are known.
struct StatedGrant {
    anchor_id: AnchorId,
    body: GrantBody,
    value: Value,
}

fn add_grant(records: &mut Records, grant: &StatedGrant) {
    let StatedGrant { anchor_id, body, value } = grant;
    let parties = (records.claim_by_id(&body.grantor_claim_ref), records.claim_by_id(&body.grantee_claim_ref));
    let (Some(grantor), Some(grantee)) = parties else { return };
    let record = GrantRecord {
        anchor_id: *anchor_id,
        sequence: value.sequence,
        grantor_claim: grantor.sequence,
        grantee_claim: grantee.sequence,
        grantor_lineage: value.lineage,
        grantee_lineage: value.grantee_lineage,
        parent: or_none(value.parent),
        delegation_depth: body.delegation_depth,
        not_before: value.not_before,
        expires_at: value.expires_at,
        grantor_public_key: body.grantor_public_key,
        witness_public_key: body.witness_public_key,
        superseded_at: or_none(value.superseded),
        revoked_at: or_none(value.revoked),
        links: Some(value.links),
    };
    records.add_stated_grant(record);
}

/// What is being collected of the records.
#[derive(Default)]
struct Found {
    records: Records,
    leaves: Vec<ProvedLeaf>,
    placed: Vec<PlacedLeaf>,
    grants: Vec<StatedGrant>,
}

impl Found {
    fn add(
        &mut self,
        part: &StatedRecord,
        trees: &HashMap<OriginFingerprint, CertifiedTree>,
        place: &str,
    ) -> Result<(), Failure> {
        let leaf = Leaf::decode(&part.leaf).map_err(|error| Failure::new(format!("{place} is no leaf: {error}")))?;
        let anchor_id = anchor_id_of(&part.leaf);
        let is_grant = matches!(leaf.body, LeafBody::Grant(_));
        let is_record = is_grant || matches!(leaf.body, LeafBody::Claim(_));
        Failure::unless(is_record, || format!("{place} is neither claim nor grant"))?;
        let value = read_value(&part.value, is_grant)
            .map_err(|_| Failure::new(format!("the value of {place} cannot be read")))?;
        Failure::unless(value.sequence == leaf.header.sequence, || format!("{place}: its value has another sequence"))?;
        let tree = trees
            .get(&leaf.header.origin_fingerprint)
            .ok_or_else(|| Failure::new(format!("{place} is of an origin that the state head does not have")))?;
        let key = state_key(if is_grant { KIND_GRANT } else { KIND_CLAIM }, &anchor_id);
        self.placed.push(PlacedLeaf { key, value_hash: Hash::sha256(&part.value), level: part.level });
        match &leaf.body {
            LeafBody::Claim(body) => self.records.add_stated_claim(ClaimRecord {
                anchor_id,
                sequence: value.sequence,
                subject_public_key: body.subject_public_key,
                issuer_public_key: body.issuer_public_key,
                expires_at: body.expires_at,
                lineage: value.lineage,
                superseded_at: or_none(value.superseded),
                revoked_at: or_none(value.revoked),
            }),
            LeafBody::Grant(body) => self.grants.push(StatedGrant { anchor_id, body: body.clone(), value }),
            _ => {}
        }
        self.leaves.push(ProvedLeaf { anchor_id, leaf, origin_status: tree.origin_status });
        Ok(())
    }
}

/// The head is signed by a quorum of the version that it names, and the records are in its tree.
pub(super) fn prove_state(state: &BundleState, chain: &TrustRootChain) -> Result<ProvedState, Failure> {
    let (head, version) = prove_head(&state.head, chain)?;
    let trees = trees_of(&head, chain)?;
    let mut found = Found::default();
    for (at, part) in state.records.iter().enumerate() {
        found.add(part, &trees, &format!("record {at}"))?;
    }
    let Found { mut records, leaves, placed, grants } = found;
    let is_empty = placed.is_empty() && state.siblings.is_empty();
    Failure::unless(is_empty || state_root_of(placed, &state.siblings) == Some(head.state_root), || {
        "the paths of the records do not lead to the root of the state head".into()
    })?;
    for grant in &grants {
        add_grant(&mut records, grant);
    }
    Ok(ProvedState { head, version, trees, leaves, records })
}

/// Claims of one lineage are of one pair, and vouched for by one issuer: nodes that lie cannot put a stranger's claim in
/// the lineage of a grantee.
pub(super) fn check_stated_lineages(leaves: &ProvedLeaves, records: &Records) -> Result<(), Failure> {
    let mut first: HashMap<u64, (Hash, u32, [u8; 32])> = HashMap::new();
    for proved in leaves.all() {
        let LeafBody::Claim(body) = &proved.leaf.body else { continue };
        let Some(claim) = records.claim(proved.sequence()) else { continue };
        let own = (body.entity_fingerprint, body.attribute_type, *body.issuer_public_key.as_bytes());
        let is_same = *first.entry(claim.lineage).or_insert(own) == own;
        Failure::unless(is_same, || {
            format!("the claim of sequence {} cannot be of lineage {}", claim.sequence, claim.lineage)
        })?;
    }
    Ok(())
}

/// The newest claim of each lineage in view is known, at the act and at the position of now.
pub(super) fn check_newest_claims(view: &View<'_>, records: &Records, positions: [u64; 2]) -> Result<(), Failure> {
    for claim in &view.claims {
        for at in positions {
            let is_known = claim.sequence > at || records.newest_claim_of(claim.lineage, at).is_some();
            Failure::unless(is_known, || {
                format!("the newest claim of lineage {} at sequence {at} is not in the bundle", claim.lineage)
            })?;
        }
    }
    Ok(())
}

/// A record with its endings, and whether it is a claim.
struct Ends {
    anchor_id: AnchorId,
    sequence: u64,
    superseded_at: Option<u64>,
    revoked_at: Option<u64>,
    is_claim: bool,
}

/// Each ending up to a position has the leaf that made it.
fn check_endings(ends: &Ends, as_of: AsOf, leaves: &ProvedLeaves) -> Result<(), Failure> {
    let Ends { anchor_id, sequence, superseded_at, revoked_at, is_claim } = ends;
    let until = |ending: &Option<u64>| ending.filter(|ending| *ending <= as_of.sequence);
    let body = |at: u64| leaves.at_sequence(at).map(|proved| &proved.leaf.body);
    if let Some(at) = until(revoked_at) {
        let is_revoked = matches!(body(at), Some(LeafBody::Revocation(it)) if it.target_anchor_id == *anchor_id);
        Failure::unless(is_revoked && at > *sequence, || {
            format!("record_differs: sequence {sequence} is revoked at {at}, where nothing revokes it")
        })?;
    }
    if let Some(at) = until(superseded_at) {
        let is_followed = match body(at) {
            Some(LeafBody::Claim(_)) => *is_claim,
            Some(LeafBody::Grant(_)) => !is_claim,
            _ => false,
        };
        Failure::unless(is_followed && at > *sequence, || {
            format!("record_differs: sequence {sequence} is superseded at {at}, where nothing takes its place")
        })?;
    }
    Ok(())
}

/// The value of a grant agrees with its leaf and with the records that it names.
fn check_grant(link: &GrantRecord, records: &Records, leaves: &ProvedLeaves) -> Result<(), Failure> {
    let sequence = link.sequence;
    let differs = || format!("record_differs: the value of the grant of sequence {sequence} is not what its leaf says");
    let Some(LeafBody::Grant(body)) = leaves.at_sequence(sequence).map(|proved| &proved.leaf.body) else {
        return Err(Failure::new(differs()));
    };
    let parent = link.parent.and_then(|parent| records.grant(parent));
    let above = parent.map_or((0, 0), |parent| (parent.not_before, parent.expires_at));
    let own = |bound: u64, inherited: u64| if bound == 0 { inherited } else { bound };
    let lineage = |claim: u64| records.claim(claim).map(|claim| claim.lineage);
    let is_same = lineage(link.grantor_claim) == Some(link.grantor_lineage)
        && lineage(link.grantee_claim) == Some(link.grantee_lineage)
        && body.parent_grant_ref == parent.map_or(Hash::ZERO, |parent| parent.anchor_id)
        && link.links == parent.map_or(Some(1), |parent| parent.links.and_then(|links| links.checked_add(1)))
        && link.not_before == own(body.not_before, above.0)
        && link.expires_at == own(body.expires_at, above.1);
    Failure::unless(is_same, differs)
}

/// The values of the records on the way agree with their leaves, and with the leaves that ended them.
pub(super) fn check_values(
    subject: &ProvedLeaf,
    view: &View<'_>,
    records: &Records,
    leaves: &ProvedLeaves,
    as_of: AsOf,
) -> Result<(), Failure> {
    let is_empty = subject.leaf.body.event().is_none_or(|event| event.semantic_anchor.iris_ref.is_zero());
    Failure::unless(is_empty || view.iris.is_some(), || "a record that decides is not in the bundle".into())?;
    let mut claims: BTreeMap<u64, &ClaimRecord> = view.iris.into_iter().map(|iris| (iris.sequence, iris)).collect();
    for link in &view.links {
        check_grant(link, records, leaves)?;
        let GrantRecord { anchor_id, sequence, superseded_at, revoked_at, .. } = **link;
        check_endings(&Ends { anchor_id, sequence, superseded_at, revoked_at, is_claim: false }, as_of, leaves)?;
        for named in [link.grantor_claim, link.grantee_claim].into_iter().filter_map(|at| records.claim(at)) {
            let newest = records.newest_claim_of(named.lineage, as_of.sequence).unwrap_or(named);
            claims.extend([(named.sequence, named), (newest.sequence, newest)]);
        }
    }
    for claim in claims.into_values() {
        let ClaimRecord { anchor_id, sequence, superseded_at, revoked_at, lineage, .. } = *claim;
        Failure::unless(lineage <= sequence, || format!("record_differs: the lineage of sequence {sequence}"))?;
        check_endings(&Ends { anchor_id, sequence, superseded_at, revoked_at, is_claim: true }, as_of, leaves)?;
    }
    Ok(())
}
