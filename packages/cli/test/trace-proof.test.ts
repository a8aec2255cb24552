/** `trace --proof`: the proof is judged by the pin before it is written. And bundles that are not current. */
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

interface Good {
  readonly name: string;
  readonly pinned_root_thk: string;
  readonly authorised_at_action: unknown;
  readonly authorised_now: unknown;
  readonly actor_proven: boolean;
  readonly superseded_trust_root: number | null;
  readonly bundle?: {
    readonly subject: string;
    readonly as_of: { readonly sequence: number; readonly time_ms: number };
    readonly trust_roots: readonly string[];
  };
}

const { good } = JSON.parse(
  readFileSync(new URL("../../../test/vectors/bundle-state.json", import.meta.url), "utf8"),
) as { readonly good: readonly Good[] };

function vector(isIt: (one: Good) => boolean): Good & { readonly bundle: NonNullable<Good["bundle"]> } {
  const found = good.find((one) => one.bundle !== undefined && isIt(one));
  if (found?.bundle === undefined) throw new Error("no such vector");
  return { ...found, bundle: found.bundle };
}

const ACT = vector(({ name }) => name === "state head: revoked after the act, by the witness");
const OLD = vector(({ superseded_trust_root: superseded }) => superseded !== null);

let home: string;
let server: Server;
let apiUrl: string;
let asked: string;
let answer: object;

const path = (name: string): string => join(home, name);

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "trace-proof-"));
  writeFileSync(path("trust-root.txt"), ACT.bundle.trust_roots[0] ?? "");
  writeFileSync(path("root-thk.txt"), ACT.pinned_root_thk);
  const { subject, as_of: position } = ACT.bundle;
  answer = {
    anchor: { anchor_id: subject, kind: "signed_event", sequence: 10, accepted_at: "2026-01-01T00:00:00.000Z" },
    actor_proven: ACT.actor_proven,
    authorised_at_action: ACT.authorised_at_action,
    authorised_now: ACT.authorised_now,
    suspect: false,
    reasons: [],
    actor: { claim: null, state: null, actor_signature: "pass" },
    delegation: [],
    delegation_omitted: 0,
    delegation_next_cursor: null,
    boundary: null,
    root_authority: "not_checked",
    revocations: [],
    violations: [],
    as_of: { ...position, time: "2026-01-01T00:00:00.110Z" },
    proof: ACT.bundle,
  };
  server = createServer((request, response) => {
    asked = request.url ?? "";
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => {
  server.close();
  server.closeAllConnections();
  rmSync(home, { recursive: true });
});

const trace = (...args: readonly string[]): Promise<Run> =>
  runAnchorctl(
    home,
    ["trace", ACT.bundle.subject, "--api-url", apiUrl, "--trust-root", path("trust-root.txt"), ...args],
    { ANCHORING_API_KEY: "ank_test" },
  );
const verify = (file: string, ...args: readonly string[]): Promise<Run> =>
  runAnchorctl(home, ["verify", file, "--trust-root", path("trust-root.txt"), ...args]);

describe("anchorctl trace --proof", () => {
  test("writes a file that verify judges without anybody", async () => {
    const file = path("act.bundle.json");
    const { exitCode, stdout, stderr } = await trace("--proof", file);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(asked).toContain("/trace?proof=true");
    expect(stdout).toContain(`✓ proof          of all this, verified, and written to ${file}`);
    server.close();
    expect(await verify(file, "--anchor-id", ACT.bundle.subject)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("VALID: every check is proved."),
    });
  });

  test("or to standard output, alone", async () => {
    const { exitCode, stdout } = await trace("--proof", "-");
    expect([exitCode, JSON.parse(stdout)]).toEqual([0, ACT.bundle]);
    expect(await trace("--proof", "-", "--json")).toMatchObject({ exitCode: 2 });
  });

  test.each([
    ["says something else than the answer", { authorised_now: true }, "verdict_differs"],
    ["is altered", { proof: { ...ACT.bundle, as_of: { sequence: 9, time_ms: 1 } } }, "window"],
    ["is none", { proof: { format: "x" } }, "bundle_format_unknown"],
    ["is missing", { proof: undefined }, "bundle_format_unknown"],
  ])("writes nothing if the proof %s", async (_title, change, code) => {
    answer = { ...answer, ...change };
    const file = path("act.bundle.json");
    const { exitCode, stdout } = await trace("--proof", file, "--json");
    expect([exitCode, existsSync(file)]).toEqual([1, false]);
    expect((JSON.parse(stdout) as { failure: string }).failure).toMatch(new RegExp(`${code}|bundle_malformed`, "u"));
  });

  test("asks nobody where no pin could prove anything", async () => {
    rmSync(path("root-thk.txt"));
    asked = "";
    expect(await trace("--proof", path("act.bundle.json"))).toMatchObject({ exitCode: 6 });
    expect(asked).toBe("");
  });
});

describe("verify --require-current of a bundle", () => {
  test("refuses one that only an older trust root satisfies, and no other", async () => {
    const [old, current] = [path("old.bundle.json"), path("act.bundle.json")];
    writeFileSync(old, JSON.stringify(OLD.bundle));
    writeFileSync(current, JSON.stringify(ACT.bundle));
    expect(await verify(current, "--require-current")).toMatchObject({ exitCode: 0 });
    expect(await verify(old)).toMatchObject({ exitCode: 0 });
    const { exitCode, stdout } = await verify(old, "--require-current");
    expect(exitCode).toBe(1);
    expect(stdout).toContain("NOT VALID (superseded_trust_root): only trust root 1 is satisfied, and the newest is 2");
    expect(stdout).not.toMatch(/^VALID/mu);
    const programs = await verify(old, "--require-current", "--json");
    expect([programs.exitCode, JSON.parse(programs.stdout)]).toMatchObject([
      1,
      { outcome: "invalid", valid: false, failure: "superseded_trust_root" },
    ]);
  });
});
