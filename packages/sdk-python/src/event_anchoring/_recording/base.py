"""What Recorder and AsyncRecorder have in common: their settings, and how they take an event."""

from __future__ import annotations

import secrets
from datetime import datetime
from pathlib import Path
from typing import Callable, Dict, Generic, Optional, Sequence, TypeVar, Union

from .. import _inputs as inputs
from .._bytes import sha256
from .._canonical_json import canonical_json
from .._inputs import Bytes32
from ..envelope import Attachment, ContentHash, encode_members, make_members
from ..errors import InvalidInput
from ..prepare import SemanticAnchorInput
from ..signing import Signer
from .handles import RecordedEvent, RecorderProgress
from .kept import KeptEvent
from .recording import Recording, Settings, log_error
from .sending import Sender

PathLike = Union[str, Path]
#: What `record` gives back.
Handle = TypeVar("Handle")

SPOOL_BYTES_MAX = 256 * 1024 * 1024
#: Of a content that is given as bytes.
CONTENT_BYTES_MAX = 16 * 1024 * 1024
BATCH_EVENTS_MAX = 1_000
#: How long closing, flushing, and the end of the program wait for events to be anchored.
CLOSE_TIMEOUT_MS = 10_000
FLUSH_TIMEOUT_MS = 60_000
EXIT_FLUSH_MS = 5_000
ID_BYTES = 16


def _fields(semantic_anchor: Optional[SemanticAnchorInput], actor: Optional[Signer]) -> Dict[str, object]:
    hashes = inputs.semantic_anchor(semantic_anchor)
    given = {name: getattr(hashes, name) for name in inputs.SEMANTIC_FIELDS}
    anchor = {name: value.hex() for name, value in given.items() if any(value)}
    fields: Dict[str, object] = {"semantic_anchor": anchor} if anchor else {}
    if actor is not None:
        fields["actor_public_key"] = actor.public_key.hex()
    return fields


def read_settings(
    directory: PathLike,
    *,
    batch_events_max: int,
    batch_ms: int,
    spool_bytes_max: int,
    salt: bool,
    who: Optional[str],
    semantic_anchor: Optional[SemanticAnchorInput],
    actor: Optional[Signer],
    keep: Optional[PathLike],
    on_anchored: Optional[Callable[[KeptEvent], None]],
    on_error: Optional[Callable[[Exception], None]],
    on_progress: Optional[Callable[[RecorderProgress], None]],
) -> Settings:
    """What a recorder is told, read. Raises InvalidInput."""
    folder = Path(directory)
    return Settings(
        directory=folder,
        keep=folder / "kept" if keep is None else Path(keep),
        batch_events_max=inputs.integer("batch_events_max", batch_events_max, BATCH_EVENTS_MAX, 1),
        batch_ms=inputs.integer("batch_ms", batch_ms),
        spool_bytes_max=inputs.integer("spool_bytes_max", spool_bytes_max),
        salt=salt,
        who=who,
        fields=_fields(semantic_anchor, actor),
        actor=actor,
        on_anchored=on_anchored,
        on_error=log_error if on_error is None else on_error,
        on_progress=on_progress,
    )


class RecorderBase(Generic[Handle]):
    """What Recorder and AsyncRecorder have in common: taking events."""

    def __init__(self, settings: Settings, wake: Callable[[], None]) -> None:
        self._settings = settings
        self._default_fields = canonical_json(settings.fields, 2)
        self._recording = Recording(settings, wake)
        self._sender = Sender(self._recording)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._settings.directory}, {self._recording.waiting} waiting>"

    @property
    def progress(self) -> RecorderProgress:
        """How many events are recorded, durable and anchored."""
        return self._recording.progress

    def _handle(self, recorded: RecordedEvent) -> Handle:
        """What `record` gives back."""
        raise NotImplementedError

    def record(
        self,
        content: object,
        *,
        what: str,
        when: Union[str, datetime, None] = None,
        who: Optional[str] = None,
        content_type: Optional[str] = None,
        attachments: Sequence[Attachment] = (),
        salt: Union[bool, Bytes32, None] = None,
        semantic_anchor: Optional[SemanticAnchorInput] = None,
        client_event_id: Union[bytes, str, None] = None,
    ) -> Handle:
        """Writes an event to the folder, from where it is anchored.

        Args:
            content: as Envelope.make takes it; bytes are kept beside the envelope, at most 16 MiB.
            what: type of the event, such as `tool.call`.
            when: when it happened; None: now.
            who: who acted.
            content_type: of bytes; None: `application/octet-stream`.
            attachments: files that belong to it, by their hashes.
            salt: None: as the recorder was opened with.
            semantic_anchor: None: as the recorder was opened with.
            client_event_id: 16 bytes, or 32 hex digits, of yours: the same id and content is one event. None draws one.

        Raises:
            VerificationError: it is no content of an envelope.
            SpoolFull: wait with `room`, or do without it.
            SpoolWriteFailed: the system refused it.
            InvalidInput: the recorder is closed, or belongs to the process that this one was forked from.
        """
        apart: Optional[bytes] = None
        if isinstance(content, (bytes, bytearray, memoryview)):
            content = apart = bytes(content)
            if len(apart) > CONTENT_BYTES_MAX:
                raise InvalidInput("content", f"more than {CONTENT_BYTES_MAX} bytes: record the hash as an attachment")
        members = make_members(
            content,
            what=what,
            when=when,
            who=self._settings.who if who is None else who,
            content_type=content_type,
            attachments=attachments,
            salt=self._settings.salt if salt is None else salt,
        )
        envelope = encode_members(members)
        own_id = secrets.token_bytes(ID_BYTES)
        if client_event_id is not None:
            own_id = inputs.fixed_bytes("client_event_id", client_event_id, ID_BYTES)
        fields = self._default_fields
        if semantic_anchor is not None:
            fields = canonical_json(_fields(semantic_anchor, self._settings.actor), 2)
        return self._handle(self._recording.add(own_id, sha256(envelope), apart, fields, envelope))

    def record_hash(
        self,
        hash: Bytes32,  # noqa: A002
        size: int,
        *,
        what: str,
        when: Union[str, datetime, None] = None,
        who: Optional[str] = None,
        content_type: Optional[str] = None,
        attachments: Sequence[Attachment] = (),
        salt: Union[bool, Bytes32, None] = None,
        semantic_anchor: Optional[SemanticAnchorInput] = None,
        client_event_id: Union[bytes, str, None] = None,
    ) -> Handle:
        """The same for a content that you keep yourself, by its SHA-256 and its number of bytes."""
        return self.record(
            ContentHash(hash, size),
            what=what,
            when=when,
            who=who,
            content_type=content_type,
            attachments=attachments,
            salt=salt,
            semantic_anchor=semantic_anchor,
            client_event_id=client_event_id,
        )
