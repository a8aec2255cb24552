"""How values that hold bytes are printed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Mapping


class HexRepr:
    """A dataclass (with `repr=False`) whose bytes are printed as hex, which is how everything else writes them."""

    def __repr__(self) -> str:
        this: Any = self
        shown = (f"{each.name}={_text(getattr(self, each.name))}" for each in fields(this) if each.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"


def _text(value: object) -> str:
    if isinstance(value, (bytes, bytearray)):
        return f"hex'{value.hex()}'"
    if type(value) is tuple:
        inside = ", ".join(_text(each) for each in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, list):
        return f"[{', '.join(_text(each) for each in value)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_text(name)}: {_text(each)}' for name, each in value.items())}}}"
    return repr(value)
