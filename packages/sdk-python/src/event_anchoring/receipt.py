"""Receipts: a leaf, its inclusion path and a cosigned checkpoint, verified step by step.

docs/PROTOCOL.md, "Receipt".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, NoReturn, Optional, Sequence, Tuple, Union

from ._hex_repr import HexRepr
from ._inputs import bytes32
from ._receipt_result import RECEIPT_STEPS, ReceiptFailure, ReceiptReport, VerifiedReceipt
from ._steps import Step
from ._trust_root_text import TrustRoot, TrustRootOrigin
from ._witnessing import Witnessing, WitnessSignature, without_witnesses, witnessing_of
from .errors import CanaryFailed, VerificationError
from .leaf import ClaimLeaf, EventLeaf, GrantLeaf, Leaf, RevocationLeaf, SignedEventLeaf, anchor_id_of, decode_leaf
from .merkle import is_consistent, is_included
from .notes import (
    TYPE_ED25519,
    Checkpoint,
    NoteRefusal,
    SignedNote,
    VerifiedLine,
    Vkey,
    checkpoint_origin,
    distinct_lines,
    parse_checkpoint,
    parse_note,
    verify_known_lines,
)
from .payloads import claim_payload_of, event_actor_payload, grant_payload_of, revocation_payload
from .proof import Receipt, ReceiptInput, read_receipt
from .trust_root import TrustRootChain


def _refuse(code: str, message: str) -> NoReturn:
    raise VerificationError(code, message)


class _Steps:
    """Collects the steps. Each is begun once, in order, and passes unless an error ends it."""

    def __init__(self) -> None:
        self._done: List[Step] = []

    def passed(self, code: str, detail: str) -> None:
        self._done.append(Step(code, "pass", detail))

    def skip(self, code: str, detail: str) -> None:
        self._done.append(Step(code, "not_checked", detail))

    def all(self) -> Tuple[Step, ...]:
        return tuple(self._done)

    def fail(self, error: VerificationError) -> ReceiptFailure:
        failed = RECEIPT_STEPS[len(self._done)]
        self._done.append(Step(failed, "fail", error.message))
        for code in RECEIPT_STEPS[len(self._done) :]:
            self.skip(code, "an earlier step failed")
        return ReceiptFailure(failed, error.code)


def read_noted_checkpoint(note: str) -> Tuple[SignedNote, Checkpoint]:
    """A signed note and the checkpoint in it. Code `checkpoint_malformed`."""
    try:
        signed = parse_note(note)
        return signed, parse_checkpoint(signed.text)
    except VerificationError as error:
        raise VerificationError("checkpoint_malformed", error.message) from error


def _read_leaf(encoded: bytes) -> Leaf:
    try:
        return decode_leaf(encoded)
    except VerificationError as error:
        raise VerificationError("leaf_malformed", error.message) from error


def _payload_of(leaf: Leaf, expected: bytes) -> Optional[bytes]:
    """What the leaf's first signer has signed; None for unsigned kinds."""
    if isinstance(leaf, ClaimLeaf):
        return claim_payload_of(leaf)
    if isinstance(leaf, GrantLeaf):
        return grant_payload_of(leaf)
    if isinstance(leaf, SignedEventLeaf):
        return event_actor_payload(
            origin_fingerprint=leaf.origin_fingerprint,
            event_hash=leaf.event_hash,
            semantic_anchor=leaf.semantic_anchor,
        )
    if isinstance(leaf, RevocationLeaf) and len(expected) == 113:
        # The signed origin is the target's, which is not the leaf's own if that origin is lost.
        start = len("event-anchoring/v4.2/revocation") + 1
        return revocation_payload(
            origin_fingerprint=expected[start : start + 32],
            target_anchor_id=leaf.target_anchor_id,
            reason=leaf.reason,
            suspect_since=leaf.suspect_since,
            issued_at=leaf.issued_at,
        )
    return None


def _check_content(steps: _Steps, leaf: Leaf, event_hash: Optional[bytes], payload: Optional[bytes]) -> None:
    if event_hash is not None:
        own = leaf.event_hash if isinstance(leaf, EventLeaf) else None
        if own != event_hash:
            _refuse("content_differs", f"the leaf does not hold the event hash {event_hash.hex()}")
    if payload is not None and _payload_of(leaf, payload) != payload:
        _refuse("content_differs", "the leaf does not hold what the payload says")
    if event_hash is None and payload is None:
        steps.skip("content", "no event hash or payload was given to compare")
    else:
        steps.passed("content", "the leaf holds what was given")


def known_keys(chain: TrustRootChain, origin: TrustRootOrigin) -> List[Vkey]:
    """The keys whose lines are looked at: one failing or repeated line of them refuses the note.

    Nodes are those of all versions held, witnesses those of the newest alone.
    """
    return [origin.log_vkey, *chain.cosigners, *(witness.vkey for witness in chain.newest.witnesses)]


def _verify_lines(note: SignedNote, chain: TrustRootChain, origin: TrustRootOrigin) -> Tuple[VerifiedLine, ...]:
    verified = verify_known_lines(note, known_keys(chain, origin))
    if isinstance(verified, NoteRefusal):
        _refuse(verified.code, f"the signature line of {verified.name}")
    if not any(line.vkey == origin.log_vkey and line.vkey.type == TYPE_ED25519 for line in verified):
        _refuse("log_signature_missing", f"no signature line of {origin.log_vkey.name}")
    return verified


def _meets(version: TrustRoot, origin_fingerprint: bytes, verified: Sequence[VerifiedLine]) -> bool:
    if version.origin(origin_fingerprint) is None:
        return False
    return len(distinct_lines(verified, version.cosigners())) >= version.quorum


def _without_distrusted(newest: TrustRoot, verified: Sequence[VerifiedLine]) -> List[VerifiedLine]:
    """Drops lines of nodes that the newest version marks `distrusted`, whichever key they used."""
    keys = [node.cosigner_vkey for node in newest.nodes if node.status == "distrusted"]
    names, public_keys = {key.name for key in keys}, {key.public_key for key in keys}
    return [line for line in verified if line.vkey.name not in names and line.vkey.public_key not in public_keys]


@dataclass(frozen=True, repr=False)
class Renewal(HexRepr):
    """A later checkpoint of the same origin, and the proof that the receipt's tree is the beginning of its tree."""

    checkpoint: str
    consistency: Tuple[bytes, ...]


@dataclass(frozen=True)
class _Judged:
    """A checkpoint whose lines are good, and its origin as the newest version lists it. Witnesses are counted apart."""

    checkpoint: Checkpoint
    origin: TrustRootOrigin
    verified: Tuple[VerifiedLine, ...]
    witnessing: Witnessing


def _judged(checkpoint: Checkpoint, origin: TrustRootOrigin, note: SignedNote, chain: TrustRootChain) -> _Judged:
    lines = _verify_lines(note, chain, origin)
    return _Judged(checkpoint, origin, without_witnesses(chain.newest, lines), witnessing_of(chain.newest, lines))


def _is_renewed(chain: TrustRootChain, judged: _Judged, renewal: Optional[Renewal]) -> bool:
    if renewal is None:
        return False
    note, later = read_noted_checkpoint(renewal.checkpoint)
    verified = _verify_lines(note, chain, judged.origin)
    old = judged.checkpoint
    is_same = later.origin == old.origin and is_consistent(
        old.tree_size, old.root_hash, later.tree_size, later.root_hash, renewal.consistency
    )
    return is_same and _meets(chain.newest, judged.origin.origin_fingerprint, verified)


def _check_quorum(chain: TrustRootChain, judged: _Judged) -> str:
    """The step `cosignatures`. Returns the names of those who signed."""
    fingerprint = judged.origin.origin_fingerprint
    cosigners = [line.vkey.name for line in judged.verified if line.time_s is not None]
    if not any(_meets(version, fingerprint, judged.verified) for version in chain.versions):
        _refuse("quorum_not_met", f"{len(cosigners)} good cosignatures, a quorum is {chain.newest.quorum}")
    return ", ".join(cosigners)


def _superseded(chain: TrustRootChain, judged: _Judged, renewal: Optional[Renewal]) -> Optional[int]:
    """The step `trust_root`. Returns the older version that alone is satisfied, or None."""
    fingerprint = judged.origin.origin_fingerprint
    if _meets(chain.newest, fingerprint, judged.verified) or _is_renewed(chain, judged, renewal):
        return None
    trusted = _without_distrusted(chain.newest, judged.verified)
    for version in reversed(chain.versions):
        if _meets(version, fingerprint, trusted):
            return version.version
    _refuse("cosigner_distrusted", f"it needs a node that trust root {chain.newest.version} distrusts")


def _check_witnesses(steps: _Steps, newest: TrustRoot, witnessing: Witnessing, is_required: bool) -> None:
    """What the witnesses of the newest version have signed counts, whichever version the quorum satisfies."""
    if is_required and not newest.witnesses:
        _refuse("no_witnesses", witnessing.detail)
    if is_required and not witnessing.is_enough:
        _refuse("not_witnessed", witnessing.detail)
    if witnessing.is_enough:
        steps.passed("witnesses", witnessing.detail)
    else:
        steps.skip("witnesses", f"certified, not witnessed: {witnessing.detail}")


def _check_origin(chain: TrustRootChain, fingerprint: bytes, checkpoint: Checkpoint) -> TrustRootOrigin:
    newest = chain.newest
    expected = checkpoint_origin(newest.cluster_name, fingerprint)
    if checkpoint.origin != expected:
        _refuse("origin_differs", f"the checkpoint is not of origin {expected}")
    origin = newest.origin(fingerprint)
    if origin is None:
        _refuse("origin_unknown", f"trust root {newest.version} does not list origin {expected}")
    return origin


@dataclass(frozen=True, repr=False)
class _Expectation(HexRepr):
    event_hash: Optional[bytes]
    payload: Optional[bytes]
    anchor_id: Optional[bytes]
    renewal: Optional[Renewal]
    require_current: bool
    require_witnessed: bool


@dataclass
class _Found:
    """What has been found so far: each step adds to it."""

    leaf: Optional[Leaf] = None
    anchor_id: Optional[bytes] = None
    checkpoint: Optional[Checkpoint] = None
    superseded_trust_root: Optional[int] = None
    origin_lost: bool = False
    verified: Tuple[VerifiedLine, ...] = ()
    witnesses: Tuple[WitnessSignature, ...] = ()
    witnessed: bool = False


def _check_leaf(steps: _Steps, found: _Found, receipt: Receipt, expect: _Expectation) -> Tuple[Leaf, bytes]:
    leaf = found.leaf = _read_leaf(receipt.leaf)
    steps.passed("leaf", f"{type(leaf).__name__}, depth {leaf.depth}, sequence {leaf.sequence}")
    _check_content(steps, leaf, expect.event_hash, expect.payload)
    anchor_id = found.anchor_id = anchor_id_of(receipt.leaf)
    for expected in (expect.anchor_id, receipt.anchor_id):
        if expected is not None and expected != anchor_id:
            _refuse("anchor_id_differs", f"the leaf hashes to {anchor_id.hex()}")
    steps.passed("anchor_id", f"the leaf hashes to {anchor_id.hex()}")
    return leaf, anchor_id


def _run_steps(steps: _Steps, found: _Found, receipt: Receipt, chain: TrustRootChain, expect: _Expectation) -> None:
    leaf, anchor_id = _check_leaf(steps, found, receipt, expect)
    note, checkpoint = read_noted_checkpoint(receipt.checkpoint)
    found.checkpoint = checkpoint
    if checkpoint.tree_size != receipt.tree_size:
        _refuse("tree_size_differs", f"the receipt says {receipt.tree_size}, its checkpoint {checkpoint.tree_size}")
    steps.passed("checkpoint", f"a tree of {checkpoint.tree_size} leaves")
    origin = _check_origin(chain, leaf.origin_fingerprint, checkpoint)
    found.origin_lost = origin.status == "lost"
    steps.passed("origin", checkpoint.origin)
    size = checkpoint.tree_size
    if receipt.index != leaf.depth or receipt.index >= size:
        _refuse("index_differs", f"index {receipt.index}, depth {leaf.depth}, tree size {size}")
    steps.passed("index", f"leaf {receipt.index} of {size}")
    if not is_included(anchor_id, receipt.index, size, receipt.inclusion, checkpoint.root_hash):
        _refuse("inclusion_wrong", "the path does not lead from the leaf to the root hash")
    steps.passed("inclusion", f"{len(receipt.inclusion)} hashes lead to root {checkpoint.root_hash.hex()}")
    judged = _judged(checkpoint, origin, note, chain)
    found.verified, found.witnesses = judged.verified, judged.witnessing.signatures
    steps.passed("log_signature", origin.log_vkey.name)
    steps.passed("cosignatures", _check_quorum(chain, judged))
    superseded = found.superseded_trust_root = _superseded(chain, judged, expect.renewal)
    newest = chain.newest.version
    if superseded is None:
        steps.passed("trust_root", f"satisfies trust root {newest}, the newest held")
    else:
        detail = f"satisfies trust root {superseded}, superseded by {newest}"
        if expect.require_current:
            _refuse("trust_root_superseded", detail)
        steps.passed("trust_root", detail)
    _check_witnesses(steps, chain.newest, judged.witnessing, expect.require_witnessed)
    found.witnessed = judged.witnessing.is_enough


def inspect_receipt(
    receipt: ReceiptInput,
    trust_root: TrustRootChain,
    *,
    event_hash: Union[bytes, str, None] = None,
    payload: Optional[bytes] = None,
    anchor_id: Union[bytes, str, None] = None,
    renewal: Optional[Renewal] = None,
    require_current: bool = False,
    require_witnessed: bool = False,
) -> ReceiptReport:
    """Looks at a receipt as verify_receipt does, and reports on a bad one as on a good one.

    For programs that show what is wrong. A report that has a `failure` proves nothing.

    Raises:
        VerificationError: `proof_…`, if it cannot be read as a receipt at all; CanaryFailed.
        InvalidInput: an expectation is not 32 bytes or 64 hex digits.
    """
    expect = _Expectation(
        None if event_hash is None else bytes32("event_hash", event_hash),
        payload,
        None if anchor_id is None else bytes32("anchor_id", anchor_id),
        renewal,
        require_current,
        require_witnessed,
    )
    read = read_receipt(receipt)
    steps, found = _Steps(), _Found()
    failure: Optional[ReceiptFailure] = None
    try:
        _run_steps(steps, found, read, trust_root, expect)
    except CanaryFailed:
        raise
    except VerificationError as error:
        failure = steps.fail(error)
    return ReceiptReport(
        failure,
        steps.all(),
        found.leaf,
        found.anchor_id,
        found.checkpoint,
        found.superseded_trust_root,
        found.origin_lost,
        found.verified,
        found.witnesses,
        trust_root.newest.witness_quorum,
        found.witnessed,
    )


def verify_receipt(
    receipt: ReceiptInput,
    trust_root: TrustRootChain,
    *,
    event_hash: Union[bytes, str, None] = None,
    payload: Optional[bytes] = None,
    anchor_id: Union[bytes, str, None] = None,
    renewal: Optional[Renewal] = None,
    require_current: bool = False,
    require_witnessed: bool = False,
) -> VerifiedReceipt:
    """Verifies that a leaf is in a tree that a quorum of the cluster has cosigned. Without network.

    It does not verify signatures *inside* the leaf, nor whether a claim or grant is still in force.

    Args:
        receipt: in any of its forms; may be an attacker's.
        trust_root: from verify_trust_root, and never from the receipt's own source without a pin.
        event_hash: the hash of your own event: what makes the receipt one about *this* event.
        payload: the signed payload of a claim, grant, revocation or signed event.
        anchor_id: the id that you know.
        renewal: for a receipt that needs a node which is distrusted by now.
        require_current: refuse a receipt that only an older trust root is satisfied with, code
            `trust_root_superseded`.
        require_witnessed: refuse a receipt that fewer witnesses have signed than the newest trust root asks for, code
            `not_witnessed`; `no_witnesses` if it lists none.

    Raises:
        VerificationError: for every receipt that is not good, with `code` and the `step` that failed, all `steps`, and
            the ReceiptReport in `result`. `proof_…` if it cannot be read. To look at a bad one without an error:
            inspect_receipt.
        InvalidInput: an expectation is not 32 bytes or 64 hex digits.
    """
    report = inspect_receipt(
        receipt,
        trust_root,
        event_hash=event_hash,
        payload=payload,
        anchor_id=anchor_id,
        renewal=renewal,
        require_current=require_current,
        require_witnessed=require_witnessed,
    )
    leaf, checkpoint, failure = report.leaf, report.checkpoint, report.failure
    if failure is not None:
        detail = next(step.detail for step in report.steps if step.code == failure.step)
        raise VerificationError(failure.code, detail, step=failure.step, steps=report.steps, result=report)
    if leaf is None or report.anchor_id is None or checkpoint is None:
        raise RuntimeError("a good receipt has a leaf and a checkpoint")
    return VerifiedReceipt(
        report.steps,
        leaf,
        report.anchor_id,
        checkpoint,
        report.superseded_trust_root,
        report.origin_lost,
        report.verified,
        report.witnesses,
        report.witnesses_needed,
        report.witnessed,
    )


@dataclass(frozen=True, repr=False)
class VerifiedCheckpoint(HexRepr):
    """A checkpoint that a quorum has cosigned.

    Attributes:
        checkpoint: origin line, size and root.
        origin_fingerprint: whose tree it is.
        origin_status: as the newest trust root lists it.
        superseded_trust_root: it satisfies only this older version; None: the newest.
        verified: the good lines of the log and of nodes.
        witnesses: the witnesses of the newest trust root that have signed, by name.
        witnesses_needed: how many it asks for; 0 if it lists none.
        witnessed: enough have signed.
    """

    checkpoint: Checkpoint
    origin_fingerprint: bytes
    origin_status: str
    superseded_trust_root: Optional[int]
    verified: Tuple[VerifiedLine, ...]
    witnesses: Tuple[WitnessSignature, ...]
    witnesses_needed: int
    witnessed: bool


def verify_checkpoint(note: str, trust_root: TrustRootChain) -> VerifiedCheckpoint:
    """Verifies a signed checkpoint as a receipt's is: origin, log line, quorum, trust root.

    Raises:
        VerificationError: `checkpoint_malformed`, `origin_differs`, `origin_unknown`, `signature_repeated`,
            `signature_invalid`, `key_ambiguous`, `log_signature_missing`, `quorum_not_met` or `cosigner_distrusted`.
    """
    signed, checkpoint = read_noted_checkpoint(note)
    cluster_name = trust_root.newest.cluster_name
    if not checkpoint.origin.startswith(f"{cluster_name}/origin/"):
        _refuse("origin_differs", f"{checkpoint.origin} is no origin of cluster {cluster_name}")
    by_line: Dict[str, TrustRootOrigin] = {
        checkpoint_origin(cluster_name, origin.origin_fingerprint): origin for origin in trust_root.newest.origins
    }
    origin = by_line.get(checkpoint.origin)
    if origin is None:
        _refuse("origin_unknown", f"trust root {trust_root.newest.version} does not list this origin")
    judged = _judged(checkpoint, origin, signed, trust_root)
    _check_quorum(trust_root, judged)
    superseded = _superseded(trust_root, judged, None)
    return VerifiedCheckpoint(
        checkpoint,
        origin.origin_fingerprint,
        origin.status,
        superseded,
        judged.verified,
        judged.witnessing.signatures,
        trust_root.newest.witness_quorum,
        judged.witnessing.is_enough,
    )


def verify_consistency(old: Checkpoint, new: Checkpoint, proof: Sequence[bytes]) -> None:
    """Verifies that one tree is the beginning of another of the same origin.

    Raises:
        VerificationError: `origin_differs` or `consistency_wrong`.
    """
    if old.origin != new.origin:
        _refuse("origin_differs", "the checkpoints are of different origins")
    if not is_consistent(old.tree_size, old.root_hash, new.tree_size, new.root_hash, proof):
        _refuse("consistency_wrong", f"the tree of {old.tree_size} is not shown to begin that of {new.tree_size}")


__all__ = [
    "RECEIPT_STEPS",
    "ReceiptFailure",
    "ReceiptReport",
    "Renewal",
    "Step",
    "VerifiedCheckpoint",
    "VerifiedReceipt",
    "WitnessSignature",
    "inspect_receipt",
    "known_keys",
    "read_noted_checkpoint",
    "verify_checkpoint",
    "verify_consistency",
    "verify_receipt",
]
