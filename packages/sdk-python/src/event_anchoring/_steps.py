"""One step of a verification."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One step of a verification. `result` is `pass`, `fail` or `not_checked`; `detail` is for people."""

    code: str
    result: str
    detail: str
