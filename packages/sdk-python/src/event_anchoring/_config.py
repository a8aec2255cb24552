"""What a client is made of, checked when it is made."""

from __future__ import annotations

import ipaddress
import re
from typing import List, Optional, Sequence, Union
from urllib.parse import urlsplit

from ._exchange import RetryPolicy, Session
from ._inputs import Bytes32, bytes32
from .errors import InvalidInput
from .trust_root import TrustRootChain

_ENDPOINT = re.compile(r"https?://[A-Za-z0-9.\-_\[\]:]+(/[A-Za-z0-9._~%!$&'()*+,;=:@/-]*)?")
_API_KEY = re.compile(r"[\x21-\x7e]{1,512}")


def _is_this_host(endpoint: str) -> bool:
    try:
        host = urlsplit(endpoint).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        # A name, not an address.
        return False


def _endpoint(value: object, place: int, allow_plain_http: bool) -> str:
    field = f"endpoints[{place}]"
    if not isinstance(value, str) or _ENDPOINT.fullmatch(value) is None:
        raise InvalidInput(field, "expected an address such as https://anchor.example:8443")
    if value.startswith("http://") and not (allow_plain_http or _is_this_host(value)):
        raise InvalidInput(field, "plain http to another host would show the API key: see allow_plain_http")
    return value.rstrip("/")


def _seconds(field: str, value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value <= 3600:
        raise InvalidInput(field, "expected seconds above 0, up to 3600")
    return float(value)


def make_session(
    endpoints: Union[str, Sequence[str]],
    api_key: Optional[str],
    origin_fingerprint: Optional[Bytes32],
    trust_root: Optional[TrustRootChain],
    retry: Optional[RetryPolicy],
    timeout_s: float,
    batch_timeout_s: float,
    allow_plain_http: bool,
) -> Session:
    """Raises InvalidInput; the API key is never part of the message."""
    given: List[object] = [endpoints] if isinstance(endpoints, str) else list(endpoints)
    if not given:
        raise InvalidInput("endpoints", "expected at least one")
    if api_key is not None and (not isinstance(api_key, str) or _API_KEY.fullmatch(api_key) is None):
        raise InvalidInput("api_key", "expected printable ASCII without spaces")
    if trust_root is not None and not isinstance(trust_root, TrustRootChain):
        raise InvalidInput("trust_root", "expected what verify_trust_root returned")
    return Session(
        endpoints=tuple(_endpoint(each, place, allow_plain_http) for place, each in enumerate(given)),
        api_key=api_key,
        origin_fingerprint=None if origin_fingerprint is None else bytes32("origin_fingerprint", origin_fingerprint),
        trust_root=trust_root,
        retry=RetryPolicy() if retry is None else retry,
        timeout_s=_seconds("timeout_s", timeout_s),
        batch_timeout_s=_seconds("batch_timeout_s", batch_timeout_s),
    )
