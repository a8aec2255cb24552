import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { PortClaims } from "../src/ports.ts";
import type { NodePorts } from "../src/ports.ts";

const CHOOSER = fileURLToPath(new URL("stand-ins/port-chooser.js", import.meta.url));
const PORTS = fileURLToPath(new URL("../dist/ports.js", import.meta.url));
/** Far from those of the clusters of other tests. */
const FIRST = 28_301;

let folder: string;
let children: ChildProcess[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-claims-"));
  children = [];
});

afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Ports that a process of its own has chosen, which it keeps until it is killed. */
async function chosenElsewhere(): Promise<{ readonly child: ChildProcess; readonly ports: readonly NodePorts[] }> {
  const child = spawn(process.execPath, [CHOOSER, PORTS, folder, String(FIRST)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, ports: JSON.parse(line.toString()) as readonly NodePorts[] };
}

const numbersOf = (ports: readonly NodePorts[]): number[] =>
  ports.flatMap(({ api, metrics, control }) => [api, metrics, control]);

describe("clusters that start at once", () => {
  test("in processes of their own have no port in common, and nothing listens yet", async () => {
    const all = await Promise.all([chosenElsewhere(), chosenElsewhere(), chosenElsewhere()]);
    const numbers = all.flatMap(({ ports }) => numbersOf(ports));
    expect([numbers.length, new Set(numbers).size]).toEqual([27, 27]);
  });

  test("in one process have none in common either", async () => {
    const [one, other] = [new PortClaims(folder), new PortClaims(folder)];
    const both = await Promise.all([one.choose(3, [], FIRST), other.choose(3, [], FIRST)]);
    expect(new Set(both.flatMap(numbersOf)).size).toBe(18);
  });
});

describe("ports are free again", () => {
  test("when they are released", async () => {
    const claims = new PortClaims(folder);
    const first = await claims.choose(1, [], FIRST);
    claims.release();
    expect(readdirSync(folder)).toEqual([]);
    expect(await new PortClaims(folder).choose(1, [], FIRST)).toEqual(first);
  });

  test("when the process that has chosen them was killed", async () => {
    const { child, ports } = await chosenElsewhere();
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await new PortClaims(folder).choose(3, ports, FIRST)).toEqual(ports);
  });
});
