import { describe, expect, test } from "@jest/globals";
import {
  ProofError,
  RECEIPT_STEPS,
  base64ToBytes,
  formatProof,
  hexToBytes,
  parseProof,
  receiptFromJson,
  receiptToJson,
  verifyReceipt,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { Crypto, ReceiptVerification, TrustRootChain } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { CRYPTOS, codeOf, loadVectors } from "./vectors.ts";

interface Case {
  readonly name: string;
  readonly trust_root_versions: number;
  readonly receipt: object;
  readonly expect: { readonly event_hash?: string; readonly payload?: string; readonly anchor_id?: string };
  readonly renewal?: { readonly checkpoint: string; readonly consistency: readonly string[] };
  readonly verdict: string;
  readonly superseded_trust_root: number | null;
  readonly origin_lost: boolean;
  readonly failure: { readonly step: string; readonly code: string } | null;
}

interface WitnessedCase extends Case {
  readonly require_witnessed: boolean;
  readonly witnesses: readonly { readonly name: string; readonly witnessed_at: number }[];
  readonly witnesses_needed: number;
  readonly witnessed: boolean;
}
const vectors = loadVectors("receipt.json") as {
  pinned_root_thk: string;
  trust_roots: string[];
  proof: { good: { proof: string; json: object }[]; bad: { name: string; error: string; proof: string }[] };
  json: { bad: { name: string; value: unknown }[] };
  good: Case[];
  bad: Case[];
  witnessed: { good: WitnessedCase[]; bad: WitnessedCase[] };
};

function chainOf(versions: number, crypto: Crypto): TrustRootChain {
  const documents = vectors.trust_roots.slice(0, versions);
  const verification = verifyTrustRootChain({ documents, pinnedRootThk: hexToBytes(vectors.pinned_root_thk) }, crypto);
  if (verification.result === "refused") throw new Error(verification.detail);
  return verification.chain;
}

function verify(one: Case & Partial<WitnessedCase>, crypto: Crypto): ReceiptVerification {
  const bytes = (hex: string | undefined): Uint8Array | undefined => (hex === undefined ? undefined : hexToBytes(hex));
  const { event_hash, payload, anchor_id } = one.expect;
  const input = {
    receipt: receiptFromJson(one.receipt).receipt,
    trustRoots: chainOf(one.trust_root_versions, crypto),
    expect: { eventHash: bytes(event_hash), payload: bytes(payload), anchorId: bytes(anchor_id) },
    requireWitnessed: one.require_witnessed ?? false,
  };
  if (one.renewal === undefined) return verifyReceipt(input, crypto);
  const { checkpoint, consistency } = one.renewal;
  const renewal = { checkpoint, consistency: consistency.map((hash) => base64ToBytes(hash, 32)) };
  return verifyReceipt({ ...input, renewal }, crypto);
}

describe.each(CRYPTOS)("verifyReceipt with %s", (_, crypto) => {
  test.each([...vectors.good, ...vectors.bad])("$name: $verdict", (one) => {
    const found = verify(one, crypto);
    expect(found.verdict).toBe(one.verdict);
    expect(found.failure).toEqual(one.failure);
    expect(found.supersededTrustRoot ?? null).toBe(one.superseded_trust_root);
    expect(found.originLost).toBe(one.origin_lost);
  });
});

describe.each(CRYPTOS)("witnesses with %s", (_, crypto) => {
  test.each([...vectors.witnessed.good, ...vectors.witnessed.bad])("$name: $verdict", (one) => {
    const found = verify(one, crypto);
    expect(found.failure).toEqual(one.failure);
    expect(found.verdict).toBe(one.verdict);
    const shown = found.witnesses.map(({ name, witnessedAt }) => ({ name, witnessed_at: witnessedAt }));
    expect(shown).toEqual(one.witnesses);
    expect(found.witnessesNeeded).toBe(one.witnesses_needed);
    expect(found.witnessed).toBe(one.witnessed);
    expect(found.supersededTrustRoot ?? null).toBe(one.superseded_trust_root);
  });
});

describe("the step of witnesses", () => {
  test("passes exactly if they are enough, and without a demand fails for none", () => {
    for (const one of [...vectors.witnessed.good, ...vectors.good]) {
      const { steps, witnessed } = verify(one, nodeCrypto);
      const result = steps.find(({ code }) => code === "witnesses")?.result;
      expect(result).toBe(witnessed ? "pass" : "not_checked");
    }
  });

  test("refuses each receipt that is not witnessed, if it is demanded", () => {
    for (const one of [...vectors.witnessed.good, ...vectors.good]) {
      const { witnessed } = verify(one, nodeCrypto);
      const { verdict } = verify({ ...one, require_witnessed: true }, nodeCrypto);
      expect(verdict).toBe(witnessed ? "valid" : "invalid");
    }
  });

  test("leaves the lines of witnesses out of those of the nodes", () => {
    const [one] = vectors.witnessed.good;
    if (one === undefined) throw new TypeError("receipt.json has good cases of witnesses");
    const names = verify(one, nodeCrypto).verified.map(({ vkey }) => vkey.name);
    expect(names).toHaveLength(3);
    expect(names.every((name) => name.startsWith("anchor.example/demo/"))).toBe(true);
  });
});

describe("the steps", () => {
  test("are all listed, pass up to the failed one and are unchecked after it", () => {
    for (const one of [...vectors.good, ...vectors.bad]) {
      const { steps, failure } = verify(one, nodeCrypto);
      expect(steps.map((step) => step.code)).toEqual(RECEIPT_STEPS);
      const failed = failure === null ? steps.length : RECEIPT_STEPS.indexOf(failure.step);
      const before = steps.slice(0, failed).filter(({ code }) => code !== "content" && code !== "witnesses");
      expect(before.every((step) => step.result === "pass")).toBe(true);
      expect(steps.slice(failed + 1).every((step) => step.result === "not_checked")).toBe(true);
    }
  });

  test("say that the content was not checked when nothing was given to compare with", () => {
    const [plain, compared] = vectors.good;
    if (plain === undefined || compared === undefined) throw new TypeError("receipt.json has good cases");
    const contentOf = (one: Case): string | undefined =>
      verify(one, nodeCrypto).steps.find((step) => step.code === "content")?.result;
    expect([contentOf(plain), contentOf(compared)]).toEqual(["not_checked", "pass"]);
  });

  test("every bad vector fails at a step of its own kind, and every step can fail", () => {
    const steps = new Set([...vectors.bad, ...vectors.witnessed.bad].map((one) => one.failure?.step));
    expect(steps).toEqual(new Set(RECEIPT_STEPS));
  });

  test("one changed bit anywhere in the leaf is found", () => {
    const [one] = vectors.good;
    if (one === undefined) throw new TypeError("receipt.json has good cases");
    const { receipt } = receiptFromJson(one.receipt);
    const trustRoots = chainOf(1, nodeCrypto);
    for (let bit = 0; bit < receipt.leaf.length * 8; bit++) {
      const leaf = Uint8Array.from(receipt.leaf);
      leaf[bit >> 3] = (leaf[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(verifyReceipt({ receipt: { ...receipt, leaf }, trustRoots }, nodeCrypto).verdict).toBe("invalid");
    }
  });

  test("one changed character anywhere in the proof is found or changes nothing that is signed", () => {
    const proof = vectors.proof.good[0]?.proof ?? "";
    const trustRoots = chainOf(1, nodeCrypto);
    const verdictOf = (changed: string): string => {
      try {
        return verifyReceipt({ receipt: parseProof(changed), trustRoots }, nodeCrypto).verdict;
      } catch (error) {
        if (error instanceof ProofError) return error.code;
        throw error;
      }
    };
    const kept: number[] = [];
    for (let at = 0; at < proof.length; at++) {
      const changed = `${proof.slice(0, at)}${proof[at] === "A" ? "B" : "A"}${proof.slice(at + 1)}`;
      if (verdictOf(changed) === "valid") kept.push(at);
    }
    expect(kept).toEqual([]);
  });
});

describe("tlog-proof and JSON", () => {
  test.each(vectors.proof.good)("say the same", ({ proof, json }) => {
    const receipt = parseProof(proof);
    expect(formatProof(receipt)).toBe(proof);
    expect(receiptToJson(receipt, 1, nodeCrypto.sha256)).toEqual(json);
    expect(receiptFromJson(json).receipt).toEqual(receipt);
    expect(receiptFromJson({ ...json, added_later: true }).trustRootVersion).toBe(1);
  });

  test.each(vectors.proof.bad)("refuses a proof: $name", ({ error, proof }) => {
    expect(codeOf(() => parseProof(proof))).toBe(error);
  });

  test("refuses an endless proof", () => {
    expect(codeOf(() => parseProof("a".repeat(1_000_001)))).toBe("proof_too_large");
  });

  test.each(vectors.json.bad)("refuses JSON: $name", ({ value }) => {
    expect(codeOf(() => receiptFromJson(value))).toBe("proof_malformed");
  });
});
