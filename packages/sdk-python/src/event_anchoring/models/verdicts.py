"""The service's verdicts on anchors. What needs no trust in it is the receipt beside each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from ..proof import Receipt
from .anchors import Anchor, ClaimAnchor, GrantAnchor, RevocationAnchor
from .hexes import BundleBytes, Hex32
from .records import Problem


@dataclass(frozen=True)
class Position:
    """A position in the log: `sequence` is None for a time before the first leaf."""

    sequence: Optional[int]
    time_ms: int
    time: str


@dataclass(frozen=True)
class Check:
    """One check. `result` is `pass`, `fail` or `not_checked`; `detail` is for people."""

    code: str
    result: str
    detail: str


@dataclass(frozen=True)
class Verified:
    """The service's verdict on an anchor. What needs no trust in the service is `receipt`."""

    valid: bool
    as_of: Position
    checks: Tuple[Check, ...]
    anchor: Anchor
    receipt: Receipt
    #: If it was asked for: a bundle that proves the verdict without trust in the service, verified.
    proof: Optional[BundleBytes] = None


@dataclass(frozen=True)
class RevocationInView:
    """A revocation, and what it revokes."""

    anchor: RevocationAnchor
    target_anchor_id: Hex32


@dataclass(frozen=True)
class VerifiedClaim:
    """The service's verdict on a claim."""

    valid: bool
    as_of: Position
    checks: Tuple[Check, ...]
    anchor: ClaimAnchor
    receipt: Receipt
    state: str
    revocations: Tuple[RevocationInView, ...]
    #: If it was asked for: a bundle that proves the verdict without trust in the service, verified.
    proof: Optional[BundleBytes] = None


@dataclass(frozen=True)
class DelegationHop:
    """One hop, from the grant towards the root."""

    grant: GrantAnchor
    grantor_claim: ClaimAnchor
    grantee_claim: ClaimAnchor
    witness_public_key: Hex32
    witness_is_grantee: bool


@dataclass(frozen=True)
class VerifiedGrant:
    """The service's verdict on a grant."""

    valid: bool
    as_of: Position
    checks: Tuple[Check, ...]
    anchor: GrantAnchor
    receipt: Receipt
    state: str
    revocations: Tuple[RevocationInView, ...]
    delegation: Tuple[DelegationHop, ...]
    delegation_omitted: int
    #: If it was asked for: a bundle that proves the verdict without trust in the service, verified.
    proof: Optional[BundleBytes] = None


@dataclass(frozen=True)
class VerifiedItem:
    """The verdict on one item of a batch; an unknown id has a `problem`."""

    anchor_id: Hex32
    valid: bool
    checks: Tuple[Check, ...] = ()
    anchor: Optional[Anchor] = None
    problem: Optional[Problem] = None


@dataclass(frozen=True)
class VerifiedSummary:
    """Counts of the items of a batch."""

    total: int
    valid: int
    invalid: int
    not_found: int


@dataclass(frozen=True)
class VerifiedBatch:
    """One verdict for each item, in the order of the request."""

    as_of: Position
    results: Tuple[VerifiedItem, ...]
    summary: VerifiedSummary
