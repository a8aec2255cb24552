"""The vectors of files of names, and of attribute types."""

from __future__ import annotations

from typing import Any

import pytest

from event_anchoring import ATTRIBUTE_TYPES, InvalidInput, VerificationError, attribute_type_of, parse_names
from event_anchoring.names import BYTES_MAX, NAMES_MAX

from .vectors import load, name_of

VECTORS = load("names")


@pytest.mark.parametrize("case", VECTORS["good"], ids=name_of)
def test_good(case: Any) -> None:
    for source in (case["text"], case["text"].encode("utf-8")):
        names = parse_names(source)
        assert dict(names.hashes) == case["hashes"]
        assert [list(item) for item in names.attribute_types.items()] == case["attribute_types"]
        assert dict(names.statements) == case["statements"]


@pytest.mark.parametrize("case", VECTORS["bad"], ids=name_of)
def test_bad(case: Any) -> None:
    with pytest.raises(VerificationError) as error:
        parse_names(case["text"])
    assert error.value.code == case["code"]
    if case["line"] is not None:
        assert f"line {case['line']}: " in str(error.value)


def code_of(source: Any) -> str:
    with pytest.raises(VerificationError) as error:
        parse_names(source)
    return error.value.code


def test_limits() -> None:
    remark = "# " + "\u00e9" * ((BYTES_MAX - 12) // 2) + "\n"
    assert not parse_names("# names\n" + remark).hashes
    assert code_of("# names\n" + remark + "xx") == "names_too_large"
    lines = "".join(f"attribute {at} a\n" for at in range(NAMES_MAX))
    assert len(parse_names("# names\n" + lines).attribute_types) == NAMES_MAX
    assert code_of("# names\n" + lines + "scope a a\n") == "names_too_large"


def test_not_utf8() -> None:
    assert code_of(b"# names\n\xff") == "names_malformed"


@pytest.mark.parametrize("case", VECTORS["attribute_types"], ids=name_of)
def test_own_attribute_types(case: Any) -> None:
    assert attribute_type_of(case["name"]) == case["value"] >= 2**31


@pytest.mark.parametrize("name", VECTORS["no_attribute_types"])
def test_no_attribute_types(name: str) -> None:
    with pytest.raises(InvalidInput):
        attribute_type_of(name)


def test_registered_attribute_types() -> None:
    assert [attribute_type_of(name) for name in ATTRIBUTE_TYPES] == list(ATTRIBUTE_TYPES.values())
    assert len(set(ATTRIBUTE_TYPES.values())) == len(ATTRIBUTE_TYPES)
