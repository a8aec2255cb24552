"""Where every value of the caller's is checked, before anything is signed or sent."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Mapping, Optional, Sequence, Union

from ._bytes import INTEGER_MAX, U32_MAX, ZERO_32
from .errors import InvalidInput
from .leaf import REVOCATION_REASONS, SemanticHashes

#: 32 bytes, or their 64 hex digits of either case. Nothing else passes.
Bytes32 = Union[bytes, str]
#: 64 bytes, or their 128 hex digits.
Bytes64 = Union[bytes, str]
#: A position: a sequence number, an RFC 3339 time with offset, or a datetime with time zone.
AsOf = Union[int, str, datetime]

_HEX = re.compile(r"[0-9a-fA-F]*")
_HEX_TYPE = re.compile(r"0x[0-9a-fA-F]{1,8}")
_CLIENT_EVENT_ID = re.compile(r"[\x20-\x7e]{1,128}")
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_CURSOR = re.compile(r"[A-Za-z0-9_-]{1,64}")
SEMANTIC_FIELDS = ("iris_ref", "scroll_ref", "grant_ref", "bond_ref", "yield_ref", "event_data_hash")


def fixed_bytes(field: str, value: object, length: int) -> bytes:
    """Bytes of this length, or their hex."""
    if isinstance(value, (bytes, bytearray)):
        if len(value) != length:
            raise InvalidInput(field, f"expected {length} bytes, got {len(value)}")
        return bytes(value)
    if not isinstance(value, str):
        raise InvalidInput(field, f"expected {length} bytes or {2 * length} hex digits, got {type(value).__name__}")
    # bytes.fromhex skips white space and takes other alphabets' digits in no version; the pattern says what hex is.
    if len(value) != 2 * length or _HEX.fullmatch(value) is None:
        raise InvalidInput(field, f"expected {2 * length} hex digits")
    return bytes.fromhex(value)


def bytes32(field: str, value: object) -> bytes:
    """32 bytes."""
    return fixed_bytes(field, value, 32)


def signature(field: str, value: object) -> bytes:
    """64 bytes."""
    return fixed_bytes(field, value, 64)


def reference(field: str, value: object) -> bytes:
    """A reference that may be empty: None, "" and zeros all mean that."""
    return ZERO_32 if value is None or (isinstance(value, str) and value == "") else bytes32(field, value)


def integer(field: str, value: object, maximum: int = INTEGER_MAX, minimum: int = 0) -> int:
    """An integer; a bool is not one."""
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise InvalidInput(field, f"expected an integer from {minimum} to {maximum}")
    return int(value)


def time_ms(field: str, value: object) -> int:
    """Unix milliseconds; None and 0 mean none."""
    return 0 if value is None else integer(field, value)


def u32(field: str, value: object) -> int:
    """An integer up to 2^32 - 1."""
    return integer(field, value, U32_MAX)


def attribute_type(value: object) -> int:
    """A u32, or a text of 0x and 1 to 8 hex digits."""
    if isinstance(value, str):
        if _HEX_TYPE.fullmatch(value) is None:
            raise InvalidInput("attribute_type", "expected an integer, or 0x and 1 to 8 hex digits")
        return int(value[2:], 16)
    return u32("attribute_type", value)


def client_event_id(value: object) -> str:
    """1 to 128 printable ASCII characters."""
    if not isinstance(value, str) or _CLIENT_EVENT_ID.fullmatch(value) is None:
        raise InvalidInput("client_event_id", "expected 1 to 128 printable ASCII characters")
    return value


def reason(value: object) -> int:
    """The number of a reason, given by its name; None: unspecified."""
    if value is None:
        return 0
    if not isinstance(value, str) or value not in REVOCATION_REASONS:
        raise InvalidInput("reason", f"expected one of {', '.join(REVOCATION_REASONS)}")
    return REVOCATION_REASONS.index(value)


def semantic_anchor(value: object) -> SemanticHashes:
    """A mapping of references, or SemanticHashes; None: all empty."""
    if value is None:
        return SemanticHashes()
    if isinstance(value, SemanticHashes):
        value = {name: getattr(value, name) for name in SEMANTIC_FIELDS}
    if not isinstance(value, Mapping):
        raise InvalidInput("semantic_anchor", f"expected a mapping, got {type(value).__name__}")
    for name in value:
        if name not in SEMANTIC_FIELDS:
            raise InvalidInput("semantic_anchor", f"unknown member {name!r}")
    return SemanticHashes(**{name: reference(f"semantic_anchor.{name}", value.get(name)) for name in SEMANTIC_FIELDS})


def as_of(value: object) -> Union[int, str]:
    """A sequence, or an RFC 3339 time with offset."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInput("as_of", "a datetime needs a time zone")
        return value.isoformat()
    if isinstance(value, str):
        if _TIME.fullmatch(value) is None:
            raise InvalidInput("as_of", "expected a sequence, or an RFC 3339 time with offset")
        return value
    return integer("as_of", value)


def cursor(value: object) -> str:
    """What `next_cursor` of a list was."""
    if not isinstance(value, str) or _CURSOR.fullmatch(value) is None:
        raise InvalidInput("cursor", "expected next_cursor of the page before")
    return value


def claim_list(field: str, value: object, maximum: int) -> Sequence[bytes]:
    """At least one anchor id, and at most the limit."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence) or not 1 <= len(value) <= maximum:
        raise InvalidInput(field, f"expected a list of 1 to {maximum} anchor ids")
    return [bytes32(f"{field}[{place}]", each) for place, each in enumerate(value)]


def optional_hex(field: str, value: object) -> Optional[str]:
    """32 bytes as hex; None stays None."""
    return None if value is None else bytes32(field, value).hex()


def path_id(field: str, value: object) -> str:
    """An id as hex, for a path."""
    return bytes32(field, value).hex()
