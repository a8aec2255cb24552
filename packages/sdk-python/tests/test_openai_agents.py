"""The tracing processor of OpenAI's Agents SDK, with the real SDK and a model on paper."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

agents = pytest.importorskip("agents")

from agents import (  # noqa: E402
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    Usage,
    custom_span,
    function_span,
    function_tool,
    guardrail_span,
    set_trace_processors,
    trace,
)
from openai.types.responses import (  # noqa: E402
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from event_anchoring.adapters.openai_agents import RecordingTracingProcessor  # noqa: E402

from .test_adapters import IRIS, Kept  # noqa: E402


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    set_trace_processors([])
    made.recorder.close(0)


class Paper(Model):
    """A model that gives the answers it was made with, one after the other."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        return ModelResponse(output=[self._answers.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def calling(tool: str, arguments: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(name=tool, arguments=arguments, call_id=f"{tool} {arguments}", type="function_call")


def saying(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(id="1", content=[part], role="assistant", status="completed", type="message")


@function_tool
def refund(order: str) -> str:
    """Refunds an order."""
    if order == "0":
        raise ValueError("no such order")
    return f"refunded {order}"


def test_a_run_of_two_agents(kept: Kept) -> None:
    set_trace_processors([RecordingTracingProcessor(kept.recorder, semantic_anchor={"iris_ref": IRIS})])
    answers = (calling("refund", '{"order": "4711"}'), calling("refund", '{"order": "0"}'), saying("done"))
    billing = Agent(name="billing", tools=[refund], model=Paper(*answers))
    desk = Agent(name="desk", handoffs=[billing], model=Paper(calling("transfer_to_billing", "{}")))
    assert asyncio.run(Runner.run(desk, "refund 4711 and 0")).final_output == "done"

    envelopes = kept.envelopes()
    assert [(each.what, each.who) for each in envelopes] == [
        ("handoff", "desk"),
        ("tool.call", "billing"),
        ("tool.call", "billing"),
    ]
    contents: List[Dict[str, Any]] = [each.content for each in envelopes if isinstance(each.content, dict)]
    assert (contents[0]["from_agent"], contents[0]["to_agent"]) == ("desk", "billing")
    expected = {"tool": "refund", "arguments": {"order": "4711"}, "result": "refunded 4711"}
    assert expected.items() <= contents[1].items()
    assert "error" not in contents[1]
    # The SDK leaves out what a tool has raised, and says which it was.
    assert contents[2]["error"]["data"]["tool_name"] == "refund"
    assert len({each["trace_id"] for each in contents}) == 1
    assert len({each["span_id"] for each in contents}) == 3
    assert all(each["duration_ms"] >= 0 and each["parent_span_id"] for each in contents)
    assert {anchor["semantic_anchor"]["iris_ref"] for anchor in kept.service.anchors.values()} == {IRIS}


def test_what_a_run_keeps_to_itself_is_not_recorded(kept: Kept) -> None:
    set_trace_processors([RecordingTracingProcessor(kept.recorder)])
    billing = Agent(name="billing", tools=[refund], model=Paper(calling("refund", '{"order": "4711"}'), saying("done")))
    config = RunConfig(trace_include_sensitive_data=False)
    asyncio.run(Runner.run(billing, "refund 4711", run_config=config))
    (content,) = kept.contents()
    assert content["tool"] == "refund"
    assert "4711" not in str(content)


def test_spans_without_an_agent_and_others_that_are_selected(kept: Kept) -> None:
    processor = RecordingTracingProcessor(kept.recorder, who="desk", select=lambda _: True)
    set_trace_processors([processor])
    with trace("billing"):
        with function_span("refund", input="order 4711"):
            pass
        with guardrail_span("no refunds at night", triggered=True):
            pass
        with custom_span("lookup", {"order": "4711"}):
            pass
    processor.force_flush()
    assert len(kept.service.anchors) == 3
    envelopes = kept.envelopes()
    types = ["tool.call", "guardrail", "openai_agents.custom"]
    assert [(each.what, each.who) for each in envelopes] == [(what, "desk") for what in types]
    contents = [each.content for each in envelopes if isinstance(each.content, dict)]
    assert contents[0]["arguments"] == "order 4711"
    assert (contents[1]["guardrail"], contents[1]["triggered"]) == ("no refunds at night", True)
    assert contents[2]["data"] == {"type": "custom", "name": "lookup", "data": {"order": "4711"}}


def test_what_cannot_be_recorded_does_not_stop_the_agent(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    errors: List[Exception] = []
    set_trace_processors([RecordingTracingProcessor(kept.recorder, on_error=errors.append)])
    full = ValueError("the spool is full")

    def refuse(*_: Any, **__: Any) -> None:
        raise full

    monkeypatch.setattr(kept.recorder, "record", refuse)
    billing = Agent(name="billing", tools=[refund], model=Paper(calling("refund", '{"order": "4711"}'), saying("done")))
    assert asyncio.run(Runner.run(billing, "refund 4711")).final_output == "done"
    assert errors == [full]
