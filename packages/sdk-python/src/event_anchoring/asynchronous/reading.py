"""Anchors, receipts, trees, and the log itself."""

from __future__ import annotations

from typing import AsyncIterator, Optional, Tuple

from .. import models
from .._following import SILENCE_S_MAX, FollowedHead, follow_heads
from .._inputs import Bytes32
from .._operations import reading
from .._options import Wait
from ..monitor import Head
from ..proof import Receipt
from ..tiles import TILE_WIDTH
from .base import AsyncClientBase


class AsyncReadingCalls(AsyncClientBase):
    """What is recorded."""

    async def get_anchor(self, anchor_id: Bytes32, *, wait: Optional[Wait] = None) -> models.FoundAnchor:
        """One anchor of any kind, with a receipt of now.

        Args:
            anchor_id: its id.
            wait: how long it may take, and whether witnesses are waited for.
        """
        return await self._run(reading.get_anchor(self._session, anchor_id, wait))

    async def get_receipt(self, anchor_id: Bytes32, *, wait: Optional[Wait] = None) -> Receipt:
        """A receipt under the newest certificate; `receipt.to_proof_text()` is what belongs into a file `*.tlog-proof`.

        Args:
            anchor_id: of what it is a receipt.
            wait: how long it may take, and whether witnesses are waited for.
        """
        return await self._run(reading.get_receipt(self._session, anchor_id, wait))

    async def latest(
        self,
        *,
        origin_fingerprint: Optional[Bytes32] = None,
        from_size: Optional[int] = None,
        after_size: Optional[int] = None,
        wait_seconds: Optional[int] = None,
    ) -> models.Latest:
        """The latest certified anchor (EEA) of an origin.

        Args:
            origin_fingerprint: None: that of the node that answers.
            from_size: tree size that you know: the answer then proves that it is the beginning of this one.
            after_size: waits until the tree is larger than this, or the time is over: the answer is then what there is.
            wait_seconds: 1 to 30, with after_size.
        """
        found = reading.latest(
            self._session,
            origin_fingerprint=origin_fingerprint,
            from_size=from_size,
            after_size=after_size,
            wait_seconds=wait_seconds,
        )
        return await self._run(found)

    def follow_heads(
        self,
        *,
        origin_fingerprint: Optional[Bytes32] = None,
        after: Optional[Head] = None,
        silence_s: float = SILENCE_S_MAX,
    ) -> AsyncIterator[FollowedHead]:
        """The heads of an origin as they come, each verified before you have it, until you leave the loop.

        The client needs a trust_root. A feed that breaks is taken up after the last head, after growing pauses, at the
        next endpoint.

        Args:
            origin_fingerprint: None: the origin that writes go to.
            after: the head at which an earlier run has ended: the first one is then larger, and proved from it.
            silence_s: a connection on which nothing has come for so long is dead. A node sends something every 10 s.

        Raises:
            Rollback, SplitView: a head contradicts the one before.
            VerificationError: a head is not good.
            ApiProblem: the feed is refused.
            ConnectionFailed, TimedOut: no endpoint has opened it.
        """
        return self._follow(follow_heads(self._session, origin_fingerprint, after, silence_s))

    async def consistency(
        self,
        from_size: int,
        *,
        to_size: Optional[int] = None,
        origin_fingerprint: Optional[Bytes32] = None,
    ) -> models.Consistency:
        """Proof that one tree is the beginning of another; verify it with verify_consistency, or a Monitor."""
        found = reading.consistency(self._session, from_size, to_size=to_size, origin_fingerprint=origin_fingerprint)
        return await self._run(found)

    async def get_checkpoint(self, origin_fingerprint: Bytes32) -> str:
        """The newest certified checkpoint of an origin: a signed note, for verify_checkpoint."""
        return await self._run(reading.get_checkpoint(self._session, origin_fingerprint))

    async def get_tile(
        self, origin_fingerprint: Bytes32, level: int, index: int, *, width: int = TILE_WIDTH
    ) -> Tuple[bytes, ...]:
        """The hashes of a C2SP tile: roots of the perfect subtrees of level 8 * `level`, from 256 * `index` on.

        They prove nothing until they are folded into the root of a checkpoint.

        Args:
            origin_fingerprint: whose tree it is.
            level: 0 to 63.
            index: place of the tile in its level.
            width: hashes in it; 256 is a full tile.
        """
        return await self._run(reading.get_tile(self._session, origin_fingerprint, level, index, width))

    async def get_entries(
        self, origin_fingerprint: Bytes32, index: int, *, width: int = TILE_WIDTH
    ) -> Tuple[bytes, ...]:
        """The leaves of a C2SP entry bundle, from 256 * `index` on; each hashes to its anchor id.

        Args:
            origin_fingerprint: whose tree it is.
            index: place of the bundle.
            width: leaves in it; 256 is a full one.
        """
        return await self._run(reading.get_entries(self._session, origin_fingerprint, index, width))
