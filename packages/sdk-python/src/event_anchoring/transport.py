"""The seam to HTTP. Hand in a transport of your own to test without a network, or to use another HTTP library."""

from __future__ import annotations

import asyncio
import math
import ssl
import threading
import time
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Protocol, Tuple, runtime_checkable

if TYPE_CHECKING:
    import httpx2 as httpx

#: The status of an answer whose body is read as it comes.
_STREAMED = 200
#: No answer of the service is larger: a batch of 1,000 receipts is below 8 MiB.
ANSWER_BYTES_MAX = 64 * 1024 * 1024


@dataclass(frozen=True)
class Request:
    """One HTTP request. `target` is path and query; `timeout_s` is for the whole exchange.

    One of the headers is the API key: they are not printed, and should not be logged.
    """

    method: str
    target: str
    headers: Tuple[Tuple[str, str], ...] = field(repr=False)
    body: Optional[bytes] = field(repr=False)
    timeout_s: float


@dataclass(frozen=True)
class Response:
    """One HTTP response, whole. Names of headers are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TransportFailure(Exception):
    """There is no response.

    Attributes:
        was_sent: the request, or a part of it, may have reached the other side.
        is_timeout: it took too long.
        is_final: asking again, or another endpoint, is useless: the answer is not of this API.
    """

    def __init__(self, message: str, *, was_sent: bool, is_timeout: bool = False, is_final: bool = False) -> None:
        super().__init__(message)
        self.was_sent = was_sent
        self.is_timeout = is_timeout
        self.is_final = is_final


class Transport(Protocol):
    """What Client sends with."""

    def send(self, endpoint: str, request: Request) -> Response:
        """Raises TransportFailure, and nothing else."""
        ...

    def close(self) -> None:
        """Frees connections."""


class AsyncTransport(Protocol):
    """What AsyncClient sends with."""

    async def send(self, endpoint: str, request: Request) -> Response:
        """Raises TransportFailure, and nothing else."""
        ...

    async def close(self) -> None:
        """Frees connections."""


class Stream(Protocol):
    """An answer that is read as it comes. `head` is its status and headers; the body is there unless it is 200."""

    head: Response

    def receive(self) -> bytes:
        """What comes next; nothing: it has ended. Raises TransportFailure, also if nothing comes for `timeout_s`."""
        ...

    def close(self) -> None:
        """Closes the connection."""


@runtime_checkable
class StreamingTransport(Transport, Protocol):
    """A transport that can follow heads."""

    def open(self, endpoint: str, request: Request) -> Stream:
        """Raises TransportFailure, and nothing else. `timeout_s` is for the head, and for each piece that comes."""
        ...


class AsyncStream(Protocol):
    """The same as Stream, to be awaited."""

    head: Response

    async def receive(self) -> bytes:
        """What comes next; nothing: it has ended. Raises TransportFailure, also if nothing comes for `timeout_s`."""
        ...

    async def close(self) -> None:
        """Closes the connection."""


@runtime_checkable
class AsyncStreamingTransport(AsyncTransport, Protocol):
    """The same as StreamingTransport, to be awaited."""

    async def open(self, endpoint: str, request: Request) -> AsyncStream:
        """Raises TransportFailure, and nothing else. `timeout_s` is for the head, and for each piece that comes."""
        ...


def _library() -> Any:  # noqa: ANN401
    # Half of the time that it takes to import this package would be the HTTP library's: it is loaded when it is used.
    try:
        import httpx2
    except ModuleNotFoundError:
        # Python 3.9 has this one; type checkers find it only where another package has brought it along.
        return import_module("httpx")
    return httpx2


def _failure_of(error: Exception, library: Any) -> TransportFailure:  # noqa: ANN401
    """Connecting and waiting for a connection come before sending; all that comes later leaves the outcome open."""
    is_timeout = isinstance(error, library.TimeoutException)
    before = (library.ConnectError, library.ConnectTimeout, library.PoolTimeout, library.UnsupportedProtocol)
    message = str(error) or type(error).__name__
    return TransportFailure(message, was_sent=not isinstance(error, before), is_timeout=is_timeout)


def _client_options(ssl_context: Optional[ssl.SSLContext]) -> Dict[str, Any]:
    return {"verify": True if ssl_context is None else ssl_context, "follow_redirects": False}


class _Collector:
    """Collects a body of bounded size."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._chunks: List[bytes] = []
        self._length = 0

    def add(self, chunk: bytes) -> None:
        self._length += len(chunk)
        self._chunks.append(chunk)
        if self._length > ANSWER_BYTES_MAX:
            raise TransportFailure(f"an answer of more than {ANSWER_BYTES_MAX} bytes", was_sent=True, is_final=True)

    def head(self) -> Response:
        """Status and headers alone."""
        if self._response.headers.get("content-encoding", "identity") != "identity":
            message = "an answer with a content encoding that was not asked for"
            raise TransportFailure(message, was_sent=True, is_final=True)
        headers = {name.lower(): value for name, value in self._response.headers.items()}
        return Response(self._response.status_code, headers, b"")

    def finish(self) -> Response:
        return replace(self.head(), body=b"".join(self._chunks))


def _headers(request: Request) -> List[Tuple[str, str]]:
    return [*request.headers, ("Accept-Encoding", "identity")]


def _too_late() -> TransportFailure:
    return TransportFailure("the answer did not end in time", was_sent=True, is_timeout=True)


class _Deadline(threading.local):
    """When the request that this thread is sending has to end."""

    at = math.inf

    def left(self, timeout: Optional[float]) -> float:
        left = self.at - time.monotonic()
        if left <= 0:
            raise _too_late()
        return left if timeout is None else min(timeout, left)


class _BoundStream:
    """A connection that ends with the time of the request.

    The library bounds each read, and there is no end of them in an answer that comes byte by byte.
    """

    def __init__(self, stream: Any, deadline: _Deadline) -> None:  # noqa: ANN401
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: Optional[float] = None) -> bytes:
        found: bytes = self._stream.read(max_bytes, timeout=self._deadline.left(timeout))
        return found

    def write(self, buffer: bytes, timeout: Optional[float] = None) -> None:
        self._stream.write(buffer, timeout=self._deadline.left(timeout))

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: Optional[str] = None, timeout: Optional[float] = None
    ) -> _BoundStream:
        left = self._deadline.left(timeout)
        return _BoundStream(self._stream.start_tls(ssl_context, server_hostname, timeout=left), self._deadline)

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, name: str) -> object:
        found: object = self._stream.get_extra_info(name)
        return found


class _BoundBackend:
    """Makes such connections."""

    def __init__(self, backend: Any, deadline: _Deadline) -> None:  # noqa: ANN401
        self._backend = backend
        self._deadline = deadline

    def connect_tcp(self, *arguments: Any, **options: Any) -> _BoundStream:  # noqa: ANN401
        return _BoundStream(self._backend.connect_tcp(*arguments, **options), self._deadline)

    def connect_unix_socket(self, *arguments: Any, **options: Any) -> _BoundStream:  # noqa: ANN401
        return _BoundStream(self._backend.connect_unix_socket(*arguments, **options), self._deadline)

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


def _bind(client: Any, deadline: _Deadline) -> None:  # noqa: ANN401
    # There is no public way to hand a network backend through the library. Tests with a slow server hold this to it.
    for transport in (client._transport, *client._mounts.values()):
        pool = None if transport is None else transport._pool
        if pool is not None:
            pool._network_backend = _BoundBackend(pool._network_backend, deadline)


class HttpTransport:
    """The transport of Client: httpx2, or httpx on Python 3.9. Redirects are not followed: they would move the key.

    Args:
        ssl_context: for a private CA; None: the system's.
        connect_timeout_s: for one connection.
    """

    def __init__(self, *, ssl_context: Optional[ssl.SSLContext] = None, connect_timeout_s: float = 3.0) -> None:
        self._library = _library()
        self._connect_timeout_s = connect_timeout_s
        self._deadline = _Deadline()
        self._client: httpx.Client = self._library.Client(**_client_options(ssl_context))
        _bind(self._client, self._deadline)

    def send(self, endpoint: str, request: Request) -> Response:
        """Sends one request."""
        self._deadline.at = time.monotonic() + request.timeout_s
        timeout = self._library.Timeout(request.timeout_s, connect=min(self._connect_timeout_s, request.timeout_s))
        url = endpoint + request.target
        try:
            with self._client.stream(
                request.method, url, content=request.body, headers=_headers(request), timeout=timeout
            ) as response:
                collector = _Collector(response)
                for chunk in response.iter_raw():
                    collector.add(chunk)
                return collector.finish()
        except (self._library.HTTPError, self._library.InvalidURL, self._library.StreamError) as error:
            raise _failure_of(error, self._library) from error

    def open(self, endpoint: str, request: Request) -> Stream:
        """Sends one request whose answer is read as it comes."""
        return _HttpStream(self._client, self._library, self._deadline, endpoint + request.target, request)

    def close(self) -> None:
        """Closes all connections."""
        self._client.close()


class _HttpStream:
    def __init__(self, client: httpx.Client, library: Any, deadline: _Deadline, url: str, request: Request) -> None:  # noqa: ANN401
        self._library = library
        self._deadline = deadline
        self._timeout_s = request.timeout_s
        self._begin_wait()
        timeout = library.Timeout(request.timeout_s)
        try:
            sent = client.build_request(request.method, url, headers=_headers(request), timeout=timeout)
            self._response = client.send(sent, stream=True)
        except (library.HTTPError, library.InvalidURL) as error:
            raise _failure_of(error, library) from error
        self._chunks = self._response.iter_raw()
        try:
            collector = _Collector(self._response)
            while self._response.status_code != _STREAMED and (chunk := self.receive()):
                collector.add(chunk)
            self.head = collector.finish()
        except TransportFailure:
            self.close()
            raise

    def _begin_wait(self) -> None:
        self._deadline.at = time.monotonic() + self._timeout_s

    def receive(self) -> bytes:
        self._begin_wait()
        try:
            for chunk in self._chunks:
                return chunk
        except (self._library.HTTPError, self._library.StreamError) as error:
            raise _failure_of(error, self._library) from error
        return b""

    def close(self) -> None:
        self._response.close()


class AsyncHttpTransport:
    """The transport of AsyncClient, otherwise as HttpTransport."""

    def __init__(self, *, ssl_context: Optional[ssl.SSLContext] = None, connect_timeout_s: float = 3.0) -> None:
        self._library = _library()
        self._connect_timeout_s = connect_timeout_s
        self._client: httpx.AsyncClient = self._library.AsyncClient(**_client_options(ssl_context))

    async def send(self, endpoint: str, request: Request) -> Response:
        """Sends one request."""
        try:
            return await asyncio.wait_for(self._send(endpoint, request), request.timeout_s)
        except asyncio.TimeoutError as error:
            raise _too_late() from error
        except (self._library.HTTPError, self._library.InvalidURL, self._library.StreamError) as error:
            raise _failure_of(error, self._library) from error

    async def _send(self, endpoint: str, request: Request) -> Response:
        timeout = self._library.Timeout(request.timeout_s, connect=min(self._connect_timeout_s, request.timeout_s))
        url = endpoint + request.target
        async with self._client.stream(
            request.method, url, content=request.body, headers=_headers(request), timeout=timeout
        ) as response:
            collector = _Collector(response)
            async for chunk in response.aiter_raw():
                collector.add(chunk)
            return collector.finish()

    async def open(self, endpoint: str, request: Request) -> AsyncStream:
        """Sends one request whose answer is read as it comes."""
        timeout = self._library.Timeout(request.timeout_s)
        url = endpoint + request.target
        try:
            sent = self._client.build_request(request.method, url, headers=_headers(request), timeout=timeout)
            response = await asyncio.wait_for(self._client.send(sent, stream=True), request.timeout_s)
        except asyncio.TimeoutError as error:
            raise _too_late() from error
        except (self._library.HTTPError, self._library.InvalidURL) as error:
            raise _failure_of(error, self._library) from error
        stream = _AsyncHttpStream(response, self._library, request.timeout_s)
        try:
            await stream.begin()
        except BaseException:
            await stream.close()
            raise
        return stream

    async def close(self) -> None:
        """Closes all connections."""
        await self._client.aclose()


class _AsyncHttpStream:
    head: Response

    def __init__(self, response: httpx.Response, library: Any, timeout_s: float) -> None:  # noqa: ANN401
        self._response = response
        self._library = library
        self._timeout_s = timeout_s
        self._chunks = response.aiter_raw()

    async def begin(self) -> None:
        collector = _Collector(self._response)
        while self._response.status_code != _STREAMED and (chunk := await self.receive()):
            collector.add(chunk)
        self.head = collector.finish()

    async def receive(self) -> bytes:
        try:
            return await asyncio.wait_for(self._next(), self._timeout_s)
        except asyncio.TimeoutError as error:
            raise _too_late() from error
        except (self._library.HTTPError, self._library.StreamError) as error:
            raise _failure_of(error, self._library) from error

    async def _next(self) -> bytes:
        async for chunk in self._chunks:
            return chunk
        return b""

    async def close(self) -> None:
        await self._response.aclose()
