"""The vectors that every implementation reads, `test/vectors/*.json` of the checkout, and where larger ones may lie."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

ROOT = Path(__file__).resolve().parents[3]


def load(name: str) -> Any:
    return json.loads((ROOT / "test" / "vectors" / f"{name}.json").read_text(encoding="utf-8"))


def load_public(name: str) -> Optional[Any]:
    """Public vectors beside the checkout; None if they are not there."""
    path = ROOT.parent / "shared" / "vectors" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def openapi() -> Any:
    return json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))


def name_of(case: Any) -> str:
    return str(case.get("name", "")) if isinstance(case, dict) else ""
