"""The log as tiles, C2SP tlog-tiles: what places are called, and what is in them."""

from __future__ import annotations

from typing import List, Tuple

from ._inputs import integer
from .errors import UnexpectedAnswer

#: Hashes in a full tile, and leaves in a full entry bundle.
TILE_WIDTH = 256
_LEVEL_MAX = 63


def _place(index: object, width: object) -> str:
    """Groups of three digits, all but the last with an `x` before them: 1234067 is `x001/x234/067`."""
    rest, last = divmod(integer("index", index), 1000)
    path = f"{last:03}"
    while rest > 0:
        rest, group = divmod(rest, 1000)
        path = f"x{group:03}/{path}"
    count = integer("width", width, maximum=TILE_WIDTH, minimum=1)
    return path if count == TILE_WIDTH else f"{path}.p/{count}"


def tile_path(level: int, index: int, width: int = TILE_WIDTH) -> str:
    """`tile/<L>/<N>[.p/<W>]`. Raises InvalidInput."""
    return f"tile/{integer('level', level, maximum=_LEVEL_MAX)}/{_place(index, width)}"


def entries_path(index: int, width: int = TILE_WIDTH) -> str:
    """`tile/entries/<N>[.p/<W>]`. Raises InvalidInput."""
    return f"tile/entries/{_place(index, width)}"


def read_tile(tile: bytes, width: int) -> Tuple[bytes, ...]:
    """Its hashes, 32 bytes each. Raises UnexpectedAnswer unless their number matches its name."""
    if len(tile) != 32 * width:
        raise UnexpectedAnswer(f"a tile of {len(tile)} bytes, {width} hashes were asked for")
    return tuple(tile[start : start + 32] for start in range(0, len(tile), 32))


def read_entries(bundle: bytes, width: int) -> Tuple[bytes, ...]:
    """Its leaves, each after its length as u16. Raises UnexpectedAnswer unless their number matches its name."""
    leaves: List[bytes] = []
    place = 0
    while place + 2 <= len(bundle) and len(leaves) < width:
        end = place + 2 + int.from_bytes(bundle[place : place + 2], "big")
        leaves.append(bundle[place + 2 : end])
        place = end
    if place != len(bundle) or len(leaves) != width:
        raise UnexpectedAnswer(f"an entry bundle that does not hold {width} leaves")
    return tuple(leaves)


__all__ = ["TILE_WIDTH", "entries_path", "read_entries", "read_tile", "tile_path"]
