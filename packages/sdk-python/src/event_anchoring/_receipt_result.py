"""What verifying a receipt has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from ._hex_repr import HexRepr
from ._steps import Step
from ._witnessing import WitnessSignature
from .leaf import Leaf
from .notes import Checkpoint, VerifiedLine

#: The steps of verify_receipt, in their order.
RECEIPT_STEPS: Tuple[str, ...] = (
    "leaf",
    "content",
    "anchor_id",
    "checkpoint",
    "origin",
    "index",
    "inclusion",
    "log_signature",
    "cosignatures",
    "trust_root",
    "witnesses",
)


@dataclass(frozen=True, repr=False)
class VerifiedReceipt(HexRepr):
    """What a good receipt proves.

    Attributes:
        steps: all of RECEIPT_STEPS. `content` is `not_checked` if nothing was given to compare with, `witnesses` if too
            few have signed.
        leaf: what was anchored.
        anchor_id: its id.
        checkpoint: the tree it is in.
        superseded_trust_root: the receipt satisfies only this older version: renew it. None: the newest.
        origin_lost: the newest trust root marks the origin `lost`.
        verified: the good lines of the log and of nodes.
        witnesses: the witnesses of the newest trust root that have signed, by name.
        witnesses_needed: how many it asks for; 0 if it lists none.
        witnessed: enough have signed.
    """

    steps: Tuple[Step, ...]
    leaf: Leaf
    anchor_id: bytes
    checkpoint: Checkpoint
    superseded_trust_root: Optional[int]
    origin_lost: bool
    verified: Tuple[VerifiedLine, ...]
    witnesses: Tuple[WitnessSignature, ...]
    witnesses_needed: int
    witnessed: bool


@dataclass(frozen=True)
class ReceiptFailure:
    """Where a receipt fails: one of RECEIPT_STEPS, and a code of docs/PROTOCOL.md, "Receipt"."""

    step: str
    code: str


@dataclass(frozen=True, repr=False)
class ReceiptReport(HexRepr):
    """What looking at a receipt has shown, good or bad. One that has a `failure` proves nothing.

    Attributes:
        failure: None: the receipt is good.
        steps: all of RECEIPT_STEPS, in their order.
        leaf, anchor_id, checkpoint: None where they were not reached.
        superseded_trust_root: the receipt satisfies only this older version.
        origin_lost: the newest trust root marks the origin `lost`.
        verified: the good lines of the log and of nodes, once the step `log_signature` has passed.
        witnesses: the witnesses of the newest trust root that have signed, by name, once that step has passed.
        witnesses_needed: how many it asks for; 0 if it lists none.
        witnessed: the step `witnesses` has passed.
    """

    failure: Optional[ReceiptFailure]
    steps: Tuple[Step, ...]
    leaf: Optional[Leaf]
    anchor_id: Optional[bytes]
    checkpoint: Optional[Checkpoint]
    superseded_trust_root: Optional[int]
    origin_lost: bool
    verified: Tuple[VerifiedLine, ...]
    witnesses: Tuple[WitnessSignature, ...]
    witnesses_needed: int
    witnessed: bool
