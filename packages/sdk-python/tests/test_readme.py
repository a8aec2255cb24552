"""Runs what the README shows under "Offline" and of the recorder, as it is written there: on good and bad files."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

from event_anchoring import AnchoringError, Envelope, Receipt, VerificationError, __version__
from event_anchoring._verifying.command import main

from .service import Service, serve
from .vectors import load

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
OFFLINE = README.split("\n## Offline\n")[1].split("\n## ")[0]
COMMANDS = re.findall(r"```sh\n(.*?)```", OFFLINE, re.DOTALL)[0].splitlines()
RECEIPT_LINES, BUNDLE_LINES = re.findall(r"```python\n(.*?)```", OFFLINE, re.DOTALL)

(RECORDER_LINES,) = re.findall(
    r"```python\n(.*?)```", README.split("\n## Recording what happens\n")[1].split("\n## ")[0], re.DOTALL
)

RECEIPTS, BUNDLES = load("receipt"), load("bundle")
PIN = RECEIPTS["pinned_root_thk"]
BUNDLE_PIN = BUNDLES["good"][0]["pinned_root_thk"]
OTHER_PIN = "00" * 32
#: What the shared vectors have anchored: their events are the hashes of these texts.
LOG, ACT = "event 5", "act"
OWN = next(each for each in RECEIPTS["good"] if each["expect"].get("event_hash") == sha256(LOG.encode()).hexdigest())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANCHORING_ROOT_THK", PIN)
    (tmp_path / "log.txt").write_text(LOG, encoding="utf-8")
    (tmp_path / "log.txt.tlog-proof").write_text(json.dumps(OWN["receipt"]), encoding="utf-8")
    (tmp_path / "trust-root.txt").write_text(RECEIPTS["trust_roots"][0], encoding="utf-8")
    (tmp_path / "act.txt").write_text(ACT, encoding="utf-8")
    (tmp_path / "act.bundle.json").write_text(json.dumps(BUNDLES["bundles"]["whole"]), encoding="utf-8")
    return tmp_path


def run(lines: str) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    exec(compile(lines, "README.md", "exec"), found)
    return found


def forged(code: str) -> str:
    """A receipt of the very event, whose proof fails."""
    bad = (each for each in RECEIPTS["bad"] if each["failure"]["code"] == code)
    return json.dumps(next(each["receipt"] for each in bad if each["receipt"]["leaf"] == OWN["receipt"]["leaf"]))


def test_good_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(RECEIPT_LINES)["verified"].leaf.event_hash == sha256(LOG.encode()).digest()
    monkeypatch.setenv("ANCHORING_ROOT_THK", BUNDLE_PIN)
    assert run(BUNDLE_LINES)["proved"].outcome == "valid"


def test_commands(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    on_receipt, on_bundle = (shlex.split(line.replace("$ANCHORING_ROOT_THK", PIN)) for line in COMMANDS)
    (folder / "log.txt.tlog-proof").write_text(Receipt.parse(OWN["receipt"]).to_proof_text(), encoding="utf-8")
    assert on_receipt[:3] == on_bundle[:3] == ["python", "-m", "event_anchoring"]
    assert main(on_receipt[3:]) == 0
    assert "VALID: log.txt is the event" in capsys.readouterr().out
    (folder / "trust-root.txt").write_text(BUNDLES["bundles"]["whole"]["trust_roots"][0], encoding="utf-8")
    monkeypatch.setenv("ANCHORCTL_ROOT_THK", BUNDLE_PIN)
    pin_at = on_bundle.index("--root-thk")
    assert main(on_bundle[3:pin_at]) == 6
    assert main([*on_bundle[3:pin_at], "--root-thk", BUNDLE_PIN]) == 0
    (folder / "log.txt").write_text("event 6", encoding="utf-8")
    assert main(on_receipt[3:]) == 1


@pytest.mark.parametrize("arguments", [["--version"], ["verify", "--version"], ["--help"], ["verify", "--help"]])
def test_help_and_version_of_the_program(arguments: List[str]) -> None:
    command = [sys.executable, "-m", "event_anchoring", *arguments]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=env, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    if arguments[-1] == "--version":
        assert done.stdout == f"event-anchoring {__version__}\n"
    else:
        assert done.stdout.startswith(
            f"usage: python -m event_anchoring {'verify ' if len(arguments) == 2 else ''}[-h]"
        )
        assert "--version" in done.stdout


def test_the_recorder(folder: Path) -> None:
    service = Service()
    server = serve(service)
    try:
        run(RECORDER_LINES.replace("https://n1.example", f"http://127.0.0.1:{server.server_address[1]}"))
    finally:
        server.shutdown()
        server.server_close()
    (payload,) = (folder / "events" / "kept").glob("*/*.json")
    assert Envelope.parse(payload.read_bytes()).content == {"order": "4711", "amount": 19.5}
    assert payload.with_name(f"{payload.name}.tlog-proof").exists()
    assert [anchor["event_hash"] for anchor in service.anchors.values()] == [sha256(payload.read_bytes()).hexdigest()]


BAD_RECEIPTS: Dict[str, Tuple[str, str, str]] = {
    "another file": ("log.txt", "event 6", "content_differs"),
    "another path": ("log.txt.tlog-proof", forged("inclusion_wrong"), "inclusion_wrong"),
    "a spoiled signature": ("log.txt.tlog-proof", forged("signature_invalid"), "signature_invalid"),
    "too few cosigners": ("log.txt.tlog-proof", forged("quorum_not_met"), "quorum_not_met"),
    "the trust root of others": ("trust-root.txt", BUNDLES["bundles"]["whole"]["trust_roots"][0], "pin_mismatch"),
}


@pytest.mark.parametrize("name", BAD_RECEIPTS)
def test_a_bad_receipt_is_an_error(folder: Path, name: str) -> None:
    file, content, code = BAD_RECEIPTS[name]
    (folder / file).write_text(content, encoding="utf-8")
    with pytest.raises(VerificationError) as caught:
        run(RECEIPT_LINES)
    assert caught.value.code == code


BAD_BUNDLES: Dict[str, Tuple[str, str, str]] = {
    "another file": ("act.txt", "another act", "bundle_invalid"),
    "as stated": ("act.bundle.json", json.dumps(BUNDLES["bundles"]["singles"]), "bundle_not_proved"),
    "forged": (
        "act.bundle.json",
        json.dumps(next(each["bundle"] for each in BUNDLES["bad"] if "bundle" in each)),
        "bundle_invalid",
    ),
}


@pytest.mark.parametrize("name", BAD_BUNDLES)
def test_a_bad_bundle_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("ANCHORING_ROOT_THK", BUNDLE_PIN)
    file, content, code = BAD_BUNDLES[name]
    (folder / file).write_text(content, encoding="utf-8")
    with pytest.raises(VerificationError) as caught:
        run(BUNDLE_LINES)
    assert caught.value.code == code


@pytest.mark.parametrize("lines", [RECEIPT_LINES, BUNDLE_LINES], ids=["receipt", "bundle"])
@pytest.mark.parametrize("pin", [OTHER_PIN, "", None])
def test_without_the_right_pin_nothing_is_good(
    folder: Path, monkeypatch: pytest.MonkeyPatch, lines: str, pin: Any
) -> None:
    if pin is None:
        monkeypatch.delenv("ANCHORING_ROOT_THK")
    else:
        monkeypatch.setenv("ANCHORING_ROOT_THK", pin)
    with pytest.raises((AnchoringError, KeyError)):
        run(lines)
