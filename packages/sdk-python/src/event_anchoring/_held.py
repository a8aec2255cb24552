"""Holds an answer against what was asked for or sent, and its receipt against the trust root of the client."""

from __future__ import annotations

from typing import Mapping, Optional, Tuple, TypeVar, Union

from . import models
from ._calls import get
from ._exchange import Operation, Session
from .bundle import BundleVerification, verify_bundle
from .errors import InvalidInput, UnexpectedAnswer, VerificationError
from .leaf import anchor_id_of
from .proof import Receipt
from .receipt import VerifiedCheckpoint, verify_checkpoint, verify_receipt
from .trust_root import extend_trust_root

#: Answers that may carry a proof.
Proved = Union[models.Verified, models.VerifiedClaim, models.VerifiedGrant, models.Trace]
ProvedT = TypeVar("ProvedT", models.Verified, models.VerifiedClaim, models.VerifiedGrant, models.Trace)

#: What a newer version of the trust root may put right: another node, another quorum.
_CURED_BY_NEWER_TRUST_ROOT = ("quorum_not_met", "origin_unknown", "log_signature_missing")


def hold_id(anchor: models.AnchorBase, asked: bytes) -> None:
    """Raises VerificationError `anchor_id_differs`."""
    if anchor.anchor_id != asked.hex():
        raise VerificationError("anchor_id_differs", f"the answer is about {anchor.anchor_id}, not {asked.hex()}")


def hold_content(anchor: object, sent: Mapping[str, object]) -> None:
    """Raises VerificationError `content_differs` unless the anchor, or its leaf, has these members."""
    for name, value in sent.items():
        if getattr(anchor, name, None) != value:
            raise VerificationError("content_differs", f"{name} is not what was sent, or asked for")


def hold_origin(origin_fingerprint: str, asked: Optional[bytes]) -> None:
    """Raises VerificationError `origin_differs`."""
    if asked is not None and origin_fingerprint != asked.hex():
        raise VerificationError("origin_differs", f"the answer is about origin {origin_fingerprint}")


def hold_receipt(session: Session, anchor_id: str, receipt: Optional[Receipt]) -> Operation[None]:
    """A receipt is for the anchor that it comes with, and valid if there is a trust root to verify it with.

    Raises:
        VerificationError: `anchor_id_differs`, and the codes of verify_receipt.
    """
    if receipt is None:
        return
    own = bytes.fromhex(anchor_id)
    if receipt.anchor_id != own or anchor_id_of(receipt.leaf) != own:
        raise VerificationError("anchor_id_differs", f"the receipt is not one of {anchor_id}")
    if session.trust_root is None:
        return
    try:
        verify_receipt(receipt, session.trust_root, anchor_id=own)
    except VerificationError as error:
        if error.code not in _CURED_BY_NEWER_TRUST_ROOT or not (yield from _follow_trust_root(session)):
            raise
        verify_receipt(receipt, session.trust_root, anchor_id=own)


def needs_trust_root(session: Session, proof: bool) -> None:
    """A proof is verified, so the client has to have a trust root. Raises InvalidInput."""
    if proof and session.trust_root is None:
        raise InvalidInput("trust_root", "proofs are verified, and the client was made without one")


def hold_proof(
    session: Session, answer: ProvedT, anchor_id: bytes, event_hash: Optional[bytes] = None
) -> Operation[ProvedT]:
    """The proof of an answer proves what the answer says, by the trust root of the client.

    Raises:
        VerificationError: `verdict_differs`, and the codes of verify_bundle.
        UnexpectedAnswer: there is none.
    """
    if answer.proof is None:
        raise UnexpectedAnswer("the answer has no proof")
    trust_root = session.trust_root
    if trust_root is None:
        raise InvalidInput("trust_root", "the client was made without one")
    try:
        found = verify_bundle(answer.proof, trust_root, anchor_id=anchor_id, event_hash=event_hash)
    except VerificationError:
        if not (yield from _follow_trust_root(session)) or session.trust_root is None:
            raise
        found = verify_bundle(answer.proof, session.trust_root, anchor_id=anchor_id, event_hash=event_hash)
    is_same = (found.as_of.sequence, found.as_of.time_ms) == (answer.as_of.sequence, answer.as_of.time_ms)
    if not is_same or not _is_same_verdict(found, answer):
        raise VerificationError("verdict_differs", "the proof says something else than the answer", result=found)
    return answer


def _is_same_verdict(found: BundleVerification, answer: Proved) -> bool:
    if isinstance(answer, models.Trace):
        proved = (found.actor_proven, found.authorised_at_action, found.authorised_now, found.suspect)
        return proved == (answer.actor_proven, answer.authorised_at_action, answer.authorised_now, answer.suspect)
    if isinstance(answer, models.Verified):
        return True
    return found.standing is not None and found.standing.state == answer.state


def hold_checkpoint(session: Session, note: str) -> Operation[VerifiedCheckpoint]:
    """A signed checkpoint, verified by the trust root of the client. Raises VerificationError."""
    if session.trust_root is None:
        raise InvalidInput("trust_root", "the client was made without one")
    try:
        return verify_checkpoint(note, session.trust_root)
    except VerificationError as error:
        if error.code not in _CURED_BY_NEWER_TRUST_ROOT or not (yield from _follow_trust_root(session)):
            raise
        return verify_checkpoint(note, session.trust_root)


def _follow_trust_root(session: Session) -> Operation[bool]:
    """Continues the chain that is held with what the service has since added to it; False: nothing."""
    held = session.trust_root
    if held is None:
        return False
    answer = yield from get(session, models.TrustRootAnswer, "/v1/trust-root", needs_key=False)
    thks = [version.root_thk for version in answer.chain]
    own = held.newest.root_thk.hex()
    added: Tuple[str, ...] = answer.documents[thks.index(own) + 1 :] if own in thks else ()
    if added:
        session.trust_root = extend_trust_root(held, added)
    return bool(added)
