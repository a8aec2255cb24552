"""What the service stated of a trace, held against what its leaves say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Mapping, Optional, Tuple

from ._hex_repr import HexRepr
from ._records import Position, Verdict


@dataclass(frozen=True, repr=False)
class DerivedTrace(HexRepr):
    """A trace of a bundle's subject as of the bundle's position. Grants and revocations by their anchor ids."""

    subject: bytes
    as_of: Position
    is_actor_proven: bool
    at_action: Verdict
    now: Verdict
    is_suspect: bool
    delegation: Tuple[bytes, ...]
    revocations: Tuple[bytes, ...]


def _at(value: object, *path: str) -> object:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _is_same(stated: object, derived: object) -> bool:
    # In Python True equals 1, on the wire it does not.
    return type(stated) is type(derived) and stated == derived


def _ids(stated: object, name: str, *path: str) -> Optional[List[object]]:
    items = _at(stated, name)
    return [_at(each, *path) for each in items] if isinstance(items, list) else None


def stated_difference(stated: Mapping[str, object], derived: DerivedTrace) -> Optional[str]:
    """The first member of the service's trace that differs; the rest of it is not looked at."""
    delegation = [each.hex() for each in derived.delegation]
    revocations = [each.hex() for each in derived.revocations]
    members: Tuple[Tuple[str, object, object], ...] = (
        ("anchor.anchor_id", _at(stated, "anchor", "anchor_id"), derived.subject.hex()),
        ("as_of.sequence", _at(stated, "as_of", "sequence"), derived.as_of.sequence),
        ("as_of.time_ms", _at(stated, "as_of", "time_ms"), derived.as_of.time_ms),
        ("actor_proven", _at(stated, "actor_proven"), derived.is_actor_proven),
        ("authorised_at_action", _at(stated, "authorised_at_action"), derived.at_action),
        ("authorised_now", _at(stated, "authorised_now"), derived.now),
        ("suspect", _at(stated, "suspect"), derived.is_suspect),
        ("delegation", _ids(stated, "delegation", "grant", "anchor_id"), delegation),
        ("revocations", _ids(stated, "revocations", "anchor", "anchor_id"), revocations),
    )
    return next((name for name, said, own in members if not _is_same(said, own)), None)
