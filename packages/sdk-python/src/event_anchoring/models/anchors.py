"""Anchors of every kind, as the service shows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Optional, TypeVar, Union

from .hexes import Hex32, Hex64


@dataclass(frozen=True)
class AnchorBase:
    """What every anchor has.

    Attributes:
        kind: `genesis`, `event`, `claim`, `grant`, `revocation`, `trust_root`, `signed_event`, or a newer one.
        anchor_id: the RFC 6962 leaf hash: the anchor's name.
        depth: leaf index in the tree of its origin.
        sequence: position among the leaves of the whole cluster.
        parent_anchor_id: the anchor one depth above; None for a genesis leaf.
        finality: `committed` or `certified`.
    """

    kind: str
    anchor_id: Hex32
    origin_fingerprint: Hex32
    depth: int
    sequence: int
    parent_anchor_id: Optional[Hex32]
    accepted_ms: int
    accepted_at: str
    finality: str


@dataclass(frozen=True)
class SemanticAnchor:
    """The references of an event; None: empty."""

    iris_ref: Optional[Hex32]
    scroll_ref: Optional[Hex32]
    grant_ref: Optional[Hex32]
    bond_ref: Optional[Hex32]
    yield_ref: Optional[Hex32]
    event_data_hash: Optional[Hex32]


@dataclass(frozen=True)
class EventAnchor(AnchorBase):
    """An unsigned event. `client_event_id` and its salt are shown to clients that may see them."""

    event_hash: Hex32
    semantic_anchor: Optional[SemanticAnchor]
    client_event_commit: Optional[Hex32]
    client_event_id: Optional[str] = None
    client_event_salt: Optional[Hex32] = None
    client_event_erased: bool = False


@dataclass(frozen=True)
class SignedEventAnchor(EventAnchor):
    """An event signed by its actor."""

    actor_public_key: Hex32 = ""
    actor_signature: Hex64 = ""


@dataclass(frozen=True)
class ClaimAnchor(AnchorBase):
    """A claim. `state`: `active`, `superseded`, `revoked` or `expired`. Times 0: none."""

    state: str
    entity_fingerprint: Hex32
    attribute_type: int
    attribute_hash: Hex32
    issued_at: int
    expires_at: int
    subject_public_key: Hex32
    subject_signature: Hex64
    issuer_public_key: Hex32
    issuer_signature: Hex64


@dataclass(frozen=True)
class GrantAnchor(AnchorBase):
    """A grant. `parent_grant_ref` None: a root grant. Times 0: as the parent has it."""

    state: str
    grantor_claim_ref: Hex32
    grantee_claim_ref: Hex32
    parent_grant_ref: Optional[Hex32]
    scope_hash: Hex32
    delegation_depth: int
    issued_at: int
    not_before: int
    expires_at: int
    grantor_public_key: Hex32
    grantor_signature: Hex64
    witness_public_key: Hex32
    witness_signature: Hex64


@dataclass(frozen=True)
class RevocationAnchor(AnchorBase):
    """The record of a revocation. `signature` None: by an operator, whom no signature shows."""

    target_anchor_id: Hex32
    reason: str
    suspect_since: int
    issued_at: int
    authority: str
    revoker: Hex32
    signature: Optional[Hex64]


@dataclass(frozen=True)
class GenesisAnchor(AnchorBase):
    """Leaf 0 of an origin."""

    cluster_id: Hex32
    root_thk: Hex32


@dataclass(frozen=True)
class TrustRootAnchor(AnchorBase):
    """From here on this version of the trust root judges."""

    version: int
    root_thk: Hex32


@dataclass(frozen=True)
class UnknownAnchor(AnchorBase):
    """An anchor of a kind that this version does not know; `members` has all that was answered."""

    members: Mapping[str, object] = field(default_factory=dict)


Anchor = Union[
    EventAnchor,
    SignedEventAnchor,
    ClaimAnchor,
    GrantAnchor,
    RevocationAnchor,
    GenesisAnchor,
    TrustRootAnchor,
    UnknownAnchor,
]
AnyEventAnchor = Union[EventAnchor, SignedEventAnchor]
AnchorT = TypeVar("AnchorT", bound=AnchorBase)
