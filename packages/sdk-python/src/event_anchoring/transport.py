"""The seam to HTTP. Hand in a transport of your own to test without a network, or to use another HTTP library."""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Protocol, Tuple

if TYPE_CHECKING:
    import httpx2 as httpx

#: No answer of the service is larger: a batch of 1,000 receipts is below 8 MiB.
ANSWER_BYTES_MAX = 64 * 1024 * 1024


@dataclass(frozen=True)
class Request:
    """One HTTP request. `target` is path and query; `timeout_s` is for the whole exchange."""

    method: str
    target: str
    headers: Tuple[Tuple[str, str], ...]
    body: Optional[bytes]
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
    """

    def __init__(self, message: str, *, was_sent: bool, is_timeout: bool = False) -> None:
        super().__init__(message)
        self.was_sent = was_sent
        self.is_timeout = is_timeout


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


def _library() -> Any:  # noqa: ANN401
    # Half of the time that it takes to import this package would be the HTTP library's: it is loaded when it is used.
    try:
        import httpx2
    except ModuleNotFoundError:
        import httpx  # type: ignore[import-not-found, unused-ignore]

        return httpx
    return httpx2


def _failure_of(error: Exception, library: Any) -> TransportFailure:  # noqa: ANN401
    """Connecting and waiting for a connection come before sending; all that comes later leaves the outcome open."""
    is_timeout = isinstance(error, library.TimeoutException)
    before = (library.ConnectError, library.ConnectTimeout, library.PoolTimeout, library.UnsupportedProtocol)
    message = str(error) or type(error).__name__
    return TransportFailure(message, was_sent=not isinstance(error, before), is_timeout=is_timeout)


class _Collector:
    """Collects a body within bounds of size and time."""

    def __init__(self, response: httpx.Response, deadline: float) -> None:
        self._response = response
        self._deadline = deadline
        self._chunks: List[bytes] = []
        self._length = 0

    def add(self, chunk: bytes) -> None:
        self._length += len(chunk)
        self._chunks.append(chunk)
        if self._length > ANSWER_BYTES_MAX:
            raise TransportFailure(f"an answer of more than {ANSWER_BYTES_MAX} bytes", was_sent=True)
        if time.monotonic() > self._deadline:
            raise TransportFailure("the answer did not end in time", was_sent=True, is_timeout=True)

    def finish(self) -> Response:
        if self._response.headers.get("content-encoding", "identity") != "identity":
            raise TransportFailure("an answer with a content encoding that was not asked for", was_sent=True)
        headers = {name.lower(): value for name, value in self._response.headers.items()}
        return Response(self._response.status_code, headers, b"".join(self._chunks))


def _headers(request: Request) -> List[Tuple[str, str]]:
    return [*request.headers, ("Accept-Encoding", "identity")]


class HttpTransport:
    """The transport of Client: httpx2, or httpx on Python 3.9. Redirects are not followed: they would move the key.

    Args:
        ssl_context: for a private CA; None: the system's.
        connect_timeout_s: for one connection.
    """

    def __init__(self, *, ssl_context: Optional[ssl.SSLContext] = None, connect_timeout_s: float = 3.0) -> None:
        self._library = _library()
        self._connect_timeout_s = connect_timeout_s
        verify = True if ssl_context is None else ssl_context
        self._client: httpx.Client = self._library.Client(verify=verify, follow_redirects=False)

    def send(self, endpoint: str, request: Request) -> Response:
        """Sends one request."""
        deadline = time.monotonic() + request.timeout_s
        timeout = self._library.Timeout(request.timeout_s, connect=min(self._connect_timeout_s, request.timeout_s))
        url = endpoint + request.target
        try:
            with self._client.stream(
                request.method, url, content=request.body, headers=_headers(request), timeout=timeout
            ) as response:
                collector = _Collector(response, deadline)
                for chunk in response.iter_raw():
                    collector.add(chunk)
                return collector.finish()
        except (self._library.HTTPError, self._library.InvalidURL, self._library.StreamError) as error:
            raise _failure_of(error, self._library) from error

    def close(self) -> None:
        """Closes all connections."""
        self._client.close()


class AsyncHttpTransport:
    """The transport of AsyncClient, otherwise as HttpTransport."""

    def __init__(self, *, ssl_context: Optional[ssl.SSLContext] = None, connect_timeout_s: float = 3.0) -> None:
        self._library = _library()
        self._connect_timeout_s = connect_timeout_s
        verify = True if ssl_context is None else ssl_context
        self._client: httpx.AsyncClient = self._library.AsyncClient(verify=verify, follow_redirects=False)

    async def send(self, endpoint: str, request: Request) -> Response:
        """Sends one request."""
        deadline = time.monotonic() + request.timeout_s
        timeout = self._library.Timeout(request.timeout_s, connect=min(self._connect_timeout_s, request.timeout_s))
        url = endpoint + request.target
        try:
            async with self._client.stream(
                request.method, url, content=request.body, headers=_headers(request), timeout=timeout
            ) as response:
                collector = _Collector(response, deadline)
                async for chunk in response.aiter_raw():
                    collector.add(chunk)
                return collector.finish()
        except (self._library.HTTPError, self._library.InvalidURL, self._library.StreamError) as error:
            raise _failure_of(error, self._library) from error

    async def close(self) -> None:
        """Closes all connections."""
        await self._client.aclose()
