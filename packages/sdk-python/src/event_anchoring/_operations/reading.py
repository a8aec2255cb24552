"""Anchors, receipts, trees, and the log itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from .. import _inputs as inputs
from .. import models
from .._calls import Query, ask, ask_bytes, get, make_call
from .._decode import decode
from .._exchange import Operation, Session
from .._held import hold_id, hold_origin, hold_receipt
from .._inputs import Bytes32
from .._options import Wait
from ..errors import UnexpectedAnswer, VerificationError
from ..merkle import is_consistent
from ..proof import Receipt
from ..receipt import read_noted_checkpoint
from ..tiles import entries_path, read_entries, read_tile, tile_path


def get_anchor(session: Session, anchor_id: Bytes32, wait: Optional[Wait] = None) -> Operation[models.FoundAnchor]:
    """GET /v1/event-anchors/{anchor_id}."""
    own = inputs.bytes32("anchor_id", anchor_id)
    call = make_call(session, "GET", f"/v1/event-anchors/{own.hex()}", wait=wait)
    found = yield from ask(session, call, lambda body: decode(models.FoundAnchor, body))
    hold_id(found.anchor, own)
    yield from hold_receipt(session, found.anchor.anchor_id, found.receipt)
    return found


@dataclass(frozen=True)
class _ReceiptAnswer:
    receipt: Receipt


def get_receipt(session: Session, anchor_id: Bytes32, wait: Optional[Wait] = None) -> Operation[Receipt]:
    """GET /v1/event-anchors/{anchor_id}/receipt."""
    own = inputs.bytes32("anchor_id", anchor_id)
    path = f"/v1/event-anchors/{own.hex()}/receipt"
    call = make_call(session, "GET", path, wait=wait, needs_key=False, takes_key=True)
    wrapped = yield from ask(session, call, lambda body: decode(_ReceiptAnswer, {"receipt": body}))
    yield from hold_receipt(session, own.hex(), wrapped.receipt)
    return wrapped.receipt


def _own_origin(origin_fingerprint: Optional[Bytes32]) -> Optional[bytes]:
    return None if origin_fingerprint is None else inputs.bytes32("origin_fingerprint", origin_fingerprint)


def _is_one_head(latest: models.Latest) -> bool:
    """Whether the parts of an EEA are about one tree, and its anchor is the last leaf of it."""
    try:
        checkpoint = read_noted_checkpoint(latest.checkpoint)[1]
    except VerificationError:
        # No head at all.
        return False
    is_last = latest.anchor.depth == latest.depth == latest.tree_size - 1
    sizes = {latest.tree_size, checkpoint.tree_size, latest.receipt.tree_size}
    is_of_origin = checkpoint.origin.endswith(f"/origin/{latest.origin_fingerprint}")
    is_of_origin = is_of_origin and latest.anchor.origin_fingerprint == latest.origin_fingerprint
    return is_last and is_of_origin and len(sizes) == 1 and checkpoint.root_hash.hex() == latest.root_hash


def latest(
    session: Session,
    *,
    origin_fingerprint: Optional[Bytes32],
    from_size: Optional[int],
    after_size: Optional[int],
    wait_seconds: Optional[int],
) -> Operation[models.Latest]:
    """GET /v1/event-anchors/latest."""
    asked = _own_origin(origin_fingerprint)
    query: Query = (
        ("origin_fingerprint", None if asked is None else asked.hex()),
        ("from_size", None if from_size is None else inputs.integer("from_size", from_size, minimum=1)),
        ("after_size", None if after_size is None else inputs.integer("after_size", after_size, minimum=1)),
        ("wait", None if wait_seconds is None else inputs.integer("wait_seconds", wait_seconds, minimum=0)),
    )
    found = yield from get(session, models.Latest, "/v1/event-anchors/latest", query, longer_s=wait_seconds or 0)
    if not _is_one_head(found):
        raise UnexpectedAnswer("the parts of the answer are not about one tree")
    hold_origin(found.origin_fingerprint, asked)
    yield from hold_receipt(session, found.anchor.anchor_id, found.receipt)
    return found


def consistency(
    session: Session, from_size: int, *, to_size: Optional[int], origin_fingerprint: Optional[Bytes32]
) -> Operation[models.Consistency]:
    """GET /v1/event-anchors/consistency."""
    asked = _own_origin(origin_fingerprint)
    query: Query = (
        ("from_size", inputs.integer("from_size", from_size, minimum=1)),
        ("to_size", None if to_size is None else inputs.integer("to_size", to_size, minimum=1)),
        ("origin_fingerprint", None if asked is None else asked.hex()),
    )
    found = yield from get(session, models.Consistency, "/v1/event-anchors/consistency", query)
    hold_origin(found.origin_fingerprint, asked)
    old, new = found.old, found.new
    is_asked = old.tree_size == from_size and to_size in (None, new.tree_size)
    roots = bytes.fromhex(old.root_hash), bytes.fromhex(new.root_hash)
    if not is_asked or not is_consistent(old.tree_size, roots[0], new.tree_size, roots[1], found.proof):
        raise VerificationError("consistency_wrong", "the proof does not lead from the one tree to the other")
    return found


def _log_path(origin_fingerprint: Bytes32, rest: str) -> str:
    return f"/v1/origins/{inputs.path_id('origin_fingerprint', origin_fingerprint)}/{rest}"


def get_checkpoint(session: Session, origin_fingerprint: Bytes32) -> Operation[str]:
    """GET /v1/origins/{origin_fingerprint}/checkpoint."""
    own = inputs.bytes32("origin_fingerprint", origin_fingerprint)
    body = yield from ask_bytes(session, _log_path(own, "checkpoint"), "text/plain")
    try:
        note = body.decode("utf-8")
        checkpoint = read_noted_checkpoint(note)[1]
    except (UnicodeDecodeError, VerificationError) as error:
        raise UnexpectedAnswer("the answer is no signed checkpoint") from error
    if not checkpoint.origin.endswith(f"/origin/{own.hex()}"):
        raise VerificationError("origin_differs", f"the checkpoint is of origin {checkpoint.origin}")
    return note


def get_tile(
    session: Session, origin_fingerprint: Bytes32, level: int, index: int, width: int
) -> Operation[Tuple[bytes, ...]]:
    """GET /v1/origins/{origin_fingerprint}/tile/{level}/{index}."""
    path = _log_path(origin_fingerprint, tile_path(level, index, width))
    return read_tile((yield from ask_bytes(session, path, "application/octet-stream")), width)


def get_entries(session: Session, origin_fingerprint: Bytes32, index: int, width: int) -> Operation[Tuple[bytes, ...]]:
    """GET /v1/origins/{origin_fingerprint}/tile/entries/{index}."""
    path = _log_path(origin_fingerprint, entries_path(index, width))
    return read_entries((yield from ask_bytes(session, path, "application/octet-stream")), width)
