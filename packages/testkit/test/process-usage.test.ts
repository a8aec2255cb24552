import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "@jest/globals";
import { processesOf, readCpu } from "../src/overload/process-usage.ts";

test("a group has what its processes have started, as long as that lives", async () => {
  if (process.platform !== "linux") return;
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 60_000)"], { stdio: "ignore" });
  const ended = once(child, "exit");
  try {
    expect(processesOf({ kind: "one", pids: [process.pid], hasChildren: true })).toEqual(
      expect.arrayContaining([process.pid, child.pid]),
    );
    expect(processesOf({ kind: "one", pids: [process.pid], hasChildren: false })).toEqual([process.pid]);
  } finally {
    child.kill("SIGKILL");
  }
  await ended;
  expect(processesOf({ kind: "one", pids: [process.pid], hasChildren: true })).not.toContain(child.pid);
});

test("what a child has taken counts while it lives, and when it has ended", async () => {
  if (process.platform !== "linux") return;
  const group = { kind: "one", pids: [process.pid], hasChildren: true };
  const takenMs = (): number => {
    const { ms, kernelMs } = readCpu([group]) ?? {};
    expect(kernelMs?.["one"]).toBeGreaterThanOrEqual(0);
    expect(kernelMs?.["one"]).toBeLessThanOrEqual(ms?.["one"] ?? NaN);
    return ms?.["one"] ?? NaN;
  };
  const beforeMs = takenMs();
  const work = "const end = performance.now() + 300; while (performance.now() < end);";
  const child = spawn(process.execPath, ["-e", `${work} console.log("done"); setInterval(() => {}, 60_000)`]);
  const ended = once(child, "exit");
  await once(child.stdout, "data");
  const livingMs = takenMs();
  child.kill("SIGKILL");
  await ended;
  const endedMs = takenMs();
  // On a machine that others use too, 300 ms of the clock are not 300 ms of a processor: Node's start alone is as long.
  expect(livingMs - beforeMs).toBeGreaterThan(30);
  expect(endedMs).toBeGreaterThanOrEqual(livingMs);
});
