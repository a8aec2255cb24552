"""Events, one by one and in batches."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from .. import _inputs as inputs
from .. import models
from .._calls import Query, ask, get, make_call
from .._decode import decode, decode_created
from .._exchange import Operation, Session
from .._held import hold_content, hold_id, hold_receipt
from .._inputs import Bytes32
from .._options import EventInput, drawn
from .._parties import Party
from .._shared_receipts import with_whole_receipts
from ..errors import InvalidInput, UnexpectedAnswer, VerificationError
from ..prepare import PreparedEventAnchor, prepare_event_anchor
from .histories import page_query
from .node import origin
from .records import Target

_EMPTY: Mapping[str, object] = dict.fromkeys(inputs.SEMANTIC_FIELDS)


def _actor_of(event: EventInput) -> Party:
    return Party("actor", event.actor, event.actor_public_key, event.actor_signature)


def _prepare(event: EventInput, origin_fingerprint: bytes, client_event_id: Optional[str]) -> PreparedEventAnchor:
    return prepare_event_anchor(
        event.event_hash,
        origin_fingerprint=origin_fingerprint,
        semantic_anchor=event.semantic_anchor,
        client_event_id=client_event_id,
        actor_public_key=_actor_of(event).optional_key(),
    )


def _signed(
    event: EventInput, origin_fingerprint: bytes, client_event_id: Optional[str]
) -> Operation[Dict[str, object]]:
    prepared = _prepare(event, origin_fingerprint, client_event_id)
    actor = _actor_of(event)
    if not actor.is_given:
        return prepared.request()
    signature = yield from actor.sign(prepared.actor_payload)
    return prepared.request(signature)


def _hold_event(anchor: object, sent: Mapping[str, object]) -> None:
    """A replay may be in another origin, under an earlier signature: neither is content of an event."""
    if not isinstance(anchor, models.EventAnchor):
        raise UnexpectedAnswer("an event was sent, and the answer is about no event")
    content = {name: sent[name] for name in ("event_hash", "actor_public_key") if name in sent}
    hold_content(anchor, {"kind": "signed_event" if "actor_public_key" in sent else "event", **content})
    given = sent.get("semantic_anchor")
    shown = _EMPTY if anchor.semantic_anchor is None else vars(anchor.semantic_anchor)
    if shown != {**_EMPTY, **(given if isinstance(given, dict) else {})}:
        raise VerificationError("content_differs", "the references are not those that were sent")


def create_event(session: Session, event: EventInput, target: Target) -> Operation[models.Created[models.EventAnchor]]:
    """POST /v1/event-anchors."""
    client_event_id = drawn(event.client_event_id)
    # What cannot be sent is refused before the network is used, if only to ask for the origin.
    _prepare(event, bytes(32), client_event_id)
    own_origin = yield from origin(session, target.origin_fingerprint)
    body = yield from _signed(event, own_origin, client_event_id)
    call = make_call(
        session,
        "POST",
        "/v1/event-anchors",
        body,
        is_write=True,
        is_repeatable=client_event_id is not None,
        client_event_ids=(client_event_id,),
        wait=target.wait,
    )
    created = yield from ask(session, call, lambda answer: decode_created(models.EventAnchor, answer))
    _hold_event(created.anchor, body)
    yield from hold_receipt(session, created.anchor.anchor_id, created.receipt)
    return created


def _named(events: Sequence[EventInput]) -> List[Tuple[EventInput, Optional[str]]]:
    if not events:
        raise InvalidInput("events", "expected at least one")
    named = [(event, drawn(event.client_event_id)) for event in events]
    for place, (event, client_event_id) in enumerate(named):
        try:
            _prepare(event, bytes(32), client_event_id)
        except InvalidInput as error:
            raise InvalidInput(f"events[{place}].{error.field}", error.message) from error
    return named


def create_events(
    session: Session, events: Sequence[EventInput], *, atomic: bool, shared_receipts: bool, target: Target
) -> Operation[models.CreatedBatch]:
    """POST /v1/event-anchors/batch."""
    named = _named(events)
    own_origin = yield from origin(session, target.origin_fingerprint)
    items: List[Dict[str, object]] = []
    for event, client_event_id in named:
        item = yield from _signed(event, own_origin, client_event_id)
        items.append({name: value for name, value in item.items() if name != "origin_fingerprint"})
    body: Dict[str, object] = {"origin_fingerprint": own_origin.hex(), "events": items}
    if atomic:
        body["atomic"] = True
    if shared_receipts:
        body["receipts"] = "shared"
    ids = tuple(client_event_id for _, client_event_id in named)
    call = make_call(
        session,
        "POST",
        "/v1/event-anchors/batch",
        body,
        is_write=True,
        is_repeatable=None not in ids,
        client_event_ids=ids,
        wait=target.wait,
        is_batch=True,
    )

    def read(answer: object) -> models.CreatedBatch:
        batch = decode(models.CreatedBatch, with_whole_receipts(answer))
        if len(batch.results) != len(items):
            raise UnexpectedAnswer(f"{len(items)} events were sent, and the answer is about {len(batch.results)}")
        return batch

    created = yield from ask(session, call, read)
    for sent, result in zip(items, created.results):
        if result.anchor is not None:
            _hold_event(result.anchor, sent)
            yield from hold_receipt(session, result.anchor.anchor_id, result.receipt)
    return created


def erase_client_event_id(session: Session, anchor_id: Bytes32) -> Operation[models.Erased]:
    """POST /v1/event-anchors/{anchor_id}/erase-client-event-id."""
    own = inputs.bytes32("anchor_id", anchor_id)
    call = make_call(session, "POST", f"/v1/event-anchors/{own.hex()}/erase-client-event-id", {}, is_write=True)
    erased = yield from ask(session, call, lambda body: decode(models.Erased, body))
    hold_id(erased.anchor, own)
    return erased


def list_events(
    session: Session,
    *,
    event_hash: Optional[Bytes32],
    iris_ref: Optional[Bytes32],
    grant_ref: Optional[Bytes32],
    client_event_id: Optional[str],
    cursor: Optional[str],
    limit: Optional[int],
) -> Operation[models.EventList]:
    """GET /v1/event-anchors."""
    filters: Query = (
        ("event_hash", inputs.optional_hex("event_hash", event_hash)),
        ("iris_ref", inputs.optional_hex("iris_ref", iris_ref)),
        ("grant_ref", inputs.optional_hex("grant_ref", grant_ref)),
        ("client_event_id", None if client_event_id is None else inputs.client_event_id(client_event_id)),
    )
    asked = {name: value for name, value in filters if value is not None}
    if len(asked) != 1:
        raise InvalidInput("filter", "expected exactly one of event_hash, iris_ref, grant_ref and client_event_id")
    page = page_query(cursor, limit)
    found = yield from get(session, models.EventList, "/v1/event-anchors", [*filters, *page])
    for anchor in found.items:
        if not isinstance(anchor, models.EventAnchor):
            raise UnexpectedAnswer("an item of a list of events is no event")
        hold_content(anchor.semantic_anchor if "iris_ref" in asked or "grant_ref" in asked else anchor, asked)
    return found
