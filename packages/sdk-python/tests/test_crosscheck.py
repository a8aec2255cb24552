from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, List

from .vectors import load

PREPARE = load("prepare")
RECEIPTS = load("receipt")
BUNDLES = load("bundle")
SOURCES = Path(__file__).resolve().parents[1] / "src"


def ask(*requests: Any) -> List[Any]:
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(
        [sys.executable, "-m", "event_anchoring._crosscheck"],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        timeout=60,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_claim_in_three_steps() -> None:
    case = PREPARE["claims"]["good"][1]
    first = {"op": "prepare_claim", "input": case["input"]}
    second = {**first, "subject_signature": case["subject_signature"]}
    sign = {"op": "sign", "seed": case["issuer_seed"], "payload": case["issuer_payload"]}
    third = {**second, "issuer_signature": case["issuer_signature"]}
    answers = ask(first, second, sign, third)
    assert answers[0]["ok"] == {"subject_payload": case["subject_payload"], "subject_digest": case["subject_digest"]}
    assert answers[1]["ok"]["issuer_payload"] == case["issuer_payload"]
    assert answers[2]["ok"]["signature"] == case["issuer_signature"]
    assert answers[3]["ok"]["request"] == case["request"]


def test_what_is_refused_names_its_field() -> None:
    families = {"claims": "prepare_claim", "grants": "prepare_grant"}
    families.update({"events": "prepare_event", "revocations": "prepare_revocation"})
    cases = [(op, case) for family, op in families.items() for case in PREPARE[family]["bad"]]
    answers = ask(*({"op": op, "input": case["input"]} for op, case in cases))
    expected = [{"error": {"code": "invalid_input", "field": case["field"]}} for _, case in cases]
    assert answers == expected


def test_receipts() -> None:
    witnessed = RECEIPTS["witnessed"]["good"] + RECEIPTS["witnessed"]["bad"]
    cases = [case for case in RECEIPTS["good"] + RECEIPTS["bad"] + witnessed if "renewal" not in case]
    requests = [
        {
            "op": "verify_receipt",
            # What the receipt states of itself is held against the leaf; the vectors leave that to the expectation.
            "receipt": case["receipt"],
            "trust_roots": RECEIPTS["trust_roots"][: case["trust_root_versions"]],
            "pinned_root_thk": RECEIPTS["pinned_root_thk"],
            "expect": case["expect"],
            "require_witnessed": case.get("require_witnessed", False),
        }
        for case in cases
    ]
    answers = ask(*requests)
    for case, answer in zip(cases, answers):
        assert answer["ok"]["verdict"] == case["verdict"], case["name"]
        assert answer["ok"]["superseded_trust_root"] == case["superseded_trust_root"]
        assert answer["ok"]["witnessed"] == case.get("witnessed", False)


def test_bundles() -> None:
    good, bad, malformed = BUNDLES["good"][0], BUNDLES["bad"], BUNDLES["malformed"][0]
    own = next(case for case in bad if "bundle" in case)
    requests = [
        {"op": "verify_bundle", "bundle": case["bundle"], "pinned_root_thk": case["pinned_root_thk"]}
        for case in (good, own)
    ]
    requests.append({"op": "verify_bundle", "bundle": malformed["text"], "pinned_root_thk": good["pinned_root_thk"]})
    first, second, third = ask(*requests)
    assert first["ok"]["outcome"] == "valid"
    assert (second["ok"]["outcome"], second["ok"]["fails"]) == ("invalid", own["fails"])
    assert third == {"error": {"code": malformed["error"]}}


def test_signatures() -> None:
    case = load("ed25519")["good"][0]
    request = {"op": "verify_signature", "public_key": case["public_key"], "payload": case["message"]}
    answers = ask({**request, "signature": case["signature"]}, {**request, "signature": "00" * 64})
    assert answers == [{"ok": {"valid": True}}, {"ok": {"valid": False}}]
