"""The files of a spool: the vectors, what is torn, and what is spoiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, List

import pytest

from event_anchoring import FolderInUse, SpoolCorrupt, SpoolFull, SpoolWriteFailed
from event_anchoring._recording import spool as spool_module
from event_anchoring._recording.frames import SpooledEvent, frame_of, read_frames
from event_anchoring._recording.lock import FolderLock
from event_anchoring._recording.spool import Spool

from .vectors import load, name_of

VECTORS = load("spool")


def event_of(case: Any) -> SpooledEvent:
    content = None if case["content"] is None else bytes.fromhex(case["content"])
    own_id = bytes.fromhex(case["client_event_id"])
    return SpooledEvent(own_id, content, case["fields"].encode(), case["envelope"].encode())


def frame(event: SpooledEvent) -> bytes:
    return frame_of(event.client_event_id, event.content, event.fields, event.envelope)


def events(count: int) -> List[SpooledEvent]:
    return [SpooledEvent(at.to_bytes(16, "big"), None, b"{}", b"envelope %d" % at) for at in range(count)]


@pytest.mark.parametrize("case", VECTORS["good"], ids=name_of)
def test_good(case: Any, tmp_path: Path) -> None:
    wanted = [event_of(each) for each in case["events"]]
    content = bytes.fromhex(case["hex"])
    found = list(read_frames(content, Path("a.spool")))
    assert [event for event, _ in found] == wanted
    assert (found[-1][1] if found else 0) == case["length"]
    assert b"".join(frame(event) for event in wanted) == content[: case["length"]]
    path = tmp_path / "0000000000000007.spool"
    path.write_bytes(content)
    spool = Spool(tmp_path, 10_000)
    assert [taken.event for taken in spool.take(100)] == wanted
    assert path.exists() == bool(wanted)
    if wanted:
        assert path.stat().st_size == case["length"]


@pytest.mark.parametrize("case", VECTORS["corrupt"], ids=name_of)
def test_corrupt(case: Any, tmp_path: Path) -> None:
    torn = tmp_path / "0000000000000001.spool"
    torn.write_bytes(frame(events(1)[0]) + b"\x00")
    path = tmp_path / "0000000000000002.spool"
    path.write_bytes(bytes.fromhex(case["hex"]))
    before = [each.read_bytes() for each in (torn, path)]
    with pytest.raises(SpoolCorrupt) as caught:
        Spool(tmp_path, 10_000)
    assert (caught.value.file, caught.value.offset) == (path, case["offset"])
    assert [each.read_bytes() for each in (torn, path)] == before


def test_torn_at_every_byte(tmp_path: Path) -> None:
    wanted = events(3)
    whole = b"".join(frame(event) for event in wanted)
    size = len(frame(wanted[0]))
    for length in range(len(whole)):
        path = tmp_path / "0000000000000001.spool"
        path.write_bytes(whole[:length])
        spool = Spool(tmp_path, 10_000)
        assert [taken.event for taken in spool.take(9)] == wanted[: length // size]
        spool.append(frame(wanted[0]))
        assert len(spool.take(9)) == 1
        spool.close()
        for each in tmp_path.iterdir():
            each.unlink()


def test_what_is_appended_is_taken_and_goes_when_it_is_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "SEGMENT_BYTES_MAX", 100)
    spool = Spool(tmp_path, 10_000)
    wanted = events(10)
    for event in wanted:
        spool.append(frame(event))
    assert len(list(tmp_path.iterdir())) == 4
    first = spool.take(4)
    # As the recording does, under its lock.
    spool.taken += len(first)
    second = spool.take(100)
    assert [taken.event for taken in [*first, *second]] == wanted
    assert [taken.number for taken in [*first, *second]] == list(range(1, 11))
    for taken in reversed([*first, *second]):
        spool.settle(taken.segment)
    assert (list(tmp_path.iterdir()), spool.bytes, spool.take(1)) == ([], 0, [])
    spool.append(frame(wanted[0]))
    assert [path.name for path in tmp_path.iterdir()] == ["0000000000000005.spool"]
    for unsynced in spool.unsynced():
        os.close(unsynced.fd)


def test_an_event_larger_than_a_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "TAKEN_BYTES_MAX", 100)
    spool = Spool(tmp_path, 100_000)
    wanted = [SpooledEvent(bytes(16), b"x" * 1_000, b"{}", b"envelope"), *events(5)]
    for event in wanted:
        spool.append(frame(event))
    found: List[SpooledEvent] = []
    while len(found) < len(wanted):
        taken = spool.take(100)
        assert taken
        found += [each.event for each in taken]
    assert found == wanted


def test_no_room_and_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = frame(events(1)[0])
    spool = Spool(tmp_path, 3 * len(one))
    spool.append(one)
    real = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda fd, data: real(fd, data[:20]))
        with pytest.raises(SpoolWriteFailed):
            spool.append(one)
    spool.append(one)
    spool.append(one)
    with pytest.raises(SpoolFull):
        spool.append(one)
    assert len(spool.take(9)) == 3


def test_what_is_spoiled_while_it_waits_is_not_sent(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 10_000)
    spool.append(frame(events(1)[0]))
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(SpoolCorrupt):
        spool.take(1)


def test_a_lock(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    (path,) = tmp_path.iterdir()
    assert path.name.startswith(f"lock-{os.getpid()}-")
    with pytest.raises(FolderInUse) as caught:
        FolderLock(tmp_path)
    assert caught.value.pid == os.getpid()
    assert list(tmp_path.iterdir()) == [path]
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_an_earlier_process_is_removed(tmp_path: Path) -> None:
    # One is of a process that has ended, one of a process whose number this one has now.
    for name in ("lock-4194999-12-00000000", f"lock-{os.getpid()}-1-00000000"):
        (tmp_path / name).touch()
        FolderLock(tmp_path).release()
        assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_living_process(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from event_anchoring._recording.lock import FolderLock\n"
    code += "FolderLock(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    source = str(Path(__file__).resolve().parents[1] / "src")
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": source},
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(FolderInUse) as caught:
            FolderLock(tmp_path)
        assert caught.value.pid == other.pid
        other.kill()
        other.communicate()
    FolderLock(tmp_path).release()
    assert list(tmp_path.iterdir()) == []
