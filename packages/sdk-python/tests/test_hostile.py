"""Whatever an attacker hands in, nothing but an AnchoringError comes out, and nothing altered is accepted."""

from __future__ import annotations

import json
import random
from typing import Any, Callable, Dict, List

import pytest

from event_anchoring import TrustRoot, VerificationError, verify_bundle, verify_receipt, verify_trust_root
from event_anchoring.leaf import decode_leaf
from event_anchoring.notes import parse_checkpoint, parse_note, parse_vkey
from event_anchoring.policy import parse_policy
from event_anchoring.proof import parse_proof, read_receipt
from event_anchoring.receipt import verify_checkpoint

from .vectors import load

RECEIPTS = load("receipt")
BUNDLES = load("bundle")
CHAIN = verify_trust_root(RECEIPTS["trust_roots"][:1], RECEIPTS["pinned_root_thk"])
PROOF = RECEIPTS["proof"]["good"][0]["proof"]
CHECKPOINT = RECEIPTS["good"][0]["receipt"]["checkpoint"]
TRUST_ROOT = load("trust-root")["good"][0]["text"]
POLICY = load("cosignature")["policy"]
LEAF = bytes.fromhex(load("leaf")["good"][2]["leaf"])
ALPHABET = [*"\n\r\t +=/-\u2014\u0000\u2028\ud800\U0001f600aZ09٣", "\n\n", "\u2014 ", "x" * 500, "9" * 40]

READERS: Dict[str, Any] = {
    "proof": (parse_proof, PROOF),
    "receipt": (lambda text: verify_receipt(text, CHAIN), PROOF),
    "note": (parse_note, CHECKPOINT),
    "checkpoint text": (parse_checkpoint, CHECKPOINT.split("\n\n")[0] + "\n"),
    "checkpoint": (lambda text: verify_checkpoint(text, CHAIN), CHECKPOINT),
    "trust root": (TrustRoot.parse, TRUST_ROOT),
    "chain": (lambda text: verify_trust_root([text], RECEIPTS["pinned_root_thk"]), RECEIPTS["trust_roots"][0]),
    "policy": (parse_policy, POLICY),
    "vkey": (parse_vkey, load("note")["vkey"]["good"][0]),
}


def altered(text: str, draw: random.Random) -> str:
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(text) + 1)
        cut = place + draw.choice((0, 0, 1, 1, 2, 64))
        text = text[:place] + draw.choice(["", *ALPHABET]) + text[cut:]
    return text


def refusals(read: Callable[[Any], Any], values: List[Any]) -> int:
    refused = 0
    for value in values:
        try:
            read(value)
        except VerificationError:
            refused += 1
    return refused


@pytest.mark.parametrize("name", READERS)
def test_altered_texts(name: str) -> None:
    read, text = READERS[name]
    draw = random.Random(name)
    read(text)
    assert refusals(read, [altered(text, draw) for _ in range(600)]) > 300


@pytest.mark.parametrize("name", READERS)
def test_any_text(name: str) -> None:
    read, _ = READERS[name]
    draw = random.Random(name)
    texts = ["".join(draw.choice(ALPHABET) for _ in range(draw.randrange(40))) for _ in range(300)]
    assert refusals(read, texts) == 300


def test_altered_leaves() -> None:
    draw = random.Random(1)
    values = []
    for _ in range(2000):
        value = bytearray(LEAF)
        for _ in range(draw.randint(1, 3)):
            value[draw.randrange(len(value))] = draw.choice((0, 1, 2, 3, 4, 5, 6, 7, 127, 128, 255))
        values.append(bytes(value[: draw.choice((len(value), len(value), draw.randrange(len(value))))]))
    assert refusals(decode_leaf, values) > 500


def test_any_bytes_as_a_receipt() -> None:
    draw = random.Random(2)
    values = [draw.randbytes(draw.randrange(80)) for _ in range(500)]
    values += [
        b"{" * 100_000,
        b"[" * 10,
        b"{}",
        b"\xef\xbb\xbf{}",
    ]
    assert refusals(read_receipt, values) == len(values)


JUNK: List[Any] = [None, True, -1, 1.5, 2**70, "", "=", [], {}, [[]], "\ud800", "A" * 44]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_any_member_of_a_receipt(junk: Any) -> None:
    receipt = RECEIPTS["good"][0]["receipt"]
    for name in receipt:
        bent = {**receipt, name: junk}
        try:
            found = verify_receipt(bent, CHAIN)
        except VerificationError:
            continue
        # The version is a hint, and an integer of any value; what it says is not relied on.
        assert name == "trust_root_version", found


def nodes_of(value: Any) -> List[Any]:
    found = [value] if isinstance(value, (dict, list)) else []
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return found + [each for child in children for each in nodes_of(child)]


@pytest.mark.parametrize("of", ["whole", "singles"])
def test_any_member_of_a_bundle(of: str) -> None:
    draw = random.Random(of)
    text = json.dumps(BUNDLES["bundles"][of])
    pin = BUNDLES["good"][0]["pinned_root_thk"]
    outcomes: List[str] = []
    for _ in range(250):
        bent = json.loads(text)
        node = draw.choice([each for each in nodes_of(bent) if each])
        key = draw.choice(
            [name for name in node if name != "format"] if isinstance(node, dict) else list(range(len(node)))
        )
        node[key] = draw.choice(JUNK)
        try:
            outcomes.append(verify_bundle(json.dumps(bent), pin).outcome)
        except VerificationError as error:
            outcomes.append(error.code)
    # What is stated of a trace holds more than is compared: an altered rest of it changes nothing.
    assert outcomes.count("bundle_invalid") + outcomes.count("bundle_malformed") > 50
    assert set(outcomes) <= {"valid", "bundle_not_proved", "bundle_invalid", "bundle_malformed", "bundle_json_invalid"}


def test_altered_texts_of_a_bundle() -> None:
    draw = random.Random(3)
    text = json.dumps(BUNDLES["bundles"]["singles"])
    pin = BUNDLES["good"][0]["pinned_root_thk"]
    assert refusals(lambda value: verify_bundle(value, pin), [altered(text, draw) for _ in range(300)]) > 200
