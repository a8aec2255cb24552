"""Judges a receipt or a bundle without any service. Exit code 0: good; 1: not; 2: rests on somebody's word."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import List

from event_anchoring import VerificationError, inspect_bundle, verify_receipt, verify_trust_root


def audit_receipt(receipt: Path, trust_roots: List[Path], pin: str) -> int:
    """The documents may come from anywhere, the pin may not."""
    try:
        chain = verify_trust_root([each.read_text(encoding="utf-8") for each in trust_roots], pin)
        found = verify_receipt(receipt.read_bytes(), chain)
    except VerificationError as error:
        print(f"NOT GOOD {error.code} at {error.step}: {error.message}")
        return 1
    for step in found.steps:
        print(f"{step.result:12}{step.code:16}{step.detail}")
    return 0


def audit_bundle(bundle: Path, pin: str) -> int:
    """A bundle brings all documents along."""
    try:
        found = inspect_bundle(bundle.read_bytes(), pin)
    except VerificationError as error:
        print(f"NOT GOOD {error.code}: {error.message}")
        return 1
    for check in found.checks:
        print(f"{check.result:12}{check.code:16}{check.detail}")
    if found.outcome == "invalid":
        print("NOT GOOD")
        return 1
    print(f"authorised at action: {found.authorised_at_action}; now: {found.authorised_now}")
    if found.outcome == "valid":
        return 0
    print("AS STATED: what was not checked rests on the word of whoever made the bundle")
    return 2


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit("offline_audit.py <pin> <bundle.json> | <pin> <receipt.tlog-proof> <trust root> …")
    given = [Path(each) for each in sys.argv[2:]]
    first = sys.argv[1]
    raise SystemExit(audit_bundle(given[0], first) if len(given) == 1 else audit_receipt(given[0], given[1:], first))
