"""From the spool to what is kept: when a batch goes, what becomes of each event of it, and when it is asked again.

A generator that yields what it wants done and is sent the outcome. Recorder and AsyncRecorder differ in who does that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Generator, List, Optional, Sequence, Tuple, TypeVar, Union, cast

from .._bytes import sha256
from .._options import EventInput
from ..errors import AnchoringError, ApiProblem, EventRefused, InvalidInput
from ..models import Anchor, CreatedBatch
from ..proof import Receipt
from .frames import SpooledEvent
from .recording import Recording
from .spool import Taken

T = TypeVar("T")

_PAUSE_MIN_S = 0.5
_PAUSE_MAX_S = 60.0
#: Signed events in one batch, by the API.
_SIGNED_MAX = 256
_FIELDS = ("semantic_anchor", "actor_public_key", "actor_signature")
#: What the service says of one event, and would say again.
_FOR_GOOD = (400, 404, 409, 410, 413, 422)
#: What it says of a batch in which one event may be the reason.
_ABOUT_SOME = (400, 413, 422)


@dataclass(frozen=True)
class Rest:
    """Wait so long, or until something is recorded that cannot wait. None: until then."""

    seconds: Optional[float]


@dataclass(frozen=True)
class Ask:
    """Anchor these. Outcome: a CreatedBatch, or the error."""

    events: Sequence[EventInput]


@dataclass(frozen=True)
class Work:
    """Read or write files. Outcome: what the call returns, or its error."""

    call: Callable[[], object]


Effect = Union[Rest, Ask, Work]
Sending = Generator[Effect, object, None]
Anchored = List[Tuple[Taken, Anchor, Receipt]]


def _work(call: Callable[[], T]) -> Generator[Effect, object, T]:
    outcome = yield Work(call)
    if isinstance(outcome, Exception):
        raise outcome
    # The driver answers with what the call returned.
    return cast("T", outcome)


class Sender:
    """Sends what a recording takes.

    Whatever fails is asked again after a pause that doubles up to a minute. What fails as a whole (no connection, say)
    holds up everything; single events that the service does not answer with a receipt hold up nobody else.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._again: List[Taken] = []
        self._again_at = 0.0
        self._again_pause = _PAUSE_MIN_S

    def run(self) -> Sending:
        """Goes on until the recording stops."""
        recording = self._recording
        while not recording.is_stopping:
            due_in = self._due_in()
            if due_in is None or due_in > 0:
                yield Rest(due_in)
                continue
            is_hurried, recording.is_hurried = recording.is_hurried, False
            batch = (yield from _work(recording.take)) if recording.untaken > 0 else []
            if self._again and (is_hurried or not batch or time.monotonic() >= self._again_at):
                batch, self._again = [*self._again, *batch], []
            for part in self._parts(batch):
                yield from self._send(part)

    def _due_in(self) -> Optional[float]:
        """Seconds until something is to be sent; None: nothing waits."""
        recording, now = self._recording, time.monotonic()
        untaken = recording.untaken
        times = [self._again_at - now] if self._again else []
        if untaken > 0:
            is_full = untaken >= recording.settings.batch_events_max
            times.append(0.0 if is_full else recording.oldest_at + recording.settings.batch_ms / 1000 - now)
        if times and recording.is_hurried:
            return 0.0
        return min(times, default=None)

    def _parts(self, batch: List[Taken]) -> List[List[Taken]]:
        most = self._recording.settings.batch_events_max
        if self._recording.settings.actor is not None:
            most = min(most, _SIGNED_MAX)
        return [batch[at : at + most] for at in range(0, len(batch), most)]

    def _send(self, batch: List[Taken]) -> Sending:
        """Asks until there is an answer about each event of the batch."""
        pause = _PAUSE_MIN_S
        events = self._inputs(batch)
        while events and not self._recording.is_stopping:
            error: Optional[Exception]
            answer = yield Ask([event for _, event in events])
            if isinstance(answer, CreatedBatch):
                events, error = yield from self._sort_out(events, answer)
                if error is None:
                    return
            elif isinstance(answer, Exception):
                error = answer
            else:
                raise TypeError("asking ends in a batch or in an error")
            if _is_about_events(error):
                yield from self._single_out([taken for taken, _ in events], error)
                return
            self._recording.report(error)
            asked = error.retry_after if isinstance(error, AnchoringError) else None
            yield from self._rest(max(pause, asked or 0.0))
            pause = min(2 * pause, _PAUSE_MAX_S)

    def _rest(self, seconds: float) -> Sending:
        recording, until = self._recording, time.monotonic() + seconds
        while not (recording.is_stopping or recording.is_hurried):
            left = until - time.monotonic()
            if left <= 0:
                break
            yield Rest(left)
        recording.is_hurried = False

    def _inputs(self, batch: List[Taken]) -> List[Tuple[Taken, EventInput]]:
        """The events as the client takes them, without those that nobody here can sign."""
        events: List[Tuple[Taken, EventInput]] = []
        for taken in batch:
            try:
                events.append((taken, self._input_of(taken.event)))
            except InvalidInput as error:
                self._recording.report(error)
                self._ask_again([taken])
        return events

    def _input_of(self, event: SpooledEvent) -> EventInput:
        fields = event.request()
        given: Dict[str, Any] = {name: fields[name] for name in _FIELDS if name in fields}
        key = given.get("actor_public_key")
        if key is not None and "actor_signature" not in given:
            actor = self._recording.settings.actor
            if actor is None or actor.public_key.hex() != key:
                raise InvalidInput("actor", f"an event was recorded to be signed with {key}, which is not given")
            given = {**given, "actor": actor, "actor_public_key": None}
        return EventInput(sha256(event.envelope), client_event_id=event.client_event_id.hex(), **given)

    def _sort_out(
        self, events: List[Tuple[Taken, EventInput]], answer: CreatedBatch
    ) -> Generator[Effect, object, Tuple[List[Tuple[Taken, EventInput]], Optional[OSError]]]:
        """Returns those that are anchored and could not be kept, and why: the service will replay them."""
        anchored: Anchored = []
        asked: List[Tuple[Taken, EventInput]] = []
        again: List[Taken] = []
        for (taken, event), result in zip(events, answer.results):
            error = None if result.problem is None else result.problem.to_error()
            if result.anchor is not None and result.receipt is not None:
                anchored.append((taken, result.anchor, result.receipt))
                asked.append((taken, event))
            elif error is not None and _is_for_good(error):
                yield from self._refuse(taken, error)
            else:
                # Committed, and without a receipt yet; or not now.
                if error is not None:
                    self._recording.report(error)
                again.append(taken)
        self._ask_again(again)
        if not self._again:
            self._again_pause = _PAUSE_MIN_S
        try:
            self._recording.settle_kept((yield from _work(lambda: self._recording.keep(anchored))))
        except OSError as failed:
            return asked, failed
        return [], None

    def _ask_again(self, events: List[Taken]) -> None:
        if events and not self._again:
            self._again_at = time.monotonic() + self._again_pause
            self._again_pause = min(2 * self._again_pause, _PAUSE_MAX_S)
        self._again += events

    def _refuse(self, taken: Taken, problem: ApiProblem) -> Sending:
        name = taken.event.client_event_id.hex()
        error = EventRefused(problem.code, problem.message, name, problem.status)
        try:
            yield from _work(lambda: self._recording.put_aside(taken, error))
        except OSError as failed:
            # The service will refuse it again.
            self._recording.report(failed)
            self._ask_again([taken])
        else:
            self._recording.settle_refused(taken, error)

    def _single_out(self, batch: List[Taken], error: Exception) -> Sending:
        """The request was refused for one of its events: the halves are sent, until it is alone."""
        if len(batch) > 1:
            middle = len(batch) // 2
            yield from self._send(batch[:middle])
            yield from self._send(batch[middle:])
        elif isinstance(error, ApiProblem):
            yield from self._refuse(batch[0], error)
        else:
            self._recording.report(error)
            self._ask_again(batch)


def _is_for_good(problem: ApiProblem) -> bool:
    # A closed or lost origin is not the event's fault: another one takes it.
    return problem.status in _FOR_GOOD and not problem.code.startswith(("http_", "origin_"))


def _is_about_events(error: Exception) -> bool:
    """Whether fewer events might be taken. Something on the way that is not the service has no code of its own."""
    if isinstance(error, ApiProblem):
        return error.status in _ABOUT_SOME and not error.code.startswith(("http_", "origin_"))
    return isinstance(error, InvalidInput) and error.field.startswith("events")
