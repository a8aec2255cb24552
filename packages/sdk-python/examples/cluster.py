"""Where the examples find a service: `cluster.json` of an embedded cluster, or the environment."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import List


@dataclass(frozen=True)
class Service:
    """Addresses, a key, and the RootTHK that was pinned when the cluster was set up."""

    endpoints: List[str]
    api_key: str
    root_thk: str


def find_service() -> Service:
    """From EVENT_ANCHORING_CLUSTER, a path to cluster.json, or from the nearest `.anchoring/cluster.json`."""
    given = os.environ.get("EVENT_ANCHORING_CLUSTER")
    here = [folder / ".anchoring" / "cluster.json" for folder in (Path.cwd(), *Path.cwd().parents)]
    path = Path(given) if given else next((each for each in here if each.exists()), here[0])
    cluster = json.loads(path.read_text(encoding="utf-8"))
    endpoints = [node["api_url"] for node in cluster["nodes"]]
    return Service(endpoints, cluster["api_key"], cluster["trust_root"]["root_thk"])
