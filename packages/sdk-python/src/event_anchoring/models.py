"""What the service answers, as frozen values. docs/API.md says what each member means.

Hashes, ids and keys are lower-case hex, as on the wire; times are Unix milliseconds where the name ends in `_ms`, else
RFC 3339. Members that this version does not know are ignored, and words are plain texts: newer services may add some.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Mapping, Optional, Tuple, TypeVar, Union

from .errors import ApiProblem, problem_class
from .proof import Receipt


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
    anchor_id: str
    origin_fingerprint: str
    depth: int
    sequence: int
    parent_anchor_id: Optional[str]
    accepted_ms: int
    accepted_at: str
    finality: str


@dataclass(frozen=True)
class SemanticAnchor:
    """The references of an event; None: empty."""

    iris_ref: Optional[str]
    scroll_ref: Optional[str]
    grant_ref: Optional[str]
    bond_ref: Optional[str]
    yield_ref: Optional[str]
    event_data_hash: Optional[str]


@dataclass(frozen=True)
class EventAnchor(AnchorBase):
    """An event that nobody has signed. `client_event_id` and its salt are shown to whoever may see them."""

    event_hash: str
    semantic_anchor: Optional[SemanticAnchor]
    client_event_commit: Optional[str]
    client_event_id: Optional[str] = None
    client_event_salt: Optional[str] = None
    client_event_erased: bool = False


@dataclass(frozen=True)
class SignedEventAnchor(EventAnchor):
    """An event signed by whoever acted."""

    actor_public_key: str = ""
    actor_signature: str = ""


@dataclass(frozen=True)
class ClaimAnchor(AnchorBase):
    """A claim. `state`: `active`, `superseded`, `revoked` or `expired`. Times 0: none."""

    state: str
    entity_fingerprint: str
    attribute_type: int
    attribute_hash: str
    issued_at: int
    expires_at: int
    subject_public_key: str
    subject_signature: str
    issuer_public_key: str
    issuer_signature: str


@dataclass(frozen=True)
class GrantAnchor(AnchorBase):
    """A grant. `parent_grant_ref` None: a root grant. Times 0: as the parent has it."""

    state: str
    grantor_claim_ref: str
    grantee_claim_ref: str
    parent_grant_ref: Optional[str]
    scope_hash: str
    delegation_depth: int
    issued_at: int
    not_before: int
    expires_at: int
    grantor_public_key: str
    grantor_signature: str
    witness_public_key: str
    witness_signature: str


@dataclass(frozen=True)
class RevocationAnchor(AnchorBase):
    """The record of a revocation. `signature` None: by an operator, whom no signature shows."""

    target_anchor_id: str
    reason: str
    suspect_since: int
    issued_at: int
    authority: str
    revoker: str
    signature: Optional[str]


@dataclass(frozen=True)
class GenesisAnchor(AnchorBase):
    """Leaf 0 of an origin."""

    cluster_id: str
    root_thk: str


@dataclass(frozen=True)
class TrustRootAnchor(AnchorBase):
    """From here on this version of the trust root judges."""

    version: int
    root_thk: str


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


@dataclass(frozen=True)
class Created(Generic[AnchorT]):
    """A record that was created, or recorded before (`replayed`).

    `receipt` is None while the anchor is committed and not yet certified; ask for it with `get_receipt`.
    """

    anchor: AnchorT
    receipt: Optional[Receipt]
    replayed: bool


@dataclass(frozen=True)
class Revoked:
    """A revocation: `anchor` is its record."""

    anchor: RevocationAnchor
    revoked_anchor_id: str
    receipt: Optional[Receipt]
    replayed: bool


@dataclass(frozen=True)
class Erased:
    """`erased` is False if there was nothing to erase."""

    anchor: AnyEventAnchor
    erased: bool


@dataclass(frozen=True)
class FoundAnchor:
    """One anchor. `receipt` is None while it is committed and not yet certified."""

    anchor: Anchor
    receipt: Optional[Receipt]


@dataclass(frozen=True)
class ActiveClaim:
    """The active claim of an entity and an attribute type."""

    anchor: ClaimAnchor
    receipt: Receipt
    state: str


@dataclass(frozen=True)
class ActiveGrant:
    """The grant in force between two entities. `others`: how many more are, between other lineages of the two."""

    anchor: GrantAnchor
    receipt: Receipt
    state: str
    others: int


@dataclass(frozen=True)
class Problem:
    """An RFC 9457 problem, as an item of a batch has it."""

    title: str
    status: int
    detail: str
    code: str
    type: str = "about:blank"
    request_id: Optional[str] = None
    errors: Tuple[Mapping[str, object], ...] = ()

    def to_error(self) -> ApiProblem:
        """The error that the same problem is when it is the answer to a whole request."""
        of_status = problem_class(self.status)
        return of_status(
            self.code,
            self.detail,
            status=self.status,
            title=self.title,
            errors=self.errors,
            request_id=self.request_id,
        )


@dataclass(frozen=True)
class BatchItem:
    """What became of one item: `status` is what it would have had alone; `anchor` or `problem` is there."""

    status: int
    anchor: Optional[Anchor] = None
    receipt: Optional[Receipt] = None
    replayed: Optional[bool] = None
    problem: Optional[Problem] = None


@dataclass(frozen=True)
class BatchSummary:
    """Counts of the items of a batch."""

    total: int
    created: int
    replayed: int
    committed: int
    refused: int


@dataclass(frozen=True)
class CreatedBatch:
    """One result for each item, in the order of the request."""

    results: Tuple[BatchItem, ...]
    summary: BatchSummary


@dataclass(frozen=True)
class Position:
    """A position in the log: `sequence` is None for a time before the first leaf."""

    sequence: Optional[int]
    time_ms: int
    time: str


@dataclass(frozen=True)
class Check:
    """One check. `result` is `pass`, `fail` or `not_checked`; `detail` is for people."""

    code: str
    result: str
    detail: str


@dataclass(frozen=True)
class Verified:
    """The service's verdict on an anchor. What needs no trust in the service is `receipt`."""

    valid: bool
    as_of: Position
    checks: Tuple[Check, ...]
    anchor: Anchor
    receipt: Receipt


@dataclass(frozen=True)
class RevocationInView:
    """A revocation, and what it revokes."""

    anchor: RevocationAnchor
    target_anchor_id: str


@dataclass(frozen=True)
class VerifiedClaim:
    """The service's verdict on a claim."""

    valid: bool
    as_of: Position
    checks: Tuple[Check, ...]
    anchor: ClaimAnchor
    receipt: Receipt
    state: str
    revocations: Tuple[RevocationInView, ...]


@dataclass(frozen=True)
class DelegationHop:
    """One hop, from the grant towards the root."""

    grant: GrantAnchor
    grantor_claim: ClaimAnchor
    grantee_claim: ClaimAnchor
    witness_public_key: str
    witness_is_grantee: bool


@dataclass(frozen=True)
class VerifiedGrant:
    """The service's verdict on a grant."""

    valid: bool
    as_of: Position
    checks: Tuple[Check, ...]
    anchor: GrantAnchor
    receipt: Receipt
    state: str
    revocations: Tuple[RevocationInView, ...]
    delegation: Tuple[DelegationHop, ...]
    delegation_omitted: int


@dataclass(frozen=True)
class VerifiedItem:
    """The verdict on one item of a batch; an unknown id has a `problem`."""

    anchor_id: str
    valid: bool
    checks: Tuple[Check, ...] = ()
    anchor: Optional[Anchor] = None
    problem: Optional[Problem] = None


@dataclass(frozen=True)
class VerifiedSummary:
    """Counts of the items of a batch."""

    total: int
    valid: int
    invalid: int
    not_found: int


@dataclass(frozen=True)
class VerifiedBatch:
    """One verdict for each item, in the order of the request."""

    as_of: Position
    results: Tuple[VerifiedItem, ...]
    summary: VerifiedSummary


@dataclass(frozen=True)
class TraceReason:
    """Why a verdict is not true. `verdict` is `at_action` or `now`."""

    verdict: str
    code: str
    anchor_id: Optional[str]
    sequence: Optional[int]


@dataclass(frozen=True)
class TraceActor:
    """Who acted. `actor_signature` is `not_checked` where nobody has signed."""

    claim: Optional[ClaimAnchor]
    state: Optional[str]
    actor_signature: str


@dataclass(frozen=True)
class BoundaryDepth:
    """Hops granted by the root grant, used below it, and left."""

    granted: int
    used: int
    left: int


@dataclass(frozen=True)
class BoundaryWindow:
    """Unix milliseconds, 0: unbounded."""

    not_before: int
    expires_at: int


@dataclass(frozen=True)
class Boundary:
    """How far the delegation reaches."""

    scope_hash: str
    depth: BoundaryDepth
    window: BoundaryWindow


@dataclass(frozen=True)
class TracedRevocation:
    """A revocation on the way. `before_action`: it stood when the traced anchor was accepted."""

    anchor: RevocationAnchor
    target_anchor_id: str
    before_action: bool


@dataclass(frozen=True)
class TraceViolation:
    """Something that the rules exclude."""

    code: str
    anchor_id: str
    detail: str


@dataclass(frozen=True)
class PointedAnchor:
    """A reference of the event with what it leads to."""

    field: str
    anchor_id: str
    exists: bool
    kind: Optional[str]


@dataclass(frozen=True)
class TraceParents:
    """The leaves before the anchor in its origin, deepest first."""

    items: Tuple[Anchor, ...]
    next_cursor: Optional[str]


@dataclass(frozen=True)
class LatestBrief:
    """The latest certified anchor of an origin, in brief."""

    origin_fingerprint: str
    anchor_id: str
    depth: int
    tree_size: int
    root_hash: str
    certified_at: str


@dataclass(frozen=True)
class Trace:
    """From an act back to who acted, who delegated, and within what bounds.

    `authorised_at_action` and `authorised_now` are True, False or "unknown": compare them with `is True`.
    """

    anchor: Anchor
    authorised_at_action: Union[bool, str]
    authorised_now: Union[bool, str]
    suspect: bool
    reasons: Tuple[TraceReason, ...]
    actor: TraceActor
    delegation: Tuple[DelegationHop, ...]
    delegation_omitted: int
    boundary: Optional[Boundary]
    root_authority: str
    possible_parents: Tuple[str, ...]
    revocations: Tuple[TracedRevocation, ...]
    violations: Tuple[TraceViolation, ...]
    references: Tuple[PointedAnchor, ...]
    parents: TraceParents
    eea: LatestBrief
    as_of: Position
    receipt: Receipt


@dataclass(frozen=True)
class Cosigner:
    """A node that has cosigned, and when, Unix seconds."""

    name: str
    time: int


@dataclass(frozen=True)
class Quorum:
    """Who has cosigned, and how many must."""

    threshold: int
    trust_root_version: int
    cosigners: Tuple[Cosigner, ...]


@dataclass(frozen=True)
class ConsistencyFrom:
    """That the tree of `from_size` leaves is the beginning of this one; hashes of 32 bytes."""

    from_size: int
    tree_size: int
    proof: Tuple[bytes, ...]


@dataclass(frozen=True)
class Latest:
    """The latest certified anchor (EEA) of an origin. `consistency` is there if `from_size` was asked for."""

    origin_fingerprint: str
    depth: int
    tree_size: int
    anchor: Anchor
    root_hash: str
    certified_at: str
    checkpoint: str
    quorum: Quorum
    receipt: Receipt
    consistency: Optional[ConsistencyFrom] = None


@dataclass(frozen=True)
class TreeHead:
    """A tree. `checkpoint` is its signed note, if the tree is the newest certified one."""

    tree_size: int
    root_hash: str
    checkpoint: Optional[str] = None


@dataclass(frozen=True)
class Consistency:
    """Proof that one tree (`old`, on the wire `from`) is the beginning of another (`new`, on the wire `to`)."""

    origin_fingerprint: str
    old: TreeHead = field(metadata={"wire": "from"})
    new: TreeHead = field(metadata={"wire": "to"})
    proof: Tuple[bytes, ...]


@dataclass(frozen=True)
class CertifiedSize:
    """How far a list reaches in one origin."""

    origin_fingerprint: str
    tree_size: int


@dataclass(frozen=True)
class EventList:
    """Certified events, ascending by sequence; `next_cursor` is None at the end."""

    items: Tuple[Anchor, ...]
    next_cursor: Optional[str]
    certified: Tuple[CertifiedSize, ...]


@dataclass(frozen=True)
class TrustRootDocument:
    """One version of the trust root, as the service serves it: verify it with verify_trust_root."""

    version: int
    root_thk: str
    document: str


@dataclass(frozen=True)
class TrustRootAnswer:
    """The chain of trust-root documents. Nothing in it is verified."""

    version: int
    root_thk: str
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
    root_thk: Optional[str]
    prime_version: Optional[int]
    in_sync: bool
    last_success_at: Optional[str]
    age_seconds: Optional[float]
    expires_at: Optional[str]
    last_error: Optional[str]


@dataclass(frozen=True)
class RaftStatus:
    """Where a node stands in consensus."""

    role: str
    term: int
    leader: Optional[str]
    commit_index: int
    applied_index: int


@dataclass(frozen=True)
class Versions:
    """What a node runs."""

    api_contract: str
    locked_code: str
    service: str


@dataclass(frozen=True)
class Health:
    """A node's health. `status` is `ok`, `degraded` or `error`; `origin_fingerprint` names the target of writes."""

    status: str
    node_id: str
    cluster_id: str
    origin_fingerprint: str
    prime_root_thk: RootSync
    raft: RaftStatus
    versions: Versions


@dataclass(frozen=True)
class ReadyCheck:
    """One check of readiness: `pass` or `fail`."""

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
    write_timeout_ms: int
    read_timeout_ms: int
    batch_timeout_ms: int
    prefer_wait_seconds_min: int
    prefer_wait_seconds_max: int
    timeout_grace_ms: int
    list_items_max: int
    trace_parents_max: int
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
    key_requests_per_second: Optional[float] = None
