"""Claims, grants and their endings, derived from leaves, and what is in force at a position.

docs/PROTOCOL.md, "Lineages", "In force", "Delegation", "Authority".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Sequence, Set, Tuple, Union

from ._bytes import ZERO_32
from ._hex_repr import HexRepr
from .leaf import ClaimLeaf, EventLeaf, GrantLeaf, Leaf, RevocationLeaf, SignedEventLeaf

#: Reasons that are given for one verdict.
REASONS_MAX = 100


@dataclass(frozen=True)
class Position:
    """A sequence, and the time that goes with it in Unix milliseconds."""

    sequence: int
    time_ms: int


@dataclass(frozen=True, repr=False)
class ClaimRecord(HexRepr):
    """One claim: a link of its lineage, which is named by the sequence of its first claim."""

    anchor_id: bytes
    sequence: int
    lineage: int
    leaf: ClaimLeaf
    superseded_at: Optional[int] = None
    revoked_at: Optional[int] = None


@dataclass(frozen=True, repr=False)
class GrantRecord(HexRepr):
    """One grant. The claims and the parent are named by their sequences; bounds are the effective ones.

    `stated_links` counts the grants from the root to this one where a state head says so.
    """

    anchor_id: bytes
    sequence: int
    leaf: GrantLeaf
    grantor_claim: int
    grantee_claim: int
    grantor_lineage: int
    grantee_lineage: int
    parent: Optional[int]
    not_before: int
    expires_at: int
    is_orphan: bool = False
    superseded_at: Optional[int] = None
    revoked_at: Optional[int] = None
    stated_links: Optional[int] = None


@dataclass(frozen=True, repr=False)
class Reason(HexRepr):
    """Why a verdict is not true: a code, the record at fault and where it ended."""

    code: str
    anchor_id: Optional[bytes] = None
    sequence: Optional[int] = None


Verdict = Union[bool, str]


@dataclass(frozen=True)
class Authority:
    """True, False or "unknown", and why it is not true."""

    verdict: Verdict
    reasons: Tuple[Reason, ...]


class RecordBook:
    """Derives records from leaves, added by ascending sequence. The ledger has accepted them: nothing is judged.

    A grant whose parent is not at hand (an *orphan*) ends an older grant between its two lineages, and is good for
    nothing else. A grant without its claims, and a revocation without its target, is passed over.
    """

    def __init__(self) -> None:
        self.claims: Dict[int, ClaimRecord] = {}
        self.grants: Dict[int, GrantRecord] = {}
        #: Sequence and lineage of claims that would continue a lineage of another issuer, which none can.
        self.usurpers: List[Tuple[int, int]] = []
        self._by_id: Dict[bytes, int] = {}
        self._pairs: Dict[Tuple[bytes, int], int] = {}
        self._between: Dict[Tuple[int, int], int] = {}
        self._lineages: Dict[int, List[int]] = {}

    def add(self, leaf: Leaf, anchor_id: bytes) -> None:
        """Adds the record of a leaf."""
        if isinstance(leaf, ClaimLeaf):
            self._add_claim(leaf, anchor_id)
        elif isinstance(leaf, GrantLeaf):
            self._add_grant(leaf, anchor_id)
        elif isinstance(leaf, RevocationLeaf):
            self._revoke(leaf)

    def _find_claim(self, anchor_id: bytes) -> Optional[ClaimRecord]:
        return self.claims.get(self._by_id.get(anchor_id, -1))

    def _find_grant(self, anchor_id: bytes) -> Optional[GrantRecord]:
        return self.grants.get(self._by_id.get(anchor_id, -1))

    def newest_claim_of(self, lineage: int, up_to: int) -> Optional[ClaimRecord]:
        """The newest claim of a lineage whose sequence is at most `up_to`."""
        for sequence in reversed(self._lineages.get(lineage, [])):
            if sequence <= up_to:
                return self.claims[sequence]
        return None

    def _add_claim(self, leaf: ClaimLeaf, anchor_id: bytes) -> None:
        pair = (leaf.entity_fingerprint, leaf.attribute_type)
        newest = self.claims.get(self._pairs.get(pair, -1))
        lineage = leaf.sequence
        if newest is not None and newest.revoked_at is None:
            lineage = newest.lineage
            self.claims[newest.sequence] = replace(newest, superseded_at=leaf.sequence)
            if newest.leaf.issuer_public_key != leaf.issuer_public_key:
                self.usurpers.append((leaf.sequence, lineage))
        self.claims[leaf.sequence] = ClaimRecord(anchor_id, leaf.sequence, lineage, leaf)
        self._pairs[pair] = leaf.sequence
        self._lineages.setdefault(lineage, []).append(leaf.sequence)
        self._by_id[anchor_id] = leaf.sequence

    def _add_grant(self, leaf: GrantLeaf, anchor_id: bytes) -> None:
        grantor, grantee = self._find_claim(leaf.grantor_claim_ref), self._find_claim(leaf.grantee_claim_ref)
        if grantor is None or grantee is None:
            return
        is_root = leaf.parent_grant_ref == ZERO_32
        parent = None if is_root else self._find_grant(leaf.parent_grant_ref)
        record = GrantRecord(
            anchor_id=anchor_id,
            sequence=leaf.sequence,
            leaf=leaf,
            grantor_claim=grantor.sequence,
            grantee_claim=grantee.sequence,
            grantor_lineage=grantor.lineage,
            grantee_lineage=grantee.lineage,
            parent=None if parent is None else parent.sequence,
            not_before=leaf.not_before or (0 if parent is None else parent.not_before),
            expires_at=leaf.expires_at or (0 if parent is None else parent.expires_at),
            is_orphan=not is_root and parent is None,
        )
        lineages = (record.grantor_lineage, record.grantee_lineage)
        older = self.grants.get(self._between.get(lineages, -1))
        if older is not None and older.revoked_at is None:
            self.grants[older.sequence] = replace(older, superseded_at=record.sequence)
        self.grants[record.sequence] = record
        self._between[lineages] = record.sequence
        if not record.is_orphan:
            self._by_id[anchor_id] = record.sequence

    def _revoke(self, leaf: RevocationLeaf) -> None:
        claim, grant = self._find_claim(leaf.target_anchor_id), self._find_grant(leaf.target_anchor_id)
        if claim is not None and claim.revoked_at is None:
            self.claims[claim.sequence] = replace(claim, revoked_at=leaf.sequence)
        if grant is not None and grant.revoked_at is None:
            self.grants[grant.sequence] = replace(grant, revoked_at=leaf.sequence)

    def chain_of(self, grant: GrantRecord) -> List[GrantRecord]:
        """From a grant to the root. A parent is older than its child, so this ends."""
        links = [grant]
        while links[-1].parent is not None:
            links.append(self.grants[links[-1].parent])
        return links


def _has_happened(sequence: Optional[int], at: Position) -> bool:
    return sequence is not None and sequence <= at.sequence


def _is_past(expires_at: int, at: Position) -> bool:
    return expires_at != 0 and at.time_ms >= expires_at


def claim_fault(claim: ClaimRecord, at: Position) -> Optional[Reason]:
    """Why a claim is not in force at a position. A revocation outweighs a supersession, and either outweighs time."""
    if _has_happened(claim.revoked_at, at):
        return Reason("claim_revoked", claim.anchor_id, claim.revoked_at)
    if _has_happened(claim.superseded_at, at):
        return Reason("claim_superseded", claim.anchor_id, claim.superseded_at)
    return Reason("claim_expired", claim.anchor_id) if _is_past(claim.leaf.expires_at, at) else None


def _own_faults(grant: GrantRecord, at: Position) -> List[Reason]:
    faults: List[Reason] = []
    if _has_happened(grant.revoked_at, at):
        faults.append(Reason("grant_revoked", grant.anchor_id, grant.revoked_at))
    elif _has_happened(grant.superseded_at, at):
        faults.append(Reason("grant_superseded", grant.anchor_id, grant.superseded_at))
    if at.time_ms < grant.not_before:
        faults.append(Reason("grant_not_yet_valid", grant.anchor_id))
    if _is_past(grant.expires_at, at):
        faults.append(Reason("grant_expired", grant.anchor_id))
    return faults


def _party_faults(side: str, named: ClaimRecord, newest: Optional[ClaimRecord], at: Position) -> List[Reason]:
    faults: List[Reason] = []
    is_revoked = _has_happened(named.revoked_at, at)
    if is_revoked:
        faults.append(Reason(f"{side}_claim_revoked", named.anchor_id, named.revoked_at))
    fault = None if newest is None else claim_fault(newest, at)
    if newest is not None and fault is not None and not (is_revoked and newest.sequence == named.sequence):
        faults.append(Reason(f"{side}_not_in_force", newest.anchor_id, fault.sequence))
    return faults


def link_faults(link: GrantRecord, at: Position, book: RecordBook) -> List[Reason]:
    """Why one link of a chain is not in force, regardless of the links above it."""
    grantor, grantee = book.claims[link.grantor_claim], book.claims[link.grantee_claim]
    return [
        *_own_faults(link, at),
        *_party_faults("grantor", grantor, book.newest_claim_of(link.grantor_lineage, at.sequence), at),
        *_party_faults("grantee", grantee, book.newest_claim_of(link.grantee_lineage, at.sequence), at),
    ]


def rule_broken_by(link: GrantRecord, book: RecordBook) -> Optional[str]:
    """Faults of a grant and its parent that no ledger would have accepted."""
    if link.leaf.grantor_public_key == link.leaf.witness_public_key:
        return f"witness_is_grantor: the grant of sequence {link.sequence}"
    if book.claims[link.grantor_claim].leaf.subject_public_key != link.leaf.grantor_public_key:
        return f"grantor_key_mismatch: the grant of sequence {link.sequence}"
    if link.parent is None:
        return None
    parent = book.grants[link.parent]
    ends_inside = parent.expires_at == 0 or 0 < link.expires_at <= parent.expires_at
    follows = (
        parent.grantee_lineage == link.grantor_lineage
        and link.leaf.delegation_depth < parent.leaf.delegation_depth
        and link.not_before >= parent.not_before
        and ends_inside
    )
    return None if follows else f"delegation_broken: the grant of sequence {link.sequence} does not follow its parent"


def is_actor_proven(leaf: Leaf, iris: Optional[ClaimRecord]) -> bool:
    """Whether the subject of the claim has signed, given that every signature inside of a leaf is good."""
    if iris is None or not isinstance(leaf, SignedEventLeaf):
        return False
    return leaf.actor_public_key == iris.leaf.subject_public_key


def judge_authority(
    leaf: Leaf, iris: Optional[ClaimRecord], links: Sequence[GrantRecord], at: Position, book: RecordBook
) -> Authority:
    """Whether an act is covered at a position. Missing records decide before faults.

    An act that another key has signed in the actor's name is not the actor's, even if records are missing.
    """
    if not isinstance(leaf, EventLeaf):
        return Authority("unknown", (Reason("not_an_event"),))
    reasons: List[Reason] = []
    if iris is not None and isinstance(leaf, SignedEventLeaf) and not is_actor_proven(leaf, iris):
        reasons.append(Reason("actor_key_mismatch", iris.anchor_id, iris.sequence))
    missing = [] if iris is not None else [Reason("iris_ref_empty")]
    missing += [] if links else [Reason("grant_ref_empty")]
    if iris is None or not links:
        return Authority(False if reasons else "unknown", (*reasons, *missing))
    ended = claim_fault(iris, at)
    if ended is not None:
        reasons.append(ended)
    if iris.lineage != links[0].grantee_lineage:
        reasons.append(Reason("actor_not_grantee", iris.anchor_id, iris.sequence))
    for link in links:
        if len(reasons) >= REASONS_MAX:
            break
        reasons += link_faults(link, at, book)
    return Authority(not reasons, tuple(reasons[:REASONS_MAX]))


def targets_in_view(
    iris: Optional[ClaimRecord], links: Sequence[GrantRecord], positions: Sequence[Position], book: RecordBook
) -> Set[bytes]:
    """Anchor ids of what a revocation on the way may name: the records, and the newest claim of each lineage."""
    targets: Set[bytes] = set()
    claims = [] if iris is None else [iris]
    for link in links:
        targets.add(link.anchor_id)
        claims += [book.claims[link.grantor_claim], book.claims[link.grantee_claim]]
    for claim in claims:
        targets.add(claim.anchor_id)
        for position in positions:
            newest = book.newest_claim_of(claim.lineage, position.sequence)
            if newest is not None:
                targets.add(newest.anchor_id)
    return targets
