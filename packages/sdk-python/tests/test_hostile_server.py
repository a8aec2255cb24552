"""Servers that do what they like with a connection: each call ends in time, in one error of ours, without the key."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from typing import Any, Callable, Iterator, List

import pytest

from event_anchoring import (
    AnchoringError,
    AsyncClient,
    Client,
    ConnectionFailed,
    OutcomeUnknown,
    RetryPolicy,
    TimedOut,
    UnexpectedAnswer,
    transport,
)

from .test_client import HEALTH, ID, ORIGIN

KEY = "ea_the-key-of-this-test"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
Behaviour = Callable[[socket.socket], None]


class Server:
    """Accepts connections, reads what comes first, and behaves."""

    def __init__(self, behave: Behaviour) -> None:
        self.seen: List[bytes] = []
        self._behave = behave
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            # Whatever becomes of one connection, the next one is taken.
            with connection, contextlib.suppress(OSError):
                connection.settimeout(10)
                self.seen.append(connection.recv(65536))
                self._behave(connection)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


@pytest.fixture
def serve() -> Iterator[Callable[[Behaviour], Server]]:
    servers: List[Server] = []

    def start(behave: Behaviour) -> Server:
        servers.append(Server(behave))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def once(sent: bytes) -> Behaviour:
    return lambda connection: connection.sendall(sent)


def without_end(first: bytes, part: bytes, pause_s: float = 0.02) -> Behaviour:
    """Always a little more, so that no single read takes long."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(first)
        # Until the other side goes away.
        while True:
            connection.sendall(part)
            # The pause is what this server does to its client; nothing waits for it.
            time.sleep(pause_s)

    return behave


def with_body(body: bytes, head: bytes = HEAD) -> bytes:
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


SLOW = {
    "nothing": lambda connection: connection.recv(1),
    "a status line without end": without_end(b"HTTP/1.1 200 O", b"K"),
    "headers without end": without_end(HEAD, b"x: y\r\n"),
    "hints without end": without_end(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "a body byte by byte": without_end(HEAD + b"content-length: 99999\r\n\r\n", b" "),
    "chunks without end": without_end(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
}
BROKEN = {
    "hung up": once(b""),
    "no HTTP": once(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "cut off": once(HEAD + b"content-length: 500\r\n\r\n{"),
    "two lengths": once(HEAD + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}"),
    "a length that is none": once(HEAD + b"content-length: -1\r\n\r\n{}"),
    "a chunk that is none": once(HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n{}"),
    "a header of a megabyte": once(HEAD + b"x: " + b"y" * 1_000_000 + b"\r\n\r\n"),
}
NOT_OF_THE_API = {
    "truncated JSON": once(with_body(b'{"status":"ok","node')),
    "another type": once(with_body(b'{"anchor":7}')),
    "a page": once(with_body(b"<html>hello</html>", HEAD.replace(b"application/json", b"text/html"))),
    "not UTF-8": once(with_body(b"\xff\xfe{}")),
    "a byte order mark": once(with_body(b"\xef\xbb\xbf{}")),
    "gzip": once(with_body(b"\x1f\x8b\x08", HEAD + b"content-encoding: gzip\r\n")),
    "NaN": once(with_body(b'{"status":NaN}')),
    "deep": once(with_body(b"[" * 100_000)),
}


def ask_sync(url: str, write: bool, **options: Any) -> None:
    with Client(url, KEY, origin_fingerprint=ORIGIN, retry=RetryPolicy(attempts_max=1), **options) as used:
        if write:
            used.create_event_anchor(ID)
        else:
            used.get_anchor(ID)


def ask_async(url: str, write: bool, **options: Any) -> None:
    async def run() -> None:
        retry = RetryPolicy(attempts_max=1)
        async with AsyncClient(url, KEY, origin_fingerprint=ORIGIN, retry=retry, **options) as used:
            if write:
                await used.create_event_anchor(ID)
            else:
                await used.get_anchor(ID)

    asyncio.run(run())


both = pytest.mark.parametrize("ask", [ask_sync, ask_async], ids=["Client", "AsyncClient"])


def chain_of(error: BaseException) -> str:
    """All that a log would show of an error."""
    shown, cause = "", error
    while True:
        shown += f"{cause} {cause!r}\n"
        following = cause.__cause__ or cause.__context__
        if following is None:
            return shown
        cause = following


@both
@pytest.mark.parametrize("name", SLOW)
def test_what_has_no_end_ends_in_time(serve: Any, ask: Any, name: str) -> None:
    server = serve(SLOW[name])
    for write, of_class in ((False, TimedOut), (True, OutcomeUnknown)):
        began = time.monotonic()
        with pytest.raises(of_class) as caught:
            ask(server.url, write, timeout_s=0.3)
        assert time.monotonic() - began < 5
        assert KEY not in chain_of(caught.value)
    assert KEY.encode() in server.seen[0]


@both
@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_is_a_lost_connection(serve: Any, ask: Any, name: str) -> None:
    server = serve(BROKEN[name])
    for write, of_class in ((False, ConnectionFailed), (True, OutcomeUnknown)):
        with pytest.raises(of_class) as caught:
            ask(server.url, write)
        assert KEY not in chain_of(caught.value)


@both
@pytest.mark.parametrize("name", NOT_OF_THE_API)
def test_what_is_not_of_the_api(serve: Any, ask: Any, name: str) -> None:
    server = serve(NOT_OF_THE_API[name])
    for write, of_class in ((False, UnexpectedAnswer), (True, OutcomeUnknown)):
        with pytest.raises(of_class) as caught:
            ask(server.url, write)
        assert KEY not in chain_of(caught.value)


@both
@pytest.mark.parametrize("head", [b"content-length: 209715200\r\n\r\n", b"transfer-encoding: chunked\r\n\r\n"])
def test_200_megabytes(serve: Any, ask: Any, head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "ANSWER_BYTES_MAX", 1_000_000)
    part = b" " * 65536
    server = serve(without_end(HEAD + head, b"10000\r\n" + part + b"\r\n" if b"chunked" in head else part, 0))
    with pytest.raises(UnexpectedAnswer, match="more than 1000000 bytes"):
        ask(server.url, False)
    with pytest.raises(OutcomeUnknown):
        ask(server.url, True)
    assert len(server.seen) == 2


@both
@pytest.mark.parametrize("status", [b"301", b"302", b"303", b"307", b"308"])
def test_a_redirect_takes_the_key_nowhere(serve: Any, ask: Any, status: bytes) -> None:
    elsewhere = serve(once(with_body(json.dumps(HEALTH).encode())))
    location = b"HTTP/1.1 %s Go\r\nlocation: %s/v1\r\ncontent-length: 0\r\n\r\n" % (status, elsewhere.url.encode())
    server = serve(once(location))
    for write in (False, True):
        with pytest.raises(UnexpectedAnswer):
            ask(server.url, write)
    assert [KEY.encode() in each for each in server.seen] == [True, True]
    assert elsewhere.seen == []


@both
def test_an_echo_of_the_key(serve: Any, ask: Any) -> None:
    said = json.dumps({"code": "invalid_request", "detail": f"Bearer {KEY}", "errors": [{"detail": KEY}]}).encode()
    server = serve(once(with_body(said, HEAD.replace(b"200 OK", b"400 Bad"))))
    with pytest.raises(AnchoringError) as caught:
        ask(server.url, True)
    assert caught.value.code == "invalid_request"
    assert KEY not in chain_of(caught.value) + repr(vars(caught.value))
