import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "@jest/globals";
import { signedInAdvance } from "../src/load/parties.ts";
import { LoadGenerator } from "../src/load/load-generator.ts";
import type { Workload } from "../src/load/load-generator.ts";
import { measureLoad, usageBetween } from "../src/load/measure-load.ts";
import { serviceCpu } from "../src/figures/rows.ts";
import type { Sight } from "../src/load/measure-load.ts";
import { PauseWatch } from "../src/load/pause-watch.ts";
import { median, percentile } from "../src/figures/percentile.ts";
import { ownGroup, readCpu, readPeaksMb } from "@event-anchoring/testkit/overload";
import { recordTimesUs } from "../src/scenarios/record-calls.ts";
import { isSteady, spread } from "../src/load/steadiness.ts";
import type { Stretch } from "../src/load/steadiness.ts";

describe("percentile", () => {
  test("is the nearest rank", () => {
    const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
    expect([0, 0.001, 0.5, 0.99, 0.991, 1].map((p) => percentile(hundred, p))).toEqual([1, 1, 50, 99, 100, 100]);
    expect([0, 0.5, 1].map((p) => percentile([7], p))).toEqual([7, 7, 7]);
    expect(median([9, 1, 5, 3])).toBe(3);
  });

  test("has no value for no values, nor for a share that does not exist", () => {
    expect(() => percentile([], 0.5)).toThrow(RangeError);
    expect(() => median([])).toThrow(RangeError);
    expect(() => percentile([1, 2], 1.5)).toThrow(RangeError);
  });
});

describe("a load is steady", () => {
  const at = (ratePerSecond: number, cpuMsEach: number | null = null): Stretch => ({
    requests: 1000,
    ratePerSecond,
    cpuMsEach,
  });

  test("when the newest three stretches are alike in rate and in cost", () => {
    expect(isSteady([at(1000), at(950), at(901)])).toBe(true);
    expect(isSteady([at(100), at(1000), at(950), at(1000)])).toBe(true);
    expect(isSteady([at(1000, 0.5), at(1000, 0.46), at(1000, 0.5)])).toBe(true);
  });

  test("and not before", () => {
    expect(isSteady([])).toBe(false);
    expect(isSteady([at(1000), at(1000)])).toBe(false);
    expect(isSteady([at(1000), at(950), at(898)])).toBe(false);
    expect(isSteady([at(1000), at(1000), at(1000), at(500)])).toBe(false);
    expect(isSteady([at(0), at(0), at(0)])).toBe(false);
    // The rate of one client, who waits, is the same while what it costs still falls.
    expect(isSteady([at(200, 0.9), at(200, 0.7), at(200, 0.6)])).toBe(false);
  });

  test("or differ by one answer, where answers are few", () => {
    const few = (...counts: readonly number[]): Stretch[] =>
      counts.map((requests) => ({ requests, ratePerSecond: requests * 1000, cpuMsEach: null }));
    expect([few(10, 9, 9), few(3, 2, 3), few(1, 1, 1)].map(isSteady)).toEqual([true, true, true]);
    expect([few(10, 7, 8), few(3, 1, 2), few(0, 0, 0)].map(isSteady)).toEqual([false, false, false]);
  });

  test("spread is a share of the largest", () => {
    expect([spread([]), spread([4]), spread([8, 10, 9]), spread([0, 0])]).toEqual([0, 0, 0.2, 1]);
  });
});

describe("PauseWatch", () => {
  test("remembers the longest standstill that ended", () => {
    let [count, now] = [0, 0];
    const watch = new PauseWatch(
      () => count,
      () => now,
    );
    for (const [at, seen] of [
      [10, 1],
      [400, 1],
      [510, 2],
      [520, 3],
      [9000, 3],
    ] as const) {
      [now, count] = [at, seen];
      watch.look();
    }
    expect(watch.stop()).toBe(500);
  });
});

describe("what the processes used", () => {
  test("is read for this process, and for none that is not there", () => {
    if (process.platform !== "linux") return;
    const read = readCpu([ownGroup()]);
    expect(read?.ms["client"]).toBeGreaterThan(0);
    expect(read?.machineMs).toBeGreaterThan(read?.ms["client"] ?? Number.POSITIVE_INFINITY);
    expect(readPeaksMb([ownGroup()])?.["client"]).toBeGreaterThan(10);
    expect(readCpu([{ kind: "api", pids: [2 ** 30], hasChildren: false }])).toBeNull();
    expect(readCpu([{ kind: "postgres", pids: [2 ** 30], hasChildren: true }])).toBeNull();
  });

  test("is told for 1,000 units, the service's apart from the client's, and beside what others used", () => {
    const before = { ms: { api: 100, client: 50 }, kernelMs: {}, machineMs: 1000, cores: 2, atMs: 0 };
    const after = { ms: { api: 300, client: 150 }, kernelMs: {}, machineMs: 1400, cores: 2, atMs: 500 };
    const usage = usageBetween(before, after, 2000, { api: 90 });
    expect(usage).toEqual({ cpuMsPerThousand: { api: 100, client: 50 }, peakMb: { api: 90 }, otherShare: 0.1 });
    expect(usage === null ? null : serviceCpu(usage)).toBe(100);
  });

  test("is not told of nothing, nor when a reading is missing", () => {
    const reading = { ms: { api: 100 }, kernelMs: {}, machineMs: 1000, cores: 2, atMs: 0 };
    expect(usageBetween(reading, reading, 0, {})).toBeNull();
    expect(usageBetween(null, reading, 10, {})).toBeNull();
    expect(usageBetween(reading, null, 10, {})).toBeNull();
    expect(usageBetween(reading, reading, 10, null)).toBeNull();
  });
});

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  }
});

/** Answers every n-th request with 503, all others with 201. */
async function serverThatFailsEvery(n: number): Promise<string> {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(++count % n === 0 ? 503 : 201).end(`{"count":${count}}`));
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const POSTS: Workload = {
  unitsPerRequest: 5,
  next: () => ({ path: "/", body: "{}" }),
  isGood: ({ status }) => status === 201,
};

function loadOn(url: string, workload: Workload, sights: Sight[] = []) {
  const timing = { leadInMs: 100, measureMs: 300 };
  const onSight = (sight: Sight): void => void sights.push(sight);
  const readCounts = async () => null;
  return { workload, clients: 4, urls: [url], headers: {}, groups: [ownGroup()], timing, onSight, readCounts };
}

describe("measureLoad", () => {
  test("counts good answers after the lead-in, in units, and failures by status", async () => {
    const sights: Sight[] = [];
    const figures = await measureLoad(loadOn(await serverThatFailsEvery(10), POSTS, sights));
    expect(figures.requests).toBeGreaterThan(20);
    expect(figures.ratePerSecond).toBeCloseTo((figures.requests * 5) / figures.seconds, 6);
    expect(figures.seconds).toBeGreaterThanOrEqual(0.3);
    expect(Object.keys(figures.failures)).toEqual(["503"]);
    expect((figures.failures["503"] ?? 0) / figures.requests).toBeCloseTo(1 / 9, 0);
    expect(figures.p50Ms).toBeLessThanOrEqual(figures.p99Ms);
    expect(figures.p99Ms).toBeLessThanOrEqual(figures.maxMs);
    expect(figures.leadIn).toEqual({ seconds: expect.any(Number), isSteady: false });
    expect(sights.map(({ phase }) => phase).slice(0, 2)).toEqual(["lead-in", "measuring"]);
    expect(new Set(sights.slice(1).map(({ phase }) => phase))).toEqual(new Set(["measuring"]));
  });

  test("tells a server that is not there as answers of status 0", async () => {
    const url = await serverThatFailsEvery(2);
    await new Promise((resolve) => {
      servers.pop()?.close(resolve);
    });
    const figures = await measureLoad(loadOn(url, POSTS));
    expect([figures.requests, figures.ratePerSecond, figures.p50Ms]).toEqual([0, 0, Number.NaN]);
    expect(Object.keys(figures.failures)).toEqual(["0"]);
    // Not thousands of times: each client pauses after it.
    expect(figures.failures["0"]).toBeLessThan(100);
  });

  test("makes enough in advance for what the lead-in shows, and each is sent once", async () => {
    const url = await serverThatFailsEvery(Number.POSITIVE_INFINITY);
    let made = 0;
    const prepared = signedInAdvance(new Map([[url, ["origin"]]]), () => ({ path: "/", body: String(made++) }));
    const sights: Sight[] = [];
    const figures = await measureLoad(loadOn(url, { ...POSTS, ...prepared }, sights));
    expect(figures.failures).toEqual({});
    expect(made - prepared.stock.perServer).toBeGreaterThanOrEqual(figures.requests);
    expect(sights.some(({ phase }) => phase === "preparing")).toBe(true);
  });

  test("ends early, at the time it took, when no more can be made", async () => {
    const url = await serverThatFailsEvery(Number.POSITIVE_INFINITY);
    let left = 50;
    const prepared = signedInAdvance(new Map([[url, ["origin"]]]), () => (left-- > 0 ? { path: "/", body: "" } : null));
    const load = loadOn(url, { ...POSTS, ...prepared });
    const figures = await measureLoad({ ...load, timing: { leadInMs: 0, measureMs: 20_000 } });
    expect(figures.requests).toBe(50);
    expect(figures.seconds).toBeLessThan(15);
  });
});

describe("LoadGenerator", () => {
  test("keeps some of the good answers", async () => {
    const url = await serverThatFailsEvery(Number.POSITIVE_INFINITY);
    const samples: string[] = [];
    let left = 200;
    const workload = { ...POSTS, next: () => (left-- > 0 ? { path: "/", body: "{}" } : null) };
    const onSample = (answer: string): void => void samples.push(answer);
    const generator = new LoadGenerator({ workload, clients: 2, urls: [url], headers: {}, onSample });
    await generator.ended;
    expect(generator.answered).toBe(200);
    expect(samples).toHaveLength(3);
    expect(samples[0]).toBe('{"count":1}');
    await generator.stop();
  });

  test("needs a server", () => {
    const options = { workload: POSTS, clients: 1, urls: [], headers: {} };
    expect(() => new LoadGenerator(options)).toThrow("a load needs a server");
  });
});

describe("calls of record()", () => {
  /** Before the envelope of an event without references: docs/recorder.md. */
  const [HEADER_BYTES, BEFORE_ENVELOPE_BYTES] = [12, 24];

  test("are timed one by one, and each has written an envelope of 512 bytes when it returns", async () => {
    const folder = mkdtempSync(join(tmpdir(), "anchoring-record-"));
    try {
      const times = await recordTimesUs(folder, 40, 10);
      expect(times).toHaveLength(40);
      expect(times.filter((us) => us > 0)).toHaveLength(40);
      const spool = readFileSync(join(folder, "spool", "0000000000000001.spool"));
      expect(spool).toHaveLength(50 * (HEADER_BYTES + BEFORE_ENVELOPE_BYTES + 512));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
