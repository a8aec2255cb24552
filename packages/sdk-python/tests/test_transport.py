"""The real transports, against a server of this process."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Iterator, List

import pytest

from event_anchoring import Request, Response, TransportFailure, transport
from event_anchoring.transport import AsyncHttpTransport, HttpTransport


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: ClassVar[List[Any]] = []
    released: ClassVar[threading.Event]

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        Handler.seen.append((self.path, dict(self.headers), body))
        if self.path == "/hang-up":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if self.path == "/silence":
            Handler.released.wait(10)
            self.close_connection = True
            return
        content = {"/gzip": gzip.compress(b"{}"), "/large": b"x" * 5000}.get(self.path, b'{"a":1}')
        self.send_response(302 if self.path == "/redirect" else 200)
        if self.path == "/gzip":
            self.send_header("Content-Encoding", "gzip")
        if self.path == "/redirect":
            self.send_header("Location", "/elsewhere")
        self.send_header("X-Request-Id", "r")
        length = len(content) + (9 if self.path == "/short" else 0)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(content)
        if self.path == "/short":
            self.close_connection = True


@pytest.fixture
def server() -> Iterator[str]:
    Handler.seen, Handler.released = [], threading.Event()
    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=serving.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_address[1]}"
    Handler.released.set()
    serving.shutdown()
    thread.join()
    serving.server_close()


def send_sync(endpoint: str, request: Request, **options: Any) -> Response:
    used = HttpTransport(**options)
    try:
        return used.send(endpoint, request)
    finally:
        used.close()


def send_async(endpoint: str, request: Request, **options: Any) -> Response:
    async def run() -> Response:
        used = AsyncHttpTransport(**options)
        try:
            return await used.send(endpoint, request)
        finally:
            await used.close()

    return asyncio.run(run())


both = pytest.mark.parametrize("send", [send_sync, send_async])


def request(target: str, timeout_s: float = 5.0) -> Request:
    return Request("POST", target, (("X-Own", "1"),), b"body", timeout_s)


@both
def test_what_is_sent_and_what_comes_back(server: str, send: Any) -> None:
    response = send(server, request("/v1/event-anchors:verify?a=%2F%3A"))
    assert (response.status, response.body) == (200, b'{"a":1}')
    assert response.headers["x-request-id"] == "r"
    ((path, headers, body),) = Handler.seen
    assert (path, body) == ("/v1/event-anchors:verify?a=%2F%3A", b"body")
    assert headers["X-Own"] == "1"
    assert headers["Accept-Encoding"] == "identity"


@both
def test_redirects_are_not_followed(server: str, send: Any) -> None:
    assert send(server, request("/redirect")).status == 302
    assert len(Handler.seen) == 1


@both
@pytest.mark.parametrize("target", ["/hang-up", "/gzip", "/short"])
def test_answers_that_are_none(server: str, send: Any, target: str) -> None:
    with pytest.raises(TransportFailure) as caught:
        send(server, request(target))
    assert caught.value.was_sent
    assert not caught.value.is_timeout


@both
def test_silence(server: str, send: Any) -> None:
    with pytest.raises(TransportFailure) as caught:
        send(server, request("/silence", 0.2))
    assert caught.value.was_sent
    assert caught.value.is_timeout


@both
def test_an_answer_without_end(server: str, send: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "ANSWER_BYTES_MAX", 4000)
    with pytest.raises(TransportFailure, match="more than 4000 bytes"):
        send(server, request("/large"))


@both
def test_nobody_there(send: Any) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    with pytest.raises(TransportFailure) as caught:
        send(f"http://127.0.0.1:{port}", request("/"))
    assert not caught.value.was_sent


@both
def test_a_private_ca_is_asked_for_by_its_context(server: str, send: Any) -> None:
    with pytest.raises(TransportFailure) as caught:
        send(server.replace("http:", "https:"), request("/"), ssl_context=ssl.create_default_context())
    assert not caught.value.was_sent
    assert Handler.seen == []
