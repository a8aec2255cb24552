"""What the operations of a client run on."""

from __future__ import annotations

import asyncio
import ssl
from types import TracebackType
from typing import AsyncIterator, Optional, Sequence, Type, TypeVar, Union

from .._config import make_session
from .._exchange import Effect, Operation, Outcome, RetryPolicy, Send, Sleep
from .._following import FollowedHead, Following, Give, Open, Receive
from .._inputs import Bytes32
from ..errors import InvalidInput
from ..signing import sign_later
from ..transport import (
    AsyncHttpTransport,
    AsyncStream,
    AsyncStreamingTransport,
    AsyncTransport,
    TransportFailure,
)
from ..trust_root import TrustRootChain

T = TypeVar("T")
ClientT = TypeVar("ClientT", bound="AsyncClientBase")


class AsyncClientBase:
    """Settings, connections, and the loop that an operation runs in."""

    def __init__(
        self,
        endpoints: Union[str, Sequence[str]],
        api_key: Optional[str] = None,
        *,
        origin_fingerprint: Optional[Bytes32] = None,
        trust_root: Optional[TrustRootChain] = None,
        retry: Optional[RetryPolicy] = None,
        timeout_s: float = 10.0,
        batch_timeout_s: float = 20.0,
        allow_plain_http: bool = False,
        ssl_context: Optional[ssl.SSLContext] = None,
        transport: Optional[AsyncTransport] = None,
    ) -> None:
        self._session = make_session(
            endpoints, api_key, origin_fingerprint, trust_root, retry, timeout_s, batch_timeout_s, allow_plain_http
        )
        self._transport: AsyncTransport = (
            AsyncHttpTransport(ssl_context=ssl_context) if transport is None else transport
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(self._session.endpoints)}>"

    async def __aenter__(self: ClientT) -> ClientT:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes all connections."""
        await self._transport.close()

    async def _do(self, effect: Effect) -> Outcome:
        if isinstance(effect, Send):
            try:
                return await self._transport.send(effect.endpoint, effect.request)
            except TransportFailure as failure:
                return failure
        if isinstance(effect, Sleep):
            await asyncio.sleep(effect.seconds)
            return None
        return await sign_later(effect.signer, effect.payload)

    async def _run(self, operation: Operation[T]) -> T:
        outcome: Outcome = None
        try:
            while True:
                effect = operation.send(outcome)
                outcome = await self._do(effect)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            operation.close()

    async def _follow(self, following: Following) -> AsyncIterator[FollowedHead]:
        transport = self._transport
        if not isinstance(transport, AsyncStreamingTransport):
            raise InvalidInput("transport", "it has no `open`, and cannot follow heads")
        stream: Optional[AsyncStream] = None
        outcome: Outcome = None
        try:
            while True:
                effect = following.send(outcome)
                outcome = None
                if isinstance(effect, Give):
                    yield effect.head
                elif isinstance(effect, (Open, Receive)):
                    try:
                        if isinstance(effect, Open):
                            stream = await transport.open(effect.endpoint, effect.request)
                            outcome = stream.head
                        else:
                            outcome = b"" if stream is None else await stream.receive()
                    except TransportFailure as failure:
                        outcome = failure
                else:
                    if isinstance(effect, Sleep) and stream is not None:
                        await stream.close()
                        stream = None
                    outcome = await self._do(effect)
        except StopIteration:
            return
        finally:
            following.close()
            if stream is not None:
                await stream.close()

    @property
    def held_trust_root(self) -> Optional[TrustRootChain]:
        """The trust root that receipts are verified with, as far as it was followed; None: made without one."""
        return self._session.trust_root

    @property
    def origin_fingerprint(self) -> Optional[str]:
        """Where this client writes, in hex; None as long as it has not asked."""
        origin = self._session.origin_fingerprint
        return None if origin is None else origin.hex()
