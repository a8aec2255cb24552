"""The spool: files to which events are appended before they are sent, and which go when all in them is kept.

docs/recorder.md, "Spool". Nothing here takes a lock: the recording does.
"""

from __future__ import annotations

import os
import re
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import AbstractSet, Deque, List, Optional, Set

from ..errors import SpoolCorrupt, SpoolFull, SpoolWriteFailed
from .folders import make_folder, sync_folders, sync_path
from .frames import SpooledEvent, read_frames

#: A file that is larger gets no more events.
SEGMENT_BYTES_MAX = 8 * 1024 * 1024
#: Bytes that are read to be sent at once, but for one event that is larger.
TAKEN_BYTES_MAX = 16 * 1024 * 1024

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_NAME = re.compile(r"([0-9]{16})\.spool")


@dataclass
class Segment:
    """One file of the spool.

    Attributes:
        size: bytes of whole frames in it.
        waiting: events in it that are not kept yet.
        last: the number of its newest event.
        is_named: the folder that names it is synced.
        is_lost: a sync has failed: what was not synced by then never counts as durable here.
    """

    path: Path
    size: int = 0
    waiting: int = 0
    last: int = 0
    is_named: bool = False
    is_lost: bool = False


@dataclass(frozen=True)
class Unsynced:
    """An open file that is to be synced and closed.

    Attributes:
        last: the number of the newest event in it by now.
        above: folders above that of the spool that are not synced yet; shared by all files.
    """

    fd: int
    segment: Segment = field(repr=False)
    last: int
    above: Set[Path] = field(repr=False)

    def sync(self) -> None:
        """The file up to `last`, and its name in the folder. Raises OSError."""
        os.fsync(self.fd)
        if not self.segment.is_named:
            sync_path(self.segment.path.parent)
            sync_folders(self.above)
            self.above.clear()
            self.segment.is_named = True


@dataclass(frozen=True)
class Taken:
    """An event that was read from the spool, to be sent."""

    event: SpooledEvent
    segment: Segment = field(repr=False)
    number: int


class Spool:
    """The files of one folder, oldest first. Events are numbered from 1 in the order in which they lie there.

    Attributes:
        bytes: of all files.
        appended: the number of the newest event.
        taken: the number of the newest event that was taken; the recording sets it.
    """

    def __init__(self, folder: Path, bytes_max: int, above: AbstractSet[Path] = frozenset()) -> None:
        """Makes the folder, finds what an earlier run has left, and syncs it.

        Args:
            folder: of the spool alone.
            bytes_max: more is not taken.
            above: folders to sync, too, for it to be found after a loss of power.

        Raises:
            SpoolCorrupt: nothing was changed.
            OSError: a file cannot be read, cut off or synced.
        """
        self._folder = folder
        self._bytes_max = bytes_max
        self._unread: Deque[Segment] = deque()
        self._read_to = 0  # offset in the first of the unread
        self._active: Optional[Segment] = None
        self._fd = -1
        self._unsynced: List[Unsynced] = []  # files that get no more events
        self._next = 1
        self.bytes = 0
        self.appended = 0
        self.taken = 0
        self._above = {*above, *make_folder(folder)}
        found = sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
        for segment in [self._read(path) for path in found]:
            self._recover(segment)
        if self.appended > 0:
            sync_path(folder)
            sync_folders(self._above)
            self._above.clear()

    def _read(self, path: Path) -> Segment:
        ends = [end for _, end in read_frames(path.read_bytes(), path)]
        return Segment(path, ends[-1] if ends else 0, len(ends))

    def _recover(self, segment: Segment) -> None:
        self._next = int(segment.path.stem) + 1
        if segment.waiting == 0:
            segment.path.unlink()
            return
        os.truncate(segment.path, segment.size)
        sync_path(segment.path)
        self._unread.append(segment)
        self.bytes += segment.size
        self.appended += segment.waiting

    def has_room(self, length: int) -> bool:
        """Whether a frame of this length may be appended."""
        return self.bytes + length <= self._bytes_max

    def append(self, frame: bytes) -> None:
        """Appends an event: when this returns, the end of this process does not lose it.

        Raises:
            SpoolFull: others have to be anchored first.
            SpoolWriteFailed: the system refused it.
        """
        if not self.has_room(len(frame)):
            raise SpoolFull(self._bytes_max)
        try:
            segment = self._active
            if segment is None or segment.size >= SEGMENT_BYTES_MAX:
                segment = self._roll()
        except OSError as error:
            raise SpoolWriteFailed(f"a file of the spool cannot be made: {error}") from error
        try:
            written = os.write(self._fd, frame)
            fault: Optional[OSError] = None
        except OSError as error:
            written, fault = 0, error
        if written < len(frame):
            # What is there of it is taken back, so that the next one follows a whole one.
            self._cut_back(segment)
            raise SpoolWriteFailed(f"{segment.path}: {fault or 'only a part could be written'}") from fault
        segment.size += len(frame)
        segment.waiting += 1
        self.bytes += len(frame)
        self.appended += 1
        segment.last = self.appended

    def _cut_back(self, segment: Segment) -> None:
        try:
            os.ftruncate(self._fd, segment.size)
        except OSError:
            # It ends in a torn frame, which is good as long as nothing follows: the next event goes to another file.
            self.end_file()

    def end_file(self) -> None:
        """The active file gets no more events."""
        if self._active is not None:
            self._unsynced.append(Unsynced(self._fd, self._active, self._active.last, self._above))
            self._active, self._fd = None, -1

    def _roll(self) -> Segment:
        """A new file."""
        self.end_file()
        path = self._folder / f"{self._next:016}.spool"
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | _CLOEXEC, 0o600)
        self._next += 1
        self._active = Segment(path)
        self._unread.append(self._active)
        return self._active

    def unsynced(self) -> List[Unsynced]:
        """What is not synced yet, oldest first, for the caller to sync and close.

        Raises OSError: the active file cannot be had a second time. Nothing has changed then.
        """
        active: List[Unsynced] = []
        if self._active is not None:
            active.append(Unsynced(os.dup(self._fd), self._active, self._active.last, self._above))
        found, self._unsynced = [*self._unsynced, *active], []
        return found

    def give_up(self, segment: Segment) -> None:
        """A sync of this file has failed: it gets no more events.

        The kernel may have dropped what it could not write, and say nothing of it at the next sync.
        """
        segment.is_lost = True
        if segment is self._active:
            self.end_file()

    def take(self, count_max: int) -> List[Taken]:
        """Reads the next events, which nobody has taken yet. `taken` stays as it is: this is called without a lock."""
        taken: List[Taken] = []
        bytes_left = TAKEN_BYTES_MAX
        while self._unread and len(taken) < count_max and bytes_left > 0:
            segment = self._unread[0]
            # Asked first: what is appended to may grow until it is full, and then no more.
            is_active = segment is self._active
            if self._read_to < segment.size:
                bytes_left -= self._take_from(segment, count_max, bytes_left, taken)
            elif is_active:
                break
            else:
                self._unread.popleft()
                self._read_to = 0
        return taken

    def _take_from(self, segment: Segment, count_max: int, bytes_left: int, taken: List[Taken]) -> int:
        size = segment.size - self._read_to
        with segment.path.open("rb") as file:
            file.seek(self._read_to)
            content = file.read(min(size, bytes_left))
            at = self._take_frames(content, segment, count_max, taken)
            if at == 0:
                # One event is larger than all that is read at once.
                at = self._take_frames(content + file.read(size - len(content)), segment, 1, taken)
        if at == 0:
            raise SpoolCorrupt(segment.path, self._read_to, "a frame is not what was written")
        self._read_to += at
        return at

    def _take_frames(self, content: bytes, segment: Segment, count_max: int, taken: List[Taken]) -> int:
        at = 0
        for event, end in read_frames(content, segment.path, self._read_to):
            if len(taken) == count_max:
                break
            taken.append(Taken(event, segment, self.taken + len(taken) + 1))
            at = end
        return at

    def settle(self, segment: Segment) -> None:
        """One event of this file is kept. The file goes with the last one."""
        segment.waiting -= 1
        if segment.waiting > 0:
            return
        if segment is self._active:
            os.close(self._fd)
            self._active, self._fd = None, -1
        if self._unread and self._unread[0] is segment:
            self._unread.popleft()
            self._read_to = 0
        segment.path.unlink()
        self.bytes -= segment.size

    def close(self) -> None:
        """Lets go of the files. What waits in them is found by the next Spool."""
        self.end_file()
