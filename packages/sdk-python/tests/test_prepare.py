from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

import pytest

from event_anchoring import InvalidInput, LocalKey, SigningFailed, leaf
from event_anchoring import prepare_claim_anchor as claim
from event_anchoring import prepare_event_anchor as event
from event_anchoring import prepare_grant_anchor as grant
from event_anchoring import prepare_revocation as revocation
from event_anchoring._tags import client_event_commit, client_revoker

from .vectors import load

VECTORS = load("prepare")
PLACE = VECTORS["place"]
REQUIRED = {
    "claims": (
        "origin_fingerprint",
        "entity_fingerprint",
        "attribute_type",
        "attribute_hash",
        "subject_public_key",
        "issuer_public_key",
    ),
    "grants": (
        "origin_fingerprint",
        "grantor_claim_ref",
        "grantee_claim_ref",
        "scope_hash",
        "delegation_depth",
        "grantor_public_key",
        "witness_public_key",
    ),
    "events": ("origin_fingerprint", "event_hash"),
    "revocations": ("target_origin_fingerprint", "target_anchor_id"),
}
PREPARE: Dict[str, Callable[..., Any]] = {
    "claims": claim,
    "grants": grant,
    "events": event,
    "revocations": revocation,
}


def prepared(family: str, given: Dict[str, Any]) -> Any:
    # A member that is absent in JSON is None here where the language would refuse the call by itself.
    return PREPARE[family](**{**dict.fromkeys(REQUIRED[family]), **given})


def cases(family: str, kind: str) -> Any:
    return pytest.mark.parametrize("case", VECTORS[family][kind], ids=lambda case: case["name"])


def header() -> Tuple[int, bytes, int, int]:
    return PLACE["depth"], bytes.fromhex(PLACE["parent_anchor_id"]), PLACE["sequence"], PLACE["accepted_ms"]


def check_payload(case: Any, role: str, payload: Any) -> bytes:
    assert payload.role == role
    assert payload.hex == case[f"{role}_payload"]
    assert payload.digest.hex() == case[f"{role}_digest"]
    with LocalKey(case[f"{role}_seed"]) as key:
        assert key.public_key == payload.public_key
        signature = key.sign(payload.payload)
    assert signature.hex() == case[f"{role}_signature"]
    return signature


def check_leaf(case: Any, made: leaf.Leaf) -> None:
    encoded = leaf.encode_leaf(made)
    assert encoded.hex() == case["leaf"]
    assert leaf.anchor_id_of(encoded).hex() == case["anchor_id"]


@cases("claims", "good")
def test_good_claim(case: Any) -> None:
    made = prepared("claims", case["input"])
    assert made.signing_order == ("subject", "issuer")
    first = check_payload(case, "subject", made.subject_payload)
    second = check_payload(case, "issuer", made.issuer_payload(first))
    assert made.request(first, second.hex()) == case["request"]
    about = (made.entity_fingerprint, made.attribute_type, made.attribute_hash, made.issued_at, made.expires_at)
    keys = (made.subject_public_key, first, made.issuer_public_key, second)
    check_leaf(case, leaf.ClaimLeaf(made.origin_fingerprint, *header(), *about, *keys))
    assert claim(**made.fields) == made


@cases("grants", "good")
def test_good_grant(case: Any) -> None:
    made = prepared("grants", case["input"])
    assert made.signing_order == ("grantor", "witness")
    first = check_payload(case, "grantor", made.grantor_payload)
    second = check_payload(case, "witness", made.witness_payload(first))
    assert made.request(first, second) == case["request"]
    refs = (made.grantor_claim_ref, made.grantee_claim_ref, made.parent_grant_ref, made.scope_hash)
    bounds = (made.delegation_depth, made.issued_at, made.not_before, made.expires_at)
    keys = (made.grantor_public_key, first, made.witness_public_key, second)
    check_leaf(case, leaf.GrantLeaf(made.origin_fingerprint, *header(), *refs, *bounds, *keys))
    assert grant(**made.fields) == made


@cases("events", "good")
def test_good_event(case: Any) -> None:
    made = prepared("events", case["input"])
    signature = check_payload(case, "actor", made.actor_payload) if "actor_seed" in case else None
    assert made.request(signature) == case["request"]
    commit = bytes(32)
    if made.client_event_id is not None:
        commit = client_event_commit(bytes.fromhex(case["client_event_salt"]), made.client_event_id)
    body = (made.event_hash, made.semantic_anchor, commit)
    if signature is None:
        check_leaf(case, leaf.EventLeaf(made.origin_fingerprint, *header(), *body))
    else:
        signed = (made.actor_public_key, signature)
        check_leaf(case, leaf.SignedEventLeaf(made.origin_fingerprint, *header(), *body, *signed))
    assert event(**made.fields) == made


@cases("revocations", "good")
def test_good_revocation(case: Any) -> None:
    made = prepared("revocations", case["input"])
    signature = check_payload(case, "revoker", made.revoker_payload) if "revoker_seed" in case else None
    assert made.request(signature) == case["request"]
    revoker = made.revoker_public_key
    if signature is None:
        revoker = client_revoker(bytes.fromhex(case["api_client_id"]))
    authority = leaf.REVOCATION_AUTHORITIES.index(case["authority"])
    about = (made.target_anchor_id, made.reason, made.suspect_since, made.issued_at, authority)
    place = (made.target_origin_fingerprint, *header())
    check_leaf(case, leaf.RevocationLeaf(*place, *about, revoker, signature or bytes(64)))


BAD = [(family, case) for family in PREPARE for case in VECTORS[family]["bad"]]


@pytest.mark.parametrize(("family", "case"), BAD, ids=[f"{family}: {case['name']}" for family, case in BAD])
def test_bad_input(family: str, case: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        prepared(family, case["input"])
    assert caught.value.code == case["error"] == "invalid_input"
    assert caught.value.field == case["field"]


GOOD_CLAIM = VECTORS["claims"]["good"][0]


@pytest.mark.parametrize(
    "value", [bytes(31), bytes(33), b"", bytearray(31), memoryview(bytes(32)), object(), 3.5, [0] * 32, range(32)]
)
def test_other_types_are_refused(value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        prepared("claims", {**GOOD_CLAIM["input"], "entity_fingerprint": value})
    assert caught.value.field == "entity_fingerprint"


def test_bytes_and_hex_are_the_same() -> None:
    given = {name: bytes.fromhex(each) if isinstance(each, str) else each for name, each in GOOD_CLAIM["input"].items()}
    assert prepared("claims", given) == prepared("claims", GOOD_CLAIM["input"])
    assert prepared("claims", {**given, "attribute_hash": bytearray(given["attribute_hash"])}) == prepared(
        "claims", given
    )


def test_unknown_members_of_a_semantic_anchor_are_refused() -> None:
    with pytest.raises(InvalidInput, match="unknown member"):
        event(bytes(32), origin_fingerprint=bytes(32), semantic_anchor={"iris": bytes(32)})


@pytest.mark.parametrize("role", ["subject", "issuer"])
def test_a_bad_signature_is_not_sent(role: str) -> None:
    made = prepared("claims", GOOD_CLAIM["input"])
    signatures = {each: bytearray.fromhex(GOOD_CLAIM[f"{each}_signature"]) for each in ("subject", "issuer")}
    signatures[role][0] ^= 1
    with pytest.raises(SigningFailed, match=role):
        made.request(bytes(signatures["subject"]), bytes(signatures["issuer"]))


def test_an_issuer_signs_one_subject_signature() -> None:
    made = prepared("claims", GOOD_CLAIM["input"])
    first = bytes.fromhex(GOOD_CLAIM["subject_signature"])
    with pytest.raises(SigningFailed, match="issuer"):
        made.request(first, first)


def test_a_signature_stands_beside_its_key() -> None:
    unsigned = event(bytes(32), origin_fingerprint=bytes(32))
    with pytest.raises(InvalidInput, match="actor_signature"):
        unsigned.request(bytes(64))
    with pytest.raises(InvalidInput, match="actor_signature"):
        event(bytes(32), origin_fingerprint=bytes(32), actor_public_key=bytes(32)).request()
    by_operator = revocation(target_origin_fingerprint=bytes(32), target_anchor_id=bytes(32))
    with pytest.raises(InvalidInput, match="revoker_signature"):
        by_operator.request(bytes(64))
