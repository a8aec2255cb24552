import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { CHECKOUT } from "../src/checkout.ts";

// What npm installs, in a folder where there is nothing else.

const place = mkdtempSync(join(tmpdir(), "anchoring-npm-programs-"));
const packed = join(place, "packed");
const release = join(CHECKOUT, "packages/release/bin/release.js");

beforeAll(() => {
  const only = ["npm-anchorctl", "npm-raft"].flatMap((name) => ["--only", name]);
  execFileSync(process.execPath, [release, "--dry", ...only, "--out", packed], { stdio: "pipe" });
}, 300_000);

afterAll(() => rmSync(place, { recursive: true }));

/** @returns the folder of the package in a new project */
function installed(tarball: RegExp, name: string): string {
  const folder = join(place, name, "node_modules", name);
  const file = readdirSync(packed).find((each) => tarball.test(each)) ?? "";
  mkdirSync(folder, { recursive: true });
  execFileSync("tar", ["xzf", join(packed, file), "-C", folder, "--strip-components=1"]);
  writeFileSync(join(place, name, "package.json"), '{"type":"module"}');
  return folder;
}

interface Vectors {
  readonly pinned_root_thk: string;
  readonly trust_roots: readonly string[];
  readonly proof: { readonly good: readonly { readonly proof: string }[] };
}

describe("the npm package of anchorctl", () => {
  const vectors = JSON.parse(readFileSync(join(CHECKOUT, "test/vectors/receipt.json"), "utf8")) as Vectors;
  let program: string;

  beforeAll(() => {
    const folder = installed(/^anchorctl-.*\.tgz$/, "anchorctl");
    const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { bin: { anchorctl: string } };
    program = join(folder, bin.anchorctl);
  });

  const run = (...args: string[]) => spawnSync(process.execPath, [program, ...args], { cwd: place, encoding: "utf8" });

  test("has no dependencies, and the licence of everything in it", () => {
    const manifest = JSON.parse(readFileSync(join(program, "../package.json"), "utf8")) as object;
    expect(Object.keys(manifest).filter((name) => /dependencies|private|scripts/i.test(name))).toEqual([]);
    const licences = readFileSync(join(program, "../THIRD-PARTY-LICENSES.txt"), "utf8");
    for (const name of ["pg", "commander", "undici"]) expect(licences).toMatch(new RegExp(`^${name} \\d`, "m"));
  });

  test("says its version, and verifies a receipt by the line of its README", () => {
    expect(run("--version")).toMatchObject({ status: 0, stdout: expect.stringMatching(/^anchorctl \d+\.\d+\.\d+\n$/) });
    writeFileSync(join(place, "log.txt"), "event 5");
    writeFileSync(join(place, "log.txt.tlog-proof"), vectors.proof.good[0]?.proof ?? "");
    writeFileSync(join(place, "trust-root.txt"), vectors.trust_roots[0] ?? "");
    const readme = readFileSync(join(program, "../README.md"), "utf8");
    const line = /^anchorctl verify .*$/m.exec(readme)?.[0] ?? "";
    const args = line.replace('"$PIN"', vectors.pinned_root_thk).split(" ").slice(1);
    expect(run(...args)).toMatchObject({ status: 0, stdout: expect.stringMatching(/^VALID: log\.txt is /m) });
    writeFileSync(join(place, "log.txt"), "event 6");
    expect(run(...args)).toMatchObject({ status: 1, stdout: expect.stringMatching(/^NOT VALID/m) });
  });

  test("has the database's schema in it", () => {
    const code = readFileSync(program, "utf8");
    const folder = join(CHECKOUT, "packages/store/migrations");
    const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect(code).toContain(JSON.stringify(readFileSync(join(folder, name), "utf8")));
  });
});

describe("the npm package of raft-ts", () => {
  const nodes = new Map<number, ChildProcess>();
  let example: string;
  let firstPort: number;

  beforeAll(async () => {
    example = join(installed(/^raft-ts-.*\.tgz$/, "raft-ts"), "examples/kv-store.js");
    firstPort = await freePorts();
  });

  afterAll(() => nodes.forEach((node) => node.kill("SIGKILL")));

  const start = (id: number): void => {
    const env = { ...process.env, KV_PORT: String(firstPort) };
    const cwd = join(place, "raft-ts");
    nodes.set(id, spawn(process.execPath, [example, String(id)], { cwd, env, stdio: ["ignore", "ignore", "inherit"] }));
  };
  const kill = async (id: number): Promise<void> => {
    const node = nodes.get(id);
    node?.kill("SIGKILL");
    if (node !== undefined) await once(node, "exit");
  };
  const urlOf = (id: number): string => `http://127.0.0.1:${firstPort + id}/greeting`;
  /** Asked again until a node leads. */
  const ask = (id: number, method: string, body: string | null): Promise<string> =>
    until(`node ${id} answers`, async () => {
      // It may not listen yet.
      const response = await fetch(urlOf(id), { method, body }).catch(() => null);
      return response?.ok === true ? (await response.text()).trimEnd() : null;
    });

  test("has an example that keeps what it has answered, whoever is killed", async () => {
    for (const id of [1, 2, 3]) start(id);
    expect(await ask(1, "PUT", "hello")).toBe("stored");
    expect(await ask(3, "GET", null)).toBe("hello");
    const garbage = await fetch(urlOf(2), { method: "POST", body: "garbage" });
    expect([garbage.status, await garbage.text()]).toEqual([400, "unknown version 103\n"]);
    await kill(1);
    expect(await ask(2, "PUT", "again")).toBe("stored");
    for (const id of [2, 3]) await kill(id);
    for (const id of [1, 2]) start(id);
    expect(await ask(1, "GET", null)).toBe("again");
  }, 120_000);
});

/**
 * A number after which three ports are free. They lie below the ports that a system gives to outgoing connections (RFC
 * 6335: from 49152; Linux: from 32768), so that none of another test takes one while a process is down.
 */
async function freePorts(): Promise<number> {
  for (;;) {
    const base = 20_000 + Math.floor(Math.random() * 10_000);
    const servers = [base + 1, base + 2, base + 3].map((port) => createServer().listen(port, "127.0.0.1"));
    const areFree = await Promise.all(
      servers.map((server) =>
        Promise.race([once(server, "listening").then(() => true), once(server, "error").then(() => false)]),
      ),
    );
    for (const server of servers) server.close();
    if (areFree.every(Boolean)) return base;
  }
}
