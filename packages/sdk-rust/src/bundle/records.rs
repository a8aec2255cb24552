//! Claims, grants and their endings, derived from leaves in the order of their sequences. docs/PROTOCOL.md, "Lineages".

use std::collections::{BTreeMap, HashMap, HashSet};

use super::leaves::{ProvedLeaf, ProvedLeaves};
use crate::hash::{AnchorId, Hash, PublicKey};
use crate::leaf::{ClaimBody, GrantBody, LeafBody};

/// One claim: a link of its lineage.
#[derive(Clone, Debug)]
pub(super) struct ClaimRecord {
    pub(super) anchor_id: AnchorId,
    pub(super) sequence: u64,
    pub(super) subject_public_key: PublicKey,
    pub(super) issuer_public_key: PublicKey,
    /// Unix milliseconds, 0: never.
    pub(super) expires_at: u64,
    /// Sequence of the first claim of its lineage.
    pub(super) lineage: u64,
    pub(super) superseded_at: Option<u64>,
    pub(super) revoked_at: Option<u64>,
}

/// One grant. Claims and grants that it names are named by their sequences.
#[derive(Clone, Debug)]
pub(super) struct GrantRecord {
    pub(super) anchor_id: AnchorId,
    pub(super) sequence: u64,
    pub(super) grantor_claim: u64,
    pub(super) grantee_claim: u64,
    pub(super) grantor_lineage: u64,
    pub(super) grantee_lineage: u64,
    pub(super) parent: Option<u64>,
    pub(super) delegation_depth: u32,
    /// Unix milliseconds; what is not bounded here is inherited; 0: not bounded above either.
    pub(super) not_before: u64,
    pub(super) expires_at: u64,
    pub(super) grantor_public_key: PublicKey,
    pub(super) witness_public_key: PublicKey,
    pub(super) superseded_at: Option<u64>,
    pub(super) revoked_at: Option<u64>,
    /// Grants from the root to this one, where a state head says so.
    pub(super) links: Option<u32>,
}

/// A claim that would continue a lineage of another issuer, which none can: something between is missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usurper {
    pub(super) sequence: u64,
    pub(super) lineage: u64,
}

/// Records derived from the leaves of a bundle, or proved by its state head.
#[derive(Default)]
pub(super) struct Records {
    claims: BTreeMap<u64, ClaimRecord>,
    grants: BTreeMap<u64, GrantRecord>,
    /// Sequences of claims by lineage, ascending.
    lineages: HashMap<u64, Vec<u64>>,
    /// Newest claim of each pair.
    pairs: HashMap<(Hash, u32), u64>,
    /// Newest grant between two lineages.
    between: HashMap<(u64, u64), u64>,
    sequences: HashMap<AnchorId, u64>,
    /// Sequences of grants whose parents are not in the bundle. They end older grants all the same, and are good for
    /// nothing else.
    pub(super) orphans: HashSet<u64>,
    pub(super) usurpers: Vec<Usurper>,
    /// A state head gives the endings: a claim may be missing whose successor is not.
    is_stated: bool,
}

impl Records {
    pub(super) fn derive(leaves: &ProvedLeaves) -> Self {
        let mut records = Self::default();
        for proved in leaves.all() {
            match &proved.leaf.body {
                LeafBody::Claim(body) => records.add_claim(proved, body),
                LeafBody::Grant(body) => records.add_grant(proved, body),
                LeafBody::Revocation(body) => records.revoke(&body.target_anchor_id, proved.sequence()),
                _ => {}
            }
        }
        records
    }

    pub(super) fn claim(&self, sequence: u64) -> Option<&ClaimRecord> {
        self.claims.get(&sequence)
    }

    pub(super) fn grant(&self, sequence: u64) -> Option<&GrantRecord> {
        self.grants.get(&sequence)
    }

    /// The newest claim of a lineage whose sequence is at most `up_to`.
    pub(super) fn newest_claim_of(&self, lineage: u64, up_to: u64) -> Option<&ClaimRecord> {
        let newest = self.lineages.get(&lineage)?.iter().rev().find(|sequence| **sequence <= up_to)?;
        let newest = self.claim(*newest)?;
        // A claim names its successor, so that none between the two can be left out: then it is not known.
        let is_followed = self.is_stated && newest.superseded_at.is_some_and(|successor| successor <= up_to);
        (!is_followed).then_some(newest)
    }

    /// A claim with the endings that the state tree gives it.
    pub(super) fn add_stated_claim(&mut self, record: ClaimRecord) {
        self.is_stated = true;
        let of_lineage = self.lineages.entry(record.lineage).or_default();
        of_lineage.push(record.sequence);
        of_lineage.sort_unstable();
        self.sequences.insert(record.anchor_id, record.sequence);
        self.claims.insert(record.sequence, record);
    }

    /// A grant with the endings that the state tree gives it.
    pub(super) fn add_stated_grant(&mut self, record: GrantRecord) {
        self.grants.insert(record.sequence, record);
    }

    pub(super) fn claim_by_id(&self, anchor_id: &AnchorId) -> Option<&ClaimRecord> {
        self.sequences.get(anchor_id).and_then(|sequence| self.claim(*sequence))
    }

    fn grant_by_id(&self, anchor_id: &AnchorId) -> Option<&GrantRecord> {
        self.sequences.get(anchor_id).and_then(|sequence| self.grant(*sequence))
    }

    /// Takes its place as the newest of its pair, and continues the lineage there unless that was revoked.
    fn add_claim(&mut self, proved: &ProvedLeaf, body: &ClaimBody) {
        let sequence = proved.sequence();
        let newest = self.pairs.insert((body.entity_fingerprint, body.attribute_type), sequence);
        let mut lineage = sequence;
        if let Some(before) = newest.and_then(|newest| self.claims.get_mut(&newest)) {
            if before.revoked_at.is_none() {
                before.superseded_at = Some(sequence);
                lineage = before.lineage;
                if before.issuer_public_key != body.issuer_public_key {
                    self.usurpers.push(Usurper { sequence, lineage });
                }
            }
        }
        let record = ClaimRecord {
            anchor_id: proved.anchor_id,
            sequence,
            subject_public_key: body.subject_public_key,
            issuer_public_key: body.issuer_public_key,
            expires_at: body.expires_at,
            lineage,
            superseded_at: None,
            revoked_at: None,
        };
        self.claims.insert(sequence, record);
        self.lineages.entry(lineage).or_default().push(sequence);
        self.sequences.insert(proved.anchor_id, sequence);
    }

    /// Takes the place of an older grant between the same lineages. Without the claims that it names it is no record.
    fn add_grant(&mut self, proved: &ProvedLeaf, body: &GrantBody) {
        let parties = (self.claim_by_id(&body.grantor_claim_ref), self.claim_by_id(&body.grantee_claim_ref));
        let (Some(grantor), Some(grantee)) = parties else { return };
        let sequence = proved.sequence();
        let parent = self.grant_by_id(&body.parent_grant_ref);
        let inherited = parent.map_or((0, 0), |parent| (parent.not_before, parent.expires_at));
        let own = |bound: u64, inherited: u64| if bound == 0 { inherited } else { bound };
        let record = GrantRecord {
            anchor_id: proved.anchor_id,
            sequence,
            grantor_claim: grantor.sequence,
            grantee_claim: grantee.sequence,
            grantor_lineage: grantor.lineage,
            grantee_lineage: grantee.lineage,
            parent: parent.map(|parent| parent.sequence),
            delegation_depth: body.delegation_depth,
            not_before: own(body.not_before, inherited.0),
            expires_at: own(body.expires_at, inherited.1),
            grantor_public_key: body.grantor_public_key,
            witness_public_key: body.witness_public_key,
            superseded_at: None,
            revoked_at: None,
            links: None,
        };
        let is_orphan = !body.parent_grant_ref.is_zero() && record.parent.is_none();
        let older = self.between.insert((record.grantor_lineage, record.grantee_lineage), sequence);
        if let Some(older) = older.and_then(|older| self.grants.get_mut(&older)) {
            if older.revoked_at.is_none() {
                older.superseded_at = Some(sequence);
            }
        }
        self.grants.insert(sequence, record);
        if is_orphan {
            self.orphans.insert(sequence);
        } else {
            self.sequences.insert(proved.anchor_id, sequence);
        }
    }

    /// The first revocation decides; a later one changes nothing.
    fn revoke(&mut self, target: &AnchorId, at: u64) {
        let Some(sequence) = self.sequences.get(target) else { return };
        if let Some(claim) = self.claims.get_mut(sequence) {
            claim.revoked_at.get_or_insert(at);
        } else if let Some(grant) = self.grants.get_mut(sequence) {
            grant.revoked_at.get_or_insert(at);
        }
    }

    /// From a grant to its root, as far as the records go.
    pub(super) fn chain_of<'a>(&'a self, grant: &'a GrantRecord) -> Vec<&'a GrantRecord> {
        let above = |link: &&'a GrantRecord| {
            let parent = link.parent.filter(|parent| *parent < link.sequence)?;
            self.grant(parent)
        };
        std::iter::successors(Some(grant), above).collect()
    }
}
