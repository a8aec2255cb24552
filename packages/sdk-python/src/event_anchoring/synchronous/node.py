"""The node itself. Needs no API key."""

from __future__ import annotations

from .. import models
from .._operations import node
from .base import ClientBase


class NodeCalls(ClientBase):
    """Health, readiness, limits and the trust root."""

    def healthz(self) -> models.Health:
        """The health of the node that answers, and its origin. Needs no key."""
        return self._run(node.healthz(self._session))

    def readyz(self) -> models.Ready:
        """Whether the node that answers serves; what is missing is in `checks`, and no error. Needs no key."""
        return self._run(node.readyz(self._session))

    def limits(self) -> models.Limits:
        """The limits of the service. Needs no key."""
        return self._run(node.limits(self._session))

    def trust_root(self) -> models.TrustRootAnswer:
        """The chain of trust-root documents, to be verified with verify_trust_root from a pin. Needs no key."""
        return self._run(node.trust_root(self._session))
