"""A service for recorders: it anchors each client_event_id once, with receipts that hold together and prove nothing."""

from __future__ import annotations

import base64
import json
import stat
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Set, Union

from event_anchoring import Request, Response, TransportFailure

from . import ledger
from .fakes import answer, example

RECEIPT = example("/v1/event-anchors", "post", 201)["receipt"]
HEALTH = example("/healthz")
ORIGIN: str = HEALTH["origin_fingerprint"]
Outcome = Union[Response, TransportFailure]
#: What comes instead of an answer, or is made of it.
Fault = Callable[[Response], Outcome]


def problem(code: str, status: int) -> Dict[str, Any]:
    return {"type": "about:blank", "title": code, "status": status, "detail": "no", "code": code}


@dataclass
class Service:
    """A transport, and what a server would do."""

    anchors: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    batches: List[List[str]] = field(default_factory=list)
    faults: List[Optional[Fault]] = field(default_factory=list)
    #: Problems of single events, by their ids.
    problems: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    uncertified: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def _item(self, event: Any, origin: str) -> Dict[str, Any]:
        own_id = event["client_event_id"]
        if own_id in self.problems:
            return {"status": self.problems[own_id]["status"], "problem": self.problems[own_id]}
        is_known = own_id in self.anchors
        if not is_known:
            place = len(self.anchors)
            self.anchors[own_id] = ledger.event({**event, "origin_fingerprint": origin}, sequence=place + 6)
        anchor = self.anchors[own_id]
        assert anchor["event_hash"] == event["event_hash"]
        leaf = base64.b64encode(ledger.leaf_bytes(anchor)).decode()
        receipt = {**RECEIPT, "anchor_id": anchor["anchor_id"], "leaf": leaf}
        return {"status": 200, "anchor": anchor, "receipt": receipt, "replayed": is_known}

    def respond(self, body: Any) -> Response:
        events = body["events"]
        self.batches.append([event["client_event_id"] for event in events])
        items = [self._item(event, body["origin_fingerprint"]) for event in events]
        if self.uncertified > 0:
            self.uncertified -= 1
            items = [{**item, "receipt": None} for item in items]
        summary = {"total": len(items), "created": 0, "replayed": 0, "committed": len(items), "refused": 0}
        return answer({"results": items, "summary": summary})

    def send(self, endpoint: str, request: Request) -> Response:
        if request.target == "/healthz":
            return answer(HEALTH)
        with self.lock:
            fault = self.faults.pop(0) if self.faults else None
            body = json.loads(request.body or b"{}")
            outcome: Outcome = self.respond(body) if fault is None else fault(self.respond(body))
        if isinstance(outcome, TransportFailure):
            raise outcome
        return outcome

    def close(self) -> None:
        pass


class AsyncService:
    """The same, to be awaited."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def send(self, endpoint: str, request: Request) -> Response:
        return self.service.send(endpoint, request)

    async def close(self) -> None:
        self.service.close()


def serve(service: Service) -> ThreadingHTTPServer:
    """The service at a port of this host, for other processes. Whoever calls shuts it down."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.reply(Request("GET", self.path, (), None, 1))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self.reply(Request("POST", self.path, (), body, 1))

        def reply(self, request: Request) -> None:
            response = service.send("", request)
            self.send_response(response.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        def log_request(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server


def rights_below(folder: Path) -> Set[int]:
    """The modes of the folder, and of all that is in it."""
    return {stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")]}
