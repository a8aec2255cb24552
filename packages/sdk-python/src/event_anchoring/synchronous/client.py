"""The client as a whole."""

from __future__ import annotations

from .events import EventCalls
from .node import NodeCalls
from .preparing import PreparingCalls
from .reading import ReadingCalls
from .records import RecordCalls
from .verdicts import VerdictCalls


class Client(NodeCalls, PreparingCalls, RecordCalls, EventCalls, ReadingCalls, VerdictCalls):
    """A client of the Event Anchoring API.

    Everything that it raises is an AnchoringError. It may be used by many threads at once; close it, or use it in a
    `with` block.

    Args:
        endpoints: base address of a node or a gateway, or several: a call that one cannot answer goes to the next.
        api_key: None for what needs none: healthz, readyz, limits, trust_root; and on a public log its checkpoints,
            tiles, entries, receipts and feed.
        origin_fingerprint: where to write; None: that of the node that answers healthz first, kept from then on.
        trust_root: a verified chain. If given, every receipt that comes with an answer is verified against it, and
            compared with the request, before the answer is returned: VerificationError.
        retry: when to ask again.
        timeout_s: for one try of a call that is no batch. The service answers a write within 5.25 s.
        batch_timeout_s: for one try of a batch. The service answers one within 15.25 s.
        allow_plain_http: allows `http://` to other hosts than this one. Anyone on the path can then read the
            API key, and use it.
        ssl_context: for a private CA.
        transport: instead of HTTP.
    """
