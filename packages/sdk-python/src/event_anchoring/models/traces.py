"""From an act back to who acted, who delegated, and within what bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple, Union

from ..proof import Receipt
from .anchors import Anchor, ClaimAnchor, RevocationAnchor
from .hexes import BundleBytes, Hex32
from .verdicts import DelegationHop, Position


@dataclass(frozen=True)
class TraceReason:
    """Why a verdict is not true. `verdict` is `at_action` or `now`."""

    verdict: str
    code: str
    anchor_id: Optional[Hex32]
    sequence: Optional[int]


@dataclass(frozen=True)
class TraceActor:
    """Who acted. `actor_signature` is `not_checked` if the event is unsigned."""

    claim: Optional[ClaimAnchor]
    state: Optional[str]
    actor_signature: str


@dataclass(frozen=True)
class BoundaryDepth:
    """Hops granted by the root grant, used below it, and left."""

    granted: int
    used: int
    left: int


@dataclass(frozen=True)
class BoundaryWindow:
    """Unix milliseconds, 0: unbounded."""

    not_before: int
    expires_at: int


@dataclass(frozen=True)
class Boundary:
    """How far the delegation reaches."""

    scope_hash: Hex32
    depth: BoundaryDepth
    window: BoundaryWindow


@dataclass(frozen=True)
class TracedRevocation:
    """A revocation on the way. `before_action`: it stood when the traced anchor was accepted."""

    anchor: RevocationAnchor
    target_anchor_id: Hex32
    before_action: bool


@dataclass(frozen=True)
class TraceViolation:
    """Something that the rules exclude."""

    code: str
    anchor_id: Hex32
    detail: str


@dataclass(frozen=True)
class PointedAnchor:
    """A reference of the event with what it leads to."""

    field: str
    anchor_id: Hex32
    exists: bool
    kind: Optional[str]


@dataclass(frozen=True)
class TraceParents:
    """The leaves before the anchor in its origin, deepest first."""

    items: Tuple[Anchor, ...]
    next_cursor: Optional[str]


@dataclass(frozen=True)
class LatestBrief:
    """The latest certified anchor of an origin, in brief."""

    origin_fingerprint: Hex32
    anchor_id: Hex32
    depth: int
    tree_size: int
    root_hash: Hex32
    certified_at: str


@dataclass(frozen=True)
class Trace:
    """From an act back to who acted, who delegated, and within what bounds.

    `authorised_at_action` and `authorised_now` are True, False or "unknown": compare them with `is True`.
    `actor_proven` says whether the subject of the claim that the event names has signed it. If not, only the client
    that recorded the event says who acted, even if the act was authorised.
    """

    anchor: Anchor
    actor_proven: bool
    authorised_at_action: Union[bool, str]
    authorised_now: Union[bool, str]
    suspect: bool
    reasons: Tuple[TraceReason, ...]
    actor: TraceActor
    delegation: Tuple[DelegationHop, ...]
    delegation_omitted: int
    boundary: Optional[Boundary]
    root_authority: str
    possible_parents: Tuple[Hex32, ...]
    revocations: Tuple[TracedRevocation, ...]
    violations: Tuple[TraceViolation, ...]
    references: Tuple[PointedAnchor, ...]
    parents: TraceParents
    eea: LatestBrief
    as_of: Position
    receipt: Receipt
    #: Where the next page of hops begins; None: there is none. The client follows the pages.
    delegation_next_cursor: Optional[str] = None
    #: Of each lineage on the way, the newest claim at the event and at `as_of`, unless it is shown elsewhere.
    lineage_claims: Tuple[Anchor, ...] = ()
    #: If it was asked for: a bundle that proves the verdicts without trust in the service, verified.
    proof: Optional[BundleBytes] = None
