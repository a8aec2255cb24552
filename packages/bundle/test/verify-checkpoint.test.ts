/** A checkpoint is judged as the receipt that carries it: the vectors of receipts decide. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import {
  bytesToHex,
  hexToBytes,
  receiptFromJson,
  verifyReceipt,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { ReceiptStepCode, TrustRootChain } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { verifyCheckpoint } from "../src/index.ts";

interface ReceiptCase {
  readonly name: string;
  readonly trust_root_versions: number;
  readonly receipt: { readonly checkpoint: string };
  readonly superseded_trust_root: number | null;
  readonly origin_lost: boolean;
  readonly failure: { readonly step: ReceiptStepCode; readonly code: string } | null;
}

const vectors = JSON.parse(readFileSync(new URL("../../../test/vectors/receipt.json", import.meta.url), "utf8")) as {
  readonly pinned_root_thk: string;
  readonly trust_roots: readonly string[];
  readonly good: readonly ReceiptCase[];
  readonly bad: readonly ReceiptCase[];
};

function chainOf(versions: number): TrustRootChain {
  const documents = vectors.trust_roots.slice(0, versions);
  const pinnedRootThk = hexToBytes(vectors.pinned_root_thk, 32);
  const verification = verifyTrustRootChain({ documents, pinnedRootThk }, nodeCrypto);
  if (verification.result === "refused") throw new Error(verification.detail);
  return verification.chain;
}

function judge(entry: ReceiptCase) {
  return verifyCheckpoint(entry.receipt.checkpoint, chainOf(entry.trust_root_versions), nodeCrypto.ed25519Verify);
}

function named(cases: readonly ReceiptCase[]): [string, ReceiptCase][] {
  return cases.map((entry) => [entry.name, entry]);
}

/** Steps that are about the checkpoint alone, or about whose it is. */
const OWN_STEPS: readonly ReceiptStepCode[] = ["log_signature", "cosignatures", "trust_root"];

/** A renewal is a receipt's own affair. */
const RENEWED = /renew/;

const own = vectors.bad.filter(({ failure, name }) => {
  return failure !== null && OWN_STEPS.includes(failure.step) && !RENEWED.test(name);
});

describe("the checkpoint of a good receipt", () => {
  test.each(named(vectors.good.filter(({ name }) => !RENEWED.test(name))))("%s", (_, entry) => {
    const verification = judge(entry);
    const superseded = "supersededTrustRoot" in verification ? verification.supersededTrustRoot : "refused";
    expect(superseded).toBe(entry.superseded_trust_root ?? null);
    expect(verification).toMatchObject({ verdict: "valid" });
    const isLost = verification.verdict === "valid" && verification.origin.status === "lost";
    expect(isLost).toBe(entry.origin_lost);
  });
});

describe("the checkpoint of a bad receipt", () => {
  test.each(named(own))("%s", (_, entry) => {
    expect(judge(entry)).toMatchObject({ verdict: "invalid", code: entry.failure?.code });
  });

  test.each([
    ["checkpoint without signatures", "checkpoint_malformed"],
    ["checkpoint with an extension line", "checkpoint_malformed"],
    ["65 lines", "checkpoint_malformed"],
    ["checkpoint of another cluster", "origin_differs"],
    ["origin not yet listed", "origin_unknown"],
    // As a receipt it is of another origin than its leaf; by itself it is of an origin that nobody lists.
    ["origin in upper case", "origin_differs"],
  ])("%s", (name, code) => {
    const entry = vectors.bad.find((each) => each.name === name);
    if (entry === undefined) throw new Error(`no case ${name}`);
    expect(judge(entry)).toMatchObject({ verdict: "invalid", code });
  });
});

test("a receipt that fails for its leaf alone has a good checkpoint", () => {
  const ofLeaf = vectors.bad.filter(({ failure }) => {
    return failure !== null && ["leaf", "content", "anchor_id", "inclusion"].includes(failure.step);
  });
  expect(ofLeaf.length).toBeGreaterThan(5);
  expect(ofLeaf.filter((entry) => judge(entry).verdict !== "valid").map(({ name }) => name)).toEqual([]);
});

test("the lines that count are those that count in a receipt", () => {
  const [entry] = vectors.good;
  if (entry === undefined) throw new Error("no receipt");
  const trustRoots = chainOf(entry.trust_root_versions);
  const { receipt } = receiptFromJson(entry.receipt);
  const asReceipt = verifyReceipt({ receipt, trustRoots }, nodeCrypto);
  const verification = judge(entry);
  if (verification.verdict === "invalid") throw new Error(verification.detail);
  const keysOf = (lines: typeof verification.verified): string[] =>
    lines.map(({ vkey, timeS }) => `${bytesToHex(vkey.publicKey)} ${timeS ?? ""}`);
  expect(keysOf(verification.verified)).toEqual(keysOf(asReceipt.verified));
});
