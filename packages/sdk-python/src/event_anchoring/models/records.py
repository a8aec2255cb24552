"""What writing, reading and listing records answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Mapping, Optional, Tuple

from ..errors import ApiProblem, problem_class
from ..proof import Receipt
from .anchors import Anchor, AnchorT, AnyEventAnchor, ClaimAnchor, GrantAnchor, RevocationAnchor
from .hexes import Hex32


@dataclass(frozen=True)
class Created(Generic[AnchorT]):
    """A record that was created, or recorded before (`replayed`).

    `receipt` is None while the anchor is committed and not yet certified; ask for it with `get_receipt`.
    """

    anchor: AnchorT
    receipt: Optional[Receipt]
    replayed: bool


@dataclass(frozen=True)
class Revoked:
    """A revocation: `anchor` is its record."""

    anchor: RevocationAnchor
    revoked_anchor_id: Hex32
    receipt: Optional[Receipt]
    replayed: bool


@dataclass(frozen=True)
class Erased:
    """`erased` is False if there was nothing to erase."""

    anchor: AnyEventAnchor
    erased: bool


@dataclass(frozen=True)
class FoundAnchor:
    """One anchor. `receipt` is None while it is committed and not yet certified."""

    anchor: Anchor
    receipt: Optional[Receipt]


@dataclass(frozen=True)
class ActiveClaim:
    """The active claim of an entity and an attribute type."""

    anchor: ClaimAnchor
    receipt: Receipt
    state: str


@dataclass(frozen=True)
class ActiveGrant:
    """The grant in force between two entities. `others`: how many more are, between other lineages of the two."""

    anchor: GrantAnchor
    receipt: Receipt
    state: str
    others: int


@dataclass(frozen=True)
class Problem:
    """An RFC 9457 problem, as an item of a batch has it."""

    title: str
    status: int
    detail: str
    code: str
    type: str = "about:blank"
    request_id: Optional[str] = None
    errors: Tuple[Mapping[str, object], ...] = ()

    def to_error(self) -> ApiProblem:
        """The error that the same problem is when it is the answer to a whole request."""
        of_status = problem_class(self.status)
        return of_status(
            self.code,
            self.detail,
            status=self.status,
            title=self.title,
            errors=self.errors,
            request_id=self.request_id,
        )


@dataclass(frozen=True)
class BatchItem:
    """What became of one item: `status` is what it would have had alone; `anchor` or `problem` is there."""

    status: int
    anchor: Optional[Anchor] = None
    receipt: Optional[Receipt] = None
    replayed: Optional[bool] = None
    problem: Optional[Problem] = None


@dataclass(frozen=True)
class BatchSummary:
    """Counts of the items of a batch."""

    total: int
    created: int
    replayed: int
    committed: int
    refused: int


@dataclass(frozen=True)
class CreatedBatch:
    """One result for each item, in the order of the request."""

    results: Tuple[BatchItem, ...]
    summary: BatchSummary


@dataclass(frozen=True)
class CertifiedSize:
    """How far a list reaches in one origin."""

    origin_fingerprint: Hex32
    tree_size: int


@dataclass(frozen=True)
class EventList:
    """Certified events, ascending by sequence; `next_cursor` is None at the end."""

    items: Tuple[Anchor, ...]
    next_cursor: Optional[str]
    certified: Tuple[CertifiedSize, ...]
