"""Every operation of both clients: what is sent, what comes back; answers about something else are refused."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Callable, List, Optional

import pytest

from event_anchoring import AsyncClient, Client, Receipt, UnexpectedAnswer, VerificationError, models

from .fakes import AsyncFakeTransport, answer, example
from .ledger import event, recorded
from .test_client import ID, ORIGIN, client

ZERO = "00" * 32


@dataclass(frozen=True)
class Case:
    """An operation: how it is used to ask for what an example of its route answers, and what it sends then."""

    name: str
    path: str
    use: Callable[[Any, Any], Any]
    sent: Callable[[Any], str]
    of_type: Any
    method: str = "get"
    status: int = 200
    example: Optional[str] = None

    def body(self) -> Any:
        return example(self.path, self.method, self.status, self.example)


def own_id(body: Any) -> str:
    return str(body["anchor"]["anchor_id"])


EVENTS = "/v1/event-anchors"
CASES: List[Case] = [
    Case("healthz", "/healthz", lambda c, b: c.healthz(), lambda b: "/healthz", models.Health),
    Case("readyz", "/readyz", lambda c, b: c.readyz(), lambda b: "/readyz", models.Ready),
    Case("not ready", "/readyz", lambda c, b: c.readyz(), lambda b: "/readyz", models.Ready, status=503),
    Case("limits", "/v1/limits", lambda c, b: c.limits(), lambda b: "/v1/limits", models.Limits),
    Case(
        "trust_root", "/v1/trust-root", lambda c, b: c.trust_root(), lambda b: "/v1/trust-root", models.TrustRootAnswer
    ),
    Case(
        "erase_client_event_id",
        EVENTS + "/{anchor_id}/erase-client-event-id",
        lambda c, b: c.erase_client_event_id(own_id(b)),
        lambda b: f"{EVENTS}/{own_id(b)}/erase-client-event-id",
        models.Erased,
        "post",
    ),
    Case(
        "get_anchor",
        EVENTS + "/{anchor_id}",
        lambda c, b: c.get_anchor(own_id(b).upper()),
        lambda b: f"{EVENTS}/{own_id(b)}",
        models.FoundAnchor,
    ),
    Case(
        "get_receipt",
        EVENTS + "/{anchor_id}/receipt",
        lambda c, b: c.get_receipt(b["anchor_id"]),
        lambda b: f"{EVENTS}/{b['anchor_id']}/receipt",
        Receipt,
    ),
    Case(
        "get_claim_anchor",
        "/v1/claim-anchors",
        lambda c, b: c.get_claim_anchor(b["anchor"]["entity_fingerprint"], hex(b["anchor"]["attribute_type"])),
        lambda b: (
            f"/v1/claim-anchors?entity_fingerprint={b['anchor']['entity_fingerprint']}"
            f"&attribute_type={b['anchor']['attribute_type']}"
        ),
        models.ActiveClaim,
    ),
    Case(
        "get_grant_anchor",
        "/v1/grant-anchors",
        lambda c, b: c.get_grant_anchor(ID, ID),
        lambda b: f"/v1/grant-anchors?grantor_fingerprint={ID}&grantee_fingerprint={ID}",
        models.ActiveGrant,
    ),
    Case(
        "list_claim_anchors",
        "/v1/claim-anchors",
        lambda c, b: c.list_claim_anchors(
            entity_fingerprint=b["items"][0]["anchor"]["entity_fingerprint"],
            attribute_type="0x10",
            cursor="a-b",
            limit=7,
        ),
        lambda b: (
            f"/v1/claim-anchors?entity_fingerprint={b['items'][0]['anchor']['entity_fingerprint']}"
            "&attribute_type=16&history=true&cursor=a-b&limit=7"
        ),
        models.ClaimHistory,
        example="history",
    ),
    Case(
        "list_grant_anchors",
        "/v1/grant-anchors",
        lambda c, b: c.list_grant_anchors(grantee_fingerprint=ID.upper(), limit=100),
        lambda b: f"/v1/grant-anchors?grantee_fingerprint={ID}&history=true&limit=100",
        models.GrantHistory,
        example="history",
    ),
    Case(
        "list_event_anchors",
        EVENTS,
        lambda c, b: c.list_event_anchors(
            grant_ref=b["items"][0]["semantic_anchor"]["grant_ref"], cursor="a-b", limit=7
        ),
        lambda b: f"{EVENTS}?grant_ref={b['items'][0]['semantic_anchor']['grant_ref']}&cursor=a-b&limit=7",
        models.EventList,
    ),
    Case(
        "latest",
        EVENTS + "/latest",
        lambda c, b: c.latest(origin_fingerprint=b["origin_fingerprint"], from_size=3),
        lambda b: f"{EVENTS}/latest?origin_fingerprint={b['origin_fingerprint']}&from_size=3",
        models.Latest,
    ),
    Case(
        "latest",
        EVENTS + "/latest",
        lambda c, b: c.latest(after_size=3, wait_seconds=30),
        lambda b: f"{EVENTS}/latest?after_size=3&wait=30",
        models.Latest,
    ),
    Case(
        "consistency",
        EVENTS + "/consistency",
        lambda c, b: c.consistency(b["from"]["tree_size"], to_size=b["to"]["tree_size"]),
        lambda b: f"{EVENTS}/consistency?from_size={b['from']['tree_size']}&to_size={b['to']['tree_size']}",
        models.Consistency,
    ),
    Case(
        "verify_event_anchor",
        EVENTS + ":verify",
        lambda c, b: c.verify_event_anchor(own_id(b), event_hash=ID, as_of=9),
        lambda b: EVENTS + ":verify",
        models.Verified,
        "post",
    ),
    Case(
        "verify_event_anchors",
        EVENTS + ":batchVerify",
        lambda c, b: c.verify_event_anchors([(each["anchor_id"], ID) for each in b["results"]]),
        lambda b: EVENTS + ":batchVerify",
        models.VerifiedBatch,
        "post",
    ),
    Case(
        "verify_claim_anchor",
        "/v1/claim-anchors:verify",
        lambda c, b: c.verify_claim_anchor(own_id(b), as_of="2026-01-01T00:00:00Z"),
        lambda b: "/v1/claim-anchors:verify",
        models.VerifiedClaim,
        "post",
    ),
    Case(
        "verify_grant_anchor",
        "/v1/grant-anchors:verify",
        lambda c, b: c.verify_grant_anchor(own_id(b), trusted_roots=[ID]),
        lambda b: "/v1/grant-anchors:verify",
        models.VerifiedGrant,
        "post",
    ),
    Case(
        "trace",
        EVENTS + "/{anchor_id}/trace",
        lambda c, b: c.trace(own_id(b), as_of="2026-01-01T00:00:00+01:00", trusted_roots=[ID, ID], cursor="5", limit=2),
        lambda b: (
            f"{EVENTS}/{own_id(b)}/trace?as_of=2026-01-01T00%3A00%3A00%2B01%3A00"
            f"&trusted_roots={ID}%2C{ID}&cursor=5&limit=2"
        ),
        models.Trace,
    ),
]


def run(case: Case, body: Any, is_async: bool) -> Any:
    """The result, and what was sent."""
    if not is_async:
        used, fake = client(answer(body, case.status))
        with used:
            return case.use(used, case.body()), fake
    transport = AsyncFakeTransport(answer(body, case.status))

    async def use() -> Any:
        async with AsyncClient("https://node", "key", origin_fingerprint=ORIGIN, transport=transport) as used:
            return await case.use(used, case.body())

    return asyncio.run(use()), transport.fake


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
@pytest.mark.parametrize("is_async", [False, True], ids=["Client", "AsyncClient"])
def test_operation(case: Case, is_async: bool) -> None:
    result, fake = run(case, case.body(), is_async)
    assert isinstance(result, case.of_type)
    assert fake.is_closed
    ((endpoint, request),) = fake.sent
    assert endpoint == "https://node"
    assert (request.method, request.target) == (case.method.upper(), case.sent(case.body()))
    headers = dict(request.headers)
    # To /healthz the key is sent: it tells a reader more.
    needs_no_key = request.target in ("/readyz", "/v1/limits", "/v1/trust-root")
    assert headers.get("Authorization") == (None if needs_no_key else "Bearer key")
    assert (request.body is None) == (case.method == "get")


def test_every_case_has_a_method_and_every_method_a_case() -> None:
    methods = {name for name in dir(Client) if not name.startswith("_") and callable(getattr(Client, name))}
    # follow_heads reads a stream: test_following.py has its cases.
    others = {"close", "get_checkpoint", "get_tile", "get_entries", "follow_heads"}
    others |= {name for name in methods if name.startswith(("prepare_", "create_", "revoke_", "iterate_"))}
    assert methods - others == {case.name for case in CASES} - {"not ready"}
    assert methods == {
        name for name in dir(AsyncClient) if not name.startswith("_") and callable(getattr(AsyncClient, name))
    }


@pytest.mark.parametrize(
    "name",
    [
        "get_anchor",
        "erase_client_event_id",
        "verify_event_anchor",
        "verify_claim_anchor",
        "verify_grant_anchor",
        "trace",
    ],
)
def test_an_answer_about_another_anchor(name: str) -> None:
    case = next(each for each in CASES if each.name == name)
    asked = case.body()
    asked["anchor"]["anchor_id"] = ID
    used, _ = client(answer(case.body()))
    with pytest.raises(VerificationError) as caught:
        case.use(used, asked)
    assert caught.value.code == "anchor_id_differs"


@pytest.mark.parametrize(
    ("use", "path", "code"),
    [
        (lambda c: c.get_receipt(ID), EVENTS + "/{anchor_id}/receipt", "anchor_id_differs"),
        (lambda c: c.get_claim_anchor(ID, 4097), "/v1/claim-anchors", "content_differs"),
        (lambda c: c.list_event_anchors(event_hash=ID), EVENTS, "content_differs"),
        (lambda c: c.list_event_anchors(iris_ref=ID), EVENTS, "content_differs"),
        (lambda c: c.list_event_anchors(client_event_id="other"), EVENTS, "content_differs"),
        (lambda c: c.latest(origin_fingerprint=ID), EVENTS + "/latest", "origin_differs"),
        (lambda c: c.consistency(6, origin_fingerprint=ID), EVENTS + "/consistency", "origin_differs"),
        (lambda c: c.consistency(5), EVENTS + "/consistency", "consistency_wrong"),
        (lambda c: c.consistency(6, to_size=7), EVENTS + "/consistency", "consistency_wrong"),
    ],
)
def test_an_answer_to_another_question(use: Any, path: str, code: str) -> None:
    used, _ = client(answer(example(path)))
    with pytest.raises(VerificationError) as caught:
        use(used)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "changed",
    [
        {"depth": 6},
        {"tree_size": 9},
        {"root_hash": ZERO},
        {"origin_fingerprint": ZERO},
        {"checkpoint": "no note"},
    ],
    ids=str,
)
def test_a_head_whose_parts_are_not_of_one_tree(changed: Any) -> None:
    used, _ = client(answer({**example(EVENTS + "/latest"), **changed}))
    with pytest.raises(UnexpectedAnswer):
        used.latest()


def test_a_proof_that_proves_nothing() -> None:
    body = example(EVENTS + "/consistency")
    used, _ = client(answer({**body, "proof": body["proof"][::-1]}))
    with pytest.raises(VerificationError, match="does not lead"):
        used.consistency(body["from"]["tree_size"])


def test_results_in_another_order() -> None:
    body = example(EVENTS + ":batchVerify", "post")
    asked = [each["anchor_id"] for each in body["results"]]
    used, _ = client(answer(body))
    with pytest.raises(UnexpectedAnswer):
        used.verify_event_anchors(asked[::-1])


@pytest.mark.parametrize(
    "field", ["depth", "sequence", "accepted_ms", "accepted_at", "origin_fingerprint", "event_hash"]
)
def test_an_anchor_that_shows_something_else_than_it_hashes_to(field: str) -> None:
    body = example(EVENTS + "/{anchor_id}")
    value = body["anchor"][field]
    lie = value + 1 if isinstance(value, int) else value.replace("2026", "2025") if "T" in value else ZERO
    body["anchor"][field] = lie
    used, _ = client(answer(body))
    with pytest.raises(UnexpectedAnswer, match="hash"):
        used.get_anchor(body["anchor"]["anchor_id"])


def test_the_log_as_tiles() -> None:
    note = example(EVENTS + "/latest")["checkpoint"]
    used, transport = client(
        answer(note.encode()),
        answer(b"\7" * 64),
        answer(b"\0\1\x09"),
        answer(b"\7" * 64),
        answer(b"\0"),
        answer(note.encode()),
    )
    assert used.get_checkpoint(ORIGIN) == note
    assert used.get_tile(ORIGIN, 1, 1_234_067, width=2) == (b"\7" * 32,) * 2
    assert used.get_entries(ORIGIN, 0, width=1) == (b"\x09",)
    with pytest.raises(UnexpectedAnswer):
        used.get_tile(ORIGIN, 0, 0)
    with pytest.raises(UnexpectedAnswer):
        used.get_entries(ORIGIN, 0, width=1)
    with pytest.raises(VerificationError) as caught:
        used.get_checkpoint(ID)
    assert caught.value.code == "origin_differs"
    targets = [request.target for _, request in transport.sent]
    base = f"/v1/origins/{ORIGIN}"
    assert targets[:4] == [
        f"{base}/checkpoint",
        f"{base}/tile/1/x001/x234/067.p/2",
        f"{base}/tile/entries/000.p/1",
        f"{base}/tile/0/000",
    ]
    assert dict(transport.sent[0][1].headers)["Accept"] == "text/plain"


LIES = [
    ({"event_hash": ZERO}, "content_differs"),
    ({"semantic_anchor": None}, "content_differs"),
    ({"semantic_anchor": {"iris_ref": ID, "bond_ref": ID}}, "content_differs"),
    ({"actor_public_key": ID, "actor_signature": ID + ID}, "content_differs"),
]


@pytest.mark.parametrize(("lie", "code"), LIES, ids=[str(lie)[:30] for lie, _ in LIES])
def test_a_service_that_records_another_event(lie: Any, code: str) -> None:
    def lying(request: Any) -> Any:
        return answer({"anchor": event({**json.loads(request.body), **lie}), "receipt": None, "replayed": False}, 202)

    used, _ = client(lying)
    with pytest.raises(VerificationError) as caught:
        used.create_event_anchor("cd" * 32, semantic_anchor={"iris_ref": ID})
    assert caught.value.code == code


def test_a_replay_may_be_in_another_origin() -> None:
    def replaying(request: Any) -> Any:
        body = {**json.loads(request.body), "origin_fingerprint": ID}
        return answer({"anchor": event(body), "receipt": None, "replayed": True}, 200)

    used, _ = client(replaying)
    assert used.create_event_anchor(ID).anchor.origin_fingerprint == ID


def test_pages_are_followed() -> None:
    page = {"certified": [], "items": [event({"origin_fingerprint": ORIGIN, "event_hash": ID})]}
    used, transport = client(answer({**page, "next_cursor": "abc"}), answer({**page, "next_cursor": None}))
    assert len(list(used.iterate_event_anchors(event_hash=ID))) == 2
    assert "cursor=abc" in transport.sent[1][1].target


HISTORIES: List[Any] = [
    ("claim", lambda c: c.iterate_claim_anchors(entity_fingerprint=claim_in_history()["entity_fingerprint"])),
    ("grant", lambda c: c.iterate_grant_anchors(grantor_fingerprint=ID, grantee_fingerprint=ZERO)),
]


def claim_in_history() -> Any:
    return example("/v1/claim-anchors", name="history")["items"][0]["anchor"]


@pytest.mark.parametrize(("kind", "use"), HISTORIES, ids=["claims", "grants"])
@pytest.mark.parametrize("is_async", [False, True], ids=["Client", "AsyncClient"])
def test_pages_of_histories_are_followed(kind: str, use: Any, is_async: bool) -> None:
    page = example(f"/v1/{kind}-anchors", name="history")
    pages = [answer({**page, "next_cursor": cursor}) for cursor in ("a-b", None)]

    async def use_async(transport: AsyncFakeTransport) -> Any:
        async with AsyncClient("https://node", "key", origin_fingerprint=ORIGIN, transport=transport) as used:
            return [item async for item in use(used)]

    if is_async:
        fake = AsyncFakeTransport(*pages)
        items, sent = asyncio.run(use_async(fake)), fake.fake.sent
    else:
        used, transport = client(*pages)
        items, sent = list(use(used)), transport.sent
    assert [item.ended.code for item in items] == [f"{kind}_revoked"] * 2
    assert [item.anchor.state for item in items] == ["revoked"] * 2
    targets = [request.target for _, request in sent]
    assert ["history=true" in target for target in targets] == [True, True]
    assert ["cursor=a-b" in target for target in targets] == [False, True]


@pytest.mark.parametrize(
    ("entity", "attribute_type", "is_asked"),
    [(None, 16, True), (None, "0x10", True), (None, 17, False), (ID, None, False)],
)
def test_claims_of_another_entity_or_type(entity: Optional[str], attribute_type: Any, is_asked: bool) -> None:
    used, _ = client(answer(example("/v1/claim-anchors", name="history")))
    fingerprint = entity if entity is not None else claim_in_history()["entity_fingerprint"]
    if is_asked:
        used.list_claim_anchors(entity_fingerprint=fingerprint, attribute_type=attribute_type)
        return
    with pytest.raises(VerificationError) as caught:
        used.list_claim_anchors(entity_fingerprint=fingerprint, attribute_type=attribute_type)
    assert caught.value.code == "content_differs"


def test_queries_are_encoded() -> None:
    used, transport = client(answer({"certified": [], "items": [], "next_cursor": None}))
    used.list_event_anchors(client_event_id="a b+c/&")
    assert transport.sent[0][1].target == "/v1/event-anchors?client_event_id=a%20b%2Bc%2F%26"


def test_bodies() -> None:
    body = example(EVENTS + ":batchVerify", "post")
    first, *rest = [each["anchor_id"] for each in body["results"]]
    used, transport = client(answer(body))
    used.verify_event_anchors([(bytes.fromhex(first), ID), *rest], as_of=3)
    anchors = [{"anchor_id": first, "event_hash": ID}, *({"anchor_id": each} for each in rest)]
    assert transport.bodies() == [{"anchors": anchors, "as_of": 3}]


def test_what_is_recorded_is_what_was_sent() -> None:
    used, transport = client(recorded)
    created = used.create_event_anchor(ID, semantic_anchor={"iris_ref": ID, "bond_ref": ""})
    assert created.anchor.event_hash == ID
    assert transport.bodies()[0]["semantic_anchor"] == {"iris_ref": ID}


def test_a_trace_has_the_hops_of_all_its_pages() -> None:
    whole = example("/v1/event-anchors/{anchor_id}/trace")
    hop = whole["delegation"][0]
    pages = [
        {**whole, "delegation": [hop] * 2, "delegation_omitted": 3, "delegation_next_cursor": "2.7.9"},
        {**whole, "delegation": [hop] * 2, "delegation_omitted": 1, "delegation_next_cursor": "4.7.9"},
        {**whole, "delegation": [hop], "delegation_omitted": 0, "delegation_next_cursor": None},
    ]
    used, fake = client(*(answer(page) for page in pages))
    found = used.trace(whole["anchor"]["anchor_id"], as_of=7)
    assert (len(found.delegation), found.delegation_omitted, found.delegation_next_cursor) == (5, 0, None)
    queries = [request.target.partition("?")[2] for _, request in fake.sent]
    assert queries == ["as_of=7", "as_of=7&delegation_cursor=2.7.9", "as_of=7&delegation_cursor=4.7.9"]


def test_hops_without_an_end_are_no_answer() -> None:
    whole = example("/v1/event-anchors/{anchor_id}/trace")
    used, fake = client(answer({**whole, "delegation_next_cursor": "1.1.1"}))
    with pytest.raises(UnexpectedAnswer, match="no end"):
        used.trace(whole["anchor"]["anchor_id"])
    assert len(fake.sent) == 100
