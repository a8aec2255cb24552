"""Adapters: each gives a recorder what a framework sees. None of the frameworks is needed to import this module.

    logging.getLogger().addHandler(RecordingHandler(recorder))                                    # logging
    structlog.configure(processors=[RecordingProcessor(recorder), structlog.processors.JSONRenderer()])
    app.add_middleware(RecordingMiddleware, recorder=recorder)                                    # FastAPI, Starlette

`event_anchoring.adapters.langchain` has the callback handler of LangChain, which needs langchain-core, and
`event_anchoring.adapters.openai_agents` the tracing processor of OpenAI's Agents SDK, which needs openai-agents.
"""

from __future__ import annotations

from ._asgi import RecordingMiddleware
from ._events import EventRecorder
from ._logging import RecordingHandler
from ._structlog import RecordingProcessor

__all__ = ["EventRecorder", "RecordingHandler", "RecordingMiddleware", "RecordingProcessor"]
