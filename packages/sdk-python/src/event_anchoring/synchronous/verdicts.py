"""The service's verdicts. What needs no trust in it is offline: verify_receipt, verify_bundle."""

from __future__ import annotations

from typing import Optional, Sequence

from .. import models
from .._inputs import AsOf, Bytes32
from .._operations import verdicts
from .._options import VerifyItem
from .base import ClientBase


class VerdictCalls(ClientBase):
    """The service's own word."""

    def verify_event_anchor(
        self,
        anchor_id: Bytes32,
        *,
        event_hash: Optional[Bytes32] = None,
        as_of: Optional[AsOf] = None,
        proof: bool = False,
    ) -> models.Verified:
        """Checks an anchor of any kind. With `proof` the result has a bundle that proves it, verified."""
        return self._run(
            verdicts.verify_event(self._session, anchor_id, event_hash=event_hash, as_of=as_of, proof=proof)
        )

    def verify_event_anchors(
        self, anchors: Sequence[VerifyItem], *, as_of: Optional[AsOf] = None
    ) -> models.VerifiedBatch:
        """Checks up to 1,000 anchors, each given by its id or by id and event hash."""
        return self._run(verdicts.verify_events(self._session, anchors, as_of=as_of))

    def verify_claim_anchor(
        self, anchor_id: Bytes32, *, as_of: Optional[AsOf] = None, proof: bool = False
    ) -> models.VerifiedClaim:
        """Checks signatures, anchor and revocation state of a claim. `proof`: as of verify_event_anchor."""
        return self._run(verdicts.verify_claim(self._session, anchor_id, as_of=as_of, proof=proof))

    def verify_grant_anchor(
        self,
        anchor_id: Bytes32,
        *,
        as_of: Optional[AsOf] = None,
        trusted_roots: Optional[Sequence[Bytes32]] = None,
        proof: bool = False,
    ) -> models.VerifiedGrant:
        """Checks signatures, delegation chain and claims of a grant. `proof`: as of verify_event_anchor."""
        return self._run(
            verdicts.verify_grant(self._session, anchor_id, as_of=as_of, trusted_roots=trusted_roots, proof=proof)
        )

    def trace(
        self,
        anchor_id: Bytes32,
        *,
        as_of: Optional[AsOf] = None,
        trusted_roots: Optional[Sequence[Bytes32]] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        proof: bool = False,
    ) -> models.Trace:
        """Where an anchor comes from: who acted, who delegated, within what bounds.

        With `proof` the result has a bundle that proves the verdicts without trust in the service. It is verified by
        the trust root of the client, as of a state that a quorum signs for it, up to two seconds later.
        """
        return self._run(
            verdicts.trace(
                self._session,
                anchor_id,
                as_of=as_of,
                trusted_roots=trusted_roots,
                cursor=cursor,
                limit=limit,
                proof=proof,
            )
        )
