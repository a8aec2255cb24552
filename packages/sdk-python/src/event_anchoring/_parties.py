"""How the parties of a record sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from . import _inputs as inputs
from ._exchange import Operation, sign
from ._inputs import Bytes32, Bytes64
from .errors import InvalidInput
from .prepare import Payload
from .signing import Signer, checked_signature


@dataclass(frozen=True)
class Party:
    """One party, as a caller gives it: a signer, or a public key with a signature that was made elsewhere."""

    role: str
    signer: Optional[Signer]
    public_key: Optional[Bytes32]
    signature: Optional[Bytes64]

    @property
    def is_given(self) -> bool:
        """Whether it takes part. Raises InvalidInput for a signature without a signer."""
        if self.signer is None and self.public_key is None:
            if self.signature is not None:
                raise InvalidInput(f"{self.role}_signature", f"goes with {self.role}_public_key, or not at all")
            return False
        return True

    def key(self) -> bytes:
        """The public key, once it is clear that it is given in one way, and its signature as well."""
        name = f"{self.role}_public_key"
        given = None if self.public_key is None and self.signer is not None else inputs.bytes32(name, self.public_key)
        if (self.signer is None) == (self.signature is None):
            raise InvalidInput(f"{self.role}_signature", f"give either a signature or the signer {self.role}")
        if self.signer is None:
            inputs.signature(f"{self.role}_signature", self.signature)
            return inputs.bytes32(name, given)
        own = inputs.bytes32(name, self.signer.public_key)
        if given is not None and given != own:
            raise InvalidInput(name, f"is not the public key of the {self.role}'s signer")
        return own

    def optional_key(self) -> Optional[bytes]:
        """The same of a party that may be absent."""
        return self.key() if self.is_given else None

    def sign(self, payload: Payload) -> Operation[bytes]:
        """The signature over a payload, verified. Raises SigningFailed."""
        if self.signer is None:
            made = inputs.signature(f"{self.role}_signature", self.signature)
        else:
            made = yield from sign(self.signer, payload.payload)
        return checked_signature(self.role, self.key(), payload.payload, made)
