//! The exact bytes each party signs, one tag each. docs/PROTOCOL.md, "What parties sign".

use crate::hash::{AnchorId, Hash, OriginFingerprint, PublicKey, Signature};
use crate::leaf::{ClaimBody, EventBody, GrantBody, Leaf, LeafBody, RevocationBody, SemanticHashes};
use crate::tags::tag;
use crate::words::RevocationReason;

/// What a claim says, signatures aside.
pub(crate) struct ClaimContent<'a> {
    pub(crate) origin_fingerprint: &'a OriginFingerprint,
    pub(crate) entity_fingerprint: &'a Hash,
    pub(crate) attribute_type: u32,
    pub(crate) attribute_hash: &'a Hash,
    pub(crate) issued_at: u64,
    pub(crate) expires_at: u64,
    pub(crate) subject_public_key: &'a PublicKey,
    pub(crate) issuer_public_key: &'a PublicKey,
}

/// What a grant says, signatures aside.
pub(crate) struct GrantContent<'a> {
    pub(crate) origin_fingerprint: &'a OriginFingerprint,
    pub(crate) grantor_claim_ref: &'a AnchorId,
    pub(crate) grantee_claim_ref: &'a AnchorId,
    pub(crate) parent_grant_ref: &'a AnchorId,
    pub(crate) scope_hash: &'a Hash,
    pub(crate) delegation_depth: u32,
    pub(crate) issued_at: u64,
    pub(crate) not_before: u64,
    pub(crate) expires_at: u64,
    pub(crate) grantor_public_key: &'a PublicKey,
    pub(crate) witness_public_key: &'a PublicKey,
}

/// What the subject of a claim signs: 207 bytes.
pub(crate) fn claim_payload(claim: &ClaimContent<'_>) -> Vec<u8> {
    let mut bytes = tag("claim");
    bytes.extend_from_slice(claim.origin_fingerprint.as_bytes());
    bytes.extend_from_slice(claim.entity_fingerprint.as_bytes());
    bytes.extend_from_slice(&claim.attribute_type.to_be_bytes());
    bytes.extend_from_slice(claim.attribute_hash.as_bytes());
    bytes.extend_from_slice(&claim.issued_at.to_be_bytes());
    bytes.extend_from_slice(&claim.expires_at.to_be_bytes());
    bytes.extend_from_slice(claim.subject_public_key.as_bytes());
    bytes.extend_from_slice(claim.issuer_public_key.as_bytes());
    bytes
}

/// What the grantor signs: 279 bytes.
pub(crate) fn grant_payload(grant: &GrantContent<'_>) -> Vec<u8> {
    let mut bytes = tag("grant");
    bytes.extend_from_slice(grant.origin_fingerprint.as_bytes());
    bytes.extend_from_slice(grant.grantor_claim_ref.as_bytes());
    bytes.extend_from_slice(grant.grantee_claim_ref.as_bytes());
    bytes.extend_from_slice(grant.parent_grant_ref.as_bytes());
    bytes.extend_from_slice(grant.scope_hash.as_bytes());
    bytes.extend_from_slice(&grant.delegation_depth.to_be_bytes());
    bytes.extend_from_slice(&grant.issued_at.to_be_bytes());
    bytes.extend_from_slice(&grant.not_before.to_be_bytes());
    bytes.extend_from_slice(&grant.expires_at.to_be_bytes());
    bytes.extend_from_slice(grant.grantor_public_key.as_bytes());
    bytes.extend_from_slice(grant.witness_public_key.as_bytes());
    bytes
}

/// What the second signer signs, once the first has signed: its tag, the hash of the first payload, the first
/// signature.
pub(crate) fn second_payload(name: &str, first_payload: &[u8], first_signature: &Signature) -> Vec<u8> {
    let mut bytes = tag(name);
    bytes.extend_from_slice(Hash::sha256(first_payload).as_bytes());
    bytes.extend_from_slice(first_signature.as_bytes());
    bytes
}

/// What a revoker signs: 113 bytes. The origin is that of the *target*, wherever the leaf goes.
pub(crate) fn revocation_payload(
    target_origin_fingerprint: &OriginFingerprint,
    target_anchor_id: &AnchorId,
    reason: RevocationReason,
    suspect_since: u64,
    issued_at: u64,
) -> Vec<u8> {
    let mut bytes = tag("revocation");
    bytes.extend_from_slice(target_origin_fingerprint.as_bytes());
    bytes.extend_from_slice(target_anchor_id.as_bytes());
    bytes.push(reason.number());
    bytes.extend_from_slice(&suspect_since.to_be_bytes());
    bytes.extend_from_slice(&issued_at.to_be_bytes());
    bytes
}

/// What the actor of a signed event signs: 289 bytes.
pub(crate) fn event_actor_payload(
    origin_fingerprint: &OriginFingerprint,
    event_hash: &Hash,
    semantic_anchor: &SemanticHashes,
) -> Vec<u8> {
    let mut bytes = tag("event-actor");
    bytes.extend_from_slice(origin_fingerprint.as_bytes());
    bytes.extend_from_slice(event_hash.as_bytes());
    semantic_anchor.write(&mut bytes);
    bytes
}

pub(crate) fn claim_payload_of(origin: &OriginFingerprint, body: &ClaimBody) -> Vec<u8> {
    claim_payload(&ClaimContent {
        origin_fingerprint: origin,
        entity_fingerprint: &body.entity_fingerprint,
        attribute_type: body.attribute_type,
        attribute_hash: &body.attribute_hash,
        issued_at: body.issued_at,
        expires_at: body.expires_at,
        subject_public_key: &body.subject_public_key,
        issuer_public_key: &body.issuer_public_key,
    })
}

pub(crate) fn grant_payload_of(origin: &OriginFingerprint, body: &GrantBody) -> Vec<u8> {
    grant_payload(&GrantContent {
        origin_fingerprint: origin,
        grantor_claim_ref: &body.grantor_claim_ref,
        grantee_claim_ref: &body.grantee_claim_ref,
        parent_grant_ref: &body.parent_grant_ref,
        scope_hash: &body.scope_hash,
        delegation_depth: body.delegation_depth,
        issued_at: body.issued_at,
        not_before: body.not_before,
        expires_at: body.expires_at,
        grantor_public_key: &body.grantor_public_key,
        witness_public_key: &body.witness_public_key,
    })
}

pub(crate) fn revocation_payload_of(target_origin: &OriginFingerprint, body: &RevocationBody) -> Vec<u8> {
    let RevocationBody { target_anchor_id, reason, suspect_since, issued_at, .. } = body;
    revocation_payload(target_origin, target_anchor_id, *reason, *suspect_since, *issued_at)
}

pub(crate) fn actor_payload_of(origin: &OriginFingerprint, event: &EventBody) -> Vec<u8> {
    event_actor_payload(origin, &event.event_hash, &event.semantic_anchor)
}

/// The payload that the leaf's first signer has signed; `None` for kinds that nobody signs.
pub(crate) fn payload_of_leaf(leaf: &Leaf, expected: &[u8]) -> Option<Vec<u8>> {
    let origin = &leaf.header.origin_fingerprint;
    match &leaf.body {
        LeafBody::Genesis(_) | LeafBody::Event(_) | LeafBody::TrustRoot(_) => None,
        LeafBody::Claim(body) => Some(claim_payload_of(origin, body)),
        LeafBody::Grant(body) => Some(grant_payload_of(origin, body)),
        LeafBody::Revocation(body) => {
            // The signed origin is the target's, which differs from the leaf's own if the target's origin is lost.
            let start = tag("revocation").len();
            let target_origin = Hash::try_from(expected.get(start..start + 32)?).ok()?;
            Some(revocation_payload_of(&target_origin, body))
        }
        LeafBody::SignedEvent(event, _) => Some(actor_payload_of(origin, event)),
    }
}
