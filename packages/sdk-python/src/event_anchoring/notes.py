"""Signed notes, keys, checkpoints and cosignatures (C2SP signed-note, tlog-checkpoint, tlog-cosignature).

docs/PROTOCOL.md, "Signed notes and keys", "Checkpoint", "Cosignature". All texts may be an attacker's: nothing
malformed is skipped, and everything that is refused is a VerificationError.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple, Union

from ._bytes import base64_to_bytes, bytes_to_base64, hex_to_bytes, parse_decimal, read_u64, sha256, u32, u64, utf8
from ._hex_repr import HexRepr
from .ed25519 import verify_signature
from .errors import VerificationError

NOTE_LENGTH_MAX = 1_000_000
NOTE_SIGNATURES_MAX = 64
#: Signs the text itself.
TYPE_ED25519 = 0x01
#: Signs a time and the text.
TYPE_COSIGNATURE = 0x04

# White space as Unicode has it; Python's \s also takes U+001C to U+001F, which are control characters.
_SPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_KEY_NAME = re.compile(f"[^+{_SPACE}]+")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_VKEY = re.compile(r"([^+]+)\+([0-9a-f]{8})\+(.+)", re.DOTALL)
_LINE_START = "\u2014 "

_CLUSTER_NAME = re.compile(r"[a-z0-9.-]+(/[a-z0-9._-]+)*")
_NODE_ID = re.compile(r"[a-z][a-z0-9-]{0,31}")
_ROOT_LABEL = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


def _length(text: str) -> int:
    """UTF-16 units, which is how the limit of the format is counted."""
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)


def is_too_long(text: str) -> bool:
    """Whether a text is longer than a note may be."""
    return len(text) > NOTE_LENGTH_MAX or (2 * len(text) > NOTE_LENGTH_MAX and _length(text) > NOTE_LENGTH_MAX)


def is_cluster_name(name: str) -> bool:
    """`[a-z0-9.-]+(/[a-z0-9._-]+)*`, at most 128 characters."""
    return len(name) <= 128 and _CLUSTER_NAME.fullmatch(name) is not None


def is_node_id(node_id: str) -> bool:
    """`[a-z][a-z0-9-]{0,31}`."""
    return _NODE_ID.fullmatch(node_id) is not None


def is_root_label(label: str) -> bool:
    """`[a-z0-9][a-z0-9-]{0,31}`."""
    return _ROOT_LABEL.fullmatch(label) is not None


def checkpoint_origin(cluster_name: str, origin_fingerprint: bytes) -> str:
    """First line of an origin's checkpoints, and the name of its log key."""
    return f"{cluster_name}/origin/{origin_fingerprint.hex()}"


@dataclass(frozen=True, repr=False)
class Vkey(HexRepr):
    """A named verification key. `key_id` is its four bytes as an unsigned integer."""

    name: str
    key_id: int
    type: int
    public_key: bytes

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id:08x}+{bytes_to_base64(bytes([self.type]) + self.public_key)}"


@dataclass(frozen=True, repr=False)
class SignatureLine(HexRepr):
    """One signature line. `signature` is what follows the key id."""

    name: str
    key_id: int
    signature: bytes


@dataclass(frozen=True)
class SignedNote:
    """A note that was read. Nothing in it has been verified. `text` ends in a newline."""

    text: str
    lines: Tuple[SignatureLine, ...]


def key_id_of(name: str, key_type: int, public_key: bytes) -> int:
    """SHA-256(name ‖ 0x0A ‖ type ‖ public key), its first four bytes."""
    return int.from_bytes(sha256(utf8(name) + b"\n" + bytes([key_type]) + public_key)[:4], "big")


def make_vkey(name: str, key_type: int, public_key: bytes) -> Vkey:
    """Code `vkey_invalid` if the name or the length of the key is not legal."""
    if _KEY_NAME.fullmatch(name) is None or _SURROGATE.search(name) is not None or len(public_key) != 32:
        raise VerificationError("vkey_invalid", "not a key")
    return Vkey(name, key_id_of(name, key_type, public_key), key_type, public_key)


def parse_vkey(text: str) -> Vkey:
    """Reads a key. Codes `vkey_invalid`, `vkey_type_unknown`, `vkey_id_mismatch`."""
    # The base64 part may contain "+": only the first two separate.
    match = _VKEY.fullmatch(text)
    if match is None:
        raise VerificationError("vkey_invalid", "not a vkey")
    name, key_id, encoded = match.groups()
    if _KEY_NAME.fullmatch(name) is None or _SURROGATE.search(name) is not None:
        raise VerificationError("vkey_invalid", "not the name of a key")
    key = _decode(encoded, "vkey_invalid")
    if key[:1] not in (bytes([TYPE_ED25519]), bytes([TYPE_COSIGNATURE])):
        raise VerificationError("vkey_type_unknown", f"unknown type in the vkey of {name}")
    vkey = make_vkey(name, key[0], key[1:])
    if vkey.key_id != int.from_bytes(hex_to_bytes(key_id, 4), "big"):
        raise VerificationError("vkey_id_mismatch", f"the key id of {name} is not that of its key")
    return vkey


def _decode(encoded: str, code: str) -> bytes:
    try:
        return base64_to_bytes(encoded)
    except VerificationError as error:
        raise VerificationError(code, error.message) from error


def format_signature_line(line: SignatureLine) -> str:
    """One line with its newline."""
    return f"{_LINE_START}{line.name} {bytes_to_base64(u32(line.key_id) + line.signature)}\n"


def format_note(text: str, lines: Sequence[SignatureLine]) -> str:
    """Text, empty line, signature lines."""
    return f"{text}\n{''.join(format_signature_line(line) for line in lines)}"


def _parse_signature_line(text: str) -> SignatureLine:
    parts = text[len(_LINE_START) :].split(" ") if text.startswith(_LINE_START) else []
    if len(parts) != 2 or _KEY_NAME.fullmatch(parts[0]) is None:
        raise VerificationError("signature_line_invalid", "a signature line is a dash, a key name and base64")
    blob = _decode(parts[1], "signature_line_invalid")
    if len(blob) < 5:
        raise VerificationError("signature_line_invalid", f"the signature of {parts[0]} is too short")
    return SignatureLine(parts[0], int.from_bytes(blob[:4], "big"), blob[4:])


def parse_note(note: str) -> SignedNote:
    """Reads a note.

    Raises:
        VerificationError: `note_too_large`, `note_text_invalid`, `note_unsigned`, `signatures_too_many` or
            `signature_line_invalid`.
    """
    if is_too_long(note):
        raise VerificationError("note_too_large", f"over {NOTE_LENGTH_MAX} characters")
    if _CONTROL.search(note) is not None or _SURROGATE.search(note) is not None:
        raise VerificationError("note_text_invalid", "a note is Unicode without control characters")
    split = note.rfind("\n\n")
    if split < 0 or not note.endswith("\n") or split + 2 >= len(note):
        raise VerificationError("note_unsigned", "no signature lines")
    lines = note[split + 2 : -1].split("\n")
    if len(lines) > NOTE_SIGNATURES_MAX:
        raise VerificationError("signatures_too_many", f"{len(lines)} signature lines, at most {NOTE_SIGNATURES_MAX}")
    return SignedNote(note[: split + 1], tuple(_parse_signature_line(line) for line in lines))


@dataclass(frozen=True, repr=False)
class Checkpoint(HexRepr):
    """Origin line, size and root of one tree. `origin` is the checkpoint's first line, not a URL."""

    origin: str
    tree_size: int
    root_hash: bytes

    def text(self) -> str:
        """The three lines that are signed."""
        return f"{self.origin}\n{self.tree_size}\n{bytes_to_base64(self.root_hash)}\n"


def parse_checkpoint(text: str) -> Checkpoint:
    """Reads the text of a checkpoint. Codes `checkpoint_malformed`, `checkpoint_extended`."""
    lines = text.split("\n")
    size = parse_decimal(lines[1]) if len(lines) >= 4 else None
    if size is None or lines[-1] != "" or lines[0] == "":
        raise VerificationError("checkpoint_malformed", "a checkpoint is an origin, a size and a root hash")
    if len(lines) > 4:
        raise VerificationError("checkpoint_extended", "extension lines are not accepted")
    try:
        return Checkpoint(lines[0], size, base64_to_bytes(lines[2], 32))
    except VerificationError as error:
        raise VerificationError("checkpoint_malformed", error.message) from error


def cosignature_message(time_s: int, checkpoint_text: str) -> bytes:
    """What a cosigner signs: cosignature/v1, the time, the whole checkpoint text."""
    return utf8(f"cosignature/v1\ntime {time_s}\n{checkpoint_text}")


@dataclass(frozen=True)
class VerifiedLine:
    """A line whose signature is good. `time_s` is of a cosignature, Unix seconds; else None."""

    vkey: Vkey
    time_s: Optional[int]


@dataclass(frozen=True)
class NoteRefusal:
    """Why a note as a whole is refused, and the name of the key at fault."""

    code: str
    name: str


def _index_keys(keys: Sequence[Vkey]) -> Union[Dict[Tuple[str, int], Vkey], NoteRefusal]:
    index: Dict[Tuple[str, int], Vkey] = {}
    for vkey in keys:
        if index.setdefault((vkey.name, vkey.key_id), vkey) != vkey:
            return NoteRefusal("key_ambiguous", vkey.name)
    return index


def _verify_line(text: str, line: SignatureLine, vkey: Vkey) -> Optional[VerifiedLine]:
    if vkey.type == TYPE_ED25519:
        return VerifiedLine(vkey, None) if verify_signature(vkey.public_key, utf8(text), line.signature) else None
    if len(line.signature) != 72:
        return None
    try:
        time_s = read_u64(line.signature[:8])
    except VerificationError:
        # A time above 2^53 - 1 is a line that cannot be good.
        return None
    message = cosignature_message(time_s, text)
    return VerifiedLine(vkey, time_s) if verify_signature(vkey.public_key, message, line.signature[8:]) else None


def verify_known_lines(note: SignedNote, known: Sequence[Vkey]) -> Union[Tuple[VerifiedLine, ...], NoteRefusal]:
    """Verifies the lines of known keys and ignores all others; one bad or repeated line spoils the whole note.

    Repeats are refused before anything is verified or counted, so copies of a signature can neither count nor cost
    twice.
    """
    if len(note.lines) > NOTE_SIGNATURES_MAX:
        return NoteRefusal("signatures_too_many", "")
    index = _index_keys(known)
    if isinstance(index, NoteRefusal):
        return index
    found: Dict[Tuple[str, int], SignatureLine] = {}
    for line in note.lines:
        key = (line.name, line.key_id)
        if key not in index:
            continue
        if key in found:
            return NoteRefusal("signature_repeated", line.name)
        found[key] = line
    verified: List[VerifiedLine] = []
    for key, line in found.items():
        good = _verify_line(note.text, line, index[key])
        if good is None:
            return NoteRefusal("signature_invalid", line.name)
        verified.append(good)
    return tuple(verified)


def distinct_lines(verified: Sequence[VerifiedLine], cosigners: Sequence[Vkey]) -> List[VerifiedLine]:
    """The lines of these cosigners, one for each public key: two names of one key count once."""
    listed = {vkey.public_key for vkey in cosigners}
    counted: Dict[bytes, VerifiedLine] = {}
    for line in verified:
        if line.vkey.public_key in listed:
            counted.setdefault(line.vkey.public_key, line)
    return list(counted.values())


def cosignature_line(name: str, public_key: bytes, time_s: int, signature: bytes) -> SignatureLine:
    """The line of a cosignature."""
    return SignatureLine(name, key_id_of(name, TYPE_COSIGNATURE, public_key), u64(time_s) + signature)
