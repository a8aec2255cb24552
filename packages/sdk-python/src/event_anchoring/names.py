"""Names for hashes, attribute types and scope statements.

They are shown, prove nothing, and change no verdict. docs/names.md
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from types import MappingProxyType
from typing import Dict, Mapping, TypeVar, Union

from .errors import InvalidInput, VerificationError

BYTES_MAX = 1024 * 1024
NAMES_MAX = 10_000
CHARACTERS_MAX = 80

ATTRIBUTE_TYPES: Mapping[str, int] = MappingProxyType(
    {
        "role": 0x01,
        "software": 0x02,
        "model": 0x03,
        "device": 0x04,
        "organisation": 0x10,
        "person": 0x11,
        "membership": 0x12,
        "custody": 0x20,
    }
)
"""The registered values of `attribute_type`, by name. Every SDK has the same list."""

_FIRST_LINE = re.compile(r"# names\r?(?:\n|\Z)")
_HASH_LINE = re.compile(r"([0-9a-fA-F]{64})[ \t]+(.+)", re.DOTALL)
_TYPE_LINE = re.compile(r"attribute[ \t]+(0x[0-9a-fA-F]{1,8}|[0-9]{1,10})[ \t]+(.+)", re.DOTALL)
_STATEMENT_LINE = re.compile(r"scope[ \t]+([a-z][a-z0-9_.-]{0,63})[ \t]+(.+)", re.DOTALL)
_TYPE_MAX = 2**32 - 1
_UNSEEN = frozenset(("Cc", "Cf", "Co", "Cs", "Zl", "Zp"))
_OWN_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9][a-z0-9_-]*){2,}")
_OWN_NAME_LENGTH_MAX = 128
_OWN_BIT = 0x8000_0000

_Key = TypeVar("_Key", str, int)


@dataclass(frozen=True)
class NameFile:
    """What a file of names says."""

    hashes: Mapping[str, str]
    """By 64 lower-case hex digits: of an anchor id, an entity, a public key, a scope hash, an origin."""
    attribute_types: Mapping[int, str]
    """By `attribute_type`."""
    statements: Mapping[str, str]
    """What a statement of a scope document means, by its name."""


def _put(names: Dict[_Key, str], key: _Key, name: str, where: str) -> None:
    if len(name) > CHARACTERS_MAX:
        raise VerificationError("names_malformed", f"{where}: the name has over {CHARACTERS_MAX} characters")
    if any(unicodedata.category(character) in _UNSEEN for character in name):
        raise VerificationError("names_malformed", f"{where}: the name has characters that are not seen")
    if key in names:
        raise VerificationError("names_repeated", f"{where}: it has a name already")
    names[key] = name


def parse_names(source: Union[str, bytes]) -> NameFile:
    """Reads a file of names; it may be attacker-controlled. Names prove nothing: show the hash with them.

    Args:
        source: the file, at most 1 MiB of UTF-8.

    Raises:
        VerificationError: `names_too_large`, `names_malformed`, `names_repeated`.
    """
    try:
        text = source if isinstance(source, str) else source.decode("utf-8")
        size = len(text.encode("utf-8"))
    except UnicodeError as error:
        raise VerificationError("names_malformed", "the file is not UTF-8") from error
    if size > BYTES_MAX:
        raise VerificationError("names_too_large", "the file is over 1 MiB")
    if _FIRST_LINE.match(text) is None:
        raise VerificationError("names_malformed", 'the first line is not "# names"')
    hashes: Dict[str, str] = {}
    types: Dict[int, str] = {}
    statements: Dict[str, str] = {}
    for at, whole in enumerate(text.split("\n"), start=1):
        line = (whole[:-1] if whole.endswith("\r") else whole).strip(" \t")
        where = f"line {at}"
        if line == "" or line.startswith("#"):
            continue
        of_hash, of_type = _HASH_LINE.fullmatch(line), _TYPE_LINE.fullmatch(line)
        of_statement = _STATEMENT_LINE.fullmatch(line)
        if of_hash is not None:
            _put(hashes, of_hash[1].lower(), of_hash[2], where)
        elif of_type is not None and _number(of_type[1]) <= _TYPE_MAX:
            _put(types, _number(of_type[1]), of_type[2], where)
        elif of_statement is not None:
            _put(statements, of_statement[1], of_statement[2], where)
        else:
            what = "it is no hash, attribute type or scope statement with a name"
            raise VerificationError("names_malformed", f"{where}: {what}")
        if len(hashes) + len(types) + len(statements) > NAMES_MAX:
            raise VerificationError("names_too_large", f"{where}: there are over {NAMES_MAX:,} names")
    return NameFile(MappingProxyType(hashes), MappingProxyType(types), MappingProxyType(statements))


def _number(text: str) -> int:
    return int(text[2:], 16) if text.startswith("0x") else int(text)


def attribute_type_of(name: str) -> int:
    """The `attribute_type` of a registered name, or of one of your own.

    Args:
        name: `role`, or a domain of yours, reversed, and a word: `com.example.cost_centre`.

    Returns:
        A u32; of a name of your own the first four bytes of its SHA-256 with the highest bit set.

    Raises:
        InvalidInput: for any other name.
    """
    registered = ATTRIBUTE_TYPES.get(name)
    if registered is not None:
        return registered
    if len(name) > _OWN_NAME_LENGTH_MAX or _OWN_NAME.fullmatch(name) is None:
        raise InvalidInput("attribute_type", "expected a registered name, or one such as com.example.cost_centre")
    return int.from_bytes(hashlib.sha256(name.encode("ascii")).digest()[:4], "big") | _OWN_BIT
