"""A service that records what it is sent, and nothing else: its answers hold together, and prove nothing."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, Optional

from event_anchoring import Request, Response, client_event_commit, models
from event_anchoring._shown import leaf_of
from event_anchoring.leaf import Leaf, anchor_id_of, encode_leaf

from .fakes import answer, example

SALT = "5a" * 32
HEAD: Dict[str, Any] = {
    "depth": 4,
    "sequence": 6,
    "parent_anchor_id": "1b" * 32,
    "accepted_ms": 1767225600060,
    "accepted_at": "2026-01-01T00:00:00.060Z",
    "finality": "committed",
}
STATE = {"state": "active"}


def named(of_kind: Any, kind: str, **fields: Any) -> Dict[str, Any]:
    """An anchor as JSON, with the id that it has."""
    shown = of_kind(kind=kind, anchor_id="", **{**HEAD, **fields})
    leaf = leaf_of(shown)
    assert leaf is not None
    body = dataclasses.asdict(shown)
    return {**body, "anchor_id": anchor_id_of(encode_leaf(leaf)).hex()}


def leaf_bytes(anchor: Dict[str, Any]) -> bytes:
    """The leaf of an event as JSON."""
    refs = anchor["semantic_anchor"]
    shown = {**anchor, "semantic_anchor": None if refs is None else models.SemanticAnchor(**refs)}
    of_kind = models.SignedEventAnchor if anchor["kind"] == "signed_event" else models.EventAnchor
    leaf: Optional[Leaf] = leaf_of(of_kind(**shown))
    assert leaf is not None
    return encode_leaf(leaf)


def event(body: Any, **head: Any) -> Dict[str, Any]:
    """The anchor of an event that was sent."""
    refs = dict.fromkeys(models.SemanticAnchor.__dataclass_fields__)
    given = body.get("semantic_anchor")
    own_id = body.get("client_event_id")
    actor = {name: body[name] for name in ("actor_public_key", "actor_signature") if name in body}
    return named(
        models.SignedEventAnchor if actor else models.EventAnchor,
        "signed_event" if actor else "event",
        origin_fingerprint=body["origin_fingerprint"],
        event_hash=body["event_hash"],
        semantic_anchor=None if given is None else models.SemanticAnchor(**{**refs, **given}),
        client_event_commit=None if own_id is None else client_event_commit(bytes.fromhex(SALT), own_id).hex(),
        client_event_id=own_id,
        client_event_salt=None if own_id is None else SALT,
        **actor,
        **head,
    )


def claim(body: Any) -> Dict[str, Any]:
    return named(models.ClaimAnchor, "claim", **{"issued_at": 0, "expires_at": 0, **STATE, **body})


def grant(body: Any) -> Dict[str, Any]:
    times = {"issued_at": 0, "not_before": 0, "expires_at": 0, "parent_grant_ref": None}
    return named(models.GrantAnchor, "grant", **{**times, **STATE, **body})


def revocation(target: str, body: Any, origin: str) -> Dict[str, Any]:
    is_signed = "revoker_signature" in body
    return named(
        models.RevocationAnchor,
        "revocation",
        origin_fingerprint=origin,
        target_anchor_id=target,
        reason=body.get("reason", "unspecified"),
        suspect_since=body.get("suspect_since", 0),
        issued_at=body.get("issued_at", 0),
        authority="issuer" if is_signed else "operator",
        revoker=body.get("revoker_public_key", "7c" * 32),
        signature=body.get("revoker_signature"),
    )


def batch(body: Any) -> Dict[str, Any]:
    origin = {"origin_fingerprint": body["origin_fingerprint"]}
    items = [{"status": 202, "anchor": event({**origin, **each}), "receipt": None} for each in body["events"]]
    count = len(items)
    summary = {"total": count, "created": 0, "replayed": 0, "committed": count, "refused": 0}
    return {"results": items, "summary": summary}


def recorded(request: Request) -> Response:
    """What a service answers that has committed what it was sent, and not certified it."""
    path, body = request.target, json.loads(request.body or b"{}")
    if path == "/v1/event-anchors/batch":
        return answer(batch(body))
    if path.endswith("/revoke"):
        target = path.split("/")[3]
        anchor = revocation(target, body, example("/healthz")["origin_fingerprint"])
        return answer({"anchor": anchor, "revoked_anchor_id": target, "receipt": None, "replayed": False}, 202)
    of_path = {"/v1/event-anchors": event, "/v1/claim-anchors": claim, "/v1/grant-anchors": grant}[path]
    return answer({"anchor": of_path(body), "receipt": None, "replayed": False}, 202)
