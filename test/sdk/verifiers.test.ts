import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { changed } from "../vector-builders/json.ts";
import type { Json } from "../vector-builders/json.ts";
import { verifierPrograms } from "./verifier-programs.ts";
import type { Judged } from "./verifier-programs.ts";

// `anchorctl verify`, `anchor-verify` and `python -m event_anchoring verify` give the same verdicts, reasons and exit
// codes: over all vectors of receipts, bundles and trust roots, and over files that were damaged in many places.

const programs = verifierPrograms();
const folder = mkdtempSync(join(tmpdir(), "anchoring-verifiers-"));
const at = (name: string): string => join(folder, name);

function write(name: string, text: string): string {
  writeFileSync(at(name), text);
  return at(name);
}

/** What each program says, which has to be the same. */
async function judge(args: readonly string[]): Promise<Judged & { readonly failure: unknown }> {
  const [first, ...others] = await Promise.all(
    programs.map(async (program) => ({ name: program.name, ...(await program.judge(args)) })),
  );
  if (first === undefined) throw new RangeError("anchorctl is always there");
  const { exitCode, answer } = first;
  for (const other of others) expect({ args, ...other }).toEqual({ args, name: other.name, exitCode, answer });
  return { exitCode, answer, failure: (answer as { readonly failure: unknown }).failure };
}

interface ReceiptJson {
  readonly leaf: string;
  readonly index: number;
  readonly inclusion: readonly string[];
  readonly checkpoint: string;
}

interface ReceiptCase {
  readonly name: string;
  readonly trust_root_versions: number;
  readonly receipt: ReceiptJson;
  readonly require_witnessed?: boolean;
  readonly expect: object;
  readonly renewal?: object;
  readonly verdict: string;
  readonly failure: { readonly code: string } | null;
}

interface BundleCase {
  readonly name: string;
  readonly pinned_root_thk: string;
  readonly expect?: { readonly anchor_id?: string; readonly event_hash?: string };
  readonly highest_seen?: object;
  readonly require_witnessed?: boolean;
  readonly bundle?: Json;
  readonly of?: string;
  readonly changes?: readonly { readonly at: string; readonly to: Json }[];
  readonly fails?: string;
}

interface Chain {
  readonly name: string;
  readonly pinned_root_thk: string;
  readonly documents: readonly string[];
}

function vectors(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), "utf8"));
}

const receipts = vectors("receipt") as {
  readonly pinned_root_thk: string;
  readonly trust_roots: readonly string[];
  readonly proof: {
    readonly bad: readonly { readonly name: string; readonly proof: string; readonly error: string }[];
  };
  readonly good: readonly ReceiptCase[];
  readonly bad: readonly ReceiptCase[];
  readonly witnessed: { readonly good: readonly ReceiptCase[]; readonly bad: readonly ReceiptCase[] };
};

const bundles = ["bundle", "bundle-state", "bundle-scope"].map(
  (name) =>
    vectors(name) as {
      readonly bundles: Readonly<Record<string, Json>>;
      readonly good: readonly BundleCase[];
      readonly bad: readonly BundleCase[];
      readonly malformed: readonly { readonly name: string; readonly text: string; readonly error: string }[];
    },
);

const { chains } = vectors("trust-root") as {
  readonly chains: { readonly good: readonly Chain[]; readonly bad: readonly Chain[] };
};

function proofText({ leaf, index, inclusion, checkpoint }: ReceiptJson): string {
  const lines = ["c2sp.org/tlog-proof@v1", `extra ${leaf}`, `index ${index}`, ...inclusion, "", checkpoint];
  return lines.join("\n");
}

/** Options for these documents, oldest first. */
function trusting(documents: readonly string[], pin: string | null): string[] {
  const paths = documents.map((document, index) => write(`trust-root-${index + 1}.txt`, document));
  return [...paths.flatMap((path) => ["--trust-root", path]), ...(pin === null ? [] : ["--root-thk", pin])];
}

const pin = receipts.pinned_root_thk;
// What the leaf of most vectors holds the hash of.
const event = write("event.txt", "event 5");
const whole = receipts.good.find(({ name }) => name === "two of three");
const wholeProof = whole === undefined ? "" : proofText(whole.receipt);

afterAll(() => {
  programs.forEach((program) => program.end());
  rmSync(folder, { recursive: true });
});

for (const name of ["anchor-verify", "python"]) {
  const isHere = programs.some((program) => program.name === name);
  const describeIfHere = isHere ? describe : describe.skip;
  describeIfHere(name, () => {
    test("is asked", () => expect(programs.map((program) => program.name)).toContain(name));
  });
}

describe("all judge alike", () => {
  test("the vectors of receipts", async () => {
    const { good, bad, witnessed } = receipts;
    const seen = new Set<unknown>();
    const accepted: string[] = [];
    for (const each of [...good, ...bad, ...witnessed.good, ...witnessed.bad]) {
      write("event.txt.tlog-proof", proofText(each.receipt));
      const trust = trusting(receipts.trust_roots.slice(0, each.trust_root_versions), pin);
      const args = [event, ...trust, ...(each.require_witnessed === true ? ["--witnessed"] : [])];
      const { exitCode, failure } = await judge(args);
      seen.add(failure);
      expect({ name: each.name, isValid: exitCode === 0 }).toEqual({ name: each.name, isValid: failure === null });
      // What a vector expects beside the file, and a renewal, are no part of the command; a text names no tree size.
      const isWhole = Object.keys(each.expect).length === 0 && each.failure?.code !== "tree_size_differs";
      const isBad = each.verdict === "invalid" && isWhole && each.renewal === undefined;
      if (isBad && exitCode !== 1) accepted.push(each.name);
      await judge([...args, "--require-current"]);
    }
    expect(accepted).toEqual([]);
    const wanted = [null, "content_differs", "inclusion_wrong", "signature_invalid", "cosigner_distrusted"];
    expect([...seen]).toEqual(expect.arrayContaining(wanted));
    expect(seen.size).toBeGreaterThanOrEqual(10);
  }, 300_000);

  test("texts that are no receipts", async () => {
    for (const { name, proof, error } of receipts.proof.bad) {
      write("event.txt.tlog-proof", proof);
      const { exitCode, failure } = await judge([event, ...trusting(receipts.trust_roots.slice(0, 1), pin)]);
      expect({ name, exitCode, failure }).toEqual({ name, exitCode: 1, failure: error });
    }
  }, 300_000);

  test("the vectors of bundles, pinned and not", async () => {
    const parts: Readonly<Record<string, Json>> = Object.assign({}, ...bundles.map((file) => file.bundles));
    const outcomes = new Set<unknown>();
    const accepted: string[] = [];
    for (const [index, each] of bundles.flatMap(({ good, bad }) => [...good, ...bad]).entries()) {
      const { changes = [], of = "whole" } = each;
      const base = each.bundle ?? parts[of] ?? null;
      const bundle = changes.reduce<Json>((value, { at: where, to }) => changed(value, [where, to]), base);
      const path = write("act.bundle.json", JSON.stringify(bundle));
      const { trust_roots: own } = base as { readonly trust_roots: readonly string[] };
      const about = each.expect?.anchor_id === undefined ? [] : ["--anchor-id", each.expect.anchor_id];
      const demand = each.require_witnessed === true ? ["--witnessed"] : [];
      const pinned = await judge([path, ...trusting(own.slice(0, 1), each.pinned_root_thk), ...about, ...demand]);
      if (index % 8 === 0) {
        const unpinned = await judge([path, ...trusting(own.slice(0, 1), null), ...about, ...demand]);
        if (unpinned.exitCode !== 1 && unpinned.exitCode !== 6) accepted.push(`${each.name}, without a pin`);
      }
      outcomes.add(pinned.exitCode);
      // What a reader has seen before is no part of the command, of an event hash there is no file here, and the
      // trust root is given beside the bundle.
      const isAsked = each.highest_seen === undefined && each.expect?.event_hash === undefined;
      const isBad = each.fails !== undefined && each.fails !== "trust_roots" && isAsked;
      if (isBad && pinned.exitCode !== 1) accepted.push(each.name);
    }
    expect(accepted).toEqual([]);
    expect(outcomes).toEqual(new Set([0, 1, 5]));
  }, 300_000);

  test("texts that are no bundles", async () => {
    const { trust_roots: roots } = receipts;
    for (const { name, text, error } of bundles.flatMap(({ malformed }) => malformed)) {
      const path = write("act.bundle.json", text);
      const { exitCode, failure } = await judge([path, ...trusting(roots.slice(0, 1), pin)]);
      expect({ name, exitCode, failure }).toEqual({ name, exitCode: 1, failure: error });
    }
  }, 300_000);

  test("chains of trust roots", async () => {
    write("event.txt.tlog-proof", wholeProof);
    for (const { documents, pinned_root_thk: pinned } of [...chains.good, ...chains.bad]) {
      await judge([event, ...trusting(documents, pinned)]);
      await judge([event, ...trusting(documents, null)]);
    }
    expect(await judge([event])).toMatchObject({ exitCode: 2, failure: "trust_root_missing" });
  }, 300_000);

  test("a receipt and a trust root with any one byte changed", async () => {
    const first = receipts.trust_roots[0] ?? "";
    const step = 41;
    for (const [name, text] of [
      ["event.txt.tlog-proof", wholeProof],
      ["trust-root-1.txt", first],
    ] as const) {
      for (let place = 0; place < text.length; place += step) {
        write("event.txt.tlog-proof", wholeProof);
        const trust = trusting([first], pin);
        write(name, text.slice(0, place) + (text.charAt(place) === "A" ? "B" : "A") + text.slice(place + 1));
        expect({ name, place, ...(await judge([event, ...trust])) }).toMatchObject({ exitCode: 1 });
      }
    }
  }, 300_000);

  test("the pin: given, beside the trust root, malformed, of another, and none", async () => {
    write("event.txt.tlog-proof", wholeProof);
    const trust = trusting(receipts.trust_roots.slice(0, 1), null);
    expect(await judge([event, ...trust, "--root-thk", pin.toUpperCase()])).toMatchObject({ exitCode: 0 });
    expect(await judge([event, ...trust])).toMatchObject({ exitCode: 6, failure: "not_pinned" });
    expect(await judge([event, ...trust, "--root-thk", "00".repeat(32)])).toMatchObject({ failure: "pin_mismatch" });
    expect(await judge([event, ...trust, "--root-thk", "secret"])).toMatchObject({ failure: "pin_malformed" });
    write("root-thk.txt", `${pin}\n`);
    expect(await judge([event, ...trust])).toMatchObject({ exitCode: 0 });
    write("root-thk.txt", `${pin} and more\n`);
    expect(await judge([event, ...trust])).toMatchObject({ exitCode: 1, failure: "pin_malformed" });
    rmSync(at("root-thk.txt"));
  });

  test("what cannot be read, and wrong usage", async () => {
    write("event.txt.tlog-proof", wholeProof);
    const trust = trusting(receipts.trust_roots.slice(0, 1), pin);
    for (const [args, failure] of [
      [[at("nothing.txt"), ...trust], "cannot_read"],
      [[event, "--proof", at("nothing.tlog-proof"), ...trust], "cannot_read"],
      [[event, "--trust-root", at("nothing.txt")], "cannot_read"],
      [["--bundle", at("nothing.json"), ...trust], "cannot_read"],
      [["--bundle", event, "--anchor-id", "12", ...trust], "anchor_id_invalid"],
      [[event, "--scope", event, ...trust], "scope_bundles_only"],
      [[event, "--unheard-of", ...trust], "usage"],
      [[], "no_file"],
    ] as const) {
      expect({ args, ...(await judge(args)) }).toMatchObject({ exitCode: 2, failure });
    }
  });
});
