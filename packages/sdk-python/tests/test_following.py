"""The feed of an origin, at servers that end it, repeat themselves, are slow, or lie."""

from __future__ import annotations

import asyncio
import json
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from event_anchoring import (
    AnchoringError,
    AsyncClient,
    Client,
    FollowedHead,
    Forbidden,
    Head,
    InvalidInput,
    Rollback,
    SplitView,
    UnexpectedAnswer,
    VerificationError,
)
from event_anchoring._event_stream import EventStream, ServerSentEvent
from event_anchoring.merkle import interior_hash

from .fakes import FakeTransport, answer
from .test_monitor import CHAIN, DOCUMENT, FOUR, FROM_2, FROM_3, ORIGIN, PIN, leaves_of, root_of, signed

Step = Callable[[BaseHTTPRequestHandler], None]
OTHER = leaves_of(4, b"other")
FROM_2_TO_3 = [FOUR[2]]


def head_text(leaves: List[bytes], start: Optional[int], proof: List[bytes], cosigners: str = "ab") -> bytes:
    size = len(leaves)
    consistency: Optional[Dict[str, Any]] = None
    if start is not None:
        consistency = {"from_size": start, "tree_size": size, "proof": [b64encode(each).decode() for each in proof]}
    data = {"tree_size": size, "checkpoint": signed(leaves, cosigners), "consistency": consistency}
    return f"id: {size}\nevent: head\ndata: {json.dumps(data)}\n\n".encode()


TWO = head_text(FOUR[:2], None, [])
THREE = head_text(FOUR[:3], 2, FROM_2_TO_3)
FOUR_FROM_3 = head_text(FOUR, 3, FROM_3)
FOUR_FROM_2 = head_text(FOUR, 2, FROM_2)


def begin(handler: BaseHTTPRequestHandler, *texts: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.end_headers()
    for text in (b"retry: 1000\n\n:\n\n", *texts):
        handler.wfile.write(text)
    handler.wfile.flush()


class Node:
    """Answers each request for a feed by the next step, and the last again and again."""

    def __init__(self) -> None:
        self.steps: List[Step] = []
        self.asked: List[Dict[str, str]] = []
        self.released = threading.Event()
        node = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                """Says nothing."""

            def do_GET(self) -> None:
                if self.path == "/v1/trust-root":
                    self.refuse(200, {**version, "chain": [version]})
                    return
                node.asked.append({**{name.lower(): value for name, value in self.headers.items()}, "path": self.path})
                node.steps[min(len(node.asked), len(node.steps)) - 1](self)

            def refuse(self, status: int, body: Any, **headers: str) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(text)

        version = {"version": 1, "root_thk": PIN.hex(), "document": DOCUMENT}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def shows(self, *texts: bytes) -> Step:
        def step(handler: BaseHTTPRequestHandler) -> None:
            begin(handler, *texts)
            self.released.wait(10)

        return step

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def ends(*texts: bytes) -> Step:
    return lambda handler: begin(handler, *texts)


def refuses(status: int, code: str, **headers: str) -> Step:
    return lambda handler: handler.refuse(status, {"code": code, "detail": code}, **headers)  # type: ignore[attr-defined]


@pytest.fixture
def node() -> Iterator[Node]:
    serving = Node()
    yield serving
    serving.close()


class Run:
    """What came of following: heads, and the error that has ended it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.slept: List[float] = []
        self.heads: List[FollowedHead] = []
        self.error: Optional[AnchoringError] = None
        monkeypatch.setattr("event_anchoring.synchronous.base.time.sleep", self.slept.append)

        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        self.sleep = sleep

    @property
    def sizes(self) -> List[Tuple[Optional[int], int]]:
        return [(head.previous_tree_size, head.tree_size) for head in self.heads]

    def follow_sync(self, endpoints: List[str], count: int, **options: Any) -> None:
        with Client(endpoints, "the-api-key", origin_fingerprint=ORIGIN, trust_root=CHAIN) as client:
            client._session.chance = lambda: 1.0
            try:
                for head in client.follow_heads(**options):
                    self.heads.append(head)
                    if len(self.heads) == count:
                        break
            except AnchoringError as error:
                self.error = error

    def follow_async(self, endpoints: List[str], count: int, **options: Any) -> None:
        async def run() -> None:
            async with AsyncClient(endpoints, "the-api-key", origin_fingerprint=ORIGIN, trust_root=CHAIN) as client:
                client._session.chance = lambda: 1.0
                try:
                    async for head in client.follow_heads(**options):
                        self.heads.append(head)
                        if len(self.heads) == count:
                            break
                except AnchoringError as error:
                    self.error = error

        asyncio.run(run())


@pytest.fixture(params=["sync", "async"])
def run(request: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Run(monkeypatch)
    if request.param == "async":
        monkeypatch.setattr("event_anchoring.asynchronous.base.asyncio.sleep", made.sleep)
    follow = made.follow_sync if request.param == "sync" else made.follow_async
    made.follow = follow  # type: ignore[attr-defined]
    return made


def test_each_head_is_verified_and_proved_from_the_one_before(node: Node, run: Any) -> None:
    node.steps = [node.shows(TWO, THREE + b":\n\n", FOUR_FROM_3)]
    run.follow([node.endpoint], 3)
    assert run.sizes == [(None, 2), (2, 3), (3, 4)]
    assert run.heads[2].root_hash == root_of(FOUR)
    assert run.heads[2].verified.origin_fingerprint == ORIGIN
    (asked,) = node.asked
    assert asked["path"] == f"/v1/origins/{ORIGIN.hex()}/feed"
    assert (asked["authorization"], asked["accept"]) == ("Bearer the-api-key", "text/event-stream")
    assert "last-event-id" not in asked


def test_it_goes_on_after_the_last_head_and_gives_none_twice(node: Node, run: Any) -> None:
    end = b'event: end\ndata: {"code":"unavailable"}\n\n'
    node.steps = [ends(TWO, THREE[:-9]), ends(THREE + end), node.shows(THREE, FOUR_FROM_3)]
    run.follow([node.endpoint], 3)
    assert run.sizes == [(None, 2), (2, 3), (3, 4)]
    assert [asked.get("last-event-id") for asked in node.asked] == [None, "2", "3"]
    assert run.slept == [0.25, 0.25]


def test_it_begins_after_a_head_that_was_held(node: Node, run: Any) -> None:
    node.steps = [node.shows(FOUR_FROM_2)]
    run.follow([node.endpoint], 1, after=Head(2, root_of(FOUR[:2]), ""))
    assert run.sizes == [(2, 4)]
    assert node.asked[0]["last-event-id"] == "2"


def test_pauses_grow_and_are_as_long_as_the_node_asks(node: Node, run: Any) -> None:
    busy = refuses(503, "overloaded")
    node.steps = [ends(), busy, refuses(429, "rate_limited", retry_after="7"), busy, node.shows(TWO)]
    run.follow([node.endpoint], 1)
    assert (len(run.heads), run.slept) == (1, [0.25, 0.5, 7.0, 2.0])


def test_it_gives_up_if_nobody_opens_a_feed_at_all(node: Node, run: Any) -> None:
    node.steps = [refuses(503, "no_leader")]
    run.follow([node.endpoint, "http://127.0.0.1:1"], 1)
    assert run.error.code == "no_leader"
    assert len(run.slept) == 4


def test_a_silent_node_is_left_and_one_that_is_slow_is_not(node: Node, run: Any) -> None:
    def slow(handler: BaseHTTPRequestHandler) -> None:
        begin(handler)
        text = TWO.replace(b"\n", b"\r\n")
        for at in range(0, len(text), 40):
            handler.wfile.write(text[at : at + 40])
            handler.wfile.flush()
        node.released.wait(10)

    node.steps = [node.shows(), slow]
    run.follow([node.endpoint], 1, silence_s=0.4)
    assert (run.sizes, run.slept) == ([(None, 2)], [0.25])


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        (head_text(FOUR, 2, FROM_2, "a"), VerificationError, "quorum_not_met"),
        (FOUR_FROM_2.replace(b64encode(root_of(FOUR)), b64encode(bytes(32))), VerificationError, "signature_invalid"),
        (head_text(OTHER, 2, [interior_hash(OTHER[2], OTHER[3])]), SplitView, "split_view"),
        (FOUR_FROM_2 + head_text(OTHER, 2, FROM_2), SplitView, "split_view"),
        (FOUR_FROM_2 + THREE, Rollback, "rollback"),
        (FOUR_FROM_3, UnexpectedAnswer, "answer_malformed"),
        (head_text(FOUR, None, []), UnexpectedAnswer, "answer_malformed"),
        (b"event: head\ndata: {\n\n", UnexpectedAnswer, "answer_malformed"),
        (b"event: head\ndata: {}\n\n", UnexpectedAnswer, "answer_malformed"),
        (b"data: " + b"x" * 300_000, UnexpectedAnswer, "answer_malformed"),
    ],
)
def test_a_feed_that_lies(node: Node, run: Any, text: bytes, kind: Any, code: str) -> None:
    node.steps = [node.shows(TWO, text)]
    run.follow([node.endpoint], 9)
    assert isinstance(run.error, kind)
    assert run.error.code == code


@pytest.mark.parametrize(
    ("status", "code", "kind"), [(403, "scope_missing", Forbidden), (409, "from_size_ahead", Rollback)]
)
def test_a_refusal_is_raised_and_one_to_know_what_was_seen_is_a_rollback(
    node: Node, run: Any, status: int, code: str, kind: Any
) -> None:
    node.steps = [ends(TWO), refuses(status, code)]
    run.follow([node.endpoint], 9)
    assert isinstance(run.error, kind)
    assert run.sizes == [(None, 2)]


def test_it_needs_a_trust_root_and_a_transport_that_can_stream() -> None:
    with pytest.raises(InvalidInput, match="trust_root"):
        next(iter(Client("http://127.0.0.1:1", origin_fingerprint=ORIGIN).follow_heads()))
    deaf = Client("http://127.0.0.1:1", trust_root=CHAIN, transport=FakeTransport([answer({})]))
    with pytest.raises(InvalidInput, match="transport"):
        next(iter(deaf.follow_heads()))


def test_an_event_stream_is_read_alike_wherever_it_is_cut() -> None:
    text = "\ufeff:x\r\rdata: a\r\ndata:b\n\nid: 9\nevent: é\rdata\rdata:  c\r\n\r\nevent: none\n\ndata: d".encode()
    for at in range(1, len(text)):
        stream = EventStream()
        events = stream.push(text[:at]) + stream.push(text[at:])
        assert events == [ServerSentEvent("message", "a\nb"), ServerSentEvent("é", "\n c")]
