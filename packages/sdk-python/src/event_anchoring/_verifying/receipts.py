"""A file against its receipt."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Tuple

from .._receipt_result import ReceiptReport
from .._steps import Step
from ..errors import VerificationError
from ..proof import Receipt, parse_proof
from ..receipt import inspect_receipt
from .files import read_text
from .output import INVALID, NOT_PINNED, OK, Finding, fail, failed, iso_ms, iso_s, line, steps_json
from .trust import Held

_RECEIPT_BYTES_MAX = 4 * 1024 * 1024
_MARKS = {"pass": "pass", "fail": "fail", "not_checked": "skip"}


def read(path: str) -> Receipt:
    """Reads a receipt."""
    try:
        return parse_proof(read_text(path, _RECEIPT_BYTES_MAX))
    except VerificationError as error:
        fail(INVALID, error.code, f"{path} is not a receipt: {error.message} ({error.code})")


def _cosigners(report: ReceiptReport) -> List[Tuple[str, int]]:
    """Nodes whose good signature the checkpoint carries, with its time in Unix seconds."""
    return [(each.vkey.name, each.time_s) for each in report.verified if each.time_s is not None]


def _witnesses(report: ReceiptReport) -> List[Tuple[str, int]]:
    return [(each.name, each.witnessed_at) for each in report.witnesses]


def _complete_at(times: Iterable[int], quorum: int) -> Optional[int]:
    """The k-th smallest time, k being the quorum: when it was complete."""
    ascending = sorted(times)
    return ascending[quorum - 1] if 0 < quorum <= len(ascending) else None


def _certified_at(report: ReceiptReport, held: Held) -> Optional[int]:
    return _complete_at((time for _, time in _cosigners(report)), held.chain.newest.quorum)


def _witnessed_text(report: ReceiptReport) -> str:
    at = _complete_at((time for _, time in _witnesses(report)), report.witnesses_needed)
    if not report.witnessed or at is None:
        return ""
    return f", witnessed by {', '.join(name for name, _ in _witnesses(report))} at {iso_s(at)}"


def _verdict(report: ReceiptReport, held: Held, *, require_current: bool) -> Tuple[int, Optional[str], List[str]]:
    warnings = []
    superseded = report.superseded_trust_root
    if superseded is not None:
        warnings.append(f"only trust root {superseded} is satisfied, not the newest: renew the receipt")
    if report.origin_lost:
        warnings.append("the origin is marked lost: it is never written to again")
    if report.failure is not None:
        return INVALID, report.failure.code, warnings
    if require_current and superseded is not None:
        return INVALID, "superseded_trust_root", warnings
    if not held.is_pinned:
        return NOT_PINNED, "not_pinned", warnings
    return OK, None, warnings


def _step_lines(step: Step, report: ReceiptReport, *, is_pinned: bool) -> List[str]:
    mark = _MARKS[step.result]
    lines = [line(mark, step.code.replace("_", " "), step.detail, is_pinned=is_pinned)]
    signers = {"cosignatures": _cosigners(report), "witnesses": _witnesses(report)}.get(step.code, [])
    if step.result == "pass":
        lines += [line(mark, "", f"{name} signed at {iso_s(time)}", is_pinned=is_pinned) for name, time in signers]
    return lines


def _sentence(file: str, report: ReceiptReport, held: Held, exit_code: int, code: str, warnings: List[str]) -> str:
    if exit_code == OK:
        accepted = "" if report.leaf is None else f" accepted at {iso_ms(report.leaf.accepted_ms)}"
        at = _certified_at(report, held)
        certified = "" if at is None else f" and certified at {iso_s(at)}"
        return f"VALID: {file} is the event that was{accepted}{certified}{_witnessed_text(report)}."
    if exit_code == NOT_PINNED:
        return f"NOT PINNED: file, receipt and trust root go together, which proves nothing yet: {held.advice()}"
    step = failed(report.steps)
    reason = "".join(warnings[:1]) if step is None else f"{step.code}: {step.detail}"
    return f"NOT VALID ({code}): {reason}"


def judge(
    file: str, event_hash: bytes, receipt: Receipt, held: Held, *, require_current: bool, require_witnessed: bool
) -> Finding:
    """Whether the receipt is good, and of this file."""
    report = inspect_receipt(receipt, held.chain, event_hash=event_hash, require_witnessed=require_witnessed)
    exit_code, code, warnings = _verdict(report, held, require_current=require_current)
    lines = [f"{file}  SHA-256 {event_hash.hex()}", held.pin_line()]
    for step in report.steps:
        lines += _step_lines(step, report, is_pinned=held.is_pinned)
    lines += [line("warn", "warning", warning) for warning in warnings]
    lines.append(_sentence(file, report, held, exit_code, code or "", warnings))
    leaf, at = report.leaf, _certified_at(report, held)
    json: Dict[str, Any] = {
        "valid": exit_code == OK,
        "failure": code,
        "pin": held.pin_json(),
        "file": file,
        "event_hash": event_hash.hex(),
        "anchor_id": None if report.anchor_id is None else report.anchor_id.hex(),
        "origin_fingerprint": None if leaf is None else leaf.origin_fingerprint.hex(),
        "depth": None if leaf is None else leaf.depth,
        "sequence": None if leaf is None else leaf.sequence,
        "accepted_at": None if leaf is None else iso_ms(leaf.accepted_ms),
        "certified_at": None if at is None else iso_s(at),
        "cosigners": [{"name": name, "time": time} for name, time in _cosigners(report)],
        "witnessed": report.witnessed,
        "witnesses": [{"name": name, "time": time} for name, time in _witnesses(report)],
        "witnesses_needed": report.witnesses_needed,
        "trust_root": held.newest_json(),
        "superseded_trust_root": report.superseded_trust_root,
        "origin_lost": report.origin_lost,
        "steps": steps_json(report.steps),
        "warnings": warnings,
    }
    return Finding(exit_code, lines, json)
