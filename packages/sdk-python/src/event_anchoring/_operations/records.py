"""Claims, grants, and their ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, Mapping, Optional, Type, TypeVar, Union

from .. import _inputs as inputs
from .. import models
from .._calls import Query, ask, get, make_call
from .._decode import decode, decode_created
from .._exchange import Operation, Session
from .._held import hold_content, hold_receipt
from .._inputs import Bytes32
from .._options import Wait
from .._parties import Party
from .._shown import leaf_of
from ..prepare import PreparedClaimAnchor, PreparedGrantAnchor, PreparedRevocation, prepare_revocation
from .node import origin
from .reading import get_anchor

T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """Where and how a record is written: the origin, None for the client's, and how long it may take."""

    origin_fingerprint: Optional[Bytes32]
    wait: Optional[Wait]


def _for_origin(session: Session, prepare: Callable[[bytes], T], target: Target) -> Operation[T]:
    # With an origin of zeros all arguments are checked before the network is used, if only to ask for the origin.
    prepare(bytes(32))
    return prepare((yield from origin(session, target.origin_fingerprint)))


def _record(
    session: Session,
    of_kind: Type[models.AnchorT],
    path: str,
    content: Mapping[str, object],
    body: Mapping[str, object],
    wait: Optional[Wait],
) -> Operation[models.Created[models.AnchorT]]:
    call = make_call(session, "POST", path, body, is_write=True, wait=wait)
    created = yield from ask(session, call, lambda answer: decode_created(of_kind, answer))
    # A replay may show earlier signatures: they are no content.
    hold_content(leaf_of(created.anchor), content)
    yield from hold_receipt(session, created.anchor.anchor_id, created.receipt)
    return created


def create_claim(
    session: Session, prepare: Callable[[bytes], PreparedClaimAnchor], subject: Party, issuer: Party, target: Target
) -> Operation[models.Created[models.ClaimAnchor]]:
    """POST /v1/claim-anchors."""
    prepared = yield from _for_origin(session, prepare, target)
    first = yield from subject.sign(prepared.subject_payload)
    second = yield from issuer.sign(prepared.issuer_payload(first))
    body = prepared.request(first, second)
    path = "/v1/claim-anchors"
    return (yield from _record(session, models.ClaimAnchor, path, prepared.fields, body, target.wait))


def create_grant(
    session: Session, prepare: Callable[[bytes], PreparedGrantAnchor], grantor: Party, witness: Party, target: Target
) -> Operation[models.Created[models.GrantAnchor]]:
    """POST /v1/grant-anchors."""
    prepared = yield from _for_origin(session, prepare, target)
    first = yield from grantor.sign(prepared.grantor_payload)
    second = yield from witness.sign(prepared.witness_payload(first))
    body = prepared.request(first, second)
    path = "/v1/grant-anchors"
    return (yield from _record(session, models.GrantAnchor, path, prepared.fields, body, target.wait))


@dataclass(frozen=True)
class RevocationInput:
    """The content of a revocation. `target_origin_fingerprint` None: it is looked up, if the revocation is signed."""

    anchor_id: Bytes32
    reason: Optional[str]
    suspect_since: Optional[int]
    issued_at: Optional[int]
    revoker: Party
    target_origin_fingerprint: Optional[Bytes32]

    def prepare(self, target_origin: Bytes32) -> PreparedRevocation:
        """Raises InvalidInput."""
        return prepare_revocation(
            target_origin_fingerprint=target_origin,
            target_anchor_id=inputs.bytes32("anchor_id", self.anchor_id),
            reason=self.reason,
            suspect_since=self.suspect_since,
            issued_at=self.issued_at,
            revoker_public_key=self.revoker.optional_key(),
        )


def _signed_revocation(session: Session, given: RevocationInput) -> Operation[Dict[str, object]]:
    target_origin = given.target_origin_fingerprint
    prepared = given.prepare(bytes(32) if target_origin is None else target_origin)
    if not given.revoker.is_given:
        return prepared.request()
    if target_origin is None:
        target = yield from get_anchor(session, given.anchor_id)
        prepared = given.prepare(target.anchor.origin_fingerprint)
    signature = yield from given.revoker.sign(prepared.revoker_payload)
    return prepared.request(signature)


def revoke(session: Session, family: str, given: RevocationInput, target: Target) -> Operation[models.Revoked]:
    """POST /v1/claim-anchors/{anchor_id}/revoke, POST /v1/grant-anchors/{anchor_id}/revoke."""
    own_origin = inputs.optional_hex("origin_fingerprint", target.origin_fingerprint)
    signed = yield from _signed_revocation(session, given)
    anchor_id = inputs.path_id("anchor_id", given.anchor_id)
    body = signed if own_origin is None else {**signed, "origin_fingerprint": own_origin}
    call = make_call(session, "POST", f"/v1/{family}/{anchor_id}/revoke", body, is_write=True, wait=target.wait)
    revoked = yield from ask(session, call, lambda answer: decode(models.Revoked, answer))
    _hold_revocation(revoked, anchor_id, signed)
    yield from hold_receipt(session, revoked.anchor.anchor_id, revoked.receipt)
    return revoked


def _hold_revocation(revoked: models.Revoked, anchor_id: str, sent: Dict[str, object]) -> None:
    hold_content(revoked, {"revoked_anchor_id": anchor_id})
    content: Dict[str, object] = {
        "target_anchor_id": anchor_id,
        "reason": sent.get("reason", "unspecified"),
        "suspect_since": sent.get("suspect_since", 0),
        "issued_at": sent.get("issued_at", 0),
    }
    if "revoker_public_key" in sent:
        content["revoker"] = sent["revoker_public_key"]
    else:
        content["authority"] = "operator"
    hold_content(revoked.anchor, content)


def get_claim(
    session: Session, entity_fingerprint: Bytes32, attribute_type: Union[int, str]
) -> Operation[models.ActiveClaim]:
    """GET /v1/claim-anchors."""
    asked: Dict[str, Union[str, int, None]] = {
        "entity_fingerprint": inputs.path_id("entity_fingerprint", entity_fingerprint),
        "attribute_type": inputs.attribute_type(attribute_type),
    }
    query: Query = list(asked.items())
    found = yield from get(session, models.ActiveClaim, "/v1/claim-anchors", query)
    hold_content(found.anchor, asked)
    yield from hold_receipt(session, found.anchor.anchor_id, found.receipt)
    return found


def get_grant(
    session: Session, grantor_fingerprint: Bytes32, grantee_fingerprint: Bytes32
) -> Operation[models.ActiveGrant]:
    """GET /v1/grant-anchors."""
    query: Query = (
        ("grantor_fingerprint", inputs.path_id("grantor_fingerprint", grantor_fingerprint)),
        ("grantee_fingerprint", inputs.path_id("grantee_fingerprint", grantee_fingerprint)),
    )
    found = yield from get(session, models.ActiveGrant, "/v1/grant-anchors", query)
    yield from hold_receipt(session, found.anchor.anchor_id, found.receipt)
    return found
