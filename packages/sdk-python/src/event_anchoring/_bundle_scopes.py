"""Disclosures that come with a bundle: which grants they are of."""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

from ._bundle_leaves import BundleFailure, fail_unless
from ._bundle_result import ProvedScope
from .errors import VerificationError
from .scope import StatedScope


def prove_scopes(scopes: Sequence[StatedScope], grants: Sequence[Tuple[bytes, bytes]]) -> Tuple[ProvedScope, ...]:
    """Each disclosure is whole, and of a grant on the way.

    Args:
        scopes: as the bundle has them.
        grants: anchor id and scope_hash of the grants on the way.

    Raises:
        BundleFailure: its text begins with the code.
    """
    granted: Dict[bytes, List[bytes]] = {}
    for anchor_id, scope_hash in grants:
        granted.setdefault(scope_hash, []).append(anchor_id)
    proved: Dict[bytes, ProvedScope] = {}
    for place, stated in enumerate(scopes):
        try:
            scope = stated.verified()
        except VerificationError as error:
            raise BundleFailure(f"{error.code}: scope {place}: {error.message}") from error
        own = scope.scope_hash
        fail_unless(own not in proved, f"scope_repeated: scope {place}: {own.hex()} is here twice")
        holders = tuple(granted.get(own, ()))
        fail_unless(holders != (), f"scope_not_granted: scope {place}: no grant on the way has scope_hash {own.hex()}")
        proved[own] = ProvedScope(own, holders, scope.statements, scope.withheld)
    return tuple(proved.values())
