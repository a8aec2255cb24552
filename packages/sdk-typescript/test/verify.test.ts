import { describe, expect, test } from "@jest/globals";
import { crosscheck } from "../src/crosscheck.ts";
import {
  Receipt,
  VerificationError,
  checkCanaries,
  inspectBundle,
  inspectReceipt,
  verifyBundle,
  verifyCheckpoint,
  verifyConsistency,
  verifyReceipt,
  verifySignature,
  verifyTrustRoot,
} from "../src/index.ts";
import type { ReceiptCheck } from "../src/index.ts";
import { changed, vectors } from "./vectors.ts";

function answer(request: object): { ok?: Record<string, unknown>; error?: Record<string, unknown> } {
  return JSON.parse(crosscheck(JSON.stringify(request))) as { ok?: Record<string, unknown> };
}

function codeOf(run: () => unknown): string | null {
  try {
    run();
  } catch (error) {
    if (error instanceof VerificationError) return error.code;
    throw error;
  }
  return null;
}

interface ReceiptCase {
  readonly name: string;
  readonly trust_root_versions: number;
  readonly receipt: Record<string, unknown>;
  readonly expect?: Record<string, string>;
  readonly renewal?: { readonly checkpoint: string; readonly consistency: readonly string[] };
  readonly superseded_trust_root?: number | null;
  readonly origin_lost?: boolean;
  readonly failure: { readonly step: string; readonly code: string } | null;
}

interface WitnessedCase extends ReceiptCase {
  readonly require_witnessed: boolean;
  readonly witnesses: readonly { readonly name: string; readonly witnessed_at: number }[];
  readonly witnesses_needed: number;
  readonly witnessed: boolean;
}

interface ReceiptVectors {
  readonly pinned_root_thk: string;
  readonly trust_roots: readonly string[];
  readonly proof: {
    readonly good: readonly { readonly proof: string }[];
    readonly bad: readonly { readonly name: string; readonly proof: string; readonly code?: string }[];
  };
  readonly json: { readonly bad: readonly { readonly name: string; readonly value: unknown }[] };
  readonly good: readonly ReceiptCase[];
  readonly bad: readonly ReceiptCase[];
  readonly witnessed: { readonly good: readonly WitnessedCase[]; readonly bad: readonly WitnessedCase[] };
}

describe("receipts of the shared vectors", () => {
  const shared = vectors("receipt") as ReceiptVectors;

  const judge = (vector: ReceiptCase) => verifyReceipt(vector.receipt, checkOf(vector));

  const checkOf = ({ trust_root_versions: held, expect: known, renewal }: ReceiptCase): ReceiptCheck => {
    const bytes = (hex: string | undefined) =>
      hex === undefined ? undefined : Uint8Array.from(Buffer.from(hex, "hex"));
    return {
      trustRoot: verifyTrustRoot({
        documents: shared.trust_roots.slice(0, held),
        pinnedRootThk: shared.pinned_root_thk,
      }),
      eventHash: known?.["event_hash"],
      anchorId: known?.["anchor_id"],
      payload: bytes(known?.["payload"]),
      ...(renewal === undefined
        ? {}
        : {
            renewal: {
              checkpoint: renewal.checkpoint,
              consistency: renewal.consistency.map((hash) => Uint8Array.from(Buffer.from(hash, "base64"))),
            },
          }),
    };
  };

  test.each(shared.good)("$name", (vector) => {
    const verified = judge(vector);
    expect(verified.anchorId).toMatch(/^[0-9a-f]{64}$/);
    expect(verified.supersededTrustRoot).toBe(vector.superseded_trust_root ?? null);
    expect(verified.originLost).toBe(vector.origin_lost ?? false);
    expect(verified.steps.at(-2)).toMatchObject({ code: "trust_root", result: "pass" });
    expect(inspectReceipt(vector.receipt, checkOf(vector))).toEqual({ failure: null, ...verified });
  });

  test.each(shared.bad)("refused: $name", (vector) => {
    let caught: unknown;
    try {
      judge(vector);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(VerificationError);
    expect(caught).toMatchObject(vector.failure ?? { step: "none" });
    const report = inspectReceipt(vector.receipt, checkOf(vector));
    expect(report.failure).toEqual(vector.failure);
    expect(caught).toMatchObject({ steps: report.steps, result: report });
    expect(report.steps.map(({ result }) => result).filter((result) => result === "fail")).toHaveLength(1);
  });

  test("a superseded one is refused where a current one is required", () => {
    const superseded = shared.good.find(({ superseded_trust_root: version }) => typeof version === "number");
    if (superseded === undefined) throw new Error("there is such a vector");
    const check = { ...checkOf(superseded), requireCurrent: true };
    expect(codeOf(() => verifyReceipt(superseded.receipt, check))).toBe("trust_root_superseded");
    const { failure, steps } = inspectReceipt(superseded.receipt, check);
    expect(failure?.step).toBe("trust_root");
    expect(steps.at(-2)).toMatchObject({ code: "trust_root", result: "fail" });
    expect(steps.at(-1)).toMatchObject({ code: "witnesses", result: "not_checked" });
  });

  test.each([...shared.witnessed.good, ...shared.witnessed.bad])("witnesses: $name", (vector) => {
    const check = { ...checkOf(vector), requireWitnessed: vector.require_witnessed };
    const report = inspectReceipt(vector.receipt, check);
    expect(report.failure).toEqual(vector.failure);
    const shown = report.witnesses.map(({ name, witnessedAt }) => ({ name, witnessed_at: witnessedAt }));
    expect(shown).toEqual(vector.witnesses);
    expect(report).toMatchObject({ witnessesNeeded: vector.witnesses_needed, witnessed: vector.witnessed });
    expect(codeOf(() => verifyReceipt(vector.receipt, check))).toBe(vector.failure?.code ?? null);
    expect(report.cosigners.every((name) => name.startsWith("anchor.example/demo/node/"))).toBe(true);
  });

  test("a superseded one is refused as that, before its witnesses are counted", () => {
    const superseded = shared.witnessed.good.find(({ superseded_trust_root: version }) => typeof version === "number");
    if (superseded === undefined) throw new Error("there is such a vector");
    const demand = { requireCurrent: true, requireWitnessed: true };
    const report = inspectReceipt(superseded.receipt, { ...checkOf(superseded), ...demand });
    expect(report).toMatchObject({ failure: { code: "trust_root_superseded" }, witnessed: false });
    const few = { ...superseded, trust_root_versions: 3 };
    expect(codeOf(() => verifyReceipt(few.receipt, { ...checkOf(few), ...demand }))).toBe("trust_root_superseded");
  });

  test("a checkpoint says who has witnessed it", () => {
    const [witnessed] = shared.witnessed.good;
    if (witnessed === undefined) throw new Error("there is such a vector");
    const found = verifyCheckpoint(Receipt.parse(witnessed.receipt).checkpoint, checkOf(witnessed).trustRoot);
    expect(found).toMatchObject({ witnessesNeeded: 2, witnessed: true });
    expect(found.witnesses.map(({ name }) => name)).toEqual(["north", "south"]);
    expect(found.cosigners).toHaveLength(2);
  });

  test("an id that a receipt states is held against its leaf, whatever else is known", () => {
    const vector = shared.good.find(({ expect: known }) => known?.["anchor_id"] === undefined);
    const receipt = vector?.receipt as { anchor_id: string } | undefined;
    if (vector === undefined || receipt === undefined) throw new Error("there is such a vector");
    const lying = { ...vector, receipt: { ...receipt, anchor_id: "1b".repeat(32) } };
    const known = { ...lying, expect: { ...vector.expect, anchor_id: receipt.anchor_id } };
    expect(codeOf(() => judge(lying))).toBe("anchor_id_differs");
    expect(codeOf(() => judge(known))).toBe("anchor_id_differs");
  });

  test.each(shared.proof.good)("a tlog-proof prints back", ({ proof }) => {
    expect(Receipt.parse(proof).toProofText()).toBe(proof);
  });

  test.each(shared.proof.bad)("no tlog-proof: $name", ({ proof }) => {
    expect(codeOf(() => Receipt.parse(proof))).toMatch(/^proof_/);
  });

  test.each(shared.json.bad)("no receipt: $name", ({ value }) => {
    expect(codeOf(() => Receipt.parse(value))).toMatch(/^proof_/);
  });

  test("JSON.stringify gives the wire form", () => {
    const [first] = shared.good;
    expect(JSON.parse(JSON.stringify(Receipt.parse(first?.receipt)))).toEqual(first?.receipt);
    expect(Receipt.parse(JSON.stringify(first?.receipt)).index).toBe(first?.receipt["index"]);
  });
});

interface Signature {
  readonly name?: string;
  readonly public_key: string;
  readonly message: string;
  readonly signature: string;
}

describe("the Ed25519 rule", () => {
  test("this runtime passes its canaries", () => {
    expect(() => checkCanaries()).not.toThrow();
  });

  const shared = vectors("ed25519") as Record<string, unknown>;
  const listed = (name: string): Signature[] => (shared[name] as Signature[] | undefined) ?? [];
  const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));

  test.each(["good", "bad"])("%s signatures of the shared vectors", (name) => {
    const cases = listed(name);
    expect(cases.length).toBeGreaterThan(2);
    for (const { public_key: key, message, signature } of cases) {
      expect(verifySignature(bytes(key), bytes(message), bytes(signature))).toBe(name === "good");
    }
  });
});

interface BundleCase {
  readonly name: string;
  readonly pinned_root_thk: string;
  readonly highest_seen?: unknown;
  readonly expect?: unknown;
  readonly require_witnessed?: boolean;
  readonly witnessed?: true;
  readonly bundle?: unknown;
  readonly of?: string;
  readonly changes?: readonly { at: string; to?: unknown }[];
  readonly outcome?: string;
  readonly fails?: string;
}

describe("bundles of the shared vectors", () => {
  const shared = vectors("bundle") as {
    bundles: Record<string, unknown>;
    good: BundleCase[];
    bad: BundleCase[];
    malformed: { name: string; text: string; error: string }[];
  };
  const ask = (vector: BundleCase) =>
    answer({
      op: "verify_bundle",
      bundle: bundleOf(vector),
      pinned_root_thk: vector.pinned_root_thk,
      highest_seen: vector.highest_seen,
      expect: vector.expect,
      require_witnessed: vector.require_witnessed,
    }).ok;

  test.each(shared.good)("$name", (vector) => {
    const { outcome, actor_proven, authorised_at_action, authorised_now, not_checked } = vector as unknown as Record<
      string,
      unknown
    >;
    const verdicts = { actor_proven, authorised_at_action, authorised_now };
    const { witnessed = false } = vector;
    expect(ask(vector)).toEqual({ outcome, ...verdicts, witnessed, not_checked, fails: null });
  });

  test.each(shared.bad)("refused: $name", (vector) => {
    expect(ask(vector)).toMatchObject({ outcome: "invalid", fails: vector.fails });
  });

  const bundleOf = (vector: BundleCase): string =>
    JSON.stringify(vector.bundle ?? changed(shared.bundles[vector.of ?? ""], vector.changes ?? []));
  const named = (name: string): BundleCase => {
    const found = [...shared.good, ...shared.bad].find((vector) => vector.name === name);
    if (found === undefined) throw new Error(`there is no vector ${name}`);
    return found;
  };

  test.each([
    ["singles, as stated", "bundle_not_proved", "revocation"],
    [shared.bad[0]?.name ?? "", "bundle_invalid", shared.bad[0]?.fails ?? ""],
  ])("%s: %s, with all checks", (name, code, step) => {
    const vector = named(name);
    const check = { pinnedRootThk: vector.pinned_root_thk };
    const report = inspectBundle(bundleOf(vector), check);
    let caught: unknown;
    try {
      verifyBundle(bundleOf(vector), check);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(VerificationError);
    expect(caught).toMatchObject({ code, step, steps: report.checks, result: report });
  });

  test("one that is proved throughout is returned", () => {
    const vector = named("complete");
    const check = { pinnedRootThk: vector.pinned_root_thk };
    expect(verifyBundle(bundleOf(vector), check)).toEqual(inspectBundle(bundleOf(vector), check));
  });

  test.each(shared.malformed)("no bundle: $name", ({ text, error }) => {
    expect(codeOf(() => verifyBundle(text, { pinnedRootThk: "00".repeat(32) }))).toBe(error);
  });
});

describe("trust roots and consistency", () => {
  const { trust_roots: documents, pinned_root_thk: pinnedRootThk } = vectors("receipt") as ReceiptVectors;

  test("a pin of a later version leaves the earlier ones out", () => {
    const whole = verifyTrustRoot({ documents, pinnedRootThk });
    const pin = whole.versions[1]?.rootThk ?? new Uint8Array(0);
    expect(verifyTrustRoot({ documents, pinnedRootThk: pin }).versions).toHaveLength(documents.length - 1);
  });

  test.each([
    ["no document", [], "chain_empty"],
    ["another pin", documents.slice(1), "pin_mismatch"],
    ["a gap", [documents[0] ?? "", documents[2] ?? ""], "version_gap"],
    ["no note", ["no note"], "malformed"],
  ])("refused: %s", (_, given, code) => {
    const refused = codeOf(() => verifyTrustRoot({ documents: given, pinnedRootThk }));
    expect(code === "malformed" ? typeof refused : refused).toBe(code === "malformed" ? "string" : code);
  });

  test("what was seen is not given up", () => {
    const chain = verifyTrustRoot({ documents, pinnedRootThk });
    const { newest } = chain;
    const seen = { version: newest.trustRoot.version, rootThk: newest.rootThk };
    expect(verifyTrustRoot({ documents, pinnedRootThk, highestSeen: seen }).newest.rootThk).toEqual(newest.rootThk);
    const older = { documents: documents.slice(0, 1), pinnedRootThk, highestSeen: seen };
    expect(codeOf(() => verifyTrustRoot(older))).toBe("rollback");
    const other = { documents, pinnedRootThk, highestSeen: { ...seen, rootThk: "77".repeat(32) } };
    expect(codeOf(() => verifyTrustRoot(other))).toBe("fork");
  });

  test("equal trees are consistent, others are not without a proof", () => {
    const head = { treeSize: 4, rootHash: "11".repeat(32) };
    expect(() => verifyConsistency(head, head, [])).not.toThrow();
    expect(codeOf(() => verifyConsistency(head, { ...head, rootHash: "12".repeat(32) }, []))).toBe("consistency_wrong");
    expect(codeOf(() => verifyConsistency(head, { ...head, treeSize: 5 }, []))).toBe("consistency_wrong");
    expect(codeOf(() => verifyConsistency({ ...head, treeSize: 5 }, head, []))).toBe("consistency_wrong");
  });
});
