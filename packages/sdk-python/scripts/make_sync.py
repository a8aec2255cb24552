"""Makes client.py, the synchronous client, from async_client.py: the same methods without `await`.

`python scripts/make_sync.py` writes it, `--check` fails if it is not what would be written.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "event_anchoring"

REPLACEMENTS = (
    (
        r'"""The asynchronous client\. .*?"""',
        '"""The synchronous client. Made from async_client.py by scripts/make_sync.py: change that one."""',
    ),
    (r"import asyncio\n", ""),
    (r"import ssl\n", "import ssl\nimport time\n"),
    (r"await asyncio\.sleep", "time.sleep"),
    (r"AsyncIterator", "Iterator"),
    (r"AsyncHttpTransport", "HttpTransport"),
    (r"AsyncTransport", "Transport"),
    (r"AsyncClient", "Client"),
    (r"sign_later", "sign_now"),
    (r"__aenter__", "__enter__"),
    (r"__aexit__", "__exit__"),
    (r"async def ", "def "),
    (r"await ", ""),
    (r"many tasks at once", "many threads at once"),
)


def synchronous(source: str) -> str:
    """The synchronous text of an asynchronous one."""
    for pattern, replacement in REPLACEMENTS:
        source = re.sub(pattern, replacement, source, flags=re.DOTALL)
    return source


def main() -> int:
    """Writes the file, or compares it. Layout is the formatter's, so that it is not compared."""
    made = synchronous((PACKAGE / "async_client.py").read_text(encoding="utf-8"))
    target = PACKAGE / "client.py"
    if "--check" not in sys.argv[1:]:
        target.write_text(made, encoding="utf-8")
        return 0
    is_same = ast.dump(ast.parse(target.read_text(encoding="utf-8"))) == ast.dump(ast.parse(made))
    if not is_same:
        print("client.py is not what scripts/make_sync.py makes of async_client.py")
    return 0 if is_same else 1


if __name__ == "__main__":
    raise SystemExit(main())
