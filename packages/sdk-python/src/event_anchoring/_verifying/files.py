"""Files, and what can be wrong with them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NoReturn

from .output import USAGE, fail

_CHUNK_BYTES = 1024 * 1024

_REASONS = {
    FileNotFoundError: "there is no such file",
    PermissionError: "permission denied",
    IsADirectoryError: "it is a folder",
    NotADirectoryError: "a part of the path is not a folder",
}


def _unreadable(path: str, error: OSError) -> NoReturn:
    reason = _REASONS.get(type(error), error.strerror or str(error))
    fail(USAGE, "cannot_read", f"cannot read {path}: {reason}")


def hash_file(path: str) -> bytes:
    """SHA-256 of a file, which may be larger than memory."""
    if Path(path).is_dir():
        fail(USAGE, "not_a_file", f"{path} is a folder, not a file")
    digest = hashlib.sha256()
    try:
        with Path(path).open("rb") as file:
            for chunk in iter(lambda: file.read(_CHUNK_BYTES), b""):
                digest.update(chunk)
    except OSError as error:
        _unreadable(path, error)
    return digest.digest()


def read_text(path: str, bytes_max: int) -> str:
    """A whole text of at most `bytes_max` bytes. What is no UTF-8 becomes U+FFFD, which no format has."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(bytes_max + 1)
    except OSError as error:
        _unreadable(path, error)
    if len(content) > bytes_max:
        fail(USAGE, "file_too_large", f"{path} has more than the {bytes_max} bytes expected")
    return content.decode("utf-8", "replace")


_BUNDLE_FORMAT = b'"event-anchoring/v4.2/bundle"'
_HEAD_BYTES = 256


def looks_like_bundle(path: str) -> bool:
    """Whether a file is called or begins as a bundle does, unless it was anchored itself."""
    if os.path.lexists(f"{path}.tlog-proof"):
        return False
    if path.endswith(".bundle.json"):
        return True
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        # The reader of the whole file reports what is wrong with it.
        return False
    return head.lstrip().startswith(b"{") and _BUNDLE_FORMAT in head
