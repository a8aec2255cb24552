"""A monitor remembers the last head (EEA) of each origin and notices when a later one is not consistent with it.

It is a client's own protection against a cluster that shows different people different logs, or takes back what it has
said. Keep its state where nobody else writes it.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Dict, Mapping, Optional, Protocol, Sequence, Union

from ._bytes import INTEGER_MAX, hex_to_bytes
from ._inputs import Bytes32, bytes32
from .errors import InvalidInput, Rollback, SplitView, VerificationError
from .merkle import is_consistent
from .receipt import CheckpointVerification, verify_checkpoint
from .trust_root import TrustRootChain, check_not_older

if TYPE_CHECKING:
    from .async_client import AsyncClient
    from .client import Client

_FORMAT = "event-anchoring/monitor/1"


@dataclass(frozen=True)
class Head:
    """The last head that was seen of an origin."""

    tree_size: int
    root_hash: bytes


@dataclass(frozen=True)
class MonitorState:
    """All that a monitor remembers: heads by origin fingerprint, and the highest trust root."""

    heads: Mapping[bytes, Head]
    trust_root: Optional[Head] = None


class MonitorStore(Protocol):
    """Where a monitor keeps its state."""

    def load(self) -> Optional[MonitorState]:
        """What was saved last; None: nothing yet."""
        ...

    def save(self, state: MonitorState) -> None:
        """Keeps it, whole or not at all."""


class MemoryStore:
    """Forgets with the process."""

    def __init__(self) -> None:
        self._state: Optional[MonitorState] = None

    def load(self) -> Optional[MonitorState]:
        """What was saved last."""
        return self._state

    def save(self, state: MonitorState) -> None:
        """Keeps it."""
        self._state = state


class FileStore:
    """One small JSON file, replaced atomically and readable by its owner alone."""

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        self._path = Path(path)

    def load(self) -> Optional[MonitorState]:
        """Raises VerificationError `monitor_state_malformed`: a damaged memory is not taken for none."""
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return None
        return _read_state(text)

    def save(self, state: MonitorState) -> None:
        """Writes a file beside it and renames that."""
        heads = {
            origin.hex(): {"tree_size": head.tree_size, "root_hash": head.root_hash.hex()}
            for origin, head in sorted(state.heads.items())
        }
        seen = state.trust_root
        root = None if seen is None else {"version": seen.tree_size, "root_thk": seen.root_hash.hex()}
        text = json.dumps({"format": _FORMAT, "heads": heads, "trust_root": root}, indent=1)
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


def _read_head(value: object, size: str, root: str) -> Head:
    if not isinstance(value, dict):
        raise ValueError("not an object")
    number, text = value.get(size), value.get(root)
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= INTEGER_MAX:
        raise ValueError(f"{size} is no integer above 0")
    if not isinstance(text, str):
        raise ValueError(f"{root} is no text")
    return Head(number, hex_to_bytes(text, 32))


def _read_state(text: bytes) -> MonitorState:
    try:
        parsed = json.loads(text.decode("utf-8"))
        if not isinstance(parsed, dict) or parsed.get("format") != _FORMAT or not isinstance(parsed.get("heads"), dict):
            raise ValueError(f"not of format {_FORMAT}")
        heads = {
            hex_to_bytes(origin, 32): _read_head(head, "tree_size", "root_hash")
            for origin, head in parsed["heads"].items()
        }
        seen = parsed.get("trust_root")
        return MonitorState(heads, None if seen is None else _read_head(seen, "version", "root_thk"))
    except (ValueError, RecursionError, VerificationError) as error:
        raise VerificationError("monitor_state_malformed", f"the state of the monitor is damaged: {error}") from error


class Monitor:
    """Remembers heads, and raises when a later one does not continue them.

    Args:
        trust_root: a verified chain; `extend_trust_root` it, and make a new monitor over the same store, when the
            cluster has a newer version.
        store: where heads are kept; default: MemoryStore.

    Raises:
        Rollback: the chain given is older than the one remembered, code `rollback`.
        SplitView: it is another one, code `fork`.
    """

    def __init__(self, trust_root: TrustRootChain, store: Optional[MonitorStore] = None) -> None:
        if not isinstance(trust_root, TrustRootChain):
            raise InvalidInput("trust_root", "expected what verify_trust_root returned")
        self._trust_root = trust_root
        self._store: MonitorStore = MemoryStore() if store is None else store
        loaded = self._store.load()
        self._heads: Dict[bytes, Head] = {} if loaded is None else dict(loaded.heads)
        if loaded is not None and loaded.trust_root is not None:
            check_not_older(trust_root, loaded.trust_root.tree_size, loaded.trust_root.root_hash)
        self._save()

    def head(self, origin_fingerprint: Bytes32) -> Optional[Head]:
        """The last head that was accepted of an origin; None: none yet."""
        return self._heads.get(bytes32("origin_fingerprint", origin_fingerprint))

    def accept(self, checkpoint: str, proof: Sequence[bytes] = ()) -> CheckpointVerification:
        """Verifies a signed checkpoint, holds it against the head that is remembered, and remembers it.

        Args:
            checkpoint: the whole signed note, as `Latest.checkpoint` has it.
            proof: that the head remembered is the beginning of it; empty for the first one, and for the same one.

        Raises:
            Rollback: the tree is smaller than the one remembered, code `rollback`.
            SplitView: it is not a continuation of the one remembered, code `split_view`.
            VerificationError: the checkpoint is not good, as verify_checkpoint has it.
        """
        verified = verify_checkpoint(checkpoint, self._trust_root)
        found = verified.checkpoint
        old = self._heads.get(verified.origin_fingerprint)
        if old is not None:
            _check_continues(old, Head(found.tree_size, found.root_hash), proof, found.origin)
        if old is None or found.tree_size > old.tree_size:
            self._heads[verified.origin_fingerprint] = Head(found.tree_size, found.root_hash)
            self._save()
        return verified

    def _save(self) -> None:
        newest = self._trust_root.newest
        self._store.save(MonitorState(dict(self._heads), Head(newest.version, newest.root_thk)))

    def check(self, client: Client, origin_fingerprint: Optional[Bytes32] = None) -> CheckpointVerification:
        """Asks for the latest head of an origin and accepts it; None: of the node that answers."""
        origin = client.healthz().origin_fingerprint if origin_fingerprint is None else origin_fingerprint
        old = self.head(origin)
        latest = client.latest(origin_fingerprint=origin, from_size=None if old is None else old.tree_size)
        return self._accept_latest(bytes32("origin_fingerprint", origin), latest.checkpoint, _proof_of(latest))

    async def check_async(
        self, client: AsyncClient, origin_fingerprint: Optional[Bytes32] = None
    ) -> CheckpointVerification:
        """As check, with an AsyncClient."""
        origin = (await client.healthz()).origin_fingerprint if origin_fingerprint is None else origin_fingerprint
        old = self.head(origin)
        latest = await client.latest(origin_fingerprint=origin, from_size=None if old is None else old.tree_size)
        return self._accept_latest(bytes32("origin_fingerprint", origin), latest.checkpoint, _proof_of(latest))

    def _accept_latest(self, origin: bytes, checkpoint: str, proof: Sequence[bytes]) -> CheckpointVerification:
        # What was asked for is looked at before anything is remembered.
        verified = verify_checkpoint(checkpoint, self._trust_root)
        if verified.origin_fingerprint != origin:
            raise VerificationError("origin_differs", "the checkpoint is of another origin than was asked for")
        return self.accept(checkpoint, proof)


def _proof_of(latest: object) -> Sequence[bytes]:
    consistency = getattr(latest, "consistency", None)
    return () if consistency is None else consistency.proof


def _check_continues(old: Head, new: Head, proof: Sequence[bytes], origin: str) -> None:
    if new.tree_size < old.tree_size:
        raise Rollback("rollback", f"{origin} had {old.tree_size} leaves, and is shown with {new.tree_size}")
    if new.tree_size == old.tree_size:
        if new.root_hash != old.root_hash:
            raise SplitView("split_view", f"{origin} is shown with two roots at {old.tree_size} leaves")
        return
    if not is_consistent(old.tree_size, old.root_hash, new.tree_size, new.root_hash, proof):
        raise SplitView(
            "split_view", f"{origin}: the tree of {old.tree_size} leaves does not begin that of {new.tree_size}"
        )


__all__ = ["FileStore", "Head", "MemoryStore", "Monitor", "MonitorState", "MonitorStore"]
