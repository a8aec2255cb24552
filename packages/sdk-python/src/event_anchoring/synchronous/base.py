"""What the operations of a client run on."""

from __future__ import annotations

import ssl
import time
from types import TracebackType
from typing import Iterator, Optional, Sequence, Type, TypeVar, Union

from .._config import make_session
from .._exchange import Effect, Operation, Outcome, RetryPolicy, Send, Sleep
from .._following import FollowedHead, Following, Give, Open, Receive
from .._inputs import Bytes32
from ..errors import InvalidInput
from ..signing import sign_now
from ..transport import (
    HttpTransport,
    Stream,
    StreamingTransport,
    Transport,
    TransportFailure,
)
from ..trust_root import TrustRootChain

T = TypeVar("T")
ClientT = TypeVar("ClientT", bound="ClientBase")


class ClientBase:
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
        transport: Optional[Transport] = None,
    ) -> None:
        self._session = make_session(
            endpoints, api_key, origin_fingerprint, trust_root, retry, timeout_s, batch_timeout_s, allow_plain_http
        )
        self._transport: Transport = HttpTransport(ssl_context=ssl_context) if transport is None else transport

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(self._session.endpoints)}>"

    def __enter__(self: ClientT) -> ClientT:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections."""
        self._transport.close()

    def _do(self, effect: Effect) -> Outcome:
        if isinstance(effect, Send):
            try:
                return self._transport.send(effect.endpoint, effect.request)
            except TransportFailure as failure:
                return failure
        if isinstance(effect, Sleep):
            time.sleep(effect.seconds)
            return None
        return sign_now(effect.signer, effect.payload)

    def _run(self, operation: Operation[T]) -> T:
        outcome: Outcome = None
        try:
            while True:
                effect = operation.send(outcome)
                outcome = self._do(effect)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            operation.close()

    def _follow(self, following: Following) -> Iterator[FollowedHead]:
        transport = self._transport
        if not isinstance(transport, StreamingTransport):
            raise InvalidInput("transport", "it has no `open`, and cannot follow heads")
        stream: Optional[Stream] = None
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
                            stream = transport.open(effect.endpoint, effect.request)
                            outcome = stream.head
                        else:
                            outcome = b"" if stream is None else stream.receive()
                    except TransportFailure as failure:
                        outcome = failure
                else:
                    if isinstance(effect, Sleep) and stream is not None:
                        stream.close()
                        stream = None
                    outcome = self._do(effect)
        except StopIteration:
            return
        finally:
            following.close()
            if stream is not None:
                stream.close()

    @property
    def held_trust_root(self) -> Optional[TrustRootChain]:
        """The trust root that receipts are verified with, as far as it was followed; None: made without one."""
        return self._session.trust_root

    @property
    def origin_fingerprint(self) -> Optional[str]:
        """Where this client writes, in hex; None as long as it has not asked."""
        origin = self._session.origin_fingerprint
        return None if origin is None else origin.hex()
