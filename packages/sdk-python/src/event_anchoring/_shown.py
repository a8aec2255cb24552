"""Whether an anchor is what it shows: the anchor id is the hash of the leaf, and an anchor shows every field of it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Optional, Tuple

from . import models
from ._bytes import hex_to_bytes
from ._tags import client_event_commit
from .errors import UnexpectedAnswer, VerificationError
from .leaf import (
    REVOCATION_AUTHORITIES,
    REVOCATION_REASONS,
    ClaimLeaf,
    EventLeaf,
    GenesisLeaf,
    GrantLeaf,
    Leaf,
    RevocationLeaf,
    SemanticHashes,
    SignedEventLeaf,
    TrustRootLeaf,
    anchor_id_of,
    encode_leaf,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _bytes(text: Optional[str], length: int = 32) -> bytes:
    """Absent is zeros."""
    return bytes(length) if text is None else hex_to_bytes(text, length)


def _header(anchor: models.AnchorBase) -> Tuple[bytes, int, bytes, int, int]:
    origin, parent = _bytes(anchor.origin_fingerprint), _bytes(anchor.parent_anchor_id)
    return origin, anchor.depth, parent, anchor.sequence, anchor.accepted_ms


def _event_body(anchor: models.EventAnchor) -> Tuple[bytes, SemanticHashes, bytes]:
    refs = {} if anchor.semantic_anchor is None else vars(anchor.semantic_anchor)
    hashes = SemanticHashes(**{name: _bytes(value) for name, value in refs.items()})
    return _bytes(anchor.event_hash), hashes, _bytes(anchor.client_event_commit)


def _claim_leaf(anchor: models.ClaimAnchor) -> Leaf:
    return ClaimLeaf(
        *_header(anchor),
        entity_fingerprint=_bytes(anchor.entity_fingerprint),
        attribute_type=anchor.attribute_type,
        attribute_hash=_bytes(anchor.attribute_hash),
        issued_at=anchor.issued_at,
        expires_at=anchor.expires_at,
        subject_public_key=_bytes(anchor.subject_public_key),
        subject_signature=_bytes(anchor.subject_signature, 64),
        issuer_public_key=_bytes(anchor.issuer_public_key),
        issuer_signature=_bytes(anchor.issuer_signature, 64),
    )


def _grant_leaf(anchor: models.GrantAnchor) -> Leaf:
    return GrantLeaf(
        *_header(anchor),
        grantor_claim_ref=_bytes(anchor.grantor_claim_ref),
        grantee_claim_ref=_bytes(anchor.grantee_claim_ref),
        parent_grant_ref=_bytes(anchor.parent_grant_ref),
        scope_hash=_bytes(anchor.scope_hash),
        delegation_depth=anchor.delegation_depth,
        issued_at=anchor.issued_at,
        not_before=anchor.not_before,
        expires_at=anchor.expires_at,
        grantor_public_key=_bytes(anchor.grantor_public_key),
        grantor_signature=_bytes(anchor.grantor_signature, 64),
        witness_public_key=_bytes(anchor.witness_public_key),
        witness_signature=_bytes(anchor.witness_signature, 64),
    )


def _revocation_leaf(anchor: models.RevocationAnchor) -> Leaf:
    return RevocationLeaf(
        *_header(anchor),
        target_anchor_id=_bytes(anchor.target_anchor_id),
        reason=REVOCATION_REASONS.index(anchor.reason),
        suspect_since=anchor.suspect_since,
        issued_at=anchor.issued_at,
        authority=REVOCATION_AUTHORITIES.index(anchor.authority),
        revoker=_bytes(anchor.revoker),
        signature=_bytes(anchor.signature, 64),
    )


def leaf_of(anchor: models.AnchorBase) -> Optional[Leaf]:
    """The leaf that an anchor shows; None for a kind that this version does not know. Raises ValueError."""
    if isinstance(anchor, models.SignedEventAnchor):
        actor = _bytes(anchor.actor_public_key), _bytes(anchor.actor_signature, 64)
        return SignedEventLeaf(*_header(anchor), *_event_body(anchor), *actor)
    if isinstance(anchor, models.EventAnchor):
        return EventLeaf(*_header(anchor), *_event_body(anchor))
    if isinstance(anchor, models.ClaimAnchor):
        return _claim_leaf(anchor)
    if isinstance(anchor, models.GrantAnchor):
        return _grant_leaf(anchor)
    if isinstance(anchor, models.RevocationAnchor):
        return _revocation_leaf(anchor)
    if isinstance(anchor, models.GenesisAnchor):
        return GenesisLeaf(*_header(anchor), _bytes(anchor.cluster_id), _bytes(anchor.root_thk))
    if isinstance(anchor, models.TrustRootAnchor):
        return TrustRootLeaf(*_header(anchor), anchor.version, _bytes(anchor.root_thk))
    return None


def _encoded(anchor: models.AnchorBase) -> Optional[bytes]:
    try:
        leaf = leaf_of(anchor)
        return None if leaf is None else encode_leaf(leaf)
    except (ValueError, OverflowError, VerificationError):
        # No leaf has such fields.
        return b""


def _opens(anchor: models.EventAnchor) -> bool:
    """Whether the client event id, where it is shown, is the one that the leaf commits to."""
    own_id, salt = anchor.client_event_id, anchor.client_event_salt
    if own_id is None or salt is None or not own_id.isascii():
        return own_id is None and salt is None
    return _bytes(anchor.client_event_commit) == client_event_commit(_bytes(salt), own_id)


def _rfc_3339(time_ms: int) -> str:
    try:
        return (_EPOCH + timedelta(milliseconds=time_ms)).strftime("%Y-%m-%dT%H:%M:%S.") + f"{time_ms % 1000:03}Z"
    except OverflowError:
        # After the year 9999 there is no such text.
        return ""


def check_anchor(anchor: models.AnchorBase, where: str) -> None:
    """Raises UnexpectedAnswer if the anchor id is not the hash of what the anchor shows."""
    encoded = _encoded(anchor)
    if encoded is None:
        return
    is_shown = anchor_id_of(encoded).hex() == anchor.anchor_id and _rfc_3339(anchor.accepted_ms) == anchor.accepted_at
    if isinstance(anchor, models.EventAnchor):
        is_shown = is_shown and _opens(anchor)
    if not is_shown:
        raise UnexpectedAnswer(f"{where} is not what its anchor_id is the hash of")
