"""From the parts of a bundle to leaves that are proved, and what each of them and their order must be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ._bundle_text import BundleLeaf, BundleRange
from ._hex_repr import HexRepr
from .errors import VerificationError
from .leaf import (
    REVOCATION_AUTHORITIES,
    ClaimLeaf,
    GenesisLeaf,
    GrantLeaf,
    Leaf,
    RevocationLeaf,
    SignedEventLeaf,
    TrustRootLeaf,
    anchor_id_of,
    decode_leaf,
)
from .merkle import Frontier, is_included
from .payloads import (
    claim_issuer_payload,
    claim_payload_of,
    event_actor_payload,
    grant_payload_of,
    grant_witness_payload,
    revocation_payload,
)
from .receipt import VerifiedCheckpoint
from .trust_root import TrustRootChain


class BundleFailure(Exception):
    """Ends the verification at the check that is under way."""


def fail_unless(condition: bool, detail: str) -> None:
    if not condition:
        raise BundleFailure(detail)


@dataclass(frozen=True, repr=False)
class CertifiedTree(HexRepr):
    """A tree of leaves, as a checkpoint or a state head gives it. `status` is that of its origin."""

    origin_fingerprint: bytes
    status: str
    tree_size: int
    root_hash: bytes


def tree_of(checkpoint: VerifiedCheckpoint) -> CertifiedTree:
    """The tree of a checkpoint that was verified."""
    of = checkpoint.checkpoint
    return CertifiedTree(checkpoint.origin_fingerprint, checkpoint.origin_status, of.tree_size, of.root_hash)


@dataclass(frozen=True, repr=False)
class ProvedLeaf(HexRepr):
    """A leaf that is in a certified tree."""

    leaf: Leaf
    anchor_id: bytes
    is_lost: bool


def _read_leaf(encoded: bytes, of: CertifiedTree, where: str) -> ProvedLeaf:
    try:
        leaf = decode_leaf(encoded)
    except VerificationError as error:
        raise BundleFailure(f"{where} is no leaf: {error}") from error
    is_own = leaf.origin_fingerprint == of.origin_fingerprint
    fail_unless(is_own, f"{where} is of another origin than its checkpoint")
    return ProvedLeaf(leaf, anchor_id_of(encoded), of.status == "lost")


def origin_of(part: BundleLeaf, where: str) -> bytes:
    """Whose leaf it says that it is."""
    try:
        return decode_leaf(part.leaf).origin_fingerprint
    except VerificationError as error:
        raise BundleFailure(f"{where} is no leaf: {error}") from error


def prove_single(part: BundleLeaf, of: CertifiedTree, where: str) -> ProvedLeaf:
    proved = _read_leaf(part.leaf, of, where)
    is_in = is_included(proved.anchor_id, proved.leaf.depth, of.tree_size, part.inclusion, of.root_hash)
    fail_unless(is_in, f"{where}: the path does not lead to the root of its tree")
    return proved


def prove_range(part: BundleRange, of: CertifiedTree, where: str) -> List[ProvedLeaf]:
    size = of.tree_size
    is_whole = len(part.leaves) > 0 and part.start + len(part.leaves) == size
    fail_unless(is_whole, f"{where} has {len(part.leaves)} leaves from depth {part.start} on, of {size}")
    is_frontier = len(part.frontier) == bin(part.start).count("1")
    fail_unless(is_frontier, f"{where}: {len(part.frontier)} hashes are no frontier of {part.start} leaves")
    frontier = Frontier(part.start, part.frontier)
    found: List[ProvedLeaf] = []
    for place, encoded in enumerate(part.leaves):
        proved = _read_leaf(encoded, of, f"{where}, leaf {place}")
        fail_unless(proved.leaf.depth == part.start + place, f"{where}, leaf {place} has another depth")
        frontier.append(proved.anchor_id)
        found.append(proved)
    fail_unless(frontier.root() == of.root_hash, f"{where} does not make the root of its checkpoint")
    return found


_Signed = Tuple[bytes, bytes, bytes]


def _revoker_of(leaf: RevocationLeaf, target: Leaf) -> List[_Signed]:
    if not isinstance(target, (ClaimLeaf, GrantLeaf)):
        raise BundleFailure(f"sequence {leaf.sequence} revokes what is neither claim nor grant")
    fail_unless(target.sequence < leaf.sequence, f"sequence {leaf.sequence} revokes what is not older than itself")
    authority = REVOCATION_AUTHORITIES[leaf.authority]
    if authority == "operator":
        return []
    if isinstance(target, ClaimLeaf):
        parties = (("issuer", target.issuer_public_key), ("subject", target.subject_public_key))
    else:
        parties = (("grantor", target.grantor_public_key), ("witness", target.witness_public_key))
    first = next((name for name, key in parties if key == leaf.revoker), None)
    fail_unless(first == authority, f"sequence {leaf.sequence}: the revoker is not the {authority}")
    message = revocation_payload(
        origin_fingerprint=target.origin_fingerprint,
        target_anchor_id=leaf.target_anchor_id,
        reason=leaf.reason,
        suspect_since=leaf.suspect_since,
        issued_at=leaf.issued_at,
    )
    return [(leaf.revoker, message, leaf.signature)]


def signatures_in(leaf: Leaf, by_id: Mapping[bytes, ProvedLeaf]) -> List[_Signed]:
    if isinstance(leaf, ClaimLeaf):
        payload = claim_payload_of(leaf)
        over = claim_issuer_payload(payload, leaf.subject_signature)
        subject = (leaf.subject_public_key, payload, leaf.subject_signature)
        return [subject, (leaf.issuer_public_key, over, leaf.issuer_signature)]
    if isinstance(leaf, GrantLeaf):
        payload = grant_payload_of(leaf)
        over = grant_witness_payload(payload, leaf.grantor_signature)
        grantor = (leaf.grantor_public_key, payload, leaf.grantor_signature)
        return [grantor, (leaf.witness_public_key, over, leaf.witness_signature)]
    if isinstance(leaf, SignedEventLeaf):
        payload = event_actor_payload(
            origin_fingerprint=leaf.origin_fingerprint,
            event_hash=leaf.event_hash,
            semantic_anchor=leaf.semantic_anchor,
        )
        return [(leaf.actor_public_key, payload, leaf.actor_signature)]
    if isinstance(leaf, RevocationLeaf) and leaf.target_anchor_id in by_id:
        return _revoker_of(leaf, by_id[leaf.target_anchor_id].leaf)
    return []


def judge_order(in_order: Sequence[ProvedLeaf]) -> None:
    """Sequences, times and depths agree, and leaves that are neighbours in one tree are linked."""
    newest: Dict[bytes, ProvedLeaf] = {}
    before: Optional[Leaf] = None
    for proved in in_order:
        leaf = proved.leaf
        if before is not None:
            fail_unless(before.sequence < leaf.sequence, f"two leaves have sequence {leaf.sequence}")
            fail_unless(before.accepted_ms <= leaf.accepted_ms, f"sequence {leaf.sequence} is older than what precedes")
        shallower = newest.get(leaf.origin_fingerprint)
        if shallower is not None:
            fail_unless(shallower.leaf.depth < leaf.depth, f"sequence {leaf.sequence} is not deeper than what precedes")
            is_neighbour = shallower.leaf.depth + 1 == leaf.depth
            is_linked = not is_neighbour or leaf.parent_anchor_id == shallower.anchor_id
            fail_unless(is_linked, f"sequence {leaf.sequence} does not name the leaf before it")
        newest[leaf.origin_fingerprint] = proved
        before = leaf


def judge_trust_root_leaf(leaf: Leaf, chain: TrustRootChain) -> None:
    first = chain.versions[0].version
    where = f"sequence {leaf.sequence}"
    if isinstance(leaf, GenesisLeaf):
        fail_unless(leaf.cluster_id == chain.newest.cluster_id, f"{where} is of another cluster")
        # Nothing is known of versions before the pinned one.
        is_held = first > 1 or any(version.root_thk == leaf.root_thk for version in chain.versions)
        fail_unless(is_held, f"{where} names a trust root that is not in the bundle")
    if isinstance(leaf, TrustRootLeaf) and leaf.version >= first:
        thk = next((each.root_thk for each in chain.versions if each.version == leaf.version), None)
        fail_unless(thk == leaf.root_thk, f"{where} names a trust root {leaf.version} that is not in the bundle")
