"""The state of a recorder, which `record`, the sender and the syncer share. One lock guards it."""

from __future__ import annotations

import logging
import os
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple, TypeVar, Union
from weakref import WeakValueDictionary

from ..errors import AnchoringError, EventRefused, InvalidInput, SpoolFull, SpoolWriteFailed
from ..models import Anchor
from ..proof import Receipt
from ..signing import Signer
from .folders import make_folder
from .frames import frame_of
from .handles import RecordedEvent, RecorderProgress
from .kept import KeptEvent, KeptFolder
from .lock import FolderLock
from .spool import Spool, Taken, Unsynced

T = TypeVar("T")

#: Between two syncs of the spool, so that one serves many events.
_SYNC_PAUSE_S = 0.005

logger = logging.getLogger("event_anchoring.recorder")


def log_error(error: Exception) -> None:
    """What happens to an error if nobody asked for it."""
    logger.warning("recorded events are not anchored yet: %s", error)


@dataclass(frozen=True)
class Settings:
    """What a recorder is told; Recorder.open says what each of them means."""

    directory: Path
    keep: Path
    batch_events_max: int
    batch_ms: int
    spool_bytes_max: int
    salt: bool
    who: Optional[str]
    fields: Mapping[str, object]
    actor: Optional[Signer]
    on_anchored: Optional[Callable[[KeptEvent], None]]
    on_error: Callable[[Exception], None]
    on_progress: Optional[Callable[[RecorderProgress], None]]


def _tell(callback: Optional[Callable[[T], None]], value: T) -> None:
    if callback is None:
        return
    try:
        callback(value)
    except Exception:
        # It is the caller's, and must not end the recording of everybody else's events.
        logger.exception("a callback of the recorder failed")


def _resolve(future: Optional[Future[T]], result: T) -> None:
    # Whoever waited may have given it up.
    if future is not None and future.set_running_or_notify_cancel():
        future.set_result(result)


def _finish(future: Future[None], fault: Optional[Exception]) -> None:
    if fault is None:
        _resolve(future, None)
    else:
        _fail(future, fault)


def _fail(future: Future[T], error: BaseException) -> None:
    if future.set_running_or_notify_cancel():
        future.set_exception(error)


class Recording:
    """The folder of a recorder, and who waits for what is in it."""

    def __init__(self, settings: Settings, wake: Callable[[], None]) -> None:
        """Takes the folder. Raises FolderInUse, SpoolCorrupt."""
        self.settings = settings
        self.wake = wake
        self.is_stopping = False
        self.is_hurried = False
        self.oldest_at = time.monotonic()  # when the oldest event came that is in no batch
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._is_dirty = threading.Event()
        self._is_closed = False
        self._lost: Set[int] = set()  # numbers of events that are not settled, in files that cannot be synced
        self._sync_fault: Optional[SpoolWriteFailed] = None
        self._failure: Optional[Exception] = None
        self._refused_length = 0
        self._handles: WeakValueDictionary[str, RecordedEvent] = WeakValueDictionary()
        self._durable_futures: Dict[int, Future[None]] = {}
        self._anchored_futures: Dict[str, Future[KeptEvent]] = {}
        self._flushes: List[Tuple[int, Future[None]]] = []
        self._rooms: List[Future[None]] = []
        self._out: Set[int] = set()  # numbers of events that are in a batch, and not settled
        above = make_folder(settings.directory)
        self._folder_lock = FolderLock(settings.directory)
        try:
            self._spool = Spool(settings.directory / "spool", settings.spool_bytes_max, above)
            self._kept = KeptFolder(settings.keep, settings.directory / "refused")
        except BaseException:
            self._folder_lock.release()
            raise
        self._synced_to = self._spool.appended  # a number: what is newer was not synced yet
        self._anchored = 0
        self._settled = 0
        self._syncer = threading.Thread(target=self._sync_on, name="event-anchoring-sync", daemon=True)
        self._syncer.start()

    @property
    def is_closed(self) -> bool:
        """True: nothing may be written to the folder any more."""
        return self._is_closed

    @property
    def is_of_this_process(self) -> bool:
        """False in a process that was forked: its parent has the folder, and the threads."""
        return self._pid == os.getpid()

    def add(
        self, own_id: bytes, event_hash: bytes, content: Optional[bytes], fields: bytes, envelope: bytes
    ) -> RecordedEvent:
        """Appends an event to the spool."""
        if not self.is_of_this_process:
            raise InvalidInput("recorder", "this process was forked from the one that opened it: open one of its own")
        frame = frame_of(own_id, content, fields, envelope)
        name = own_id.hex()
        with self._lock:
            if self._is_closed:
                raise InvalidInput("recorder", "it is closed")
            try:
                self._spool.append(frame)
            except SpoolFull:
                self._refused_length = len(frame)
                raise
            number = self._spool.appended
            untaken = number - self._spool.taken
            if untaken == 1:
                self.oldest_at = time.monotonic()
            handle = RecordedEvent(self, name, event_hash, number)
            self._handles[name] = handle
        if not self._is_dirty.is_set():
            self._is_dirty.set()
        if untaken in (1, self.settings.batch_events_max):
            self.wake()
        return handle

    # What is waited for.

    def durable_future(self, handle: RecordedEvent) -> Future[None]:
        """Done with the next group sync; failed if that fails, until the event is kept."""
        with self._lock:
            if handle.number > self._synced_to:
                return self._durable_futures.setdefault(handle.number, Future())
            fault = self._sync_fault if handle.number in self._lost else None
        future: Future[None] = Future()
        _finish(future, fault)
        return future

    def anchored_future(self, handle: RecordedEvent) -> Future[KeptEvent]:
        """Done when the event is kept; failed if the service refuses it for good."""
        with self._lock:
            if handle.outcome is None:
                return self._anchored_futures.setdefault(handle.client_event_id, Future())
        future: Future[KeptEvent] = Future()
        if isinstance(handle.outcome, KeptEvent):
            _resolve(future, handle.outcome)
        else:
            _fail(future, handle.outcome)
        return future

    @property
    def waiting(self) -> int:
        """How many events are neither kept nor refused."""
        return self._spool.appended - self._settled

    @property
    def progress(self) -> RecorderProgress:
        """Where it is."""
        durable = self._synced_to - len(self._lost)
        return RecorderProgress(self._spool.appended, durable, self._anchored, self._settled - self._anchored)

    def flushed(self) -> Future[None]:
        """Done when all is settled that was recorded by now."""
        future: Future[None] = Future()
        with self._lock:
            self._flushes.append((self._spool.appended, future))
            self.is_hurried = True
        self._notify()
        self.wake()
        return future

    def room(self) -> Future[None]:
        """Done when what was refused last would be taken."""
        future: Future[None] = Future()
        with self._lock:
            self._rooms.append(future)
        self._notify()
        return future

    def _notify(self) -> None:
        done: List[Future[None]] = []
        with self._lock:
            settled_to = min(self._out, default=self._spool.taken + 1) - 1
            done += [future for number, future in self._flushes if number <= settled_to]
            self._flushes = [each for each in self._flushes if each[0] > settled_to]
            if self._spool.has_room(self._refused_length):
                done += self._rooms
                self._rooms = []
            failure, failed = self._failure, []
            if failure is not None:
                failed, self._flushes = [future for _, future in self._flushes], []
        for future in done:
            _resolve(future, None)
        for future in failed:
            if failure is not None:
                _fail(future, failure)

    # What the sender does.

    @property
    def untaken(self) -> int:
        """How many events wait for a batch."""
        return self._spool.appended - self._spool.taken

    def take(self) -> List[Taken]:
        """The next batch. Reads files."""
        taken = self._spool.take(self.settings.batch_events_max)
        with self._lock:
            self.oldest_at = time.monotonic()
            # At once: whoever flushes meanwhile finds them in the spool or out, and so not settled.
            self._out.update(each.number for each in taken)
            self._spool.taken += len(taken)
        return taken

    def keep(self, anchored: Sequence[Tuple[Taken, Anchor, Receipt]]) -> List[Tuple[Taken, KeptEvent]]:
        """Writes and syncs the files of events that are anchored. Raises OSError."""
        return self._kept.keep(anchored)

    def settle_kept(self, kept: Sequence[Tuple[Taken, KeptEvent]]) -> None:
        """These are kept: their part of the spool goes, and whoever waits is told."""
        self._settle([(taken, each) for taken, each in kept])
        for _, each in kept:
            _tell(self.settings.on_anchored, each)
        if kept:
            _tell(self.settings.on_progress, self.progress)

    def put_aside(self, taken: Taken, error: EventRefused) -> None:
        """Writes an event that the service refuses for good to the folder of those. Raises OSError."""
        problem = {"code": error.code, "status": error.status, "detail": error.message}
        self._kept.put_aside(taken.event, problem)

    def settle_refused(self, taken: Taken, error: EventRefused) -> None:
        """It was put aside: its part of the spool goes."""
        self._settle([(taken, error)])
        self.report(error)

    def _settle(self, outcomes: Sequence[Tuple[Taken, Union[KeptEvent, AnchoringError]]]) -> None:
        resolved: List[Tuple[Future[KeptEvent], Union[KeptEvent, AnchoringError]]] = []
        with self._lock:
            for taken, outcome in outcomes:
                if taken.number not in self._out:
                    continue
                name = taken.event.client_event_id.hex()
                handle = self._handles.pop(name, None)
                if handle is not None:
                    handle.outcome = outcome
                future = self._anchored_futures.pop(name, None)
                if future is not None:
                    resolved.append((future, outcome))
                self._out.remove(taken.number)
                # What it is kept in was synced.
                self._lost.discard(taken.number)
                self._spool.settle(taken.segment)
                self._settled += 1
                self._anchored += isinstance(outcome, KeptEvent)
        for future, outcome in resolved:
            if isinstance(outcome, KeptEvent):
                _resolve(future, outcome)
            else:
                _fail(future, outcome)
        self._notify()

    def report(self, error: Exception) -> None:
        """Tells what went wrong; the events stay in the spool."""
        _tell(self.settings.on_error, error)

    def break_down(self, error: Exception) -> None:
        """Nothing more can be sent by this recorder: its spool cannot be read, say."""
        with self._lock:
            self._failure = error
        self.report(error)
        self._notify()

    # What the syncer does.

    def _sync_on(self) -> None:
        while not self._is_closed:
            self._is_dirty.wait()
            self._is_dirty.clear()
            self._sync()
            time.sleep(_SYNC_PAUSE_S)

    def _sync(self) -> None:
        fault: Optional[SpoolWriteFailed] = None
        with self._lock:
            try:
                found = self._spool.unsynced()
            except OSError as error:
                # No descriptor is left, say. That of the file will do, if nothing more is written to it.
                fault = SpoolWriteFailed(f"a file of the spool gets no more events: {error}")
                fault.__cause__ = error
                self._spool.end_file()
                found = self._spool.unsynced()
        if fault is not None:
            self.report(fault)
        for each in found:
            self._synced(each, self._sync_file(each))
        _tell(self.settings.on_progress, self.progress)

    def _sync_file(self, unsynced: Unsynced) -> Optional[SpoolWriteFailed]:
        """Returns why the newest events of a file do not count as durable."""
        try:
            if unsynced.segment.is_lost:
                return self._sync_fault
            unsynced.sync()
        except OSError as error:
            fault = SpoolWriteFailed(f"{unsynced.segment.path} cannot be synced: {error}")
            fault.__cause__ = error
            self.report(fault)
            return fault
        else:
            return None
        finally:
            # It is synced, or given up: closing it changes neither.
            with suppress(OSError):
                os.close(unsynced.fd)

    def _synced(self, unsynced: Unsynced, fault: Optional[SpoolWriteFailed]) -> None:
        done: List[Future[None]] = []
        with self._lock:
            newest = range(self._synced_to + 1, unsynced.last + 1)
            if fault is not None:
                self._sync_fault = fault
                self._spool.give_up(unsynced.segment)
                self._lost.update(each for each in newest if each > self._spool.taken or each in self._out)
            self._synced_to = max(self._synced_to, unsynced.last)
            for each in newest:
                future = self._durable_futures.pop(each, None)
                if future is not None:
                    done.append(future)
        for future in done:
            _finish(future, fault)

    def close(self) -> None:
        """Takes no more events, syncs, and lets go of the folder."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._spool.close()
        self._is_dirty.set()
        self._syncer.join()
        self._sync()
        self._folder_lock.release()
