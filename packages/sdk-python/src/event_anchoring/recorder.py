"""Recorders: what happened is on the disk before `record` returns, and is anchored, with its receipt beside it, after.

docs/recorder.md, "Recording events".
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from types import TracebackType
from typing import Any, Callable, Optional, Set, Type

from . import _inputs as inputs
from ._recording.base import (
    BATCH_EVENTS_MAX,
    CLOSE_TIMEOUT_MS,
    EXIT_FLUSH_MS,
    FLUSH_TIMEOUT_MS,
    SPOOL_BYTES_MAX,
    PathLike,
    RecorderBase,
    read_settings,
)
from ._recording.handles import AsyncRecordedEvent, RecordedEvent, RecorderProgress
from ._recording.kept import KeptEvent
from ._recording.recording import Settings
from ._recording.sending import Ask, Effect, Rest
from .asynchronous.client import AsyncClient
from .errors import NotFlushed
from .prepare import SemanticAnchorInput
from .signing import Signer
from .synchronous.client import Client


class _Closed(Exception):
    """The recorder was closed while the service was asked: the answer is nobody's."""


class Recorder(RecorderBase[RecordedEvent]):
    """Writes down what happens, and has it anchored in the background.

        with Recorder.open(client, "events") as recorder:
            recorder.record({"order": "4711", "amount": 1900}, what="refund.paid", who="billing-agent")

    `record` returns when the event is written to the folder: `kill -9` loses nothing then. A thread sends what waits in
    batches, asks again with the same ids until each event is anchored, exactly once, and puts its envelope and its
    receipt into `kept`. What is left at the end is sent by the next recorder of the folder, in any language.

    It may be used by many threads at once; by one process: one that is forked opens a recorder of its own. It flushes
    when the program ends, for at most `exit_flush_ms`: a request that is under way then is not waited for. Files that
    are being written are. Several recorders flush one after the other.
    """

    def __init__(self, client: Client, settings: Settings, exit_flush_ms: int) -> None:
        """Recorder.open makes one."""
        self._exit_flush_ms = exit_flush_ms
        self._woken = threading.Event()
        # Held by the thread that sends, but for the time of a request.
        self._at_work = threading.Lock()
        super().__init__(settings, self._woken.set)
        self._client = client
        self._thread = threading.Thread(target=self._run, name="event-anchoring-recorder", daemon=True)
        self._thread.start()
        atexit.register(self._at_exit)

    @classmethod
    def open(
        cls,
        client: Client,
        directory: PathLike,
        *,
        batch_events_max: int = BATCH_EVENTS_MAX,
        batch_ms: int = 200,
        spool_bytes_max: int = SPOOL_BYTES_MAX,
        salt: bool = False,
        who: Optional[str] = None,
        semantic_anchor: Optional[SemanticAnchorInput] = None,
        actor: Optional[Signer] = None,
        keep: Optional[PathLike] = None,
        on_anchored: Optional[Callable[[KeptEvent], None]] = None,
        on_error: Optional[Callable[[Exception], None]] = None,
        on_progress: Optional[Callable[[RecorderProgress], None]] = None,
        exit_flush_ms: int = EXIT_FLUSH_MS,
    ) -> Recorder:
        """Takes the folder, and begins to send what an earlier run has left in it.

        Args:
            client: sends the events. It is not closed with the recorder.
            directory: the folder, which is made if it is not there.
            batch_events_max: as many events go at once; at most 1,000.
            batch_ms: an event waits so long for others to go with it.
            spool_bytes_max: more than that of events that are not anchored yet is not taken: SpoolFull.
            salt: every envelope gets a salt, unless `record` says otherwise.
            who: who acts, for the envelopes that do not say it.
            semantic_anchor: what events refer to that do not say it, such as the claim of who acts and the grant.
            actor: signs every event, when it is sent.
            keep: where envelopes and receipts go; None: the folder `kept` in `directory`.
            on_anchored: is called with each event that is kept, by the thread that sends.
            on_error: is called with what went wrong; None: it is logged. What was not anchored is sent again.
            on_progress: is called with the counts when they have changed.
            exit_flush_ms: how long the end of the program is held up for what is not anchored yet.

        Raises:
            FolderInUse: another recorder has it.
            SpoolCorrupt: the folder holds something that no recorder has written like this.
        """
        settings = read_settings(
            directory,
            batch_events_max=batch_events_max,
            batch_ms=batch_ms,
            spool_bytes_max=spool_bytes_max,
            salt=salt,
            who=who,
            semantic_anchor=semantic_anchor,
            actor=actor,
            keep=keep,
            on_anchored=on_anchored,
            on_error=on_error,
            on_progress=on_progress,
        )
        return cls(client, settings, inputs.integer("exit_flush_ms", exit_flush_ms))

    def _handle(self, recorded: RecordedEvent) -> RecordedEvent:
        return recorded

    def flush(self, timeout_ms: int = FLUSH_TIMEOUT_MS) -> None:
        """Returns when all is settled that was recorded by now: anchored and kept, or refused for good.

        Raises:
            NotFlushed: the time was up.
        """
        self._wait(self._recording.flushed(), timeout_ms)

    def room(self, timeout_ms: Optional[int] = None) -> None:
        """Returns when what SpoolFull has refused would be taken. Raises NotFlushed if the time was up."""
        self._wait(self._recording.room(), timeout_ms)

    def _wait(self, future: Future[None], timeout_ms: Optional[int]) -> None:
        try:
            future.result(None if timeout_ms is None else timeout_ms / 1000)
        except FutureTimeoutError as error:
            future.cancel()
            raise NotFlushed(self._recording.waiting) from error

    def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS) -> int:
        """Flushes, at most for so long, and lets go of the folder.

        Returns how many events are left: the next recorder of the folder sends them.
        """
        if not self._recording.is_of_this_process or self._recording.is_stopping:
            return 0
        left = 0
        try:
            if self._recording.waiting > 0:
                self.flush(timeout_ms)
        except NotFlushed as error:
            left = error.left
        finally:
            atexit.unregister(self._at_exit)
            self._recording.is_stopping = True
            self._woken.set()
            # A request that is under way is not waited for: its events are in the spool, and are asked for again.
            with self._at_work:
                self._recording.close()
        return left

    def _at_exit(self) -> None:
        left = self.close(self._exit_flush_ms)
        if left > 0:
            self._recording.report(NotFlushed(left))

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _run(self) -> None:
        with self._at_work:
            try:
                sending = self._sender.run()
                effect = next(sending)
                while True:
                    effect = sending.send(self._do(effect))
            except (StopIteration, _Closed):
                return
            except Exception as error:  # noqa: BLE001
                # The spool cannot be read, say: it must not end in a thread that nobody hears.
                self._recording.break_down(error)

    def _do(self, effect: Effect) -> object:
        if isinstance(effect, Rest):
            self._woken.wait(effect.seconds)
            self._woken.clear()
            return None
        if isinstance(effect, Ask):
            return self._ask(effect)
        try:
            return effect.call()
        except Exception as error:  # noqa: BLE001
            # Whatever it was, the events are in the spool, and are sent again.
            return error

    def _ask(self, ask: Ask) -> object:
        self._at_work.release()
        try:
            answer: object = self._client.create_event_anchors(ask.events, shared_receipts=True)
        except Exception as error:  # noqa: BLE001
            # As above.
            answer = error
        finally:
            self._at_work.acquire()
        if self._recording.is_closed:
            raise _Closed
        return answer


class AsyncRecorder(RecorderBase[AsyncRecordedEvent]):
    """The same as Recorder for programs that use asyncio: a task sends, and what takes time is awaited.

        async with await AsyncRecorder.open(client, "events") as recorder:
            recorder.record({"order": "4711", "amount": 1900}, what="refund.paid", who="billing-agent")

    `record` is no coroutine: it writes some hundred bytes. `durable` and `anchored` of what it returns are awaited.
    What is left when the loop ends without `close` is sent by the next recorder of the folder.
    """

    def __init__(self, client: AsyncClient, settings: Settings) -> None:
        """AsyncRecorder.open makes one."""
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._stopped: asyncio.Future[None] = self._loop.create_future()
        super().__init__(settings, self._wake)
        self._client = client
        self._task = self._loop.create_task(self._run())

    def _wake(self) -> None:
        self._loop.call_soon_threadsafe(self._woken.set)

    @classmethod
    async def open(
        cls,
        client: AsyncClient,
        directory: PathLike,
        *,
        batch_events_max: int = BATCH_EVENTS_MAX,
        batch_ms: int = 200,
        spool_bytes_max: int = SPOOL_BYTES_MAX,
        salt: bool = False,
        who: Optional[str] = None,
        semantic_anchor: Optional[SemanticAnchorInput] = None,
        actor: Optional[Signer] = None,
        keep: Optional[PathLike] = None,
        on_anchored: Optional[Callable[[KeptEvent], None]] = None,
        on_error: Optional[Callable[[Exception], None]] = None,
        on_progress: Optional[Callable[[RecorderProgress], None]] = None,
    ) -> AsyncRecorder:
        """As Recorder.open, with an AsyncClient. Callbacks are called by the loop, but for on_progress."""
        settings = read_settings(
            directory,
            batch_events_max=batch_events_max,
            batch_ms=batch_ms,
            spool_bytes_max=spool_bytes_max,
            salt=salt,
            who=who,
            semantic_anchor=semantic_anchor,
            actor=actor,
            keep=keep,
            on_anchored=on_anchored,
            on_error=on_error,
            on_progress=on_progress,
        )
        return cls(client, settings)

    def _handle(self, recorded: RecordedEvent) -> AsyncRecordedEvent:
        return AsyncRecordedEvent(recorded)

    async def flush(self, timeout_ms: int = FLUSH_TIMEOUT_MS) -> None:
        """As Recorder.flush."""
        await self._wait(self._recording.flushed(), timeout_ms)

    async def room(self, timeout_ms: Optional[int] = None) -> None:
        """As Recorder.room."""
        await self._wait(self._recording.room(), timeout_ms)

    async def _wait(self, future: Future[None], timeout_ms: Optional[int]) -> None:
        try:
            await asyncio.wait_for(asyncio.wrap_future(future), None if timeout_ms is None else timeout_ms / 1000)
        except asyncio.TimeoutError as error:
            raise NotFlushed(self._recording.waiting) from error

    async def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS) -> int:
        """As Recorder.close."""
        if not self._recording.is_of_this_process or self._recording.is_stopping:
            return 0
        left = 0
        try:
            if self._recording.waiting > 0:
                await self.flush(timeout_ms)
        except NotFlushed as error:
            left = error.left
        finally:
            self._recording.is_stopping = True
            self._woken.set()
            self._stopped.set_result(None)
            await self._task
            await asyncio.to_thread(self._recording.close)
        return left

    async def __aenter__(self) -> AsyncRecorder:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def _run(self) -> None:
        try:
            sending = self._sender.run()
            effect = next(sending)
            while True:
                effect = sending.send(await self._do(effect))
        except (StopIteration, _Closed):
            return
        except Exception as error:  # noqa: BLE001
            # As in Recorder: whoever waits is told.
            self._recording.break_down(error)

    async def _do(self, effect: Effect) -> object:
        if isinstance(effect, Rest):
            try:
                await asyncio.wait_for(self._woken.wait(), effect.seconds)
            except asyncio.TimeoutError:
                # The time was up, which is one of the two ways to end a rest.
                return None
            self._woken.clear()
            return None
        if isinstance(effect, Ask):
            return await self._ask(effect)
        try:
            return await asyncio.to_thread(effect.call)
        except Exception as error:  # noqa: BLE001
            # As in Recorder: the events are in the spool.
            return error

    async def _ask(self, ask: Ask) -> object:
        asking = self._loop.create_task(self._client.create_event_anchors(ask.events, shared_receipts=True))
        first: Set[asyncio.Future[Any]] = {asking, self._stopped}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            asking.cancel()
            await asyncio.wait({asking})
            raise _Closed
        try:
            return asking.result()
        except Exception as error:  # noqa: BLE001
            # As above.
            return error
