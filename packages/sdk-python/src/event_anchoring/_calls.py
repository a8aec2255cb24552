"""From a route to a typed answer: what all operations have in common."""

from __future__ import annotations

import json
from typing import Callable, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union
from urllib.parse import quote

from ._decode import decode
from ._exchange import Call, Operation, Session, ask_again, exchange, new_request_id, read_answer
from ._options import Wait
from ._version import __version__
from .errors import InvalidInput, OutcomeUnknown, UnexpectedAnswer
from .transport import Request, Response

T = TypeVar("T")
Query = Sequence[Tuple[str, Union[str, int, None]]]


def target_of(path: str, query: Query = ()) -> str:
    """A path and its query. Everything but unreserved characters is encoded; what is None is left out."""
    parts = [f"{name}={quote(str(value), safe='')}" for name, value in query if value is not None]
    return path + ("?" + "&".join(parts) if parts else "")


def make_call(
    session: Session,
    method: str,
    target: str,
    body: Optional[Mapping[str, object]] = None,
    *,
    is_write: bool = False,
    is_repeatable: bool = True,
    client_event_ids: Tuple[Optional[str], ...] = (),
    wait: Optional[Wait] = None,
    needs_key: bool = True,
    takes_key: bool = False,
    is_batch: bool = False,
    longer_s: float = 0,
    accept: str = "application/json",
    answers: Tuple[int, ...] = (200, 201, 202),
    timeout_s: Optional[float] = None,
    last_event_id: Optional[int] = None,
) -> Call:
    """A call with its headers. Raises InvalidInput if it needs an API key and there is none.

    takes_key: it needs no API key, and shows more with one.
    longer_s: how much longer than usual the service may take.
    timeout_s: instead of what is usual.
    last_event_id: the last event that was taken of a stream.
    """
    request_id = new_request_id()
    headers: List[Tuple[str, str]] = [
        ("Accept", accept),
        ("User-Agent", f"event-anchoring-python/{__version__}"),
        ("X-Request-Id", request_id),
    ]
    if needs_key and session.api_key is None:
        raise InvalidInput("api_key", "this call needs an API key")
    if session.api_key is not None and (needs_key or takes_key):
        headers.append(("Authorization", f"Bearer {session.api_key}"))
    encoded = None if body is None else json.dumps(body, separators=(",", ":")).encode("ascii")
    if encoded is not None:
        headers.append(("Content-Type", "application/json"))
    prefer = None if wait is None else wait.header()
    if prefer is not None:
        headers.append(("Prefer", prefer))
    if last_event_id is not None:
        headers.append(("Last-Event-ID", str(last_event_id)))
    usual_s = (session.batch_timeout_s if is_batch else session.timeout_s) + longer_s
    if wait is not None and wait.seconds is not None:
        usual_s = max(usual_s, wait.seconds + 5.0)
    request = Request(method, target, tuple(headers), encoded, usual_s if timeout_s is None else timeout_s)
    return Call(request, is_write, is_repeatable, request_id, client_event_ids, answers)


def ask(session: Session, call: Call, read: Callable[[object], T]) -> Operation[T]:
    """Makes a call whose answer is JSON.

    Raises:
        UnexpectedAnswer: the answer cannot be read.
        OutcomeUnknown: the same for a write, which may be recorded nevertheless.
    """
    response: Response = yield from exchange(session, call)
    try:
        return read_answer(response, read)
    except UnexpectedAnswer as error:
        error.request_id = error.request_id or call.request_id
        if not call.is_write:
            raise
        message = f"{error.message}, so whether this was recorded is not known; {ask_again(call)}"
        raise OutcomeUnknown(message, client_event_ids=call.client_event_ids, request_id=error.request_id) from error


def ask_bytes(session: Session, path: str, accept: str) -> Operation[bytes]:
    """Makes a call whose answer is not JSON: of the log itself, for which a public log needs no API key."""
    call = make_call(session, "GET", path, accept=accept, answers=(200,), needs_key=False, takes_key=True)
    response: Response = yield from exchange(session, call)
    return response.body


def get(
    session: Session,
    of_class: Type[T],
    path: str,
    query: Query = (),
    *,
    needs_key: bool = True,
    longer_s: float = 0,
) -> Operation[T]:
    """A GET."""
    call = make_call(session, "GET", target_of(path, query), needs_key=needs_key, longer_s=longer_s)
    return (yield from ask(session, call, lambda body: decode(of_class, body)))


def question(
    session: Session, of_class: Type[T], path: str, body: Mapping[str, object], *, is_batch: bool = False
) -> Operation[T]:
    """A POST that changes nothing."""
    call = make_call(session, "POST", path, body, is_batch=is_batch)
    return (yield from ask(session, call, lambda answer: decode(of_class, answer)))
