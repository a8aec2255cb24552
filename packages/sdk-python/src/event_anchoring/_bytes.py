"""The only door from text to bytes. Strict: what is refused here, nothing later sees."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Optional

from .errors import VerificationError

ZERO_32 = bytes(32)
INTEGER_MAX = 2**53 - 1
U32_MAX = 2**32 - 1

_HEX = re.compile(r"[0-9a-fA-F]*")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,15}")


def sha256(message: bytes) -> bytes:
    """SHA-256."""
    return hashlib.sha256(message).digest()


def hex_to_bytes(text: str, length: Optional[int] = None) -> bytes:
    """Two digits a byte, of either case; no `0x`, no spaces, no odd length. Codes `hex_invalid`, `length_invalid`."""
    if length is not None and len(text) != 2 * length:
        raise VerificationError("length_invalid", f"expected {2 * length} hex digits, got {len(text)} characters")
    # bytes.fromhex skips white space, so it is not asked what hex is.
    if len(text) % 2 != 0 or _HEX.fullmatch(text) is None:
        raise VerificationError("hex_invalid", "not hex digits, two a byte")
    return bytes.fromhex(text)


def base64_to_bytes(text: str, length: Optional[int] = None) -> bytes:
    """Standard padded base64 that re-encodes to itself. Codes `base64_invalid`, `length_invalid`."""
    if len(text) % 4 != 0 or _BASE64.fullmatch(text) is None:
        raise VerificationError("base64_invalid", "not padded base64")
    decoded = base64.b64decode(text)
    if bytes_to_base64(decoded) != text:
        raise VerificationError("base64_invalid", "the base64 does not re-encode to itself")
    if length is not None and len(decoded) != length:
        raise VerificationError("length_invalid", f"expected {length} bytes in base64, got {len(decoded)}")
    return decoded


def bytes_to_base64(value: bytes) -> str:
    """Standard base64 with padding."""
    return base64.b64encode(value).decode("ascii")


def parse_decimal(text: str) -> Optional[int]:
    """An integer from 0 to 2^53 - 1 in its one spelling, else None."""
    if _DECIMAL.fullmatch(text) is None:
        return None
    value = int(text)
    return value if value <= INTEGER_MAX else None


def utf8(text: str) -> bytes:
    """UTF-8. Code `text_invalid` for a lone surrogate, which has none."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise VerificationError("text_invalid", "a lone surrogate") from error


def u32(value: int) -> bytes:
    """Four bytes, big-endian."""
    return value.to_bytes(4, "big")


def u64(value: int) -> bytes:
    """Eight bytes, big-endian."""
    return value.to_bytes(8, "big")


def read_u64(value: bytes) -> int:
    """Eight bytes, big-endian. Code `integer_unsafe` above 2^53 - 1."""
    integer = int.from_bytes(value, "big")
    if integer > INTEGER_MAX:
        raise VerificationError("integer_unsafe", "an integer above 2^53 - 1")
    return integer
