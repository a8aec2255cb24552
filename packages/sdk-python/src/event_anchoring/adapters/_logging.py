from __future__ import annotations

import logging
from datetime import datetime, timezone
from typing import Optional

from ..prepare import SemanticAnchorInput
from ..recorder import Recorder
from ._events import Events

#: What every record has; the rest is what the program has said by `extra`.
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_FORMATTER = logging.Formatter()
#: What the threads of a recorder log, its HTTP library among it, would be events that are sent, and logged again.
_OF_RECORDERS = "event-anchoring-"


class RecordingHandler(logging.Handler):
    """A handler of `logging`: each record becomes an event before the logging call returns.

        logging.getLogger("billing").addHandler(RecordingHandler(recorder))

    The content has `level`, `logger`, `message`, what the program has given as `extra`, and the traceback of an
    exception as text (`exception`). What the threads of the recorder log themselves is not recorded.
    """

    def __init__(
        self,
        recorder: Recorder,
        level: int = logging.NOTSET,
        *,
        what: str = "log",
        who: Optional[str] = None,
        semantic_anchor: Optional[SemanticAnchorInput] = None,
    ) -> None:
        """Makes a handler.

        Args:
            recorder: where events go.
            level: less is not recorded.
            what: type of the events.
            who: who acts; None: as the recorder was opened with.
            semantic_anchor: what the events refer to; None: as the recorder was opened with.
        """
        super().__init__(level)
        self._events = Events(recorder, what, who, semantic_anchor, self._raise)

    @staticmethod
    def _raise(error: Exception) -> None:
        raise error

    def emit(self, record: logging.LogRecord) -> None:
        """Records it. What cannot be recorded goes the way of all handlers' errors: `handleError`."""
        if (record.threadName or "").startswith(_OF_RECORDERS):
            return
        try:
            content = {name: value for name, value in vars(record).items() if name not in _USUAL}
            content.update(level=record.levelname, logger=record.name, message=record.getMessage())
            if record.exc_info is not None and record.exc_info[0] is not None:
                content["exception"] = _FORMATTER.formatException(record.exc_info)
            self._events.record(content, when=datetime.fromtimestamp(record.created, timezone.utc))
        except Exception:  # noqa: BLE001
            self.handleError(record)
