"""The folder of what is anchored: envelope, receipt and content of each event beside each other.

docs/recorder.md, "The folder".
"""

from __future__ import annotations

import ctypes
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, List, Mapping, Optional, Sequence, Set, Tuple

from .._bytes import sha256
from ..models import Anchor
from ..proof import Receipt
from .folders import make_folder, sync_folders, sync_path
from .frames import SpooledEvent
from .spool import Taken


@dataclass(frozen=True)
class KeptEvent:
    """An event that is anchored, and the files that prove it.

    Attributes:
        client_event_id: 32 hex digits, by which the files are named.
        event_hash: SHA-256 of the file at payload_path.
        anchor: as the service shows it.
        receipt: its proof.
        payload_path: the envelope.
        receipt_path: the receipt, beside it.
        content_path: bytes that were given as such; None: the envelope holds the content.
    """

    client_event_id: str
    event_hash: bytes
    anchor: Anchor = field(repr=False)
    receipt: Receipt = field(repr=False)
    payload_path: Path
    receipt_path: Path
    content_path: Optional[Path] = None


def _find_syncfs() -> Optional[Callable[[int], int]]:
    """Linux' call for a whole file system, which Python does not offer; None: this system has none."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None, use_errno=True).syncfs
    except (AttributeError, OSError, TypeError):
        # Only Linux has it.
        return None
    return found


_syncfs = _find_syncfs()
_DAY_CHARS = len("2026-11-23")


def _day_of(envelope: bytes) -> str:
    when = json.loads(envelope)["when"]
    return str(when)[:_DAY_CHARS]


#: Envelopes, salts and contents are for the user that records them alone, as the spool is.
_FILE_MODE = 0o600


def write_private(path: Path, data: bytes) -> None:
    """Writes a file that its user alone can read. Raises OSError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FILE_MODE), "wb") as file:
        file.write(data)


class KeptFolder:
    """Writes what is anchored, a batch at a time."""

    def __init__(self, folder: Path, refused: Path) -> None:
        self._folder = folder
        self._refused = refused
        self._unsynced: List[Path] = []
        self._above: Set[Path] = make_folder(folder)  # folders that name those that files were written to

    def keep(self, anchored: Sequence[Tuple[Taken, Anchor, Receipt]]) -> List[Tuple[Taken, KeptEvent]]:
        """Writes the files of events that are anchored, durably. Raises OSError."""
        kept = [(taken, self._write(taken.event, anchor, receipt)) for taken, anchor, receipt in anchored]
        self.sync()
        return kept

    def _write(self, event: SpooledEvent, anchor: Anchor, receipt: Receipt) -> KeptEvent:
        name, content = event.client_event_id.hex(), event.content
        folder = self._folder / _day_of(event.envelope)
        if not folder.exists():
            self._above |= make_folder(folder)
        payload, proof = folder / f"{name}.json", folder / f"{name}.json.tlog-proof"
        files = [] if content is None else [(folder / f"{name}.content", content)]
        # The receipt is the last: where it is, the others are.
        files += [(payload, event.envelope), (proof, receipt.to_proof_text().encode("utf-8"))]
        for path, data in files:
            write_private(path, data)
            self._unsynced.append(path)
        content_path = None if content is None else folder / f"{name}.content"
        return KeptEvent(name, sha256(event.envelope), anchor, receipt, payload, proof, content_path)

    def put_aside(self, event: SpooledEvent, problem: Mapping[str, object]) -> None:
        """Keeps an event that the service refuses for good apart, durably. Raises OSError."""
        if not self._refused.exists():
            self._above |= make_folder(self._refused)
        payload = self._refused / f"{event.client_event_id.hex()}.json"
        files = [] if event.content is None else [(payload.with_suffix(".content"), event.content)]
        text = json.dumps(problem, separators=(",", ":")) + "\n"
        files += [(payload, event.envelope), (payload.with_suffix(".json.problem"), text.encode("ascii"))]
        for path, data in files:
            write_private(path, data)
            self._unsynced.append(path)
        self.sync()

    def sync(self) -> None:
        """What was written is on the disk when this returns."""
        if not self._unsynced:
            return
        if _syncfs is None:
            for path in {*self._unsynced, *(path.parent for path in self._unsynced)}:
                sync_path(path)
            sync_folders(self._above)
        else:
            # One call for some thousand files: each fsync of its own is a commit of the file system's journal.
            fd = os.open(self._unsynced[-1], os.O_RDONLY)
            try:
                if _syncfs(fd) != 0:
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(self._folder))
            finally:
                os.close(fd)
        self._unsynced.clear()
        self._above.clear()
