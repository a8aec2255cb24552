"""The leaf: what an origin's tree is made of. docs/PROTOCOL.md, "Leaf"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, Tuple, Union

from ._bytes import ZERO_32, read_u64, u32, u64
from ._hex_repr import HexRepr
from ._tags import tag
from .errors import VerificationError
from .merkle import leaf_hash

#: Why a record was revoked, in the order of their numbers.
REVOCATION_REASONS: Tuple[str, ...] = (
    "unspecified",
    "key_compromise",
    "superseded",
    "cessation",
    "privilege_withdrawn",
    "issued_in_error",
)
#: By whose authority a record was revoked, in the order of their numbers.
REVOCATION_AUTHORITIES: Tuple[str, ...] = ("operator", "issuer", "subject", "grantor", "witness")

_TAG = tag("leaf")
_ZERO_64 = bytes(64)


@dataclass(frozen=True, repr=False)
class LeafHeader(HexRepr):
    """What every leaf begins with.

    Attributes:
        origin_fingerprint: whose tree it is in, 32 bytes.
        depth: leaf index in that tree.
        parent_anchor_id: of depth - 1; zeros at depth 0.
        sequence: position among the leaves of all origins.
        accepted_ms: when the cluster accepted it, Unix milliseconds.
    """

    origin_fingerprint: bytes
    depth: int
    parent_anchor_id: bytes
    sequence: int
    accepted_ms: int


@dataclass(frozen=True, repr=False)
class GenesisLeaf(LeafHeader):
    """Kind 0: leaf 0 of every origin."""

    cluster_id: bytes
    root_thk: bytes


@dataclass(frozen=True, repr=False)
class SemanticHashes(HexRepr):
    """The six references of an event, 32 bytes each; zeros: none."""

    iris_ref: bytes = ZERO_32
    scroll_ref: bytes = ZERO_32
    grant_ref: bytes = ZERO_32
    bond_ref: bytes = ZERO_32
    yield_ref: bytes = ZERO_32
    event_data_hash: bytes = ZERO_32

    def joined(self) -> bytes:
        """All six, in their order on the wire."""
        first = self.iris_ref + self.scroll_ref + self.grant_ref
        return first + self.bond_ref + self.yield_ref + self.event_data_hash


@dataclass(frozen=True, repr=False)
class EventLeaf(LeafHeader):
    """Kind 1: an unsigned event."""

    event_hash: bytes
    semantic_anchor: SemanticHashes
    client_event_commit: bytes


@dataclass(frozen=True, repr=False)
class SignedEventLeaf(EventLeaf):
    """Kind 6: an event signed by its actor."""

    actor_public_key: bytes
    actor_signature: bytes


@dataclass(frozen=True, repr=False)
class ClaimLeaf(LeafHeader):
    """Kind 2. Times are Unix milliseconds, 0: none."""

    entity_fingerprint: bytes
    attribute_type: int
    attribute_hash: bytes
    issued_at: int
    expires_at: int
    subject_public_key: bytes
    subject_signature: bytes
    issuer_public_key: bytes
    issuer_signature: bytes


@dataclass(frozen=True, repr=False)
class GrantLeaf(LeafHeader):
    """Kind 3. Times are Unix milliseconds, 0: none; `parent_grant_ref` is zeros for a root grant."""

    grantor_claim_ref: bytes
    grantee_claim_ref: bytes
    parent_grant_ref: bytes
    scope_hash: bytes
    delegation_depth: int
    issued_at: int
    not_before: int
    expires_at: int
    grantor_public_key: bytes
    grantor_signature: bytes
    witness_public_key: bytes
    witness_signature: bytes


@dataclass(frozen=True, repr=False)
class RevocationLeaf(LeafHeader):
    """Kind 4. `reason` and `authority` are places in REVOCATION_REASONS and REVOCATION_AUTHORITIES."""

    target_anchor_id: bytes
    reason: int
    suspect_since: int
    issued_at: int
    authority: int
    revoker: bytes
    signature: bytes


@dataclass(frozen=True, repr=False)
class TrustRootLeaf(LeafHeader):
    """Kind 5: from here on this version of the trust root judges."""

    version: int
    root_thk: bytes


Leaf = Union[GenesisLeaf, EventLeaf, ClaimLeaf, GrantLeaf, RevocationLeaf, TrustRootLeaf, SignedEventLeaf]

#: Bytes of a whole leaf, by kind.
LEAF_BYTES: Dict[int, int] = {0: 179, 1: 371, 2: 391, 3: 463, 4: 261, 5: 151, 6: 467}
_CLASSES = {
    0: GenesisLeaf,
    1: EventLeaf,
    2: ClaimLeaf,
    3: GrantLeaf,
    4: RevocationLeaf,
    5: TrustRootLeaf,
    6: SignedEventLeaf,
}


def kind_of(leaf: Leaf) -> int:
    """The number of a leaf's kind."""
    return next(kind for kind, of_kind in _CLASSES.items() if type(leaf) is of_kind)


class _Reader:
    """Fixed-width fields, one after the other. The length was checked before."""

    def __init__(self, encoded: bytes) -> None:
        self._encoded = encoded
        self._offset = 0

    def bytes(self, count: int = 32) -> bytes:
        start = self._offset
        self._offset += count
        return self._encoded[start : self._offset]

    def u8(self) -> int:
        return self.bytes(1)[0]

    def u32(self) -> int:
        return int.from_bytes(self.bytes(4), "big")

    def u64(self) -> int:
        return read_u64(self.bytes(8))


def _read_header(reader: _Reader) -> Tuple[bytes, int, bytes, int, int]:
    return reader.bytes(), reader.u64(), reader.bytes(), reader.u64(), reader.u64()


def _read_event(reader: _Reader) -> Tuple[bytes, SemanticHashes, bytes]:
    event_hash = reader.bytes()
    return event_hash, SemanticHashes(*(reader.bytes() for _ in range(6))), reader.bytes()


def _read_genesis(reader: _Reader) -> Leaf:
    return GenesisLeaf(*_read_header(reader), reader.bytes(), reader.bytes())


def _read_unsigned(reader: _Reader) -> Leaf:
    return EventLeaf(*_read_header(reader), *_read_event(reader))


def _read_signed(reader: _Reader) -> Leaf:
    return SignedEventLeaf(*_read_header(reader), *_read_event(reader), reader.bytes(), reader.bytes(64))


def _read_claim(reader: _Reader) -> Leaf:
    header = _read_header(reader)
    about = (reader.bytes(), reader.u32(), reader.bytes(), reader.u64(), reader.u64())
    return ClaimLeaf(*header, *about, reader.bytes(), reader.bytes(64), reader.bytes(), reader.bytes(64))


def _read_grant(reader: _Reader) -> Leaf:
    header = _read_header(reader)
    refs = (reader.bytes(), reader.bytes(), reader.bytes(), reader.bytes())
    bounds = (reader.u32(), reader.u64(), reader.u64(), reader.u64())
    return GrantLeaf(*header, *refs, *bounds, reader.bytes(), reader.bytes(64), reader.bytes(), reader.bytes(64))


def _read_revocation(reader: _Reader) -> Leaf:
    header = _read_header(reader)
    about = (reader.bytes(), reader.u8(), reader.u64(), reader.u64(), reader.u8())
    return RevocationLeaf(*header, *about, reader.bytes(), reader.bytes(64))


def _read_trust_root(reader: _Reader) -> Leaf:
    return TrustRootLeaf(*_read_header(reader), reader.u32(), reader.bytes())


_READERS: Dict[int, Callable[[_Reader], Leaf]] = {
    0: _read_genesis,
    1: _read_unsigned,
    2: _read_claim,
    3: _read_grant,
    4: _read_revocation,
    5: _read_trust_root,
    6: _read_signed,
}


def _refuse_unless(condition: bool, message: str) -> None:
    if not condition:
        raise VerificationError("value_invalid", message)


def _check_values(leaf: Leaf) -> None:
    is_genesis = isinstance(leaf, GenesisLeaf)
    _refuse_unless(is_genesis == (leaf.depth == 0), "depth is 0 if and only if the leaf is a genesis leaf")
    _refuse_unless(is_genesis == (leaf.parent_anchor_id == ZERO_32), "the parent is zeros if and only if depth is 0")
    if isinstance(leaf, TrustRootLeaf):
        _refuse_unless(leaf.version != 0, "trust-root versions start at 1")
    if isinstance(leaf, RevocationLeaf):
        _refuse_unless(leaf.reason < len(REVOCATION_REASONS), "unknown reason of a revocation")
        _refuse_unless(leaf.authority < len(REVOCATION_AUTHORITIES), "unknown authority of a revocation")
        is_unsigned = leaf.signature == _ZERO_64
        _refuse_unless((leaf.authority == 0) == is_unsigned, "an operator's signature is zeros, no other's is")


def decode_leaf(encoded: bytes) -> Leaf:
    """Reads the bytes of a leaf, which may be an attacker's.

    Raises:
        VerificationError: `truncated`, `tag_unknown`, `kind_unknown`, `length_wrong`, `integer_unsafe` or
            `value_invalid`, in this order.
    """
    if len(encoded) < len(_TAG):
        raise VerificationError("truncated", f"a leaf of {len(encoded)} bytes")
    if not encoded.startswith(_TAG):
        raise VerificationError("tag_unknown", "not a leaf")
    if len(encoded) == len(_TAG):
        raise VerificationError("truncated", "the kind is missing")
    kind = encoded[len(_TAG)]
    if kind not in _READERS:
        raise VerificationError("kind_unknown", f"unknown kind of leaf {kind}")
    if len(encoded) != LEAF_BYTES[kind]:
        raise VerificationError("length_wrong", f"a leaf of kind {kind} has {LEAF_BYTES[kind]} bytes")
    leaf = _READERS[kind](_Reader(encoded[len(_TAG) + 1 :]))
    _check_values(leaf)
    return leaf


def _event_bytes(leaf: EventLeaf) -> bytes:
    return leaf.event_hash + leaf.semantic_anchor.joined() + leaf.client_event_commit


def _claim_bytes(leaf: ClaimLeaf) -> bytes:
    about = leaf.entity_fingerprint + u32(leaf.attribute_type) + leaf.attribute_hash
    times = u64(leaf.issued_at) + u64(leaf.expires_at)
    subject = leaf.subject_public_key + leaf.subject_signature
    return about + times + subject + leaf.issuer_public_key + leaf.issuer_signature


def _grant_bytes(leaf: GrantLeaf) -> bytes:
    refs = leaf.grantor_claim_ref + leaf.grantee_claim_ref + leaf.parent_grant_ref + leaf.scope_hash
    times = u64(leaf.issued_at) + u64(leaf.not_before) + u64(leaf.expires_at)
    grantor = leaf.grantor_public_key + leaf.grantor_signature
    witness = leaf.witness_public_key + leaf.witness_signature
    return refs + u32(leaf.delegation_depth) + times + grantor + witness


def _revocation_bytes(leaf: RevocationLeaf) -> bytes:
    about = leaf.target_anchor_id + bytes([leaf.reason]) + u64(leaf.suspect_since) + u64(leaf.issued_at)
    return about + bytes([leaf.authority]) + leaf.revoker + leaf.signature


def _body_bytes(leaf: Leaf) -> bytes:
    if isinstance(leaf, GenesisLeaf):
        return leaf.cluster_id + leaf.root_thk
    if isinstance(leaf, SignedEventLeaf):
        return _event_bytes(leaf) + leaf.actor_public_key + leaf.actor_signature
    if isinstance(leaf, EventLeaf):
        return _event_bytes(leaf)
    if isinstance(leaf, ClaimLeaf):
        return _claim_bytes(leaf)
    if isinstance(leaf, GrantLeaf):
        return _grant_bytes(leaf)
    if isinstance(leaf, RevocationLeaf):
        return _revocation_bytes(leaf)
    return u32(leaf.version) + leaf.root_thk


def encode_leaf(leaf: Leaf) -> bytes:
    """The bytes of a leaf. Raises VerificationError `value_invalid` for what decode_leaf would refuse."""
    _check_values(leaf)
    header = _TAG + bytes([kind_of(leaf)]) + leaf.origin_fingerprint + u64(leaf.depth) + leaf.parent_anchor_id
    encoded = header + u64(leaf.sequence) + u64(leaf.accepted_ms) + _body_bytes(leaf)
    _refuse_unless(len(encoded) == LEAF_BYTES[kind_of(leaf)], "a field has another length than its format")
    return encoded


def anchor_id_of(encoded: bytes) -> bytes:
    """H(0x00 ‖ leaf): the anchor id, which is also the RFC 6962 leaf hash."""
    return leaf_hash(encoded)


__all__ = [
    "LEAF_BYTES",
    "REVOCATION_AUTHORITIES",
    "REVOCATION_REASONS",
    "ClaimLeaf",
    "EventLeaf",
    "GenesisLeaf",
    "GrantLeaf",
    "Leaf",
    "LeafHeader",
    "RevocationLeaf",
    "SemanticHashes",
    "SignedEventLeaf",
    "TrustRootLeaf",
    "anchor_id_of",
    "decode_leaf",
    "encode_leaf",
    "kind_of",
]
