import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { FaultSwitches } from "../src/faults/fault-switches.ts";

const HOUR_MS = 3_600_000;
const SLACK_MS = 60_000;

/** Says, whenever it is asked, what time it is and how a sync went. */
const WITNESS = `
  const fs = require("node:fs");
  const file = fs.openSync(process.argv[1], "w");
  const attempt = (sync) => { try { sync(file); return "done"; } catch (error) { return error.code; } };
  process.on("message", () => process.send({
    wallMs: Date.now(),
    monotonicMs: performance.now(),
    fsync: attempt(fs.fsyncSync),
    fdatasync: attempt(fs.fdatasyncSync),
  }));
  process.on("disconnect", () => process.exit(0));
`;

interface Said {
  readonly wallMs: number;
  readonly monotonicMs: number;
  readonly fsync: string;
  readonly fdatasync: string;
}

const folder = mkdtempSync(join(tmpdir(), "anchoring-witness-"));
const children: ChildProcess[] = [];
const made = FaultSwitches.make();
const switches = made instanceof FaultSwitches ? made : null;
if (!(made instanceof FaultSwitches)) process.stdout.write(`switches are not tested: ${made.missing}\n`);

afterAll(() => {
  for (const child of children) child.disconnect();
  switches?.close();
  rmSync(folder, { recursive: true });
});

function witness(name: string): () => Promise<Said> {
  const child = spawn(process.execPath, ["-e", WITNESS, join(folder, name)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { ...process.env, ...switches?.environment(name) },
  });
  children.push(child);
  return () =>
    new Promise((resolve) => {
      child.once("message", (said) => resolve(said as Said));
      child.send("say");
    });
}

(switches === null ? describe.skip : describe)("a process with switches", () => {
  test("works as any other while all are off", async () => {
    const { wallMs, fsync, fdatasync } = await witness("untouched")();
    expect(Math.abs(wallMs - Date.now())).toBeLessThan(SLACK_MS);
    expect([fsync, fdatasync]).toEqual(["done", "done"]);
  });

  test.each([HOUR_MS, -2 * HOUR_MS, 1500, -1500])("has its wall clock moved by %d ms, and no other", async (offset) => {
    const [ask, other] = [witness("moved"), witness("beside")];
    const before = await ask();
    switches?.setClock("moved", offset);
    const after = await ask();
    const wallMs = after.wallMs - before.wallMs;
    const monotonicMs = after.monotonicMs - before.monotonicMs;
    expect(Math.abs(wallMs - monotonicMs - offset)).toBeLessThan(500);
    expect(Math.abs((await other()).wallMs - Date.now())).toBeLessThan(SLACK_MS);
    switches?.setClock("moved", 0);
    expect(Math.abs((await ask()).wallMs - Date.now())).toBeLessThan(SLACK_MS);
  });

  test("cannot sync while that switch is on, and can again", async () => {
    const ask = witness("unsynced");
    await ask();
    switches?.setSyncFails("unsynced", true);
    expect(await ask()).toMatchObject({ fsync: "EIO", fdatasync: "EIO" });
    switches?.setSyncFails("unsynced", false);
    expect(await ask()).toMatchObject({ fsync: "done", fdatasync: "done" });
  });

  test("cannot be switched unless it was started so", () => {
    expect(() => switches?.setClock("nobody", 1)).toThrow("nobody was not started with switches");
  });
});
