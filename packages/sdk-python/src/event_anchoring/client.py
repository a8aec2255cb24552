"""The synchronous client. Made from async_client.py by scripts/make_sync.py: change that one."""

from __future__ import annotations

import ssl
import time
from types import TracebackType
from typing import Iterator, Optional, Sequence, Type, TypeVar, Union

from . import _operations as operations
from . import models
from ._config import make_session
from ._exchange import Operation, Outcome, RetryPolicy, Send, Sleep
from ._inputs import AsOf, Bytes32, Bytes64
from ._operations import AUTO, ClientEventId, EventInput, RevocationInput, VerifyItem, Wait
from .prepare import (
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
from .proof import Receipt
from .signing import Signer, sign_now
from .transport import HttpTransport, Transport, TransportFailure
from .trust_root import TrustRootChain

T = TypeVar("T")


class Client:
    """A client of the Event Anchoring API.

    Everything that it raises is an AnchoringError. It may be used by many threads at once; close it, or use it in a
    `with` block.

    Args:
        endpoints: base address of a node or a gateway, or several: a call that one cannot answer goes to the next.
        api_key: None for what needs none: healthz, readyz, limits, trust_root.
        origin_fingerprint: where to write; None: that of the node that answers healthz first, kept from then on.
        trust_root: a verified chain. If given, every receipt that comes with an answer is verified against it, and
            held against what was asked for, before the answer is returned: VerificationError.
        retry: when to ask again.
        timeout_s: for one try of a call that is no batch. The service answers a write within 5.25 s.
        batch_timeout_s: for one try of a batch. The service answers one within 15.25 s.
        ssl_context: for a private CA.
        transport: instead of HTTP.
    """

    def __init__(
        self,
        endpoints: Union[str, Sequence[str]],
        api_key: Optional[str] = None,
        *,
        origin_fingerprint: Optional[Bytes32] = None,
        trust_root: Optional[TrustRootChain] = None,
        retry: Optional[RetryPolicy] = None,
        timeout_s: float = 10.0,
        batch_timeout_s: float = 20.0,
        ssl_context: Optional[ssl.SSLContext] = None,
        transport: Optional[Transport] = None,
    ) -> None:
        self._session = make_session(
            endpoints, api_key, origin_fingerprint, trust_root, retry, timeout_s, batch_timeout_s
        )
        self._transport: Transport = HttpTransport(ssl_context=ssl_context) if transport is None else transport

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(self._session.endpoints)}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections."""
        self._transport.close()

    def _run(self, operation: Operation[T]) -> T:
        outcome: Outcome = None
        try:
            while True:
                effect = operation.send(outcome)
                if isinstance(effect, Send):
                    try:
                        outcome = self._transport.send(effect.endpoint, effect.request)
                    except TransportFailure as failure:
                        outcome = failure
                elif isinstance(effect, Sleep):
                    time.sleep(effect.seconds)
                    outcome = None
                else:
                    outcome = sign_now(effect.signer, effect.payload)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            operation.close()

    @property
    def origin_fingerprint(self) -> Optional[str]:
        """Where this client writes, in hex; None as long as it has not asked."""
        origin = self._session.origin_fingerprint
        return None if origin is None else origin.hex()

    # The node.

    def healthz(self) -> models.Health:
        """The health of the node that answers, and its origin. Needs no key."""
        return self._run(operations.healthz(self._session))

    def readyz(self) -> models.Ready:
        """Whether the node that answers serves; what is missing is in `checks`, and no error. Needs no key."""
        return self._run(operations.readyz(self._session))

    def limits(self) -> models.Limits:
        """The limits of the service. Needs no key."""
        return self._run(operations.limits(self._session))

    def trust_root(self) -> models.TrustRootAnswer:
        """The chain of trust-root documents, to be verified with verify_trust_root from a pin. Needs no key."""
        return self._run(operations.trust_root(self._session))

    # Preparing: offline, once the origin is known.

    def prepare_claim_anchor(
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
        origin = self._run(operations.origin(self._session, origin_fingerprint))
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

    def prepare_grant_anchor(
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
        origin = self._run(operations.origin(self._session, origin_fingerprint))
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

    def prepare_event_anchor(
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
            origin_fingerprint=self._run(operations.origin(self._session, origin_fingerprint)),
            semantic_anchor=semantic_anchor,
            client_event_id=client_event_id,
            actor_public_key=actor_public_key,
        )

    def prepare_revocation(
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
            target_origin_fingerprint = (self.get_anchor(target_anchor_id)).anchor.origin_fingerprint
        return prepare_revocation(
            target_origin_fingerprint=target_origin_fingerprint,
            target_anchor_id=target_anchor_id,
            reason=reason,
            suspect_since=suspect_since,
            issued_at=issued_at,
            revoker_public_key=revoker_public_key,
        )

    # Writing.

    def create_claim_anchor(
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
            Conflict: `claim_conflict`: another issuer's claim stands there.
            OutcomeUnknown: send the same again.
        """
        subject_key = operations.party_key("subject", subject, subject_public_key)
        issuer_key = operations.party_key("issuer", issuer, issuer_public_key)
        operations.check_party("subject", subject, subject_signature)
        operations.check_party("issuer", issuer, issuer_signature)
        # With an origin of zeros all arguments are checked before the network is used.
        checked = prepare_claim_anchor(
            origin_fingerprint=bytes(32),
            entity_fingerprint=entity_fingerprint,
            attribute_type=attribute_type,
            attribute_hash=attribute_hash,
            subject_public_key=subject_key,
            issuer_public_key=issuer_key,
            issued_at=issued_at,
            expires_at=expires_at,
        )
        origin = self._run(operations.origin(self._session, origin_fingerprint))
        create = operations.create_claim(
            self._session,
            prepare_claim_anchor(**{**checked.fields, "origin_fingerprint": origin}),
            subject=subject,
            subject_signature=subject_signature,
            issuer=issuer,
            issuer_signature=issuer_signature,
            wait=wait,
        )
        return self._run(create)

    def create_grant_anchor(
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
        grantor_key = operations.party_key("grantor", grantor, grantor_public_key)
        witness_key = operations.party_key("witness", witness, witness_public_key)
        operations.check_party("grantor", grantor, grantor_signature)
        operations.check_party("witness", witness, witness_signature)
        checked = prepare_grant_anchor(
            origin_fingerprint=bytes(32),
            grantor_claim_ref=grantor_claim_ref,
            grantee_claim_ref=grantee_claim_ref,
            scope_hash=scope_hash,
            delegation_depth=delegation_depth,
            grantor_public_key=grantor_key,
            witness_public_key=witness_key,
            parent_grant_ref=parent_grant_ref,
            issued_at=issued_at,
            not_before=not_before,
            expires_at=expires_at,
        )
        origin = self._run(operations.origin(self._session, origin_fingerprint))
        create = operations.create_grant(
            self._session,
            prepare_grant_anchor(**{**checked.fields, "origin_fingerprint": origin}),
            grantor=grantor,
            grantor_signature=grantor_signature,
            witness=witness,
            witness_signature=witness_signature,
            wait=wait,
        )
        return self._run(create)

    def create_event_anchor(
        self,
        event_hash: Bytes32,
        *,
        semantic_anchor: Optional[SemanticAnchorInput] = None,
        client_event_id: ClientEventId = AUTO,
        actor: Optional[Signer] = None,
        actor_public_key: Optional[Bytes32] = None,
        actor_signature: Optional[Bytes64] = None,
        origin_fingerprint: Optional[Bytes32] = None,
        wait: Optional[Wait] = None,
    ) -> models.Created[models.EventAnchor]:
        """Records an event.

        Args:
            event_hash: SHA-256 of the event.
            semantic_anchor: `iris_ref` (who), `grant_ref` (under which grant), `scroll_ref`, `bond_ref`, `yield_ref`,
                `event_data_hash`.
            client_event_id: yours to choose, and best stored before it is sent: the same id and content is the same
                anchor. AUTO draws one; None sends none, and then nothing is sent twice.
            actor: signs as whoever acts: the anchor is a SignedEventAnchor.
            actor_public_key: with actor_signature, instead of a signer.
            actor_signature: over what prepare_event_anchor returned.
            origin_fingerprint: instead of the client's.
            wait: how long it may take.

        Raises:
            InvalidInput: before anything is signed or sent.
            Conflict: `client_event_id_conflict`: the id was used with other content.
            OutcomeUnknown: ask again with its `client_event_id`.
        """
        event = EventInput(event_hash, semantic_anchor, client_event_id, actor, actor_public_key, actor_signature)
        create = operations.create_event(self._session, event, origin_fingerprint=origin_fingerprint, wait=wait)
        return self._run(create)

    def create_event_anchors(
        self,
        events: Sequence[EventInput],
        *,
        atomic: bool = False,
        origin_fingerprint: Optional[Bytes32] = None,
        wait: Optional[Wait] = None,
    ) -> models.CreatedBatch:
        """Records up to 1,000 events as one; items cannot refer to one another.

        Returns one result for each, in their order: look at `anchor` and `problem` of each.

        Args:
            events: at most 256 of them signed.
            atomic: one refused item refuses all: Conflict `batch_refused`, with `results` among its `members`.
            origin_fingerprint: instead of the client's.
            wait: how long it may take.
        """
        create = operations.create_events(
            self._session, events, atomic=atomic, origin_fingerprint=origin_fingerprint, wait=wait
        )
        return self._run(create)

    def revoke_claim_anchor(
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
        given = RevocationInput(
            anchor_id,
            reason,
            suspect_since,
            issued_at,
            revoker,
            revoker_public_key,
            revoker_signature,
            target_origin_fingerprint,
            origin_fingerprint,
        )
        return self._run(operations.revoke(self._session, "claim-anchors", given, wait))

    def revoke_grant_anchor(
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
        given = RevocationInput(
            anchor_id,
            reason,
            suspect_since,
            issued_at,
            revoker,
            revoker_public_key,
            revoker_signature,
            target_origin_fingerprint,
            origin_fingerprint,
        )
        return self._run(operations.revoke(self._session, "grant-anchors", given, wait))

    def erase_client_event_id(self, anchor_id: Bytes32) -> models.Erased:
        """Erases the clear text of an event's `client_event_id`. Needs the scope `admin`; the anchor stays."""
        return self._run(operations.erase_client_event_id(self._session, anchor_id))

    # Reading.

    def get_anchor(self, anchor_id: Bytes32) -> models.FoundAnchor:
        """One anchor of any kind, with a receipt of now."""
        return self._run(operations.get_anchor(self._session, anchor_id))

    def get_receipt(self, anchor_id: Bytes32) -> Receipt:
        """A receipt under the newest certificate; `receipt.text()` is what belongs into a file `*.tlog-proof`."""
        return self._run(operations.get_receipt(self._session, anchor_id))

    def get_claim_anchor(self, entity_fingerprint: Bytes32, attribute_type: Union[int, str]) -> models.ActiveClaim:
        """The active claim. NotFound `no_active_claim` has the newest one's `anchor_id` among its `members`."""
        return self._run(operations.get_claim(self._session, entity_fingerprint, attribute_type))

    def get_grant_anchor(self, grantor_fingerprint: Bytes32, grantee_fingerprint: Bytes32) -> models.ActiveGrant:
        """The grant in force between two entities. NotFound `no_active_grant` if there is none."""
        return self._run(operations.get_grant(self._session, grantor_fingerprint, grantee_fingerprint))

    def list_event_anchors(
        self,
        *,
        event_hash: Optional[Bytes32] = None,
        iris_ref: Optional[Bytes32] = None,
        grant_ref: Optional[Bytes32] = None,
        client_event_id: Optional[str] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> models.EventList:
        """One page of the certified events with exactly one of these, ascending by sequence."""
        listed = operations.list_events(
            self._session,
            event_hash=event_hash,
            iris_ref=iris_ref,
            grant_ref=grant_ref,
            client_event_id=client_event_id,
            cursor=cursor,
            limit=limit,
        )
        return self._run(listed)

    def iterate_event_anchors(
        self,
        *,
        event_hash: Optional[Bytes32] = None,
        iris_ref: Optional[Bytes32] = None,
        grant_ref: Optional[Bytes32] = None,
        client_event_id: Optional[str] = None,
    ) -> Iterator[models.Anchor]:
        """All of them, page by page as they are wanted."""
        cursor: Optional[str] = None
        while True:
            page = self.list_event_anchors(
                event_hash=event_hash,
                iris_ref=iris_ref,
                grant_ref=grant_ref,
                client_event_id=client_event_id,
                cursor=cursor,
                limit=100,
            )
            for anchor in page.items:
                yield anchor
            cursor = page.next_cursor
            if cursor is None:
                return

    def latest(self, *, origin_fingerprint: Optional[Bytes32] = None, from_size: Optional[int] = None) -> models.Latest:
        """The latest certified anchor (EEA) of an origin.

        Args:
            origin_fingerprint: None: that of the node that answers.
            from_size: tree size that you know: the answer then proves that it is the beginning of this one.
        """
        found = operations.latest(self._session, origin_fingerprint=origin_fingerprint, from_size=from_size)
        return self._run(found)

    def consistency(
        self,
        from_size: int,
        *,
        to_size: Optional[int] = None,
        origin_fingerprint: Optional[Bytes32] = None,
    ) -> models.Consistency:
        """Proof that one tree is the beginning of another; verify it with verify_consistency, or a Monitor."""
        found = operations.consistency(self._session, from_size, to_size=to_size, origin_fingerprint=origin_fingerprint)
        return self._run(found)

    # The service's verdicts. What needs no trust in it is offline: verify_receipt, verify_bundle.

    def verify_event_anchor(
        self, anchor_id: Bytes32, *, event_hash: Optional[Bytes32] = None, as_of: Optional[AsOf] = None
    ) -> models.Verified:
        """Checks an anchor of any kind."""
        return self._run(operations.verify_event(self._session, anchor_id, event_hash=event_hash, as_of=as_of))

    def verify_event_anchors(
        self, anchors: Sequence[VerifyItem], *, as_of: Optional[AsOf] = None
    ) -> models.VerifiedBatch:
        """Checks up to 1,000 anchors, each given by its id or by id and event hash."""
        return self._run(operations.verify_events(self._session, anchors, as_of=as_of))

    def verify_claim_anchor(self, anchor_id: Bytes32, *, as_of: Optional[AsOf] = None) -> models.VerifiedClaim:
        """Checks signatures, anchor and revocation state of a claim."""
        return self._run(operations.verify_claim(self._session, anchor_id, as_of=as_of))

    def verify_grant_anchor(
        self,
        anchor_id: Bytes32,
        *,
        as_of: Optional[AsOf] = None,
        trusted_roots: Optional[Sequence[Bytes32]] = None,
    ) -> models.VerifiedGrant:
        """Checks signatures, delegation chain and claims of a grant."""
        return self._run(operations.verify_grant(self._session, anchor_id, as_of=as_of, trusted_roots=trusted_roots))

    def trace(
        self,
        anchor_id: Bytes32,
        *,
        as_of: Optional[AsOf] = None,
        trusted_roots: Optional[Sequence[Bytes32]] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> models.Trace:
        """Where an anchor comes from: who acted, who delegated, within what bounds."""
        return self._run(
            operations.trace(
                self._session,
                anchor_id,
                as_of=as_of,
                trusted_roots=trusted_roots,
                cursor=cursor,
                limit=limit,
            )
        )
