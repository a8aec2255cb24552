"""RFC 6962 section 2.1 trees: proofs, and the frontier that a range of leaves is appended to."""

from __future__ import annotations

import hashlib
from typing import List, Sequence

from ._bytes import INTEGER_MAX

#: Root of the tree without leaves.
EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(leaf: bytes) -> bytes:
    """H(0x00 ‖ leaf): of an anchor's leaf, its anchor id."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def interior_hash(left: bytes, right: bytes) -> bytes:
    """H(0x01 ‖ left ‖ right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value <= INTEGER_MAX


def _are_hashes(hashes: Sequence[bytes]) -> bool:
    return all(isinstance(each, bytes) and len(each) == 32 for each in hashes)


def is_included(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """RFC 9162 section 2.1.3.2. False, never an exception, for malformed input.

    Args:
        leaf: the leaf hash, 32 bytes.
        index: leaf index.
        size: tree size.
        path: from leaf to root, 32 bytes each.
        root: the root hash, 32 bytes.
    """
    if not (_is_size(index) and _is_size(size) and index < size and _are_hashes([leaf, root, *path])):
        return False
    position, last, node = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            return False
        if position & 1 or position == last:
            node = interior_hash(sibling, node)
            while not position & 1 and position != 0:
                position >>= 1
                last >>= 1
        else:
            node = interior_hash(node, sibling)
        position >>= 1
        last >>= 1
    return last == 0 and node == root


def is_consistent(old_size: int, old_root: bytes, size: int, root: bytes, path: Sequence[bytes]) -> bool:
    """RFC 9162 section 2.1.4.2: whether the old tree is the beginning of the other. False, never an exception.

    Equal sizes need equal roots and an empty path; the empty tree is the beginning of every tree if its root is
    EMPTY_ROOT and the path is empty.
    """
    if not (_is_size(old_size) and _is_size(size) and old_size <= size and _are_hashes([old_root, root, *path])):
        return False
    if old_size == size:
        return not path and old_root == root
    if old_size == 0:
        return not path and old_root == EMPTY_ROOT
    is_power_of_two = old_size & (old_size - 1) == 0
    hashes = [old_root, *path] if is_power_of_two else list(path)
    if not hashes:
        return False
    position, last = old_size - 1, size - 1
    while position & 1:
        position >>= 1
        last >>= 1
    old_node = node = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if position & 1 or position == last:
            old_node = interior_hash(sibling, old_node)
            node = interior_hash(sibling, node)
            while not position & 1 and position != 0:
                position >>= 1
                last >>= 1
        else:
            node = interior_hash(node, sibling)
        position >>= 1
        last >>= 1
    return last == 0 and old_node == old_root and node == root


class Frontier:
    """The roots of the perfect subtrees that make up a tree: all that is needed to append to it.

    Args:
        size: how many leaves there are.
        hashes: largest subtree first, one for each 1 bit of `size`.
    """

    def __init__(self, size: int = 0, hashes: Sequence[bytes] = ()) -> None:
        if not _is_size(size) or len(hashes) != bin(size).count("1") or not _are_hashes(hashes):
            raise ValueError(f"{len(hashes)} hashes are no frontier of {size} leaves")
        self._size = size
        self._hashes: List[bytes] = list(hashes)

    @property
    def size(self) -> int:
        """Leaves so far."""
        return self._size

    def append(self, leaf: bytes) -> None:
        """Adds one leaf, given by its hash."""
        rest, node = self._size, leaf
        while rest & 1:
            node = interior_hash(self._hashes.pop(), node)
            rest >>= 1
        self._hashes.append(node)
        self._size += 1

    def root(self) -> bytes:
        """Root hash of the tree so far."""
        if not self._hashes:
            return EMPTY_ROOT
        node = self._hashes[-1]
        for left in reversed(self._hashes[:-1]):
            node = interior_hash(left, node)
        return node
