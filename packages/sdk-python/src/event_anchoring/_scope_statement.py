"""One statement of a scope document: a name and a value under a salt. docs/PROTOCOL.md, "Scope documents"."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import NoReturn

from ._bytes import INTEGER_MAX, sha256, utf8
from ._hex_repr import HexRepr
from ._strict_json import has_lone_surrogate
from ._tags import tag
from .errors import VerificationError

STATEMENT_BYTES_MAX = 16_384
NESTING_MAX = 16
SALT_BYTES = 32

_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,63}")


def refuse(code: str, message: str) -> NoReturn:
    """Raises VerificationError."""
    raise VerificationError(code, message)


def _check_text(text: str, where: str) -> None:
    if has_lone_surrogate(text):
        refuse("scope_malformed", f"{where} holds half of a surrogate pair")


def _check_value(value: object, where: str, depth: int = 0) -> None:
    """A text, an integer from 0 to 2^53 - 1, a boolean, or lists and mappings of these."""
    if isinstance(value, bool):
        return
    if isinstance(value, str):
        _check_text(value, where)
        return
    if isinstance(value, int):
        if not 0 <= value <= INTEGER_MAX:
            refuse("scope_malformed", f"{where} is no integer from 0 to 2^53 - 1")
        return
    if not isinstance(value, (list, tuple, dict)):
        refuse("scope_malformed", f"{where} is no text, integer, boolean, list or mapping")
    if depth == NESTING_MAX:
        refuse("scope_too_large", f"{where} is nested deeper than {NESTING_MAX}")
    if isinstance(value, dict):
        for name in value:
            if not isinstance(name, str):
                refuse("scope_malformed", f"{where} has a name that is no text")
            _check_text(name, where)
    for member in value.values() if isinstance(value, dict) else value:
        _check_value(member, where, depth + 1)


def canonical_json(value: object) -> str:
    """RFC 8785 of a value without fractions: no spaces, names ascending by their UTF-16 code units."""
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda item: item[0].encode("utf-16-be"))
        return "{" + ",".join(f"{canonical_json(name)}:{canonical_json(member)}" for name, member in members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(canonical_json(each) for each in value) + "]"
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, repr=False)
class Statement(HexRepr):
    """The salt is a secret until the statement is disclosed."""

    salt: bytes = field(repr=False)
    name: str
    value: object

    def content(self) -> bytes:
        """What the digest is over, behind the salt."""
        return utf8(canonical_json([self.name, self.value]))

    def digest(self) -> bytes:
        """What is left of it where it is withheld."""
        return sha256(tag("scope-statement") + self.salt + self.content())


def to_statement(salt: bytes, name: object, value: object) -> Statement:
    """A statement of parts that may be an attacker's.

    Raises:
        VerificationError: `scope_malformed` or `scope_too_large`.
    """
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        refuse("scope_malformed", "a name is a lower-case letter and up to 63 lower-case letters, digits, _ . -")
    _check_value(value, name)
    statement = Statement(salt, name, value)
    length = len(statement.content())
    if length > STATEMENT_BYTES_MAX:
        refuse("scope_too_large", f"{name} has {length} bytes, at most {STATEMENT_BYTES_MAX}")
    return statement
