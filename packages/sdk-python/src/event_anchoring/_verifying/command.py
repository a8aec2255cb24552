"""The command line: that of `anchorctl verify`."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from typing import List, NoReturn, Optional, Sequence, Tuple

from .._version import __version__
from ..errors import CanaryFailed
from . import bundles, receipts
from .files import hash_file, looks_like_bundle
from .output import INTERNAL, INVALID, OK, USAGE, Fault, Finding, fail
from .trust import GivenPin, judge_trust_roots, load

_PROGRAM = "python -m event_anchoring"
_VERSION = f"event-anchoring {__version__}"
_HEX_32 = re.compile(r"[0-9A-Fa-f]{64}")

_MORE = """\
exit codes:
   0  valid (warnings included)
   1  not valid: file, receipt and trust root do not match, or one is damaged
   2  wrong usage, or a file cannot be read
   5  a bundle is not wrong, but a part of it rests on the word of the service
   6  nothing is wrong, but no pinned RootTHK says whose trust root it was judged by
  70  a fault of this program

environment:
  ANCHORCTL_TRUST_ROOTS  files of signed trust roots, oldest first, separated by commas
  ANCHORCTL_ROOT_THK     pinned hash of the first trust root

The RootTHK is the hash of the cluster's first trust root. Get it from people you trust, by another way than the files.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        fail(USAGE, "usage", f"{message}; see {self.prog} --help")


def _parser() -> _Parser:
    parser = _Parser(prog=_PROGRAM, description="Offline verifier of receipts and bundles.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=_VERSION)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    verify = commands.add_parser(
        "verify",
        allow_abbrev=False,
        help="check a file against its receipt, a bundle, or trust roots",
        description="Checks a file against its receipt, a bundle, or trust roots, offline, by a pinned RootTHK.",
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = verify.add_argument
    add("file", nargs="?", help="what was anchored, or a bundle")
    add("--proof", metavar="FILE", help="the receipt (default: FILE.tlog-proof)")
    add("--bundle", metavar="FILE", help="a bundle instead; with a file, its subject must be the event of that file")
    add("--anchor-id", metavar="ID", help="the anchor that the bundle must be about")
    add("--scope", metavar="FILE", action="append", default=[], help="a disclosure of a grant's scope; repeatable")
    add("--trust-root", metavar="FILE", action="append", default=[], help="signed trust root; repeat, oldest first")
    add("--root-thk", metavar="HEX", help="pinned hash of the first trust root (default: root-thk.txt beside it)")
    add("--require-current", action="store_true", help="fail if only an older trust root is satisfied")
    add("--witnessed", action="store_true", help="fail unless enough witnesses have signed")
    add("--json", action="store_true", help="print one JSON object")
    add("--version", action="version", version=_VERSION)
    return parser


def _trust_of(given: argparse.Namespace) -> Tuple[List[str], Optional[GivenPin]]:
    """A pin belongs to the documents that it was set with: that of the environment is not for those of the line."""
    pin = None if given.root_thk is None else GivenPin(given.root_thk, "flag")
    if given.trust_root:
        return given.trust_root, pin
    paths = [path for path in os.environ.get("ANCHORCTL_TRUST_ROOTS", "").split(",") if path]
    said = os.environ.get("ANCHORCTL_ROOT_THK", "")
    return paths, GivenPin(said, "environment") if pin is None and said else pin


def _judge_bundle(given: argparse.Namespace, path: str, event_file: Optional[str]) -> Finding:
    anchor_id = given.anchor_id
    if anchor_id is not None and _HEX_32.fullmatch(anchor_id) is None:
        fail(USAGE, "anchor_id_invalid", f"--anchor-id has 64 hex digits, not: {anchor_id}")
    bundle = bundles.read(path, given.scope)
    held = load(*_trust_of(given))
    return bundles.judge(
        path,
        bundle,
        held,
        anchor_id=None if anchor_id is None else bytes.fromhex(anchor_id),
        event_hash=None if event_file is None else hash_file(event_file),
        require_current=given.require_current,
        require_witnessed=given.witnessed,
    )


def _judge(given: argparse.Namespace) -> Finding:
    file, proof = given.file, given.proof
    if given.bundle is not None:
        return _judge_bundle(given, given.bundle, file)
    if file is not None and proof is None and looks_like_bundle(file):
        return _judge_bundle(given, file, None)
    if given.scope:
        fail(USAGE, "scope_bundles_only", "--scope is for bundles: a receipt shows no grant of an act")
    if file is None:
        if not given.trust_root:
            fail(USAGE, "no_file", "give a file, or --bundle FILE")
        return judge_trust_roots(load(*_trust_of(given)))
    event_hash = hash_file(file)
    receipt = receipts.read(f"{file}.tlog-proof" if proof is None else proof)
    held = load(*_trust_of(given))
    return receipts.judge(
        file,
        event_hash,
        receipt,
        held,
        require_current=given.require_current,
        require_witnessed=given.witnessed,
    )


def _print(text: str) -> None:
    """A terminal that lacks a sign is shown a question mark."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(f"{text}\n".encode(encoding, "replace").decode(encoding))


def _show_fault(fault: Fault, *, is_json: bool) -> int:
    if is_json:
        valid = {"valid": False} if fault.exit_code == INVALID else {}
        _print(json.dumps({**valid, "failure": fault.code, "detail": fault.message}, indent=2))
    else:
        prefix = "NOT VALID: " if fault.exit_code == INVALID else f"{_PROGRAM}: "
        sys.stderr.write(f"{prefix}{fault.message}\n")
    return fault.exit_code


def main(arguments: Sequence[str]) -> int:
    """Runs one command line, and returns its exit code."""
    is_json = "--json" in arguments
    try:
        found = _judge(_parser().parse_args(arguments))
    except Fault as fault:
        return _show_fault(fault, is_json=is_json)
    except CanaryFailed as error:
        return _show_fault(Fault(INTERNAL, error.code, error.message), is_json=is_json)
    except SystemExit as end:
        # Help and version were printed.
        return OK if end.code in (0, None) else USAGE
    _print(json.dumps(found.json, indent=2) if is_json else "\n".join(found.lines))
    return found.exit_code
