"""JSON that is read the same way in every language: what readers disagree about is refused."""

from __future__ import annotations

import json
import re
from typing import Dict, List, NoReturn, Sequence, Tuple

from ._bytes import parse_decimal
from .errors import VerificationError

DEPTH_MAX = 32

_SURROGATE = re.compile("[\ud800-\udfff]")


class _Refused(Exception):
    """Raised inside of json.loads, whose own errors are another class."""


def has_lone_surrogate(text: str) -> bool:
    """Whether a text is not whole Unicode."""
    return _SURROGATE.search(text) is not None


def _pairs(pairs: Sequence[Tuple[str, object]]) -> Dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused("a name is repeated")
    return found


def _integer_of(digits: str) -> int:
    value = parse_decimal(digits)
    if value is None:
        raise _Refused("a number is digits from 0 to 2^53 - 1")
    return value


def _no_number(_: str) -> NoReturn:
    raise _Refused("a number is digits from 0 to 2^53 - 1")


def _check_texts_and_depth(parsed: object) -> None:
    """Whether every language reads the same: no halves of surrogate pairs, and an end to nesting."""
    waiting: List[Tuple[object, int]] = [(parsed, 1)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, str) and has_lone_surrogate(value):
            raise _Refused("a text holds half of a surrogate pair")
        if not isinstance(value, (dict, list)):
            continue
        if depth > DEPTH_MAX:
            raise _Refused(f"nested deeper than {DEPTH_MAX}")
        if isinstance(value, dict):
            waiting += [(each, depth + 1) for pair in value.items() for each in pair]
        else:
            waiting += [(each, depth + 1) for each in value]


def read_strict_json(text: str, code: str) -> object:
    """Repeated names, other numbers than digits up to 2^53 - 1, half surrogate pairs and deep nesting are refused.

    Raises:
        VerificationError: with this code.
    """
    try:
        parsed: object = json.loads(
            text, object_pairs_hook=_pairs, parse_int=_integer_of, parse_float=_no_number, parse_constant=_no_number
        )
        _check_texts_and_depth(parsed)
    except _Refused as refused:
        raise VerificationError(code, str(refused)) from None
    except (ValueError, RecursionError) as error:
        raise VerificationError(code, "it is no JSON") from error
    return parsed
