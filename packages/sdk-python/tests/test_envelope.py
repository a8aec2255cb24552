"""The vectors of envelopes, and what a program may give."""

from __future__ import annotations

import json
import random
import struct
from datetime import datetime, timedelta, timezone
from typing import Any, List, Tuple

import pytest
import rfc8785

from event_anchoring import Attachment, Envelope, VerificationError
from event_anchoring._canonical_json import canonical_json

from .vectors import load, name_of

VECTORS = load("envelope")
WHEN = "2026-11-23T10:00:00.000Z"


def refusal(read: Any) -> str:
    with pytest.raises(VerificationError) as caught:
        read()
    return caught.value.code


@pytest.mark.parametrize("case", VECTORS["good"], ids=name_of)
def test_good(case: Any) -> None:
    envelope = Envelope.parse(case["text"])
    assert envelope.event_hash.hex() == case["event_hash"]
    assert Envelope.parse(case["text"].encode()) == envelope
    members = json.loads(case["text"])
    assert canonical_json(members, 64).decode() == case["text"]
    if envelope.content_hash is None:
        made = Envelope.make(
            envelope.content,
            what=envelope.what,
            when=envelope.when,
            who=envelope.who,
            content_type=envelope.content_type,
            attachments=envelope.attachments,
            salt=False if envelope.salt is None else envelope.salt,
        )
        assert made == envelope


@pytest.mark.parametrize("case", VECTORS["numbers"], ids=lambda case: str(case["text"]))
def test_numbers(case: Any) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(case["ieee754"]))
    assert canonical_json(value, 1).decode() == case["text"]


@pytest.mark.parametrize("bits", VECTORS["unsafe_numbers"])
def test_unsafe_numbers(bits: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert refusal(lambda: canonical_json([value], 1)) == "envelope_number_unsafe"
    assert refusal(lambda: canonical_json([int(value)], 1)) == "envelope_number_unsafe"


@pytest.mark.parametrize("case", VECTORS["bad"], ids=name_of)
def test_bad(case: Any) -> None:
    assert refusal(lambda: Envelope.parse(case["text"])) == case["error"]


@pytest.mark.parametrize("case", VECTORS["bad_bytes"], ids=name_of)
def test_bad_bytes(case: Any) -> None:
    assert refusal(lambda: Envelope.parse(bytes.fromhex(case["hex"]))) == case["error"]


@pytest.mark.parametrize("case", VECTORS["long"], ids=name_of)
def test_long(case: Any) -> None:
    text = "".join(piece * count for piece, count in case["pieces"])
    if case["error"] is None:
        Envelope.parse(text)
    else:
        assert refusal(lambda: Envelope.parse(text)) == case["error"]


VALUES: List[Tuple[Any, str]] = [
    (float("nan"), "envelope_malformed"),
    (float("-inf"), "envelope_malformed"),
    (2**53, "envelope_number_unsafe"),
    (10**30, "envelope_number_unsafe"),
    (-(2**60), "envelope_number_unsafe"),
    (1e20, "envelope_number_unsafe"),
    ("\ud800", "envelope_malformed"),
    ({"\udc00": 1.5}, "envelope_malformed"),
    ({1: 2}, "envelope_malformed"),
    ({"a": b"bytes"}, "envelope_malformed"),
    ({1, 2}, "envelope_malformed"),
    (datetime.now(timezone.utc), "envelope_malformed"),
    ({"a": "x" * 1024 * 1024}, "envelope_too_large"),
]


@pytest.mark.parametrize(("value", "code"), VALUES, ids=str)
def test_values_of_a_program(value: Any, code: str) -> None:
    assert refusal(lambda: Envelope.make(value, what="a")) == code


def test_a_value_that_holds_itself() -> None:
    endless: List[Any] = []
    endless.append(endless)
    assert refusal(lambda: Envelope.make(endless, what="a")) == "envelope_too_large"


@pytest.mark.parametrize(
    "options",
    [
        {"what": ""},
        {"what": "a\n"},
        {"what": "a" * 257},
        {"what": 1},
        {"who": ""},
        {"when": "2026-11-23T10:00:00Z"},
        {"when": "2026-02-30T10:00:00.000Z"},
        {"when": datetime(2026, 11, 23)},
        {"when": datetime(1969, 12, 31, tzinfo=timezone.utc)},
        {"content_type": "text/plain"},
        {"content_type": "json"},
        {"attachments": [Attachment("a", "a/b", 1, bytes(32))] * 2},
        {"attachments": [Attachment(str(at), "a/b", 1, bytes(32)) for at in range(65)]},
        {"attachments": [Attachment("a", "b", 1, bytes(32))]},
        {"attachments": [Attachment("a", "a/b", -1, bytes(32))]},
    ],
    ids=lambda options: str(options)[:60],
)
def test_members_of_a_program(options: Any) -> None:
    assert refusal(lambda: Envelope.make(1, **{"what": "a", **options})) == "envelope_malformed"


def test_bytes_lie_apart() -> None:
    envelope = Envelope.make(b"{}", what="file.saved", when=WHEN, content_type="application/json")
    assert (envelope.content, envelope.content_size, envelope.content_type) == (None, 2, "application/json")
    assert Envelope.parse(envelope.canonical) == envelope
    assert Envelope.make(b"", what="a").content_type == "application/octet-stream"


def test_times() -> None:
    there = timezone(timedelta(hours=2))
    assert Envelope.make(1, what="a", when=datetime(2026, 11, 23, 12, tzinfo=there)).when == WHEN
    before = datetime.now(timezone.utc) - timedelta(milliseconds=1)
    assert before <= datetime.fromisoformat(Envelope.make(1, what="a").when[:-1] + "+00:00")


def test_a_salt_is_new_and_not_printed() -> None:
    one, other = (Envelope.make(1, what="a", when=WHEN, salt=True) for _ in range(2))
    assert one.event_hash != other.event_hash
    assert one.salt is not None
    assert one.salt.hex() not in repr(one)
    assert Envelope.make(1, what="a", when=WHEN, salt=one.salt) == one


def draw_value(draw: random.Random, depth: int) -> Any:
    kind = draw.randrange(10 if depth else 7)
    text = "".join(draw.choice('ab"\\\n\x00\x7f/<é€\uffff😀') for _ in range(draw.randrange(6)))
    plain = [None, True, draw.randrange(-(2**53) + 1, 2**53), draw.uniform(-1e6, 1e6), 10.0 ** draw.randrange(-30, 12)]
    if kind < len(plain):
        return plain[kind]
    if kind < 7:
        return text
    inner = [draw_value(draw, depth - 1) for _ in range(draw.randrange(4))]
    return {f"{text}{at}": each for at, each in enumerate(inner)} if kind < 9 else inner


def test_the_short_way_writes_what_the_library_writes() -> None:
    draw = random.Random(8785)
    for _ in range(3_000):
        value = draw_value(draw, 3)
        assert canonical_json(value, 64) == rfc8785.dumps(value)
