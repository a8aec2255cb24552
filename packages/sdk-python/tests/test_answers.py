"""Every example of docs/openapi.json is read into its typed value, and what does not fit is refused."""

from __future__ import annotations

import copy
import dataclasses
import random
from typing import Any, Dict, List, Tuple

import pytest

from event_anchoring import AnchoringError, UnexpectedAnswer, models
from event_anchoring._decode import decode, decode_created
from event_anchoring._exchange import problem_of
from event_anchoring._shared_receipts import with_whole_receipts
from event_anchoring.proof import Receipt, receipt_from_json

from .fakes import answer, example, examples

ROUTES: Dict[Tuple[str, str], Any] = {
    ("get", "/healthz"): models.Health,
    ("get", "/readyz"): models.Ready,
    ("get", "/v1/limits"): models.Limits,
    ("get", "/v1/trust-root"): models.TrustRootAnswer,
    ("post", "/v1/event-anchors/batch"): models.CreatedBatch,
    ("post", "/v1/event-anchors:verify"): models.Verified,
    ("post", "/v1/event-anchors:batchVerify"): models.VerifiedBatch,
    ("get", "/v1/event-anchors"): models.EventList,
    ("get", "/v1/event-anchors/latest"): models.Latest,
    ("get", "/v1/event-anchors/consistency"): models.Consistency,
    ("get", "/v1/event-anchors/{anchor_id}"): models.FoundAnchor,
    ("get", "/v1/event-anchors/{anchor_id}/trace"): models.Trace,
    ("post", "/v1/event-anchors/{anchor_id}/erase-client-event-id"): models.Erased,
    ("get", "/v1/claim-anchors"): models.ActiveClaim,
    ("post", "/v1/claim-anchors:verify"): models.VerifiedClaim,
    ("post", "/v1/claim-anchors/{anchor_id}/revoke"): models.Revoked,
    ("get", "/v1/grant-anchors"): models.ActiveGrant,
    ("post", "/v1/grant-anchors:verify"): models.VerifiedGrant,
    ("post", "/v1/grant-anchors/{anchor_id}/revoke"): models.Revoked,
}
CREATED = {
    "/v1/event-anchors": models.EventAnchor,
    "/v1/claim-anchors": models.ClaimAnchor,
    "/v1/grant-anchors": models.GrantAnchor,
}
CASES: List[Tuple[str, Any, Any]] = [
    (f"{method} {path} {name}", of_class, body)
    for (method, path), of_class in ROUTES.items()
    for name, body in examples(path, method, 200).items()
    if name not in ("shared", "history")
] + [
    (f"get {path} history", of_class, example(path, name="history"))
    for path, of_class in {"/v1/claim-anchors": models.ClaimHistory, "/v1/grant-anchors": models.GrantHistory}.items()
]


def same(value: Any, body: Any) -> bool:
    """Whether a value says what the JSON said."""
    if isinstance(value, Receipt):
        return receipt_from_json(body) == value
    if isinstance(value, models.UnknownAnchor):
        return bool(value.members == body)
    if dataclasses.is_dataclass(value):
        names = {each.name: each.metadata.get("wire", each.name) for each in dataclasses.fields(value)}
        return set(body) <= set(names.values()) and all(
            same(getattr(value, name), body[wire]) for name, wire in names.items() if wire in body
        )
    if isinstance(value, tuple):
        return len(value) == len(body) and all(same(own, each) for own, each in zip(value, body))
    return isinstance(value, bytes) or bool(value == body)


@pytest.mark.parametrize(("name", "of_class", "body"), CASES, ids=[name for name, _, _ in CASES])
def test_examples_are_read_whole(name: str, of_class: Any, body: Any) -> None:
    assert same(decode(of_class, body), body)


BATCH = "/v1/event-anchors/batch"


def test_shared_receipts_become_whole() -> None:
    shared = with_whole_receipts(example(BATCH, "post", name="shared"))
    assert decode(models.CreatedBatch, shared) == decode(models.CreatedBatch, example(BATCH, "post", name="mixed"))


@pytest.mark.parametrize(
    "receipt",
    [*({"leaf": "", "index": 0, "inclusion": [], "checkpoint": place} for place in (7, -1, True, None)), "none"],
)
def test_a_shared_receipt_that_names_no_checkpoint(receipt: Any) -> None:
    body = example(BATCH, "post", name="shared")
    body["results"][0]["shared_receipt"] = receipt
    with pytest.raises(UnexpectedAnswer):
        with_whole_receipts(body)


def test_claims_of_lineages_that_went_on() -> None:
    body = example("/v1/event-anchors/{anchor_id}/trace")
    assert decode(models.Trace, body).lineage_claims == ()
    trace = decode(models.Trace, {**body, "lineage_claims": [body["anchor"]]})
    assert trace.lineage_claims == (trace.anchor,)


@pytest.mark.parametrize("given", [None, {}, [None], "none"])
def test_no_claims_of_lineages(given: Any) -> None:
    body = example("/v1/event-anchors/{anchor_id}/trace")
    with pytest.raises(UnexpectedAnswer):
        decode(models.Trace, {**body, "lineage_claims": given})


@pytest.mark.parametrize(("rate", "is_one"), [(1, True), (2**32 - 1, True), (None, True), (0.5, False), ("1", False)])
def test_a_rate_is_a_whole_number(rate: Any, is_one: bool) -> None:
    body = {**example("/v1/limits"), "key_requests_per_second": rate}
    if is_one:
        assert decode(models.Limits, body).key_requests_per_second == rate
    else:
        with pytest.raises(UnexpectedAnswer):
            decode(models.Limits, body)


@pytest.mark.parametrize("path", CREATED)
@pytest.mark.parametrize("status", [200, 201, 202])
def test_created(path: str, status: int) -> None:
    for body in examples(path, "post", status).values():
        created: Any = decode_created(CREATED[path], body)
        assert same(created, body)
        assert (created.receipt is None) == (status == 202)


def test_members_and_kinds_of_newer_services_are_left_alone() -> None:
    body = example("/v1/event-anchors/{anchor_id}")
    body = {**body, "anchor": {**body["anchor"], "kind": "sealed_event", "novelty": 7}, "more": [1]}
    found = decode(models.FoundAnchor, body)
    assert isinstance(found.anchor, models.UnknownAnchor)
    assert found.anchor.members["novelty"] == 7
    assert found.anchor.kind == "sealed_event"


def test_an_anchor_of_another_kind_is_not_what_was_created() -> None:
    body = example("/v1/claim-anchors", "post", 201)
    with pytest.raises(UnexpectedAnswer, match="anchor is no GrantAnchor"):
        decode_created(models.GrantAnchor, body)


JUNK: List[Any] = [None, True, -1, 1.5, "", "x", [], {}, [None], {"kind": "claim"}, "0" * 64, 2**70, [[[]]]]


def mutate(body: Any, draw: random.Random) -> Any:
    """One member, anywhere, dropped or replaced."""
    changed = copy.deepcopy(body)
    node = changed
    while True:
        keys: List[Any] = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return changed
        key = draw.choice(keys)
        if isinstance(node[key], (dict, list)) and draw.random() < 0.8:
            node = node[key]
            continue
        if draw.random() < 0.3:
            del node[key]
        else:
            node[key] = draw.choice(JUNK)
        return changed


@pytest.mark.parametrize(("name", "of_class", "body"), CASES, ids=[name for name, _, _ in CASES])
def test_whatever_an_answer_holds_only_our_errors_are_raised(name: str, of_class: Any, body: Any) -> None:
    draw = random.Random(name)
    codes: List[str] = []
    for _ in range(150):
        try:
            decode(of_class, mutate(body, draw))
        except AnchoringError as error:
            codes.append(error.code)
    assert set(codes) == {"answer_malformed"}
    assert len(codes) > 10


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_problems_are_read_from_anything(junk: Any) -> None:
    found = problem_of(answer(junk, 418), None)
    assert found.code == "http_418"
    bent = {"code": "wrong_kind", "detail": junk, "title": junk, "errors": junk, "request_id": junk}
    assert problem_of(answer(bent, 409), None).code == "wrong_kind"
    assert problem_of(answer({"code": junk}, 409), None).status == 409


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"[" * 100_000, b"NaN", b'{"a":1'])
def test_problems_of_something_in_between(body: bytes) -> None:
    assert problem_of(answer(body, 502), None).code == "http_502"
