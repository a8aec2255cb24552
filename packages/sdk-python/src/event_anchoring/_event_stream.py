"""Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import List

from .errors import UnexpectedAnswer

#: A head has a few thousand.
EVENT_CHARS_MAX = 256 * 1024
_LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class ServerSentEvent:
    """One event. Comments, ids and pauses are not kept: a follower goes on from what it has verified."""

    kind: str
    data: str


class EventStream:
    """Takes the bytes of an answer in whatever pieces they come. What the end of the answer has cut is no event."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._begun = ""
        self._ended_in_cr = False
        self._kind = ""
        self._data: List[str] = []

    def push(self, chunk: bytes) -> List[ServerSentEvent]:
        """The events that these bytes complete. Raises UnexpectedAnswer for one that is too large."""
        text = self._decoder.decode(chunk)
        if not text:
            return []
        added = text[1:] if self._ended_in_cr and text.startswith("\n") else text
        self._ended_in_cr = text.endswith("\r")
        *lines, self._begun = _LINE_END.split(self._begun + added)
        events: List[ServerSentEvent] = []
        for line in lines:
            if line:
                self._take(line)
                continue
            if self._data:
                events.append(ServerSentEvent(self._kind or "message", "\n".join(self._data)))
            self._kind, self._data = "", []
        if len(self._begun) + sum(map(len, self._data)) > EVENT_CHARS_MAX:
            raise UnexpectedAnswer(f"an event of more than {EVENT_CHARS_MAX} characters")
        return events

    def _take(self, line: str) -> None:
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            self._kind = value
        elif field == "data":
            self._data.append(value)
