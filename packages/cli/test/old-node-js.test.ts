import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";

const BIN = fileURLToPath(new URL("../bin/anchorctl.js", import.meta.url));
const OLD = "{value:{...process.versions,node:'18.20.8'}}";
const SAYS = "Node.js 18.20.8: 20.19 or newer is needed";

/** With a Node.js that says that it is an old one. */
function runOnOld(...args: readonly string[]): Pick<SpawnSyncReturns<string>, "status" | "stdout" | "stderr"> {
  const old = `data:text/javascript,Object.defineProperty(process,"versions",${OLD})`;
  return spawnSync(process.execPath, ["--import", old, BIN, ...args], { encoding: "utf8" });
}

describe("anchorctl on an old Node.js", () => {
  test.each([
    ["doctor", 1, "stdout"],
    ["status", 70, "stderr"],
  ] as const)("says in one line what %s needs, and ends with %d, on %s", (command, exitCode, stream) => {
    const run = runOnOld(command);
    expect([run.status, run[stream]]).toEqual([exitCode, `  ✗ ${SAYS} (docs/operating/install.md#versions)\n`]);
  });

  test("says it as JSON, too", () => {
    const { status, stdout } = runOnOld("doctor", "--json");
    const page = "docs/operating/install.md#versions";
    const findings = [{ code: "node_js_old", level: "fail", detail: SAYS, page }];
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ healthy: false, checks: [{ check: "Node.js", findings }] });
  });

  test("loads nothing before that an old one could not load", () => {
    const importsOf = (name: string): readonly string[] => {
      const source = readFileSync(fileURLToPath(new URL(`../src/doctor/${name}.ts`, import.meta.url)), "utf8");
      return [...source.matchAll(/ from "([^"]+)"/gu)].map(([, specifier = ""]) => specifier);
    };
    expect(new Set([...importsOf("node-js"), ...importsOf("mistakes")])).toEqual(new Set(["./mistakes.ts"]));
  });
});
