"""Writing with both clients over fake transports: configuration, signers, bad input, hostile answers."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from event_anchoring import (
    ApiProblem,
    AsyncClient,
    Client,
    Conflict,
    EventInput,
    InvalidInput,
    LocalKey,
    OutcomeUnknown,
    RetryPolicy,
    Signer,
    SigningFailed,
    UnexpectedAnswer,
    VerificationError,
    Wait,
    signer_of,
    verify_receipt,
    verify_trust_root,
)

from .fakes import AsyncFakeTransport, FakeTransport, answer, example, examples, problem
from .ledger import batch, claim, recorded
from .vectors import load

ID = "ab" * 32
HEALTH = example("/healthz")
ORIGIN = HEALTH["origin_fingerprint"]
CREATED_EVENT = example("/v1/event-anchors", "post", 201)
EVENT_HASH = CREATED_EVENT["anchor"]["event_hash"]
TRUST = example("/v1/trust-root")

Use = Callable[[Any], Any]


def client(*script: Any, **options: Any) -> Tuple[Client, FakeTransport]:
    transport = FakeTransport(list(script))
    return Client("https://node", "key", origin_fingerprint=ORIGIN, transport=transport, **options), transport


def test_the_origin_is_asked_for_once_and_kept() -> None:
    transport = FakeTransport([answer(HEALTH), recorded])
    with Client(["https://a", "https://b"], "key", transport=transport) as used:
        assert used.origin_fingerprint is None
        used.create_event_anchor(EVENT_HASH)
        used.create_event_anchor(EVENT_HASH)
        assert used.origin_fingerprint == ORIGIN
    assert [request.target for _, request in transport.sent] == ["/healthz", "/v1/event-anchors", "/v1/event-anchors"]
    assert [body["origin_fingerprint"] for body in transport.bodies()[1:]] == [ORIGIN, ORIGIN]


def test_an_event_gets_an_id_unless_it_is_forbidden() -> None:
    used, transport = client(recorded)
    used.create_event_anchor(EVENT_HASH)
    used.create_event_anchor(EVENT_HASH)
    used.create_event_anchor(EVENT_HASH, client_event_id="mine")
    used.create_event_anchor(EVENT_HASH, client_event_id=None)
    first, second, own, none = transport.bodies()
    assert len(first["client_event_id"]) == 36
    assert first["client_event_id"] != second["client_event_id"]
    assert own["client_event_id"] == "mine"
    assert "client_event_id" not in none


def test_a_signed_batch() -> None:
    used, transport = client(recorded)
    with LocalKey("61" * 32) as key:
        used.create_event_anchors([EventInput(ID, actor=key), EventInput(ID, {"iris_ref": ID}, None)], atomic=True)
    (body,) = transport.bodies()
    signed, plain = body["events"]
    assert body["atomic"] is True
    assert signed["actor_public_key"] == key.public_key.hex()
    assert len(signed["actor_signature"]) == 128
    assert plain == {"event_hash": ID, "semantic_anchor": {"iris_ref": ID}}


CLAIM: Dict[str, Any] = {"entity_fingerprint": ID, "attribute_type": "0x1001", "attribute_hash": ID}
GRANT: Dict[str, Any] = {"grantor_claim_ref": ID, "grantee_claim_ref": ID, "scope_hash": ID, "delegation_depth": 1}


def test_signers_and_signatures_make_the_same_request() -> None:
    used, transport = client(recorded)
    with LocalKey("61" * 32) as subject, LocalKey("62" * 32) as issuer:
        used.create_claim_anchor(**CLAIM, subject=subject, issuer=signer_of(issuer.public_key, issuer.sign))
        prepared = used.prepare_claim_anchor(
            **CLAIM, subject_public_key=subject.public_key, issuer_public_key=issuer.public_key
        )
        first = subject.sign(prepared.subject_payload.payload)
        second = issuer.sign(prepared.issuer_payload(first).payload)
        used.create_claim_anchor(**prepared.fields, subject_signature=first.hex(), issuer_signature=second)
        used.create_claim_anchor(**CLAIM, subject=subject, issuer_public_key=issuer.public_key, issuer_signature=second)
    sent = transport.bodies()
    assert sent[0] == sent[1] == sent[2]


def test_records_may_hold_zeros() -> None:
    used, _ = client(recorded)
    with LocalKey("61" * 32) as one, LocalKey("62" * 32) as two:
        zeros: Dict[str, Any] = {"attribute_hash": bytes(32), "entity_fingerprint": bytes(32), "attribute_type": 0}
        assert used.create_claim_anchor(**zeros, subject=one, issuer=two).anchor.attribute_hash == "00" * 32
        refs: Dict[str, Any] = {"parent_grant_ref": bytes(32), "scope_hash": bytes(32), "delegation_depth": 0}
        granted = used.create_grant_anchor(**{**GRANT, **refs}, grantor=one, witness=two)
        assert (granted.anchor.parent_grant_ref, granted.anchor.scope_hash) == (None, "00" * 32)


@pytest.mark.parametrize("lie", [{"attribute_hash": "00" * 32}, {"expires_at": 7}, {"attribute_type": 7}])
def test_a_service_that_records_another_claim(lie: Any) -> None:
    def lying(request: Any) -> Any:
        body = {**json.loads(request.body), **lie}
        return answer({"anchor": claim(body), "receipt": None, "replayed": False}, 202)

    used, _ = client(lying)
    with LocalKey("61" * 32) as one, LocalKey("62" * 32) as two, pytest.raises(VerificationError) as caught:
        used.create_claim_anchor(**CLAIM, subject=one, issuer=two)
    assert caught.value.code == "content_differs"


def test_an_async_client_awaits_signers() -> None:
    transport = AsyncFakeTransport(recorded)
    grantor, witness = LocalKey("61" * 32), LocalKey("63" * 32)

    async def sign(payload: bytes) -> bytes:
        # Gives the loop one turn, as a signer in another process does.
        await asyncio.sleep(0)
        return witness.sign(payload)

    async def run() -> None:
        async with AsyncClient("https://node", "key", origin_fingerprint=ORIGIN, transport=transport) as used:
            await used.create_grant_anchor(**GRANT, grantor=grantor, witness=signer_of(witness.public_key, sign))
            prepared = await used.prepare_event_anchor(ID, actor_public_key=grantor.public_key)
            assert prepared.actor_payload.public_key == grantor.public_key

    asyncio.run(run())
    (body,) = transport.fake.bodies()
    assert body["witness_public_key"] == witness.public_key.hex()


def refused_inputs() -> List[Tuple[str, str, Use]]:
    key = LocalKey("61" * 32)
    other = LocalKey("62" * 32).public_key
    return [
        ("short hash", "event_hash", lambda c: c.create_event_anchor("ab")),
        ("bad id", "client_event_id", lambda c: c.create_event_anchor(ID, client_event_id="\n")),
        ("no key", "actor_signature", lambda c: c.create_event_anchor(ID, actor_signature=bytes(64))),
        ("no signature", "actor_signature", lambda c: c.create_event_anchor(ID, actor_public_key=ID)),
        (
            "two ways to sign",
            "actor_signature",
            lambda c: c.create_event_anchor(ID, actor=key, actor_signature=bytes(64)),
        ),
        ("another key", "actor_public_key", lambda c: c.create_event_anchor(ID, actor=key, actor_public_key=other)),
        ("no subject", "subject_public_key", lambda c: c.create_claim_anchor(**CLAIM, issuer=key)),
        (
            "no issuer signature",
            "issuer_signature",
            lambda c: c.create_claim_anchor(**CLAIM, subject=key, issuer_public_key=other),
        ),
        ("bad reason", "reason", lambda c: c.revoke_claim_anchor(ID, reason="because")),
        (
            "lone revoker signature",
            "revoker_signature",
            lambda c: c.revoke_grant_anchor(ID, revoker_signature=bytes(64)),
        ),
        ("empty batch", "events", lambda c: c.create_event_anchors([])),
        ("bad item", "events[1].event_hash", lambda c: c.create_event_anchors([EventInput(ID), EventInput(b"")])),
        ("no filter", "filter", lambda c: c.list_event_anchors()),
        ("two filters", "filter", lambda c: c.list_event_anchors(event_hash=ID, iris_ref=ID)),
        ("bad cursor", "cursor", lambda c: c.list_event_anchors(event_hash=ID, cursor="a/../b")),
        ("limit 0", "limit", lambda c: c.list_event_anchors(event_hash=ID, limit=0)),
        ("no party", "filter", lambda c: c.list_grant_anchors()),
        ("bad grants' cursor", "cursor", lambda c: c.list_grant_anchors(grantor_fingerprint=ID, cursor="a/b")),
        ("no entity", "entity_fingerprint", lambda c: c.list_claim_anchors(entity_fingerprint="ab")),
        (
            "bad type",
            "attribute_type",
            lambda c: c.list_claim_anchors(entity_fingerprint=ID, attribute_type=2**32),
        ),
        ("size 0", "from_size", lambda c: c.consistency(0)),
        ("a path for an id", "anchor_id", lambda c: c.get_anchor("../latest")),
        ("as_of without zone", "as_of", lambda c: c.trace(ID, as_of="2026-01-01T00:00:00")),
        ("as_of bool", "as_of", lambda c: c.trace(ID, as_of=True)),
        ("no roots", "trusted_roots", lambda c: c.trace(ID, trusted_roots=[])),
        ("roots as text", "trusted_roots", lambda c: c.verify_grant_anchor(ID, trusted_roots=ID)),
        ("nothing to verify", "anchors", lambda c: c.verify_event_anchors([])),
        ("bad anchor", "anchors[0].anchor_id", lambda c: c.verify_event_anchors(["x"])),
        ("wait 31", "wait.seconds", lambda c: c.create_event_anchor(ID, wait=Wait(31))),
    ]


@pytest.mark.parametrize(("name", "field", "use"), refused_inputs(), ids=[each[0] for each in refused_inputs()])
def test_bad_input_never_reaches_the_network(name: str, field: str, use: Use) -> None:
    transport = FakeTransport([answer(HEALTH)])
    with pytest.raises(InvalidInput) as caught:
        use(Client("https://node", "key", transport=transport))
    assert caught.value.field == field
    assert transport.sent == []


def test_a_signer_that_signs_something_else() -> None:
    used, transport = client(answer(CREATED_EVENT, 201))
    with LocalKey("61" * 32) as key, pytest.raises(SigningFailed, match="actor"):
        used.create_event_anchor(ID, actor=signer_of(key.public_key, lambda payload: key.sign(payload + b"x")))
    assert transport.sent == []


def locked_hsm() -> Signer:
    def sign(payload: bytes) -> bytes:
        raise PermissionError("the HSM is locked")

    return signer_of("61" * 32, sign)


def test_a_signer_that_raises() -> None:
    used, transport = client(recorded)
    with pytest.raises(SigningFailed, match="PermissionError") as caught:
        used.create_event_anchor(ID, actor=locked_hsm())
    assert isinstance(caught.value.__cause__, PermissionError)
    assert transport.sent == []


def test_an_awaited_signer_that_raises() -> None:
    transport = AsyncFakeTransport(recorded)

    async def run() -> None:
        async with AsyncClient("https://node", "key", origin_fingerprint=ORIGIN, transport=transport) as used:
            await used.create_event_anchor(ID, actor=locked_hsm())

    with pytest.raises(SigningFailed, match="PermissionError"):
        asyncio.run(run())
    assert transport.fake.sent == []


def test_a_revocation_is_signed_over_the_targets_origin() -> None:
    target = example("/v1/event-anchors/{anchor_id}")
    used, transport = client(answer(target), recorded)
    with LocalKey("61" * 32) as key:
        revoked = used.revoke_claim_anchor(target["anchor"]["anchor_id"], revoker=key, reason="key_compromise")
    assert (revoked.anchor.reason, revoked.anchor.revoker) == ("key_compromise", key.public_key.hex())
    assert [request.method for _, request in transport.sent] == ["GET", "POST"]
    assert transport.bodies()[1]["revoker_public_key"] == key.public_key.hex()


def test_wait_is_preferred_and_given_time() -> None:
    used, transport = client(recorded)
    used.create_event_anchor(ID, wait=Wait(30, respond_async=True))
    ((_, request),) = transport.sent
    assert dict(request.headers)["Prefer"] == "wait=30, respond-async"
    assert request.timeout_s >= 30.25
    assert Wait(5, witnessed=True).header() == "wait=5, witnessed"
    assert Wait(witnessed=True).header() == "witnessed"


def test_a_receipt_can_be_asked_to_be_witnessed() -> None:
    missing = problem("anchor_not_found", 404)
    used, transport = client(missing, missing)
    for read in (used.get_anchor, used.get_receipt):
        with pytest.raises(ApiProblem):
            read(ID, wait=Wait(5, witnessed=True))
    assert [dict(request.headers)["Prefer"] for _, request in transport.sent] == ["wait=5, witnessed"] * 2


def chain() -> Any:
    return verify_trust_root([each["document"] for each in TRUST["chain"]], TRUST["chain"][0]["root_thk"])


REFS = CREATED_EVENT["anchor"]["semantic_anchor"]


def test_receipts_are_verified_against_a_trust_root() -> None:
    used, _ = client(answer(CREATED_EVENT, 201), trust_root=chain())
    assert used.create_event_anchor(EVENT_HASH, semantic_anchor=REFS).receipt is not None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"inclusion": []}, "inclusion_wrong"),
        ({"anchor_id": ID}, "anchor_id_differs"),
        ({"leaf": example("/v1/claim-anchors", "post", 201)["receipt"]["leaf"]}, "anchor_id_differs"),
        (
            {"checkpoint": re.sub(r"\n\d+\n", "\n9\n", CREATED_EVENT["receipt"]["checkpoint"], count=1)},
            "tree_size_differs",
        ),
        ({"checkpoint": CREATED_EVENT["receipt"]["checkpoint"].rsplit("\u2014", 2)[0]}, "quorum_not_met"),
    ],
)
def test_receipts_that_prove_nothing_are_refused(change: Any, code: str) -> None:
    body = {**CREATED_EVENT, "receipt": {**CREATED_EVENT["receipt"], **change}}
    used, _ = client(answer(body, 201), answer(TRUST), trust_root=chain())
    with pytest.raises(VerificationError) as caught:
        used.create_event_anchor(EVENT_HASH, semantic_anchor=REFS)
    assert caught.value.code == code


def test_a_newer_trust_root_is_followed() -> None:
    vectors = load("receipt")
    first = verify_trust_root(vectors["trust_roots"][:1], vectors["pinned_root_thk"])
    both = verify_trust_root(vectors["trust_roots"][:2], vectors["pinned_root_thk"])

    def is_good(receipt: Any, held: Any) -> bool:
        try:
            return bool(verify_receipt(receipt, held).leaf)
        except VerificationError:
            return False

    receipts = [each["receipt"] for each in (*vectors["good"], *vectors["bad"])]
    receipt = next(each for each in receipts if is_good(each, both) and not is_good(each, first))
    versions = [
        {"version": version.version, "root_thk": version.root_thk.hex(), "document": document}
        for version, document in zip(both.versions, vectors["trust_roots"])
    ]
    script = [answer(receipt), answer({**versions[1], "chain": versions}), answer(receipt)]
    used, transport = client(*script, trust_root=first)
    used.get_receipt(receipt["anchor_id"])
    used.get_receipt(receipt["anchor_id"])
    assert [request.target for _, request in transport.sent][1] == "/v1/trust-root"
    assert len(transport.sent) == 3
    # Documents that do not go on from the held one are not looked at.
    stubborn, _ = client(answer(receipt), answer(TRUST), trust_root=first)
    with pytest.raises(VerificationError):
        stubborn.get_receipt(receipt["anchor_id"])


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"endpoints": ""}, "endpoints[0]"),
        ({"endpoints": []}, "endpoints"),
        ({"endpoints": "ftp://x"}, "endpoints[0]"),
        ({"endpoints": ["https://a", "https://user:pw@b"]}, "endpoints[1]"),
        ({"endpoints": "https://a?b"}, "endpoints[0]"),
        ({"endpoints": ["https://a", "http://a.example"]}, "endpoints[1]"),
        ({"endpoints": "http://localhost.example"}, "endpoints[0]"),
        ({"endpoints": "http://127.0.0.1.example"}, "endpoints[0]"),
        ({"endpoints": "http://[::2]:8080"}, "endpoints[0]"),
        ({"endpoints": "https://a\n"}, "endpoints[0]"),
        ({"api_key": "a b"}, "api_key"),
        ({"api_key": "a\r\nX-Evil: 1"}, "api_key"),
        ({"api_key": b"key"}, "api_key"),
        ({"origin_fingerprint": "ab"}, "origin_fingerprint"),
        ({"trust_root": []}, "trust_root"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"batch_timeout_s": True}, "batch_timeout_s"),
    ],
)
def test_bad_configuration(options: Dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Client(**{"endpoints": "https://a", "transport": FakeTransport([]), **options})
    assert caught.value.field == field
    assert "Evil" not in str(caught.value)


@pytest.mark.parametrize("endpoint", ["http://localhost", "http://127.0.0.1:8080", "http://[::1]:8080"])
def test_plain_http_may_go_to_this_host(endpoint: str) -> None:
    assert repr(Client(endpoint, transport=FakeTransport([]))) == f"<Client {endpoint}>"


def test_plain_http_may_be_allowed() -> None:
    used = Client("http://a.example", allow_plain_http=True, transport=FakeTransport([]))
    assert repr(used) == "<Client http://a.example>"


def test_the_api_key_is_never_shown() -> None:
    used = Client(["https://a/base/", "https://b"], "secret-key", transport=FakeTransport([]))
    assert repr(used) == "<Client https://a/base, https://b>"
    assert "secret-key" not in repr(used._session)
    asking = FakeTransport([answer(CREATED_EVENT)])
    with pytest.raises(VerificationError):
        Client("https://a", "secret-key", transport=asking).get_anchor(ID)
    assert "secret-key" in str(asking.sent[0][1].headers)
    assert "secret-key" not in repr(asking.sent[0][1])


def test_calls_that_need_a_key_say_so() -> None:
    with pytest.raises(InvalidInput) as caught:
        Client("https://a", transport=FakeTransport([])).get_anchor(ID)
    assert caught.value.field == "api_key"


@pytest.mark.parametrize("key", [None, "secret-key"])
def test_the_log_is_open_without_a_key_and_a_key_that_there_is_is_sent(key: Optional[str]) -> None:
    latest, receipt = example("/v1/event-anchors/latest"), example("/v1/event-anchors/{anchor_id}/receipt")
    shown = [latest["checkpoint"].encode(), b"\x07" * 32, b"\x00\x01\x09", receipt]
    asking = FakeTransport([answer(body) for body in shown])
    asked = Client("https://a", key, transport=asking)
    asked.get_checkpoint(latest["origin_fingerprint"])
    asked.get_tile(ID, 0, 0, width=1)
    asked.get_entries(ID, 0, width=1)
    asked.get_receipt(receipt["anchor_id"])
    sent = [dict(request.headers).get("Authorization") for _, request in asking.sent]
    assert sent == [None if key is None else f"Bearer {key}"] * 4


NO_ANSWERS = [b"", b"<html>", b"\xff", b"[]", b"null", b"{}", b'{"anchor":1}', b"[" * 99_999, b"1" * 10_000_000]


@pytest.mark.parametrize("body", NO_ANSWERS, ids=lambda body: repr(body[:12]))
def test_answers_that_are_none(body: bytes) -> None:
    used, transport = client(answer(body))
    with pytest.raises(UnexpectedAnswer) as caught:
        used.healthz()
    assert caught.value.request_id == "from-the-service"
    # A write may be recorded for all that: the id to ask again with is told.
    with pytest.raises(OutcomeUnknown) as unknown:
        used.create_event_anchor(ID)
    assert unknown.value.client_event_id == transport.bodies()[1]["client_event_id"]
    assert isinstance(unknown.value.__cause__, UnexpectedAnswer)
    assert len(transport.sent) == 2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_no_answers(status: int) -> None:
    used, transport = client(answer(b"", status, location="https://elsewhere"))
    for use in (lambda: used.get_anchor(ID), lambda: used.create_event_anchor(ID)):
        with pytest.raises(UnexpectedAnswer):
            use()
    assert [endpoint for endpoint, _ in transport.sent] == ["https://node"] * 2


def test_an_api_key_that_is_echoed_is_not_repeated() -> None:
    said = "you sent Bearer s3cret-key\x1b[2J" + "x" * 5000
    body = {"code": "invalid_request", "detail": said, "title": said, "errors": [{"detail": said}], "s3cret-key": said}
    for status in (400, 500):
        used = Client(
            "https://node", "s3cret-key", origin_fingerprint=ORIGIN, transport=FakeTransport([answer(body, status)])
        )
        used._session.retry = RetryPolicy(attempts_max=1)
        with pytest.raises(ApiProblem) as caught:
            used.get_anchor(ID)
        error = caught.value
        assert "s3cret" not in f"{error} {error!r} {error.title} {error.errors} {error.members}"
        assert "<API_KEY>" in error.message
        assert "\x1b" not in str(error)
        assert len(str(error)) < 1200
        with pytest.raises((ApiProblem, OutcomeUnknown)) as caught_again:
            used.create_event_anchor(ID)
        assert "s3cret" not in str(caught_again.value)


def test_a_request_id_that_is_none() -> None:
    used, transport = client(answer(b"", 200, x_request_id="\x1b[2J" + "y" * 9999))
    with pytest.raises(UnexpectedAnswer) as caught:
        used.healthz()
    assert caught.value.request_id == dict(transport.sent[0][1].headers)["X-Request-Id"]


def test_an_atomic_batch_that_is_refused() -> None:
    body = next(
        each for each in examples("/v1/event-anchors/batch", "post", 409).values() if each["code"] == "batch_refused"
    )
    used, _ = client(answer(body, 409))
    with pytest.raises(Conflict, match="batch_refused") as caught:
        used.create_event_anchors([EventInput(ID)], atomic=True)
    assert "results" in caught.value.members


def test_the_outcome_of_a_batch() -> None:
    used, transport = client(problem("outcome_unknown", 503), retry=None)
    used._session.retry = type(used._session.retry)(attempts_max=1)
    with pytest.raises(OutcomeUnknown, match=r"the same client_event_ids: .*replayed") as caught:
        used.create_event_anchors([EventInput(ID), EventInput(ID, client_event_id="mine")])
    assert len(transport.sent) == 1
    ids = [each["client_event_id"] for each in transport.bodies()[0]["events"]]
    assert list(caught.value.client_event_ids) == ids
    assert (ids[1], caught.value.client_event_id) == ("mine", None)


def test_a_batch_that_is_answered_in_part() -> None:
    def forgetful(request: Any) -> Any:
        return answer(batch({**json.loads(request.body), "events": []}))

    used, _ = client(forgetful)
    with pytest.raises(OutcomeUnknown, match="1 events were sent"):
        used.create_event_anchors([EventInput(ID)])
