"""Every call of the API, once for both clients. docs/API.md."""

from __future__ import annotations

import enum
import json
import uuid
from dataclasses import dataclass
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union
from urllib.parse import quote

from . import _inputs as inputs
from . import models
from ._decode import decode, decode_created
from ._exchange import Call, Operation, Session, exchange, new_request_id, read_answer, reading, sign
from ._inputs import AsOf, Bytes32, Bytes64
from ._version import __version__
from .errors import InvalidInput
from .prepare import (
    PreparedClaimAnchor,
    PreparedEventAnchor,
    PreparedGrantAnchor,
    PreparedRevocation,
    SemanticAnchorInput,
    prepare_event_anchor,
    prepare_revocation,
)
from .proof import Receipt
from .receipt import verify_receipt
from .signing import Signer, checked_signature
from .transport import Request, Response

T = TypeVar("T")
Query = Sequence[Tuple[str, Union[str, int, None]]]


class Auto(enum.Enum):
    """`AUTO` as a `client_event_id`: one is drawn before the first try."""

    AUTO = "auto"

    def __repr__(self) -> str:
        return "AUTO"


AUTO = Auto.AUTO
ClientEventId = Union[str, Auto, None]


@dataclass(frozen=True)
class Wait:
    """How long a write may take.

    Attributes:
        seconds: 1 to 30 that the service may take (`Prefer: wait=`); None: its own limit.
        respond_async: answer as soon as the anchor is committed; the receipt is then None.
    """

    seconds: Optional[int] = None
    respond_async: bool = False

    def __post_init__(self) -> None:
        if self.seconds is not None:
            inputs.integer("wait.seconds", self.seconds, maximum=30, minimum=1)

    def header(self) -> Optional[str]:
        """The value of `Prefer`."""
        parts = [] if self.seconds is None else [f"wait={self.seconds}"]
        return ", ".join(parts + (["respond-async"] if self.respond_async else [])) or None


@dataclass(frozen=True)
class EventInput:
    """One event of a batch, as the arguments of create_event_anchor."""

    event_hash: Bytes32
    semantic_anchor: Optional[SemanticAnchorInput] = None
    client_event_id: ClientEventId = AUTO
    actor: Optional[Signer] = None
    actor_public_key: Optional[Bytes32] = None
    actor_signature: Optional[Bytes64] = None


def _target(path: str, query: Query = ()) -> str:
    parts = [f"{name}={quote(str(value), safe='')}" for name, value in query if value is not None]
    return path + ("?" + "&".join(parts) if parts else "")


def _call(
    session: Session,
    method: str,
    target: str,
    body: Optional[Mapping[str, object]] = None,
    *,
    is_write: bool = False,
    is_repeatable: bool = True,
    client_event_id: Optional[str] = None,
    wait: Optional[Wait] = None,
    needs_key: bool = True,
    is_batch: bool = False,
    answers: Tuple[int, ...] = (200, 201, 202),
) -> Call:
    request_id = new_request_id()
    headers: List[Tuple[str, str]] = [
        ("Accept", "application/json"),
        ("User-Agent", f"event-anchoring-python/{__version__}"),
        ("X-Request-Id", request_id),
    ]
    if needs_key:
        if session.api_key is None:
            raise InvalidInput("api_key", "this call needs an API key")
        headers.append(("Authorization", f"Bearer {session.api_key}"))
    encoded = None if body is None else json.dumps(body, separators=(",", ":")).encode("ascii")
    if encoded is not None:
        headers.append(("Content-Type", "application/json"))
    prefer = None if wait is None else wait.header()
    if prefer is not None:
        headers.append(("Prefer", prefer))
    timeout_s = session.batch_timeout_s if is_batch else session.timeout_s
    if wait is not None and wait.seconds is not None:
        timeout_s = max(timeout_s, wait.seconds + 5.0)
    request = Request(method, target, tuple(headers), encoded, timeout_s)
    return Call(request, is_write, is_repeatable, request_id, client_event_id, answers)


def _ask(session: Session, call: Call, read: Callable[[object], T]) -> Operation[T]:
    response: Response = yield from exchange(session, call)
    return reading(response, lambda: read(read_answer(call, response)))


def _get(session: Session, of_class: Type[T], path: str, query: Query = (), *, needs_key: bool = True) -> Operation[T]:
    call = _call(session, "GET", _target(path, query), needs_key=needs_key)
    return (yield from _ask(session, call, lambda body: decode(of_class, body)))


def _post(
    session: Session, of_class: Type[T], path: str, body: Mapping[str, object], *, is_batch: bool = False
) -> Operation[T]:
    call = _call(session, "POST", path, body, is_batch=is_batch)
    return (yield from _ask(session, call, lambda answer: decode(of_class, answer)))


def origin(session: Session, given: Optional[Bytes32]) -> Operation[bytes]:
    """The origin to write to: the one given, else the client's, which is asked for once and kept."""
    if given is not None:
        return inputs.bytes32("origin_fingerprint", given)
    if session.origin_fingerprint is None:
        health = yield from healthz(session)
        session.origin_fingerprint = bytes.fromhex(inputs.path_id("origin_fingerprint", health.origin_fingerprint))
    return session.origin_fingerprint


def healthz(session: Session) -> Operation[models.Health]:
    """GET /healthz."""
    return (yield from _get(session, models.Health, "/healthz", needs_key=False))


def readyz(session: Session) -> Operation[models.Ready]:
    """GET /readyz: 503 is an answer, too."""
    call = _call(session, "GET", "/readyz", needs_key=False, answers=(200, 503))
    return (yield from _ask(session, call, lambda body: decode(models.Ready, body)))


def limits(session: Session) -> Operation[models.Limits]:
    """GET /v1/limits."""
    return (yield from _get(session, models.Limits, "/v1/limits", needs_key=False))


def trust_root(session: Session) -> Operation[models.TrustRootAnswer]:
    """GET /v1/trust-root."""
    return (yield from _get(session, models.TrustRootAnswer, "/v1/trust-root", needs_key=False))


def _check_receipt(
    session: Session,
    anchor: models.AnchorBase,
    receipt: Optional[Receipt],
    *,
    payload: Optional[bytes] = None,
    event_hash: Optional[bytes] = None,
) -> None:
    if session.trust_root is None or receipt is None:
        return
    verify_receipt(
        receipt, session.trust_root, payload=payload, event_hash=event_hash, anchor_id=bytes.fromhex(anchor.anchor_id)
    )


def party_key(role: str, signer: Optional[Signer], public_key: Optional[Bytes32]) -> bytes:
    """The public key of a party: its signer's, or the one given; if both, they are the same."""
    name = f"{role}_public_key"
    if signer is None:
        return inputs.bytes32(name, public_key)
    own = inputs.bytes32(name, signer.public_key)
    if public_key is not None and inputs.bytes32(name, public_key) != own:
        raise InvalidInput(name, f"is not the public key of the {role}'s signer")
    return own


def check_party(role: str, signer: Optional[Signer], signature: Optional[Bytes64]) -> None:
    """Each party signs in one way."""
    if (signer is None) == (signature is None):
        raise InvalidInput(f"{role}_signature", f"give either a signature or the signer {role}")
    if signature is not None:
        inputs.signature(f"{role}_signature", signature)


def _signature_of(
    role: str, public_key: bytes, payload: bytes, signer: Optional[Signer], signature: Optional[Bytes64]
) -> Operation[bytes]:
    if signer is None:
        given = inputs.signature(f"{role}_signature", signature)
    else:
        given = yield from sign(signer, payload)
    return checked_signature(role, public_key, payload, given)


def create_claim(
    session: Session,
    prepared: PreparedClaimAnchor,
    *,
    subject: Optional[Signer],
    subject_signature: Optional[Bytes64],
    issuer: Optional[Signer],
    issuer_signature: Optional[Bytes64],
    wait: Optional[Wait],
) -> Operation[models.Created[models.ClaimAnchor]]:
    """POST /v1/claim-anchors."""
    check_party("subject", subject, subject_signature)
    check_party("issuer", issuer, issuer_signature)
    payload = prepared.subject_payload.payload
    first = yield from _signature_of("subject", prepared.subject_public_key, payload, subject, subject_signature)
    over = prepared.issuer_payload(first).payload
    second = yield from _signature_of("issuer", prepared.issuer_public_key, over, issuer, issuer_signature)
    call = _call(session, "POST", "/v1/claim-anchors", prepared.request(first, second), is_write=True, wait=wait)
    created = yield from _ask(session, call, lambda body: decode_created(models.ClaimAnchor, body))
    _check_receipt(session, created.anchor, created.receipt, payload=payload)
    return created


def create_grant(
    session: Session,
    prepared: PreparedGrantAnchor,
    *,
    grantor: Optional[Signer],
    grantor_signature: Optional[Bytes64],
    witness: Optional[Signer],
    witness_signature: Optional[Bytes64],
    wait: Optional[Wait],
) -> Operation[models.Created[models.GrantAnchor]]:
    """POST /v1/grant-anchors."""
    check_party("grantor", grantor, grantor_signature)
    check_party("witness", witness, witness_signature)
    payload = prepared.grantor_payload.payload
    first = yield from _signature_of("grantor", prepared.grantor_public_key, payload, grantor, grantor_signature)
    over = prepared.witness_payload(first).payload
    second = yield from _signature_of("witness", prepared.witness_public_key, over, witness, witness_signature)
    call = _call(session, "POST", "/v1/grant-anchors", prepared.request(first, second), is_write=True, wait=wait)
    created = yield from _ask(session, call, lambda body: decode_created(models.GrantAnchor, body))
    _check_receipt(session, created.anchor, created.receipt, payload=payload)
    return created


def _drawn(client_event_id: ClientEventId) -> Optional[str]:
    return str(uuid.uuid4()) if isinstance(client_event_id, Auto) else client_event_id


def _prepare(event: EventInput, origin_fingerprint: Bytes32, client_event_id: Optional[str]) -> PreparedEventAnchor:
    is_signed = not (event.actor is None and event.actor_public_key is None)
    return prepare_event_anchor(
        event.event_hash,
        origin_fingerprint=origin_fingerprint,
        semantic_anchor=event.semantic_anchor,
        client_event_id=client_event_id,
        actor_public_key=party_key("actor", event.actor, event.actor_public_key) if is_signed else None,
    )


def _event_body(event: EventInput, prepared: PreparedEventAnchor) -> Operation[Dict[str, object]]:
    if prepared.actor_public_key is None:
        return prepared.request(event.actor_signature)
    check_party("actor", event.actor, event.actor_signature)
    payload = prepared.actor_payload.payload
    key = prepared.actor_public_key
    signature = yield from _signature_of("actor", key, payload, event.actor, event.actor_signature)
    return prepared.request(signature)


def _checked_early(event: EventInput, client_event_id: Optional[str]) -> None:
    """Refuses what cannot be sent before the network is used, if only to ask for the origin."""
    prepared = _prepare(event, bytes(32), client_event_id)
    if prepared.actor_public_key is None:
        prepared.request(event.actor_signature)
    else:
        check_party("actor", event.actor, event.actor_signature)


def create_event(
    session: Session, event: EventInput, *, origin_fingerprint: Optional[Bytes32], wait: Optional[Wait]
) -> Operation[models.Created[models.EventAnchor]]:
    """POST /v1/event-anchors."""
    client_event_id = _drawn(event.client_event_id)
    _checked_early(event, client_event_id)
    target = yield from origin(session, origin_fingerprint)
    prepared = _prepare(event, target, client_event_id)
    body = yield from _event_body(event, prepared)
    call = _call(
        session,
        "POST",
        "/v1/event-anchors",
        body,
        is_write=True,
        is_repeatable=client_event_id is not None,
        client_event_id=client_event_id,
        wait=wait,
    )
    created = yield from _ask(session, call, lambda answer: decode_created(models.EventAnchor, answer))
    _check_receipt(session, created.anchor, created.receipt, event_hash=prepared.event_hash)
    return created


def create_events(
    session: Session,
    events: Sequence[EventInput],
    *,
    atomic: bool,
    origin_fingerprint: Optional[Bytes32],
    wait: Optional[Wait],
) -> Operation[models.CreatedBatch]:
    """POST /v1/event-anchors/batch."""
    if not events:
        raise InvalidInput("events", "expected at least one")
    ids = [_drawn(event.client_event_id) for event in events]
    for place, (event, client_event_id) in enumerate(zip(events, ids)):
        try:
            _checked_early(event, client_event_id)
        except InvalidInput as error:
            raise InvalidInput(f"events[{place}].{error.field}", error.message) from error
    target = yield from origin(session, origin_fingerprint)
    items: List[Dict[str, object]] = []
    for event, client_event_id in zip(events, ids):
        item = yield from _event_body(event, _prepare(event, target, client_event_id))
        items.append({name: value for name, value in item.items() if name != "origin_fingerprint"})
    body: Dict[str, object] = {"origin_fingerprint": target.hex(), "events": items}
    if atomic:
        body["atomic"] = True
    is_repeatable = all(each is not None for each in ids)
    path = "/v1/event-anchors/batch"
    call = _call(session, "POST", path, body, is_write=True, is_repeatable=is_repeatable, wait=wait, is_batch=True)
    created = yield from _ask(session, call, lambda answer: decode(models.CreatedBatch, answer))
    for event, result in zip(events, created.results):
        if result.anchor is not None:
            own = inputs.bytes32("event_hash", event.event_hash)
            _check_receipt(session, result.anchor, result.receipt, event_hash=own)
    return created


@dataclass(frozen=True)
class RevocationInput:
    """The arguments of revoke_claim_anchor and revoke_grant_anchor."""

    anchor_id: Bytes32
    reason: Optional[str]
    suspect_since: Optional[int]
    issued_at: Optional[int]
    revoker: Optional[Signer]
    revoker_public_key: Optional[Bytes32]
    revoker_signature: Optional[Bytes64]
    target_origin_fingerprint: Optional[Bytes32]
    origin_fingerprint: Optional[Bytes32]


def _prepare_revocation(given: RevocationInput, target_origin: Bytes32) -> PreparedRevocation:
    is_signed = not (given.revoker is None and given.revoker_public_key is None)
    return prepare_revocation(
        target_origin_fingerprint=target_origin,
        target_anchor_id=inputs.bytes32("anchor_id", given.anchor_id),
        reason=given.reason,
        suspect_since=given.suspect_since,
        issued_at=given.issued_at,
        revoker_public_key=party_key("revoker", given.revoker, given.revoker_public_key) if is_signed else None,
    )


def revoke(session: Session, family: str, given: RevocationInput, wait: Optional[Wait]) -> Operation[models.Revoked]:
    """POST /v1/claim-anchors/{anchor_id}/revoke, POST /v1/grant-anchors/{anchor_id}/revoke."""
    prepared = _prepare_revocation(given, given.target_origin_fingerprint or bytes(32))
    anchor_id = prepared.target_anchor_id.hex()
    signature: Optional[bytes] = None
    if prepared.revoker_public_key is not None:
        check_party("revoker", given.revoker, given.revoker_signature)
        if given.target_origin_fingerprint is None:
            target = yield from get_anchor(session, anchor_id)
            prepared = _prepare_revocation(given, target.anchor.origin_fingerprint)
        payload, key = prepared.revoker_payload.payload, party_key("revoker", given.revoker, given.revoker_public_key)
        signature = yield from _signature_of("revoker", key, payload, given.revoker, given.revoker_signature)
    elif given.revoker_signature is not None:
        raise InvalidInput("revoker_signature", "goes with revoker_public_key")
    body = prepared.request(signature)
    own_origin = inputs.optional_hex("origin_fingerprint", given.origin_fingerprint)
    if own_origin is not None:
        body["origin_fingerprint"] = own_origin
    call = _call(session, "POST", f"/v1/{family}/{anchor_id}/revoke", body, is_write=True, wait=wait)
    revoked = yield from _ask(session, call, lambda answer: decode(models.Revoked, answer))
    signed = prepared.revoker_payload.payload if signature is not None else None
    _check_receipt(session, revoked.anchor, revoked.receipt, payload=signed)
    return revoked


def erase_client_event_id(session: Session, anchor_id: Bytes32) -> Operation[models.Erased]:
    """POST /v1/event-anchors/{anchor_id}/erase-client-event-id."""
    path = f"/v1/event-anchors/{inputs.path_id('anchor_id', anchor_id)}/erase-client-event-id"
    call = _call(session, "POST", path, {}, is_write=True)
    return (yield from _ask(session, call, lambda body: decode(models.Erased, body)))


def get_anchor(session: Session, anchor_id: Bytes32) -> Operation[models.FoundAnchor]:
    """GET /v1/event-anchors/{anchor_id}."""
    path = f"/v1/event-anchors/{inputs.path_id('anchor_id', anchor_id)}"
    found = yield from _get(session, models.FoundAnchor, path)
    _check_receipt(session, found.anchor, found.receipt)
    return found


def get_receipt(session: Session, anchor_id: Bytes32) -> Operation[Receipt]:
    """GET /v1/event-anchors/{anchor_id}/receipt."""
    own = inputs.bytes32("anchor_id", anchor_id)
    call = _call(session, "GET", f"/v1/event-anchors/{own.hex()}/receipt")
    wrapped = yield from _ask(session, call, lambda body: decode(_ReceiptAnswer, {"receipt": body}))
    if session.trust_root is not None:
        verify_receipt(wrapped.receipt, session.trust_root, anchor_id=own)
    return wrapped.receipt


@dataclass(frozen=True)
class _ReceiptAnswer:
    receipt: Receipt


def get_claim(
    session: Session, entity_fingerprint: Bytes32, attribute_type: Union[int, str]
) -> Operation[models.ActiveClaim]:
    """GET /v1/claim-anchors."""
    query: Query = (
        ("entity_fingerprint", inputs.path_id("entity_fingerprint", entity_fingerprint)),
        ("attribute_type", inputs.attribute_type(attribute_type)),
    )
    found = yield from _get(session, models.ActiveClaim, "/v1/claim-anchors", query)
    _check_receipt(session, found.anchor, found.receipt)
    return found


def get_grant(
    session: Session, grantor_fingerprint: Bytes32, grantee_fingerprint: Bytes32
) -> Operation[models.ActiveGrant]:
    """GET /v1/grant-anchors."""
    query: Query = (
        ("grantor_fingerprint", inputs.path_id("grantor_fingerprint", grantor_fingerprint)),
        ("grantee_fingerprint", inputs.path_id("grantee_fingerprint", grantee_fingerprint)),
    )
    found = yield from _get(session, models.ActiveGrant, "/v1/grant-anchors", query)
    _check_receipt(session, found.anchor, found.receipt)
    return found


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
    if sum(1 for _, value in filters if value is not None) != 1:
        raise InvalidInput("filter", "expected exactly one of event_hash, iris_ref, grant_ref and client_event_id")
    page: Query = (
        ("cursor", None if cursor is None else inputs.cursor(cursor)),
        ("limit", None if limit is None else inputs.integer("limit", limit, minimum=1)),
    )
    return (yield from _get(session, models.EventList, "/v1/event-anchors", [*filters, *page]))


def _judged(anchor_id: Bytes32, as_of: Optional[AsOf]) -> Dict[str, object]:
    body: Dict[str, object] = {"anchor_id": inputs.path_id("anchor_id", anchor_id)}
    if as_of is not None:
        body["as_of"] = inputs.as_of(as_of)
    return body


def verify_event(
    session: Session, anchor_id: Bytes32, *, event_hash: Optional[Bytes32], as_of: Optional[AsOf]
) -> Operation[models.Verified]:
    """POST /v1/event-anchors:verify."""
    body = _judged(anchor_id, as_of)
    if event_hash is not None:
        body["event_hash"] = inputs.path_id("event_hash", event_hash)
    return (yield from _post(session, models.Verified, "/v1/event-anchors:verify", body))


VerifyItem = Union[Bytes32, Tuple[Bytes32, Bytes32]]


def verify_events(
    session: Session, anchors: Sequence[VerifyItem], *, as_of: Optional[AsOf]
) -> Operation[models.VerifiedBatch]:
    """POST /v1/event-anchors:batchVerify."""
    items: List[Dict[str, object]] = []
    for place, item in enumerate(anchors):
        if isinstance(item, tuple):
            anchor_id, event_hash = item
            items.append({"event_hash": inputs.path_id(f"anchors[{place}].event_hash", event_hash)})
        else:
            anchor_id = item
            items.append({})
        items[-1]["anchor_id"] = inputs.path_id(f"anchors[{place}].anchor_id", anchor_id)
    if not items:
        raise InvalidInput("anchors", "expected at least one")
    body: Dict[str, object] = {"anchors": items}
    if as_of is not None:
        body["as_of"] = inputs.as_of(as_of)
    path = "/v1/event-anchors:batchVerify"
    return (yield from _post(session, models.VerifiedBatch, path, body, is_batch=True))


def verify_claim(session: Session, anchor_id: Bytes32, *, as_of: Optional[AsOf]) -> Operation[models.VerifiedClaim]:
    """POST /v1/claim-anchors:verify."""
    return (yield from _post(session, models.VerifiedClaim, "/v1/claim-anchors:verify", _judged(anchor_id, as_of)))


def verify_grant(
    session: Session,
    anchor_id: Bytes32,
    *,
    as_of: Optional[AsOf],
    trusted_roots: Optional[Sequence[Bytes32]],
) -> Operation[models.VerifiedGrant]:
    """POST /v1/grant-anchors:verify."""
    body = _judged(anchor_id, as_of)
    if trusted_roots is not None:
        body["trusted_roots"] = [each.hex() for each in inputs.claim_list("trusted_roots", trusted_roots, 32)]
    return (yield from _post(session, models.VerifiedGrant, "/v1/grant-anchors:verify", body))


def trace(
    session: Session,
    anchor_id: Bytes32,
    *,
    as_of: Optional[AsOf],
    trusted_roots: Optional[Sequence[Bytes32]],
    cursor: Optional[str],
    limit: Optional[int],
) -> Operation[models.Trace]:
    """GET /v1/event-anchors/{anchor_id}/trace."""
    roots: Optional[str] = None
    if trusted_roots is not None:
        roots = ",".join(each.hex() for each in inputs.claim_list("trusted_roots", trusted_roots, 32))
    query: Query = (
        ("as_of", None if as_of is None else inputs.as_of(as_of)),
        ("trusted_roots", roots),
        ("cursor", None if cursor is None else inputs.cursor(cursor)),
        ("limit", None if limit is None else inputs.integer("limit", limit, minimum=1)),
    )
    path = f"/v1/event-anchors/{inputs.path_id('anchor_id', anchor_id)}/trace"
    return (yield from _get(session, models.Trace, path, query))


def latest(
    session: Session, *, origin_fingerprint: Optional[Bytes32], from_size: Optional[int]
) -> Operation[models.Latest]:
    """GET /v1/event-anchors/latest."""
    query: Query = (
        ("origin_fingerprint", inputs.optional_hex("origin_fingerprint", origin_fingerprint)),
        ("from_size", None if from_size is None else inputs.integer("from_size", from_size, minimum=1)),
    )
    found = yield from _get(session, models.Latest, "/v1/event-anchors/latest", query)
    _check_receipt(session, found.anchor, found.receipt)
    return found


def consistency(
    session: Session, from_size: int, *, to_size: Optional[int], origin_fingerprint: Optional[Bytes32]
) -> Operation[models.Consistency]:
    """GET /v1/event-anchors/consistency."""
    query: Query = (
        ("from_size", inputs.integer("from_size", from_size, minimum=1)),
        ("to_size", None if to_size is None else inputs.integer("to_size", to_size, minimum=1)),
        ("origin_fingerprint", inputs.optional_hex("origin_fingerprint", origin_fingerprint)),
    )
    return (yield from _get(session, models.Consistency, "/v1/event-anchors/consistency", query))
