from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .vectors import load

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def offline_audit(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import offline_audit

    yield offline_audit
    del sys.modules["offline_audit"]


@pytest.mark.parametrize("kind", ["good", "bad"])
def test_audit_of_a_receipt(offline_audit: Any, tmp_path: Path, capsys: Any, kind: str) -> None:
    vectors = load("receipt")
    proof = vectors["proof"]["good"][0]["proof"]
    receipt = tmp_path / "event.tlog-proof"
    receipt.write_text(proof if kind == "good" else proof.replace("\nindex 5", "\nindex 4"), encoding="utf-8")
    document = tmp_path / "trust-root"
    document.write_text(vectors["trust_roots"][0], encoding="utf-8")
    code = offline_audit.audit_receipt(receipt, [document], vectors["pinned_root_thk"])
    said = capsys.readouterr().out
    assert code == (0 if kind == "good" else 1)
    assert ("NOT GOOD index_differs at index" in said) is (kind == "bad")


@pytest.mark.parametrize(("outcome", "code"), [("valid", 0), ("valid_as_stated", 2), ("invalid", 1)])
def test_audit_of_a_bundle(offline_audit: Any, tmp_path: Path, capsys: Any, outcome: str, code: int) -> None:
    vectors = load("bundle")
    cases = [each for each in vectors["good"] + vectors["bad"] if "bundle" in each]
    case = next(each for each in cases if each.get("outcome", "invalid") == outcome)
    bundle = tmp_path / "bundle.json"
    bundle.write_text(json.dumps(case["bundle"]), encoding="utf-8")
    assert offline_audit.audit_bundle(bundle, case["pinned_root_thk"]) == code
    said = capsys.readouterr().out
    assert ("AS STATED" in said) is (outcome == "valid_as_stated")
    assert ("NOT GOOD" in said) is (outcome == "invalid")
