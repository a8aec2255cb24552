"""Recorders when the system or the service fails: nothing is lost, settled twice or waited for without end."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, List

import pytest

from event_anchoring import (
    AsyncClient,
    AsyncRecorder,
    Client,
    EventRefused,
    Recorder,
    SpoolWriteFailed,
    TransportFailure,
)
from event_anchoring._recording import folders, kept, sending, spool
from event_anchoring._recording.recording import Recording
from event_anchoring._recording.spool import Taken

from .service import ORIGIN, AsyncService, Service, problem, serve
from .test_recorder import ONCE, check_kept, client, lost


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_PAUSE_MIN_S", 0.01)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> List[Path]:
    """What is synced by its path."""
    found: List[Path] = []
    for module in (folders, spool, kept):
        monkeypatch.setattr(module, "sync_path", found.append)
    return found


def test_folders_that_are_made_are_synced_where_they_are_named_once(tmp_path: Path, synced: List[Path]) -> None:
    service = Service(faults=[lost] * 10_000)
    deep = tmp_path / "a" / "b"
    recorder = Recorder.open(client(service), deep, batch_ms=60_000, on_error=lambda _: None)
    recorder.record(1, what="a").durable.result(10)
    assert sorted(synced) == [tmp_path, tmp_path / "a", deep, deep / "spool"]
    recorder.record(2, what="a").durable.result(10)
    assert len(synced) == 4
    assert recorder.close(0) == 2
    # An earlier run may not have come to it: what it has left is durable from the beginning.
    synced.clear()
    with Recorder.open(client(service), deep, on_error=lambda _: None) as recorder:
        assert recorder.progress.durable == 2
        assert {tmp_path / "a", deep, deep / "spool"} <= set(synced)
        service.faults.clear()
    assert check_kept(deep, service) == 2


def test_kept_folders_are_synced_where_they_are_named(
    tmp_path: Path, synced: List[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_syncfs", None)
    service = Service(problems={"0b" * 16: problem("reference_not_found", 422)})
    elsewhere = tmp_path / "x" / "kept"
    with Recorder.open(client(service), tmp_path / "r", keep=elsewhere, on_error=lambda _: None) as recorder:
        recorder.record(1, what="a", when="2026-11-23T10:00:00.000Z").anchored.result(10)
        assert {tmp_path, tmp_path / "x", elsewhere, elsewhere / "2026-11-23"} <= set(synced)
        synced.clear()
        recorder.record(2, what="a", client_event_id="0b" * 16)
        recorder.flush(10_000)
    assert {tmp_path / "r", tmp_path / "r" / "refused"} <= set(synced)


def test_a_flush_while_a_batch_is_taken_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service()
    taken_from = spool.Spool.take
    early: List[bool] = []
    recording: List[Recording] = []

    def take(self: spool.Spool, count_max: int) -> List[Taken]:
        found = taken_from(self, count_max)
        early.append(recording[0].flushed().done())
        return found

    monkeypatch.setattr(spool.Spool, "take", take)
    with Recorder.open(client(service), tmp_path, batch_ms=60_000, batch_events_max=2) as recorder:
        recording.append(recorder._recording)
        for at in range(2):
            recorder.record(at, what="count")
        recorder.flush(10_000)
    assert set(early) == {False}


def test_a_flush_sends_what_was_put_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_PAUSE_MIN_S", 60.0)
    put_off = "0b" * 16
    service = Service(problems={put_off: problem("overloaded", 503)})
    errors: List[Exception] = []
    with Recorder.open(client(service), tmp_path, batch_ms=1, on_error=errors.append) as recorder:
        recorder.record(1, what="a", client_event_id=put_off)
        recorder.record(2, what="a").anchored.result(10)
        recorder.record(3, what="a")
        service.problems.clear()
        recorder.flush(10_000)
    assert check_kept(tmp_path, service) == 3


def failing_once(monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    """The first file whose name ends like that cannot be written."""
    real = kept.write_private
    failures = [OSError(28, "No space left on device")]

    def failing(path: Path, data: bytes) -> None:
        if path.name.endswith(ending) and failures:
            raise failures.pop()
        real(path, data)

    monkeypatch.setattr(kept, "write_private", failing)


@pytest.mark.parametrize("ending", [".tlog-proof", ".problem"])
def test_what_was_refused_beside_what_cannot_be_kept_is_settled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    failing_once(monkeypatch, ending)
    bad, later = "0b" * 16, "0c" * 16
    service = Service(problems={bad: problem("reference_not_found", 422), later: problem("overloaded", 503)})
    errors: List[Exception] = []
    recorder = Recorder.open(client(service), tmp_path, batch_ms=60_000, batch_events_max=4, on_error=errors.append)
    refused = recorder.record(1, what="a", client_event_id=bad)
    waits = recorder.record(2, what="a", client_event_id=later)
    good = [recorder.record(at, what="a") for at in (3, 4)]
    for handle in good:
        handle.anchored.result(10)
    assert isinstance(refused.anchored.exception(10), EventRefused)
    # One of the file's events waits: it stays.
    assert len(list((tmp_path / "spool").iterdir())) == 1
    assert (recorder._recording.waiting, recorder.progress.refused, recorder.progress.anchored) == (1, 1, 2)
    service.problems.clear()
    waits.anchored.result(10)
    assert recorder.close() == 0
    assert [error for error in errors if isinstance(error, OSError)]
    assert len([error for error in errors if isinstance(error, EventRefused) and error.code != "overloaded"]) == 1
    assert check_kept(tmp_path, service) == 3


def test_a_descriptor_that_cannot_be_had_is_told_and_stops_no_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: List[Exception] = []
    failures = [OSError(24, "Too many open files")]
    real = os.dup

    def failing(fd: int) -> int:
        if failures:
            raise failures.pop()
        return real(fd)

    monkeypatch.setattr(os, "dup", failing)
    service = Service()
    with Recorder.open(client(service), tmp_path, batch_ms=60_000, on_error=errors.append) as recorder:
        recorder.record(1, what="a").durable.result(10)
        recorder.record(2, what="a").durable.result(10)
        assert [type(error) for error in errors] == [SpoolWriteFailed]
        assert "Too many open files" in str(errors[0])
    assert check_kept(tmp_path, service) == 2


class Held:
    """A transport that answers when it is let go."""

    def __init__(self, service: Service) -> None:
        self.service, self.is_asked, self.go_on = service, threading.Event(), threading.Event()

    def send(self, endpoint: str, request: Any) -> Any:
        answered = self.service.send(endpoint, request)
        if request.method == "POST":
            self.is_asked.set()
            self.go_on.wait()
        return answered

    def close(self) -> None:
        pass


def test_closing_does_not_wait_for_the_service(tmp_path: Path) -> None:
    service = Service()
    held = Held(service)
    used = Client("https://node", "key", origin_fingerprint=ORIGIN, transport=held, retry=ONCE)
    recorder = Recorder.open(used, tmp_path, batch_ms=1)
    recorder.record(1, what="a")
    assert held.is_asked.wait(10)
    assert recorder.close(1) == 1
    assert not list(tmp_path.glob("lock-*"))
    # The answer comes when another one has the folder: nothing of it is kept by the first.
    thread = recorder._thread
    with Recorder.open(client(Service(faults=[lost] * 1_000)), tmp_path, on_error=lambda _: None) as second:
        held.go_on.set()
        thread.join(10)
        assert not thread.is_alive()
        assert (list(tmp_path.glob("kept/*")), len(list(tmp_path.glob("spool/*")))) == ([], 1)
        second.close(0)
    with Recorder.open(client(service), tmp_path):
        pass
    assert check_kept(tmp_path, service) == 1


def test_closing_an_async_recorder_does_not_wait_for_the_service(tmp_path: Path) -> None:
    service = Service()
    is_asked: asyncio.Event

    class Silent(AsyncService):
        async def send(self, endpoint: str, request: Any) -> Any:
            await super().send(endpoint, request)
            is_asked.set()
            await asyncio.Event().wait()

    async def run() -> None:
        nonlocal is_asked
        is_asked = asyncio.Event()
        used = AsyncClient("https://n", "key", origin_fingerprint=ORIGIN, transport=Silent(service), retry=ONCE)
        recorder = await AsyncRecorder.open(used, tmp_path, batch_ms=1)
        recorder.record(1, what="a")
        await is_asked.wait()
        assert await asyncio.wait_for(recorder.close(1), 10) == 1

    asyncio.run(run())
    with Recorder.open(client(service), tmp_path):
        pass
    assert check_kept(tmp_path, service) == 1


PROGRAM = """
import sys
from event_anchoring import Client, Recorder
recorder = Recorder.open(Client(sys.argv[1], "key", origin_fingerprint=sys.argv[2]), sys.argv[3], exit_flush_ms=200)
recorder.record(1, what="count")
"""


def test_the_end_of_the_program_does_not_wait_for_a_service_that_is_silent(tmp_path: Path) -> None:
    service = Service()
    is_over = threading.Event()

    def silent(_: Any) -> TransportFailure:
        # Longer than any client waits, if it is not ended.
        is_over.wait()
        return TransportFailure("over", was_sent=True)

    service.faults = [silent] * 10
    server = serve(service)
    source = str(Path(__file__).resolve().parents[1] / "src")
    arguments = [sys.executable, "-c", PROGRAM, f"http://127.0.0.1:{server.server_address[1]}", ORIGIN, str(tmp_path)]
    try:
        ended = subprocess.run(
            arguments,
            env={**os.environ, "PYTHONPATH": source},
            stderr=subprocess.PIPE,
            timeout=14,
            check=True,
        )
    finally:
        is_over.set()
        server.shutdown()
        server.server_close()
    assert b"not anchored" in ended.stderr
    assert len(list(tmp_path.glob("spool/*"))) == 1
    service.faults = []
    with Recorder.open(client(service), tmp_path):
        pass
    assert check_kept(tmp_path, service) == 1
