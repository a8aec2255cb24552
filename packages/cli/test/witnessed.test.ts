import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { LEAF_KIND, bytesToHex, decodeLeaf, formatProof, receiptFromJson } from "@event-anchoring/protocol";
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
});

interface BundleCase {
  readonly name: string;
  readonly pinned_root_thk: string;
  readonly require_witnessed?: boolean;
  readonly witnessed?: boolean;
  readonly fails?: string;
  readonly code?: string;
  readonly outcome?: string;
  readonly bundle?: { readonly trust_roots: readonly string[] };
}

describe("anchorctl verify --witnessed of a bundle", () => {
  const cases = ["bundle", "bundle-state"].flatMap((name) => {
    const file = readFileSync(new URL(`../../../test/vectors/${name}.json`, import.meta.url), "utf8");
    const { good, bad } = JSON.parse(file) as { readonly good: BundleCase[]; readonly bad: BundleCase[] };
    return [...good, ...bad].filter(({ name: title, bundle }) => title.includes("witnesses") && bundle !== undefined);
  });

  test.each(cases)("judges as the vector says: $name", async (one) => {
    writeFileSync(inHome("act.bundle.json"), JSON.stringify(one.bundle));
    writeFileSync(inHome("pinned.txt"), one.bundle?.trust_roots[0] ?? "");
    const trust = ["--trust-root", inHome("pinned.txt"), "--root-thk", one.pinned_root_thk];
    const demand = one.require_witnessed === true ? ["--witnessed"] : [];
    const { exitCode, stdout } = await runAnchorctl(home, [
      "verify",
      inHome("act.bundle.json"),
      "--json",
      ...trust,
      ...demand,
    ]);
    const exits: Readonly<Record<string, number>> = { valid: 0, valid_as_stated: 5 };
    expect(exitCode).toBe(exits[one.outcome ?? ""] ?? 1);
    const said = JSON.parse(stdout) as BundleCase & { failure: string | null; checks: readonly { detail: string }[] };
    expect([said.failure, said.witnessed]).toEqual([one.fails ?? null, one.witnessed ?? false]);
    expect(said.checks.some(({ detail }) => detail.includes(one.code ?? ""))).toBe(true);
  });
});

interface Asked {
  readonly line: string;
  readonly prefer: string | undefined;
}

/** Gives out these receipts in turn, the last one again and again, whatever it is asked. */
async function withNode(
  receipts: readonly WitnessedCase[],
  use: (apiUrl: string, asked: readonly Asked[]) => Promise<void>,
): Promise<void> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    const { receipt } = receipts[Math.min(asked.length, receipts.length - 1)] ?? named("none");
    asked.push({ line: `${method} ${url?.replace(/[0-9a-f]{64}/u, "{id}")}`, prefer: headers["prefer"]?.toString() });
    const anchor = { anchor_id: receiptFromJson(receipt).anchorId };
    const body = method === "POST" ? { anchor: { anchor_id: bytesToHex(anchor.anchor_id) }, receipt } : receipt;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe("anchorctl --witnessed, of commands that ask the service", () => {
  const enough = named("as many as are needed");
  const tooFew = named("one too few, not demanded");
  const { leaf: leafBytes } = receiptFromJson(enough.receipt).receipt;
  const { originFingerprint, ...leaf } = decodeLeaf(leafBytes);
  const heldVersions = (versions: number): readonly string[] => [
    "--root-thk",
    vectors.pinned_root_thk,
    ...Array.from({ length: versions }, (_, at) => ["--trust-root", inHome(`trust-root-${at + 1}.txt`)]).flat(),
  ];
  const run = (apiUrl: string, versions: number, ...args: readonly string[]): ReturnType<typeof runAnchorctl> =>
    runAnchorctl(home, [...args, "--witnessed", "--json", "--api-url", apiUrl, ...heldVersions(versions)], {
      ANCHORCTL_API_KEY: "ank_test",
    });

  /** The event of the vectors, as it would be anchored. */
  function anchorArgs(): readonly string[] {
    if (leaf.kind !== LEAF_KIND.event && leaf.kind !== LEAF_KIND.signedEvent) throw new TypeError("not an event");
    const { irisRef, scrollRef, grantRef, bondRef, yieldRef, eventDataHash } = leaf.semanticAnchor;
    const references = { irisRef, scrollRef, grantRef, bondRef, yieldRef, eventDataHash };
    const flags = Object.entries(references).flatMap(([name, value]) => [
      `--${name.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`,
      bytesToHex(value),
    ]);
    return ["anchor", inHome("event.txt"), "--origin", bytesToHex(originFingerprint), ...flags];
  }

  test("anchor waits with the write, and asks again for the receipt until it is witnessed", async () => {
    await withNode([tooFew, tooFew, enough], async (apiUrl, asked) => {
      const { exitCode, stdout } = await run(apiUrl, 4, ...anchorArgs());
      expect([exitCode, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ witnessed: true })]);
      expect(asked.map(({ line }) => line)).toEqual([
        "POST /v1/event-anchors",
        "GET /v1/event-anchors/{id}/receipt",
        "GET /v1/event-anchors/{id}/receipt",
      ]);
      for (const { prefer } of asked) expect(prefer).toMatch(/^wait=2[5-8], witnessed$/u);
      const written = readFileSync(inHome("event.txt.tlog-proof"), "utf8");
      expect(written).toBe(formatProof(receiptFromJson(enough.receipt).receipt));
    });
  });

  test("anchor keeps the certified receipt if the time is over, and ends with 4", async () => {
    await withNode([tooFew], async (apiUrl) => {
      const { exitCode, stdout } = await run(apiUrl, 4, ...anchorArgs(), "--timeout", "3");
      expect([exitCode, JSON.parse(stdout)]).toEqual([4, expect.objectContaining({ witnessed: false })]);
      const written = readFileSync(inHome("event.txt.tlog-proof"), "utf8");
      expect(written).toBe(formatProof(receiptFromJson(tooFew.receipt).receipt));
    });
  });

  test("nothing is written to the service where no trust root lists a witness", async () => {
    await withNode([enough], async (apiUrl, asked) => {
      const { exitCode, stdout } = await run(apiUrl, 3, ...anchorArgs());
      expect([exitCode, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ failure: "no_witnesses" })]);
      const without = await runAnchorctl(home, [...anchorArgs(), "--witnessed", "--json", "--api-url", apiUrl], {
        ANCHORCTL_API_KEY: "ank_test",
      });
      expect([without.exitCode, without.stdout]).toEqual([2, expect.stringContaining("trust_root_missing")]);
      expect(asked).toEqual([]);
    });
  });

  test("receipt takes nothing less", async () => {
    const out = inHome("receipt.tlog-proof");
    const anchorId = bytesToHex(receiptFromJson(enough.receipt).anchorId);
    await withNode([tooFew], async (apiUrl) => {
      const { exitCode, stdout } = await run(apiUrl, 4, "receipt", anchorId, "--out", out, "--timeout", "3");
      expect([exitCode, JSON.parse(stdout)]).toEqual([4, expect.objectContaining({ failure: "not_witnessed" })]);
      expect(existsSync(out)).toBe(false);
    });
    await withNode([tooFew, enough], async (apiUrl) => {
      expect((await run(apiUrl, 4, "receipt", anchorId, "--out", out)).exitCode).toBe(0);
      expect(readFileSync(out, "utf8")).toBe(formatProof(receiptFromJson(enough.receipt).receipt));
    });
  });
});
