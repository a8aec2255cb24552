"""Claims, grants, and their ends."""

from __future__ import annotations

from typing import AsyncIterator, Optional, Union

from .. import models
from .._inputs import Bytes32, Bytes64
from .._operations import histories, records
from .._operations.records import RevocationInput, Target
from .._options import Wait
from .._parties import Party
from ..prepare import PreparedClaimAnchor, PreparedGrantAnchor, prepare_claim_anchor, prepare_grant_anchor
from ..signing import Signer
from .base import AsyncClientBase


class AsyncRecordCalls(AsyncClientBase):
    """Who is who, and who may do what on whose behalf."""

    async def create_claim_anchor(
        self,
        *,
        entity_fingerprint: Bytes32,
        attribute_type: Union[int, str],
        attribute_hash: Bytes32,
        subject_public_key: Optional[Bytes32] = None,
        subject_signature: Optional[Bytes64] = None,
        issuer_public_key: Optional[Bytes32] = None,
        issuer_signature: Optional[Bytes64] = None,
        subject: Optional[Signer] = None,
        issuer: Optional[Signer] = None,
        issued_at: Optional[int] = None,
        expires_at: Optional[int] = None,
        origin_fingerprint: Optional[Bytes32] = None,
        wait: Optional[Wait] = None,
    ) -> models.Created[models.ClaimAnchor]:
        """Records a ClaimAnchor. Sending the same again is a replay.

        Each party gives either its public key and signature, made over what prepare_claim_anchor returned, or a
        signer. Signatures are verified before they are sent.

        Raises:
            InvalidInput: before anything is signed or sent.
            SigningFailed: a signature is not good.
            Conflict: `claim_conflict`: the newest claim of the pair is another issuer's.
            OutcomeUnknown: send the same again.
        """
        of_subject = Party("subject", subject, subject_public_key, subject_signature)
        of_issuer = Party("issuer", issuer, issuer_public_key, issuer_signature)
        keys = of_subject.key(), of_issuer.key()

        def prepare(origin: bytes) -> PreparedClaimAnchor:
            return prepare_claim_anchor(
                origin_fingerprint=origin,
                entity_fingerprint=entity_fingerprint,
                attribute_type=attribute_type,
                attribute_hash=attribute_hash,
                subject_public_key=keys[0],
                issuer_public_key=keys[1],
                issued_at=issued_at,
                expires_at=expires_at,
            )

        target = Target(origin_fingerprint, wait)
        return await self._run(records.create_claim(self._session, prepare, of_subject, of_issuer, target))

    async def create_grant_anchor(
        self,
        *,
        grantor_claim_ref: Bytes32,
        grantee_claim_ref: Bytes32,
        scope_hash: Bytes32,
        delegation_depth: int,
        grantor_public_key: Optional[Bytes32] = None,
        grantor_signature: Optional[Bytes64] = None,
        witness_public_key: Optional[Bytes32] = None,
        witness_signature: Optional[Bytes64] = None,
        grantor: Optional[Signer] = None,
        witness: Optional[Signer] = None,
        parent_grant_ref: Optional[Bytes32] = None,
        issued_at: Optional[int] = None,
        not_before: Optional[int] = None,
        expires_at: Optional[int] = None,
        origin_fingerprint: Optional[Bytes32] = None,
        wait: Optional[Wait] = None,
    ) -> models.Created[models.GrantAnchor]:
        """Records a GrantAnchor. Sending the same again is a replay.

        Each party gives either its public key and signature, made over what prepare_grant_anchor returned, or a
        signer.

        Raises:
            InvalidInput: before anything is signed or sent.
            SigningFailed: a signature is not good.
            Unprocessable: `grantor_key_mismatch`, `claim_not_in_force`, `depth_exceeded` and others.
            OutcomeUnknown: send the same again.
        """
        of_grantor = Party("grantor", grantor, grantor_public_key, grantor_signature)
        of_witness = Party("witness", witness, witness_public_key, witness_signature)
        keys = of_grantor.key(), of_witness.key()

        def prepare(origin: bytes) -> PreparedGrantAnchor:
            return prepare_grant_anchor(
                origin_fingerprint=origin,
                grantor_claim_ref=grantor_claim_ref,
                grantee_claim_ref=grantee_claim_ref,
                scope_hash=scope_hash,
                delegation_depth=delegation_depth,
                grantor_public_key=keys[0],
                witness_public_key=keys[1],
                parent_grant_ref=parent_grant_ref,
                issued_at=issued_at,
                not_before=not_before,
                expires_at=expires_at,
            )

        target = Target(origin_fingerprint, wait)
        return await self._run(records.create_grant(self._session, prepare, of_grantor, of_witness, target))

    async def revoke_claim_anchor(
        self,
        anchor_id: Bytes32,
        *,
        reason: Optional[str] = None,
        suspect_since: Optional[int] = None,
        issued_at: Optional[int] = None,
        revoker: Optional[Signer] = None,
        revoker_public_key: Optional[Bytes32] = None,
        revoker_signature: Optional[Bytes64] = None,
        target_origin_fingerprint: Optional[Bytes32] = None,
        origin_fingerprint: Optional[Bytes32] = None,
        wait: Optional[Wait] = None,
    ) -> models.Revoked:
        """Records the revocation of a claim. It cannot be taken back.

        By its issuer or subject, as a signer or with a signature over what prepare_revocation returned; without either
        as an operator, whom no signature shows, with an API key of scope `revoke`.

        Args:
            anchor_id: of the claim.
            reason: one of leaf.REVOCATION_REASONS.
            suspect_since: Unix milliseconds from which earlier acts are shown as suspect.
            issued_at: Unix milliseconds.
            revoker: signs.
            revoker_public_key: with revoker_signature, instead of a signer.
            revoker_signature: over what prepare_revocation returned.
            target_origin_fingerprint: of the claim, which is what is signed; None: it is looked up.
            origin_fingerprint: where to write if the claim's origin is lost.
            wait: how long it may take.
        """
        party = Party("revoker", revoker, revoker_public_key, revoker_signature)
        given = RevocationInput(anchor_id, reason, suspect_since, issued_at, party, target_origin_fingerprint)
        target = Target(origin_fingerprint, wait)
        return await self._run(records.revoke(self._session, "claim-anchors", given, target))

    async def revoke_grant_anchor(
        self,
        anchor_id: Bytes32,
        *,
        reason: Optional[str] = None,
        suspect_since: Optional[int] = None,
        issued_at: Optional[int] = None,
        revoker: Optional[Signer] = None,
        revoker_public_key: Optional[Bytes32] = None,
        revoker_signature: Optional[Bytes64] = None,
        target_origin_fingerprint: Optional[Bytes32] = None,
        origin_fingerprint: Optional[Bytes32] = None,
        wait: Optional[Wait] = None,
    ) -> models.Revoked:
        """Records the revocation of a grant, by its grantor, its witness or an operator, as revoke_claim_anchor."""
        party = Party("revoker", revoker, revoker_public_key, revoker_signature)
        given = RevocationInput(anchor_id, reason, suspect_since, issued_at, party, target_origin_fingerprint)
        target = Target(origin_fingerprint, wait)
        return await self._run(records.revoke(self._session, "grant-anchors", given, target))

    async def get_claim_anchor(
        self, entity_fingerprint: Bytes32, attribute_type: Union[int, str]
    ) -> models.ActiveClaim:
        """The active claim. NotFound `no_active_claim` has the newest one's `anchor_id` among its `members`."""
        return await self._run(records.get_claim(self._session, entity_fingerprint, attribute_type))

    async def get_grant_anchor(self, grantor_fingerprint: Bytes32, grantee_fingerprint: Bytes32) -> models.ActiveGrant:
        """The grant in force between two entities. NotFound `no_active_grant` if there is none."""
        return await self._run(records.get_grant(self._session, grantor_fingerprint, grantee_fingerprint))

    async def list_claim_anchors(
        self,
        *,
        entity_fingerprint: Bytes32,
        attribute_type: Optional[Union[int, str]] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> models.ClaimHistory:
        """One page of all claims of an entity, or of one type of it, with how each has ended."""
        listed = histories.list_claims(
            self._session,
            entity_fingerprint=entity_fingerprint,
            attribute_type=attribute_type,
            cursor=cursor,
            limit=limit,
        )
        return await self._run(listed)

    async def iterate_claim_anchors(
        self, *, entity_fingerprint: Bytes32, attribute_type: Optional[Union[int, str]] = None
    ) -> AsyncIterator[models.ClaimHistoryItem]:
        """All of them, page by page as they are wanted."""
        cursor: Optional[str] = None
        while True:
            page = await self.list_claim_anchors(
                entity_fingerprint=entity_fingerprint, attribute_type=attribute_type, cursor=cursor, limit=100
            )
            for item in page.items:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return

    async def list_grant_anchors(
        self,
        *,
        grantor_fingerprint: Optional[Bytes32] = None,
        grantee_fingerprint: Optional[Bytes32] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> models.GrantHistory:
        """One page of all grants of a grantor, to a grantee, or from one to the other, with how each has ended."""
        listed = histories.list_grants(
            self._session,
            grantor_fingerprint=grantor_fingerprint,
            grantee_fingerprint=grantee_fingerprint,
            cursor=cursor,
            limit=limit,
        )
        return await self._run(listed)

    async def iterate_grant_anchors(
        self, *, grantor_fingerprint: Optional[Bytes32] = None, grantee_fingerprint: Optional[Bytes32] = None
    ) -> AsyncIterator[models.GrantHistoryItem]:
        """All of them, page by page as they are wanted."""
        cursor: Optional[str] = None
        while True:
            page = await self.list_grant_anchors(
                grantor_fingerprint=grantor_fingerprint,
                grantee_fingerprint=grantee_fingerprint,
                cursor=cursor,
                limit=100,
            )
            for item in page.items:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return
