import { expect, test } from "@jest/globals";
import {
  Agent,
  Runner,
  Usage,
  setTraceProcessors,
  setTracingDisabled,
  tool,
  withGenerationSpan,
  withGuardrailSpan,
  withResponseSpan,
  withTrace,
} from "@openai/agents";
import type { Model } from "@openai/agents";
import { z } from "zod";
import { RecordingTracingProcessor } from "../src/index.ts";
import type { AgentsOptions } from "../src/index.ts";
import { Events, IRIS } from "./events.ts";

// The real Agents SDK, with a model on paper: it calls the tools that it is told to, and then says that it is done.

type Output = Awaited<ReturnType<Model["getResponse"]>>["output"];

function modelThatCalls(calls: readonly { readonly tool: string; readonly given: string }[]): Model {
  const answers: Output[] = calls.map(({ tool: name, given }, at) => [
    { type: "function_call", callId: `call ${at}`, name, status: "completed", arguments: given },
  ]);
  const done = { type: "output_text" as const, text: "done" };
  const said: Output = [{ type: "message", role: "assistant", status: "completed", content: [done] }];
  return {
    getResponse: () => Promise.resolve({ usage: new Usage(), output: answers.shift() ?? said }),
    getStreamedResponse: () => {
      throw new RangeError("nothing is streamed here");
    },
  };
}

const refund = tool({
  name: "refund",
  description: "refunds an order",
  parameters: z.object({ order: z.string() }),
  execute: ({ order }) => {
    if (order === "0") throw new RangeError("no such order");
    return `refunded ${order}`;
  },
});

// The SDK traces nothing where NODE_ENV is "test", unless it is told to.
setTracingDisabled(false);

async function recorded(agent: Agent, options: AgentsOptions = {}): Promise<Events> {
  const events = new Events();
  setTraceProcessors([new RecordingTracingProcessor(events, options)]);
  const { finalOutput } = await new Runner({}).run(agent, "refund them");
  expect(finalOutput).toBe("done");
  return events;
}

test("calls of tools are events, with the agent, and with the trace that they are found by", async () => {
  const calls = [
    { tool: "refund", given: '{"order":"4711"}' },
    { tool: "refund", given: '{"order":"0"}' },
  ];
  const agent = new Agent({ name: "billing", instructions: "", tools: [refund], model: modelThatCalls(calls) });
  const { seen } = await recorded(agent, { semanticAnchor: { irisRef: IRIS } });
  const common = { what: "tool.call", who: "billing", semanticAnchor: { irisRef: IRIS } };
  expect(seen).toMatchObject([
    { ...common, content: { tool: "refund", arguments: { order: "4711" }, result: "refunded 4711" } },
    { ...common, content: { tool: "refund", arguments: { order: "0" }, error: { message: expect.any(String) } } },
  ]);
  const [first, second] = seen.map(({ content }) => content);
  expect(first).toMatchObject({ trace_id: expect.stringMatching(/^trace_/u), duration_ms: expect.any(Number) });
  expect(second?.["trace_id"]).toBe(first?.["trace_id"]);
  expect(second?.["span_id"]).not.toBe(first?.["span_id"]);
  expect(seen[0]?.when).toBeInstanceOf(Date);
});

test("a handoff is an event; the tool behind it is called by the other agent", async () => {
  const desk = new Agent({
    name: "desk",
    instructions: "",
    tools: [refund],
    model: modelThatCalls([{ tool: "refund", given: '{"order":"1"}' }]),
  });
  const model = modelThatCalls([{ tool: "transfer_to_desk", given: "{}" }]);
  const { seen } = await recorded(new Agent({ name: "billing", instructions: "", handoffs: [desk], model }));
  expect(seen).toMatchObject([
    { what: "handoff", who: "billing", content: { from_agent: "billing", to_agent: "desk" } },
    { what: "tool.call", who: "desk", content: { tool: "refund" } },
  ]);
});

test("other spans are chosen; what the program says goes before nothing that the agent is", async () => {
  const agent = new Agent({ name: "billing", instructions: "", model: modelThatCalls([]) });
  const { seen } = await recorded(agent, { select: ({ spanData }) => spanData.type === "agent", who: "service" });
  expect(seen).toMatchObject([{ what: "openai_agents.agent", who: "billing", content: { data: { name: "billing" } } }]);
});

test("onError gets what cannot be recorded, and the agent goes on", async () => {
  const events = new Events();
  events.refusal = new Error("the spool is full");
  const errors: unknown[] = [];
  setTraceProcessors([new RecordingTracingProcessor(events, { onError: (error) => errors.push(error) })]);
  const model = modelThatCalls([{ tool: "refund", given: '{"order":"1"}' }]);
  const { finalOutput } = await new Runner({}).run(
    new Agent({ name: "billing", instructions: "", tools: [refund], model }),
    "refund it",
  );
  expect([finalOutput, errors]).toEqual(["done", [events.refusal]]);
});

test("guardrails and generations are events before the program goes on, without what is private", async () => {
  const events = new Events();
  const processor = new RecordingTracingProcessor(events, { select: () => true });
  setTraceProcessors([processor]);
  await withTrace("billing", async () => {
    await withGuardrailSpan(() => Promise.resolve(), { data: { name: "no refunds", triggered: true } });
    expect(events.seen).toHaveLength(1);
    await withGenerationSpan(() => Promise.resolve(), { data: { model: "small", output: [{ text: "done" }] } });
    await withResponseSpan(({ spanData }) => {
      Object.assign(spanData, { response_id: "r1", _input: "refund it" });
      return Promise.resolve();
    });
  });
  expect(events.seen).toMatchObject([
    { what: "guardrail", content: { guardrail: "no refunds", triggered: true } },
    { what: "openai_agents.generation", content: { data: { model: "small", output: [{ text: "done" }] } } },
    { what: "openai_agents.response" },
  ]);
  expect(events.seen[2]?.content["data"]).toEqual({ type: "response", response_id: "r1" });
  await processor.shutdown();
  expect(events.flushes).toBe(0);
  await processor.forceFlush();
  expect(events.flushes).toBe(1);
});
