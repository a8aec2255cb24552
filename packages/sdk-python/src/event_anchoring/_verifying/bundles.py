"""A bundle: who was authorised."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .._bundle_result import BundleVerification, ProvedScope
from .._bundle_text import Bundle
from .._records import Verdict
from .._steps import Step
from ..bundle import add_scopes, inspect_bundle
from ..errors import VerificationError
from ..leaf import EventLeaf
from ..scope import Scope
from .files import read_text
from .output import AS_STATED, INVALID, NOT_PINNED, OK, Finding, fail, failed, iso_ms, line, steps_json
from .trust import Held

_BUNDLE_BYTES_MAX = 64 * 1024 * 1024
#: The longest document that any reader takes is shorter.
_SCOPE_BYTES_MAX = 4 * 1024 * 1024
_SHORT_DIGITS = 12
_SUPERSEDED = "superseded_trust_root"
_MARKS = {"pass": "pass", "fail": "fail", "not_checked": "warn"}
_EXITS = {"valid": OK, "valid_as_stated": AS_STATED, "invalid": INVALID, "not_pinned": NOT_PINNED}


def _read_scope(path: str) -> Scope:
    text = read_text(path, _SCOPE_BYTES_MAX)
    try:
        return Scope.parse(text)
    except VerificationError as error:
        fail(INVALID, error.code, f"{path}: {error.message} ({error.code})")


def read(path: str, scopes: Sequence[str]) -> Bundle:
    """Reads a bundle, and disclosures that came apart from it."""
    text = read_text(path, _BUNDLE_BYTES_MAX)
    try:
        bundle = Bundle.parse(text)
        if not scopes:
            return bundle
        return Bundle.parse(add_scopes(text, [_read_scope(scope) for scope in scopes]))
    except VerificationError as error:
        fail(INVALID, error.code, f"{path} is not a bundle: {error.message} ({error.code})")


def _check_line(check: Step, found: BundleVerification, *, is_pinned: bool) -> str:
    # It passes also where the reader demands no witnesses.
    is_unmet = check.code == "witnesses" and check.result == "pass" and not found.witnessed
    mark = "skip" if is_unmet else _MARKS[check.result]
    return line(mark, check.code.replace("_", " ", 1), check.detail, is_pinned=is_pinned)


def _shown(verdict: Verdict, *, actor_proven: bool) -> Tuple[str, str]:
    """What was authorised and not signed is never shown as what was."""
    if verdict == "unknown":
        return "skip", "authorised: unknown"
    if verdict is not True:
        return "fail", "authorised: no"
    return ("pass", "authorised: yes") if actor_proven else ("warn", "authorised, not signed")


def _act_lines(found: BundleVerification, *, is_pinned: bool) -> List[str]:
    """Who acted, and whether it was authorised then and later; of a claim or a grant, whether it is in force."""
    when = f"as of sequence {found.as_of.sequence}, {iso_ms(found.as_of.time_ms)}"
    standing = found.standing
    if standing is not None:
        if standing.in_force:
            return [line("pass", "standing", f"in force, {when}", is_pinned=is_pinned)]
        why = ", ".join(reason.code for reason in standing.reasons)
        return [line("warn", "standing", f"not in force, {standing.state}: {why}; {when}")]
    lines = []
    if isinstance(found.leaf, EventLeaf) and found.actor_proven:
        lines.append(line("pass", "actor", "proven: signed with the key of the actor's claim", is_pinned=is_pinned))
    elif isinstance(found.leaf, EventLeaf):
        detail = "not proven: only the API client that recorded the event says who acted"
        lines.append(line("warn", "actor", detail))
    mark, text = _shown(found.authorised_at_action, actor_proven=found.actor_proven)
    lines.append(line(mark, "at action", text, is_pinned=is_pinned))
    mark, text = _shown(found.authorised_now, actor_proven=found.actor_proven)
    lines.append(line(mark, "later", f"{text}, {when}", is_pinned=is_pinned))
    return lines


def _scope_lines(scope: ProvedScope, *, is_pinned: bool) -> List[str]:
    grants = ", ".join(f"{grant.hex()[:_SHORT_DIGITS]}…" for grant in scope.grants)
    detail = f"of {grants}: {len(scope.statements)} statements disclosed, {scope.withheld} withheld"
    # JSON in ASCII: nothing is hidden, and nothing moves a cursor.
    statements = [f"{name}: {json.dumps(value)}" for name, value in scope.statements.items()]
    return [
        line("pass", "scope", detail, is_pinned=is_pinned),
        *(line("pass", "", statement, is_pinned=is_pinned) for statement in statements),
    ]


def _sentence(found: BundleVerification, held: Held, exit_code: int) -> str:
    if exit_code == OK:
        return "VALID: every check is proved."
    if exit_code == AS_STATED:
        return "VALID AS STATED: nothing is wrong, and what is marked ! rests on the word of the service."
    if exit_code == NOT_PINNED:
        return f"NOT PINNED: the bundle and the trust root go together, which proves nothing yet: {held.advice()}"
    check = failed(found.checks)
    if check is not None:
        return f"NOT VALID ({check.code}): {check.detail}"
    older, newest = found.superseded_trust_root, found.trust_root_version
    detail = f"only trust root {older} is satisfied, and the newest is {newest}: make the bundle anew"
    return f"NOT VALID ({_SUPERSEDED}): {detail}"


def _scope_json(scope: ProvedScope) -> Dict[str, Any]:
    return {
        "scope_hash": scope.scope_hash.hex(),
        "grants": [grant.hex() for grant in scope.grants],
        "statements": dict(scope.statements),
        "withheld": scope.withheld,
    }


def _outcome(found: BundleVerification, held: Held, *, require_current: bool) -> str:
    if found.outcome == "invalid" or (require_current and found.superseded_trust_root is not None):
        return "invalid"
    return found.outcome if held.is_pinned else "not_pinned"


def _failure(found: BundleVerification, outcome: str) -> Optional[str]:
    check = failed(found.checks)
    if check is not None:
        return check.code
    return {"invalid": _SUPERSEDED, "not_pinned": "not_pinned"}.get(outcome)


def judge(
    path: str,
    bundle: Bundle,
    held: Held,
    *,
    anchor_id: Optional[bytes],
    event_hash: Optional[bytes],
    require_current: bool,
    require_witnessed: bool,
) -> Finding:
    """Whether the bundle is proved, and what it says."""
    found = inspect_bundle(
        bundle, held.chain, anchor_id=anchor_id, event_hash=event_hash, require_witnessed=require_witnessed
    )
    outcome = _outcome(found, held, require_current=require_current)
    exit_code, is_pinned = _EXITS[outcome], held.is_pinned
    lines = [f"{path}  {found.subject.hex()}", held.pin_line()]
    lines += [_check_line(check, found, is_pinned=is_pinned) for check in found.checks]
    if found.outcome != "invalid":
        lines += _act_lines(found, is_pinned=is_pinned)
        for scope in found.scopes:
            lines += _scope_lines(scope, is_pinned=is_pinned)
    lines.append(_sentence(found, held, exit_code))
    standing, complete, version = found.standing, found.complete, found.trust_root_version
    shown = {
        "bundle": path,
        "outcome": outcome,
        "valid": outcome == "valid",
        "failure": _failure(found, outcome),
        "pin": held.pin_json(),
        "subject": found.subject.hex(),
        "as_of": {"sequence": found.as_of.sequence, "time_ms": found.as_of.time_ms},
        "actor_proven": found.actor_proven,
        "authorised_at_action": found.authorised_at_action,
        "authorised_now": found.authorised_now,
        "standing": None if standing is None else {"state": standing.state, "in_force": standing.in_force},
        "scopes": [_scope_json(scope) for scope in found.scopes],
        "complete": None if complete is None else {"after": complete.after, "to": complete.to},
        "witnessed": found.witnessed,
        "trust_root": None if version is None else {"version": version, "superseded": found.superseded_trust_root},
        "checks": steps_json(found.checks),
    }
    return Finding(exit_code, lines, shown)
