"""From parsed JSON to the frozen values of models.py. Whatever does not fit is UnexpectedAnswer, and nothing else."""

from __future__ import annotations

import dataclasses
import json
import re
import typing
from typing import Any, Callable, Dict, List, Mapping, Tuple, Type, TypeVar, Union

from . import models
from ._bytes import base64_to_bytes
from ._shown import check_anchor
from .errors import UnexpectedAnswer, VerificationError
from .proof import Receipt, receipt_from_json

T = TypeVar("T")
Decoder = Callable[[object, str], Any]

_ANCHORS: Dict[str, Type[models.AnchorBase]] = {
    "event": models.EventAnchor,
    "signed_event": models.SignedEventAnchor,
    "claim": models.ClaimAnchor,
    "grant": models.GrantAnchor,
    "revocation": models.RevocationAnchor,
    "genesis": models.GenesisAnchor,
    "trust_root": models.TrustRootAnchor,
}


def _wrong(where: str, what: str) -> UnexpectedAnswer:
    return UnexpectedAnswer(f"{where or 'the answer'} is no {what}")


def _decode_str(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise _wrong(where, "text")
    return value


def _decode_int(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(where, "integer")
    return value


def _decode_float(value: object, where: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise _wrong(where, "number")
    return float(value)


def _decode_bool(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(where, "boolean")
    return value


def _decode_verdict(value: object, where: str) -> Union[bool, str]:
    return value if isinstance(value, bool) else _decode_str(value, where)


def _decode_hash(value: object, where: str) -> bytes:
    try:
        return base64_to_bytes(_decode_str(value, where), 32)
    except VerificationError as error:
        raise _wrong(where, "base64 of 32 bytes") from error


def _hex_decoder(length: int) -> Decoder:
    pattern = re.compile(f"[0-9a-f]{{{2 * length}}}")

    def read(value: object, where: str) -> str:
        if not isinstance(value, str) or pattern.fullmatch(value) is None:
            raise _wrong(where, f"lower-case hex of {length} bytes")
        return value

    return read


def _decode_members(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _wrong(where, "object")
    return value


def _decode_receipt(value: object, where: str) -> Receipt:
    try:
        return receipt_from_json(value)
    except VerificationError as error:
        raise UnexpectedAnswer(f"{where} is no receipt: {error.message}") from error


def _decode_bundle(value: object, where: str) -> bytes:
    text = json.dumps(_decode_members(value, where), separators=(",", ":"), ensure_ascii=False)
    return f"{text}\n".encode()


def _decode_anchor(value: object, where: str) -> object:
    members = _decode_members(value, where)
    kind = _decode_str(members.get("kind"), f"{where}.kind")
    of_kind = _ANCHORS.get(kind)
    if of_kind is not None:
        anchor: models.AnchorBase = _dataclass_decoder(of_kind)(members, where)
        check_anchor(anchor, where)
        return anchor
    known = {each.name: members.get(each.name) for each in dataclasses.fields(models.AnchorBase)}
    return _dataclass_decoder(models.UnknownAnchor)({**known, "members": dict(members)}, where)


def _decode_own_anchor(of_kind: Type[models.AnchorBase]) -> Decoder:
    def read(value: object, where: str) -> object:
        anchor = _decode_anchor(value, where)
        if not isinstance(anchor, of_kind):
            raise _wrong(where, of_kind.__name__)
        return anchor

    return read


def _list_decoder(of_item: Decoder) -> Decoder:
    def read(value: object, where: str) -> Tuple[Any, ...]:
        if not isinstance(value, list):
            raise _wrong(where, "list")
        return tuple(of_item(each, f"{where}[{place}]") for place, each in enumerate(value))

    return read


def _optional_decoder(of_value: Decoder) -> Decoder:
    return lambda value, where: None if value is None else of_value(value, where)


_PLAIN: Dict[object, Decoder] = {
    str: _decode_str,
    int: _decode_int,
    float: _decode_float,
    bool: _decode_bool,
    bytes: _decode_hash,
    models.Hex32: _hex_decoder(32),
    models.Hex64: _hex_decoder(64),
    models.BundleBytes: _decode_bundle,
    Receipt: _decode_receipt,
    models.Anchor: _decode_anchor,
    models.AnyEventAnchor: _decode_own_anchor(models.EventAnchor),
    Union[bool, str]: _decode_verdict,
    Mapping[str, object]: _decode_members,
}


def _decoder_of(annotation: Any) -> Decoder:  # noqa: ANN401
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    arguments: Tuple[Any, ...] = typing.get_args(annotation)
    if typing.get_origin(annotation) is tuple:
        return _list_decoder(_decoder_of(arguments[0]))
    if typing.get_origin(annotation) is Union:
        rest = tuple(each for each in arguments if each is not type(None))
        return _optional_decoder(_decoder_of(rest[0] if len(rest) == 1 else Union[rest]))
    if isinstance(annotation, type) and issubclass(annotation, models.AnchorBase):
        return _decode_own_anchor(annotation)
    return _dataclass_decoder(annotation)


_DECODERS: Dict[Any, Decoder] = {}


def _dataclass_decoder(of_class: Any) -> Decoder:  # noqa: ANN401
    if of_class not in _DECODERS:
        _DECODERS[of_class] = _make_decoder(of_class)
    return _DECODERS[of_class]


def _make_decoder(of_class: Any) -> Decoder:  # noqa: ANN401
    hints = typing.get_type_hints(of_class, include_extras=True)
    parts: List[Tuple[str, str, bool, Decoder]] = []
    for each in dataclasses.fields(of_class):
        has_default = each.default is not dataclasses.MISSING or each.default_factory is not dataclasses.MISSING
        wire = str(each.metadata.get("wire", each.name))
        parts.append((each.name, wire, not has_default, _decoder_of(hints[each.name])))

    def read(value: object, where: str) -> object:
        members = _decode_members(value, where)
        fields: Dict[str, object] = {}
        for name, wire, is_required, of_member in parts:
            path = f"{where}.{wire}" if where else wire
            if wire in members:
                fields[name] = of_member(members[wire], path)
            elif is_required:
                raise UnexpectedAnswer(f"the answer has no {path}")
        return of_class(**fields)

    return read


def decode(of_class: Type[T], value: object) -> T:
    """Reads an answer.

    Raises:
        UnexpectedAnswer: a member is missing or of another form.
    """
    found: T = _dataclass_decoder(of_class)(value, "")
    return found


def decode_created(of_kind: Type[models.AnchorT], value: object) -> models.Created[models.AnchorT]:
    """Reads the answer to a create, whose anchor is of this kind."""
    members = _decode_members(value, "")
    for name in ("anchor", "receipt", "replayed"):
        if name not in members:
            raise UnexpectedAnswer(f"the answer has no {name}")
    anchor: models.AnchorT = _decode_own_anchor(of_kind)(members["anchor"], "anchor")
    receipt = _optional_decoder(_decode_receipt)(members["receipt"], "receipt")
    return models.Created(anchor, receipt, _decode_bool(members["replayed"], "replayed"))
