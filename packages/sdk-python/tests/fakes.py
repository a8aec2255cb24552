"""Transports without a network, and answers from docs/openapi.json, whose hashes and signatures are real."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from event_anchoring import Request, Response, TransportFailure

from .vectors import openapi

DOCUMENT = openapi()
Scripted = Union[Response, TransportFailure]
ORIGIN = DOCUMENT["paths"]["/healthz"]["get"]["responses"]["200"]["content"]["application/json"]["examples"]


def resolve(node: Any) -> Any:
    while isinstance(node, dict) and "$ref" in node:
        found: Any = DOCUMENT
        for part in node["$ref"].split("/")[1:]:
            found = found[part.replace("~1", "/")]
        node = found
    return node


def examples(path: str, method: str, status: int) -> Dict[str, Any]:
    content = resolve(DOCUMENT["paths"][path][method]["responses"][str(status)])["content"]
    of_type = next(iter(content.values()))
    return {name: resolve(example)["value"] for name, example in of_type["examples"].items()}


def example(path: str, method: str = "get", status: int = 200, name: Optional[str] = None) -> Any:
    found = examples(path, method, status)
    return copy.deepcopy(found[name] if name is not None else next(iter(found.values())))


def answer(body: Any, status: int = 200, **headers: str) -> Response:
    found = {"x-request-id": "from-the-service", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Response(status, found, body if isinstance(body, bytes) else json.dumps(body).encode())


def problem(code: str, status: int, **headers: str) -> Response:
    return answer(
        {"type": "about:blank", "title": code, "status": status, "detail": "no", "code": code}, status, **headers
    )


@dataclass
class FakeTransport:
    """Answers with what it is given, in order; the last one again and again."""

    script: List[Union[Scripted, Callable[[Request], Scripted]]]
    sent: List[Tuple[str, Request]] = field(default_factory=list)
    is_closed: bool = False

    def send(self, endpoint: str, request: Request) -> Response:
        step = self.script[min(len(self.sent), len(self.script) - 1)]
        self.sent.append((endpoint, request))
        outcome = step(request) if callable(step) else step
        if isinstance(outcome, TransportFailure):
            raise outcome
        return outcome

    def close(self) -> None:
        self.is_closed = True

    def bodies(self) -> List[Any]:
        return [None if request.body is None else json.loads(request.body) for _, request in self.sent]


class AsyncFakeTransport:
    """The same, to be awaited."""

    def __init__(self, *script: Union[Scripted, Callable[[Request], Scripted]]) -> None:
        self.fake = FakeTransport(list(script))

    async def send(self, endpoint: str, request: Request) -> Response:
        return self.fake.send(endpoint, request)

    async def close(self) -> None:
        self.fake.close()


def unreachable() -> TransportFailure:
    return TransportFailure("connection refused", was_sent=False)


def lost() -> TransportFailure:
    return TransportFailure("connection reset", was_sent=True)


def timed_out() -> TransportFailure:
    return TransportFailure("no answer", was_sent=True, is_timeout=True)
