"""The tracing processor of OpenAI's Agents SDK. It needs openai-agents."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Callable, Dict, Optional

from agents.tracing import (
    AgentSpanData,
    FunctionSpanData,
    GuardrailSpanData,
    HandoffSpanData,
    Span,
    Trace,
    TracingProcessor,
)

from ..prepare import SemanticAnchorInput
from ..recorder import Recorder
from ._events import Events, OnError, log_error

__all__ = ["RecordingTracingProcessor"]

#: What an agent does, by the type of the span.
_TYPES = {"function": "tool.call", "handoff": "handoff", "guardrail": "guardrail"}


def _is_act(span: Span[Any]) -> bool:
    return span.span_data.type in _TYPES


class RecordingTracingProcessor(TracingProcessor):
    """A tracing processor of OpenAI's Agents SDK: what an agent does becomes an event when it has ended.

        set_trace_processors([RecordingTracingProcessor(recorder)])

    A call of a tool is a `tool.call` with `tool`, `arguments`, `result` or `error`; there are `handoff` (`from_agent`,
    `to_agent`) and `guardrail` (`guardrail`, `triggered`). Each has `duration_ms`, `trace_id`, `span_id` and
    `parent_span_id`. The agent whose span is around it is who acted.
    """

    def __init__(
        self,
        recorder: Recorder,
        *,
        who: Optional[str] = None,
        select: Callable[[Span[Any]], bool] = _is_act,
        semantic_anchor: Optional[SemanticAnchorInput] = None,
        on_error: OnError = log_error,
    ) -> None:
        """Makes a processor.

        Args:
            recorder: where events go.
            who: who acts where there is no agent around a span; None: as the recorder was opened with.
            select: is asked which spans are recorded. Others than those of tools, handoffs and guardrails are of the
                type `openai_agents.<type of the span>`, and have what the span exports (`data`).
            semantic_anchor: what the events refer to, such as the claim and the grant of the agent; None: as the
                recorder was opened with.
            on_error: is called with what keeps an event from being recorded; by default it is logged. What it raises
                is logged by the Agents SDK, and the agent goes on.
        """
        self._events = Events(recorder, "openai_agents", who, semantic_anchor, on_error)
        self._recorder = recorder
        self._select = select
        #: For each trace that has not ended: the agent around each of its spans that have not.
        self._agents: Dict[str, Dict[str, Optional[str]]] = {}

    def on_trace_start(self, trace: Trace) -> None:
        """Notes a trace."""
        self._agents[trace.trace_id] = {}

    def on_trace_end(self, trace: Trace) -> None:
        """Forgets the trace."""
        self._agents.pop(trace.trace_id, None)

    def on_span_start(self, span: Span[Any]) -> None:
        """Notes the agent around a span."""
        agents = self._agents.get(span.trace_id)
        if agents is None:
            return
        around = agents.get(span.parent_id or "")
        agents[span.span_id] = span.span_data.name if isinstance(span.span_data, AgentSpanData) else around

    def on_span_end(self, span: Span[Any]) -> None:
        """Records a span."""
        who = self._agents.get(span.trace_id, {}).pop(span.span_id, None)
        if not self._select(span):
            return
        started, ended = _time(span.started_at), _time(span.ended_at)
        took = None if started is None or ended is None else ended - started
        content = {
            **_said(span.span_data),
            "error": None if span.error is None else {"message": span.error["message"], "data": span.error["data"]},
            "duration_ms": None if took is None else round(took.total_seconds() * 1000),
            "trace_id": span.trace_id,
            "span_id": span.span_id,
            "parent_span_id": span.parent_id,
        }
        kind = span.span_data.type
        self._events.record(content, what=_TYPES.get(kind, f"openai_agents.{kind}"), when=ended, who=who)

    def force_flush(self) -> None:
        """Returns when all that was recorded is anchored and kept. Raises NotFlushed."""
        self._recorder.flush()

    def shutdown(self) -> None:
        """Does nothing: the recorder is closed by the one who has opened it, or by the end of the program."""


def _said(data: object) -> Dict[str, object]:
    if isinstance(data, FunctionSpanData):
        mcp = data.mcp_data
        return {"tool": data.name, "arguments": _arguments(data.input), "result": data.output, "mcp": mcp}
    if isinstance(data, HandoffSpanData):
        return {"from_agent": data.from_agent, "to_agent": data.to_agent}
    if isinstance(data, GuardrailSpanData):
        return {"guardrail": data.name, "triggered": data.triggered}
    exported = getattr(data, "export", None)
    return {"data": exported() if callable(exported) else None}


def _arguments(text: Optional[str]) -> object:
    """A model gives them as JSON; what is none is a text."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def _time(text: Optional[str]) -> Optional[datetime]:
    return None if text is None else datetime.fromisoformat(text)
