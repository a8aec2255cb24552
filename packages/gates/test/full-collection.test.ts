import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, test } from "@jest/globals";
import { COLLECTED_WHEN_ASKED, SIGNAL } from "../src/day/full-collection.ts";

// A process that is started as nodes of a day are drops its garbage when it is asked to, and does not before.

const MB = 1e6;
/** So few that V8 does not collect the old generation by itself meanwhile. */
const QUESTIONS = 100;
/** Two million objects outlive the young generation, and then nobody holds them. It says what it holds when asked. */
const PROGRAM = `
  let held = Array.from({ length: 2e6 }, (_, number) => ({ number }));
  held = null;
  process.stdin.on("data", () => console.log(process.memoryUsage().heapUsed));
  console.log("ready");`;

test.each(["api", "control-plane"] as const)("%s: garbage is dropped when it is asked for", async (name) => {
  const child = spawn(process.execPath, [...COLLECTED_WHEN_ASKED[name], "-e", PROGRAM], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const heapUsed = async (): Promise<number> => {
      child.stdin.write("?");
      return Number((await lines.next()).value);
    };
    expect(await lines.next()).toMatchObject({ value: "ready" });
    for (let asked = 0; asked < QUESTIONS; asked++) expect(await heapUsed()).toBeGreaterThan(40 * MB);
    child.kill(SIGNAL);
    let left = Infinity;
    for (let asked = 0; asked < QUESTIONS && left > 20 * MB; asked++) left = await heapUsed();
    expect(left).toBeLessThan(20 * MB);
    expect(child.exitCode).toBeNull();
  } finally {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
});
