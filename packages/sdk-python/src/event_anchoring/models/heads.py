"""Trees: the latest certified anchor (EEA) of an origin, and that one tree is the beginning of another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional, Tuple

from .._hex_repr import HexRepr
from ..proof import Receipt
from .anchors import Anchor
from .hexes import Hex32


@dataclass(frozen=True)
class Cosigner:
    """A node that has cosigned, and when, Unix seconds."""

    name: str
    time: int


@dataclass(frozen=True)
class Quorum:
    """Who has cosigned, and how many must."""

    threshold: int
    trust_root_version: int
    cosigners: Tuple[Cosigner, ...]


@dataclass(frozen=True, repr=False)
class ConsistencyFrom(HexRepr):
    """That the tree of `from_size` leaves is the beginning of this one; hashes of 32 bytes."""

    from_size: int
    tree_size: int
    proof: Tuple[bytes, ...]


@dataclass(frozen=True)
class Latest:
    """The latest certified anchor (EEA) of an origin. `consistency` is there if `from_size` was asked for."""

    origin_fingerprint: Hex32
    depth: int
    tree_size: int
    anchor: Anchor
    root_hash: Hex32
    certified_at: str
    checkpoint: str
    quorum: Quorum
    receipt: Receipt
    consistency: Optional[ConsistencyFrom] = None


@dataclass(frozen=True)
class TreeHead:
    """A tree. `checkpoint` is its signed note, if the tree is the newest certified one."""

    tree_size: int
    root_hash: Hex32
    checkpoint: Optional[str] = None


@dataclass(frozen=True, repr=False)
class Consistency(HexRepr):
    """Proof that one tree (`old`, on the wire `from`) is the beginning of another (`new`, on the wire `to`)."""

    origin_fingerprint: Hex32
    old: TreeHead = field(metadata={"wire": "from"})
    new: TreeHead = field(metadata={"wire": "to"})
    proof: Tuple[bytes, ...]
