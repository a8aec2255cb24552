"""Envelopes: what happened, when, by whom, with its content or the hash of it, as the bytes that are anchored.

docs/PROTOCOL.md, "Envelopes".
"""

from __future__ import annotations

import json
import math
import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple, Union

from ._bytes import INTEGER_MAX, sha256
from ._canonical_json import canonical_json, is_unsafe_number
from ._inputs import Bytes32, bytes32
from .errors import VerificationError

ENVELOPE_FORMAT = "event-anchoring/v4.2/envelope"
BYTES_MAX = 1024 * 1024
#: Nesting of lists and objects, the envelope itself among them.
NESTING_MAX = 64
ATTACHMENTS_MAX = 64
#: Characters (code points) of `what`, `who`, a name or a media type.
TEXT_CHARS_MAX = 256
SALT_BYTES = 32
JSON_TYPE = "application/json"
BYTES_TYPE = "application/octet-stream"

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
#: RFC 9110 section 8.3.1: two tokens, and parameters, which are not looked into.
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105
_MEDIA_TYPE = re.compile(rf"({_TOKEN}/{_TOKEN})(?: *;[\x20-\x7e]*)?")
_HEX_32 = re.compile(r"[0-9a-f]{64}")
#: None may reach a terminal.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKETS = re.compile(r"[][{}]")
_REQUIRED = {"format", "what", "when", "content_type"}
_OPTIONAL = {"who", "attachments", "salt"}
_WITHIN, _APART = {"content"}, {"content_hash", "content_size"}
_OF_ATTACHMENT = {"name", "content_type", "size", "hash"}


def _malformed(message: str) -> NoReturn:
    raise VerificationError("envelope_malformed", message)


def _check_text(name: str, value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= TEXT_CHARS_MAX:
        _malformed(f"{name} is no text of 1 to {TEXT_CHARS_MAX} characters")
    if _CONTROL.search(value) is not None:
        _malformed(f"{name} holds a control character")
    return value


def _check_media_type(name: str, value: object) -> str:
    found = _MEDIA_TYPE.fullmatch(value) if isinstance(value, str) and len(value) <= TEXT_CHARS_MAX else None
    if found is None:
        _malformed(f"{name} is no media type")
    return found.group(0)


def _check_json_type(value: str) -> str:
    own = value.partition(";")[0].rstrip(" ")
    if own != JSON_TYPE and not own.endswith("+json"):
        _malformed("content_type is no JSON, and content is")
    return value


def _check_size(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= INTEGER_MAX:
        _malformed(f"{name} is no integer from 0 to 2^53 - 1")
    return value


def _check_time(value: object) -> str:
    if not isinstance(value, str) or _TIME.fullmatch(value) is None or value < "1970":
        _malformed("when is no time such as 2026-11-23T10:00:00.000Z, from 1970 on")
    try:
        datetime.fromisoformat(value[:-1])
    except ValueError:
        _malformed(f"when: the calendar has no {value}")
    return value


def time_text(when: Union[str, datetime, None]) -> str:
    """A time as envelopes hold it: UTC, milliseconds. None: now."""
    if when is None:
        when = datetime.now(timezone.utc)
    elif not isinstance(when, datetime):
        return _check_time(when)
    elif when.tzinfo is None:
        _malformed("when has no time zone")
    else:
        when = when.astimezone(timezone.utc)
    return when.isoformat(timespec="milliseconds")[:-6] + "Z"


@dataclass(frozen=True)
class ContentHash:
    """A content that lies elsewhere: its SHA-256 and its number of bytes."""

    hash: Bytes32
    size: int


@dataclass(frozen=True)
class Attachment:
    """A file that belongs to an event, by its hash."""

    name: str
    content_type: str
    size: int
    hash: bytes

    @classmethod
    def of_bytes(cls, name: str, content: bytes, content_type: str = BYTES_TYPE) -> Attachment:
        """The attachment that these bytes are."""
        return cls(name, content_type, len(content), sha256(content))

    def to_json(self) -> Dict[str, object]:
        """As an envelope holds it. Raises VerificationError `envelope_malformed`."""
        return {
            "name": _check_text("name of an attachment", self.name),
            "content_type": _check_media_type("content_type of an attachment", self.content_type),
            "size": _check_size("size of an attachment", self.size),
            "hash": bytes32("hash", self.hash).hex(),
        }


@dataclass(frozen=True)
class Envelope:
    """What happened, as it was recorded. Its `event_hash` is what a receipt proves; nothing proves the rest of it.

    `Envelope.make` and `Envelope.parse` give one.

    Attributes:
        what: type of the event, such as `tool.call`.
        when: by the recorder's clock: RFC 3339, UTC, milliseconds.
        who: the actor, a name or a fingerprint. It is no proof: that is the actor's signature, or the grant.
        content_type: media type of the content.
        content: a JSON value; None also if the content lies apart.
        content_hash: SHA-256 of a content that lies apart; None: `content` is there.
        content_size: bytes of it.
        attachments: files that belong to it.
        salt: 32 bytes that keep others from guessing the content behind the hash; None: there is none.
    """

    what: str
    when: str
    content_type: str
    canonical: bytes = field(repr=False)
    content: object = None
    who: Optional[str] = None
    content_hash: Optional[bytes] = None
    content_size: Optional[int] = None
    attachments: Tuple[Attachment, ...] = ()
    salt: Optional[bytes] = field(default=None, repr=False)

    @property
    def event_hash(self) -> bytes:
        """SHA-256 of the envelope's bytes: what is anchored."""
        return sha256(self.canonical)

    @classmethod
    def make(
        cls,
        content: object,
        *,
        what: str,
        when: Union[str, datetime, None] = None,
        who: Optional[str] = None,
        content_type: Optional[str] = None,
        attachments: Sequence[Attachment] = (),
        salt: Union[bool, Bytes32] = False,
    ) -> Envelope:
        """A new envelope.

        Args:
            content: texts, numbers, booleans, None, lists and dicts of these; or bytes, which lie apart: the envelope
                has their hash; or their ContentHash.
            what: type of the event, 1 to 256 characters, such as `tool.call`.
            when: a datetime with time zone, or a text as envelopes have it; None: now.
            who: the actor, 1 to 256 characters.
            content_type: of bytes; None: `application/octet-stream`.
            attachments: at most 64.
            salt: True draws 32 bytes; or 32 bytes of yours.

        Raises:
            VerificationError: `envelope_malformed`, `envelope_number_unsafe` or `envelope_too_large`.
        """
        members = make_members(
            content, what=what, when=when, who=who, content_type=content_type, attachments=attachments, salt=salt
        )
        return _of_members(members, encode_members(members))

    @classmethod
    def parse(cls, source: Union[str, bytes]) -> Envelope:
        """Reads an envelope, which may be an attacker's.

        Raises:
            VerificationError: `envelope_too_large`, `envelope_json_invalid`, `envelope_format_unknown`,
                `envelope_number_unsafe`, `envelope_not_canonical` or `envelope_malformed`.
        """
        given = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
        if len(given) > BYTES_MAX:
            _too_large()
        parsed, has_unsafe = _parse(given)
        if not isinstance(parsed, dict) or parsed.get("format") != ENVELOPE_FORMAT:
            raise VerificationError("envelope_format_unknown", f"it is no object whose format is {ENVELOPE_FORMAT}")
        if has_unsafe:
            raise VerificationError("envelope_number_unsafe", "a number is from 2^53 to 10^21")
        if canonical_json(parsed, NESTING_MAX) != given:
            raise VerificationError("envelope_not_canonical", "it is not in canonical JSON")
        return _of_members(parsed, given)


def _check_nesting(text: str) -> None:
    """Before the parser is asked: brackets outside of strings, whether they match or not."""
    depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > NESTING_MAX:
            raise VerificationError("envelope_too_large", f"nested deeper than {NESTING_MAX}")


def _parse(given: bytes) -> Tuple[object, bool]:
    """The value, numbers as doubles have them, and whether one of them is unsafe."""
    has_unsafe = False

    def read_float(digits: str) -> float:
        nonlocal has_unsafe
        value = float(digits)
        if math.isinf(value):
            raise VerificationError("envelope_json_invalid", "a number is beyond the doubles")
        has_unsafe = has_unsafe or is_unsafe_number(value)
        return value

    def read_int(digits: str) -> float:
        value = read_float(digits)
        return int(value) if abs(value) <= INTEGER_MAX else value

    def no_number(word: str) -> NoReturn:
        raise VerificationError("envelope_json_invalid", f"{word} is no JSON")

    try:
        text = given.decode("utf-8")
        _check_nesting(text)
        parsed: object = json.loads(text, parse_int=read_int, parse_float=read_float, parse_constant=no_number)
        # Escapes may make halves of surrogate pairs, which have no UTF-8.
        json.dumps(parsed, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise VerificationError("envelope_json_invalid", "it is not UTF-8") from error
    except UnicodeEncodeError as error:
        raise VerificationError("envelope_json_invalid", "a text holds half of a surrogate pair") from error
    except ValueError as error:
        raise VerificationError("envelope_json_invalid", "it is no JSON") from error
    return parsed, has_unsafe


def _too_large() -> NoReturn:
    raise VerificationError("envelope_too_large", f"over {BYTES_MAX} bytes: record large contents as bytes")


def make_members(
    content: object,
    *,
    what: str,
    when: Union[str, datetime, None],
    who: Optional[str],
    content_type: Optional[str],
    attachments: Sequence[Attachment],
    salt: Union[bool, Bytes32],
) -> Dict[str, object]:
    """The members of a new envelope. Raises VerificationError `envelope_malformed`."""
    members: Dict[str, object] = {
        "format": ENVELOPE_FORMAT,
        "what": _check_text("what", what),
        "when": time_text(when),
    }
    if isinstance(content, (bytes, bytearray, memoryview)):
        content = ContentHash(sha256(bytes(content)), len(content))
    if isinstance(content, ContentHash):
        members["content_type"] = _check_media_type("content_type", content_type or BYTES_TYPE)
        members["content_hash"] = bytes32("content_hash", content.hash).hex()
        members["content_size"] = _check_size("content_size", content.size)
    else:
        members["content_type"] = (
            JSON_TYPE if content_type is None else _check_json_type(_check_media_type("content_type", content_type))
        )
        members["content"] = content
    if who is not None:
        members["who"] = _check_text("who", who)
    if attachments:
        if len(attachments) > ATTACHMENTS_MAX:
            _malformed(f"more than {ATTACHMENTS_MAX} attachments")
        _check_attachment_names(attachments)
        members["attachments"] = [each.to_json() for each in attachments]
    if salt is not False:
        drawn = secrets.token_bytes(SALT_BYTES) if salt is True else bytes32("salt", salt)
        members["salt"] = drawn.hex()
    return members


def encode_members(members: Mapping[str, object]) -> bytes:
    """The bytes that are hashed. Raises VerificationError."""
    encoded = canonical_json(members, NESTING_MAX)
    if len(encoded) > BYTES_MAX:
        _too_large()
    return encoded


def _check_names(value: Mapping[str, object]) -> None:
    names = set(value)
    needed = _REQUIRED | (_WITHIN if "content" in names else _APART)
    if not needed <= names or not names <= needed | _OPTIONAL:
        odd = sorted((needed - names) | (names - needed - _OPTIONAL))
        _malformed(f"members are missing, unknown or exclude each other: {', '.join(odd)}")


def _hash_of(name: str, value: object) -> bytes:
    if not isinstance(value, str) or _HEX_32.fullmatch(value) is None:
        _malformed(f"{name} is not 64 lower-case hex digits")
    return bytes.fromhex(value)


def _read_attachment(value: object, where: str) -> Attachment:
    if not isinstance(value, dict) or set(value) != _OF_ATTACHMENT:
        _malformed(f"{where} has other members than {', '.join(sorted(_OF_ATTACHMENT))}")
    return Attachment(
        _check_text(f"{where}.name", value["name"]),
        _check_media_type(f"{where}.content_type", value["content_type"]),
        _check_size(f"{where}.size", value["size"]),
        _hash_of(f"{where}.hash", value["hash"]),
    )


def _read_attachments(value: object) -> Tuple[Attachment, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= ATTACHMENTS_MAX:
        _malformed(f"attachments is no list of 1 to {ATTACHMENTS_MAX}")
    found: List[Attachment] = [_read_attachment(each, f"attachments[{at}]") for at, each in enumerate(value)]
    _check_attachment_names(found)
    return tuple(found)


def _check_attachment_names(attachments: Sequence[Attachment]) -> None:
    if len({each.name for each in attachments}) < len(attachments):
        _malformed("attachments have one name twice")


def _of_members(value: Mapping[str, object], encoded: bytes) -> Envelope:
    _check_names(value)
    is_apart = "content_hash" in value
    content_type = _check_media_type("content_type", value["content_type"])
    return Envelope(
        what=_check_text("what", value["what"]),
        when=_check_time(value["when"]),
        content_type=content_type if is_apart else _check_json_type(content_type),
        canonical=encoded,
        content=value.get("content"),
        who=_check_text("who", value["who"]) if "who" in value else None,
        content_hash=_hash_of("content_hash", value["content_hash"]) if is_apart else None,
        content_size=_check_size("content_size", value["content_size"]) if is_apart else None,
        attachments=_read_attachments(value["attachments"]) if "attachments" in value else (),
        salt=_hash_of("salt", value["salt"]) if "salt" in value else None,
    )
