"""The trust roots that everything is judged by: files that the reader has, and the pin of the first."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, NoReturn, Optional, Tuple

from ..errors import CanaryFailed, VerificationError
from ..trust_root import TrustRootChain, extend_trust_root, verify_trust_root
from .files import read_text
from .output import INVALID, NOT_PINNED, OK, USAGE, Finding, fail, line

_DOCUMENT_BYTES_MAX = 1024 * 1024
_PIN_BYTES_MAX = 256
_PIN_FILE = "root-thk.txt"
_HEX_32 = re.compile(r"[0-9A-Fa-f]{64}")
_SOURCES = {"flag": "--root-thk", "environment": "ANCHORCTL_ROOT_THK"}


@dataclass(frozen=True)
class GivenPin:
    """A RootTHK as it was written, and where: `flag` or `environment`."""

    text: str
    source: str


@dataclass(frozen=True)
class Held:
    """Trust roots that go together. Without a pin nothing says that they are those of the cluster."""

    chain: TrustRootChain
    #: `flag`, `environment`, `file` or None.
    source: Optional[str]
    path: Optional[str]

    @property
    def is_pinned(self) -> bool:
        """Whether somebody has said whose trust root it is."""
        return self.source is not None

    @property
    def _first_root_thk(self) -> str:
        return self.chain.versions[0].root_thk.hex()

    def pin_line(self) -> str:
        """What is pinned, and where that was said."""
        if self.source is None:
            return line("warn", "pin", "none: whose trust root this is was not checked (--root-thk)")
        where = _SOURCES.get(self.source, self.path)
        return line("pass", "pin", f"RootTHK {self._first_root_thk}, from {where}")

    def pin_json(self) -> Dict[str, Any]:
        """The same for programs."""
        return {"source": self.source, "path": self.path, "root_thk": self._first_root_thk}

    def newest_json(self) -> Dict[str, Any]:
        """The newest version, by which everything is judged."""
        return {"version": self.chain.newest.version, "root_thk": self.chain.newest.root_thk.hex()}

    def advice(self) -> str:
        """What to compare, and with what, before anything that was judged here is believed."""
        first = self.chain.versions[0]
        return (
            f"compare the RootTHK of trust root {first.version}, {self._first_root_thk}, with the one that the "
            f"operators of {first.cluster_name} have published or told you, by another way than these files; then "
            "pass that one as --root-thk."
        )


def _parse_pin(text: str, where: str) -> bytes:
    if _HEX_32.fullmatch(text) is None:
        fail(INVALID, "pin_malformed", f"{where} does not hold 64 hex digits")
    return bytes.fromhex(text)


def _pin_of(given: Optional[GivenPin], first: str) -> Tuple[Optional[bytes], Optional[str], Optional[str]]:
    """The pin that was given or is beside the document, its source and its path."""
    if given is not None:
        return _parse_pin(given.text, _SOURCES[given.source]), given.source, None
    path = Path(first).parent / _PIN_FILE
    if not path.exists():
        return None, None, None
    return _parse_pin(read_text(str(path), _PIN_BYTES_MAX).rstrip(), str(path)), "file", str(path)


def _own_root_thk(document: str) -> bytes:
    """What a document says its RootTHK is: SHA-256 of the text before its signatures. It is consistent, no more."""
    text, _, _ = document.rpartition("\n\n")
    return hashlib.sha256(f"{text}\n".encode()).digest()


def _refuse(path: str, error: VerificationError) -> NoReturn:
    if isinstance(error, CanaryFailed):
        raise error
    fail(INVALID, error.code, f"the trust root {path} is not valid: {error.message} ({error.code})")


def load(paths: List[str], given: Optional[GivenPin]) -> Held:
    """Reads and verifies trust roots, oldest first: the first by its pin, each other by the one before it."""
    if not paths:
        fail(USAGE, "trust_root_missing", "no trust root: give --trust-root <file>")
    documents = [read_text(path, _DOCUMENT_BYTES_MAX) for path in paths]
    root_thk, source, pin_path = _pin_of(given, paths[0])
    try:
        chain = verify_trust_root(documents[:1], _own_root_thk(documents[0]) if root_thk is None else root_thk)
    except VerificationError as error:
        _refuse(paths[0], error)
    for path, document in zip(paths[1:], documents[1:]):
        try:
            chain = extend_trust_root(chain, [document])
        except VerificationError as error:
            _refuse(path, error)
    return Held(chain, source, pin_path)


def judge_trust_roots(held: Held) -> Finding:
    """Trust roots alone: who may sign, version by version."""
    newest, is_pinned = held.chain.newest, held.is_pinned
    lines = [held.pin_line()]
    for root in held.chain.versions:
        detail = f"version {root.version} of {root.cluster_name}, root_thk {root.root_thk.hex()}"
        lines.append(line("pass", "trust root", detail, is_pinned=is_pinned))
    if is_pinned:
        until = f"up to version {newest.version}, follows from the pinned one."
        lines.append(f"VALID: the trust root of {newest.cluster_name}, {until}")
    else:
        lines.append(f"NOT PINNED: the trust roots go together, which proves nothing yet: {held.advice()}")
    json = {
        "valid": is_pinned,
        "failure": None if is_pinned else "not_pinned",
        "pin": held.pin_json(),
        "trust_root": held.newest_json(),
    }
    return Finding(OK if is_pinned else NOT_PINNED, lines, json)
