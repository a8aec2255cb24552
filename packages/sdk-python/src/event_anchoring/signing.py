"""Signers: a key in memory, or anything else that holds one.

A *signer* has a `public_key` (32 bytes) and `sign(payload)`, which returns the 64 bytes of an Ed25519 signature over
exactly the bytes given, or, for AsyncClient, an awaitable of them. Every signature is verified before it is sent.
"""

from __future__ import annotations

import inspect
import secrets
from types import TracebackType
from typing import Awaitable, Callable, NoReturn, Optional, Protocol, Type, Union

from ._inputs import bytes32, fixed_bytes
from .ed25519 import verify_signature
from .errors import InvalidInput, SigningFailed

SignatureOrAwaitable = Union[bytes, Awaitable[bytes]]


class Signer(Protocol):
    """Whatever holds a key: an HSM, a remote service, a LocalKey."""

    @property
    def public_key(self) -> bytes:
        """32 bytes."""
        ...

    def sign(self, payload: bytes) -> SignatureOrAwaitable:
        """64 bytes over exactly these, or an awaitable of them."""
        ...


class _CallbackSigner:
    """What signer_of returns."""

    __slots__ = ("_public_key", "_sign")

    def __init__(self, public_key: Union[bytes, str], sign: Callable[[bytes], SignatureOrAwaitable]) -> None:
        self._public_key = bytes32("public_key", public_key)
        self._sign = sign

    @property
    def public_key(self) -> bytes:
        """32 bytes."""
        return self._public_key

    def sign(self, payload: bytes) -> SignatureOrAwaitable:
        """What the function returns."""
        return self._sign(payload)


def signer_of(public_key: Union[bytes, str], sign: Callable[[bytes], SignatureOrAwaitable]) -> Signer:
    """A signer made of a public key and a function.

    Args:
        public_key: 32 bytes or 64 hex digits.
        sign: gets the bytes to sign and returns the signature; a coroutine function for AsyncClient, if you like.
    """
    return _CallbackSigner(public_key, sign)


class LocalKey:
    """An Ed25519 key in this process's memory.

    It is never printed, pickled or copied. `destroy`, or leaving its `with` block, overwrites the seed where it is
    kept; copies that the interpreter or OpenSSL made while signing are theirs and not reached. Prefer an HSM for keys
    that matter for long.

    Args:
        seed: 32 bytes, or 64 hex digits. Hand in a bytearray to wipe your own copy afterwards; a text cannot be wiped.
    """

    __slots__ = ("_public_key", "_seed")

    def __init__(self, seed: Union[bytes, bytearray, str]) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._seed = bytearray(_seed_bytes(seed))
        key = Ed25519PrivateKey.from_private_bytes(self._seed)
        self._public_key = key.public_key().public_bytes_raw()

    @classmethod
    def generate(cls) -> LocalKey:
        """A new key from the operating system's randomness."""
        return cls(secrets.token_bytes(32))

    @property
    def public_key(self) -> bytes:
        """32 bytes."""
        return self._public_key

    def sign(self, payload: bytes) -> bytes:
        """64 bytes. Raises SigningFailed once the key is destroyed."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if not self._seed:
            raise SigningFailed("the key was destroyed")
        return Ed25519PrivateKey.from_private_bytes(self._seed).sign(payload)

    def export_seed(self) -> bytes:
        """The 32 secret bytes, to be stored where only their owner reads. Raises SigningFailed once it is destroyed."""
        if not self._seed:
            raise SigningFailed("the key was destroyed")
        return bytes(self._seed)

    def destroy(self) -> None:
        """Overwrites the seed. The key signs nothing more."""
        for place in range(len(self._seed)):
            self._seed[place] = 0
        self._seed.clear()

    def __enter__(self) -> LocalKey:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.destroy()

    def __del__(self) -> None:
        if hasattr(self, "_seed"):
            self.destroy()

    def __repr__(self) -> str:
        return f"<LocalKey {self._public_key.hex()}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a LocalKey is not pickled or copied")


def _seed_bytes(seed: object) -> bytes:
    try:
        return fixed_bytes("seed", seed, 32)
    except InvalidInput:
        # The cause is left out: it may quote what it was given.
        raise InvalidInput("seed", "expected 32 bytes or 64 hex digits") from None


def checked_signature(role: str, public_key: bytes, payload: bytes, signature: object) -> bytes:
    """The signature, if it is one by this key over these bytes. Raises SigningFailed."""
    if not isinstance(signature, (bytes, bytearray)) or len(signature) != 64:
        raise SigningFailed(f"the {role}'s signer gave no signature of 64 bytes")
    good = bytes(signature)
    if not verify_signature(public_key, payload, good):
        raise SigningFailed(f"the {role}'s signature is not one of key {public_key.hex()} over the bytes to sign")
    return good


def _refused(error: Exception) -> SigningFailed:
    return SigningFailed(f"the signer gave no signature ({type(error).__name__})")


def sign_now(signer: Signer, payload: bytes) -> bytes:
    """Asks a signer that does not have to be awaited. Raises SigningFailed, also for one that does."""
    try:
        answer = signer.sign(payload)
    except SigningFailed:
        raise
    except Exception as error:
        raise _refused(error) from error
    if isinstance(answer, (bytes, bytearray)):
        return bytes(answer)
    if inspect.iscoroutine(answer):
        # Else it would be reported as never awaited, which hides the reason.
        answer.close()
    raise SigningFailed("the signer gave no bytes; signers that are awaited are for AsyncClient")


async def sign_later(signer: Signer, payload: bytes) -> bytes:
    """Asks a signer, and awaits it if that is its way. Raises SigningFailed."""
    try:
        answer = signer.sign(payload)
        made = await answer if inspect.isawaitable(answer) else answer
    except SigningFailed:
        raise
    except Exception as error:
        raise _refused(error) from error
    if isinstance(made, (bytes, bytearray)):
        return bytes(made)
    raise SigningFailed("the signer gave no bytes")
