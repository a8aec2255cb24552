"""Where a witness takes checkpoints: a small part of RFC 3986, so that every language reads it alike."""

from __future__ import annotations

import re

from ._bytes import parse_decimal

_LENGTH_MAX = 256
_PORT_MAX = 65_535
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*|\[[0-9a-f:.]{{2,45}}\]"
_PATH = "/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*"
_PARTS = re.compile(rf"(https?)://({_HOST})(?::([0-9]{{1,5}}))?(?:{_PATH})?")
#: Hosts that need no TLS: nothing leaves the machine.
_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")


def is_witness_url(url: str) -> bool:
    """`https://<host>[:<port>][<path>]`, or `http://` to a loopback host.

    At most 256 ASCII characters, the host in lower case, no user, query or fragment.
    """
    parts = _PARTS.fullmatch(url) if len(url) <= _LENGTH_MAX else None
    if parts is None:
        return False
    scheme, host, port = parts.groups()
    number = 1 if port is None else parse_decimal(port)
    is_port = number is not None and 1 <= number <= _PORT_MAX
    return is_port and (scheme == "https" or host in _LOOPBACK_HOSTS)
