"""The vectors of scope documents, and documents that somebody has spoiled."""

from __future__ import annotations

import json
import random
from typing import Any, Iterator

import pytest

from event_anchoring import InvalidInput, VerificationError
from event_anchoring._scope_statement import canonical_json
from event_anchoring.scope import BYTES_MAX, Scope

from .vectors import load, name_of

VECTORS = load("scope")


def code_of(error: pytest.ExceptionInfo[VerificationError]) -> str:
    return error.value.code


@pytest.mark.parametrize("case", VECTORS["hash"], ids=name_of)
def test_hash(case: Any) -> None:
    salts: Iterator[bytes] = (bytes.fromhex(salt) for salt in case["salts"])
    scope = Scope.make(case["statements"], next_salt=lambda: next(salts))
    assert [canonical_json([name, value]) for name, value in scope.statements.items()] == case["canonical"]
    hidden = scope.disclose([]).to_json()["withheld"]
    assert hidden == sorted(case["digests"])
    assert (scope.scope_hash.hex(), scope.to_text()) == (case["scope_hash"], case["text"])


@pytest.mark.parametrize("case", VECTORS["good"], ids=name_of)
def test_good(case: Any) -> None:
    scope = Scope.parse(case["text"])
    assert (scope.statements, scope.withheld) == (case["statements"], case["withheld"])
    scope.verify(case["scope_hash"])
    scope.verify(scope.scope_hash)
    assert Scope.parse(scope.to_text().encode("utf-8")) == scope


@pytest.mark.parametrize("case", VECTORS["disclose"], ids=name_of)
def test_disclose(case: Any) -> None:
    assert Scope.parse(case["text"]).disclose(case["only"]).to_text() == case["disclosed"]


@pytest.mark.parametrize("case", VECTORS["undisclosable"], ids=name_of)
def test_not_disclosed(case: Any) -> None:
    with pytest.raises(VerificationError) as caught:
        Scope.parse(case["text"]).disclose(case["only"])
    assert code_of(caught) == case["error"]


@pytest.mark.parametrize("case", VECTORS["bad"], ids=name_of)
def test_bad(case: Any) -> None:
    with pytest.raises(VerificationError) as caught:
        Scope.parse(case["text"])
    assert code_of(caught) == case["error"]


@pytest.mark.parametrize("case", VECTORS["not_granted"], ids=name_of)
def test_of_another_grant(case: Any) -> None:
    with pytest.raises(VerificationError) as caught:
        Scope.parse(case["text"]).verify(case["scope_hash"])
    assert code_of(caught) == "scope_not_granted"


@pytest.mark.parametrize("case", VECTORS["unmakeable"], ids=name_of)
def test_not_made(case: Any) -> None:
    with pytest.raises(VerificationError) as caught:
        Scope.make(case["statements"])
    assert code_of(caught) == case["error"]


@pytest.mark.parametrize(
    "value", [None, 1.0, b"bytes", {1, 2}, {1: 2}, "\ud800", {"\udc00": 1}, float("nan"), object()]
)
def test_values_of_a_program(value: Any) -> None:
    with pytest.raises(VerificationError) as caught:
        Scope.make({"a": value})
    assert code_of(caught) == "scope_malformed"


def test_too_large() -> None:
    text = VECTORS["good"][0]["text"]
    for spaced in (" " * BYTES_MAX + text, (" " * BYTES_MAX + text).encode()):
        with pytest.raises(VerificationError) as caught:
            Scope.parse(spaced)
        assert code_of(caught) == "scope_too_large"
    with pytest.raises(VerificationError) as caught:
        Scope.make({f"s{number}": "ä" * 8_000 for number in range(100)})
    assert code_of(caught) == "scope_too_large"
    with pytest.raises(VerificationError) as caught:
        Scope.parse(b"\xff")
    assert code_of(caught) == "scope_json_invalid"


def test_salts_are_new_and_not_printed() -> None:
    one, other = Scope.make({"a": 1}), Scope.make({"a": 1})
    assert one != other
    salt = json.loads(one.to_text())["statements"][0][0]
    assert salt not in repr(one) + str(one)
    with pytest.raises(InvalidInput):
        one.verify("ab")


def test_spoiled_documents_show_what_was_granted_or_nothing() -> None:
    good = next(case for case in VECTORS["good"] if case["name"] == "two of five")
    draw = random.Random(9901)
    refused = 0
    for _ in range(2_000):
        text = good["text"]
        at = draw.randrange(len(text))
        put = draw.choice(["", chr(draw.randrange(0x20, 0x7F)), chr(draw.randrange(0xD800)), text[at:]])
        text = text[:at] + put + text[at + draw.randrange(3) :]
        try:
            scope = Scope.parse(text)
            scope.verify(good["scope_hash"])
            # Another layout of the same thing: nothing else may pass.
            assert scope.statements == good["statements"]
        except VerificationError:
            refused += 1
    assert refused > 1_000
