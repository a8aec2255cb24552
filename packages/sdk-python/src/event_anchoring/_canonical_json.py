"""The canonical JSON (RFC 8785) of a value that a program gives: one text for one value, in every language."""

from __future__ import annotations

import json
import math
from typing import Dict, List, NoReturn, cast

import rfc8785

from ._bytes import INTEGER_MAX
from .errors import VerificationError

#: From here on RFC 8785 writes an exponent, so that nobody takes the number for an integer.
_EXPONENT_FROM = 1e21

_write_plain = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True, check_circular=False, allow_nan=False
).encode


def _refuse(code: str, message: str) -> NoReturn:
    raise VerificationError(code, message)


def is_unsafe_number(value: float) -> bool:
    """Whether another language could read its text as an integer, which a double may have rounded."""
    return INTEGER_MAX < abs(value) < _EXPONENT_FROM


def _check(value: object, depth_left: int) -> bool:
    """Refuses what is no JSON, and tells whether the standard library writes this canonically.

    It does so but for fractions, and for names that it sorts by code points instead of UTF-16 code units.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        if not -INTEGER_MAX <= cast("int", value) <= INTEGER_MAX:
            _refuse("envelope_number_unsafe", "an integer is beyond 2^53 - 1: write it as a text")
        return True
    if kind is float:
        if not math.isfinite(cast("float", value)):
            _refuse("envelope_malformed", "a number is not finite")
        if is_unsafe_number(cast("float", value)):
            _refuse("envelope_number_unsafe", "a number is from 2^53 to 10^21: write it as a text")
        return False
    is_dict = kind is dict
    if not (is_dict or kind is list or kind is tuple):
        _refuse("envelope_malformed", f"a {kind.__name__} is no text, number, boolean, None, list or dict of these")
    if depth_left == 0:
        _refuse("envelope_too_large", "it is nested too deep")
    is_plain = True
    if is_dict:
        for name in cast("Dict[object, object]", value):
            if type(name) is not str:
                _refuse("envelope_malformed", f"a name is a {type(name).__name__}, and no text")
            is_plain = name.isascii() and is_plain
    inner = cast("Dict[str, object]", value).values() if is_dict else cast("List[object]", value)
    for each in inner:
        is_plain = _check(each, depth_left - 1) and is_plain
    return is_plain


def canonical_json(value: object, depth_max: int) -> bytes:
    """The canonical JSON of texts, numbers, booleans, None, and lists and dicts of these.

    Raises:
        VerificationError: `envelope_malformed`, `envelope_number_unsafe` or `envelope_too_large`.
    """
    is_plain = _check(value, depth_max)
    try:
        # The standard library's writer is in C, several times as fast, and writes the same bytes.
        return _write_plain(value).encode("utf-8") if is_plain else rfc8785.dumps(cast("str", value))
    except (UnicodeEncodeError, rfc8785.CanonicalizationError) as error:
        raise VerificationError("envelope_malformed", "a text holds half of a surrogate pair") from error
