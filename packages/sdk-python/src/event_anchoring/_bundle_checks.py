"""The checks of a bundle, in their order. docs/PROTOCOL.md, "Bundle"."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional, Sequence, Set, Tuple, Union

from ._bundle_leaves import (
    BundleFailure,
    ProvedLeaf,
    fail_unless,
    judge_order,
    judge_trust_root_leaf,
    origin_of,
    prove_range,
    prove_single,
    signatures_in,
    tree_of,
)
from ._bundle_result import BUNDLE_CHECKS, Completeness, ProvedScope, Standing
from ._bundle_scopes import prove_scopes
from ._bundle_standing import standing_of
from ._bundle_state import ProvedState, judge_lineages, judge_newest_claims, judge_values, prove_state
from ._bundle_stated import DerivedTrace, stated_difference
from ._bundle_text import Bundle
from ._bytes import ZERO_32, sha256, utf8
from ._records import (
    Authority,
    ClaimRecord,
    GrantRecord,
    Position,
    RecordBook,
    is_actor_proven,
    judge_authority,
    rule_broken_by,
    targets_in_view,
)
from ._steps import Step
from .ed25519 import verify_signature
from .errors import VerificationError
from .leaf import ClaimLeaf, EventLeaf, GrantLeaf, RevocationLeaf
from .notes import parse_note
from .receipt import VerifiedCheckpoint, verify_checkpoint
from .trust_root import TrustRootChain, check_not_older, extend_trust_root, verify_trust_root

#: Grants of a delegation that are compared with what is stated.
_SHOWN_MAX = 1_000


class _Unproved(Exception):
    """The check under way could not be made: its result rests on the word of the bundle's maker."""


@dataclass
class _Trace:
    is_actor_proven: bool
    at_action: Authority
    now: Authority
    is_suspect: bool
    standing: Optional[Standing]
    delegation: Tuple[bytes, ...]
    revocations: Tuple[bytes, ...]


@dataclass
class Progress:
    """What has been found so far: each check adds to it."""

    bundle: Bundle
    trust_root: Union[TrustRootChain, bytes]
    highest_seen: Optional[Tuple[int, bytes]]
    anchor_id: Optional[bytes]
    event_hash: Optional[bytes]
    require_witnessed: bool
    chain: Optional[TrustRootChain] = None
    checkpoints: List[VerifiedCheckpoint] = field(default_factory=list)
    state: Optional[ProvedState] = None
    is_witnessed: bool = False
    singles: List[ProvedLeaf] = field(default_factory=list)
    in_order: List[ProvedLeaf] = field(default_factory=list)
    by_id: Dict[bytes, ProvedLeaf] = field(default_factory=dict)
    book: RecordBook = field(default_factory=RecordBook)
    iris: Optional[ClaimRecord] = None
    links: List[GrantRecord] = field(default_factory=list)
    claims: List[ClaimRecord] = field(default_factory=list)
    complete: Optional[Completeness] = None
    trace: Optional[_Trace] = None
    scopes: Tuple[ProvedScope, ...] = ()

    def held(self) -> TrustRootChain:
        if self.chain is None:
            raise RuntimeError("a check was made before one that it builds on")
        return self.chain

    def subject(self) -> ProvedLeaf:
        return self.by_id[self.bundle.subject]

    def superseded(self) -> List[int]:
        """Versions that a checkpoint or the state head needed instead of the newest."""
        versions = [each.superseded_trust_root for each in self.checkpoints]
        if self.state is not None and self.state.version != self.held().newest.version:
            versions.append(self.state.version)
        return [version for version in versions if version is not None]


def _thk(document: str) -> Optional[bytes]:
    try:
        return sha256(utf8(parse_note(document).text))
    except VerificationError:
        # No signed note: not the one that is looked for.
        return None


def _chain_of(documents: Sequence[str], trust_root: Union[TrustRootChain, bytes]) -> TrustRootChain:
    """From the pinned document on; or the versions held, and then what follows them."""
    pin = trust_root if isinstance(trust_root, bytes) else trust_root.versions[0].root_thk
    start = next((place for place, document in enumerate(documents) if _thk(document) == pin), None)
    if isinstance(trust_root, bytes):
        return verify_trust_root(documents[start or 0 :], pin)
    if start is None:
        raise BundleFailure("the trust root that is held is not among those of the bundle")
    own = documents[start:]
    for version, document in zip(trust_root.versions, own):
        fail_unless(_thk(document) == version.root_thk, f"version {version.version} is not the one that is held")
    return extend_trust_root(trust_root, own[len(trust_root.versions) :])


def _check_trust_roots(progress: Progress) -> str:
    try:
        progress.chain = _chain_of(progress.bundle.trust_roots, progress.trust_root)
        if progress.highest_seen is not None:
            check_not_older(progress.chain, *progress.highest_seen)
    except VerificationError as error:
        raise BundleFailure(str(error)) from error
    versions = progress.chain.versions
    first = "the pinned one" if isinstance(progress.trust_root, bytes) else "the one that the reader holds"
    return f"versions {versions[0].version} to {versions[-1].version}, from {first} on"


def _check_checkpoints(progress: Progress) -> str:
    origins: Set[bytes] = set()
    for place, note in enumerate(progress.bundle.checkpoints):
        try:
            verified = verify_checkpoint(note, progress.held())
        except VerificationError as error:
            raise BundleFailure(f"checkpoint {place}: {error}") from error
        is_first = verified.origin_fingerprint not in origins
        fail_unless(is_first, f"checkpoint {place} is a second one of its origin")
        origins.add(verified.origin_fingerprint)
        progress.checkpoints.append(verified)
    return f"{len(origins)} trees, each cosigned by a quorum"


def _check_state(progress: Progress) -> str:
    """A quorum has signed the head, it is not older than the position of now, and the records are in its tree."""
    state, at = progress.bundle.state, progress.bundle.as_of
    if state is None:
        return "there is no state head"
    proved = prove_state(state, progress.held())
    newest = proved.head.next_sequence - 1
    fail_unless(newest >= at.sequence, f"as_of is sequence {at.sequence}, the state head ends at {newest}")
    progress.state = proved
    progress.singles += proved.leaves
    return f"{len(proved.leaves)} records are in the state after sequence {newest}, which a quorum has signed"


def _missing_witnesses(progress: Progress) -> Optional[Tuple[str, str]]:
    """Code and detail; None: enough witnesses of the newest trust root have signed every head of the bundle."""
    newest = progress.held().newest
    if not newest.witnesses:
        return "no_witnesses", f"trust root {newest.version} lists no witness"
    if progress.state is not None:
        return "state_not_witnessed", "no witness signs a state head, and this bundle rests on one"
    for place, checkpoint in enumerate(progress.checkpoints):
        if not checkpoint.witnessed:
            counted = f"{len(checkpoint.witnesses)} of {len(newest.witnesses)} witnesses"
            return "not_witnessed", f"checkpoint {place}: {counted}, {newest.witness_quorum} needed"
    return None


def _check_witnesses(progress: Progress) -> str:
    """Nothing rests on witnesses if the reader demands none."""
    missing = _missing_witnesses(progress)
    if missing is None:
        progress.is_witnessed = True
        needed = progress.held().newest.witness_quorum
        return f"{len(progress.checkpoints)} trees, each signed by {needed} witnesses or more"
    code, detail = missing
    fail_unless(not progress.require_witnessed, f"{code}: {detail}")
    return f"certified, not witnessed: {detail}"


def _check_leaves(progress: Progress) -> str:
    for place, part in enumerate(progress.bundle.leaves):
        where = f"leaf {place}"
        if part.checkpoint is not None:
            tree = tree_of(progress.checkpoints[part.checkpoint])
        else:
            found = None if progress.state is None else progress.state.trees.get(origin_of(part, where))
            if found is None:
                raise BundleFailure(f"{where}: there is no tree of its origin")
            tree = found
        progress.singles.append(prove_single(part, tree, where))
    return f"{len(progress.singles)} leaves lead to their roots"


def _check_ranges(progress: Progress) -> str:
    seen: Set[int] = set()
    found = list(progress.singles)
    for place, part in enumerate(progress.bundle.ranges):
        fail_unless(part.checkpoint not in seen, f"range {place} is a second one of its checkpoint")
        seen.add(part.checkpoint)
        found += prove_range(part, tree_of(progress.checkpoints[part.checkpoint]), f"range {place}")
    progress.in_order = sorted(found, key=lambda proved: proved.leaf.sequence)
    progress.by_id = {proved.anchor_id: proved for proved in found}
    return f"{len(found) - len(progress.singles)} leaves in {len(seen)} ranges make their roots"


def _check_subject(progress: Progress) -> str:
    bundle = progress.bundle
    fail_unless(bundle.subject in progress.by_id, f"the subject {bundle.subject.hex()} is not in the bundle")
    leaf = progress.subject().leaf
    fail_unless(leaf.sequence <= bundle.as_of.sequence, f"the subject has sequence {leaf.sequence}, after as_of")
    is_asked = progress.anchor_id in (None, bundle.subject)
    fail_unless(is_asked, f"the subject is {bundle.subject.hex()}, which was not asked about")
    if progress.event_hash is not None:
        own = leaf.event_hash if isinstance(leaf, EventLeaf) else None
        fail_unless(own == progress.event_hash, "the subject does not hold the event hash that was asked about")
    return f"{type(leaf).__name__}, sequence {leaf.sequence}"


def _check_signatures(progress: Progress) -> str:
    count = 0
    for proved in progress.in_order:
        for key, message, signature in signatures_in(proved.leaf, progress.by_id):
            is_good = verify_signature(key, message, signature)
            fail_unless(is_good, f"sequence {proved.leaf.sequence}: a signature is not one of key {key.hex()}")
            count += 1
    return f"{count} signatures inside of leaves are good"


def _named(anchor_id: bytes, progress: Progress, what: str) -> Optional[ProvedLeaf]:
    """The leaf that the subject names, which must be in the bundle and older."""
    if anchor_id == ZERO_32:
        return None
    found = progress.by_id.get(anchor_id)
    if found is None:
        raise BundleFailure(f"{what} {anchor_id.hex()} is not in the bundle")
    is_older = found.leaf.sequence < progress.subject().leaf.sequence
    fail_unless(is_older, f"{what} {anchor_id.hex()} is not older than the subject")
    return found


def _subjects(progress: Progress) -> Tuple[Optional[ProvedLeaf], Optional[ProvedLeaf]]:
    """The leaves of iris_ref and grant_ref, or the subject itself if it is a claim or a grant."""
    subject = progress.subject()
    leaf = subject.leaf
    if isinstance(leaf, ClaimLeaf):
        return subject, None
    if isinstance(leaf, GrantLeaf):
        return None, subject
    if isinstance(leaf, RevocationLeaf):
        _named(leaf.target_anchor_id, progress, "the target")
    if not isinstance(leaf, EventLeaf):
        return None, None
    refs = leaf.semantic_anchor
    iris = _named(refs.iris_ref, progress, "iris_ref")
    _named(refs.scroll_ref, progress, "scroll_ref")
    grant = _named(refs.grant_ref, progress, "grant_ref")
    _named(refs.bond_ref, progress, "bond_ref")
    _named(refs.yield_ref, progress, "yield_ref")
    return iris, grant


def _links_of(grant: ProvedLeaf, book: RecordBook) -> List[GrantRecord]:
    record = book.grants.get(grant.leaf.sequence)
    if record is None:
        raise BundleFailure(f"a claim that the grant of sequence {grant.leaf.sequence} names is not in the bundle")
    links = book.chain_of(record)
    orphan = next((link for link in links if link.is_orphan), None)
    if orphan is not None:
        raise BundleFailure(f"the parent of the grant of sequence {orphan.sequence} is not in the bundle")
    return links


def _completeness(progress: Progress) -> Optional[Completeness]:
    """Sequences count the leaves of all origins without gaps: a leaf of every sequence is every leaf.

    What is in a lost origin fills no gap, as another leaf may have taken its place.
    """
    named = {claim.sequence for claim in progress.claims} | {link.sequence for link in progress.links}
    if not named:
        return None
    after = min(named)
    if progress.state is not None:
        return Completeness(after, progress.state.head.next_sequence - 1)
    if any(proved.is_lost for proved in progress.in_order if proved.leaf.sequence in named):
        return Completeness(after, after)
    to = after
    for proved in progress.in_order:
        if proved.leaf.sequence == to + 1 and not proved.is_lost:
            to += 1
    return Completeness(after, to)


def _check_records(progress: Progress) -> str:
    judge_order(progress.in_order)
    for proved in progress.in_order:
        judge_trust_root_leaf(proved.leaf, progress.held())
    if progress.state is not None:
        progress.book = progress.state.book
    else:
        for proved in progress.in_order:
            progress.book.add(proved.leaf, proved.anchor_id)
    book = progress.book
    iris, grant = _subjects(progress)
    progress.iris = None if iris is None else book.claims.get(iris.leaf.sequence)
    progress.links = _links_of(grant, book) if grant is not None and isinstance(grant.leaf, GrantLeaf) else []
    sequences = {sequence for link in progress.links for sequence in (link.grantor_claim, link.grantee_claim)}
    if progress.iris is not None:
        sequences.add(progress.iris.sequence)
    progress.claims = [book.claims[sequence] for sequence in sorted(sequences)]
    if progress.state is not None:
        judge_lineages(book)
        leaf = progress.subject().leaf
        judge_newest_claims(progress.claims, book, (Position(leaf.sequence, leaf.accepted_ms), progress.bundle.as_of))
    progress.complete = _completeness(progress)
    return f"{len(progress.claims)} claims and {len(progress.links)} grants are named"


def _check_endings(progress: Progress, ending: str) -> str:
    sequence = progress.bundle.as_of.sequence
    if progress.complete is None:
        return "no claim or grant is named"
    after, to = progress.complete.after, progress.complete.to
    if progress.state is not None:
        return f"no {ending} is missing: the state after sequence {to} has every one"
    if to < sequence:
        said = f"that no {ending} is missing is as stated by the service at sequence {sequence}"
        raise _Unproved(f"{said}: the leaf of sequence {to + 1} is not here")
    return f"no {ending} is missing: every leaf from sequence {after} to {sequence} is here"


def _positions(progress: Progress) -> List[Position]:
    """Positions of leaves, ascending by sequence, and that of the state head."""
    positions = [Position(proved.leaf.sequence, proved.leaf.accepted_ms) for proved in progress.in_order]
    if progress.state is None:
        return positions
    head = progress.state.head
    newest = Position(head.next_sequence - 1, head.last_accepted_ms)
    return [*(each for each in positions if each.sequence < newest.sequence), newest]


def _is_before_stamp(progress: Progress) -> bool:
    """The state head says that no later leaf has a time below its own."""
    at, state = progress.bundle.as_of, progress.state
    return state is not None and state.head.next_sequence == at.sequence + 1 and at.time_ms < state.head.stamp_ms


def _check_window(progress: Progress) -> str:
    """Whether the position is one. A later time than that of the next leaf would hide what had happened by then."""
    at = progress.bundle.as_of
    positions = _positions(progress)
    earlier = [each for each in positions if each.sequence <= at.sequence]
    later = [each for each in positions if each.sequence > at.sequence]
    last = earlier[-1]
    fail_unless(last.time_ms <= at.time_ms, f"as_of is {at.time_ms} ms, sequence {last.sequence} is younger")
    is_there = last.sequence == at.sequence
    is_exact = is_there and last.time_ms == at.time_ms
    # Leaves of one entry have one time: a leaf that is not here may have that of the next.
    latest_ms = None if not later else later[0].time_ms - (1 if is_there else 0)
    fail_unless(is_exact or latest_ms is None or at.time_ms <= latest_ms, f"by {at.time_ms} ms more had happened")
    if progress.complete is None:
        return "nothing that is named has a window"
    is_next_here = bool(later) and later[0].sequence == at.sequence + 1
    if not (is_exact or (is_there and is_next_here) or _is_before_stamp(progress)):
        raise _Unproved(f"that sequence {at.sequence} was the newest at {at.time_ms} ms is as stated by the service")
    return f"judged as of sequence {at.sequence} at {at.time_ms} ms"


def _judge_rules(progress: Progress) -> None:
    """What no ledger would have let in."""
    subject = progress.subject()
    leaf = subject.leaf
    lineages = {claim.lineage for claim in progress.claims}
    for sequence, lineage in progress.book.usurpers:
        is_apart = lineage not in lineages or sequence > progress.bundle.as_of.sequence
        fail_unless(is_apart, f"the claim of sequence {sequence} continues one of another issuer")
    if progress.state is not None:
        judge_values(progress.iris, progress.links, progress.bundle.as_of, progress.book, progress.in_order)
    for link in progress.links:
        broken = rule_broken_by(link, progress.book)
        fail_unless(broken is None, broken or "")
    if isinstance(leaf, EventLeaf):
        refs = leaf.semantic_anchor
        is_claim = refs.iris_ref == ZERO_32 or progress.iris is not None
        fail_unless(is_claim, "reference_wrong_kind: iris_ref names no claim")
        is_grant = refs.grant_ref == ZERO_32 or bool(progress.links)
        fail_unless(is_grant, "reference_wrong_kind: grant_ref names no grant")
    parent = progress.by_id.get(leaf.parent_anchor_id)
    if parent is not None:
        is_before = parent.leaf.origin_fingerprint == leaf.origin_fingerprint and parent.leaf.depth == leaf.depth - 1
        fail_unless(is_before, "parent_link_broken: the subject does not follow what it names as its parent")


def _revocations(progress: Progress, positions: Sequence[Position]) -> Tuple[List[RevocationLeaf], Tuple[bytes, ...]]:
    shown = progress.links[:_SHOWN_MAX]
    targets = targets_in_view(progress.iris, shown, positions, progress.book)
    leaves: List[RevocationLeaf] = []
    ids: List[bytes] = []
    for proved in progress.in_order:
        leaf = proved.leaf
        is_seen = isinstance(leaf, RevocationLeaf) and leaf.sequence <= progress.bundle.as_of.sequence
        if is_seen and isinstance(leaf, RevocationLeaf) and leaf.target_anchor_id in targets:
            leaves.append(leaf)
            ids.append(proved.anchor_id)
    return leaves, tuple(ids)


def _check_authority(progress: Progress) -> str:
    _judge_rules(progress)
    leaf = progress.subject().leaf
    own, now = Position(leaf.sequence, leaf.accepted_ms), progress.bundle.as_of
    at_action = judge_authority(leaf, progress.iris, progress.links, own, progress.book)
    as_of = judge_authority(leaf, progress.iris, progress.links, now, progress.book)
    revocations, ids = _revocations(progress, (now, own))
    is_suspect = any(0 < each.suspect_since <= leaf.accepted_ms for each in revocations)
    delegation = tuple(link.anchor_id for link in progress.links)
    is_proven = is_actor_proven(leaf, progress.iris)
    standing = standing_of(leaf, progress.iris, progress.links, now, progress.book)
    progress.trace = _Trace(is_proven, at_action, as_of, is_suspect, standing, delegation, ids)
    return f"at action: {at_action.verdict}; as of sequence {now.sequence}: {as_of.verdict}"


def _check_stated(progress: Progress) -> str:
    bundle, trace = progress.bundle, progress.trace
    if trace is None:
        raise RuntimeError("a check was made before one that it builds on")
    if bundle.stated is None:
        if progress.complete is not None and progress.complete.to < bundle.as_of.sequence:
            raise _Unproved("nothing is stated")
        return "nothing is stated, and nothing rests on it"
    derived = DerivedTrace(
        bundle.subject,
        bundle.as_of,
        trace.is_actor_proven,
        trace.at_action.verdict,
        trace.now.verdict,
        trace.is_suspect,
        trace.delegation[:_SHOWN_MAX],
        trace.revocations,
    )
    difference = stated_difference(bundle.stated, derived)
    fail_unless(difference is None, f"what is stated differs in {difference} from what the leaves say")
    return "what is stated is what the leaves say"


def _check_scopes(progress: Progress) -> str:
    leaves = [(link.anchor_id, progress.by_id[link.anchor_id].leaf) for link in progress.links]
    grants = [(anchor_id, leaf.scope_hash) for anchor_id, leaf in leaves if isinstance(leaf, GrantLeaf)]
    progress.scopes = prove_scopes(progress.bundle.scopes, grants)
    return f"{len(progress.scopes)} disclosures are of grants on the way"


_CHECKS: Dict[str, Callable[[Progress], str]] = {
    "trust_roots": _check_trust_roots,
    "checkpoints": _check_checkpoints,
    "state": _check_state,
    "witnesses": _check_witnesses,
    "leaves": _check_leaves,
    "ranges": _check_ranges,
    "subject": _check_subject,
    "signatures": _check_signatures,
    "records": _check_records,
    "revocation": lambda progress: _check_endings(progress, "revocation"),
    "superseded": lambda progress: _check_endings(progress, "successor"),
    "window": _check_window,
    "authority": _check_authority,
    "stated": _check_stated,
    "scopes": _check_scopes,
}


def make_checks(progress: Progress) -> Tuple[List[Step], Optional[Step]]:
    checks: List[Step] = []
    failed: Optional[Step] = None
    for code in BUNDLE_CHECKS:
        if failed is not None:
            checks.append(Step(code, "not_checked", "an earlier check failed"))
            continue
        try:
            checks.append(Step(code, "pass", _CHECKS[code](progress)))
        except _Unproved as unproved:
            checks.append(Step(code, "not_checked", str(unproved)))
        except BundleFailure as failure:
            failed = Step(code, "fail", str(failure))
            checks.append(failed)
    return checks, failed
