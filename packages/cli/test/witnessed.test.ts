import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { formatProof, receiptFromJson } from "@event-anchoring/protocol";
import { runAnchorctl } from "./run-anchorctl.ts";

interface WitnessedCase {
  readonly name: string;
  readonly trust_root_versions: number;
  readonly receipt: object;
  readonly require_witnessed: boolean;
  readonly failure: { readonly code: string } | null;
  readonly witnesses: readonly { readonly name: string }[];
  readonly witnessed: boolean;
}
const vectors = JSON.parse(readFileSync(new URL("../../../test/vectors/receipt.json", import.meta.url), "utf8")) as {
  readonly pinned_root_thk: string;
  readonly trust_roots: readonly string[];
  readonly witnessed: { readonly good: readonly WitnessedCase[]; readonly bad: readonly WitnessedCase[] };
};

let home: string;
const inHome = (name: string): string => join(home, name);

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-witnessed-"));
  // What the leaf of the vectors holds is the hash of this.
  writeFileSync(inHome("event.txt"), "event 5");
  vectors.trust_roots.forEach((document, at) => writeFileSync(inHome(`trust-root-${at + 1}.txt`), document));
});

afterAll(() => {
  rmSync(home, { recursive: true });
});

function verify(one: WitnessedCase, ...args: readonly string[]): ReturnType<typeof runAnchorctl> {
  writeFileSync(inHome("event.txt.tlog-proof"), formatProof(receiptFromJson(one.receipt).receipt));
  const held = Array.from({ length: one.trust_root_versions }, (_, at) => [
    "--trust-root",
    inHome(`trust-root-${at + 1}.txt`),
  ]);
  const trust = ["--root-thk", vectors.pinned_root_thk, ...held.flat()];
  return runAnchorctl(home, ["verify", inHome("event.txt"), ...trust, ...args]);
}

function named(name: string): WitnessedCase {
  const found = [...vectors.witnessed.good, ...vectors.witnessed.bad].find((each) => each.name === name);
  if (found === undefined) throw new TypeError(`no vector is called ${name}`);
  return found;
}

describe("anchorctl verify --witnessed", () => {
  test.each([...vectors.witnessed.good, ...vectors.witnessed.bad])("judges as the vector says: $name", async (one) => {
    const { exitCode, stdout } = await verify(one, "--json", ...(one.require_witnessed ? ["--witnessed"] : []));
    expect(exitCode).toBe(one.failure === null ? 0 : 1);
    const { failure, witnessed, witnesses } = JSON.parse(stdout) as WitnessedCase & { failure: string | null };
    expect([failure, witnessed]).toEqual([one.failure?.code ?? null, one.witnessed]);
    expect(witnesses.map(({ name }) => name)).toEqual(one.witnesses.map(({ name }) => name));
  });

  test("says who has witnessed it and when, asked for or not", async () => {
    for (const args of [[], ["--witnessed"]]) {
      const { stdout } = await verify(named("as many as are needed"), ...args);
      expect(stdout).toContain("✓ witnesses      2 good, 2 of 3 needed");
      expect(stdout).toContain("north signed at 2026-02-02T02:41:40Z");
      expect(stdout).toMatch(/^VALID: .*, witnessed by north, south at 2026-02-02T02:41:45Z\.$/mu);
    }
  });

  test("says certified and no more of what too few have witnessed", async () => {
    const { exitCode, stdout } = await verify(named("one too few, not demanded"));
    expect(exitCode).toBe(0);
    expect(stdout).toContain("certified, not witnessed: 1 of 3 witnesses, 2 needed: west");
    expect(stdout).toMatch(/^VALID: .* and certified at [0-9TZ:-]+\.$/mu);
    const demanded = await verify(named("one too few"), "--witnessed");
    expect(demanded.exitCode).toBe(1);
    expect(demanded.stdout).toMatch(/^NOT VALID \(not_witnessed\): witnesses: 1 of 3 witnesses, 2 needed: north$/mu);
  });

  test("is refused for a bundle", async () => {
    writeFileSync(inHome("act.bundle.json"), "{}");
    const trust = ["--trust-root", inHome("trust-root-1.txt"), "--root-thk", vectors.pinned_root_thk];
    const run = await runAnchorctl(home, ["verify", inHome("act.bundle.json"), "--witnessed", "--json", ...trust]);
    expect([run.exitCode, run.stdout]).toEqual([2, expect.stringContaining("witnessed_receipts_only")]);
  });
});
