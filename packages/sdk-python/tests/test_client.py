"""Every operation of both clients, over fake transports."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, Callable, Dict, List, Tuple

import pytest

from event_anchoring import (
    AsyncClient,
    CallbackSigner,
    Client,
    Conflict,
    EventInput,
    InvalidInput,
    LocalKey,
    OutcomeUnknown,
    Receipt,
    SigningFailed,
    UnexpectedAnswer,
    VerificationError,
    Wait,
    models,
    verify_trust_root,
)

from .fakes import AsyncFakeTransport, FakeTransport, answer, example, examples, problem

ID = "ab" * 32
HEALTH = example("/healthz")
ORIGIN = HEALTH["origin_fingerprint"]
CREATED_EVENT = example("/v1/event-anchors", "post", 201)
EVENT_HASH = CREATED_EVENT["anchor"]["event_hash"]
TRUST = example("/v1/trust-root")

Use = Callable[[Any], Any]

#: Name, the answer's route, method and status, how the client is used, what is sent, the type that comes back.
CALLS: List[Tuple[str, str, str, int, Use, str, Any]] = [
    ("healthz", "/healthz", "get", 200, lambda c: c.healthz(), "GET /healthz", models.Health),
    ("readyz", "/readyz", "get", 200, lambda c: c.readyz(), "GET /readyz", models.Ready),
    ("not ready", "/readyz", "get", 503, lambda c: c.readyz(), "GET /readyz", models.Ready),
    ("limits", "/v1/limits", "get", 200, lambda c: c.limits(), "GET /v1/limits", models.Limits),
    (
        "trust_root",
        "/v1/trust-root",
        "get",
        200,
        lambda c: c.trust_root(),
        "GET /v1/trust-root",
        models.TrustRootAnswer,
    ),
    (
        "create_event_anchor",
        "/v1/event-anchors",
        "post",
        201,
        lambda c: c.create_event_anchor(EVENT_HASH),
        "POST /v1/event-anchors",
        models.Created,
    ),
    (
        "create_event_anchors",
        "/v1/event-anchors/batch",
        "post",
        200,
        lambda c: c.create_event_anchors([EventInput(EVENT_HASH)]),
        "POST /v1/event-anchors/batch",
        models.CreatedBatch,
    ),
    (
        "revoke_claim_anchor",
        "/v1/claim-anchors/{anchor_id}/revoke",
        "post",
        201,
        lambda c: c.revoke_claim_anchor(ID, reason="key_compromise"),
        f"POST /v1/claim-anchors/{ID}/revoke",
        models.Revoked,
    ),
    (
        "revoke_grant_anchor",
        "/v1/grant-anchors/{anchor_id}/revoke",
        "post",
        201,
        lambda c: c.revoke_grant_anchor(bytes.fromhex(ID)),
        f"POST /v1/grant-anchors/{ID}/revoke",
        models.Revoked,
    ),
    (
        "erase_client_event_id",
        "/v1/event-anchors/{anchor_id}/erase-client-event-id",
        "post",
        200,
        lambda c: c.erase_client_event_id(ID),
        f"POST /v1/event-anchors/{ID}/erase-client-event-id",
        models.Erased,
    ),
    (
        "get_anchor",
        "/v1/event-anchors/{anchor_id}",
        "get",
        200,
        lambda c: c.get_anchor(ID.upper()),
        f"GET /v1/event-anchors/{ID}",
        models.FoundAnchor,
    ),
    (
        "get_receipt",
        "/v1/event-anchors/{anchor_id}/receipt",
        "get",
        200,
        lambda c: c.get_receipt(ID),
        f"GET /v1/event-anchors/{ID}/receipt",
        Receipt,
    ),
    (
        "get_claim_anchor",
        "/v1/claim-anchors",
        "get",
        200,
        lambda c: c.get_claim_anchor(ID, "0x1001"),
        f"GET /v1/claim-anchors?entity_fingerprint={ID}&attribute_type=4097",
        models.ActiveClaim,
    ),
    (
        "get_grant_anchor",
        "/v1/grant-anchors",
        "get",
        200,
        lambda c: c.get_grant_anchor(ID, ID),
        f"GET /v1/grant-anchors?grantor_fingerprint={ID}&grantee_fingerprint={ID}",
        models.ActiveGrant,
    ),
    (
        "list_event_anchors",
        "/v1/event-anchors",
        "get",
        200,
        lambda c: c.list_event_anchors(client_event_id="a b+c/é"[:6] + "&", limit=7),
        "GET /v1/event-anchors?client_event_id=a%20b%2Bc%2F%26&limit=7",
        models.EventList,
    ),
    (
        "latest",
        "/v1/event-anchors/latest",
        "get",
        200,
        lambda c: c.latest(origin_fingerprint=ID, from_size=3),
        f"GET /v1/event-anchors/latest?origin_fingerprint={ID}&from_size=3",
        models.Latest,
    ),
    (
        "consistency",
        "/v1/event-anchors/consistency",
        "get",
        200,
        lambda c: c.consistency(3, to_size=5),
        "GET /v1/event-anchors/consistency?from_size=3&to_size=5",
        models.Consistency,
    ),
    (
        "verify_event_anchor",
        "/v1/event-anchors:verify",
        "post",
        200,
        lambda c: c.verify_event_anchor(ID, event_hash=ID, as_of=9),
        "POST /v1/event-anchors:verify",
        models.Verified,
    ),
    (
        "verify_event_anchors",
        "/v1/event-anchors:batchVerify",
        "post",
        200,
        lambda c: c.verify_event_anchors([ID, (ID, ID)]),
        "POST /v1/event-anchors:batchVerify",
        models.VerifiedBatch,
    ),
    (
        "verify_claim_anchor",
        "/v1/claim-anchors:verify",
        "post",
        200,
        lambda c: c.verify_claim_anchor(ID, as_of="2026-01-01T00:00:00Z"),
        "POST /v1/claim-anchors:verify",
        models.VerifiedClaim,
    ),
    (
        "verify_grant_anchor",
        "/v1/grant-anchors:verify",
        "post",
        200,
        lambda c: c.verify_grant_anchor(ID, trusted_roots=[ID]),
        "POST /v1/grant-anchors:verify",
        models.VerifiedGrant,
    ),
    (
        "trace",
        "/v1/event-anchors/{anchor_id}/trace",
        "get",
        200,
        lambda c: c.trace(ID, as_of="2026-01-01T00:00:00+01:00", trusted_roots=[ID, ID], cursor="5", limit=2),
        f"GET /v1/event-anchors/{ID}/trace?as_of=2026-01-01T00%3A00%3A00%2B01%3A00"
        f"&trusted_roots={ID}%2C{ID}&cursor=5&limit=2",
        models.Trace,
    ),
]
CALLS = [
    (*call[:4], (lambda c: c.list_event_anchors(client_event_id="a b+c/&", limit=7)), *call[5:])
    if call[0] == "list_event_anchors"
    else call
    for call in CALLS
]


def client(*script: Any, **options: Any) -> Tuple[Client, FakeTransport]:
    transport = FakeTransport(list(script))
    return Client("http://node", "key", origin_fingerprint=ORIGIN, transport=transport, **options), transport


@pytest.mark.parametrize("call", CALLS, ids=[call[0] for call in CALLS])
@pytest.mark.parametrize("is_async", [False, True], ids=["Client", "AsyncClient"])
def test_operation(call: Any, is_async: bool) -> None:
    _, path, method, status, use, sent, of_type = call
    body = example(path, method, status)
    if is_async:
        transport = AsyncFakeTransport(answer(body, status))

        async def run() -> Any:
            async with AsyncClient(
                "http://node", "key", origin_fingerprint=ORIGIN, transport=transport
            ) as asynchronous:
                return await use(asynchronous)

        result, fake = asyncio.run(run()), transport.fake
    else:
        synchronous, fake = client(answer(body, status))
        with synchronous:
            result = use(synchronous)
    assert isinstance(result, of_type)
    assert fake.is_closed
    ((endpoint, request),) = fake.sent
    assert endpoint == "http://node"
    assert f"{request.method} {request.target}" == sent
    headers = dict(request.headers)
    needs_no_key = request.target in ("/healthz", "/readyz", "/v1/limits", "/v1/trust-root")
    assert headers.get("Authorization") == (None if needs_no_key else "Bearer key")
    assert (request.body is None) == (method == "get")


def test_bodies() -> None:
    used, transport = client(answer(example("/v1/event-anchors:batchVerify", "post")))
    used.verify_event_anchors([ID, (bytes.fromhex(ID), ID)], as_of=3)
    assert transport.bodies() == [{"anchors": [{"anchor_id": ID}, {"anchor_id": ID, "event_hash": ID}], "as_of": 3}]


def test_the_origin_is_asked_for_once_and_kept() -> None:
    transport = FakeTransport([answer(HEALTH), answer(CREATED_EVENT, 201)])
    with Client(["http://a", "http://b"], "key", transport=transport) as used:
        assert used.origin_fingerprint is None
        used.create_event_anchor(EVENT_HASH)
        used.create_event_anchor(EVENT_HASH)
        assert used.origin_fingerprint == ORIGIN
    assert [request.target for _, request in transport.sent] == ["/healthz", "/v1/event-anchors", "/v1/event-anchors"]
    assert [body["origin_fingerprint"] for body in transport.bodies()[1:]] == [ORIGIN, ORIGIN]


def test_an_event_gets_an_id_unless_it_is_forbidden() -> None:
    used, transport = client(answer(CREATED_EVENT, 201))
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
    used, transport = client(answer(example("/v1/event-anchors/batch", "post")))
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
    body = example("/v1/claim-anchors", "post", 201)
    used, transport = client(answer(body, 201))
    with LocalKey("61" * 32) as subject, LocalKey("62" * 32) as issuer:
        used.create_claim_anchor(**CLAIM, subject=subject, issuer=CallbackSigner(issuer.public_key, issuer.sign))
        prepared = used.prepare_claim_anchor(
            **CLAIM, subject_public_key=subject.public_key, issuer_public_key=issuer.public_key
        )
        first = subject.sign(prepared.subject_payload.payload)
        second = issuer.sign(prepared.issuer_payload(first).payload)
        used.create_claim_anchor(**prepared.fields, subject_signature=first.hex(), issuer_signature=second)
        used.create_claim_anchor(**CLAIM, subject=subject, issuer_public_key=issuer.public_key, issuer_signature=second)
    sent = transport.bodies()
    assert sent[0] == sent[1] == sent[2]


def test_an_async_client_awaits_signers() -> None:
    transport = AsyncFakeTransport(answer(example("/v1/grant-anchors", "post", 201), 201))
    grantor, witness = LocalKey("61" * 32), LocalKey("63" * 32)

    async def sign(payload: bytes) -> bytes:
        await asyncio.sleep(0)
        return witness.sign(payload)

    async def run() -> None:
        async with AsyncClient("http://node", "key", origin_fingerprint=ORIGIN, transport=transport) as used:
            await used.create_grant_anchor(**GRANT, grantor=grantor, witness=CallbackSigner(witness.public_key, sign))
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
        use(Client("http://node", "key", transport=transport))
    assert caught.value.field == field
    assert transport.sent == []


def test_a_signer_that_signs_something_else() -> None:
    used, transport = client(answer(CREATED_EVENT, 201))
    with LocalKey("61" * 32) as key, pytest.raises(SigningFailed, match="actor"):
        used.create_event_anchor(ID, actor=CallbackSigner(key.public_key, lambda payload: key.sign(payload + b"x")))
    assert transport.sent == []


def test_what_a_signer_raises_is_the_callers() -> None:
    used, transport = client(answer(CREATED_EVENT, 201))

    def sign(payload: bytes) -> bytes:
        raise PermissionError("the HSM is locked")

    with pytest.raises(PermissionError, match="locked"):
        used.create_event_anchor(ID, actor=CallbackSigner("61" * 32, sign))
    assert transport.sent == []


def test_a_revocation_is_signed_over_the_targets_origin() -> None:
    target = example("/v1/event-anchors/{anchor_id}")
    used, transport = client(answer(target), answer(example("/v1/claim-anchors/{anchor_id}/revoke", "post", 201), 201))
    with LocalKey("61" * 32) as key:
        used.revoke_claim_anchor(ID, revoker=key)
    assert [request.method for _, request in transport.sent] == ["GET", "POST"]
    assert transport.bodies()[1]["revoker_public_key"] == key.public_key.hex()


def test_wait_is_preferred_and_given_time() -> None:
    used, transport = client(answer(CREATED_EVENT, 201))
    used.create_event_anchor(ID, wait=Wait(30, respond_async=True))
    ((_, request),) = transport.sent
    assert dict(request.headers)["Prefer"] == "wait=30, respond-async"
    assert request.timeout_s >= 30.25


def test_pages_are_followed() -> None:
    page = example("/v1/event-anchors")
    used, transport = client(answer({**page, "next_cursor": "abc"}), answer({**page, "next_cursor": None}))
    anchors = list(used.iterate_event_anchors(event_hash=ID))
    assert len(anchors) == 2 * len(page["items"])
    assert "cursor=abc" in transport.sent[1][1].target


def chain() -> Any:
    return verify_trust_root([each["document"] for each in TRUST["chain"]], TRUST["chain"][0]["root_thk"])


def test_receipts_are_verified_against_a_trust_root() -> None:
    used, _ = client(answer(CREATED_EVENT, 201), trust_root=chain())
    assert used.create_event_anchor(EVENT_HASH).receipt is not None


@pytest.mark.parametrize("field", ["leaf", "inclusion", "checkpoint", "another event"])
def test_receipts_that_prove_nothing_are_refused(field: str) -> None:
    body = json.loads(json.dumps(CREATED_EVENT))
    event_hash = EVENT_HASH
    if field == "another event":
        event_hash = ID
    elif field == "inclusion":
        body["receipt"]["inclusion"].reverse()
    else:
        text = body["receipt"][field]
        body["receipt"][field] = (
            text.replace("A", "B", 1) if field == "leaf" else re.sub(r"\n\d+\n", "\n9\n", text, count=1)
        )
    used, _ = client(answer(body, 201), trust_root=chain())
    with pytest.raises((VerificationError, UnexpectedAnswer)):
        used.create_event_anchor(event_hash)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"endpoints": ""}, "endpoints[0]"),
        ({"endpoints": []}, "endpoints"),
        ({"endpoints": "ftp://x"}, "endpoints[0]"),
        ({"endpoints": ["https://a", "https://user:pw@b"]}, "endpoints[1]"),
        ({"endpoints": "https://a?b"}, "endpoints[0]"),
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


def test_the_api_key_is_never_shown() -> None:
    used = Client(["https://a/base/", "https://b"], "secret-key", transport=FakeTransport([]))
    assert repr(used) == "<Client https://a/base, https://b>"
    assert "secret-key" not in repr(used._session)


def test_calls_that_need_a_key_say_so() -> None:
    with pytest.raises(InvalidInput) as caught:
        Client("https://a", transport=FakeTransport([])).get_anchor(ID)
    assert caught.value.field == "api_key"


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"[]", b"null", b"{}", b'{"anchor":1}', b"[" * 99_999])
def test_answers_that_are_none(body: bytes) -> None:
    used, _ = client(answer(body, 201))
    with pytest.raises(UnexpectedAnswer) as caught:
        used.create_event_anchor(ID)
    assert caught.value.request_id == "from-the-service"


@pytest.mark.parametrize("status", [204, 301, 302, 307])
def test_redirects_and_empty_answers_are_none(status: int) -> None:
    used, transport = client(answer(b"", status, location="http://elsewhere"))
    with pytest.raises(UnexpectedAnswer):
        used.get_anchor(ID)
    assert len(transport.sent) == 1


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
    with pytest.raises(OutcomeUnknown, match="replayed"):
        used.create_event_anchors([EventInput(ID)])
    assert len(transport.sent) == 1
