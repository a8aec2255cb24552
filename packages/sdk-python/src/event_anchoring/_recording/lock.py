"""The lock of a recorder's folder: one recorder at a time. docs/recorder.md, "The folder"."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Optional

from ..errors import FolderInUse

#: lock-<process id>-<start>-<nonce>
_LOCK = re.compile(r"lock-([0-9]{1,10})-([0-9]{1,20})-[0-9a-f]{8}")


def _start_of(pid: int) -> Optional[str]:
    """When a process began, in ticks: another one that gets its id later has another one.

    "0" where there is no /proc; None: there is no such process.
    """
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        # It lives, and belongs to somebody else.
        pass
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1")
    except FileNotFoundError:
        return "0"
    # The name of the program, in brackets, may hold anything: fields are counted behind it. Field 22 is the start.
    return stat.rpartition(") ")[2].split(" ")[19]


def _holder_of(path: Path) -> Optional[int]:
    """None: it is no lock, or the process that made it has ended."""
    found = _LOCK.fullmatch(path.name)
    if found is None:
        return None
    pid = int(found.group(1))
    if _start_of(pid) == found.group(2):
        return pid
    path.unlink(missing_ok=True)
    return None


class FolderLock:
    """Keeps two recorders of one machine apart.

    Each makes a file of its own before it looks for those of others: of two that begin at once neither can miss the
    other, and both may be refused.
    """

    def __init__(self, folder: Path) -> None:
        """Takes a folder that is there. Raises FolderInUse."""
        pid = os.getpid()
        self._path = folder / f"lock-{pid}-{_start_of(pid) or 0}-{secrets.token_hex(4)}"
        self._path.touch(exist_ok=False)
        for other in folder.iterdir():
            holder = None if other == self._path else _holder_of(other)
            if holder is not None:
                self.release()
                raise FolderInUse(folder, holder)

    def release(self) -> None:
        """Lets go of the folder."""
        self._path.unlink(missing_ok=True)
