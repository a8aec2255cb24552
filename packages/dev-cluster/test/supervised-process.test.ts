import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { BackOff } from "../src/back-off.ts";
import { identityOf, isAlive, signalProcess } from "@event-anchoring/provision";
import { RotatingLog } from "../src/rotating-log.ts";
import { SupervisedProcess } from "../src/supervised-process.ts";
import type { ProcessEnd } from "../src/supervised-process.ts";

const CHILD = fileURLToPath(new URL("stand-ins/child.js", import.meta.url));

let folder: string;
let log: RotatingLog;
let pids: (number | null)[];
let ends: ProcessEnd[];
let supervised: SupervisedProcess | null = null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-supervised-"));
  log = new RotatingLog({ path: join(folder, "child.log") });
  pids = [];
  ends = [];
});

afterEach(async () => {
  await supervised?.stop(1000);
  supervised = null;
  log.close();
  rmSync(folder, { recursive: true, force: true });
});

function supervise(...args: readonly string[]): SupervisedProcess {
  const child = new SupervisedProcess({
    nodeFlags: [],
    name: "n1 stand-in",
    script: CHILD,
    args,
    environment: {},
    log,
    onPid: (pid) => pids.push(pid),
    onEnd: (end) => ends.push(end),
  });
  supervised = child;
  child.start();
  return child;
}

describe("a supervised process", () => {
  test("is started again after it was killed, with another id", async () => {
    const child = supervise("serve");
    const first = child.pid;
    if (first === null) throw new Error("it did not start");
    process.kill(first, "SIGKILL");
    await until("it runs again", () => child.pid !== null && child.pid !== first);
    expect(ends).toEqual([{ code: null, signal: "SIGKILL", restartInMs: 200 }]);
    expect(pids).toEqual([first, null, child.pid]);
  });

  test("waits longer after each early end", async () => {
    supervise("exit", "1");
    await until("it ended three times", () => ends.length >= 3);
    expect(ends.slice(0, 3).map(({ code, restartInMs }) => [code, restartInMs])).toEqual([
      [1, 200],
      [1, 400],
      [1, 800],
    ]);
    expect(log.newestRemark).toBe("leaving with 1");
  });

  test.each([2, 78, 79])("stays down after exit code %i", async (code) => {
    const child = supervise("exit", String(code));
    await until("it ended", () => ends.length > 0);
    expect(ends).toEqual([{ code, signal: null, restartInMs: null }]);
    expect(child.pid).toBeNull();
  });

  test("is not started again once it was stopped while it waited for its next start", async () => {
    const child = supervise("exit", "1");
    await until("it ended", () => ends.length > 0);
    await child.stop(1000);
    const starts = pids.length;
    const dueAt = performance.now() + 300;
    await until("its next start would have been due", () => performance.now() > dueAt);
    expect([child.pid, pids.length]).toEqual([null, starts]);
  });

  test("is killed when it does not follow SIGTERM in time", async () => {
    const child = supervise("ignore");
    const identity = identityOf(child.pid ?? 0);
    if (identity === null) throw new Error("it did not start");
    await until("it serves", () => log.newestRemark === "serving");
    await child.stop(300);
    expect(log.newestRemark).toBe("not now");
    expect(isAlive(identity)).toBe(false);
    expect(ends).toEqual([]);
  });

  test("may be stopped twice, and started again after that", async () => {
    const child = supervise("serve");
    await child.stop(1000);
    await child.stop(1000);
    expect(child.pid).toBeNull();
    child.start();
    expect(child.pid).not.toBeNull();
  });
});

describe("a process identity", () => {
  test("is not that of a later process with the same number", () => {
    const own = identityOf(process.pid);
    if (own === null) throw new Error("this process lives");
    expect(isAlive(own)).toBe(true);
    const earlier = { pid: process.pid, started: `${own.started}0` };
    expect(isAlive(earlier)).toBe(false);
    expect(signalProcess(earlier, "SIGKILL")).toBe(false);
  });

  test("does not exist for a number that no process has", () => {
    expect(identityOf(2 ** 22 + 1)).toBeNull();
  });
});

describe("BackOff", () => {
  test("doubles from 0.2 s to 5 s and begins again after a long run", () => {
    const backOff = new BackOff();
    const delays = Array.from({ length: 7 }, () => backOff.delayAfter(50));
    expect(delays).toEqual([200, 400, 800, 1600, 3200, 5000, 5000]);
    expect(backOff.delayAfter(10_000)).toBe(200);
    expect(backOff.delayAfter(9999)).toBe(400);
  });
});
