"""What `record` gives back: an event's names, and what it is waited for with."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Optional, Protocol, Union

from ..errors import AnchoringError
from .kept import KeptEvent


@dataclass(frozen=True)
class RecorderProgress:
    """Counts since the recorder was opened; what an earlier run has left is among them.

    Attributes:
        recorded: events in the spool, or once in it.
        durable: those that survive a loss of power.
        anchored: those that are anchored and kept.
        refused: those that the service refuses for good.
    """

    recorded: int
    durable: int
    anchored: int
    refused: int


class Waited(Protocol):
    """Where the futures of handles come from."""

    def durable_future(self, handle: RecordedEvent) -> Future[None]:
        """Done with the next group sync."""
        ...

    def anchored_future(self, handle: RecordedEvent) -> Future[KeptEvent]:
        """Done when the event is kept."""
        ...


class RecordedEvent:
    """An event that was recorded: the end of this process does not lose it.

    Attributes:
        client_event_id: 32 hex digits, by which the service knows the event again.
        event_hash: what is anchored.
    """

    __slots__ = ("__weakref__", "_waited", "client_event_id", "event_hash", "number", "outcome")

    def __init__(self, waited: Waited, client_event_id: str, event_hash: bytes, number: int) -> None:
        self._waited = waited
        self.client_event_id = client_event_id
        self.event_hash = event_hash
        self.number = number
        self.outcome: Optional[Union[KeptEvent, AnchoringError]] = None

    @property
    def durable(self) -> Future[None]:
        """Done as soon as the event survives a loss of power, too.

        It fails with SpoolWriteFailed if a sync of the event's file has failed: the event is anchored all the same, and
        only the files that it is kept in make it durable.
        """
        return self._waited.durable_future(self)

    @property
    def anchored(self) -> Future[KeptEvent]:
        """Done when the event is anchored, and envelope and receipt are on the disk."""
        return self._waited.anchored_future(self)

    def __repr__(self) -> str:
        return f"<RecordedEvent {self.client_event_id}>"


class AsyncRecordedEvent:
    """An event that was recorded, as RecordedEvent; its futures are awaited."""

    __slots__ = ("_handle", "client_event_id", "event_hash")

    def __init__(self, handle: RecordedEvent) -> None:
        self._handle = handle
        self.client_event_id = handle.client_event_id
        self.event_hash = handle.event_hash

    @property
    def durable(self) -> asyncio.Future[None]:
        """As RecordedEvent.durable."""
        return asyncio.wrap_future(self._handle.durable)

    @property
    def anchored(self) -> asyncio.Future[KeptEvent]:
        """Done when the event is anchored, and envelope and receipt are on the disk."""
        return asyncio.wrap_future(self._handle.anchored)

    def __repr__(self) -> str:
        return f"<AsyncRecordedEvent {self.client_event_id}>"
