import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

const home = mkdtempSync(join(tmpdir(), "anchorctl-scope-"));
const path = (name: string): string => join(home, name);
const run = (...args: readonly string[]): Promise<Run> => runAnchorctl(home, args);

interface Answer {
  readonly scope_hash: string;
  readonly statements: object;
  readonly withheld: number;
}

async function answerOf(...args: readonly string[]): Promise<Answer> {
  const { exitCode, stdout, stderr } = await run(...args, "--json");
  expect([exitCode, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Answer;
}

const STATEMENTS = { actions: ["refund", "read_order"], max_amount: 5000, agreement: "ticket 4711" };

beforeAll(() => writeFileSync(path("statements.json"), JSON.stringify(STATEMENTS)));
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe("anchorctl scope", () => {
  test("makes a secret, shows it, and discloses a part", async () => {
    const made = await answerOf("scope", "make", path("statements.json"), "-o", path("a.scope.json"));
    expect(made).toMatchObject({ statements: STATEMENTS, withheld: 0 });
    expect(statSync(path("a.scope.json")).mode & 0o777).toBe(0o600);
    const shown = await run("scope", "show", path("a.scope.json"), "--scope-hash", made.scope_hash);
    expect(shown.stdout).toContain('actions: ["refund","read_order"]');
    expect(shown.stdout).toContain("3 statements disclosed, none withheld");
    const only = ["--only", "max_amount, actions"];
    const part = await answerOf("scope", "disclose", path("a.scope.json"), ...only, "-o", path("b.scope.json"));
    const { agreement: _, ...wanted } = STATEMENTS;
    expect(part).toMatchObject({ scope_hash: made.scope_hash, statements: wanted, withheld: 1 });
    expect(readFileSync(path("b.scope.json"), "utf8")).not.toContain("4711");
  });

  test("says what is to be done next", async () => {
    const made = await run("scope", "make", path("statements.json"), "-o", path("c.scope.json"));
    expect([made.exitCode, made.stderr]).toEqual([0, ""]);
    expect(made.stdout).toContain(`scope disclose ${path("c.scope.json")} --only <names> --out <file>`);
    const shown = await run("scope", "show", path("c.scope.json"));
    expect(shown.stdout).toContain("proves nothing yet");
    expect(shown.stdout).toContain(`verify <bundle> --scope ${path("c.scope.json")}`);
  });

  test("never overwrites a document, whose salts nobody could draw again", async () => {
    const first = readFileSync(path("a.scope.json"), "utf8");
    const { exitCode, stderr } = await run("scope", "make", path("statements.json"), "-o", path("a.scope.json"));
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("never overwritten")]);
    expect(readFileSync(path("a.scope.json"), "utf8")).toBe(first);
    const onto = ["--only", "actions", "-o", path("a.scope.json")];
    const disclosed = await run("scope", "disclose", path("a.scope.json"), ...onto);
    expect([disclosed.exitCode, readFileSync(path("a.scope.json"), "utf8")]).toEqual([2, first]);
  });

  test.each([
    ["a name twice", '{"a": 1, "a": 2}', "scope_json_invalid"],
    ["a fraction", '{"a": 0.5}', "scope_json_invalid"],
    ["null", '{"a": null}', "scope_malformed"],
    ["a list", "[]", "scope_malformed"],
    ["nothing", "{}", "scope_malformed"],
    ["no JSON", "a: 1", "scope_json_invalid"],
  ])("refuses statements with %s", async (_, text, code) => {
    writeFileSync(path("bad.json"), text);
    const { exitCode, stdout } = await run("scope", "make", path("bad.json"), "-o", path("d.scope.json"), "--json");
    expect([exitCode, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ failure: code })]);
  });

  test("refuses what was altered, another grant's hash, and names that are not there", async () => {
    writeFileSync(path("e.scope.json"), readFileSync(path("b.scope.json"), "utf8").replace("5000", "9000"));
    const show = ["scope", "show", path("e.scope.json")];
    expect(await run(...show)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("(scope_hash_differs)") });
    const other = await run("scope", "show", path("b.scope.json"), "--scope-hash", "ab".repeat(32));
    expect(other).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("(scope_not_granted)") });
    for (const name of ["agreement", "amount"]) {
      const args = ["--only", name, "-o", path("f.scope.json")];
      const said = await run("scope", "disclose", path("b.scope.json"), ...args);
      expect(said).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("(scope_name_unknown)") });
    }
  });

  test("shows nothing that moves a cursor or hides", async () => {
    writeFileSync(path("evil.json"), JSON.stringify({ note: "\u001b[2Jgood\u202eevil\u009b1m\u200b" }));
    await answerOf("scope", "make", path("evil.json"), "-o", path("evil.scope.json"));
    const { stdout } = await run("scope", "show", path("evil.scope.json"));
    expect(stdout).toContain(String.raw`note: "\u001b[2Jgood\u202eevil\u009b1m\u200b"`);
  });
});

describe("anchorctl verify --scope", () => {
  interface Case {
    readonly name: string;
    readonly pinned_root_thk: string;
    readonly bundle: { readonly scopes: readonly object[]; readonly trust_roots: readonly string[] };
  }
  const vectors = JSON.parse(
    readFileSync(new URL("../../../test/vectors/bundle-scope.json", import.meta.url), "utf8"),
  ) as { readonly good: readonly Case[] };
  const found = vectors.good.find(({ name }) => name === "scopes: nothing withheld");
  const {
    scopes: [whole],
    ...plain
  } = found?.bundle ?? { scopes: [], trust_roots: [] };

  async function verify(...args: readonly string[]): Promise<Run> {
    const trust = ["--trust-root", path("trust-root.txt"), "--root-thk", found?.pinned_root_thk ?? ""];
    return run("verify", path("act.bundle.json"), ...trust, ...args);
  }

  beforeAll(() => {
    writeFileSync(path("act.bundle.json"), JSON.stringify(plain));
    writeFileSync(path("trust-root.txt"), plain.trust_roots[0] ?? "");
    writeFileSync(path("whole.scope.json"), JSON.stringify(whole));
  });

  test("shows what is disclosed of the grant, as proved, and how much is withheld", async () => {
    const out = ["-o", path("part.scope.json")];
    await answerOf("scope", "disclose", path("whole.scope.json"), "--only", "max_amount,currency", ...out);
    const { exitCode, stdout } = await verify("--scope", path("part.scope.json"));
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/✓ scope +of grant [0-9a-f]{12}…: 2 statements disclosed, 3 withheld\n.*currency: "EUR"/u);
    expect(stdout).toMatch(/✓ +max_amount: 5000/u);
    expect(stdout).not.toContain("complaints");
    const said = await verify("--scope", path("part.scope.json"), "--json");
    const scopes = [expect.objectContaining({ statements: { currency: "EUR", max_amount: 5000 }, withheld: 3 })];
    expect(JSON.parse(said.stdout)).toMatchObject({ valid: true, scopes });
  });

  test("without a pin shows nothing as proved", async () => {
    const args = ["--trust-root", path("trust-root.txt"), "--scope", path("part.scope.json")];
    const { exitCode, stdout } = await run("verify", path("act.bundle.json"), ...args);
    expect([exitCode, /✓/u.test(stdout)]).toEqual([6, false]);
    expect(stdout).toContain("max_amount: 5000");
  });

  test("a disclosure of another grant fails, and none of it is shown", async () => {
    const { exitCode, stdout } = await verify("--scope", path("a.scope.json"));
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/✗ scopes +scope_not_granted: /u);
    expect(stdout).not.toContain("4711");
    const said = await verify("--scope", path("a.scope.json"), "--json");
    expect(JSON.parse(said.stdout)).toMatchObject({ valid: false, failure: "scopes", scopes: [] });
  });

  test("is for bundles", async () => {
    const said = await run("verify", path("statements.json"), "--scope", path("part.scope.json"));
    expect(said).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("--scope is for bundles") });
  });
});
