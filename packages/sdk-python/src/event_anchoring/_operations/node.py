"""What a node reports about itself, and the origin that it writes to. Needs no API key."""

from __future__ import annotations

from typing import Optional

from .. import _inputs as inputs
from .. import models
from .._calls import ask, get, make_call
from .._decode import decode
from .._exchange import Operation, Session
from .._inputs import Bytes32


def origin(session: Session, given: Optional[Bytes32]) -> Operation[bytes]:
    """The origin to write to: the one given, else the client's, which is asked for once and kept."""
    if given is not None:
        return inputs.bytes32("origin_fingerprint", given)
    if session.origin_fingerprint is None:
        health = yield from healthz(session)
        session.origin_fingerprint = bytes.fromhex(health.origin_fingerprint)
    return session.origin_fingerprint


def healthz(session: Session) -> Operation[models.Health]:
    """GET /healthz."""
    call = make_call(session, "GET", "/healthz", needs_key=False, takes_key=True)
    return (yield from ask(session, call, lambda body: decode(models.Health, body)))


def readyz(session: Session) -> Operation[models.Ready]:
    """GET /readyz: 503 is an answer, too."""
    call = make_call(session, "GET", "/readyz", needs_key=False, answers=(200, 503))
    return (yield from ask(session, call, lambda body: decode(models.Ready, body)))


def limits(session: Session) -> Operation[models.Limits]:
    """GET /v1/limits."""
    return (yield from get(session, models.Limits, "/v1/limits", needs_key=False))


def trust_root(session: Session) -> Operation[models.TrustRootAnswer]:
    """GET /v1/trust-root."""
    return (yield from get(session, models.TrustRootAnswer, "/v1/trust-root", needs_key=False))
