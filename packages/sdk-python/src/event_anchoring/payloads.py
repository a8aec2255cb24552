"""The exact bytes that each party signs. docs/PROTOCOL.md, "What parties sign"."""

from __future__ import annotations

from ._bytes import sha256, u32, u64
from ._tags import tag
from .leaf import ClaimLeaf, GrantLeaf, SemanticHashes


def claim_payload(
    *,
    origin_fingerprint: bytes,
    entity_fingerprint: bytes,
    attribute_type: int,
    attribute_hash: bytes,
    issued_at: int,
    expires_at: int,
    subject_public_key: bytes,
    issuer_public_key: bytes,
) -> bytes:
    """What the subject of a claim signs: 207 bytes."""
    about = entity_fingerprint + u32(attribute_type) + attribute_hash + u64(issued_at) + u64(expires_at)
    return tag("claim") + origin_fingerprint + about + subject_public_key + issuer_public_key


def claim_issuer_payload(payload: bytes, subject_signature: bytes) -> bytes:
    """What the issuer of a claim signs, once the subject has signed: 130 bytes."""
    return tag("claim-issuer") + sha256(payload) + subject_signature


def grant_payload(
    *,
    origin_fingerprint: bytes,
    grantor_claim_ref: bytes,
    grantee_claim_ref: bytes,
    parent_grant_ref: bytes,
    scope_hash: bytes,
    delegation_depth: int,
    issued_at: int,
    not_before: int,
    expires_at: int,
    grantor_public_key: bytes,
    witness_public_key: bytes,
) -> bytes:
    """What the grantor signs: 279 bytes."""
    refs = origin_fingerprint + grantor_claim_ref + grantee_claim_ref + parent_grant_ref + scope_hash
    bounds = u32(delegation_depth) + u64(issued_at) + u64(not_before) + u64(expires_at)
    return tag("grant") + refs + bounds + grantor_public_key + witness_public_key


def grant_witness_payload(payload: bytes, grantor_signature: bytes) -> bytes:
    """What the witness of a grant signs, once the grantor has signed: 131 bytes."""
    return tag("grant-witness") + sha256(payload) + grantor_signature


def revocation_payload(
    *, origin_fingerprint: bytes, target_anchor_id: bytes, reason: int, suspect_since: int, issued_at: int
) -> bytes:
    """What a revoker signs: 113 bytes. The origin is that of the *target*."""
    about = target_anchor_id + bytes([reason]) + u64(suspect_since) + u64(issued_at)
    return tag("revocation") + origin_fingerprint + about


def event_actor_payload(*, origin_fingerprint: bytes, event_hash: bytes, semantic_anchor: SemanticHashes) -> bytes:
    """What the actor of a signed event signs: 289 bytes."""
    return tag("event-actor") + origin_fingerprint + event_hash + semantic_anchor.joined()


def claim_payload_of(leaf: ClaimLeaf) -> bytes:
    """What the subject of a recorded claim has signed."""
    return claim_payload(
        origin_fingerprint=leaf.origin_fingerprint,
        entity_fingerprint=leaf.entity_fingerprint,
        attribute_type=leaf.attribute_type,
        attribute_hash=leaf.attribute_hash,
        issued_at=leaf.issued_at,
        expires_at=leaf.expires_at,
        subject_public_key=leaf.subject_public_key,
        issuer_public_key=leaf.issuer_public_key,
    )


def grant_payload_of(leaf: GrantLeaf) -> bytes:
    """What the grantor of a recorded grant has signed."""
    return grant_payload(
        origin_fingerprint=leaf.origin_fingerprint,
        grantor_claim_ref=leaf.grantor_claim_ref,
        grantee_claim_ref=leaf.grantee_claim_ref,
        parent_grant_ref=leaf.parent_grant_ref,
        scope_hash=leaf.scope_hash,
        delegation_depth=leaf.delegation_depth,
        issued_at=leaf.issued_at,
        not_before=leaf.not_before,
        expires_at=leaf.expires_at,
        grantor_public_key=leaf.grantor_public_key,
        witness_public_key=leaf.witness_public_key,
    )
