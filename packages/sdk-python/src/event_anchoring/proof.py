"""Receipts as C2SP tlog-proof text and as JSON. Reading one verifies nothing. docs/PROTOCOL.md, "Receipt"."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Mapping, NoReturn, Optional, Sequence, Tuple, Union

from ._bytes import INTEGER_MAX, base64_to_bytes, bytes_to_base64, hex_to_bytes, parse_decimal
from ._hex_repr import HexRepr
from .errors import VerificationError
from .notes import is_too_long, parse_checkpoint, parse_note

_HEADER = "c2sp.org/tlog-proof@v1"
#: No tree of at most 2^53 - 1 leaves has a longer path.
PATH_LENGTH_MAX = 53


@dataclass(frozen=True, repr=False)
class Receipt(HexRepr):
    """All that proves one anchor, given a trust root. Reading one verifies nothing.

    Attributes:
        leaf: the bytes of the leaf.
        index: leaf index.
        tree_size: of the checkpoint.
        inclusion: path from leaf to root, 32 bytes each.
        checkpoint: the whole signed note.
        anchor_id: as stated by the JSON form, not computed; None in the text form, which states none.
        trust_root_version: a hint that verification does not rely on; None in the text form.
    """

    leaf: bytes
    index: int
    tree_size: int
    inclusion: Tuple[bytes, ...]
    checkpoint: str
    anchor_id: Optional[bytes] = None
    trust_root_version: Optional[int] = None

    @classmethod
    def parse(cls, receipt: ReceiptInput) -> Receipt:
        """A receipt in any of its forms: tlog-proof text, JSON text, bytes of either, parsed JSON, or read already.

        It may be an attacker's, and nothing is verified.

        Raises:
            VerificationError: `proof_…`.
        """
        return read_receipt(receipt)

    def to_proof_text(self) -> str:
        """C2SP tlog-proof, the canonical form: what belongs into a file `*.tlog-proof`."""
        lines = [_HEADER, f"extra {bytes_to_base64(self.leaf)}", f"index {self.index}"]
        lines += [bytes_to_base64(each) for each in self.inclusion]
        return "\n".join(lines) + f"\n\n{self.checkpoint}"


def _refuse(code: str, message: str) -> NoReturn:
    raise VerificationError(code, message)


def _path(hashes: Sequence[str]) -> Tuple[bytes, ...]:
    if len(hashes) > PATH_LENGTH_MAX:
        _refuse("proof_path_too_long", f"{len(hashes)} hashes, at most {PATH_LENGTH_MAX}")
    try:
        return tuple(base64_to_bytes(each, 32) for each in hashes)
    except VerificationError as error:
        raise VerificationError("proof_malformed", error.message) from error


def _base64(text: str) -> bytes:
    try:
        return base64_to_bytes(text)
    except VerificationError as error:
        raise VerificationError("proof_malformed", error.message) from error


def _tree_size(checkpoint: str) -> int:
    try:
        return parse_checkpoint(parse_note(checkpoint).text).tree_size
    except VerificationError as error:
        raise VerificationError("proof_checkpoint_malformed", error.message) from error


def parse_proof(text: str) -> Receipt:
    """Reads tlog-proof text, which may be an attacker's.

    Raises:
        VerificationError: `proof_too_large`, `proof_header_unknown`, `proof_leaf_missing`, `proof_malformed`,
            `proof_path_too_long` or `proof_checkpoint_malformed`.
    """
    if is_too_long(text):
        _refuse("proof_too_large", "the text is too long")
    split = max(text.find("\n\n"), 0)
    header, *rest = text[:split].split("\n")
    if header != _HEADER:
        _refuse("proof_header_unknown", f"the first line is not {_HEADER}")
    if not rest or not rest[0].startswith("extra "):
        _refuse("proof_leaf_missing", "the second line does not hold the leaf")
    index = parse_decimal(rest[1][len("index ") :]) if len(rest) > 1 and rest[1].startswith("index ") else None
    if index is None:
        _refuse("proof_malformed", "the third line is not a leaf index")
    checkpoint = text[split + 2 :]
    leaf = _base64(rest[0][len("extra ") :])
    return Receipt(leaf, index, _tree_size(checkpoint), _path(rest[2:]), checkpoint)


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or is_too_long(value):
        _refuse("proof_malformed", f"{name} is not a text of legal length")
    return value


def _integer(fields: Mapping[str, object], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= INTEGER_MAX:
        _refuse("proof_malformed", f"{name} is not an integer from 0 to 2^53 - 1")
    return value


def receipt_from_json(value: object) -> Receipt:
    """Reads the JSON form, parsed. Members that are not known are ignored. Codes as parse_proof."""
    if not isinstance(value, Mapping):
        _refuse("proof_malformed", "not an object")
    fields: Mapping[str, object] = value
    inclusion = fields.get("inclusion")
    if not isinstance(inclusion, list) or not all(isinstance(each, str) for each in inclusion):
        _refuse("proof_malformed", "inclusion is not a list of texts")
    leaf = _base64(_text(fields, "leaf"))
    index, tree_size = _integer(fields, "index"), _integer(fields, "tree_size")
    path, checkpoint = _path(inclusion), _text(fields, "checkpoint")
    try:
        anchor_id = hex_to_bytes(_text(fields, "anchor_id"), 32)
    except VerificationError as error:
        raise VerificationError("proof_malformed", error.message) from error
    return Receipt(leaf, index, tree_size, path, checkpoint, anchor_id, _integer(fields, "trust_root_version"))


ReceiptInput = Union[Receipt, str, bytes, Mapping[str, object]]


def read_receipt(receipt: ReceiptInput) -> Receipt:
    """What Receipt.parse does."""
    if isinstance(receipt, Receipt):
        return receipt
    if isinstance(receipt, bytes):
        try:
            receipt = receipt.decode("utf-8")
        except UnicodeDecodeError as error:
            raise VerificationError("proof_malformed", "not UTF-8") from error
    if not isinstance(receipt, str):
        return receipt_from_json(receipt)
    if not receipt.lstrip(" \t\r\n").startswith("{"):
        return parse_proof(receipt)
    if is_too_long(receipt):
        _refuse("proof_too_large", "the text is too long")
    try:
        return receipt_from_json(json.loads(receipt))
    except (ValueError, RecursionError) as error:
        raise VerificationError("proof_malformed", "not JSON") from error
