"""The node itself. Needs no API key."""

from __future__ import annotations

from .. import models
from .._operations import node
from .base import AsyncClientBase


class AsyncNodeCalls(AsyncClientBase):
    """Health, readiness, limits and the trust root."""

    async def healthz(self) -> models.Health:
        """The health of the node that answers, and its origin. Needs no key."""
        return await self._run(node.healthz(self._session))

    async def readyz(self) -> models.Ready:
        """Whether the node that answers serves; what is missing is in `checks`, and no error. Needs no key."""
        return await self._run(node.readyz(self._session))

    async def limits(self) -> models.Limits:
        """The limits of the service. Needs no key."""
        return await self._run(node.limits(self._session))

    async def trust_root(self) -> models.TrustRootAnswer:
        """The chain of trust-root documents, to be verified with verify_trust_root from a pin. Needs no key."""
        return await self._run(node.trust_root(self._session))
