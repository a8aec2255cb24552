"""The bytes of a spool: frames, and the events in them. docs/recorder.md, "The spool"."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Iterator, Mapping, Optional, Tuple
from zlib import crc32

from ..errors import SpoolCorrupt

_LENGTH = Struct(">I")
#: Length of the body, its CRC, and the CRC of the body.
_HEADER = Struct(">III")
HEADER_BYTES = _HEADER.size
#: Kind, id, whether there is content, and the length of the fields.
_BODY_BYTES_MIN = 1 + 16 + 1 + 4
_BODY_BYTES_MAX = 64 * 1024 * 1024
_CONTENT_AT = 17


@dataclass(frozen=True)
class SpooledEvent:
    """One event as it waits to be anchored.

    Attributes:
        client_event_id: 16 bytes, which the service knows as 32 lower-case hex digits.
        content: bytes that lie beside the envelope; None: there are none.
        fields: what the request says beside the hash: canonical JSON of an object.
        envelope: the bytes that are hashed.
    """

    client_event_id: bytes
    content: Optional[bytes]
    fields: bytes
    envelope: bytes

    def request(self) -> Mapping[str, object]:
        """The fields, read. Raises ValueError."""
        found = json.loads(self.fields)
        if not isinstance(found, dict):
            raise ValueError("the fields are no object")
        return found


def frame_of(client_event_id: bytes, content: Optional[bytes], fields: bytes, envelope: bytes) -> bytes:
    """The frame of an event."""
    apart = b"\x00" if content is None else b"\x01" + _LENGTH.pack(len(content)) + content
    body = b"".join((b"\x01", client_event_id, apart, _LENGTH.pack(len(fields)), fields, envelope))
    length = _LENGTH.pack(len(body))
    return b"".join((_HEADER.pack(len(body), crc32(length), crc32(body)), body))


def _part(body: bytes, at: int) -> Tuple[bytes, int]:
    begin = at + _LENGTH.size
    if begin > len(body):
        raise ValueError("a frame of another form")
    end = begin + _LENGTH.unpack_from(body, at)[0]
    if end > len(body):
        raise ValueError("a frame of another form")
    return body[begin:end], end


def _event_of(body: bytes) -> SpooledEvent:
    has_content = body[_CONTENT_AT]
    if body[0] != 1 or has_content > 1:
        raise ValueError("a frame of another form")
    at = _CONTENT_AT + 1
    content: Optional[bytes] = None
    if has_content:
        content, at = _part(body, at)
    fields, at = _part(body, at)
    return SpooledEvent(body[1:_CONTENT_AT], content, fields, body[at:])


def _body_length(file: bytes, start: int) -> Optional[int]:
    """The length that a header states; None: the file ends here, torn. Raises ValueError."""
    if start + HEADER_BYTES > len(file):
        return None
    length, length_crc, _ = _HEADER.unpack_from(file, start)
    is_length = crc32(file[start : start + _LENGTH.size]) == length_crc
    if is_length and _BODY_BYTES_MIN <= length <= _BODY_BYTES_MAX:
        return int(length)
    # A file system that lost power may have made a file longer, and not written it.
    if file.count(0, start) == len(file) - start:
        return None
    raise ValueError("a frame has a spoiled length")


def read_frames(file: bytes, path: Path, offset: int = 0) -> Iterator[Tuple[SpooledEvent, int]]:
    """The events of a file, or of a part of one that begins at an offset, each with the place where its frame ends.

    What is torn off at the end is left out.

    Raises:
        SpoolCorrupt: a frame is spoiled that is not the last one.
    """
    start = 0
    while True:
        try:
            length = _body_length(file, start)
            if length is None:
                return
            begin = start + HEADER_BYTES
            end = begin + length
            if end > len(file):
                return
            body = file[begin:end]
            if crc32(body) != _HEADER.unpack_from(file, start)[2]:
                if end == len(file):
                    return
                raise ValueError("a frame has a spoiled body")
            event = _event_of(body)
        except ValueError as error:
            raise SpoolCorrupt(path, offset + start, str(error)) from error
        yield event, end
        start = end
