"""The service's own word: verification and traces."""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Optional, Sequence, Type, TypeVar

from .. import _inputs as inputs
from .. import models
from .._calls import Query, get, question
from .._exchange import Operation, Session
from .._held import hold_id, hold_proof, hold_receipt, needs_trust_root
from .._inputs import AsOf, Bytes32
from .._options import VerifyItem
from ..errors import InvalidInput, UnexpectedAnswer

#: As the API has it.
_TRUSTED_ROOTS_MAX = 32
#: Ten are enough for all that a service shows.
_TRACE_PAGES_MAX = 100
VerdictT = TypeVar("VerdictT", models.Verified, models.VerifiedClaim, models.VerifiedGrant)


def _roots(trusted_roots: Optional[Sequence[Bytes32]]) -> Optional[List[str]]:
    if trusted_roots is None:
        return None
    return [each.hex() for each in inputs.claim_list("trusted_roots", trusted_roots, _TRUSTED_ROOTS_MAX)]


def _verify(
    session: Session,
    of_class: Type[VerdictT],
    path: str,
    anchor_id: Bytes32,
    as_of: Optional[AsOf],
    more: Dict[str, object],
    *,
    proof: bool,
    event_hash: Optional[Bytes32] = None,
) -> Operation[VerdictT]:
    own = inputs.bytes32("anchor_id", anchor_id)
    needs_trust_root(session, proof)
    position = {} if as_of is None else {"as_of": inputs.as_of(as_of)}
    target = f"{path}?proof=true" if proof else path
    found = yield from question(session, of_class, target, {"anchor_id": own.hex(), **position, **more})
    hold_id(found.anchor, own)
    yield from hold_receipt(session, found.anchor.anchor_id, found.receipt)
    if not proof:
        return replace(found, proof=None)
    expected = None if event_hash is None else inputs.bytes32("event_hash", event_hash)
    return (yield from hold_proof(session, found, own, expected))


def verify_event(
    session: Session, anchor_id: Bytes32, *, event_hash: Optional[Bytes32], as_of: Optional[AsOf], proof: bool
) -> Operation[models.Verified]:
    """POST /v1/event-anchors:verify."""
    more: Dict[str, object] = {}
    if event_hash is not None:
        more["event_hash"] = inputs.path_id("event_hash", event_hash)
    path = "/v1/event-anchors:verify"
    return (
        yield from _verify(session, models.Verified, path, anchor_id, as_of, more, proof=proof, event_hash=event_hash)
    )


def verify_claim(
    session: Session, anchor_id: Bytes32, *, as_of: Optional[AsOf], proof: bool
) -> Operation[models.VerifiedClaim]:
    """POST /v1/claim-anchors:verify."""
    path = "/v1/claim-anchors:verify"
    return (yield from _verify(session, models.VerifiedClaim, path, anchor_id, as_of, {}, proof=proof))


def verify_grant(
    session: Session,
    anchor_id: Bytes32,
    *,
    as_of: Optional[AsOf],
    trusted_roots: Optional[Sequence[Bytes32]],
    proof: bool,
) -> Operation[models.VerifiedGrant]:
    """POST /v1/grant-anchors:verify."""
    roots = _roots(trusted_roots)
    more: Dict[str, object] = {} if roots is None else {"trusted_roots": roots}
    path = "/v1/grant-anchors:verify"
    return (yield from _verify(session, models.VerifiedGrant, path, anchor_id, as_of, more, proof=proof))


def _verify_item(place: int, item: VerifyItem) -> Dict[str, object]:
    anchor_id, event_hash = item if isinstance(item, tuple) else (item, None)
    body: Dict[str, object] = {"anchor_id": inputs.path_id(f"anchors[{place}].anchor_id", anchor_id)}
    if event_hash is not None:
        body["event_hash"] = inputs.path_id(f"anchors[{place}].event_hash", event_hash)
    return body


def verify_events(
    session: Session, anchors: Sequence[VerifyItem], *, as_of: Optional[AsOf]
) -> Operation[models.VerifiedBatch]:
    """POST /v1/event-anchors:batchVerify."""
    items = [_verify_item(place, item) for place, item in enumerate(anchors)]
    if not items:
        raise InvalidInput("anchors", "expected at least one")
    body: Dict[str, object] = {"anchors": items}
    if as_of is not None:
        body["as_of"] = inputs.as_of(as_of)
    found = yield from question(session, models.VerifiedBatch, "/v1/event-anchors:batchVerify", body, is_batch=True)
    if [result.anchor_id for result in found.results] != [item["anchor_id"] for item in items]:
        raise UnexpectedAnswer("the results are not of the anchors that were asked for, in their order")
    return found


def trace(
    session: Session,
    anchor_id: Bytes32,
    *,
    as_of: Optional[AsOf],
    trusted_roots: Optional[Sequence[Bytes32]],
    cursor: Optional[str],
    limit: Optional[int],
    proof: bool,
) -> Operation[models.Trace]:
    """GET /v1/event-anchors/{anchor_id}/trace, with all its pages of hops. The first one carries the proof."""
    own = inputs.bytes32("anchor_id", anchor_id)
    needs_trust_root(session, proof)
    roots = _roots(trusted_roots)
    query: Query = (
        ("as_of", None if as_of is None else inputs.as_of(as_of)),
        ("trusted_roots", None if roots is None else ",".join(roots)),
        ("cursor", None if cursor is None else inputs.cursor(cursor)),
        ("limit", None if limit is None else inputs.integer("limit", limit, minimum=1)),
    )
    path = f"/v1/event-anchors/{own.hex()}/trace"
    found = yield from get(session, models.Trace, path, (*query, ("proof", "true")) if proof else query)
    hold_id(found.anchor, own)
    yield from hold_receipt(session, found.anchor.anchor_id, found.receipt)
    found = (yield from hold_proof(session, found, own)) if proof else replace(found, proof=None)
    hops = list(found.delegation)
    page = found
    for pages in range(1, _TRACE_PAGES_MAX + 1):
        if page.delegation_next_cursor is None:
            return replace(
                found,
                delegation=tuple(hops),
                delegation_omitted=page.delegation_omitted,
                delegation_next_cursor=None,
            )
        if pages == _TRACE_PAGES_MAX:
            break
        more = (*query, ("delegation_cursor", page.delegation_next_cursor))
        page = yield from get(session, models.Trace, path, more)
        hold_id(page.anchor, own)
        hops.extend(page.delegation)
    raise UnexpectedAnswer("the hops of the delegation have no end")
