import { describe, expect, test } from "@jest/globals";
import {
  bytesToHex,
  compareWithHighestSeen,
  extendTrustRootChain,
  formatPolicy,
  formatTrustRootText,
  formatVkey,
  hexToBytes,
  parsePolicy,
  parseTrustRootText,
  quorumPolicyOf,
  rootThk,
  tlogPolicyOf,
  witnessedPolicyOf,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { TrustRootChain, Vkey } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { CRYPTOS, codeOf, loadVectors } from "./vectors.ts";

const { sha256 } = nodeCrypto;

interface Chain {
  readonly name: string;
  readonly pinned_root_thk: string;
  readonly documents: readonly string[];
  readonly error?: string;
}
const vectors = loadVectors("trust-root.json") as {
  good: { text: string; root_thk: string }[];
  bad: { name: string; error: string; text: string }[];
  policies: { name: string; text: string; certified: string; witnessed: string | null }[];
  chains: { good: Chain[]; bad: Chain[] };
};

function chainOf({ documents, pinned_root_thk }: Chain, count = documents.length): TrustRootChain {
  const pinnedRootThk = hexToBytes(pinned_root_thk, 32);
  const verification = verifyTrustRootChain({ documents: documents.slice(0, count), pinnedRootThk }, nodeCrypto);
  if (verification.result === "refused") throw new Error(verification.detail);
  return verification.chain;
}

const three = vectors.chains.good[1] ?? { name: "", pinned_root_thk: "", documents: [] };

describe("one document", () => {
  test.each(vectors.good)("reads, prints back and hashes to $root_thk", ({ text, root_thk }) => {
    expect(formatTrustRootText(parseTrustRootText(text, sha256))).toBe(text);
    expect(bytesToHex(rootThk(text, sha256))).toBe(root_thk);
  });

  test("is printed in one order, whatever order it is given in", () => {
    const text = vectors.good[0]?.text ?? "";
    const root = parseTrustRootText(text, sha256);
    const shuffled = {
      ...root,
      origins: [...root.origins].reverse(),
      nodes: [...root.nodes].reverse(),
      rootKeys: { ...root.rootKeys, keys: [...root.rootKeys.keys].reverse() },
    };
    expect(formatTrustRootText(shuffled)).toBe(text);
  });

  test.each(vectors.bad)("refuses: $name", ({ error, text }) => {
    expect(codeOf(() => parseTrustRootText(text, sha256))).toBe(error);
  });

  test.each(vectors.policies)("has a policy of certified and one of witnessed heads: $name", (entry) => {
    const root = parseTrustRootText(entry.text, sha256);
    expect(formatPolicy(tlogPolicyOf(root))).toBe(entry.certified);
    expect(parsePolicy(entry.certified, sha256)).toEqual(tlogPolicyOf(root));
    if (entry.witnessed === null) return;
    expect(formatPolicy(witnessedPolicyOf(root))).toBe(entry.witnessed);
    expect(parsePolicy(entry.witnessed, sha256)).toEqual(witnessedPolicyOf(root));
  });

  test("its policy counts active nodes only", () => {
    const root = parseTrustRootText(vectors.good[1]?.text ?? "", sha256);
    const policy = tlogPolicyOf(root);
    expect(policy.witnesses.map(({ name }) => name)).toEqual(["a", "b", "d"]);
    expect(formatPolicy(policy)).toMatch(/\ngroup nodes 2 a b d\nquorum nodes\n$/);
    expect(quorumPolicyOf(root).cosigners).toHaveLength(3);
  });
});

describe("a chain", () => {
  test.each(CRYPTOS)("is verified with %s", (_, crypto) => {
    for (const { documents, pinned_root_thk } of vectors.chains.good) {
      const input = { documents, pinnedRootThk: hexToBytes(pinned_root_thk, 32) };
      expect(verifyTrustRootChain(input, crypto).result).toBe("verified");
    }
  });

  test.each(vectors.chains.bad)("is refused: $name", ({ documents, pinned_root_thk, error }) => {
    const input = { documents, pinnedRootThk: hexToBytes(pinned_root_thk, 32) };
    const verification = verifyTrustRootChain(input, nodeCrypto);
    expect(verification).toMatchObject({ result: "refused", code: error });
    const last = Math.max(documents.length - 1, 0);
    expect(verification).toMatchObject({ position: last });
  });

  test("grows one version at a time to the same chain", () => {
    let chain = chainOf(three, 1);
    for (const note of three.documents.slice(1)) {
      const extension = extendTrustRootChain(chain, note, nodeCrypto);
      if (extension.result === "refused") throw new Error(extension.detail);
      chain = extension.chain;
    }
    expect(chain).toEqual(chainOf(three));
    expect(extendTrustRootChain(chain, three.documents[0] ?? "", nodeCrypto)).toMatchObject({
      result: "refused",
      code: "version_gap",
      position: 3,
    });
  });

  test("has each line that did not change once, and each cosigner key once", () => {
    const { versions, cosigners } = chainOf(three);
    const nodes = versions.flatMap(({ trustRoot }) => trustRoot.nodes);
    const origins = versions.flatMap(({ trustRoot }) => trustRoot.origins);
    for (const lines of [nodes, origins]) {
      const texts = new Set(lines.map((line) => JSON.stringify(line)));
      expect(new Set<object>(lines).size).toBe(texts.size);
      expect(texts.size).toBeLessThan(lines.length);
    }
    const keys = (vkeys: readonly Vkey[]): readonly string[] => [...new Set(vkeys.map(formatVkey))].sort();
    expect(cosigners.map(formatVkey).sort()).toEqual(keys(nodes.map(({ cosignerVkey }) => cosignerVkey)));
  });

  test("is held against the highest version seen", () => {
    const [one, two, whole] = [chainOf(three, 1), chainOf(three, 2), chainOf(three)];
    const seen = { version: 2, rootThk: two.newest.rootThk };
    expect([two, whole].map((chain) => compareWithHighestSeen(chain, seen))).toEqual([null, null]);
    expect(compareWithHighestSeen(one, seen)).toBe("rollback");
    expect(compareWithHighestSeen(whole, { version: 2, rootThk: one.newest.rootThk })).toBe("fork");
  });
});
