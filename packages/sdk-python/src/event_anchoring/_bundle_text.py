"""The text of a bundle: strict, bounded, and nothing in it verified. docs/PROTOCOL.md, "Bundle"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, NoReturn, Optional, Sequence, Tuple, TypeVar, Union

from ._bytes import base64_to_bytes, hex_to_bytes
from ._hex_repr import HexRepr
from ._records import Position
from ._strict_json import read_strict_json
from .errors import VerificationError
from .scope import StatedScope, scope_of_json

BUNDLE_FORMAT = "event-anchoring/v4.2/bundle"
BYTES_MAX = 64 * 1024 * 1024
LEAVES_MAX = 100_000
TRUST_ROOTS_MAX = 1_000
CHECKPOINTS_MAX = 1_024
HASHES_MAX = 53
LEVEL_MAX = 256
SCOPES_MAX = 1_024

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class BundleLeaf(HexRepr):
    """One leaf with its own proof. `checkpoint` is a place among the checkpoints; None: the state head has its tree."""

    leaf: bytes
    checkpoint: Optional[int]
    inclusion: Tuple[bytes, ...]


@dataclass(frozen=True, repr=False)
class BundleRange(HexRepr):
    """The last leaves of a tree, from depth `start` on, and the frontier before them."""

    checkpoint: int
    start: int
    frontier: Tuple[bytes, ...]
    leaves: Tuple[bytes, ...]


@dataclass(frozen=True, repr=False)
class StatedRecord(HexRepr):
    """A claim or a grant with its value in the state tree, and how many halves lie between the root and it."""

    leaf: bytes
    value: bytes
    level: int


@dataclass(frozen=True, repr=False)
class BundleState(HexRepr):
    """A state head, records that are in its tree, and the other halves of their paths."""

    head: str
    records: Tuple[StatedRecord, ...]
    siblings: Tuple[bytes, ...]


@dataclass(frozen=True, repr=False)
class Bundle(HexRepr):
    """A parsed bundle: everything that a trace needs. `stated` is the service's own answer, unsigned.

    `scopes` are disclosures of what grants allow, not verified yet.
    """

    subject: bytes
    as_of: Position
    trust_roots: Tuple[str, ...]
    checkpoints: Tuple[str, ...]
    leaves: Tuple[BundleLeaf, ...]
    ranges: Tuple[BundleRange, ...]
    stated: Optional[Mapping[str, object]]
    state: Optional[BundleState] = None
    scopes: Tuple[StatedScope, ...] = ()

    @classmethod
    def parse(cls, text: Union[str, bytes]) -> Bundle:
        """Reads the text of a bundle, which may be an attacker's.

        Raises:
            VerificationError: `bundle_too_large`, `bundle_json_invalid`, `bundle_format_unknown` or `bundle_malformed`.
        """
        return read_bundle(text)


def _refuse(code: str, message: str) -> NoReturn:
    raise VerificationError(code, message)


def _members(value: object, names: Sequence[str], where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        _refuse("bundle_malformed", f"{where} is no object")
    if set(value) != set(names):
        _refuse("bundle_malformed", f"{where} has other members than {', '.join(names)}")
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        _refuse("bundle_malformed", f"{where} is no text")
    return value


def _integer(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        _refuse("bundle_malformed", f"{where} is no integer")
    return value


def _list(value: object, where: str, maximum: int, read: Callable[[object, str], T]) -> Tuple[T, ...]:
    if not isinstance(value, list):
        _refuse("bundle_malformed", f"{where} is no list")
    if len(value) > maximum:
        _refuse("bundle_too_large", f"{where} has more than {maximum} items")
    return tuple(read(each, f"{where}[{place}]") for place, each in enumerate(value))


def _base64(value: object, where: str, length: Optional[int] = None) -> bytes:
    try:
        return base64_to_bytes(_text(value, where), length)
    except VerificationError as error:
        raise VerificationError("bundle_malformed", f"{where}: {error.message}") from error


def _hash(value: object, where: str) -> bytes:
    return _base64(value, where, 32)


def _leaf(value: object, where: str) -> BundleLeaf:
    members = _members(value, ("leaf", "checkpoint", "inclusion"), where)
    return BundleLeaf(
        _base64(members["leaf"], f"{where}.leaf"),
        None if members["checkpoint"] is None else _integer(members["checkpoint"], f"{where}.checkpoint"),
        _list(members["inclusion"], f"{where}.inclusion", HASHES_MAX, _hash),
    )


def _range(value: object, where: str) -> BundleRange:
    members = _members(value, ("checkpoint", "from", "frontier", "leaves"), where)
    return BundleRange(
        _integer(members["checkpoint"], f"{where}.checkpoint"),
        _integer(members["from"], f"{where}.from"),
        _list(members["frontier"], f"{where}.frontier", HASHES_MAX, _hash),
        _list(members["leaves"], f"{where}.leaves", LEAVES_MAX, _base64),
    )


def _record(value: object, where: str) -> StatedRecord:
    members = _members(value, ("leaf", "value", "level"), where)
    level = _integer(members["level"], f"{where}.level")
    if level > LEVEL_MAX:
        _refuse("bundle_malformed", f"{where}.level is above {LEVEL_MAX}")
    return StatedRecord(_base64(members["leaf"], f"{where}.leaf"), _base64(members["value"], f"{where}.value"), level)


def _state(value: object) -> Optional[BundleState]:
    if value is None:
        return None
    members = _members(value, ("head", "records", "siblings"), "state")
    siblings = _base64(members["siblings"], "state.siblings")
    if len(siblings) % 32 != 0:
        _refuse("bundle_malformed", f"state.siblings has {len(siblings)} bytes, which are no hashes")
    return BundleState(
        _text(members["head"], "state.head"),
        _list(members["records"], "state.records", LEAVES_MAX, _record),
        tuple(siblings[at : at + 32] for at in range(0, len(siblings), 32)),
    )


def _scope(value: object, where: str) -> StatedScope:
    """A disclosure, whose faults are those of the bundle that holds it."""
    try:
        return scope_of_json(value)
    except VerificationError as error:
        code = "bundle_too_large" if error.code == "scope_too_large" else "bundle_malformed"
        raise VerificationError(code, f"{where}: {error.message}") from error


def _subject(value: object) -> bytes:
    try:
        return hex_to_bytes(_text(value, "subject"), 32)
    except VerificationError as error:
        raise VerificationError("bundle_malformed", f"subject: {error.message}") from error


def _stated(value: object) -> Optional[Mapping[str, object]]:
    if value is not None and not isinstance(value, dict):
        _refuse("bundle_malformed", "stated is neither an object nor null")
    return value


def _is_too_large(text: str) -> bool:
    # No character has more than four bytes, so that most texts need not be encoded to be measured.
    return len(text) > BYTES_MAX or (
        len(text) * 4 > BYTES_MAX and len(text.encode("utf-8", "surrogatepass")) > BYTES_MAX
    )


def _check_parts(bundle: Bundle) -> None:
    records = 0 if bundle.state is None else len(bundle.state.records)
    count = len(bundle.leaves) + records + sum(len(each.leaves) for each in bundle.ranges)
    if count > LEAVES_MAX:
        _refuse("bundle_too_large", f"{count} leaves, at most {LEAVES_MAX}")
    if bundle.state is not None and (bundle.checkpoints or bundle.ranges):
        _refuse("bundle_malformed", "a state head takes the place of checkpoints and ranges, and they are here")
    places = [*(leaf.checkpoint for leaf in bundle.leaves), *(each.checkpoint for each in bundle.ranges)]
    if any(bundle.state is None if place is None else place >= len(bundle.checkpoints) for place in places):
        _refuse("bundle_malformed", "a part names no checkpoint")


def read_bundle_json(text: Union[str, bytes]) -> Dict[str, Any]:
    """The members of a bundle, whose form is not looked at.

    Raises:
        VerificationError: `bundle_too_large`, `bundle_json_invalid`, `bundle_format_unknown` or `bundle_malformed`.
    """
    if isinstance(text, bytes):
        if len(text) > BYTES_MAX:
            _refuse("bundle_too_large", f"over {BYTES_MAX} bytes")
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise VerificationError("bundle_json_invalid", "not UTF-8") from error
    if _is_too_large(text):
        _refuse("bundle_too_large", f"over {BYTES_MAX} bytes")
    parsed = read_strict_json(text, "bundle_json_invalid")
    if not isinstance(parsed, dict):
        _refuse("bundle_malformed", "the bundle is no object")
    if parsed.get("format") != BUNDLE_FORMAT:
        _refuse("bundle_format_unknown", f"its format is not {BUNDLE_FORMAT}")
    return parsed


def read_bundle(text: Union[str, bytes]) -> Bundle:
    """What Bundle.parse does."""
    parsed = read_bundle_json(text)
    names = (
        "format",
        "subject",
        "as_of",
        "trust_roots",
        "checkpoints",
        "leaves",
        "ranges",
        "state",
        "scopes",
        "stated",
    )
    # A state head and disclosures are the only members that may be missing.
    members = _members({"state": None, "scopes": None, **parsed}, names, "the bundle")
    as_of = _members(members["as_of"], ("sequence", "time_ms"), "as_of")
    bundle = Bundle(
        subject=_subject(members["subject"]),
        as_of=Position(_integer(as_of["sequence"], "as_of.sequence"), _integer(as_of["time_ms"], "as_of.time_ms")),
        trust_roots=_list(members["trust_roots"], "trust_roots", TRUST_ROOTS_MAX, _text),
        checkpoints=_list(members["checkpoints"], "checkpoints", CHECKPOINTS_MAX, _text),
        leaves=_list(members["leaves"], "leaves", LEAVES_MAX, _leaf),
        ranges=_list(members["ranges"], "ranges", CHECKPOINTS_MAX, _range),
        stated=_stated(members["stated"]),
        state=_state(members["state"]),
        scopes=() if members["scopes"] is None else _list(members["scopes"], "scopes", SCOPES_MAX, _scope),
    )
    _check_parts(bundle)
    return bundle
