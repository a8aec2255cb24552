"""A recorder and a service that forgets to answer: each event is anchored once, and kept with its receipt."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any, Dict, List

import pytest

from event_anchoring import (
    AsyncClient,
    AsyncRecorder,
    Client,
    Envelope,
    EventRefused,
    FolderInUse,
    InvalidInput,
    KeptEvent,
    LocalKey,
    NotFlushed,
    Receipt,
    Recorder,
    RecorderProgress,
    Response,
    RetryPolicy,
    SpoolFull,
    SpoolWriteFailed,
    TransportFailure,
)
from event_anchoring._recording import kept, sending

from .fakes import answer
from .service import ORIGIN, AsyncService, Fault, Service, problem, rights_below, serve

ONCE = RetryPolicy(attempts_max=1)
ID = "ab" * 32


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_PAUSE_MIN_S", 0.01)


def client(service: Service) -> Client:
    return Client("https://node", "key", origin_fingerprint=ORIGIN, transport=service, retry=ONCE)


def check_kept(folder: Path, service: Service) -> int:
    """Each event is anchored once and kept, and nothing is left in the spool."""
    assert list((folder / "spool").iterdir()) == []
    assert not list(folder.glob("lock-*"))
    proofs = sorted(folder.glob("kept/*/*.tlog-proof"))
    payloads = sorted(folder.glob("kept/*/*.json"))
    assert [path.name[: -len(".tlog-proof")] for path in proofs] == [path.name for path in payloads]
    assert {path.stem for path in payloads} == set(service.anchors)
    for path in payloads:
        envelope = Envelope.parse(path.read_bytes())
        assert path.parent.name == envelope.when[:10]
        receipt = Receipt.parse((path.parent / f"{path.name}.tlog-proof").read_text(encoding="utf-8"))
        anchor = service.anchors[path.stem]
        assert anchor["event_hash"] == envelope.event_hash.hex() == sha256(path.read_bytes()).hexdigest()
        assert bytes.fromhex(anchor["event_hash"]) in receipt.leaf
    return len(payloads)


def test_what_is_recorded_is_anchored_and_kept(tmp_path: Path) -> None:
    service = Service()
    anchored: List[KeptEvent] = []
    progress: List[RecorderProgress] = []
    with Recorder.open(
        client(service), tmp_path, who="agent", on_anchored=anchored.append, on_progress=progress.append
    ) as recorder:
        first = recorder.record({"order": "4711", "amount": 19.5}, what="refund.paid")
        first.durable.result(10)
        kept = first.anchored.result(10)
        second = recorder.record(b"bytes", what="file.saved", who="other", content_type="text/plain", salt=True)
        recorder.flush()
        content_path = second.anchored.result(0).content_path
        assert content_path is not None
        assert content_path.read_bytes() == b"bytes"
        assert recorder.progress == RecorderProgress(2, 2, 2, 0) or recorder.progress.anchored == 2
    assert check_kept(tmp_path, service) == 2
    assert (kept.client_event_id, kept.event_hash) == (first.client_event_id, first.event_hash)
    assert sha256(kept.payload_path.read_bytes()).digest() == first.event_hash
    assert Envelope.parse(kept.payload_path.read_bytes()).who == "agent"
    assert [each.client_event_id for each in anchored] == [first.client_event_id, second.client_event_id]
    assert progress[-1].anchored == 2
    assert first.durable.result(0) is None


def test_a_batch_waits_for_others_and_goes_when_it_is_full(tmp_path: Path) -> None:
    service = Service()
    with Recorder.open(client(service), tmp_path, batch_ms=60_000, batch_events_max=10) as recorder:
        handles = [recorder.record(at, what="count") for at in range(25)]
        for handle in handles[:20]:
            handle.anchored.result(10)
        assert [len(batch) for batch in service.batches] == [10, 10]
    assert [len(batch) for batch in service.batches] == [10, 10, 5]
    assert [each for batch in service.batches for each in batch] == [handle.client_event_id for handle in handles]
    assert check_kept(tmp_path, service) == 25


def lost(_: Response) -> TransportFailure:
    return TransportFailure("reset", was_sent=True)


FAULTS: Dict[str, List[Fault]] = {
    "answers lost": [lost, lost, lost],
    "not reached": [lambda _: TransportFailure("refused", was_sent=False)] * 3,
    "busy": [lambda _: answer(problem("unavailable", 503), 503), lambda _: answer(problem("rate_limited", 429), 429)],
    "a proxy": [lambda _: answer(b"<html>", 404), lambda _: answer(b"<html>", 400), lambda _: answer(b"", 200)],
    "key revoked": [lambda _: answer(problem("unauthorized", 401), 401)],
}


@pytest.mark.parametrize("name", FAULTS)
def test_it_asks_again_with_the_same_ids(tmp_path: Path, name: str) -> None:
    service = Service(faults=[*FAULTS[name]])
    errors: List[Exception] = []
    with Recorder.open(client(service), tmp_path, batch_ms=1, on_error=errors.append) as recorder:
        handles = [recorder.record(at, what="count") for at in range(3)]
        for handle in handles:
            handle.anchored.result(10)
    assert len(errors) >= len(FAULTS[name])
    assert check_kept(tmp_path, service) == 3


def test_a_receipt_that_comes_later(tmp_path: Path) -> None:
    service = Service(uncertified=2)
    with Recorder.open(client(service), tmp_path, batch_ms=1) as recorder:
        recorder.record(1, what="count")
        recorder.flush(10_000)
    assert len(service.batches) == 3
    assert check_kept(tmp_path, service) == 1


def test_an_event_that_is_refused_for_good_holds_up_nobody(tmp_path: Path) -> None:
    bad, later = "0b" * 16, "0c" * 16
    service = Service(problems={bad: problem("reference_not_found", 422), later: problem("origin_closed", 409)})
    errors: List[Exception] = []
    with Recorder.open(client(service), tmp_path, batch_ms=1, on_error=errors.append) as recorder:
        refused = recorder.record(b"x", what="a", client_event_id=bad)
        good = recorder.record(2, what="b")
        waits = recorder.record(3, what="c", client_event_id=later)
        good.anchored.result(10)
        with pytest.raises(EventRefused) as caught:
            refused.anchored.result(10)
        assert (caught.value.code, caught.value.status) == ("reference_not_found", 422)
        with pytest.raises(NotFlushed):
            recorder.flush(50)
        service.problems.clear()
        waits.anchored.result(10)
        assert recorder.progress.refused == 1
    assert caught.value in errors
    assert check_kept(tmp_path, service) == 2
    names = sorted(path.name for path in (tmp_path / "refused").iterdir())
    assert names == [f"{bad}.content", f"{bad}.json", f"{bad}.json.problem"]
    told = json.loads((tmp_path / "refused" / f"{bad}.json.problem").read_text())
    assert (told["code"], told["status"]) == ("reference_not_found", 422)
    assert rights_below(tmp_path / "refused") == rights_below(tmp_path / "kept") == {0o700, 0o600}


def test_one_event_for_which_a_whole_batch_is_refused(tmp_path: Path) -> None:
    service = Service()
    bad = "0b" * 16
    respond = service.respond

    def strict(body: Any) -> Response:
        if any(event["client_event_id"] == bad for event in body["events"]):
            return answer(problem("invalid_request", 400), 400)
        return respond(body)

    service.respond = strict  # type: ignore[method-assign]
    with Recorder.open(client(service), tmp_path, on_error=lambda _: None) as recorder:
        for at in range(9):
            recorder.record(at, what="count")
        refused = recorder.record(9, what="count", client_event_id=bad)
        recorder.flush(10_000)
        assert isinstance(refused.anchored.exception(0), EventRefused)
    assert check_kept(tmp_path, service) == 9


def test_references_and_signatures(tmp_path: Path) -> None:
    service = Service()
    with LocalKey("61" * 32) as key:
        with Recorder.open(
            client(service), tmp_path, semantic_anchor={"iris_ref": ID}, actor=key, batch_ms=60_000
        ) as recorder:
            usual = recorder.record(1, what="a")
            other = recorder.record(2, what="b", semantic_anchor={"grant_ref": "CD" * 32})
            recorder.flush(10_000)
        anchors = service.anchors
        assert anchors[usual.client_event_id]["semantic_anchor"]["iris_ref"] == ID
        assert anchors[other.client_event_id]["semantic_anchor"]["grant_ref"] == "cd" * 32
        assert anchors[other.client_event_id]["semantic_anchor"]["iris_ref"] is None
        assert {each["actor_public_key"] for each in anchors.values()} == {key.public_key.hex()}


def test_what_is_to_be_signed_waits_for_its_signer(tmp_path: Path) -> None:
    service = Service(faults=[lost] * 100)
    errors: List[Exception] = []
    with LocalKey("61" * 32) as key:
        recorder = Recorder.open(client(service), tmp_path, actor=key, on_error=errors.append)
        recorder.record(1, what="a")
        assert recorder.close(0) == 1
        service.faults.clear()
        recorder = Recorder.open(client(service), tmp_path, on_error=errors.append)
        assert recorder.close(50) == 1
        assert any(isinstance(error, InvalidInput) and error.field == "actor" for error in errors)
        with Recorder.open(client(service), tmp_path, actor=key) as recorder:
            recorder.flush(10_000)
    assert check_kept(tmp_path, service) == 1


def fill(recorder: Recorder) -> int:
    count = 0
    try:
        while True:
            recorder.record(count, what="count")
            count += 1
    except SpoolFull:
        return count


def test_a_full_spool_pushes_back(tmp_path: Path) -> None:
    service = Service(faults=[lost] * 10_000)
    recorder = Recorder.open(client(service), tmp_path, spool_bytes_max=2_000, on_error=lambda _: None)
    count = fill(recorder)
    with pytest.raises(NotFlushed) as caught:
        recorder.room(20)
    assert caught.value.left == count
    service.faults.clear()
    recorder.room()
    recorder.record(count, what="count")
    assert recorder.close() == 0
    assert check_kept(tmp_path, service) == count + 1


def test_the_next_run_sends_what_is_left(tmp_path: Path) -> None:
    service = Service(faults=[lost] * 10_000)
    recorder = Recorder.open(client(service), tmp_path, on_error=lambda _: None)
    with pytest.raises(FolderInUse):
        Recorder.open(client(service), tmp_path)
    for at in range(3):
        recorder.record(at, what="count")
    assert recorder.close(50) == 3
    assert recorder.close() == 0
    with pytest.raises(InvalidInput):
        recorder.record(4, what="count")
    service.faults.clear()
    with Recorder.open(client(service), tmp_path) as recorder:
        recorder.flush(10_000)
        assert recorder.progress == RecorderProgress(3, 3, 3, 0)
    assert check_kept(tmp_path, service) == 3


def test_a_disk_that_is_full_where_things_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service()
    errors: List[Exception] = []
    real = kept.write_private
    failures = [True, True]

    def failing(path: Path, data: bytes) -> None:
        if path.name.endswith(".tlog-proof") and failures:
            failures.pop()
            raise OSError(28, "No space left on device")
        real(path, data)

    monkeypatch.setattr(kept, "write_private", failing)
    with Recorder.open(client(service), tmp_path, batch_ms=1, on_error=errors.append) as recorder:
        recorder.record(1, what="a").anchored.result(10)
    assert [type(error) for error in errors] == [OSError, OSError]
    assert check_kept(tmp_path, service) == 1


def test_a_file_that_could_not_be_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(faults=[lost] * 10_000)
    errors: List[Exception] = []
    failures = [OSError(5, "Input/output error")]
    real = os.fsync

    def failing(fd: int) -> None:
        if failures:
            raise failures.pop()
        real(fd)

    monkeypatch.setattr(os, "fsync", failing)
    recorder = Recorder.open(client(service), tmp_path, batch_ms=60_000, on_error=errors.append)
    first = recorder.record(1, what="a")
    with pytest.raises(SpoolWriteFailed, match="cannot be synced"):
        first.durable.result(10)
    # A later sync may succeed though the disk has lost the first: new events go elsewhere, and only they are durable.
    second = recorder.record(2, what="a")
    second.durable.result(10)
    with pytest.raises(SpoolWriteFailed):
        first.durable.result(10)
    assert recorder.progress == RecorderProgress(2, 1, 0, 0)
    assert len(list((tmp_path / "spool").iterdir())) == 2
    service.faults.clear()
    recorder.flush(10_000)
    # What it is kept in is synced.
    first.durable.result(10)
    assert recorder.progress == RecorderProgress(2, 2, 2, 0)
    assert recorder.close() == 0
    assert [type(error) for error in errors if not isinstance(error, TransportFailure)] == [SpoolWriteFailed]
    assert check_kept(tmp_path, service) == 2


def test_what_is_recorded_while_a_sync_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service()
    begun, go_on = threading.Event(), threading.Event()
    real = os.fsync

    def failing(fd: int) -> None:
        if not begun.is_set():
            begun.set()
            go_on.wait()
            raise OSError(5, "Input/output error")
        real(fd)

    monkeypatch.setattr(os, "fsync", failing)
    with Recorder.open(client(service), tmp_path, batch_ms=60_000, on_error=lambda _: None) as recorder:
        recorder.record(1, what="a")
        begun.wait()
        meanwhile = recorder.record(2, what="a")
        asked = meanwhile.durable
        go_on.set()
        assert isinstance(asked.exception(10), SpoolWriteFailed)
        recorder.record(3, what="a").durable.result(10)
        assert recorder.progress == RecorderProgress(3, 1, 0, 0)
    assert check_kept(tmp_path, service) == 3


def test_callbacks_that_fail_and_futures_that_nobody_wants(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    service = Service()

    def fails(_: object) -> None:
        raise RuntimeError("of the program")

    with Recorder.open(
        client(service), tmp_path, batch_ms=1, on_anchored=fails, on_progress=fails, on_error=fails
    ) as recorder:
        handle = recorder.record(1, what="a")
        assert handle.anchored.cancel()
        assert recorder.record(2, what="a").anchored.result(10)
    assert "of the program" in caplog.text
    assert check_kept(tmp_path, service) == 2


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"batch_events_max": 1_001}, "batch_events_max"),
        ({"batch_events_max": 0}, "batch_events_max"),
        ({"semantic_anchor": {"iris": ID}}, "semantic_anchor"),
    ],
)
def test_bad_options(tmp_path: Path, options: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Recorder.open(client(Service()), tmp_path, **options)
    assert caught.value.field == field
    assert list(tmp_path.iterdir()) == []


def test_bad_events_are_not_written(tmp_path: Path) -> None:
    service = Service()
    with Recorder.open(client(service), tmp_path) as recorder:
        for content, options in (
            (bytes(16 * 1024 * 1024 + 1), {}),
            (1, {"client_event_id": "ab"}),
            (1, {"semantic_anchor": {"iris_ref": "ab"}}),
        ):
            with pytest.raises(InvalidInput):
                recorder.record(content, what="a", **options)
    assert (service.batches, check_kept(tmp_path, service)) == ([], 0)


def test_many_threads(tmp_path: Path) -> None:
    service = Service(faults=[None, lost, None, lost])

    def work() -> None:
        for at in range(60):
            recorder.record({"at": at}, what="count")

    with Recorder.open(client(service), tmp_path, batch_ms=1, batch_events_max=50, on_error=lambda _: None) as recorder:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        recorder.flush()
    assert check_kept(tmp_path, service) == 480


def test_a_process_that_is_forked(tmp_path: Path) -> None:
    service = Service()
    with Recorder.open(client(service), tmp_path) as recorder:
        recorder.record(1, what="a")
        # os.fork itself would run the rest of the tests twice.
        recorder._recording._pid = -1
        with pytest.raises(InvalidInput, match="forked"):
            recorder.record(2, what="b")
        assert recorder.close() == 0
        recorder._recording._pid = os.getpid()
    assert check_kept(tmp_path, service) == 1


def test_async(tmp_path: Path) -> None:
    service = Service(faults=[lost, None, lost])

    async def run() -> None:
        used = AsyncClient("https://n", "key", origin_fingerprint=ORIGIN, transport=AsyncService(service), retry=ONCE)
        async with await AsyncRecorder.open(used, tmp_path, batch_ms=1, on_error=lambda _: None) as recorder:
            handle = recorder.record({"order": "4711"}, what="refund.paid")
            await handle.durable
            kept = await handle.anchored
            assert kept.event_hash == handle.event_hash
            for at in range(100):
                recorder.record(at, what="count")
            await recorder.room()
            await recorder.flush(10_000)
            service.faults = [lost] * 1_000
            recorder.record(1, what="last")
            with pytest.raises(NotFlushed):
                await recorder.flush(20)
            service.faults = []
        assert await recorder.close() == 0

    asyncio.run(run())
    assert check_kept(tmp_path, service) == 102


PROGRAM = """
import sys
from event_anchoring import Client, Recorder
client = Client(sys.argv[1], "key", origin_fingerprint=sys.argv[2])
recorder = Recorder.open(client, sys.argv[3], batch_ms=1, batch_events_max=20, on_error=lambda error: None)
print("open", flush=True)
at = 0
while at < int(sys.argv[4]):
    print(recorder.record({"at": at, "text": "x" * 300}, what="count").client_event_id, flush=True)
    at += 1
"""


def start(address: str, folder: Path, count: int) -> subprocess.Popen[bytes]:
    source = str(Path(__file__).resolve().parents[1] / "src")
    arguments = [sys.executable, "-c", PROGRAM, address, ORIGIN, str(folder), str(count)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": source})


def lines_of(process: subprocess.Popen[bytes], count: int) -> List[bytes]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


def test_kill_9_loses_nothing_that_record_has_returned_for(tmp_path: Path) -> None:
    service = Service(faults=[None, lost, None, None, lost] * 100)
    server = serve(service)
    address = f"http://127.0.0.1:{server.server_address[1]}"
    returned: List[str] = []
    try:
        for seen in (1, 40, 211):
            with start(address, tmp_path, 10_000_000) as process:
                lines = lines_of(process, seen + 1)
                process.send_signal(signal.SIGKILL)
                assert process.stdout is not None
                lines += process.stdout.read().splitlines(keepends=True)
            returned += [line.decode().strip() for line in lines[1:] if line.endswith(b"\n")]
        service.faults.clear()
        with Recorder.open(client(service), tmp_path) as recorder:
            recorder.flush()
    finally:
        server.shutdown()
        server.server_close()
    assert len(returned) == len(set(returned)) >= 252
    assert set(returned) <= set(service.anchors)
    assert check_kept(tmp_path, service) == len(service.anchors)


def test_the_end_of_the_program_flushes(tmp_path: Path) -> None:
    service = Service()
    server = serve(service)
    try:
        with start(f"http://127.0.0.1:{server.server_address[1]}", tmp_path, 30) as process:
            lines = lines_of(process, 31)
            assert process.wait(30) == 0
    finally:
        server.shutdown()
        server.server_close()
    assert {line.decode().strip() for line in lines[1:]} == set(service.anchors)
    assert check_kept(tmp_path, service) == 30
