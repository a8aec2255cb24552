from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import event_anchoring

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE / "src" / "event_anchoring"
SOURCES = sorted(ROOT.rglob("*.py"))
TESTS = sorted((PACKAGE / "tests").glob("*.py"))


def test_the_synchronous_client_is_made_from_the_asynchronous_one() -> None:
    done = subprocess.run([sys.executable, str(PACKAGE / "scripts" / "make_sync.py"), "--check"], capture_output=True)
    assert done.returncode == 0, done.stdout


def test_everything_that_is_exported_is_there_and_documented() -> None:
    assert sorted(event_anchoring.__all__) == sorted(set(event_anchoring.__all__))
    undocumented = []
    for name in event_anchoring.__all__:
        value = getattr(event_anchoring, name)
        if isinstance(value, type) and not value.__doc__:
            undocumented.append(name)
    assert undocumented == []


def test_the_version_is_stated_once() -> None:
    stated = re.search(r'^version = "(.*)"$', (PACKAGE / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert stated is not None
    assert event_anchoring.__version__ == stated.group(1) == "0.1.0"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_syntax_and_annotations_are_of_python_3_9(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 9))
    nodes = list(ast.walk(tree))
    assert not any(type(node).__name__ in ("Match", "TryStar") for node in nodes)
    if len(tree.body) > 1:
        assert "from __future__ import annotations" in source


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_size(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 500
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = [node for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, kinds)]
    long = [node.name for node in functions if (node.end_lineno or 0) - node.lineno + 1 > 70]
    assert long == []


def test_verifying_loads_no_network() -> None:
    code = "import event_anchoring, sys; assert not {'httpx', 'httpx2', 'cryptography'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(PACKAGE / "src")}, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_readme_snippets_are_python() -> None:
    readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len(snippets) >= 3
    for snippet in snippets:
        compile(snippet, "README.md", "exec")
    # test_cluster.py runs it, and the others.
    assert len([line for line in snippets[0].splitlines() if line]) <= 10


def test_bytes_are_printed_as_hex() -> None:
    checkpoint = event_anchoring.Checkpoint("log.example/origin/ab", 7, bytes(range(32)))
    assert (
        repr(checkpoint)
        == f"Checkpoint(origin='log.example/origin/ab', tree_size=7, root_hash=hex'{bytes(range(32)).hex()}')"
    )
    receipt = event_anchoring.Receipt(b"\x01\xff", 0, 1, (b"\x02", b"\x03"), "note", anchor_id=b"\xab")
    assert "leaf=hex'01ff', index=0, tree_size=1, inclusion=(hex'02', hex'03')" in repr(receipt)
    assert "\\x" not in repr(receipt)
