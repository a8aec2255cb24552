"""What the adapters have in common: what they say of every event, and what they do when it cannot be recorded."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from datetime import datetime
from typing import Callable, Dict, Mapping, Optional, Union

from .._bytes import INTEGER_MAX
from .._recording.base import RecorderBase
from .._recording.handles import AsyncRecordedEvent, RecordedEvent
from ..prepare import SemanticAnchorInput

#: Where events go: a Recorder or an AsyncRecorder.
EventRecorder = Union[RecorderBase[RecordedEvent], RecorderBase[AsyncRecordedEvent]]
OnError = Callable[[Exception], None]

logger = logging.getLogger("event_anchoring.adapters")
#: Deeper than an envelope may be nested is a text.
_NESTING_MAX = 32


def log_error(error: Exception) -> None:
    """What happens to an error if nobody asked for it."""
    logger.warning("an event was not recorded: %s", error)


def plain(value: object, depth: int = 0) -> object:
    """What JSON has for a value; the text of one for which it has nothing, or that an envelope refuses."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return value if -INTEGER_MAX <= value <= INTEGER_MAX else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) and abs(value) <= INTEGER_MAX else str(value)
    if depth < _NESTING_MAX and isinstance(value, Mapping):
        return {str(name): plain(member, depth + 1) for name, member in value.items()}
    if depth < _NESTING_MAX and isinstance(value, (list, tuple)):
        return [plain(member, depth + 1) for member in value]
    return str(value)


@dataclass(frozen=True)
class Events:
    """A recorder, and what an adapter says of each event that does not say it itself."""

    recorder: EventRecorder
    what: str
    who: Optional[str]
    semantic_anchor: Optional[SemanticAnchorInput]
    on_error: OnError

    def record(
        self,
        content: Mapping[str, object],
        *,
        what: Optional[str] = None,
        when: Optional[datetime] = None,
        who: Optional[str] = None,
    ) -> None:
        """Records an event, or tells `on_error`. Members that are None are left out."""
        try:
            given: Dict[str, object] = {name: plain(each) for name, each in content.items() if each is not None}
            self.recorder.record(
                given,
                what=self.what if what is None else what,
                when=when,
                who=self.who if who is None else who,
                semantic_anchor=self.semantic_anchor,
            )
        except Exception as error:  # noqa: BLE001
            # Whatever it was, the program's own work does not end for it, unless on_error says so.
            self.on_error(error)
