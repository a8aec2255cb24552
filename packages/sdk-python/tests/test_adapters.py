"""The adapters, with the real frameworks: what each makes of what it sees."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

from event_anchoring import Envelope, Recorder, SpoolFull, VerificationError
from event_anchoring.adapters import RecordingHandler, RecordingMiddleware, RecordingProcessor

from .graphs import refunding_graph
from .service import Service
from .test_recorder import check_kept, client

IRIS = "ab" * 32
GRANT = "cd" * 32


class Kept:
    """A recorder and a service, and the envelopes that they have kept."""

    def __init__(self, folder: Path) -> None:
        self.service = Service()
        self._folder = folder
        self.recorder = Recorder.open(client(self.service), folder, batch_ms=1)

    def envelopes(self) -> List[Envelope]:
        """In the order in which they were recorded."""
        self.recorder.close()
        assert check_kept(self._folder, self.service) == len(self.service.anchors)
        paths = {path.stem: path for path in self._folder.glob("kept/*/*.json")}
        return [Envelope.parse(paths[own_id].read_bytes()) for own_id in self.service.anchors]

    def contents(self) -> List[Dict[str, Any]]:
        found = [envelope.content for envelope in self.envelopes()]
        return [content for content in found if isinstance(content, dict)]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    made.recorder.close(0)


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    logger = logging.Logger("billing")
    yield logger
    logger.handlers.clear()


def test_logging(kept: Kept, log: logging.Logger) -> None:
    log.addHandler(RecordingHandler(kept.recorder, logging.INFO, who="agent", semantic_anchor={"iris_ref": IRIS}))
    log.debug("not this one")
    log.info("refunded %s", "4711", extra={"amount": 19.5, "tags": {"b", "a"} & {"a"}, "nothing": None})
    try:
        raise ValueError("no such order")
    except ValueError:
        log.exception("failed")
    first, second = kept.envelopes()
    assert (first.what, first.who) == ("log", "agent")
    assert isinstance(first.content, dict)
    assert isinstance(second.content, dict)
    expected = {"level": "INFO", "logger": "billing", "message": "refunded 4711", "amount": 19.5, "tags": "{'a'}"}
    assert expected.items() <= first.content.items()
    assert {"args", "exc_info", "nothing"} & set(first.content) == set()
    assert second.content["exception"].endswith("ValueError: no such order")
    assert {anchor["semantic_anchor"]["iris_ref"] for anchor in kept.service.anchors.values()} == {IRIS}


def test_what_a_recorder_logs_itself_is_no_event(kept: Kept) -> None:
    handler = RecordingHandler(kept.recorder)
    record = logging.makeLogRecord({"msg": "HTTP Request", "threadName": "event-anchoring-recorder"})
    handler.handle(record)
    handler.handle(logging.makeLogRecord({"msg": "of the program", "threadName": "MainThread"}))
    assert [content["message"] for content in kept.contents()] == ["of the program"]


def test_logging_that_cannot_be_recorded(
    kept: Kept, log: logging.Logger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log.addHandler(RecordingHandler(kept.recorder))

    def full(*_: Any, **__: Any) -> None:
        raise SpoolFull(1)

    monkeypatch.setattr(kept.recorder, "record", full)
    log.info("refunded")
    assert "spool_full" in capsys.readouterr().err
    assert kept.contents() == []


def test_numbers_and_nesting_that_an_envelope_refuses_are_texts(kept: Kept, log: logging.Logger) -> None:
    log.addHandler(RecordingHandler(kept.recorder))
    deep: Any = "end"
    for _ in range(100):
        deep = [deep]
    log.info("odd", extra={"large": 2**60, "nan": float("nan"), "deep": deep, "bytes": b"x", "path": Path("a")})
    (content,) = kept.contents()
    assert (content["large"], content["nan"], content["bytes"], content["path"]) == (str(2**60), "nan", "b'x'", "a")


def test_structlog(kept: Kept) -> None:
    structlog = pytest.importorskip("structlog")
    drop: Exception = structlog.DropEvent()
    written: List[Dict[str, Any]] = []

    def write(_: Any, __: str, event_dict: Dict[str, Any]) -> str:
        written.append(dict(event_dict))
        raise drop

    processor = RecordingProcessor(kept.recorder, what="billing.log", who="agent")
    log = structlog.wrap_logger(structlog.PrintLogger(), processors=[processor, write]).bind(service="billing")
    log.warning("refund without receipt", order="4711", amount=19.5)
    (envelope,) = kept.envelopes()
    said = {"event": "refund without receipt", "service": "billing", "order": "4711", "amount": 19.5}
    assert (envelope.what, envelope.who, envelope.content) == ("billing.log", "agent", {"level": "warning", **said})
    assert written == [said]


def test_structlog_that_cannot_be_recorded(kept: Kept) -> None:
    errors: List[Exception] = []
    processor = RecordingProcessor(kept.recorder, what="", on_error=errors.append)
    assert processor(None, "info", {"event": "x"}) == {"event": "x"}
    assert [type(error) for error in errors] == [VerificationError]

    def stop(error: Exception) -> None:
        raise error

    with pytest.raises(VerificationError):
        RecordingProcessor(kept.recorder, what="", on_error=stop)(None, "info", {"event": "x"})


def test_fastapi(kept: Kept) -> None:
    fastapi = pytest.importorskip("fastapi")
    app = fastapi.FastAPI()

    def user(scope: Any) -> str:
        return str(dict(scope["headers"])[b"x-user"], "ascii")

    app.add_middleware(
        RecordingMiddleware, recorder=kept.recorder, who=user, select=lambda scope: scope["path"] != "/healthz"
    )

    @app.get("/orders/{order}")
    async def show(order: str) -> Dict[str, str]:
        return {"order": order}

    @app.post("/orders")
    async def fail() -> None:
        raise RuntimeError("of the program")

    @app.get("/healthz")
    async def healthz() -> None:
        return None

    assert asyncio.run(ask(app, "GET", "/orders/4711", b"token=secret")) == 200
    assert asyncio.run(ask(app, "GET", "/nothing")) == 404
    assert asyncio.run(ask(app, "GET", "/healthz")) == 200
    with pytest.raises(RuntimeError, match="of the program"):
        asyncio.run(ask(app, "POST", "/orders"))
    envelopes = kept.envelopes()
    assert {(envelope.what, envelope.who) for envelope in envelopes} == {("http.request", "ada")}
    contents = [envelope.content for envelope in envelopes if isinstance(envelope.content, dict)]
    assert [(each["method"], each["path"], each.get("status")) for each in contents[:2]] == [
        ("GET", "/orders/4711", 200),
        ("GET", "/nothing", 404),
    ]
    assert [contents[0]["route"], contents[0]["complete"]] == ["/orders/{order}", True]
    # The answer to what has failed is made outside of the middleware.
    assert (contents[2]["path"], contents[2]["complete"], "status" in contents[2]) == ("/orders", False, False)
    assert "secret" not in str(contents)


async def ask(app: Any, method: str, path: str, query: bytes = b"") -> int:
    """A request, as a server hands it to an application. Returns the status."""
    status: List[int] = []

    async def receive() -> Dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            status.append(message["status"])

    scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": [(b"x-user", b"ada")]}
    await app(scope, receive, send)
    return status[0]


def test_langchain(kept: Kept) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.tools import tool

    from event_anchoring.adapters.langchain import RecordingCallbackHandler

    @tool
    def refund(order: str) -> str:
        """Refunds an order."""
        if order == "0":
            raise ValueError("no such order")
        return f"refunded {order}"

    config: Any = {"callbacks": [RecordingCallbackHandler(kept.recorder, who="billing-agent")]}
    assert refund.invoke({"order": "4711"}, config) == "refunded 4711"
    call = {"name": "refund", "args": {"order": "4712"}, "id": "call-1", "type": "tool_call"}
    assert refund.invoke(call, config).content == "refunded 4712"
    with pytest.raises(ValueError, match="no such order"):
        refund.invoke({"order": "0"}, config)
    envelopes = kept.envelopes()
    assert {(envelope.what, envelope.who) for envelope in envelopes} == {("tool.call", "billing-agent")}
    contents = [envelope.content for envelope in envelopes if isinstance(envelope.content, dict)]
    assert [(each["tool"], each["arguments"], each.get("result"), each.get("error")) for each in contents] == [
        ("refund", {"order": "4711"}, "refunded 4711", None),
        ("refund", {"order": "4712"}, "refunded 4712", None),
        ("refund", {"order": "0"}, None, "no such order"),
    ]
    assert len({each["run_id"] for each in contents}) == 3


def test_langgraph(kept: Kept) -> None:
    pytest.importorskip("langgraph")
    from langchain_core.callbacks import BaseCallbackHandler

    from event_anchoring.adapters.langchain import RecordingCallbackHandler

    nodes: Dict[str, str] = {}

    class Nodes(BaseCallbackHandler):
        def on_chain_start(self, *_: Any, run_id: Any, **said: Any) -> None:
            nodes[said["name"]] = str(run_id)

    anchor = {"iris_ref": IRIS, "grant_ref": GRANT}
    handler = RecordingCallbackHandler(kept.recorder, who="billing-agent", semantic_anchor=anchor)
    ended = refunding_graph(["4711", "0"]).invoke({"messages": []}, {"callbacks": [handler, Nodes()]})
    asked, *answered = ended["messages"]
    assert len(asked.tool_calls) == 2
    assert [message.status for message in answered] == ["success", "error"]
    envelopes = kept.envelopes()
    assert [(envelope.what, envelope.who) for envelope in envelopes] == [("tool.call", "billing-agent")] * 2
    # The calls of one node run side by side.
    contents = {str(content["arguments"]["order"]): content for content in kept.contents()}
    assert (contents["4711"]["tool"], contents["4711"]["result"]) == ("refund", "refunded 4711")
    assert (contents["0"]["tool"], contents["0"]["error"]) == ("refund", "no such order")
    assert {content["parent_run_id"] for content in contents.values()} == {nodes["tools"]}
    assert len({content["run_id"] for content in contents.values()} - set(nodes.values())) == 2
    for event in kept.service.anchors.values():
        assert anchor.items() <= event["semantic_anchor"].items()


README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
SECTION = README.split("\n## Recording what frameworks see\n")[1].split("\n## ")[0]
BLOCKS = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
#: By the framework that they import first.
EXAMPLES: Dict[str, str] = {re.split(r"[ .\n]", lines)[1]: lines for lines in BLOCKS}
SAID: Dict[str, Dict[str, Any]] = {
    "logging": {"message": "refund without receipt", "order": "4711", "amount": 19.5},
    "structlog": {"event": "refund without receipt", "order": "4711", "amount": 19.5},
    "fastapi": {"path": "/orders", "status": 404},
    "langchain_core": {"tool": "refund", "arguments": {"order": "4711"}, "result": "refunded 4711"},
    "agents": {"tool": "refund", "arguments": {"order": "4711"}, "result": "refunded 4711"},
}


@pytest.mark.parametrize("framework", SAID)
def test_the_readme(kept: Kept, framework: str) -> None:
    pytest.importorskip(framework)
    names: Dict[str, Any] = {"recorder": kept.recorder}
    try:
        exec(compile(EXAMPLES[framework], "README.md", "exec"), names)
    finally:
        logging.getLogger("billing").handlers.clear()
        if framework == "structlog":
            names["structlog"].reset_defaults()
        if framework == "agents":
            names["set_trace_processors"]([])
    if framework == "fastapi":
        asyncio.run(ask(names["app"], "GET", "/orders"))
    (content,) = kept.contents()
    assert SAID[framework].items() <= content.items()
    own = [line for line in EXAMPLES[framework].splitlines() if line and not line.startswith(("import ", "from "))]
    assert len(own) <= 5
