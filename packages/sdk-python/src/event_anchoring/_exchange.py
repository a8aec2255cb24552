"""From a request to an answer: when to ask again, whom, and what a failure is called. Without any I/O of its own.

An *operation* is a generator that yields what it wants done (Send, Sleep, Sign) and is sent the outcome. Client and
AsyncClient differ in who does that, and in nothing else.
"""

from __future__ import annotations

import email.utils
import json
import logging
import random
import re
import time
import uuid
from dataclasses import dataclass, field
from typing import Callable, Dict, Generator, List, Mapping, NoReturn, Optional, Tuple, TypeVar, Union

from .errors import (
    ApiProblem,
    ConnectionFailed,
    InvalidInput,
    OutcomeUnknown,
    TimedOut,
    UnexpectedAnswer,
    problem_class,
)
from .signing import Signer
from .transport import Request, Response, TransportFailure
from .trust_root import TrustRootChain

T = TypeVar("T")

logger = logging.getLogger("event_anchoring")

_INTEGER_DIGITS_MAX = 32
_TEXT_CHARS_MAX = 1000
#: What is shorter is no secret, and may be part of any word.
_SECRET_CHARS_MIN = 8
_REQUEST_ID = re.compile(r"[!-~]{1,128}")


@dataclass(frozen=True)
class Send:
    """Send a request. Outcome: a Response or a TransportFailure."""

    endpoint: str
    request: Request


@dataclass(frozen=True)
class Sleep:
    """Wait. Outcome: nothing."""

    seconds: float


@dataclass(frozen=True)
class Sign:
    """Ask a signer. Outcome: bytes."""

    signer: Signer
    payload: bytes


Effect = Union[Send, Sleep, Sign]
Outcome = Union[Response, TransportFailure, bytes, None]
Operation = Generator[Effect, Outcome, T]


def send(effect: Send) -> Operation[Union[Response, TransportFailure]]:
    """The outcome of sending."""
    outcome = yield effect
    if not isinstance(outcome, (Response, TransportFailure)):
        raise TypeError("sending ends in a response or in a failure")
    return outcome


def sign(signer: Signer, payload: bytes) -> Operation[bytes]:
    """The signature of a signer."""
    outcome = yield Sign(signer, payload)
    if not isinstance(outcome, bytes):
        raise TypeError("signing ends in bytes")
    return outcome


@dataclass(frozen=True)
class RetryPolicy:
    """How long to go on asking. A delay is drawn between half of the backoff and the whole of it.

    Attributes:
        attempts_max: tries of one call, the first included; 1: never ask again.
        total_s: no try begins later than this after the first.
        backoff_s: after the first try; it doubles with each further one.
        backoff_max_s: where it stops doubling. `Retry-After` may ask for more.
    """

    attempts_max: int = 5
    total_s: float = 30.0
    backoff_s: float = 0.1
    backoff_max_s: float = 5.0

    def __post_init__(self) -> None:
        if self.attempts_max < 1 or min(self.total_s, self.backoff_s, self.backoff_max_s) < 0:
            raise InvalidInput("retry", "at least one attempt, and no negative times")

    def delay_s(self, attempt: int, chance: float) -> float:
        """Before the try after this one. `chance` is from 0 to 1."""
        backoff = min(self.backoff_s * 2.0 ** min(attempt - 1, 32), self.backoff_max_s)
        return backoff * (0.5 + chance / 2)


@dataclass
class Session:
    """What the calls of one client share."""

    endpoints: Tuple[str, ...]
    api_key: Optional[str] = field(repr=False)
    origin_fingerprint: Optional[bytes]
    trust_root: Optional[TrustRootChain]
    retry: RetryPolicy
    timeout_s: float
    batch_timeout_s: float
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    _current: int = 0

    def endpoint(self) -> str:
        """The endpoint to ask: the one that answered last."""
        return self.endpoints[self._current]

    def move_on(self, endpoint: str) -> None:
        """Ask the next one from now on, unless another call has moved on already."""
        if self.endpoint() == endpoint:
            self._current = (self._current + 1) % len(self.endpoints)


@dataclass(frozen=True)
class Call:
    """One call of the API.

    Attributes:
        is_write: it may have an effect.
        is_repeatable: sending it again has no further effect: a read, or a write that the ledger knows again.
        client_event_ids: of the events in it, to be told when their outcome is unknown; none for other records.
    """

    request: Request
    is_write: bool
    is_repeatable: bool
    request_id: str
    client_event_ids: Tuple[Optional[str], ...] = ()
    answers: Tuple[int, ...] = (200, 201, 202)


def exchange(session: Session, call: Call) -> Operation[Response]:
    """Sends a request until there is an answer to it: the one place that decides whether to ask again.

    Retried are: connections that could not be made, 429, and, if the call is repeatable, failures that leave its
    outcome open (lost connections, timeouts, 500, 502, 503, 504). Never any other 4xx. Each failed try except a 429,
    which is about the API key, moves on to the next endpoint. `Retry-After` is honoured; if it asks for more than is
    left of the budget, the failure is reported at once.
    """
    started = session.clock()
    in_doubt = False  # a try that may have been recorded
    attempt = 0
    while True:
        attempt += 1
        endpoint = session.endpoint()
        sent_at = session.clock()
        outcome = yield from send(Send(endpoint, call.request))
        log_request(call, endpoint, attempt, outcome, session.clock() - sent_at)
        if isinstance(outcome, Response) and outcome.status in call.answers:
            return outcome
        in_doubt = in_doubt or _leaves_doubt(outcome)
        is_rate_limited = isinstance(outcome, Response) and outcome.status == 429
        if _is_about_endpoint(outcome):
            session.move_on(endpoint)
        is_allowed = call.is_repeatable or is_rate_limited or not _was_sent(outcome)
        is_allowed = is_allowed and _is_worth_another_try(outcome)
        delay = max(session.retry.delay_s(attempt, session.chance()), _retry_after(outcome) or 0.0)
        is_in_budget = session.clock() - started + delay <= session.retry.total_s
        if not (is_allowed and is_in_budget and attempt < session.retry.attempts_max):
            fail(session, outcome, call, endpoint, in_doubt=in_doubt, attempts=attempt)
        yield Sleep(delay)


def log_request(
    call: Call, endpoint: str, attempt: int, outcome: Union[Response, TransportFailure], seconds: float
) -> None:
    """One line, at the level DEBUG, about a try. Headers and bodies are no part of it, nor is the API key."""
    request, ended = call.request, outcome.status if isinstance(outcome, Response) else _no_answer(outcome)
    words = "%s %s, try %d, at %s: %s in %.0f ms, request %s"
    logger.debug(words, request.method, request.target, attempt, endpoint, ended, seconds * 1000, call.request_id)


def _no_answer(failure: TransportFailure) -> str:
    if failure.is_timeout:
        return "no answer in time"
    return "lost" if failure.was_sent else "no connection"


def _is_worth_another_try(outcome: Union[Response, TransportFailure]) -> bool:
    if isinstance(outcome, TransportFailure):
        return not outcome.is_final
    return outcome.status in (429, 500, 502, 503, 504)


def _is_about_endpoint(outcome: Union[Response, TransportFailure]) -> bool:
    """Whether another endpoint may do better. 429 is about the API key, any other 4xx about the request."""
    return isinstance(outcome, TransportFailure) or outcome.status >= 500


def _is_decisive(outcome: Union[Response, TransportFailure]) -> bool:
    """Refusals that say that no earlier try of the same call was recorded either.

    The ledger looks for a replay before it gives one of these. 401, 403, 408 and 429 come before it has looked.
    """
    if isinstance(outcome, TransportFailure):
        return False
    return 400 <= outcome.status < 500 and outcome.status not in (401, 403, 408, 429)


def _was_sent(outcome: Union[Response, TransportFailure]) -> bool:
    return outcome.was_sent if isinstance(outcome, TransportFailure) else True


def _leaves_doubt(outcome: Union[Response, TransportFailure]) -> bool:
    """Whether what was sent may have been recorded."""
    if isinstance(outcome, TransportFailure):
        return outcome.was_sent
    if outcome.status == 503:
        return problem_of(outcome, None).code == "outcome_unknown"
    # A success that is no answer of the API may have been one.
    return outcome.status >= 500 or 200 <= outcome.status < 300


def ask_again(call: Call) -> str:
    """What to do about a write whose outcome is not known."""
    replayed = "what was recorded is replayed, not recorded twice"
    if not call.is_repeatable:
        return "it has no client_event_id, so asking again may record it a second time"
    if len(call.client_event_ids) > 1:
        return f"ask again with the same client_event_ids: {replayed}"
    if call.client_event_ids:
        return f"ask again with the same client_event_id, {call.client_event_ids[0]!r}: {replayed}"
    return f"ask again with the same content: {replayed}"


def fail(
    session: Session,
    outcome: Union[Response, TransportFailure],
    call: Call,
    endpoint: str,
    *,
    in_doubt: bool,
    attempts: int,
) -> NoReturn:
    """Raises what a call is told whose last try ended so."""
    # No API key can be in it: an endpoint has no user and no query.
    tries = f"one try, of {endpoint}" if attempts == 1 else f"{attempts} tries, the last of {endpoint}"
    problem = problem_of(outcome, session.api_key) if isinstance(outcome, Response) else None
    cause = outcome if isinstance(outcome, TransportFailure) else problem
    if call.is_write and in_doubt and not _is_decisive(outcome):
        message = f"whether this was recorded is not known after {tries} ({cause}); {ask_again(call)}"
        raise OutcomeUnknown(
            message,
            client_event_ids=call.client_event_ids,
            request_id=call.request_id,
            retry_after=_retry_after(outcome),
        ) from cause
    if isinstance(outcome, Response):
        if outcome.status >= 400 and problem is not None:
            raise problem
        raise UnexpectedAnswer(f"status {outcome.status} is no answer of the API", request_id=call.request_id)
    if outcome.is_final:
        raise UnexpectedAnswer(str(outcome), request_id=call.request_id) from outcome
    if not outcome.was_sent:
        message = f"no endpoint could be reached in {tries}: {outcome}"
        raise ConnectionFailed(message) from outcome
    if outcome.is_timeout:
        raise TimedOut(f"no answer in {tries}: {outcome}", request_id=call.request_id) from outcome
    raise ConnectionFailed(f"the connection was lost in {tries}: {outcome}") from outcome


def _retry_after(outcome: Union[Response, TransportFailure]) -> Optional[float]:
    """Seconds, from either form of the header (RFC 9110 section 10.2.3)."""
    value = outcome.headers.get("retry-after") if isinstance(outcome, Response) else None
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        at = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError, IndexError):
        # Neither of the two forms: treated as absent.
        return None
    return max(0.0, at.timestamp() - time.time())


def _reject_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _read_int(digits: str) -> int:
    # No integer of the API has more digits, and some versions of Python take minutes for a long one.
    if len(digits) > _INTEGER_DIGITS_MAX:
        raise ValueError("an integer without end")
    return int(digits)


def parse_json(body: bytes) -> object:
    """Raises ValueError for what is not JSON, too deep, or not UTF-8."""
    try:
        parsed: object = json.loads(body.decode("utf-8"), parse_constant=_reject_constant, parse_int=_read_int)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return parsed


def _without_key(value: object, api_key: Optional[str]) -> object:
    """The same text without the API key: an answer may quote it, and an error's text ends up in logs."""
    if api_key is None or len(api_key) < _SECRET_CHARS_MIN:
        return value
    if isinstance(value, str):
        return value.replace(api_key, "<API_KEY>")
    if isinstance(value, dict):
        return {_without_key(name, api_key): _without_key(member, api_key) for name, member in value.items()}
    return [_without_key(each, api_key) for each in value] if isinstance(value, list) else value


def _text(value: object) -> str:
    """How an untrusted text is shown: on one line, and cut at a limit."""
    shown = value[:_TEXT_CHARS_MAX] if isinstance(value, str) else ""
    return "".join(each if each.isprintable() else " " for each in shown)


def request_id_of(response: Response) -> Optional[str]:
    """The `X-Request-Id` of an answer, if it is one."""
    found = response.headers.get("x-request-id", "")
    return found if _REQUEST_ID.fullmatch(found) is not None else None


def problem_of(response: Response, api_key: Optional[str]) -> ApiProblem:
    """The problem that a refusal is, also where something in between has answered for the service."""
    request_id = request_id_of(response)
    retry_after = _retry_after(response)
    of_status = problem_class(response.status)
    try:
        parsed = _without_key(parse_json(response.body), api_key)
    except (ValueError, RecursionError):
        # Not of the service: a proxy's page, say. The status is what is left.
        parsed = None
    members: Dict[str, object] = parsed if isinstance(parsed, dict) else {}
    code = _text(members.get("code"))
    if not code:
        return of_status(
            f"http_{response.status}",
            f"status {response.status} without a problem",
            status=response.status,
            request_id=request_id,
            retry_after=retry_after,
        )
    errors = members.get("errors")
    items: List[Mapping[str, object]] = []
    if isinstance(errors, list):
        items = [each for each in errors if isinstance(each, dict)]
    return of_status(
        code,
        _text(members.get("detail")) or _text(members.get("title")),
        status=response.status,
        title=_text(members.get("title")),
        errors=tuple(items),
        members=members,
        request_id=request_id or _text(members.get("request_id")) or None,
        retry_after=retry_after,
    )


def read_answer(response: Response, read: Callable[[object], T]) -> T:
    """The content of an answer's body.

    Raises:
        UnexpectedAnswer: it is not of the API.
    """
    request_id = request_id_of(response)
    try:
        return read(parse_json(response.body))
    except ValueError as error:
        raise UnexpectedAnswer("the answer is no JSON", request_id=request_id) from error
    except UnexpectedAnswer as error:
        error.request_id = error.request_id or request_id
        raise


def new_request_id() -> str:
    """One for each call: all its tries carry it, so that it is known even if nothing is answered."""
    return uuid.uuid4().hex
