import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { ownGroup, readMainThreadMs, readWakeUps, wakeUpsBetween } from "@event-anchoring/testkit/overload";
import { Scrape } from "@event-anchoring/testkit/clients";
import { countsBetween } from "../src/load/cluster-counts.ts";
import type { CountsReading } from "../src/load/cluster-counts.ts";
import { readRemoteCluster } from "../src/load/remote-cluster.ts";
import { comparisonTable } from "../src/run/against.ts";
import type { LoadRow } from "../src/figures/rows.ts";
import { brokenLifeIn, rateIn } from "../src/scenarios/simulator.ts";

describe("a scrape", () => {
  const scrape = new Scrape(
    [
      "# HELP anchoring_transport_events_total Events",
      'anchoring_transport_events_total{event="frame_sent",peer="n2",reason="small"} 7',
      'anchoring_transport_events_total{event="frame_sent",peer="n3",reason="small"} 5',
      'anchoring_transport_events_total{event="bytes_sent",peer="n2",reason="small"} 900',
      "anchoring_raft_applied_index 41",
      "anchoring_raft_applied_index_of_another 1000",
      "",
    ].join("\n"),
  );

  test("sums the series of a metric, or those with a label", () => {
    expect(scrape.sumOf("anchoring_transport_events_total", 'event="frame_sent"')).toBe(12);
    expect(scrape.sumOf("anchoring_transport_events_total")).toBe(912);
    expect(scrape.sumOf("anchoring_raft_applied_index")).toBe(41);
    expect(scrape.sumOf("anchoring_none")).toBe(0);
  });
});

function reading(leaderPid: number, value: number, transactions: number | null): CountsReading {
  const wakeUps = { api: new Map([["1/1", value]]) };
  const counted = { entries: value, leaves: value, frames: value, frameBytes: value, leaderSentBytes: value };
  return { leaderPid, wakeUps, totals: { ...counted, leaderLoopMs: value, transactions } };
}

describe("counts", () => {
  test("are what came between two readings", () => {
    expect(countsBetween(reading(1, 10, 5), reading(1, 30, 7), 100)).toEqual({
      answered: 100,
      entries: 20,
      leaves: 20,
      frames: 20,
      frameBytes: 20,
      leaderSentBytes: 20,
      leaderLoopMs: 20,
      transactions: 2,
      wakeUps: { api: 20 },
    });
    expect(countsBetween(reading(1, 10, null), reading(1, 30, 7), 100)?.transactions).toBeNull();
  });

  test("are none when another process leads, or one reading is missing", () => {
    expect(countsBetween(reading(1, 10, 5), reading(2, 30, 7), 100)).toBeNull();
    expect(countsBetween(null, reading(2, 30, 7), 100)).toBeNull();
    expect(countsBetween(reading(1, 10, 5), null, 100)).toBeNull();
  });

  test("of threads that have ended are not known, and those of new ones are", () => {
    const before = { api: new Map(Object.entries({ "1/1": 10, "1/2": 900 })) };
    const after = { api: new Map(Object.entries({ "1/1": 15, "1/3": 2 })) };
    expect(wakeUpsBetween(before, after)).toEqual({ api: 7 });
  });

  test("of wake-ups and the main thread come from the system", async () => {
    if (process.platform !== "linux") return;
    const before = readWakeUps([ownGroup()]);
    const loopBefore = readMainThreadMs(process.pid) ?? 0;
    // Each sleep ends with a wake-up, unless there was something to do anyway.
    await until("threads of this process were woken", async () => {
      const after = readWakeUps([ownGroup()]);
      return before !== null && after !== null && (wakeUpsBetween(before, after)["client"] ?? 0) >= 5;
    });
    expect(readMainThreadMs(process.pid) ?? 0).toBeGreaterThan(loopBefore);
    expect(readMainThreadMs(2 ** 30)).toBeNull();
  });
});

describe("the file of a remote cluster", () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-remote-"));
  const hash = "a".repeat(64);
  const good = {
    endpoints: [{ url: "https://gateway.example/", origins: [hash] }],
    api_key_file: "key",
    trust_root_file: "root",
    root_thk: hash,
  };
  const written = (value: unknown): string => {
    const path = join(folder, "remote.json");
    writeFileSync(path, JSON.stringify(value));
    return path;
  };
  writeFileSync(join(folder, "key"), "secret\n");
  writeFileSync(join(folder, "root"), "a note\n");
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("names where it is, what writes name, and what its receipts are held against", () => {
    expect(readRemoteCluster(written(good))).toEqual({
      apiKey: "secret",
      trustRoot: { version: 1, root_thk: hash, document: "a note\n" },
      endpoints: [{ url: "https://gateway.example", origins: [hash] }],
    });
  });

  test.each([
    [7, "not a JSON object"],
    [{ ...good, api_key_file: undefined }, "api_key_file is missing"],
    [{ ...good, trust_root_file: 1 }, "trust_root_file is missing"],
    [{ ...good, root_thk: "aa" }, "root_thk is not 64 hex digits"],
    [{ ...good, endpoints: [] }, "endpoints are missing"],
    [{ ...good, endpoints: [{ url: "gateway", origins: [hash] }] }, "an endpoint has a url"],
    [{ ...good, endpoints: [{ url: "https://gateway.example", origins: [] }] }, "an endpoint has a url"],
  ])("is refused: %j", (value, problem) => {
    expect(() => readRemoteCluster(written(value))).toThrow(problem);
  });
});

describe("two checkouts", () => {
  const row = (ratePerSecond: number, p50Ms: number): LoadRow => ({
    type: "load",
    system: "anchoring",
    scenario: "",
    clients: 1,
    unit: "anchors",
    unitsPerRequest: 1,
    leadIn: { seconds: 1, isSteady: true },
    seconds: 1,
    requests: 1,
    ratePerSecond,
    p50Ms,
    p99Ms: 1,
    maxMs: 1,
    failures: {},
    usage: null,
    counts: null,
    shape: null,
  });

  test("are compared round by round", () => {
    const here = [row(100, 5), row(300, 5), row(150, 5)];
    const there = [row(100, 10), row(100, 10), row(100, 10)];
    const table = comparisonTable([{ scenario: "a load", here, there }]);
    expect(table.rows).toEqual([["a load", "150", "100", "1.50", "1.00 – 3.00", "0.50", "–", "–", "–", "–"]]);
  });
});

test("a life that broke a sentence is named by the command that replays it", () => {
  const stdout = "from seed 1\n 126.5010 kill             a\nnpm run sim -- --seed 53\n64 lives, 1 broken\n";
  expect(brokenLifeIn(Object.assign(new Error("Command failed"), { stdout }))?.message).toBe(
    "a life broke a sentence: npm run sim -- --seed 53",
  );
  expect(brokenLifeIn(Object.assign(new Error("Command failed"), { stdout: "from seed 1\n" }))).toBeNull();
  expect(brokenLifeIn(new Error("aborted"))).toBeNull();
});

test("the rate of the simulator is the newest that it tells", () => {
  const line = (rate: number): string =>
    `3 lives, 1.2 simulated minutes, ${rate} simulated seconds for a core-second, 0 broken\n`;
  expect(rateIn(`from seed 1\n${line(41)}${line(52)}`)).toBe(52);
  expect(() => rateIn("from seed 1\n")).toThrow("the simulator tells no rate");
});
