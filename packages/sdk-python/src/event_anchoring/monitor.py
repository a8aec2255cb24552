"""A monitor remembers the last head (EEA) of each origin and notices when a later one is not consistent with it.

It is a client's own protection against a cluster that shows different people different logs, or takes back what it has
answered. Keep its state where no other program writes it.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Dict, Mapping, Optional, Protocol, Sequence, Union

from ._bytes import INTEGER_MAX, hex_to_bytes
from ._hex_repr import HexRepr
from ._inputs import Bytes32, bytes32
from .errors import AnchoringError, ApiProblem, InvalidInput, Rollback, SplitView, VerificationError
from .merkle import is_consistent
from .models import Latest
from .receipt import VerifiedCheckpoint, read_noted_checkpoint, verify_checkpoint
from .trust_root import TrustRootChain, check_not_older

if TYPE_CHECKING:
    from .asynchronous.client import AsyncClient
    from .synchronous.client import Client

_FORMAT = "event-anchoring/monitor/1"


@dataclass(frozen=True, repr=False)
class Head(HexRepr):
    """The last head that was accepted of an origin. `checkpoint` is its signed note: evidence, if another comes up."""

    tree_size: int
    root_hash: bytes
    checkpoint: str


@dataclass(frozen=True, repr=False)
class SeenTrustRoot(HexRepr):
    """The highest version that was seen."""

    version: int
    root_thk: bytes


@dataclass(frozen=True, repr=False)
class MonitorState(HexRepr):
    """All that a monitor remembers: the signed note of the last head by origin fingerprint, and the trust root."""

    checkpoints: Mapping[bytes, str]
    trust_root: Optional[SeenTrustRoot] = None


@dataclass(frozen=True, repr=False)
class Evidence(HexRepr):
    """What a Rollback or a SplitView is about: the note that was kept, and the one shown now; None: none is shown."""

    origin_fingerprint: bytes
    kept: str
    shown: Optional[str]


class MonitorStore(Protocol):
    """Where a monitor keeps its state."""

    def load(self) -> Optional[MonitorState]:
        """What was saved last; None: nothing yet."""
        ...

    def save(self, state: MonitorState) -> None:
        """Keeps it, whole or not at all."""


class MemoryMonitorStore:
    """Forgets with the process."""

    def __init__(self) -> None:
        self._state: Optional[MonitorState] = None

    def load(self) -> Optional[MonitorState]:
        """What was saved last."""
        return self._state

    def save(self, state: MonitorState) -> None:
        """Keeps it."""
        self._state = state


class FileMonitorStore:
    """One small JSON file, replaced atomically and readable by its owner alone."""

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        self._path = Path(path)

    def load(self) -> Optional[MonitorState]:
        """Raises VerificationError `monitor_state_malformed`: damaged state is not treated as absent."""
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return None
        return _read_state(text)

    def save(self, state: MonitorState) -> None:
        """Writes a file beside it and renames that."""
        notes = {origin.hex(): note for origin, note in sorted(state.checkpoints.items())}
        seen = state.trust_root
        root = None if seen is None else {"version": seen.version, "root_thk": seen.root_thk.hex()}
        text = json.dumps({"format": _FORMAT, "checkpoints": notes, "trust_root": root}, indent=1)
        descriptor, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _read_trust_root(value: object) -> Optional[SeenTrustRoot]:
    if value is None:
        return None
    members = value if isinstance(value, dict) else {}
    version, text = members.get("version"), members.get("root_thk")
    if not isinstance(version, int) or isinstance(version, bool) or not 0 < version <= INTEGER_MAX:
        raise ValueError("version is no integer above 0")
    if not isinstance(text, str):
        raise ValueError("root_thk is no text")
    return SeenTrustRoot(version, hex_to_bytes(text, 32))


def _head_of(note: object) -> Head:
    if not isinstance(note, str):
        raise ValueError("a checkpoint is no text")
    checkpoint = read_noted_checkpoint(note)[1]
    return Head(checkpoint.tree_size, checkpoint.root_hash, note)


def _read_state(text: bytes) -> MonitorState:
    try:
        parsed = json.loads(text.decode("utf-8"))
        notes = parsed.get("checkpoints") if isinstance(parsed, dict) else None
        if not isinstance(notes, dict) or parsed.get("format") != _FORMAT:
            raise ValueError(f"not of format {_FORMAT}")
        checkpoints = {hex_to_bytes(origin, 32): _head_of(note).checkpoint for origin, note in notes.items()}
        return MonitorState(checkpoints, _read_trust_root(parsed.get("trust_root")))
    except (ValueError, RecursionError, VerificationError) as error:
        raise VerificationError("monitor_state_malformed", f"the state of the monitor is damaged: {error}") from error


class Monitor:
    """Remembers heads, and raises when a later one does not continue them.

    Args:
        trust_root: a verified chain; `extend_trust_root` it, and make a new monitor over the same store, when the
            cluster has a newer version.
        store: where heads are kept; default: MemoryMonitorStore.

    Raises:
        Rollback: the chain given is older than the one remembered, code `rollback`.
        SplitView: it is another one, code `fork`.
    """

    def __init__(self, trust_root: TrustRootChain, store: Optional[MonitorStore] = None) -> None:
        if not isinstance(trust_root, TrustRootChain):
            raise InvalidInput("trust_root", "expected what verify_trust_root returned")
        self._trust_root = trust_root
        self._store: MonitorStore = MemoryMonitorStore() if store is None else store
        loaded = self._store.load()
        kept = {} if loaded is None else loaded.checkpoints
        self._heads: Dict[bytes, Head] = {origin: _head_of(note) for origin, note in kept.items()}
        if loaded is not None and loaded.trust_root is not None:
            check_not_older(trust_root, loaded.trust_root.version, loaded.trust_root.root_thk)
        self._save()

    def head(self, origin_fingerprint: Bytes32) -> Optional[Head]:
        """The last head that was accepted of an origin; None: none yet."""
        return self._heads.get(bytes32("origin_fingerprint", origin_fingerprint))

    def accept(self, checkpoint: str, proof: Sequence[bytes] = ()) -> VerifiedCheckpoint:
        """Verifies a signed checkpoint, holds it against the head that is remembered, and remembers it.

        Args:
            checkpoint: the whole signed note, as `Latest.checkpoint` has it.
            proof: that the head remembered is the beginning of it; empty for the first one, and for the same one.

        Raises:
            Rollback: the tree is smaller than the one remembered, code `rollback`. `result` is the Evidence.
            SplitView: it is not a continuation of the one remembered, code `split_view`. `result` is the Evidence.
            VerificationError: the checkpoint is not good, as verify_checkpoint has it.
        """
        return self._accept(verify_checkpoint(checkpoint, self._trust_root), checkpoint, proof)

    def _accept(self, verified: VerifiedCheckpoint, note: str, proof: Sequence[bytes]) -> VerifiedCheckpoint:
        found, origin = verified.checkpoint, verified.origin_fingerprint
        old, new = self._heads.get(origin), Head(found.tree_size, found.root_hash, note)
        if old is not None:
            check_continues(old, new, proof, found.origin, Evidence(origin, old.checkpoint, note))
        if old is None or new.tree_size > old.tree_size:
            self._heads[origin] = new
            self._save()
        return verified

    def _save(self) -> None:
        newest = self._trust_root.newest
        notes = {origin: head.checkpoint for origin, head in self._heads.items()}
        self._store.save(MonitorState(notes, SeenTrustRoot(newest.version, newest.root_thk)))

    def update(self, client: Client, origin_fingerprint: Optional[Bytes32] = None) -> VerifiedCheckpoint:
        """Asks for the latest head of an origin and accepts it; None: of the node that answers. Raises as accept."""
        given = client.healthz().origin_fingerprint if origin_fingerprint is None else origin_fingerprint
        origin = bytes32("origin_fingerprint", given)
        try:
            latest = client.latest(origin_fingerprint=origin, from_size=self._size(origin))
        except ApiProblem as problem:
            raise self._refused(origin, problem) from problem
        return self._accept_latest(origin, latest)

    async def update_async(
        self, client: AsyncClient, origin_fingerprint: Optional[Bytes32] = None
    ) -> VerifiedCheckpoint:
        """As update, with an AsyncClient."""
        given = (await client.healthz()).origin_fingerprint if origin_fingerprint is None else origin_fingerprint
        origin = bytes32("origin_fingerprint", given)
        try:
            latest = await client.latest(origin_fingerprint=origin, from_size=self._size(origin))
        except ApiProblem as problem:
            raise self._refused(origin, problem) from problem
        return self._accept_latest(origin, latest)

    def _size(self, origin: bytes) -> Optional[int]:
        head = self._heads.get(origin)
        return None if head is None else head.tree_size

    def _refused(self, origin: bytes, problem: ApiProblem) -> AnchoringError:
        """A service that shows less than was seen has gone back, in whatever form it answers."""
        head = self._heads.get(origin)
        if head is None or problem.code not in ("from_size_ahead", "no_anchor_yet"):
            return problem
        message = f"origin {origin.hex()} had {head.tree_size} leaves, and the service knows less of it"
        return Rollback("rollback", message, result=Evidence(origin, head.checkpoint, None))

    def _accept_latest(self, origin: bytes, latest: Latest) -> VerifiedCheckpoint:
        # What was asked for is looked at before anything is remembered.
        verified = verify_checkpoint(latest.checkpoint, self._trust_root)
        if verified.origin_fingerprint != origin:
            raise VerificationError("origin_differs", "the checkpoint is of another origin than was asked for")
        return self._accept(verified, latest.checkpoint, () if latest.consistency is None else latest.consistency.proof)


def check_continues(old: Head, new: Head, proof: Sequence[bytes], origin: str, evidence: Evidence) -> None:
    """Raises Rollback or SplitView unless one tree is the beginning of the other."""
    if new.tree_size < old.tree_size:
        message = f"{origin} had {old.tree_size} leaves, and is shown with {new.tree_size}"
        raise Rollback("rollback", message, result=evidence)
    if new.tree_size == old.tree_size:
        if new.root_hash != old.root_hash:
            message = f"{origin} is shown with two roots at {old.tree_size} leaves"
            raise SplitView("split_view", message, result=evidence)
        return
    if not is_consistent(old.tree_size, old.root_hash, new.tree_size, new.root_hash, proof):
        message = f"{origin}: the tree of {old.tree_size} leaves does not begin that of {new.tree_size}"
        raise SplitView("split_view", message, result=evidence)


__all__ = [
    "Evidence",
    "FileMonitorStore",
    "Head",
    "MemoryMonitorStore",
    "Monitor",
    "MonitorState",
    "MonitorStore",
    "SeenTrustRoot",
]
