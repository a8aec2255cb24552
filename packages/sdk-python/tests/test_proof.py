"""The proof beside a verdict: it has to prove what the answer says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Generator, Optional, Tuple

import pytest

from event_anchoring import InvalidInput, UnexpectedAnswer, VerificationError, inspect_bundle, models, verify_trust_root
from event_anchoring._held import hold_proof, needs_trust_root
from event_anchoring.trust_root import TrustRootChain

from .vectors import load, name_of

GOOD = [case for case in load("bundle-state")["good"] if case["outcome"] == "valid" and "bundle" in case]


@dataclass
class FakeSession:
    """What holding a proof needs of a session."""

    trust_root: Optional[TrustRootChain]


def answer_of(case: Any) -> Tuple[Any, FakeSession, bytes]:
    """The answer that goes with a bundle; a stand-in with the members that are compared."""
    bundle = case["bundle"]
    text = json.dumps(bundle)
    found = inspect_bundle(text, case["pinned_root_thk"])
    position = models.Position(found.as_of.sequence, found.as_of.time_ms, "")
    of_class = models.Trace if found.standing is None else models.VerifiedClaim
    answer = object.__new__(of_class)
    members = {"as_of": position, "proof": text.encode()}
    if found.standing is None:
        members.update(
            actor_proven=found.actor_proven,
            authorised_at_action=found.authorised_at_action,
            authorised_now=found.authorised_now,
            suspect=found.suspect,
        )
    else:
        members["state"] = found.standing.state
    answer.__dict__.update(members)
    chain = verify_trust_root(bundle["trust_roots"], case["pinned_root_thk"])
    return answer, FakeSession(chain), found.subject


def run(operation: Generator[Any, Any, Any]) -> Any:
    """Runs what asks nothing of the service; a question ends it as one that finds nothing new."""
    try:
        next(operation)
    except StopIteration as end:
        return end.value
    raise LookupError("the service was asked")


@pytest.mark.parametrize("case", GOOD, ids=name_of)
def test_it_proves_what_the_answer_says(case: Any) -> None:
    answer, session, subject = answer_of(case)
    assert run(hold_proof(session, answer, subject)) is answer  # type: ignore[arg-type]


@pytest.mark.parametrize("case", GOOD, ids=name_of)
def test_it_proves_something_else(case: Any) -> None:
    answer, session, subject = answer_of(case)
    changes: dict[str, object] = {"as_of": models.Position(0, 1, "")}
    changes.update({"state": "unheard of"} if hasattr(answer, "state") else {"suspect": not answer.suspect})
    for name, value in changes.items():
        was = answer.__dict__[name]
        answer.__dict__[name] = value
        with pytest.raises(VerificationError) as caught:
            run(hold_proof(session, answer, subject))  # type: ignore[arg-type]
        assert caught.value.code == "verdict_differs"
        answer.__dict__[name] = was


def test_none_and_without_a_trust_root() -> None:
    answer, session, subject = answer_of(GOOD[0])
    answer.__dict__["proof"] = None
    with pytest.raises(UnexpectedAnswer):
        run(hold_proof(session, answer, subject))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        needs_trust_root(FakeSession(None), proof=True)  # type: ignore[arg-type]
    needs_trust_root(FakeSession(None), proof=False)  # type: ignore[arg-type]


def test_of_another_anchor_the_newest_trust_root_is_asked_for() -> None:
    answer, session, _ = answer_of(GOOD[0])
    with pytest.raises((LookupError, AttributeError)):
        run(hold_proof(session, answer, bytes(32)))  # type: ignore[arg-type]
