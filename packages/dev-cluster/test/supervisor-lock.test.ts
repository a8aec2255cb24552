import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { identityOf, isAlive } from "@event-anchoring/provision";
import { AlreadySupervisedError, SupervisorLock } from "../src/supervisor-lock.ts";

const CHILD = fileURLToPath(new URL("stand-ins/child.js", import.meta.url));
const DEAD = { pid: process.pid, started: "in another life" };

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "anchoring-lock-"));
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function writeLock(content: object): void {
  writeFileSync(join(root, "supervisor.json"), JSON.stringify(content));
}

describe("SupervisorLock", () => {
  test("is held once, and can be taken again when it is given free", () => {
    const lock = SupervisorLock.take(root);
    expect(() => SupervisorLock.take(root)).toThrow(AlreadySupervisedError);
    expect(() => SupervisorLock.take(root)).toThrow(`process ${process.pid}`);
    lock.release();
    SupervisorLock.take(root).release();
  });

  test("survives its own updates", () => {
    const lock = SupervisorLock.take(root);
    lock.record("n1 api", process.pid);
    expect(() => SupervisorLock.take(root)).toThrow(AlreadySupervisedError);
    expect(JSON.parse(readFileSync(join(root, "supervisor.json"), "utf8"))).toMatchObject({
      children: [{ name: "n1 api", pid: process.pid }],
    });
    lock.record("n1 api", null);
    expect(JSON.parse(readFileSync(join(root, "supervisor.json"), "utf8"))).toMatchObject({ children: [] });
  });

  test("is taken over from a dead supervisor, whose children are stopped", async () => {
    const child = spawn(process.execPath, [CHILD, "serve"], { stdio: ["ignore", "pipe", "ignore"], detached: true });
    await new Promise((resolve) => child.stdout.once("data", resolve));
    const identity = identityOf(child.pid ?? 0);
    if (identity === null) throw new Error("the child did not start");
    writeLock({ supervisor: DEAD, children: [{ name: "n1 api", ...identity }] });
    const lock = SupervisorLock.take(root);
    expect(lock.leftovers.map(({ name }) => name)).toEqual(["n1 api"]);
    await lock.stopLeftovers();
    expect(isAlive(identity)).toBe(false);
    expect(lock.leftovers).toEqual([]);
  });

  test("does not touch a process that only has the number of a leftover", async () => {
    const child = spawn(process.execPath, [CHILD, "serve"], { stdio: ["ignore", "pipe", "ignore"], detached: true });
    await new Promise((resolve) => child.stdout.once("data", resolve));
    const identity = identityOf(child.pid ?? 0);
    if (identity === null) throw new Error("the child did not start");
    writeLock({ supervisor: DEAD, children: [{ name: "n1 api", pid: identity.pid, started: "long ago" }] });
    await SupervisorLock.take(root).stopLeftovers();
    expect(isAlive(identity)).toBe(true);
    child.kill("SIGKILL");
    await until("the child has ended", () => !isAlive(identity));
  });

  test.each(["{}", '{"supervisor":{"pid":1}}', '{"supervisor":{"pid":1,"started":"x"},"children":[{"pid":2}]}'])(
    "refuses a damaged file: %s",
    (text) => {
      writeFileSync(join(root, "supervisor.json"), text);
      expect(() => SupervisorLock.take(root)).toThrow("damaged");
    },
  );
});
