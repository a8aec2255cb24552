"""The vectors that every implementation reads, `test/vectors/*.json` of the checkout, and where larger ones may lie."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional

ROOT = Path(__file__).resolve().parents[3]


def load(name: str) -> Any:
    return json.loads((ROOT / "test" / "vectors" / f"{name}.json").read_text(encoding="utf-8"))


def load_public(name: str) -> Optional[Any]:
    """Public collections, where EVENT_ANCHORING_PUBLIC_VECTORS names their folder; else None."""
    folder = os.environ.get("EVENT_ANCHORING_PUBLIC_VECTORS")
    path = None if folder is None else Path(folder) / f"{name}.json"
    return None if path is None or not path.exists() else json.loads(path.read_text(encoding="utf-8"))


def openapi() -> Any:
    return json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))


def name_of(case: Any) -> str:
    return str(case.get("name", "")) if isinstance(case, dict) else ""
