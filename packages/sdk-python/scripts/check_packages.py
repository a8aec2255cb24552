"""Looks into the wheel and the sdist: everything that belongs into them is there, and nothing else."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path
from typing import List, Set

PACKAGE = Path(__file__).resolve().parents[1]


def wheel_faults(path: Path) -> List[str]:
    """Sources, type marker, licence and metadata, and no tests."""
    root = PACKAGE / "src"
    files = [each for each in (root / "event_anchoring").rglob("*") if each.is_file()]
    sources = {each.relative_to(root).as_posix() for each in files if "__pycache__" not in each.parts}
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        metadata = next(wheel.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
    faults = [f"the wheel lacks {name}" for name in sorted(sources - names)]
    own = {name for name in names if ".dist-info/" not in name}
    faults += [f"the wheel has {name}" for name in sorted(own - sources)]
    for line in ("Requires-Python: >=3.9", "License-Expression: Apache-2.0", "Version: 0.1.0"):
        faults += [] if f"\n{line}\n" in metadata else [f"the metadata lacks {line}"]
    faults += [] if any(name.endswith("licenses/LICENSE") for name in names) else ["the wheel has no licence"]
    return faults


def sdist_faults(path: Path) -> List[str]:
    """What is needed to build, and nothing that was built."""
    with tarfile.open(path) as sdist:
        names: Set[str] = {name.split("/", 1)[1] for name in sdist.getnames() if "/" in name}
    wanted = ("pyproject.toml", "README.md", "LICENSE", "src/event_anchoring/py.typed", "examples/first_anchor.py")
    faults = [f"the sdist lacks {name}" for name in wanted if name not in names]
    unwanted = (".venv", "dist/", "__pycache__", "docs/", ".mypy_cache")
    return faults + [f"the sdist has {name}" for name in sorted(names) if any(each in name for each in unwanted)]


def main(folder: Path) -> int:
    """Prints every fault."""
    wheels, sdists = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    faults = [fault for path in wheels for fault in wheel_faults(path)]
    faults += [fault for path in sdists for fault in sdist_faults(path)]
    if len(wheels) != 1 or len(sdists) != 1:
        faults.append(f"{len(wheels)} wheels and {len(sdists)} sdists in {folder}")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
