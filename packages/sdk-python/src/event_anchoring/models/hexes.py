"""Bytes as the service writes them. To a program they are texts; a decoder refuses any other spelling."""

from __future__ import annotations

from typing import Annotated

#: 32 bytes: 64 lower-case hex digits.
Hex32 = Annotated[str, "32 bytes in lower-case hex"]
#: 64 bytes: 128 lower-case hex digits.
Hex64 = Annotated[str, "64 bytes in lower-case hex"]
#: The text of a bundle, UTF-8: what a `*.bundle.json` file holds.
BundleBytes = Annotated[bytes, "a bundle"]
