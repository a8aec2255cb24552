"""Events: recording and listing them."""

from __future__ import annotations

from typing import Iterator, Optional, Sequence

from .. import models
from .._inputs import Bytes32, Bytes64
from .._many import ManyEvents, OnProgress, ask_many_now
from .._operations import events as event_operations
from .._operations.records import Target
from .._options import AUTO, ClientEventId, EventInput, Wait
from ..prepare import SemanticAnchorInput
from ..signing import Signer
from .base import ClientBase


class EventCalls(ClientBase):
    """What was done."""

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
            actor: signs as the actor: the anchor is a SignedEventAnchor.
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
        return self._run(event_operations.create_event(self._session, event, Target(origin_fingerprint, wait)))

    def create_event_anchors(
        self,
        events: Sequence[EventInput],
        *,
        atomic: bool = False,
        shared_receipts: bool = False,
        origin_fingerprint: Optional[Bytes32] = None,
        wait: Optional[Wait] = None,
    ) -> models.CreatedBatch:
        """Records up to 1,000 events as one; items cannot refer to one another.

        Returns one result for each, in their order: look at `anchor` and `problem` of each.

        Args:
            events: at most 256 of them signed.
            atomic: one refused item refuses all: Conflict `batch_refused`, with `results` among its `members`.
            shared_receipts: the answer has each checkpoint once, which makes it smaller; the receipts of the result are
                whole all the same.
            origin_fingerprint: instead of the client's.
            wait: how long it may take.
        """
        target = Target(origin_fingerprint, wait)
        created = event_operations.create_events(
            self._session, events, atomic=atomic, shared_receipts=shared_receipts, target=target
        )
        return self._run(created)

    def create_many(
        self,
        events: ManyEvents,
        *,
        concurrency: int = 4,
        on_progress: OnProgress = None,
        origin_fingerprint: Optional[Bytes32] = None,
        wait: Optional[Wait] = None,
    ) -> Iterator[models.BatchItem]:
        """Records any number of events, in batches, and yields one result for each, in their order.

        Nothing is kept on the disk meanwhile: a Recorder does that. Items cannot refer to one another.

        Args:
            events: they are taken as they are sent.
            concurrency: batches under way at once.
            on_progress: is called with the number of results so far, after each batch.
            origin_fingerprint: instead of the client's.
            wait: how long each batch may take.

        Raises:
            OutcomeUnknown: `client_event_ids` are those that may be recorded, and of which no result was given. Ask
                again with them.
        """
        done = 0
        batches = ask_many_now(
            lambda batch: self.create_event_anchors(
                batch, shared_receipts=True, origin_fingerprint=origin_fingerprint, wait=wait
            ),
            events,
            concurrency,
        )
        for batch in batches:
            for result in batch.results:
                yield result
            done += len(batch.results)
            if on_progress is not None:
                on_progress(done)

    def erase_client_event_id(self, anchor_id: Bytes32) -> models.Erased:
        """Erases the clear text of an event's `client_event_id`. Needs the scope `admin`; the anchor stays."""
        return self._run(event_operations.erase_client_event_id(self._session, anchor_id))

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
        listed = event_operations.list_events(
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
