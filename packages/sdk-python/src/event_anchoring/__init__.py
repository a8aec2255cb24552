"""Client of the Event Anchoring API, and an offline verifier of its receipts and bundles.

    from event_anchoring import Client

    with Client("https://anchor.example", api_key) as client:
        created = client.create_event_anchor(sha256_of_the_event)
        created.receipt.text()      # keep it: it verifies offline, years later

- `Client` and `AsyncClient`: every route of the API, the same methods in both, from the modules of `synchronous` and
  `asynchronous`.
- `prepare_claim_anchor`, `prepare_grant_anchor`, `prepare_event_anchor`, `prepare_revocation`: the exact bytes that
  each party signs, offline. `LocalKey`, `CallbackSigner`: who signs them.
- `Scope`: what a grant allows, as statements that can be disclosed one by one.
- `verify_trust_root`, `verify_receipt`, `verify_checkpoint`, `verify_consistency`, `verify_bundle`, `Monitor`: without
  network, against a pinned trust root. What is not good raises; `inspect_receipt` and `inspect_bundle` report on it.

Errors are one tree, each with a stable `code`, `request_id` and `retry_after`:

    AnchoringError
    ├── InvalidInput, SigningFailed
    ├── ConnectionFailed, TimedOut, OutcomeUnknown, UnexpectedAnswer
    ├── ApiProblem: Unauthorized, Forbidden, NotFound, Conflict, Unprocessable, RateLimited, Unavailable
    └── VerificationError: Rollback, SplitView, CanaryFailed

`event_anchoring.errors` says what each of them means.
"""

from __future__ import annotations

from . import errors, leaf, models
from ._bundle_result import ProvedScope
from ._bundle_text import Bundle, parse_bundle
from ._exchange import RetryPolicy
from ._following import FollowedHead
from ._options import AUTO, EventInput, Wait
from ._receipt_result import ReceiptFailure, ReceiptReport, VerifiedReceipt
from ._steps import Step
from ._tags import client_event_commit
from ._trust_root_text import TrustRoot
from ._version import __version__
from ._witnessing import WitnessSignature
from .asynchronous.client import AsyncClient
from .bundle import BundleVerification, Completeness, Standing, add_scopes, inspect_bundle, verify_bundle
from .ed25519 import verify_signature
from .errors import (
    AnchoringError,
    ApiProblem,
    CanaryFailed,
    Conflict,
    ConnectionFailed,
    Forbidden,
    InvalidInput,
    NotFound,
    OutcomeUnknown,
    RateLimited,
    Rollback,
    SigningFailed,
    SplitView,
    TimedOut,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
    Unprocessable,
    VerificationError,
)
from .leaf import SemanticHashes, decode_leaf
from .monitor import Evidence, FileStore, Head, MemoryStore, Monitor, MonitorState, MonitorStore
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
from .proof import Receipt, read_receipt
from .receipt import (
    CheckpointVerification,
    Renewal,
    inspect_receipt,
    verify_checkpoint,
    verify_consistency,
    verify_receipt,
)
from .scope import Scope
from .signing import CallbackSigner, LocalKey, Signer
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
from .trust_root import (
    TrustRootChain,
    check_not_older,
    extend_trust_root,
    parse_trust_root,
    verify_trust_root,
)

__all__ = [
    "AUTO",
    "AnchoringError",
    "ApiProblem",
    "AsyncClient",
    "AsyncStream",
    "AsyncStreamingTransport",
    "AsyncTransport",
    "Bundle",
    "BundleVerification",
    "CallbackSigner",
    "CanaryFailed",
    "Checkpoint",
    "CheckpointVerification",
    "Client",
    "Completeness",
    "Conflict",
    "ConnectionFailed",
    "EventInput",
    "Evidence",
    "FileStore",
    "FollowedHead",
    "Forbidden",
    "Head",
    "InvalidInput",
    "LocalKey",
    "MemoryStore",
    "Monitor",
    "MonitorState",
    "MonitorStore",
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
    "VerifiedReceipt",
    "Wait",
    "WitnessSignature",
    "__version__",
    "add_scopes",
    "check_not_older",
    "client_event_commit",
    "decode_leaf",
    "errors",
    "extend_trust_root",
    "inspect_bundle",
    "inspect_receipt",
    "leaf",
    "models",
    "parse_bundle",
    "parse_trust_root",
    "prepare_claim_anchor",
    "prepare_event_anchor",
    "prepare_grant_anchor",
    "prepare_revocation",
    "read_receipt",
    "verify_bundle",
    "verify_checkpoint",
    "verify_consistency",
    "verify_receipt",
    "verify_signature",
    "verify_trust_root",
]
