"""What the state head of a bundle proves. docs/PROTOCOL.md, "Bundle with a state head"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._bundle_leaves import BundleFailure, CertifiedTree, ProvedLeaf, fail_unless
from ._bundle_text import BundleState, StatedRecord
from ._bytes import ZERO_32, read_u64, sha256
from ._hex_repr import HexRepr
from ._records import ClaimRecord, GrantRecord, Position, RecordBook
from ._state_head import PlacedLeaf, StateHead, parse_state_head, signers_of, state_key, state_root_of
from ._trust_root_text import TrustRoot
from .errors import VerificationError
from .leaf import ClaimLeaf, GrantLeaf, Leaf, RevocationLeaf, anchor_id_of, decode_leaf
from .notes import SignedNote, parse_note
from .trust_root import TrustRootChain

_KIND_CLAIM = 1
_KIND_GRANT = 3
_CLAIM_BYTES = 48
_GRANT_BYTES = 84


def _or_none(sequence: int) -> Optional[int]:
    return None if sequence == 0 else sequence


def _u64s(value: bytes) -> List[int]:
    return [read_u64(value[at : at + 8]) for at in range(0, len(value), 8)]


@dataclass(frozen=True, repr=False)
class _StatedGrant(HexRepr):
    """A grant whose claims are looked for when all records are known."""

    leaf: GrantLeaf
    anchor_id: bytes
    value: bytes

    def record(self, grantor: ClaimRecord, grantee: ClaimRecord) -> GrantRecord:
        lineages = _u64s(self.value[24:40])
        parent, links = read_u64(self.value[40:48]), int.from_bytes(self.value[48:52], "big")
        not_before, expires_at, superseded, revoked = _u64s(self.value[52:])
        return GrantRecord(
            anchor_id=self.anchor_id,
            sequence=self.leaf.sequence,
            leaf=self.leaf,
            grantor_claim=grantor.sequence,
            grantee_claim=grantee.sequence,
            grantor_lineage=lineages[0],
            grantee_lineage=lineages[1],
            parent=_or_none(parent),
            not_before=not_before,
            expires_at=expires_at,
            superseded_at=_or_none(superseded),
            revoked_at=_or_none(revoked),
            stated_links=links,
        )


class StateBook(RecordBook):
    """Records with the endings that the state tree gives them, whatever was recorded in between."""

    def add_stated_claim(self, leaf: ClaimLeaf, anchor_id: bytes, value: bytes) -> None:
        """The value of a claim: sequence, API client, lineage, superseded at, revoked at."""
        lineage, superseded, revoked = _u64s(value[24:])
        record = ClaimRecord(anchor_id, leaf.sequence, lineage, leaf, _or_none(superseded), _or_none(revoked))
        self.claims[leaf.sequence] = record
        self._by_id[anchor_id] = leaf.sequence
        self._lineages[lineage] = sorted([*self._lineages.get(lineage, []), leaf.sequence])

    def add_stated_grant(self, stated: _StatedGrant) -> None:
        """A grant whose claims are not among the records is left out."""
        leaf = stated.leaf
        grantor, grantee = self._find_claim(leaf.grantor_claim_ref), self._find_claim(leaf.grantee_claim_ref)
        if grantor is not None and grantee is not None:
            self.grants[leaf.sequence] = stated.record(grantor, grantee)

    def newest_claim_of(self, lineage: int, up_to: int) -> Optional[ClaimRecord]:
        """A claim names its successor, so that none between the two can be left out: then it is not known."""
        newest = super().newest_claim_of(lineage, up_to)
        if newest is None or newest.superseded_at is None or newest.superseded_at > up_to:
            return newest
        return None

    def chain_of(self, grant: GrantRecord) -> List[GrantRecord]:
        """From a grant to the root, whose records must all be here."""
        links = [grant]
        while links[-1].parent is not None:
            above = self.grants.get(links[-1].parent)
            if above is None or above.sequence >= links[-1].sequence:
                raise BundleFailure(f"the parent of the grant of sequence {links[-1].sequence} is not in the bundle")
            links.append(above)
        return links


@dataclass(frozen=True, repr=False)
class ProvedState(HexRepr):
    """A head that a quorum has signed, and the records that are in its tree.

    Attributes:
        version: the trust root that the head names and that judged it.
        trees: of each origin, by fingerprint.
    """

    head: StateHead
    version: int
    trees: Mapping[bytes, CertifiedTree]
    leaves: Tuple[ProvedLeaf, ...]
    book: StateBook


def _named_version(head: StateHead, chain: TrustRootChain) -> TrustRoot:
    is_newest = head.epoch == chain.newest.epoch
    fail_unless(is_newest, f"epoch_differs: the head is of epoch {head.epoch}, not {chain.newest.epoch}")
    named = next((each for each in chain.versions if each.version == head.version), None)
    if named is None:
        raise BundleFailure(f"trust_root_unknown: the head names version {head.version}, which is not held")
    return named


def _judge_signers(note: SignedNote, head: StateHead, signed: TrustRoot, newest: TrustRoot) -> None:
    bad = [node for node in newest.nodes if node.status == "distrusted"]
    names, keys = {node.node_id for node in bad}, {node.cosigner_vkey.public_key for node in bad}
    trusted = [
        node
        for node in signers_of(note, head, signed)
        if node.node_id not in names and node.cosigner_vkey.public_key not in keys
    ]
    is_enough = len(trusted) >= signed.quorum
    fail_unless(is_enough, f"cosigner_distrusted: the quorum needs a node that version {newest.version} distrusts")


def _prove_head(note: str, chain: TrustRootChain) -> Tuple[StateHead, int]:
    try:
        parsed = parse_note(note)
        head = parse_state_head(parsed.text)
        signed = _named_version(head, chain)
        _judge_signers(parsed, head, signed, chain.newest)
    except VerificationError as error:
        raise BundleFailure(str(error)) from error
    return head, signed.version


def _trees_of(head: StateHead, chain: TrustRootChain) -> Dict[bytes, CertifiedTree]:
    status = {origin.origin_fingerprint: origin.status for origin in chain.newest.origins}
    trees: Dict[bytes, CertifiedTree] = {}
    for origin in head.origins:
        fingerprint = origin.origin_fingerprint
        fail_unless(fingerprint in status, f"no trust root lists origin {fingerprint.hex()}")
        trees[fingerprint] = CertifiedTree(fingerprint, status[fingerprint], origin.tree_size, origin.root_hash)
    return trees


def _read(part: StatedRecord, where: str) -> Leaf:
    try:
        leaf = decode_leaf(part.leaf)
        _u64s(part.value[:8] + part.value[24:48] + (part.value[52:] if len(part.value) == _GRANT_BYTES else b""))
    except VerificationError as error:
        raise BundleFailure(f"{where} cannot be read: {error}") from error
    is_record = isinstance(leaf, (ClaimLeaf, GrantLeaf))
    fail_unless(is_record, f"{where} is neither claim nor grant")
    wanted = _CLAIM_BYTES if isinstance(leaf, ClaimLeaf) else _GRANT_BYTES
    fail_unless(len(part.value) == wanted, f"the value of {where} has {len(part.value)} bytes, not {wanted}")
    is_same = read_u64(part.value[:8]) == leaf.sequence
    fail_unless(is_same, f"{where} has sequence {leaf.sequence}, its value another")
    return leaf


def prove_state(state: BundleState, chain: TrustRootChain) -> ProvedState:
    """The head is signed by a quorum of the version that it names, and the records are in its tree."""
    head, version = _prove_head(state.head, chain)
    trees = _trees_of(head, chain)
    book = StateBook()
    proved: List[ProvedLeaf] = []
    placed: List[PlacedLeaf] = []
    grants: List[_StatedGrant] = []
    for place, part in enumerate(state.records):
        leaf, anchor_id = _read(part, f"record {place}"), anchor_id_of(part.leaf)
        tree = trees.get(leaf.origin_fingerprint)
        if tree is None:
            raise BundleFailure(f"record {place} is of an origin that the state head does not have")
        kind = _KIND_CLAIM if isinstance(leaf, ClaimLeaf) else _KIND_GRANT
        placed.append(PlacedLeaf(state_key(kind, anchor_id), sha256(part.value), part.level))
        proved.append(ProvedLeaf(leaf, anchor_id, tree.status == "lost"))
        if isinstance(leaf, ClaimLeaf):
            book.add_stated_claim(leaf, anchor_id, part.value)
        elif isinstance(leaf, GrantLeaf):
            grants.append(_StatedGrant(leaf, anchor_id, part.value))
    root = state_root_of(placed, state.siblings)
    is_empty = not placed and not state.siblings
    fail_unless(
        is_empty or root == head.state_root, "the paths of the records do not lead to the root of the state head"
    )
    for grant in grants:
        book.add_stated_grant(grant)
    return ProvedState(head, version, trees, tuple(proved), book)


def judge_lineages(book: RecordBook) -> None:
    """Claims of one lineage are of one pair, and vouched for by one issuer.

    So nodes that lie cannot put a stranger's claim in the lineage of a grantee.
    """
    first: Dict[int, ClaimLeaf] = {}
    for claim in book.claims.values():
        leaf, other = claim.leaf, first.setdefault(claim.lineage, claim.leaf)
        is_same = (leaf.entity_fingerprint, leaf.attribute_type, leaf.issuer_public_key) == (
            other.entity_fingerprint,
            other.attribute_type,
            other.issuer_public_key,
        )
        fail_unless(is_same, f"the claim of sequence {claim.sequence} cannot be of lineage {claim.lineage}")


def judge_newest_claims(claims: Sequence[ClaimRecord], book: RecordBook, positions: Sequence[Position]) -> None:
    """The newest claim of each lineage that is named is known, at the act and at the position of now."""
    for claim in claims:
        for at in positions:
            is_known = claim.sequence > at.sequence or book.newest_claim_of(claim.lineage, at.sequence) is not None
            what = f"the newest claim of lineage {claim.lineage} at sequence {at.sequence}"
            fail_unless(is_known, f"{what} is not in the bundle")


def _judge_endings(record: Union[ClaimRecord, GrantRecord], at: Position, by_sequence: Mapping[int, Leaf]) -> None:
    """Each ending up to a position has the leaf that made it."""
    where = f"record_differs: the record of sequence {record.sequence}"
    revoked, superseded = record.revoked_at, record.superseded_at
    if revoked is not None and revoked <= at.sequence:
        leaf = by_sequence.get(revoked)
        is_revoked = isinstance(leaf, RevocationLeaf) and leaf.target_anchor_id == record.anchor_id
        fail_unless(
            is_revoked and revoked > record.sequence, f"{where} is revoked at {revoked}, where nothing revokes it"
        )
    if superseded is not None and superseded <= at.sequence:
        is_followed = isinstance(by_sequence.get(superseded), type(record.leaf)) and superseded > record.sequence
        fail_unless(is_followed, f"{where} is superseded at {superseded}, where nothing takes its place")


def _judge_grant(link: GrantRecord, book: RecordBook) -> None:
    """The value of a grant agrees with its leaf and with the records that it names."""
    leaf = link.leaf
    parent = None if link.parent is None else book.grants[link.parent]
    above = (0, 0) if parent is None else (parent.not_before, parent.expires_at)
    lineages = (book.claims[link.grantor_claim].lineage, book.claims[link.grantee_claim].lineage)
    named = ZERO_32 if parent is None else parent.anchor_id
    links = 1 if parent is None else (parent.stated_links or 0) + 1
    is_same = (
        lineages == (link.grantor_lineage, link.grantee_lineage)
        and leaf.parent_grant_ref == named
        and link.stated_links == links
        and link.not_before == (leaf.not_before or above[0])
        and link.expires_at == (leaf.expires_at or above[1])
    )
    fail_unless(
        is_same, f"record_differs: the value of the grant of sequence {link.sequence} is not what its leaf says"
    )


def judge_values(
    iris: Optional[ClaimRecord],
    links: Sequence[GrantRecord],
    at: Position,
    book: RecordBook,
    in_order: Sequence[ProvedLeaf],
) -> None:
    """The values of the records on the way agree with their leaves, and with the leaves that ended them."""
    by_sequence = {proved.leaf.sequence: proved.leaf for proved in in_order}
    claims = {} if iris is None else {iris.sequence: iris}
    for link in links:
        _judge_grant(link, book)
        _judge_endings(link, at, by_sequence)
        for sequence in (link.grantor_claim, link.grantee_claim):
            named = book.claims[sequence]
            newest = book.newest_claim_of(named.lineage, at.sequence) or named
            claims.update({named.sequence: named, newest.sequence: newest})
    for claim in claims.values():
        fail_unless(claim.lineage <= claim.sequence, f"record_differs: the lineage of sequence {claim.sequence}")
        _judge_endings(claim, at, by_sequence)
