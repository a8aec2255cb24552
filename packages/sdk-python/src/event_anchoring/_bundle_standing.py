"""Whether the claim or the grant that a bundle is about is in force. docs/PROTOCOL.md, "In force"."""

from __future__ import annotations

from typing import List, Optional, Sequence

from ._bundle_result import Standing
from ._records import REASONS_MAX, ClaimRecord, GrantRecord, Position, Reason, RecordBook, claim_fault, link_faults
from .leaf import ClaimLeaf, GrantLeaf, Leaf

#: By the end of a reason's code, the strongest state first.
_STATES = (
    ("_revoked", "revoked"),
    ("_superseded", "superseded"),
    ("_expired", "expired"),
    ("_not_in_force", "expired"),
)


def _standing(reasons: Sequence[Reason]) -> Standing:
    found = (state for ending, state in _STATES if any(reason.code.endswith(ending) for reason in reasons))
    return Standing(next(found, "active"), not reasons, tuple(reasons[:REASONS_MAX]))


def standing_of(
    leaf: Leaf, iris: Optional[ClaimRecord], links: Sequence[GrantRecord], at: Position, book: RecordBook
) -> Optional[Standing]:
    """None: the leaf is neither claim nor grant."""
    if isinstance(leaf, ClaimLeaf) and iris is not None:
        fault = claim_fault(iris, at)
        return _standing([] if fault is None else [fault])
    if not isinstance(leaf, GrantLeaf):
        return None
    reasons: List[Reason] = []
    for link in links:
        reasons += link_faults(link, at, book)
    return _standing(reasons)
