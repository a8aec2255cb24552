"""Folders of a recorder: who may read them, and what is synced for them to be found after a loss of power."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Iterable, List, Set

#: Envelopes, salts and contents are for the user that records them alone.
FOLDER_MODE = 0o700


def sync_path(path: Path) -> None:
    """Syncs a file or a folder. Raises OSError."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_folder(folder: Path) -> Set[Path]:
    """Makes a folder, and those above it, if they are not there.

    Returns the folders to be synced for it to be found after a loss of power: those that name what was made, and two in
    any case, as an earlier run may have made them and not come to sync them. Raises OSError.
    """
    folder = Path(os.path.abspath(folder))  # noqa: PTH100, as links are to be kept
    missing: List[Path] = []
    found = folder
    while not found.exists() and found != found.parent:
        missing.append(found)
        found = found.parent
    for each in reversed(missing):
        each.mkdir(FOLDER_MODE, exist_ok=True)
    return {folder.parent, folder.parent.parent, *(each.parent for each in missing)}


def sync_folders(folders: Iterable[Path]) -> None:
    """Syncs folders above those of a recorder. Raises OSError.

    One that is gone, or that this program may not read, was not made by it or has been moved.
    """
    for folder in folders:
        try:
            sync_path(folder)
        except (FileNotFoundError, PermissionError):
            continue
