import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { sha256, verifyReceipt, verifyTrustRoot } from "@event-anchoring/sdk";
import { EventService } from "@event-anchoring/testkit/receipts";
import { FRAMEWORKS, readmeLines, runReadme } from "./readme-programs.ts";
import type { Framework } from "./readme-programs.ts";

// The lines of the README, with the real libraries, against a service on paper; cluster.test.ts has a real one.

let service: EventService;
beforeAll(async () => {
  service = await EventService.start();
});
afterAll(() => service.stop());

const REQUEST = {
  what: "http.request",
  who: "ada",
  content: { method: "GET", path: "/orders/4711", route: "/orders/:id", status: 200, complete: true },
};
const EVENTS: Readonly<Record<Framework, object>> = {
  pino: { what: "log", content: { level: 40, msg: "refund without receipt", order: "4711", amount: 19.5 } },
  "OpenTelemetry spans": {
    what: "tool.call",
    who: "billing",
    content: { name: "execute_tool refund", status: "unset", attributes: { "gen_ai.tool.name": "refund" } },
  },
  "OpenTelemetry logs": {
    what: "tool.call",
    who: "billing",
    content: { body: "refunded 4711", severity: "INFO", logger: "agent", attributes: { "gen_ai.tool.name": "refund" } },
  },
  Express: REQUEST,
  Fastify: REQUEST,
  MCP: {
    what: "tool.call",
    content: {
      tool: "refund",
      arguments: { order: "4711" },
      result: { content: [{ type: "text", text: "refunded 4711" }] },
    },
  },
  "OpenAI's Agents SDK": {
    what: "tool.call",
    who: "billing-agent",
    content: { tool: "refund", arguments: { order: "4711" }, result: "refunded 4711" },
  },
};

test.each(FRAMEWORKS)("%s: an event and its receipt, which verifies", async (framework) => {
  const { payload, envelope, receipt } = await runReadme(framework, service.endpoint, "key");
  expect(envelope).toMatchObject(EVENTS[framework]);
  const { document, rootThk } = service.trustRoot;
  const trustRoot = verifyTrustRoot({ documents: [document], pinnedRootThk: rootThk });
  expect(verifyReceipt(receipt, { trustRoot, eventHash: sha256(payload) }).cosigners).toHaveLength(2);
});

test("no example has more than five lines of its own", () => {
  const lines = FRAMEWORKS.map((framework) => {
    const own = readmeLines(framework).split("\n");
    return own.filter((line) => line !== "" && !line.startsWith("import ")).length;
  });
  expect(Math.max(...lines)).toBeLessThanOrEqual(5);
});
