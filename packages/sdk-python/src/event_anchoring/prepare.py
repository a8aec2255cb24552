"""What each party signs, made offline, and in which order they sign. docs/PROTOCOL.md, "What parties sign".

prepared = prepare_claim_anchor(origin_fingerprint=…, entity_fingerprint=…, …)
subject_signature = hsm.sign(prepared.subject_payload.payload)            # the subject first
issuer_signature = hsm.sign(prepared.issuer_payload(subject_signature).payload)   # then the issuer, over that
client.create_claim_anchor(**prepared.fields, subject_signature=…, issuer_signature=…)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Dict, Mapping, Optional, Tuple, Union

from . import _inputs as inputs
from ._bytes import ZERO_32, sha256
from ._hex_repr import HexRepr
from ._inputs import Bytes32, Bytes64
from .errors import InvalidInput
from .leaf import REVOCATION_REASONS, SemanticHashes
from .payloads import (
    claim_issuer_payload,
    claim_payload,
    event_actor_payload,
    grant_payload,
    grant_witness_payload,
    revocation_payload,
)
from .signing import checked_signature

SemanticAnchorInput = Union[Mapping[str, Optional[Bytes32]], SemanticHashes]


@dataclass(frozen=True, repr=False)
class Payload(HexRepr):
    """Exactly the bytes that one party signs, with Ed25519 and no hashing before it.

    Attributes:
        role: `subject`, `issuer`, `grantor`, `witness`, `actor` or `revoker`.
        public_key: of the required signer; None: not known yet.
        payload: the bytes.
    """

    role: str
    public_key: Optional[bytes]
    payload: bytes

    @property
    def hex(self) -> str:
        """The bytes in hex."""
        return self.payload.hex()

    @property
    def digest(self) -> bytes:
        """SHA-256 of the bytes: to compare on two screens. It is not what is signed."""
        return sha256(self.payload)


def _body(fields: Mapping[str, object], signatures: Mapping[str, bytes]) -> Dict[str, object]:
    """What is sent: hex for bytes, and nothing for what is empty."""
    found = {**fields, **signatures}
    return {name: each.hex() if isinstance(each, bytes) else each for name, each in found.items()}


def _without_zeros(fields: Mapping[str, object], optional: Tuple[str, ...]) -> Dict[str, object]:
    return {name: each for name, each in fields.items() if name not in optional or each not in (0, ZERO_32)}


@dataclass(frozen=True, repr=False)
class PreparedClaimAnchor(HexRepr):
    """A claim that is not signed yet. The subject signs first, the issuer signs that signature as well."""

    signing_order: ClassVar[Tuple[str, ...]] = ("subject", "issuer")

    origin_fingerprint: bytes
    entity_fingerprint: bytes
    attribute_type: int
    attribute_hash: bytes
    subject_public_key: bytes
    issuer_public_key: bytes
    issued_at: int
    expires_at: int

    @property
    def fields(self) -> Dict[str, Any]:
        """The arguments that it was prepared from, for create_claim_anchor."""
        return dict(vars(self))

    @property
    def subject_payload(self) -> Payload:
        """What the subject signs: 207 bytes."""
        return Payload("subject", self.subject_public_key, claim_payload(**self.fields))

    def issuer_payload(self, subject_signature: Bytes64) -> Payload:
        """What the issuer signs, once the subject has: 130 bytes."""
        first = inputs.signature("subject_signature", subject_signature)
        return Payload("issuer", self.issuer_public_key, claim_issuer_payload(self.subject_payload.payload, first))

    def request(self, subject_signature: Bytes64, issuer_signature: Bytes64) -> Dict[str, object]:
        """The body to POST. Raises SigningFailed if a signature is not good."""
        first = inputs.signature("subject_signature", subject_signature)
        second = inputs.signature("issuer_signature", issuer_signature)
        checked_signature("subject", self.subject_public_key, self.subject_payload.payload, first)
        checked_signature("issuer", self.issuer_public_key, self.issuer_payload(first).payload, second)
        fields = _without_zeros(self.fields, ("issued_at", "expires_at"))
        return _body(fields, {"subject_signature": first, "issuer_signature": second})


@dataclass(frozen=True, repr=False)
class PreparedGrantAnchor(HexRepr):
    """A grant that is not signed yet. The grantor signs first, the witness signs that signature as well."""

    signing_order: ClassVar[Tuple[str, ...]] = ("grantor", "witness")

    origin_fingerprint: bytes
    grantor_claim_ref: bytes
    grantee_claim_ref: bytes
    parent_grant_ref: bytes
    scope_hash: bytes
    delegation_depth: int
    grantor_public_key: bytes
    witness_public_key: bytes
    issued_at: int
    not_before: int
    expires_at: int

    @property
    def fields(self) -> Dict[str, Any]:
        """The arguments that it was prepared from, for create_grant_anchor."""
        return dict(vars(self))

    @property
    def grantor_payload(self) -> Payload:
        """What the grantor signs: 279 bytes."""
        return Payload("grantor", self.grantor_public_key, grant_payload(**self.fields))

    def witness_payload(self, grantor_signature: Bytes64) -> Payload:
        """What the witness signs, once the grantor has: 131 bytes."""
        first = inputs.signature("grantor_signature", grantor_signature)
        return Payload("witness", self.witness_public_key, grant_witness_payload(self.grantor_payload.payload, first))

    def request(self, grantor_signature: Bytes64, witness_signature: Bytes64) -> Dict[str, object]:
        """The body to POST. Raises SigningFailed if a signature is not good."""
        first = inputs.signature("grantor_signature", grantor_signature)
        second = inputs.signature("witness_signature", witness_signature)
        checked_signature("grantor", self.grantor_public_key, self.grantor_payload.payload, first)
        checked_signature("witness", self.witness_public_key, self.witness_payload(first).payload, second)
        fields = _without_zeros(self.fields, ("parent_grant_ref", "issued_at", "not_before", "expires_at"))
        return _body(fields, {"grantor_signature": first, "witness_signature": second})


@dataclass(frozen=True, repr=False)
class PreparedEventAnchor(HexRepr):
    """An event, to be signed by its actor or to be sent as it is."""

    signing_order: ClassVar[Tuple[str, ...]] = ("actor",)

    origin_fingerprint: bytes
    event_hash: bytes
    semantic_anchor: SemanticHashes
    client_event_id: Optional[str]
    actor_public_key: Optional[bytes]

    @property
    def fields(self) -> Dict[str, Any]:
        """The arguments that it was prepared from, for create_event_anchor."""
        return dict(vars(self))

    @property
    def actor_payload(self) -> Payload:
        """What the actor signs: 289 bytes. The `client_event_id` is no part of it."""
        payload = event_actor_payload(
            origin_fingerprint=self.origin_fingerprint,
            event_hash=self.event_hash,
            semantic_anchor=self.semantic_anchor,
        )
        return Payload("actor", self.actor_public_key, payload)

    def request(self, actor_signature: Optional[Bytes64] = None) -> Dict[str, object]:
        """The body to POST. Raises SigningFailed for a bad signature, InvalidInput for one without a signer."""
        if (actor_signature is None) != (self.actor_public_key is None):
            raise InvalidInput("actor_signature", "goes with actor_public_key, or not at all")
        body: Dict[str, object] = {"origin_fingerprint": self.origin_fingerprint, "event_hash": self.event_hash}
        refs = {name: getattr(self.semantic_anchor, name).hex() for name in inputs.SEMANTIC_FIELDS}
        filled = {name: each for name, each in refs.items() if each != ZERO_32.hex()}
        if filled:
            body["semantic_anchor"] = filled
        if self.client_event_id is not None:
            body["client_event_id"] = self.client_event_id
        if actor_signature is None or self.actor_public_key is None:
            return _body(body, {})
        good = inputs.signature("actor_signature", actor_signature)
        checked_signature("actor", self.actor_public_key, self.actor_payload.payload, good)
        return _body(body, {"actor_public_key": self.actor_public_key, "actor_signature": good})


@dataclass(frozen=True, repr=False)
class PreparedRevocation(HexRepr):
    """A revocation of a claim or a grant: a party of it signs it, or the client that recorded it sends it as it is.

    `reason` is the number of the reason, `target_origin_fingerprint` the origin of what is revoked.
    """

    signing_order: ClassVar[Tuple[str, ...]] = ("revoker",)

    target_origin_fingerprint: bytes
    target_anchor_id: bytes
    reason: int
    suspect_since: int
    issued_at: int
    revoker_public_key: Optional[bytes]

    @property
    def revoker_payload(self) -> Payload:
        """What the revoker signs: 113 bytes."""
        payload = revocation_payload(
            origin_fingerprint=self.target_origin_fingerprint,
            target_anchor_id=self.target_anchor_id,
            reason=self.reason,
            suspect_since=self.suspect_since,
            issued_at=self.issued_at,
        )
        return Payload("revoker", self.revoker_public_key, payload)

    def request(self, revoker_signature: Optional[Bytes64] = None) -> Dict[str, object]:
        """The body to POST to the target's path. Raises SigningFailed if the signature is not good."""
        if (revoker_signature is None) != (self.revoker_public_key is None):
            raise InvalidInput("revoker_signature", "goes with revoker_public_key, or not at all")
        fields = {
            "reason": REVOCATION_REASONS[self.reason],
            "suspect_since": self.suspect_since,
            "issued_at": self.issued_at,
        }
        body = _without_zeros(fields, ("suspect_since", "issued_at"))
        if self.reason == 0:
            del body["reason"]
        if revoker_signature is None or self.revoker_public_key is None:
            return _body(body, {})
        good = inputs.signature("revoker_signature", revoker_signature)
        checked_signature("revoker", self.revoker_public_key, self.revoker_payload.payload, good)
        return _body(body, {"revoker_public_key": self.revoker_public_key, "revoker_signature": good})


def prepare_claim_anchor(
    *,
    origin_fingerprint: Bytes32,
    entity_fingerprint: Bytes32,
    attribute_type: Union[int, str],
    attribute_hash: Bytes32,
    subject_public_key: Bytes32,
    issuer_public_key: Bytes32,
    issued_at: Optional[int] = None,
    expires_at: Optional[int] = None,
) -> PreparedClaimAnchor:
    """Prepares a ClaimAnchor, offline.

    Args:
        origin_fingerprint: `Health.origin_fingerprint` of the target node.
        entity_fingerprint: names the entity.
        attribute_type: a u32, or a text such as "0x10". `attribute_type_of` has it of a name.
        attribute_hash: what is claimed.
        subject_public_key: speaks for the entity.
        issuer_public_key: vouches for the claim.
        issued_at: Unix milliseconds; None or 0: not stated.
        expires_at: Unix milliseconds; None or 0: never.

    Raises:
        InvalidInput: `field` names the argument.
    """
    return PreparedClaimAnchor(
        origin_fingerprint=inputs.bytes32("origin_fingerprint", origin_fingerprint),
        entity_fingerprint=inputs.bytes32("entity_fingerprint", entity_fingerprint),
        attribute_type=inputs.attribute_type(attribute_type),
        attribute_hash=inputs.bytes32("attribute_hash", attribute_hash),
        subject_public_key=inputs.bytes32("subject_public_key", subject_public_key),
        issuer_public_key=inputs.bytes32("issuer_public_key", issuer_public_key),
        issued_at=inputs.time_ms("issued_at", issued_at),
        expires_at=inputs.time_ms("expires_at", expires_at),
    )


def prepare_grant_anchor(
    *,
    origin_fingerprint: Bytes32,
    grantor_claim_ref: Bytes32,
    grantee_claim_ref: Bytes32,
    scope_hash: Bytes32,
    delegation_depth: int,
    grantor_public_key: Bytes32,
    witness_public_key: Bytes32,
    parent_grant_ref: Optional[Bytes32] = None,
    issued_at: Optional[int] = None,
    not_before: Optional[int] = None,
    expires_at: Optional[int] = None,
) -> PreparedGrantAnchor:
    """Prepares a GrantAnchor, offline.

    Args:
        origin_fingerprint: `Health.origin_fingerprint` of the target node.
        grantor_claim_ref: anchor id of the grantor's claim.
        grantee_claim_ref: anchor id of the grantee's claim.
        scope_hash: what may be done.
        delegation_depth: how many further hops may be granted below.
        grantor_public_key: the subject key of the grantor's claim.
        witness_public_key: another key, which has seen it.
        parent_grant_ref: the grant *to* the grantor that this one is granted under; empty: a root grant.
        issued_at: Unix milliseconds; None or 0: not stated.
        not_before: Unix milliseconds, inside the parent's window; None or 0: as the parent has it.
        expires_at: likewise.

    Raises:
        InvalidInput: `field` names the argument.
    """
    return PreparedGrantAnchor(
        origin_fingerprint=inputs.bytes32("origin_fingerprint", origin_fingerprint),
        grantor_claim_ref=inputs.bytes32("grantor_claim_ref", grantor_claim_ref),
        grantee_claim_ref=inputs.bytes32("grantee_claim_ref", grantee_claim_ref),
        parent_grant_ref=inputs.reference("parent_grant_ref", parent_grant_ref),
        scope_hash=inputs.bytes32("scope_hash", scope_hash),
        delegation_depth=inputs.u32("delegation_depth", delegation_depth),
        grantor_public_key=inputs.bytes32("grantor_public_key", grantor_public_key),
        witness_public_key=inputs.bytes32("witness_public_key", witness_public_key),
        issued_at=inputs.time_ms("issued_at", issued_at),
        not_before=inputs.time_ms("not_before", not_before),
        expires_at=inputs.time_ms("expires_at", expires_at),
    )


def prepare_event_anchor(
    event_hash: Bytes32,
    *,
    origin_fingerprint: Bytes32,
    semantic_anchor: Optional[SemanticAnchorInput] = None,
    client_event_id: Optional[str] = None,
    actor_public_key: Optional[Bytes32] = None,
) -> PreparedEventAnchor:
    """Prepares an event anchor, offline.

    Args:
        event_hash: SHA-256 of the event.
        origin_fingerprint: `Health.origin_fingerprint` of the target node.
        semantic_anchor: `iris_ref`, `scroll_ref`, `grant_ref`, `bond_ref`, `yield_ref`, `event_data_hash`; None, ""
            and zeros mean an empty one.
        client_event_id: 1 to 128 printable ASCII characters of your own.
        actor_public_key: who acts and will sign; None: an unsigned event.

    Raises:
        InvalidInput: `field` names the argument, `semantic_anchor.iris_ref` a member.
    """
    return PreparedEventAnchor(
        origin_fingerprint=inputs.bytes32("origin_fingerprint", origin_fingerprint),
        event_hash=inputs.bytes32("event_hash", event_hash),
        semantic_anchor=inputs.semantic_anchor(semantic_anchor),
        client_event_id=None if client_event_id is None else inputs.client_event_id(client_event_id),
        actor_public_key=None if actor_public_key is None else inputs.bytes32("actor_public_key", actor_public_key),
    )


def prepare_revocation(
    *,
    target_origin_fingerprint: Bytes32,
    target_anchor_id: Bytes32,
    reason: Optional[str] = None,
    suspect_since: Optional[int] = None,
    issued_at: Optional[int] = None,
    revoker_public_key: Optional[Bytes32] = None,
) -> PreparedRevocation:
    """Prepares the revocation of a claim or a grant, offline.

    Args:
        target_origin_fingerprint: `origin_fingerprint` of the anchor that is revoked.
        target_anchor_id: its id.
        reason: `unspecified`, `key_compromise`, `superseded`, `cessation`, `privilege_withdrawn`, `issued_in_error`.
        suspect_since: Unix milliseconds from which earlier acts are shown as suspect; None or 0: none.
        issued_at: Unix milliseconds; None or 0: not stated.
        revoker_public_key: issuer or subject of a claim, grantor or witness of a grant, who will sign; None:
            unsigned; the API client can then revoke its own records only.

    Raises:
        InvalidInput: `field` names the argument.
    """
    revoker = None if revoker_public_key is None else inputs.bytes32("revoker_public_key", revoker_public_key)
    return PreparedRevocation(
        target_origin_fingerprint=inputs.bytes32("target_origin_fingerprint", target_origin_fingerprint),
        target_anchor_id=inputs.bytes32("target_anchor_id", target_anchor_id),
        reason=inputs.reason(reason),
        suspect_since=inputs.time_ms("suspect_since", suspect_since),
        issued_at=inputs.time_ms("issued_at", issued_at),
        revoker_public_key=revoker,
    )
