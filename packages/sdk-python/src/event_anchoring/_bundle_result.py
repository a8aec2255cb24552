"""The result of verifying a bundle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Optional, Tuple

from ._hex_repr import HexRepr
from ._records import Position, Reason, Verdict
from ._steps import Step
from .leaf import Leaf

#: In the order in which they are made. After one that fails nothing more is checked.
BUNDLE_CHECKS: Tuple[str, ...] = (
    "trust_roots",
    "checkpoints",
    "state",
    "witnesses",
    "leaves",
    "ranges",
    "subject",
    "signatures",
    "records",
    "revocation",
    "superseded",
    "window",
    "authority",
    "stated",
    "scopes",
)


@dataclass(frozen=True)
class Completeness:
    """Every leaf of a sequence above `after`, up to `to`, is in the bundle, or in what its state head says.

    So no ending can be missing among them.
    """

    after: int
    to: int


@dataclass(frozen=True)
class Standing:
    """Whether a claim or a grant is in force: its state, and why it is not, at most 100 reasons."""

    state: str
    in_force: bool
    reasons: Tuple[Reason, ...]


@dataclass(frozen=True, repr=False)
class ProvedScope(HexRepr):
    """Statements that were granted and that somebody has chosen to disclose, as the maker of the grant wrote them.

    `grants` are the anchor ids of the grants on the way that have this `scope_hash`, from the one in question towards
    the root. `withheld` statements are not disclosed.
    """

    scope_hash: bytes
    grants: Tuple[bytes, ...]
    statements: Mapping[str, object]
    withheld: int


@dataclass(frozen=True, repr=False)
class BundleVerification(HexRepr):
    """What a bundle proves.

    Attributes:
        outcome: `valid`: everything was proved. `valid_as_stated`: nothing is wrong, but something rests on the word of
            the bundle's maker: never show it as valid. `invalid`: something is wrong.
        actor_proven: the subject of the claim that the event names has signed it. False: only the client that recorded
            the event says who acted, even if the act was authorised; or the bundle is invalid.
        authorised_at_action: True, False or "unknown": at the subject's own position. Compare with `is True`.
        authorised_now: likewise at `as_of`.
        checks: all of BUNDLE_CHECKS.
        subject: anchor id of what is traced.
        as_of: the position that *now* means.
        leaf: the leaf of the subject.
        reasons_at_action, reasons_now: why a verdict is not true.
        suspect: a revocation in view has a `suspect_since` that is not after the act.
        standing: of a claim or a grant, whether it is in force at `as_of`; else None.
        delegation: anchor ids of the grants, from the one that the event names to the root.
        revocations: anchor ids of those in view, ascending by sequence.
        complete: how far no ending can be missing; None: nothing that is named can end. If `to` is not below the
            subject's sequence, the verdict at the action is proved, whatever the outcome.
        witnessed: witnesses outside the cluster have signed every head that it rests on; False also if it is invalid.
        scopes: what is disclosed of the scopes of the grants.
        trust_root_version: the newest version that was judged by.
        superseded_trust_root: the oldest version that a checkpoint or the state head needed instead; None: none did.
    """

    outcome: str
    actor_proven: bool
    authorised_at_action: Verdict
    authorised_now: Verdict
    checks: Tuple[Step, ...]
    subject: bytes
    as_of: Position
    leaf: Optional[Leaf] = None
    reasons_at_action: Tuple[Reason, ...] = ()
    reasons_now: Tuple[Reason, ...] = ()
    suspect: bool = False
    standing: Optional[Standing] = None
    delegation: Tuple[bytes, ...] = ()
    revocations: Tuple[bytes, ...] = ()
    complete: Optional[Completeness] = None
    witnessed: bool = False
    scopes: Tuple[ProvedScope, ...] = ()
    trust_root_version: Optional[int] = None
    superseded_trust_root: Optional[int] = None
