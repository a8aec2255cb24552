"""What a client is made of, checked when it is made."""

from __future__ import annotations

import re
from typing import List, Optional, Sequence, Union

from ._exchange import RetryPolicy, Session
from ._inputs import Bytes32, bytes32
from .errors import InvalidInput
from .trust_root import TrustRootChain

_ENDPOINT = re.compile(r"https?://[A-Za-z0-9.\-_\[\]:]+(/[A-Za-z0-9._~%!$&'()*+,;=:@/-]*)?")
_API_KEY = re.compile(r"[\x21-\x7e]{1,512}")


def _endpoint(value: object, place: int) -> str:
    if not isinstance(value, str) or _ENDPOINT.fullmatch(value) is None:
        raise InvalidInput(f"endpoints[{place}]", "expected an address such as https://anchor.example:8443")
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
        endpoints=tuple(_endpoint(each, place) for place, each in enumerate(given)),
        api_key=api_key,
        origin_fingerprint=None if origin_fingerprint is None else bytes32("origin_fingerprint", origin_fingerprint),
        trust_root=trust_root,
        retry=RetryPolicy() if retry is None else retry,
        timeout_s=_seconds("timeout_s", timeout_s),
        batch_timeout_s=_seconds("batch_timeout_s", batch_timeout_s),
    )
