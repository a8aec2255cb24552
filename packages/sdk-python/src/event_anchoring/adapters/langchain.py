"""The callback handler of LangChain and LangGraph. It needs langchain-core."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Any, Dict, Mapping, NamedTuple, Optional
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from ..prepare import SemanticAnchorInput
from ._events import EventRecorder, Events, OnError, log_error

__all__ = ["RecordingCallbackHandler"]


class _Begun(NamedTuple):
    tool: str
    arguments: object
    when: datetime
    begun_s: float


class RecordingCallbackHandler(BaseCallbackHandler):
    """A callback handler of LangChain: each call of a tool becomes a `tool.call` when it has ended.

        agent.invoke(question, {"callbacks": [RecordingCallbackHandler(recorder, who="billing-agent")]})

    The content has `tool`, `arguments`, `result` or `error`, `duration_ms`, and LangChain's `run_id` and
    `parent_run_id`.
    """

    def __init__(
        self,
        recorder: EventRecorder,
        *,
        what: str = "tool.call",
        who: Optional[str] = None,
        semantic_anchor: Optional[SemanticAnchorInput] = None,
        on_error: OnError = log_error,
    ) -> None:
        """Makes a handler.

        Args:
            recorder: where events go.
            what: type of the events.
            who: who acts; None: as the recorder was opened with.
            semantic_anchor: what the events refer to, such as the claim and the grant of the agent; None: as the
                recorder was opened with.
            on_error: is called with what keeps an event from being recorded; by default it is logged.
        """
        super().__init__()
        self._events = Events(recorder, what, who, semantic_anchor, on_error)
        self._begun: Dict[UUID, _Begun] = {}

    def on_tool_start(
        self,
        serialized: Mapping[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        inputs: Optional[Mapping[str, Any]] = None,
        **_: object,
    ) -> None:
        """Notes a call."""
        arguments: object = input_str if inputs is None else inputs
        name = str((serialized or {}).get("name") or "tool")
        self._begun[run_id] = _Begun(name, arguments, datetime.now(timezone.utc), time.monotonic())

    def on_tool_end(self, output: object, *, run_id: UUID, parent_run_id: Optional[UUID] = None, **_: object) -> None:
        """Records a call."""
        # A message of the tool's holds what the model is given; other results are what they are.
        self._record(run_id, parent_run_id, {"result": getattr(output, "content", output)})

    def on_tool_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: Optional[UUID] = None, **_: object
    ) -> None:
        """Records a call that has failed."""
        self._record(run_id, parent_run_id, {"error": str(error) or type(error).__name__})

    def _record(self, run_id: UUID, parent_run_id: Optional[UUID], outcome: Mapping[str, object]) -> None:
        begun = self._begun.pop(run_id, None)
        if begun is None:
            return
        content = {
            "tool": begun.tool,
            "arguments": begun.arguments,
            **outcome,
            "duration_ms": round((time.monotonic() - begun.begun_s) * 1000),
            "run_id": str(run_id),
            "parent_run_id": None if parent_run_id is None else str(parent_run_id),
        }
        self._events.record(content, when=begun.when)
