"""The feed of an origin, from its events to verified heads. Without any I/O of its own, as _exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generator, Optional, Union

from . import _inputs as inputs
from . import models
from ._calls import make_call
from ._decode import decode
from ._event_stream import EventStream, ServerSentEvent
from ._exchange import Call, Effect, Operation, Outcome, Session, Sleep, fail, log_request, parse_json
from ._held import hold_checkpoint
from ._inputs import Bytes32
from ._operations.node import origin as origin_of
from .errors import (
    AnchoringError,
    ApiProblem,
    ConnectionFailed,
    InvalidInput,
    RateLimited,
    Rollback,
    TimedOut,
    Unavailable,
    UnexpectedAnswer,
    VerificationError,
)
from .monitor import Evidence, Head, check_continues
from .receipt import VerifiedCheckpoint
from .transport import Request, Response, TransportFailure

#: A node sends something every 10 seconds.
SILENCE_S_MAX = 30.0
#: So many tries in a row, before the first feed was opened, and the error is raised: the address may be wrong.
UNOPENED_TRIES_MAX = 5
PAUSE_S = 0.25
PAUSE_S_MAX = 30.0
#: A feed that has lived so long did not fail at once: the pauses begin anew.
STEADY_S = 10.0


@dataclass(frozen=True)
class FollowedHead(Head):
    """A head whose signatures and quorum are good, and which is proved to continue the one before.

    Attributes:
        verified: who has cosigned, whose tree it is, and by which trust root it was judged.
        previous_tree_size: leaves in the head before; None: this is the first, and none was held.
    """

    verified: VerifiedCheckpoint
    previous_tree_size: Optional[int]


@dataclass(frozen=True)
class Open:
    """Send a request whose answer has no end. Outcome: a Response, without its body if it is 200; TransportFailure."""

    endpoint: str
    request: Request


@dataclass(frozen=True)
class Receive:
    """Wait for bytes of that answer. Outcome: bytes, none at its end; TransportFailure."""


@dataclass(frozen=True)
class Give:
    """Give a head out. Outcome: nothing."""

    head: FollowedHead


Following = Generator[Union[Effect, Open, Receive, Give], Outcome, None]


@dataclass(frozen=True)
class _HeadEvent:
    checkpoint: str
    consistency: Optional[models.ConsistencyFrom] = None


class _Heads:
    """The heads of one origin, each held against the one before."""

    def __init__(self, session: Session, origin: bytes, after: Optional[Head]) -> None:
        self._session = session
        self.origin = origin
        self.held = after

    def next(self, event: ServerSentEvent) -> Operation[Optional[FollowedHead]]:
        """What an event shows; None: the head that was given out last, once more."""
        try:
            shown = decode(_HeadEvent, parse_json(event.data.encode("utf-8")))
        except ValueError as error:
            raise UnexpectedAnswer("an event is no JSON") from error
        verified = yield from hold_checkpoint(self._session, shown.checkpoint)
        if verified.origin_fingerprint != self.origin:
            raise VerificationError("origin_differs", f"the head is of origin {verified.origin_fingerprint.hex()}")
        old, found = self.held, verified.checkpoint
        new = FollowedHead(
            found.tree_size, found.root_hash, shown.checkpoint, verified, None if old is None else old.tree_size
        )
        if old is not None:
            is_larger = new.tree_size > old.tree_size
            proof = shown.consistency
            if is_larger and (proof is None or proof.from_size != old.tree_size):
                raise UnexpectedAnswer(f"the proof of a head does not begin at {old.tree_size} leaves")
            evidence = Evidence(self.origin, old.checkpoint, new.checkpoint)
            check_continues(old, new, () if proof is None else proof.proof, found.origin, evidence)
            if not is_larger:
                return None
        self.held = new
        return new

    def refused(self, problem: ApiProblem) -> AnchoringError:
        """A quorum that does not know a head that was seen has rolled back."""
        if self.held is None or problem.code != "from_size_ahead":
            return problem
        message = f"origin {self.origin.hex()} had {self.held.tree_size} leaves, and a quorum knows less of it"
        return Rollback("rollback", message, result=Evidence(self.origin, self.held.checkpoint, None))


class _Feeds:
    """One feed after another, at one endpoint after another."""

    def __init__(self, session: Session, heads: _Heads, silence_s: float) -> None:
        self._session = session
        self._heads = heads
        self._silence_s = silence_s
        self._failures = 0
        self._place = 0
        self._has_opened = False
        self._opened_at: Optional[float] = None

    def follow(self) -> Following:
        while True:
            self._opened_at = None
            try:
                yield from self._follow_one()
            except (ConnectionFailed, TimedOut, RateLimited, Unavailable) as error:
                yield Sleep(self._pause_s(error))
            except ApiProblem as problem:
                raise self._heads.refused(problem) from problem

    def _follow_one(self) -> Following:
        endpoint = self._session.endpoints[self._place % len(self._session.endpoints)]
        call = self._call()
        opened_at = self._session.clock()
        outcome = yield Open(endpoint, call.request)
        if isinstance(outcome, (Response, TransportFailure)):
            log_request(call, endpoint, 1, outcome, self._session.clock() - opened_at)
        # A 429 is about the API key: another endpoint would say the same.
        if not (isinstance(outcome, Response) and outcome.status == 429):
            self._place += 1
        if isinstance(outcome, TransportFailure) or (isinstance(outcome, Response) and outcome.status != 200):
            fail(self._session, outcome, call, endpoint, in_doubt=False, attempts=1)
        stream = EventStream()
        while True:
            chunk = yield Receive()
            if isinstance(chunk, TransportFailure):
                fail(self._session, chunk, call, endpoint, in_doubt=False, attempts=1)
            if not isinstance(chunk, bytes) or not chunk:
                raise ConnectionFailed("the other side has ended the feed")
            self._has_opened = True
            if self._opened_at is None:
                self._opened_at = self._session.clock()
            for event in stream.push(chunk):
                yield from self._take(event)

    def _take(self, event: ServerSentEvent) -> Following:
        if event.kind == "end":
            raise ConnectionFailed(f"the node has ended the feed: {event.data}")
        if event.kind != "head":
            return
        head = yield from self._heads.next(event)
        if head is not None:
            self._failures = 0
            yield Give(head)

    def _call(self) -> Call:
        held = self._heads.held
        return make_call(
            self._session,
            "GET",
            f"/v1/origins/{self._heads.origin.hex()}/feed",
            needs_key=False,
            takes_key=True,
            accept="text/event-stream",
            answers=(200,),
            timeout_s=self._silence_s,
            last_event_id=None if held is None else held.tree_size,
        )

    def _pause_s(self, error: AnchoringError) -> float:
        """Raises the error if no feed could be opened at all."""
        if self._opened_at is not None and self._session.clock() - self._opened_at >= STEADY_S:
            self._failures = 0
        self._failures += 1
        if not self._has_opened and self._failures >= UNOPENED_TRIES_MAX:
            raise error
        backoff = min(PAUSE_S * 2.0 ** min(self._failures - 1, 16), PAUSE_S_MAX)
        return max(backoff * (0.5 + self._session.chance() / 2), error.retry_after or 0.0)


def follow_heads(
    session: Session, origin_fingerprint: Optional[Bytes32], after: Optional[Head], silence_s: float
) -> Following:
    """GET /v1/origins/{origin_fingerprint}/feed, again and again."""
    if session.trust_root is None:
        raise InvalidInput("trust_root", "heads are verified: make the client with a trust root")
    if after is not None and not isinstance(after, Head):
        raise InvalidInput("after", "expected a Head")
    if after is not None:
        inputs.integer("after.tree_size", after.tree_size, minimum=1)
        inputs.bytes32("after.root_hash", after.root_hash)
    origin = yield from origin_of(session, origin_fingerprint)
    yield from _Feeds(session, _Heads(session, origin, after), silence_s).follow()
