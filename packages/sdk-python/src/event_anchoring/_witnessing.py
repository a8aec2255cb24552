"""Which witnesses have signed a checkpoint, and whether they are enough. docs/PROTOCOL.md, "Witnessed"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence, Tuple

from ._trust_root_text import TrustRoot
from .notes import VerifiedLine


@dataclass(frozen=True)
class WitnessSignature:
    """A witness whose good line is on the checkpoint: its name in the trust root, and Unix seconds as signed."""

    name: str
    witnessed_at: int


@dataclass(frozen=True)
class Witnessing:
    """What a trust root says of the lines of a checkpoint. Without a quorum of nodes nothing is witnessed."""

    signatures: Tuple[WitnessSignature, ...]
    is_enough: bool
    detail: str


def witnessing_of(root: TrustRoot, verified: Sequence[VerifiedLine]) -> Witnessing:
    """Counts the witnesses of a trust root among good lines. Lines of other keys are passed over."""
    times = {line.vkey.public_key: line.time_s for line in verified if line.time_s is not None}
    signatures = tuple(
        WitnessSignature(witness.name, times[witness.vkey.public_key])
        for witness in root.witnesses
        if witness.vkey.public_key in times
    )
    if not root.witnesses:
        return Witnessing((), False, f"trust root {root.version} lists no witness")
    detail = f"{len(signatures)} of {len(root.witnesses)} witnesses, {root.witness_quorum} needed"
    names = ", ".join(signature.name for signature in signatures)
    is_enough = len(signatures) >= root.witness_quorum
    return Witnessing(signatures, is_enough, f"{detail}: {names}" if names else detail)


def without_witnesses(root: TrustRoot, verified: Sequence[VerifiedLine]) -> Tuple[VerifiedLine, ...]:
    """Good lines of the log and of nodes: those that say when a quorum was complete."""
    keys = {witness.vkey.public_key for witness in root.witnesses}
    return tuple(line for line in verified if line.vkey.public_key not in keys)
