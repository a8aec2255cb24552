"""What lists of claims and grants answer: all that there have been, and how each has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from .anchors import ClaimAnchor, GrantAnchor
from .hexes import Hex32
from .records import CertifiedSize
from .verdicts import Position


@dataclass(frozen=True)
class RecordEnd:
    """What gave a record another state than `active`.

    `anchor_id` names the record whose end it was: this one, or one that it depends on. `sequence` and `ended_by` name
    the revocation, or the record that superseded it; they are None if time ended it.
    """

    code: str
    anchor_id: Hex32
    sequence: Optional[int]
    ended_by: Optional[Hex32]


@dataclass(frozen=True)
class ClaimHistoryItem:
    """A claim. `ended` is None while its `state` is `active`."""

    anchor: ClaimAnchor
    ended: Optional[RecordEnd]


@dataclass(frozen=True)
class ClaimHistory:
    """Claims, ended or not, ascending by sequence; `next_cursor` is None at the end. They were judged at `as_of`."""

    items: Tuple[ClaimHistoryItem, ...]
    next_cursor: Optional[str]
    certified: Tuple[CertifiedSize, ...]
    as_of: Position


@dataclass(frozen=True)
class GrantHistoryItem:
    """A grant. `ended` is None while its `state` is `active`."""

    anchor: GrantAnchor
    ended: Optional[RecordEnd]


@dataclass(frozen=True)
class GrantHistory:
    """Grants, ended or not, ascending by sequence; `next_cursor` is None at the end. They were judged at `as_of`."""

    items: Tuple[GrantHistoryItem, ...]
    next_cursor: Optional[str]
    certified: Tuple[CertifiedSize, ...]
    as_of: Position
