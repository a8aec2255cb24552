from __future__ import annotations

from typing import Any, MutableMapping, Optional

from ..prepare import SemanticAnchorInput
from ._events import EventRecorder, Events, OnError, log_error


class RecordingProcessor:
    """A processor of structlog: what is logged becomes an event, and goes on to the next processor as it was.

        structlog.configure(processors=[RecordingProcessor(recorder), structlog.processors.JSONRenderer()])

    The content is the dictionary of the event, with `level`. Put it behind the processors whose work you want to have
    in it, and before the renderer.
    """

    def __init__(
        self,
        recorder: EventRecorder,
        *,
        what: str = "log",
        who: Optional[str] = None,
        semantic_anchor: Optional[SemanticAnchorInput] = None,
        on_error: OnError = log_error,
    ) -> None:
        """Makes a processor.

        Args:
            recorder: where events go.
            what: type of the events.
            who: who acts; None: as the recorder was opened with.
            semantic_anchor: what the events refer to; None: as the recorder was opened with.
            on_error: is called with what keeps an event from being recorded; by default it is logged.
        """
        self._events = Events(recorder, what, who, semantic_anchor, on_error)

    def __call__(self, _: object, method_name: str, event_dict: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Records the event."""
        self._events.record({"level": method_name, **event_dict})
        return event_dict
