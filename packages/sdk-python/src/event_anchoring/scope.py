"""Scope documents: what a grant allows, as statements that can be disclosed one by one.

docs/PROTOCOL.md, "Scope documents".
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Callable, Dict, Iterable, List, Mapping, Sequence, Tuple, Union

from ._bytes import hex_to_bytes, sha256, u32, utf8
from ._hex_repr import HexRepr
from ._inputs import Bytes32, bytes32
from ._scope_statement import SALT_BYTES, Statement, refuse, to_statement
from ._strict_json import read_strict_json
from ._tags import tag
from .errors import VerificationError

SCOPE_FORMAT = "event-anchoring/v4.2/scope"
BYTES_MAX = 1024 * 1024
STATEMENTS_MAX = 1_024

_MEMBERS = ("format", "scope_hash", "statements", "withheld")


@dataclass(frozen=True, repr=False)
class StatedScope(HexRepr):
    """A document as it was read: nothing is verified."""

    scope_hash: bytes
    statements: Tuple[Statement, ...]
    withheld: Tuple[bytes, ...]

    def verified(self) -> Scope:
        """The document, if its parts make the hash that it states.

        Raises:
            VerificationError: `scope_repeated` or `scope_hash_differs`.
        """
        scope = Scope(self.statements, self.withheld)
        if scope.scope_hash != self.scope_hash:
            made = f"it states {self.scope_hash.hex()}, and its statements make {scope.scope_hash.hex()}"
            refuse("scope_hash_differs", f"{made}: something was altered or left out")
        return scope


def _hex(value: object, where: str) -> bytes:
    if not isinstance(value, str):
        refuse("scope_malformed", f"{where} is no text")
    try:
        return hex_to_bytes(value, 32)
    except VerificationError as error:
        raise VerificationError("scope_malformed", f"{where}: {error.message}") from error


def _items(value: object, where: str) -> List[object]:
    if not isinstance(value, list):
        refuse("scope_malformed", f"{where} is no list")
    if len(value) > STATEMENTS_MAX:
        refuse("scope_too_large", f"{where} has more than {STATEMENTS_MAX} items")
    return value


def _read_statement(value: object, where: str) -> Statement:
    if not isinstance(value, list) or len(value) != 3:
        refuse("scope_malformed", f"{where} is not a salt, a name and a value")
    return to_statement(_hex(value[0], f"{where}[0]"), value[1], value[2])


def _check_ascending(keys: Sequence[Union[str, bytes]], where: str) -> None:
    if len(set(keys)) < len(keys):
        refuse("scope_repeated", f"{where}: something is there twice")
    if list(keys) != sorted(keys):
        refuse("scope_malformed", f"{where} are not ascending")


def scope_of_json(value: object) -> StatedScope:
    """A document inside of other JSON, which the strict reader has read.

    Raises:
        VerificationError: `scope_format_unknown`, `scope_malformed`, `scope_too_large` or `scope_repeated`.
    """
    if not isinstance(value, dict):
        refuse("scope_malformed", "it is no object")
    if value.get("format") != SCOPE_FORMAT:
        refuse("scope_format_unknown", f"its format is not {SCOPE_FORMAT}")
    if set(value) != set(_MEMBERS):
        refuse("scope_malformed", f"it has other members than {', '.join(_MEMBERS)}")
    stated = StatedScope(
        _hex(value["scope_hash"], "scope_hash"),
        tuple(
            _read_statement(each, f"statements[{at}]")
            for at, each in enumerate(_items(value["statements"], "statements"))
        ),
        tuple(_hex(each, f"withheld[{at}]") for at, each in enumerate(_items(value["withheld"], "withheld"))),
    )
    _check_count(len(stated.statements) + len(stated.withheld))
    _check_ascending([each.name for each in stated.statements], "statements")
    _check_ascending(stated.withheld, "withheld")
    _check_salts(stated.statements)
    return stated


def _check_count(count: int) -> None:
    if count > STATEMENTS_MAX:
        refuse("scope_too_large", f"{count} statements, at most {STATEMENTS_MAX}")
    if count == 0:
        refuse("scope_malformed", "there is no statement")


def _check_salts(statements: Sequence[Statement]) -> None:
    if len({each.salt for each in statements}) < len(statements):
        refuse("scope_repeated", "a salt is there twice")


class Scope:
    """What a grant allows: all statements, or those that are disclosed and the digests of the others.

    `Scope.make` and `Scope.parse` give one, whose parts make the hash that it states. Only `verify`, or a bundle, says
    that this is the scope of a grant. It holds salts, so it is not printed: who has one can guess at its statement.
    """

    __slots__ = ("_hash", "_statements", "_withheld")

    def __init__(self, statements: Sequence[Statement], withheld: Sequence[bytes]) -> None:
        self._statements = tuple(statements)
        self._withheld = tuple(sorted(withheld))
        self._hash = self._made()

    @classmethod
    def make(
        cls, statements: Mapping[str, object], *, next_salt: Callable[[], bytes] = lambda: secrets.token_bytes(32)
    ) -> Scope:
        """A new document, for whoever delegates. It is a secret: whoever has it can disclose all of it.

        Args:
            statements: values by names: texts, integers from 0 to 2^53 - 1, booleans, lists and mappings of these.
            next_salt: 32 new random bytes each time; for tests.

        Raises:
            VerificationError: `scope_malformed` or `scope_too_large`.
        """
        if not isinstance(statements, Mapping):
            refuse("scope_malformed", "the statements are no mapping")
        salted: List[Statement] = []
        for name, value in statements.items():
            salt = next_salt()
            if len(salt) != SALT_BYTES:
                raise ValueError("a salt has 32 bytes")
            salted.append(to_statement(salt, name, value))
        salted.sort(key=lambda statement: statement.name)
        scope = cls(salted, ())
        if len(utf8(scope.to_text())) > BYTES_MAX:
            refuse("scope_too_large", f"over {BYTES_MAX} bytes")
        return scope

    @classmethod
    def parse(cls, source: Union[str, bytes]) -> Scope:
        """Reads a document, which may be an attacker's.

        Raises:
            VerificationError: `scope_too_large`, `scope_json_invalid`, `scope_format_unknown`, `scope_malformed`,
                `scope_repeated` or `scope_hash_differs`.
        """
        if isinstance(source, bytes):
            if len(source) > BYTES_MAX:
                refuse("scope_too_large", f"over {BYTES_MAX} bytes")
            try:
                source = source.decode("utf-8")
            except UnicodeDecodeError as error:
                raise VerificationError("scope_json_invalid", "not UTF-8") from error
        if len(source) > BYTES_MAX or len(source.encode("utf-8", "surrogatepass")) > BYTES_MAX:
            refuse("scope_too_large", f"over {BYTES_MAX} bytes")
        return scope_of_json(read_strict_json(source, "scope_json_invalid")).verified()

    def _made(self) -> bytes:
        _check_count(len(self._statements) + len(self._withheld))
        _check_salts(self._statements)
        digests = sorted([*(statement.digest() for statement in self._statements), *self._withheld])
        if len(set(digests)) < len(digests):
            refuse("scope_repeated", "a digest is there twice: a statement is disclosed and withheld")
        return sha256(tag("scope") + u32(len(digests)) + b"".join(digests))

    @property
    def scope_hash(self) -> bytes:
        """What a grant has of it: 32 bytes."""
        return self._hash

    @property
    def statements(self) -> Dict[str, object]:
        """The statements that are disclosed: values by names."""
        return {statement.name: statement.value for statement in self._statements}

    @property
    def withheld(self) -> int:
        """How many statements are not disclosed."""
        return len(self._withheld)

    def disclose(self, names: Iterable[str]) -> Scope:
        """The same document with these statements alone; of the others only the digests are left.

        Raises:
            VerificationError: `scope_name_unknown`.
        """
        wanted = set(names)
        unknown = wanted - set(self.statements)
        if unknown:
            refuse("scope_name_unknown", f"there is no statement {min(unknown)!r} to disclose")
        hidden = [statement.digest() for statement in self._statements if statement.name not in wanted]
        return Scope([each for each in self._statements if each.name in wanted], [*self._withheld, *hidden])

    def verify(self, scope_hash: Bytes32) -> None:
        """That it is the scope of a grant with this `scope_hash`, which you know by a receipt or a bundle.

        Raises:
            VerificationError: `scope_not_granted`.
        """
        if bytes32("scope_hash", scope_hash) != self._hash:
            refuse("scope_not_granted", f"its scope_hash is {self._hash.hex()}, not the one that was asked about")

    def to_json(self) -> Mapping[str, object]:
        """The document, as a bundle holds it."""
        return {
            "format": SCOPE_FORMAT,
            "scope_hash": self._hash.hex(),
            "statements": [[each.salt.hex(), each.name, each.value] for each in self._statements],
            "withheld": [digest.hex() for digest in self._withheld],
        }

    def to_text(self) -> str:
        """The document as a file: one line of JSON. Without anything withheld, keep it where only its owner reads."""
        return json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":")) + "\n"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scope) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self._hash)

    def __repr__(self) -> str:
        return f"<Scope {self._hash.hex()}, {len(self._statements)} disclosed, {len(self._withheld)} withheld>"
