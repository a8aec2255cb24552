import { Writable } from "node:stream";
import { expect, test } from "@jest/globals";
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { pino } from "pino";
import { recordCalls, recordTool, recordingDestination } from "../src/index.ts";
import { Events, IRIS } from "./events.ts";

// What each adapter makes of the real library's calls. readme.test.ts has real recorders behind them.

test("pino: each line is an event, with its time; a formatted one is a text", () => {
  const events = new Events();
  const names: string[] = [];
  const destination = recordingDestination(events, {
    who: "billing",
    semanticAnchor: { irisRef: IRIS },
    select: ({ level }) => level !== 20,
    onRecorded: ({ clientEventId }) => names.push(clientEventId),
  });
  const log = pino({ level: "debug" }, destination).child({ service: "billing" });
  log.debug("not this one");
  log.info({ order: "4711" }, "refunded");
  log.error(new Error("no such order"));
  destination.write("INFO refunded\n");
  expect(events.seen.map(({ content }) => content)).toMatchObject([
    { level: 30, service: "billing", order: "4711", msg: "refunded" },
    { level: 50, err: { type: "Error", message: "no such order" } },
    { text: "INFO refunded" },
  ]);
  const [first] = events.seen;
  expect(first).toMatchObject({ what: "log", who: "billing", semanticAnchor: { irisRef: IRIS } });
  expect(first?.when).toEqual(new Date(Number(first?.content["time"])));
  expect(names).toEqual(["event 1", "event 2", "event 3"]);
});

test("pino: what cannot be recorded is told, and logging goes on or does not", () => {
  const events = new Events();
  const errors: unknown[] = [];
  events.refusal = new Error("the spool is full");
  pino(recordingDestination(events, { onError: (error) => errors.push(error) })).info("on");
  expect(errors).toEqual([events.refusal]);
  const strict = recordingDestination(events, {
    onError: (error) => {
      throw error;
    },
  });
  expect(() => pino(strict).info("off")).toThrow("the spool is full");
  // It is good for pino's other ways to write, too.
  const plain: Writable = new Writable({ write: (_chunk, _encoding, done) => done() });
  events.refusal = null;
  pino({}, pino.multistream([plain, recordingDestination(events)])).info("both");
  expect(events.seen).toHaveLength(1);
});

test("MCP: calls of a tool are events, on both sides", async () => {
  const [served, called] = [new Events(), new Events()];
  const server = new McpServer({ name: "billing", version: "1.0.0" });
  const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });
  server.registerTool(
    "now",
    {},
    recordTool(served, "now", () => text("10:00")),
  );
  const failing = recordTool(
    served,
    "refund",
    () => {
      throw new Error("no such order");
    },
    { who: "billing", content: ({ tool, error }) => ({ tool, error }) },
  );
  server.registerTool("refund", {}, failing);
  const client = new McpClient({ name: "agent", version: "1.0.0" });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  const callTool = recordCalls(called, client.callTool.bind(client), { what: "call" });
  await callTool({ name: "now" });
  expect(await callTool({ name: "refund", arguments: { order: "4711" } })).toMatchObject({ isError: true });
  await client.close();
  await expect(callTool({ name: "now" })).rejects.toThrow("Not connected");

  expect(served.seen).toMatchObject([
    { what: "tool.call", content: { tool: "now", arguments: {}, result: text("10:00") } },
    { who: "billing", content: { tool: "refund", error: "no such order" } },
  ]);
  expect(called.seen).toMatchObject([
    { what: "call", content: { tool: "now", result: text("10:00") } },
    { what: "call", content: { tool: "refund", arguments: { order: "4711" }, result: { isError: true } } },
    { what: "call", content: { tool: "now", error: "Not connected" } },
  ]);
});
