"""What a node reports about itself, and the trust root as it is served."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from .hexes import Hex32


@dataclass(frozen=True)
class TrustRootDocument:
    """One version of the trust root, as the service serves it: verify it with verify_trust_root."""

    version: int
    root_thk: Hex32
    document: str


@dataclass(frozen=True)
class TrustRootAnswer:
    """The chain of trust-root documents. Nothing in it is verified."""

    version: int
    root_thk: Hex32
    document: str
    chain: Tuple[TrustRootDocument, ...]

    @property
    def documents(self) -> Tuple[str, ...]:
        """The signed notes, oldest first: what verify_trust_root takes, with a pin learnt elsewhere."""
        return tuple(each.document for each in self.chain)


@dataclass(frozen=True)
class RootSync:
    """Whether a quorum has confirmed that this node's trust root is the newest (Prime RootTHK)."""

    role: str
    version: int
    root_thk: Optional[Hex32]
    prime_version: Optional[int]
    in_sync: bool
    last_success_at: Optional[str]
    age_seconds: Optional[float]
    expires_at: Optional[str]
    last_error: Optional[str]


@dataclass(frozen=True)
class RaftStatus:
    """A node's state in consensus."""

    role: str
    term: int
    leader: Optional[str]
    commit_index: int
    applied_index: int


@dataclass(frozen=True)
class WithheldSize:
    """A size of an origin that waits while all nodes exchange what they have signed."""

    origin_fingerprint: Hex32
    tree_size: int


@dataclass(frozen=True)
class Contradictions:
    """What a node holds against others.

    Attributes:
        named: nodes whose key has signed two roots of one size.
        origins: those that have stopped: another certificate than the node's exists.
        withheld: sizes that wait, for seconds.
        differing: peers whose tree or effects differed in the last seconds.
        evidence: names of files, the first 64.
        evidence_files: how many there are.
    """

    named: Tuple[str, ...]
    origins: Tuple[Hex32, ...]
    withheld: Tuple[WithheldSize, ...]
    differing: Tuple[str, ...]
    evidence: Tuple[str, ...]
    evidence_files: int


@dataclass(frozen=True)
class Offence:
    """What a peer has done that no node does which keeps its promises, and how often."""

    offence: str
    count: int


@dataclass(frozen=True)
class PeerCutOff:
    """A peer that a node does not listen to for a while."""

    node_id: str
    remaining_seconds: float
    offences: Tuple[Offence, ...]


@dataclass(frozen=True)
class Versions:
    """What a node runs. None: it cannot say yet, or is of a release that does not.

    Attributes:
        rules: by which it decides the next entry.
        rules_known: the highest that its program can decide by.
        rules_held_back_by: nodes for which higher rules wait; empty: none do.
        entry_version: of the entries that a leader writes.
    """

    api_contract: str
    locked_code: str
    service: str
    rules: Optional[int] = None
    rules_known: Optional[int] = None
    rules_held_back_by: Optional[str] = None
    entry_version: Optional[int] = None


@dataclass(frozen=True)
class Health:
    """A node's health. `status` is `ok`, `degraded` or `error`; `origin_fingerprint` names the target of writes."""

    status: str
    node_id: str
    cluster_id: Hex32
    origin_fingerprint: Hex32
    prime_root_thk: RootSync
    versions: Versions
    raft: Optional[RaftStatus] = None
    """How the node takes part in consensus; None: only shown to a key with `read`."""
    contradictions: Optional[Contradictions] = None
    """Contradictions that the node knows of; None: only shown to a key with `read`."""
    peers_cut_off: Optional[Tuple[PeerCutOff, ...]] = None
    """Peers that the node has cut off now; None: only shown to a key with `read`."""


@dataclass(frozen=True)
class ReadyCheck:
    """One check of readiness: `pass`, `fail`, or `warn`: the node serves, and an operator should look."""

    check: str
    result: str
    detail: str


@dataclass(frozen=True)
class Ready:
    """Whether a node serves, and what is missing if not."""

    ready: bool
    checks: Tuple[ReadyCheck, ...]


@dataclass(frozen=True)
class Limits:
    """The limits of the service; maxima are inclusive."""

    body_bytes_max: int
    batch_body_bytes_max: int
    batch_items_max: int
    batch_signed_items_max: int
    client_event_id_chars_max: int
    json_depth_max: int
    json_object_keys_max: int
    json_key_chars_max: int
    json_values_max: int
    write_timeout_ms: int
    read_timeout_ms: int
    batch_timeout_ms: int
    prefer_wait_seconds_min: int
    prefer_wait_seconds_max: int
    timeout_grace_ms: int
    answer_timeout_ms: int
    list_items_max: int
    trace_parents_max: int
    trace_hops_max: int
    trace_delegation_max: int
    delegation_links_max: int
    possible_parents_max: int
    trusted_roots_max: int
    header_bytes_max: int
    headers_max: int
    target_bytes_max: int
    integer_max: int
    attribute_type_max: int
    delegation_depth_max: int
    key_requests_per_second: Optional[int] = None
    latest_wait_seconds_max: Optional[int] = None
    feeds_max: Optional[int] = None
    key_feeds_max: Optional[int] = None
    public_feeds_max: Optional[int] = None
    address_feeds_max: Optional[int] = None
    public_address_requests_per_second: Optional[int] = None
    public_requests_per_second: Optional[int] = None
