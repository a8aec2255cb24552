"""What the command prints, and its exit codes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, NoReturn, Optional, Sequence

from .._steps import Step

#: The exit codes of `anchorctl verify`. They change only with a new major version.
OK, INVALID, USAGE, AS_STATED, NOT_PINNED, INTERNAL = 0, 1, 2, 5, 6, 70

SIGNS = {"pass": "✓", "fail": "✗", "skip": "-", "warn": "!"}

#: The last millisecond for which anchorctl writes a date. A leaf or a cosignature may legally name a later one.
_DATE_MS_MAX = 8_640_000_000_000_000
_YEAR_10000_MS = 253_402_300_800_000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: A calendar repeats itself after 400 years.
_CYCLE_YEARS, _CYCLE_MS = 400, 146_097 * 86_400_000


class Fault(Exception):
    """Why nothing could be judged, or what was given is none of what it should be."""

    def __init__(self, exit_code: int, code: str, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.code = code
        self.message = message


def fail(exit_code: int, code: str, message: str) -> NoReturn:
    """Ends the command."""
    raise Fault(exit_code, code, message)


@dataclass(frozen=True)
class Finding:
    """What was judged, for people and for programs."""

    exit_code: int
    lines: List[str]
    json: Dict[str, Any]


def line(mark: str, label: str, detail: str, *, is_pinned: bool = True) -> str:
    """One line of a verdict. Without a pin nothing is shown as good: all hangs on it."""
    shown = "skip" if mark == "pass" and not is_pinned else mark
    return f"  {SIGNS[shown]} {label:<14} {detail}"


def steps_json(steps: Sequence[Step]) -> List[Dict[str, str]]:
    """Steps or checks, as they are."""
    return [{"code": step.code, "result": step.result, "detail": step.detail} for step in steps]


def failed(steps: Sequence[Step]) -> Optional[Step]:
    """The first one that has failed."""
    return next((step for step in steps if step.result == "fail"), None)


def iso_ms(time_ms: int) -> str:
    """Unix milliseconds as ISO 8601; after the year 9999 with a sign and six digits."""
    if time_ms > _DATE_MS_MAX:
        return f"{time_ms} ms (Unix)"
    cycles = 0 if time_ms < _YEAR_10000_MS else (time_ms - _YEAR_10000_MS) // _CYCLE_MS + 1
    time = _EPOCH + timedelta(milliseconds=time_ms - cycles * _CYCLE_MS)
    year = time.year + cycles * _CYCLE_YEARS
    shown = f"+{year:06}" if cycles else f"{year:04}"
    return f"{shown}-{time:%m-%dT%H:%M:%S}.{time_ms % 1_000:03}Z"


def iso_s(seconds: int) -> str:
    """Unix seconds."""
    if seconds * 1_000 > _DATE_MS_MAX:
        return f"{seconds} s (Unix)"
    return iso_ms(seconds * 1_000).replace(".000Z", "Z")
