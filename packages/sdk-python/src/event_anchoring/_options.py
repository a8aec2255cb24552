"""What operations can be told besides what they need."""

from __future__ import annotations

import enum
import uuid
from dataclasses import dataclass
from typing import Optional, Tuple, Union

from . import _inputs as inputs
from ._inputs import Bytes32, Bytes64
from .prepare import SemanticAnchorInput
from .signing import Signer


class Auto(enum.Enum):
    """`AUTO` as a `client_event_id`: one is drawn before the first try."""

    AUTO = "auto"

    def __repr__(self) -> str:
        return "AUTO"


AUTO = Auto.AUTO
ClientEventId = Union[str, Auto, None]
#: An anchor id, or an anchor id and the event hash that you believe it has.
VerifyItem = Union[Bytes32, Tuple[Bytes32, Bytes32]]


def drawn(client_event_id: ClientEventId) -> Optional[str]:
    """The id to send: a new one for AUTO."""
    return str(uuid.uuid4()) if isinstance(client_event_id, Auto) else client_event_id


@dataclass(frozen=True)
class Wait:
    """How long a write may take.

    Attributes:
        seconds: 1 to 30 that the service may take (`Prefer: wait=`); None: its own limit.
        respond_async: answer as soon as the anchor is committed; the receipt is then None.
        witnessed: wait, within that time, for a receipt that enough witnesses have cosigned. If none comes the receipt
            is of a head that is certified: verify_receipt says which it is, and require_witnessed refuses the one.
    """

    seconds: Optional[int] = None
    respond_async: bool = False
    witnessed: bool = False

    def __post_init__(self) -> None:
        if self.seconds is not None:
            inputs.integer("wait.seconds", self.seconds, maximum=30, minimum=1)

    def header(self) -> Optional[str]:
        """The value of `Prefer`."""
        parts = [] if self.seconds is None else [f"wait={self.seconds}"]
        parts += ["respond-async"] if self.respond_async else []
        parts += ["witnessed"] if self.witnessed else []
        return ", ".join(parts) or None


@dataclass(frozen=True)
class EventInput:
    """One event of a batch, as the arguments of create_event_anchor."""

    event_hash: Bytes32
    semantic_anchor: Optional[SemanticAnchorInput] = None
    client_event_id: ClientEventId = AUTO
    actor: Optional[Signer] = None
    actor_public_key: Optional[Bytes32] = None
    actor_signature: Optional[Bytes64] = None
