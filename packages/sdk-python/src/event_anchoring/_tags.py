"""What begins everything that is hashed or signed in binary. docs/PROTOCOL.md, "Tags"."""

from __future__ import annotations

import re

from ._bytes import sha256

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def tag(name: str) -> bytes:
    """`event-anchoring/v4.2/<name>` and one zero byte."""
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"not the name of a tag: {name!r}")
    return f"event-anchoring/v4.2/{name}\0".encode("ascii")


def origin_fingerprint_of(cluster_id: bytes, first_cosigner_public_key: bytes) -> bytes:
    """The name of an origin, fixed for its life."""
    return sha256(tag("origin") + cluster_id + first_cosigner_public_key)


def client_event_commit(salt: bytes, client_event_id: str) -> bytes:
    """What a leaf shows of the id that its client chose.

    Args:
        salt: 32 bytes, the anchor's `client_event_salt`.
        client_event_id: 1 to 128 printable ASCII characters.
    """
    return sha256(tag("client-event-id") + salt + client_event_id.encode("ascii"))


def client_revoker(api_client_id: bytes) -> bytes:
    """The `revoker` of a revocation by an API client that no party has signed."""
    return sha256(tag("operator") + api_client_id)


def operator_revoker(public_key: bytes) -> bytes:
    """The `revoker` of a revocation by an operator's act."""
    return sha256(tag("operator") + public_key)
