"""State heads, and proofs that values are in the state tree. docs/PROTOCOL.md, "State tree", "State head"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

from ._bytes import parse_decimal, sha256, utf8
from ._hex_repr import HexRepr
from ._tags import tag
from ._trust_root_text import TrustRoot, TrustRootNode
from .ed25519 import verify_signature
from .errors import VerificationError
from .notes import SignedNote, is_cluster_name

_TYPE = b"\xff" + b"event-anchoring/v4.2/state-head"
_LISTED_MAX = 1024
_HASH = "[0-9a-f]{64}"
_NUMBER = "(?:0|[1-9][0-9]{0,15})"
_RAFT_IDS = "(?: [0-9a-f]{16})*"
#: The lines before those of the origins, and after them.
_FIRST = (
    "event-anchoring/v4\\.2/state-head",
    f"cluster [^ ]+ {_HASH}",
    f"trust-root {_NUMBER} {_NUMBER} {_HASH}",
    f"entry {_NUMBER} {_NUMBER} {_HASH}",
    f"leaves {_NUMBER} {_NUMBER}",
    f"time {_NUMBER}",
    f"rules {_NUMBER}",
    f"voters{_RAFT_IDS}",
    f"outgoing{_RAFT_IDS}",
    f"learners{_RAFT_IDS}",
    f"learners-next{_RAFT_IDS}",
    "auto-leave [01]",
)
_ORIGIN = f"origin {_HASH} {_NUMBER} {_HASH}"
_LAST = (f"state {_HASH}", f"group-ids {_HASH}", f"client-events {_HASH}")


@dataclass(frozen=True, repr=False)
class StateOrigin(HexRepr):
    """The tree of an origin as a state head gives it."""

    origin_fingerprint: bytes
    tree_size: int
    root_hash: bytes


@dataclass(frozen=True, repr=False)
class StateHead(HexRepr):
    """What a quorum has signed of the state after one log entry: the fields that a verifier needs.

    Attributes:
        next_sequence: how many leaves there are.
        last_accepted_ms: time of the newest leaf.
        stamp_ms: no later leaf has a time below this.
        state_root: root of the state tree.
    """

    cluster_name: str
    cluster_id: bytes
    epoch: int
    version: int
    root_thk: bytes
    next_sequence: int
    last_accepted_ms: int
    stamp_ms: int
    origins: Tuple[StateOrigin, ...]
    state_root: bytes


def _malformed(line: str) -> VerificationError:
    return VerificationError("malformed", f'cannot read the line "{line[:80]}"')


def _number(word: str) -> int:
    value = parse_decimal(word)
    if value is None:
        raise _malformed(word)
    return value


def _ascending(words: Sequence[str]) -> bool:
    return all(before < after for before, after in zip(words, words[1:]))


def _words(lines: Sequence[str], patterns: Sequence[str]) -> List[List[str]]:
    for line, pattern in zip(lines, patterns):
        if re.fullmatch(pattern, line) is None:
            raise _malformed(line)
    return [line.split(" ")[1:] for line in lines]


def _origin(words: Sequence[str]) -> StateOrigin:
    return StateOrigin(bytes.fromhex(words[0]), _number(words[1]), bytes.fromhex(words[2]))


def parse_state_head(text: str) -> StateHead:
    """Reads the text of a state head, which may be an attacker's. Codes `malformed`, `not_canonical`."""
    lines = text.split("\n")
    count = len(lines) - len(_FIRST) - len(_LAST) - 1
    if not 0 <= count <= _LISTED_MAX or lines[-1] != "":
        raise VerificationError("malformed", f"{len(lines)} lines are no state head")
    patterns = (*_FIRST, *[_ORIGIN] * count, *_LAST)
    words = _words(lines[:-1], patterns)
    _, cluster, root, entry, leaves, (time,), (rules,), *lists = words[: len(_FIRST)]
    origins = words[len(_FIRST) : len(_FIRST) + count]
    members = lists[:4]
    for number in (entry[0], entry[1], rules):
        _number(number)
    is_ordered = all(_ascending(each) and len(each) <= _LISTED_MAX for each in members)
    if not is_ordered or not _ascending([each[0] for each in origins]) or not is_cluster_name(cluster[0]):
        raise VerificationError("not_canonical", "the text is not the one text of this state head")
    return StateHead(
        cluster_name=cluster[0],
        cluster_id=bytes.fromhex(cluster[1]),
        epoch=_number(root[0]),
        version=_number(root[1]),
        root_thk=bytes.fromhex(root[2]),
        next_sequence=_number(leaves[0]),
        last_accepted_ms=_number(leaves[1]),
        stamp_ms=_number(time),
        origins=tuple(_origin(each) for each in origins),
        state_root=bytes.fromhex(words[len(_FIRST) + count][0]),
    )


def _key_id(name: str, public_key: bytes) -> int:
    return int.from_bytes(sha256(utf8(name) + b"\n" + _TYPE + public_key)[:4], "big")


def signers_of(note: SignedNote, head: StateHead, signed: TrustRoot) -> List[TrustRootNode]:
    """The distinct active nodes with a good line over the head, by the version that the head names.

    Raises:
        VerificationError: `trust_root_differs`, `signature_repeated`, `signature_invalid` or `quorum_missing`.
    """
    named = (head.cluster_name, head.cluster_id, head.epoch, head.version, head.root_thk)
    if named != (signed.cluster_name, signed.cluster_id, signed.epoch, signed.version, signed.root_thk):
        raise VerificationError("trust_root_differs", "the state head names another trust root")
    message = tag("state-head") + utf8(note.text)
    signers: List[TrustRootNode] = []
    for node in signed.nodes:
        key = node.cosigner_vkey
        key_id = _key_id(key.name, key.public_key)
        own = [line for line in note.lines if (line.name, line.key_id) == (key.name, key_id)]
        if node.status != "active" or not own:
            continue
        if len(own) > 1:
            raise VerificationError("signature_repeated", f"{key.name} signed twice")
        if not verify_signature(key.public_key, message, own[0].signature):
            raise VerificationError("signature_invalid", f"the signature of {key.name} does not verify")
        signers.append(node)
    if len(signers) < signed.quorum:
        raise VerificationError("quorum_missing", f"{len(signers)} good signatures, {signed.quorum} are needed")
    return signers


@dataclass(frozen=True, repr=False)
class PlacedLeaf(HexRepr):
    """A key of the state tree with its value's hash, and how many halves lie between the root and it."""

    key: bytes
    value_hash: bytes
    level: int


def state_key(kind: int, identity: bytes) -> bytes:
    """Where a value lies."""
    return sha256(tag("state-key") + bytes([kind]) + identity)


def _bit(key: bytes, at: int) -> int:
    return (key[at >> 3] >> (7 - (at & 7))) & 1


def state_root_of(leaves: Sequence[PlacedLeaf], siblings: Sequence[bytes]) -> Optional[bytes]:
    """Root of the tree that these leaves are in; None: the proof does not go together."""
    waiting = iter(siblings)

    def half(placed: Sequence[PlacedLeaf], level: int) -> Optional[bytes]:
        return fold(placed, level) if placed else next(waiting, None)

    def fold(placed: Sequence[PlacedLeaf], level: int) -> Optional[bytes]:
        first = placed[0]
        if level > first.level:
            return None
        if len(placed) == 1 and first.level == level:
            return sha256(tag("state-leaf") + first.key + first.value_hash)
        if level == 256:
            return None
        left = half([each for each in placed if _bit(each.key, level) == 0], level + 1)
        right = half([each for each in placed if _bit(each.key, level) == 1], level + 1)
        if left is None or right is None:
            return None
        return sha256(tag("state-interior") + left + right)

    if not leaves:
        return None
    root = fold(sorted(leaves, key=lambda each: each.key), 0)
    return root if next(waiting, None) is None else None
