from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Any, Awaitable, Callable, Mapping, MutableMapping, Optional

from ..prepare import SemanticAnchorInput
from ._events import EventRecorder, Events, OnError, log_error

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class RecordingMiddleware:
    """A middleware of FastAPI, Starlette or any ASGI application: each request becomes an event when it has ended.

        app.add_middleware(RecordingMiddleware, recorder=recorder, who=lambda scope: scope["user"].display_name)

    The content has `method`, `path`, the `route` that took it, `status`, `duration_ms`, and whether the answer was sent
    as a whole (`complete`). Query, headers and bodies are not recorded.
    """

    def __init__(
        self,
        app: App,
        *,
        recorder: EventRecorder,
        what: str = "http.request",
        who: Optional[Callable[[Mapping[str, Any]], Optional[str]]] = None,
        select: Optional[Callable[[Mapping[str, Any]], bool]] = None,
        semantic_anchor: Optional[SemanticAnchorInput] = None,
        on_error: OnError = log_error,
    ) -> None:
        """Wraps an application.

        Args:
            app: the application.
            recorder: where events go.
            what: type of the events.
            who: is asked who acts, with the scope of a request that has ended; None: as the recorder was opened with.
            select: is asked which requests are recorded; None: all.
            semantic_anchor: what the events refer to; None: as the recorder was opened with.
            on_error: is called with what keeps an event from being recorded; by default it is logged.
        """
        self._app = app
        self._who = who
        self._select = select
        self._events = Events(recorder, what, None, semantic_anchor, on_error)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request, and records it."""
        if scope["type"] != "http" or (self._select is not None and not self._select(scope)):
            await self._app(scope, receive, send)
            return
        when, begun = datetime.now(timezone.utc), time.monotonic()
        status: Optional[int] = None
        is_complete = False

        async def note(message: Message) -> None:
            nonlocal status, is_complete
            await send(message)
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                is_complete = not message.get("more_body", False)

        try:
            await self._app(scope, receive, note)
        finally:
            content = {
                "method": scope["method"],
                "path": scope["path"],
                "route": getattr(scope.get("route"), "path", None),
                "status": status,
                "duration_ms": round((time.monotonic() - begun) * 1000),
                "complete": is_complete,
            }
            self._events.record(content, when=when, who=None if self._who is None else self._who(scope))
