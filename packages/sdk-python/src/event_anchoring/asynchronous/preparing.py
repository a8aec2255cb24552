"""What is to be signed."""

from __future__ import annotations

from typing import Optional, Union

from .._inputs import Bytes32
from .._operations import node, reading
from ..prepare import (
    PreparedClaimAnchor,
    PreparedEventAnchor,
    PreparedGrantAnchor,
    PreparedRevocation,
    SemanticAnchorInput,
    prepare_claim_anchor,
    prepare_event_anchor,
    prepare_grant_anchor,
    prepare_revocation,
)
from .base import AsyncClientBase


class AsyncPreparingCalls(AsyncClientBase):
    """Offline, once the origin is known."""

    async def prepare_claim_anchor(
        self,
        *,
        entity_fingerprint: Bytes32,
        attribute_type: Union[int, str],
        attribute_hash: Bytes32,
        subject_public_key: Bytes32,
        issuer_public_key: Bytes32,
        issued_at: Optional[int] = None,
        expires_at: Optional[int] = None,
        origin_fingerprint: Optional[Bytes32] = None,
    ) -> PreparedClaimAnchor:
        """As the function prepare_claim_anchor, with this client's origin."""
        origin = await self._run(node.origin(self._session, origin_fingerprint))
        return prepare_claim_anchor(
            origin_fingerprint=origin,
            entity_fingerprint=entity_fingerprint,
            attribute_type=attribute_type,
            attribute_hash=attribute_hash,
            subject_public_key=subject_public_key,
            issuer_public_key=issuer_public_key,
            issued_at=issued_at,
            expires_at=expires_at,
        )

    async def prepare_grant_anchor(
        self,
        *,
        grantor_claim_ref: Bytes32,
        grantee_claim_ref: Bytes32,
        scope_hash: Bytes32,
        delegation_depth: int,
        grantor_public_key: Bytes32,
        witness_public_key: Bytes32,
        parent_grant_ref: Optional[Bytes32] = None,
        issued_at: Optional[int] = None,
        not_before: Optional[int] = None,
        expires_at: Optional[int] = None,
        origin_fingerprint: Optional[Bytes32] = None,
    ) -> PreparedGrantAnchor:
        """As the function prepare_grant_anchor, with this client's origin."""
        origin = await self._run(node.origin(self._session, origin_fingerprint))
        return prepare_grant_anchor(
            origin_fingerprint=origin,
            grantor_claim_ref=grantor_claim_ref,
            grantee_claim_ref=grantee_claim_ref,
            scope_hash=scope_hash,
            delegation_depth=delegation_depth,
            grantor_public_key=grantor_public_key,
            witness_public_key=witness_public_key,
            parent_grant_ref=parent_grant_ref,
            issued_at=issued_at,
            not_before=not_before,
            expires_at=expires_at,
        )

    async def prepare_event_anchor(
        self,
        event_hash: Bytes32,
        *,
        semantic_anchor: Optional[SemanticAnchorInput] = None,
        client_event_id: Optional[str] = None,
        actor_public_key: Optional[Bytes32] = None,
        origin_fingerprint: Optional[Bytes32] = None,
    ) -> PreparedEventAnchor:
        """As the function prepare_event_anchor, with this client's origin."""
        return prepare_event_anchor(
            event_hash,
            origin_fingerprint=await self._run(node.origin(self._session, origin_fingerprint)),
            semantic_anchor=semantic_anchor,
            client_event_id=client_event_id,
            actor_public_key=actor_public_key,
        )

    async def prepare_revocation(
        self,
        target_anchor_id: Bytes32,
        *,
        reason: Optional[str] = None,
        suspect_since: Optional[int] = None,
        issued_at: Optional[int] = None,
        revoker_public_key: Optional[Bytes32] = None,
        target_origin_fingerprint: Optional[Bytes32] = None,
    ) -> PreparedRevocation:
        """As the function prepare_revocation; the target's origin is looked up if it is not given."""
        if target_origin_fingerprint is None:
            target = await self._run(reading.get_anchor(self._session, target_anchor_id))
            target_origin_fingerprint = target.anchor.origin_fingerprint
        return prepare_revocation(
            target_origin_fingerprint=target_origin_fingerprint,
            target_anchor_id=target_anchor_id,
            reason=reason,
            suspect_since=suspect_since,
            issued_at=issued_at,
            revoker_public_key=revoker_public_key,
        )
