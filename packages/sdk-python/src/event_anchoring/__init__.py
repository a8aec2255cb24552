"""Client of the Event Anchoring API, and an offline verifier of its receipts and bundles.

    from event_anchoring import Client

    with Client("https://anchor.example", api_key) as client:
        created = client.create_event_anchor(sha256_of_the_event)
        created.receipt.to_proof_text()      # keep it: it verifies offline, years later

- `Client` and `AsyncClient`: every route of the API, the same methods in both, from the modules of `synchronous` and
  `asynchronous`.
- `prepare_claim_anchor`, `prepare_grant_anchor`, `prepare_event_anchor`, `prepare_revocation`: the exact bytes that
  each party signs, offline. `LocalKey`, `signer_of`: who signs them.
- `Recorder` and `AsyncRecorder`: what happens is on the disk before `record` returns, and is anchored after.
- `Envelope`: what happened, when and by whom, as the bytes whose hash is anchored.
- `Scope`: what a grant allows, as statements that can be disclosed one by one.
- `parse_names`, `ATTRIBUTE_TYPES`: names for hashes, and what a claim can be about.
- `verify_trust_root`, `verify_receipt`, `verify_checkpoint`, `verify_consistency`, `verify_bundle`, `Monitor`: without
  network, against a pinned trust root. What is not good raises; `inspect_receipt` and `inspect_bundle` report on it.

Errors are one tree, each with a stable `code`, `request_id` and `retry_after`:

    AnchoringError
    ├── InvalidInput, SigningFailed
    ├── ConnectionFailed, TimedOut, OutcomeUnknown, UnexpectedAnswer
    ├── RecorderError: FolderInUse, SpoolCorrupt, SpoolFull, SpoolWriteFailed, NotFlushed, EventRefused
    ├── ApiProblem: Unauthorized, Forbidden, NotFound, Conflict, Unprocessable, RateLimited, Unavailable
    └── VerificationError: Rollback, SplitView, CanaryFailed

`event_anchoring.errors` says what each of them means.
"""

from __future__ import annotations

from . import errors, leaf, models
from ._bundle_result import ProvedScope
from ._bundle_text import Bundle
from ._exchange import RetryPolicy
from ._following import FollowedHead
from ._options import AUTO, EventInput, Wait
from ._receipt_result import ReceiptFailure, ReceiptReport, VerifiedReceipt
from ._recording.handles import AsyncRecordedEvent, RecordedEvent, RecorderProgress
from ._recording.kept import KeptEvent
from ._steps import Step
from ._tags import client_event_commit
from ._trust_root_text import TrustRoot
from ._version import __version__
from ._witnessing import WitnessSignature
from .asynchronous.client import AsyncClient
from .bundle import BundleVerification, Completeness, Standing, add_scopes, inspect_bundle, verify_bundle
from .ed25519 import check_canaries, verify_signature
from .envelope import Attachment, ContentHash, Envelope
from .errors import (
    AnchoringError,
    ApiProblem,
    CanaryFailed,
    Conflict,
    ConnectionFailed,
    EventRefused,
    FolderInUse,
    Forbidden,
    InvalidInput,
    NotFlushed,
    NotFound,
    OutcomeUnknown,
    RateLimited,
    RecorderError,
    Rollback,
    SigningFailed,
    SplitView,
    SpoolCorrupt,
    SpoolFull,
    SpoolWriteFailed,
    TimedOut,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
    Unprocessable,
    VerificationError,
)
from .leaf import SemanticHashes, decode_leaf
from .monitor import Evidence, FileMonitorStore, Head, MemoryMonitorStore, Monitor, MonitorState, MonitorStore
from .names import ATTRIBUTE_TYPES, NameFile, attribute_type_of, parse_names
from .notes import Checkpoint
from .prepare import (
    Payload,
    PreparedClaimAnchor,
    PreparedEventAnchor,
    PreparedGrantAnchor,
    PreparedRevocation,
    prepare_claim_anchor,
    prepare_event_anchor,
    prepare_grant_anchor,
    prepare_revocation,
)
from .proof import Receipt
from .receipt import (
    Renewal,
    VerifiedCheckpoint,
    inspect_receipt,
    verify_checkpoint,
    verify_consistency,
    verify_receipt,
)
from .recorder import AsyncRecorder, Recorder
from .scope import Scope
from .signing import LocalKey, Signer, signer_of
from .synchronous.client import Client
from .transport import (
    AsyncStream,
    AsyncStreamingTransport,
    AsyncTransport,
    Request,
    Response,
    Stream,
    StreamingTransport,
    Transport,
    TransportFailure,
)
from .trust_root import TrustRootChain, check_not_older, extend_trust_root, verify_trust_root

__all__ = [
    "ATTRIBUTE_TYPES",
    "AUTO",
    "AnchoringError",
    "ApiProblem",
    "AsyncClient",
    "AsyncRecordedEvent",
    "AsyncRecorder",
    "AsyncStream",
    "AsyncStreamingTransport",
    "AsyncTransport",
    "Attachment",
    "Bundle",
    "BundleVerification",
    "CanaryFailed",
    "Checkpoint",
    "Client",
    "Completeness",
    "Conflict",
    "ConnectionFailed",
    "ContentHash",
    "Envelope",
    "EventInput",
    "EventRefused",
    "Evidence",
    "FileMonitorStore",
    "FolderInUse",
    "FollowedHead",
    "Forbidden",
    "Head",
    "InvalidInput",
    "KeptEvent",
    "LocalKey",
    "MemoryMonitorStore",
    "Monitor",
    "MonitorState",
    "MonitorStore",
    "NameFile",
    "NotFlushed",
    "NotFound",
    "OutcomeUnknown",
    "Payload",
    "PreparedClaimAnchor",
    "PreparedEventAnchor",
    "PreparedGrantAnchor",
    "PreparedRevocation",
    "ProvedScope",
    "RateLimited",
    "Receipt",
    "ReceiptFailure",
    "ReceiptReport",
    "RecordedEvent",
    "Recorder",
    "RecorderError",
    "RecorderProgress",
    "Renewal",
    "Request",
    "Response",
    "RetryPolicy",
    "Rollback",
    "Scope",
    "SemanticHashes",
    "Signer",
    "SigningFailed",
    "SplitView",
    "SpoolCorrupt",
    "SpoolFull",
    "SpoolWriteFailed",
    "Standing",
    "Step",
    "Stream",
    "StreamingTransport",
    "TimedOut",
    "Transport",
    "TransportFailure",
    "TrustRoot",
    "TrustRootChain",
    "Unauthorized",
    "Unavailable",
    "UnexpectedAnswer",
    "Unprocessable",
    "VerificationError",
    "VerifiedCheckpoint",
    "VerifiedReceipt",
    "Wait",
    "WitnessSignature",
    "__version__",
    "add_scopes",
    "attribute_type_of",
    "check_canaries",
    "check_not_older",
    "client_event_commit",
    "decode_leaf",
    "errors",
    "extend_trust_root",
    "inspect_bundle",
    "inspect_receipt",
    "leaf",
    "models",
    "parse_names",
    "prepare_claim_anchor",
    "prepare_event_anchor",
    "prepare_grant_anchor",
    "prepare_revocation",
    "signer_of",
    "verify_bundle",
    "verify_checkpoint",
    "verify_consistency",
    "verify_receipt",
    "verify_signature",
    "verify_trust_root",
]
