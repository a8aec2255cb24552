"""Makes `synchronous`, the synchronous client, from `asynchronous`: the same modules and methods without `await`.

`python scripts/make_sync.py` writes them, `--check` fails if they are not what would be written.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Dict, List

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "event_anchoring"

REPLACEMENTS = (
    (
        r"The asynchronous client, a module.*?\.py\.",
        "The synchronous client: made from `asynchronous` by scripts/make_sync.py.",
    ),
    (r"import asyncio\nimport ssl\n", "import ssl\nimport time\n"),
    (r"await asyncio\.sleep", "time.sleep"),
    (r"\bAsync(?=[A-Z])", ""),
    (r"sign_later", "sign_now"),
    (r"ask_many_later", "ask_many_now"),
    (r"async for ", "for "),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"async def ", "def "),
    (r"await ", ""),
    (r"many tasks at once", "many threads at once"),
)


def synchronous(source: str) -> str:
    """The synchronous text of an asynchronous one."""
    for pattern, replacement in REPLACEMENTS:
        source = re.sub(pattern, replacement, source, flags=re.DOTALL)
    return source


def made() -> Dict[str, str]:
    """The modules of `synchronous`, by their names."""
    sources = sorted((PACKAGE / "asynchronous").glob("*.py"))
    return {source.name: synchronous(source.read_text(encoding="utf-8")) for source in sources}


def faults() -> List[str]:
    """Modules of `synchronous` that are not what is made. Layout is the formatter's, so that it is not compared."""
    wanted = made()
    found = {path.name: path.read_text(encoding="utf-8") for path in (PACKAGE / "synchronous").glob("*.py")}
    names = sorted({*wanted, *found})
    shape = {name: [ast.dump(ast.parse(texts.get(name, "lost"))) for texts in (wanted, found)] for name in names}
    return [name for name in names if shape[name][0] != shape[name][1]]


def main() -> int:
    """Writes the modules, or compares them."""
    if "--check" in sys.argv[1:]:
        wrong = faults()
        for name in wrong:
            print(f"synchronous/{name} is not what scripts/make_sync.py makes of asynchronous/{name}")
        return 1 if wrong else 0
    target = PACKAGE / "synchronous"
    target.mkdir(exist_ok=True)
    for path in target.glob("*.py"):
        path.unlink()
    for name, text in made().items():
        (target / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
