import { createServer } from "node:http";
import type { Server } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { ApiMetrics, Proxies, PublicLog, RefusedError, serveWitness } from "@event-anchoring/api";
import { parseWitnessedLogs } from "@event-anchoring/control-contract";
import type { WitnessAnswer } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { ADD_CHECKPOINT_BYTES_MAX, bytesToHex } from "@event-anchoring/protocol";
import { ForeignLog } from "@event-anchoring/testkit/records";
import { FakeClock, silentLogger } from "./api-harness.ts";

const LOG = new ForeignLog("log.example/one");
const UNKNOWN = new ForeignLog("log.example/unknown");
const RATES = { addressRequestsPerSecond: 20, requestsPerSecond: 30 };

const clock = new FakeClock();
const metrics = new ApiMetrics({ outstanding: () => 0, stoppedReason: () => null, databaseUsage: async () => null });
/** What the control plane is asked, and what it answers next. */
let asked: Uint8Array[] = [];
let next: () => Promise<WitnessAnswer>;
let server: Server;
let url: string;

beforeAll(async () => {
  const service = {
    logs: parseWitnessedLogs(`logs/v0\nvkey ${LOG.vkey}\n`, nodeCrypto.sha256),
    controlPlane: {
      addCheckpoint: (body: Uint8Array) => {
        asked.push(body);
        return next();
      },
      cosignedCheckpoint: async (originHash: Uint8Array) =>
        bytesToHex(originHash) === "ab".repeat(32) ? LOG.checkpoint(3) : null,
    },
    callers: new PublicLog({ rates: RATES, proxies: new Proxies([]), clock }),
    crypto: nodeCrypto,
  };
  server = createServer((request, response) => {
    const isServed = serveWitness(request, response, service, { clock, logger: silentLogger, metrics });
    if (!isServed) response.writeHead(418).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  clock.offsetMs += 60_000;
  asked = [];
  next = async () => ({ kind: "cosigned", lines: "\u2014 witness AAAAAAA=\n" });
});

function post(body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/witness/add-checkpoint`, { method: "POST", body, headers });
}

describe("add-checkpoint", () => {
  test("passes on what a listed log has signed, and answers the lines", async () => {
    const body = LOG.request(3, 8);
    const answer = await post(body);
    expect([answer.status, await answer.text()]).toEqual([200, "\u2014 witness AAAAAAA=\n"]);
    expect(asked.map((bytes) => Buffer.from(bytes).toString())).toEqual([body]);
  });

  test("answers 409 as the standard has it", async () => {
    next = async () => ({ kind: "size_differs", treeSize: 20_852_014 });
    const answer = await post(LOG.request(3, 8));
    expect(answer.status).toBe(409);
    expect(answer.headers.get("content-type")).toBe("text/x.tlog.size");
    expect(await answer.text()).toBe("20852014\n");
  });

  test.each([
    ["malformed", 400],
    ["untrusted", 403],
    ["log_unknown", 404],
    ["inconsistent", 422],
  ] as const)("answers what the control plane calls %s with %i", async (kind, status) => {
    next = async () => ({ kind });
    expect((await post(LOG.request(3, 8))).status).toBe(status);
  });

  test.each([
    ["another body", "hello", 400],
    ["another log", UNKNOWN.request(0, 3), 404],
    ["a bad signature", LOG.request(0, 3).replace("\n3\n", "\n4\n"), 403],
    ["too many bytes", "x".repeat(ADD_CHECKPOINT_BYTES_MAX + 1), 413],
  ])("answers %s without the control plane", async (_, body, status) => {
    expect((await post(body)).status).toBe(status);
    expect(asked).toEqual([]);
  });

  test("takes any type of content, and no encoding", async () => {
    for (const type of ["text/plain", "application/octet-stream", "application/json"]) {
      expect((await post(LOG.request(0, 3), { "content-type": type })).status).toBe(200);
    }
    expect((await post(LOG.request(0, 3), { "content-encoding": "gzip" })).status).toBe(415);
  });

  test("says when to come back: a log over its budget, a control plane that is away or busy", async () => {
    next = async () => ({ kind: "limited", retryAfterMs: 2500 });
    const limited = await post(LOG.request(3, 8));
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "3"]);
    for (const code of ["unavailable", "overloaded"] as const) {
      next = () => Promise.reject(new RefusedError(code, "for the log", 1000));
      const answer = await post(LOG.request(3, 8));
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(await answer.text()).not.toContain("for the log");
    }
  });

  test("limits each address, whatever it sends", async () => {
    clock.stop();
    const statuses: number[] = [];
    for (let count = 0; count < 22; count++) statuses.push((await post("junk")).status);
    clock.go();
    expect(statuses.filter((status) => status === 400)).toHaveLength(20);
    expect(statuses.slice(20)).toEqual([429, 429]);
  });

  test("is a POST", async () => {
    const answer = await fetch(`${url}/witness/add-checkpoint`);
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

describe("what was cosigned", () => {
  test("is shown by the hash of the log's origin", async () => {
    const answer = await fetch(`${url}/witness/${"ab".repeat(32)}/checkpoint`);
    expect([answer.status, await answer.text()]).toEqual([200, LOG.checkpoint(3)]);
    expect((await fetch(`${url}/witness/${"cd".repeat(32)}/checkpoint`)).status).toBe(404);
  });

  test.each(["/witness/", "/witness/add-checkpoint/", `/witness/${"AB".repeat(32)}/checkpoint`, "/healthz"])(
    "%s is not the witness's",
    async (path) => {
      expect((await fetch(url + path)).status).toBe(418);
    },
  );
});
