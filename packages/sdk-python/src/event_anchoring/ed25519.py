"""The one Ed25519 rule, which is stricter than most libraries. docs/PROTOCOL.md, "Ed25519".

Lengths, S below the group order, A and R canonical and not of small order are checked here; the equation
[S]B - [k]A = R, by its encoding and without the cofactor, by OpenSSL (package `cryptography`). Before the first verdict
canaries are shown to the whole: signatures whose verdicts differ between libraries.
"""

from __future__ import annotations

import threading
from typing import Callable, Tuple

from .errors import CanaryFailed

_ORDER = 2**252 + 27742317777372353535851937790883648493
_P = 2**255 - 19

#: y of the eight points of small order, without the sign bit.
_SMALL_ORDER_Y = frozenset(
    int.from_bytes(bytes.fromhex(text), "little")
    for text in (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
)

RawVerify = Callable[[bytes, bytes, bytes], bool]

#: Name, verdict, public key, message, signature. Cases 2, 3 and 4 of ed25519-speccheck ("Taming the many EdDSAs"), an
#: ordinary signature of RFC 8032, and the same one over another message.
CANARIES: Tuple[Tuple[str, bool, str, str, str], ...] = (
    (
        "speccheck 2",
        False,
        "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
        "aebf3f2601a0c8c5d39cc7d8911642f740b78168218da8471772b35f9d35b9ab",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"
        "8c4bd45aecaca5b24fb97bc10ac27ac8751a7dfe1baff8b953ec9f5833ca260e",
    ),
    (
        "speccheck 3",
        True,
        "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
        "9bd9f44f4dcc75bd531b56b2cd280b0bb38fc1cd6d1230e14861d861de092e79",
        "9046a64750444938de19f227bb80485e92b83fdb4b6506c160484c016cc1852f"
        "87909e14428a7a1d62e9f22f3d3ad7802db02eb2e688b6c52fcd6648a98bd009",
    ),
    (
        "speccheck 4",
        False,
        "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
        "e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec4011eaccd55b53f56c",
        "160a1cb0dc9c0258cd0a7d23e94d8fa878bcb1925f2c64246b2dee1796bed512"
        "5ec6bc982a269b723e0668e540911a9a6a58921d6925e434ab10aa7940551a09",
    ),
    (
        "RFC 8032 7.1 test 1",
        True,
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "RFC 8032 7.1 test 1 over another message",
        False,
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "78",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
)


def _y(encoded: bytes) -> int:
    return int.from_bytes(encoded, "little") & (2**255 - 1)


def passes_prefilter(public_key: bytes, signature: bytes) -> bool:
    """The part of the rule that needs no curve arithmetic."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    if int.from_bytes(signature[32:], "little") >= _ORDER:
        return False
    y_a = _y(public_key)
    y_r = _y(signature[:32])
    return y_a < _P and y_r < _P and y_a not in _SMALL_ORDER_Y and y_r not in _SMALL_ORDER_Y


def openssl_verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """OpenSSL's verdict without the prefilter, which is not the rule's."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


class Ed25519Verifier:
    """The rule on top of a cofactorless verifier. Call it with public key, message and signature.

    Args:
        raw_verify: sees only keys and signatures of the right length that pass the prefilter. Default: OpenSSL's.
    """

    def __init__(self, raw_verify: RawVerify = openssl_verify) -> None:
        self._raw_verify = raw_verify
        self._is_checked = False
        self._lock = threading.Lock()

    def __call__(self, public_key: bytes, message: bytes, signature: bytes) -> bool:
        """True if and only if the signature is good under the rule. Raises CanaryFailed before the first verdict."""
        if not self._is_checked:
            self.check_canaries()
        return self._verify(public_key, message, signature)

    def _verify(self, public_key: bytes, message: bytes, signature: bytes) -> bool:
        return passes_prefilter(public_key, signature) and self._raw_verify(public_key, message, signature)

    def check_canaries(self) -> None:
        """Shows all canaries. Raises CanaryFailed, again and again, if one verdict is not that of the rule."""
        with self._lock:
            for name, accepted, key, message, signature in CANARIES:
                verdict = self._verify(bytes.fromhex(key), bytes.fromhex(message), bytes.fromhex(signature))
                if verdict is not accepted:
                    word = "refuses" if accepted else "accepts"
                    raise CanaryFailed("ed25519_canary", f"this Ed25519 verifier {word} canary {name}")
            self._is_checked = True


#: The verifier that everything in this package uses.
verify_signature = Ed25519Verifier()


def check_canaries() -> None:
    """Shows the canaries to it, which it does by itself before its first verdict. Raises CanaryFailed."""
    verify_signature.check_canaries()
