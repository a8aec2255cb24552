/** What the vectors cannot say: readers that hold a chain already, and bundles of the largest size. */
import { describe, expect, test } from "@jest/globals";
import { bytesToHex, verifyTrustRootChain } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { BUNDLE_LIMITS, BundleError, formatBundle, parseBundle, verifyBundle } from "../src/index.ts";
import type { BundleInput } from "../src/verify/verify-bundle.ts";
import type { Bundle } from "../src/index.ts";
import { actOf, statedOf, whole } from "./vector-builders/bundle-cases.ts";
import { Cluster } from "./vector-builders/bundle-cluster.ts";
import { BundleWorld } from "./vector-builders/bundle-world.ts";
import { fill, hashOf } from "../../../test/vector-builders/keys.ts";

/** Two versions; what the second one adds comes after the act. */
function rotatedWorld(): { world: BundleWorld; bundle: Bundle } {
  const world = new BundleWorld();
  const members = [0, 1, 2].map((at) => ({ node: world.cluster.node(at) }));
  const { act } = actOf({ world, after: () => world.rotate(members) });
  return { world, bundle: whole(world, act).bundle };
}

const { world, bundle } = rotatedWorld();

function chainOf(documents: readonly string[], pinnedRootThk: Uint8Array): TrustRootChain {
  const verification = verifyTrustRootChain({ documents, pinnedRootThk }, nodeCrypto);
  if (verification.result === "refused") throw new Error(verification.detail);
  return verification.chain;
}

const [first = fill(0), second = fill(0)] = world.thks;
const [document1 = "", document2 = ""] = world.documents;
const chain1 = chainOf([document1], first);
const chain2 = chainOf([document1, document2], first);
const fromSecond = chainOf([document2], second);

const other = new BundleWorld(new Cluster("anchor.example/other", 0xc2));
const otherChain = chainOf(other.documents, other.pin);

/** A cluster of the same name and keys whose version 2 is another. */
function forkedChain(): TrustRootChain {
  const { cluster } = world;
  const members = [0, 1, 2].map((at) => ({ node: cluster.node(at) }));
  const version2 = cluster.trustRoot(
    2,
    first,
    members.map((each) => each),
  );
  return chainOf([document1, cluster.signed({ ...version2, expiresS: version2.expiresS - 1 })], first);
}

function judged(input: Partial<BundleInput>) {
  const { outcome, checks, trustRoot } = verifyBundle({ bundle, trust: { trustRoots: chain2 }, ...input }, nodeCrypto);
  const failed = checks.find(({ result }) => result === "fail");
  return { outcome, trustRoot, failed: failed?.code ?? null, detail: failed?.detail ?? "" };
}

describe("a reader who holds a chain", () => {
  test.each<[string, TrustRootChain, readonly string[]]>([
    ["the same", chain2, [document1, document2]],
    ["an older one: the bundle continues it", chain1, [document1, document2]],
    ["one that begins later", fromSecond, [document1, document2]],
    ["a newer one than the bundle has", chain2, [document1]],
  ])("%s", (_, trustRoots, documents) => {
    const result = judged({ bundle: { ...bundle, trustRoots: documents }, trust: { trustRoots } });
    expect(result).toMatchObject({ outcome: "valid", trustRoot: { version: 2, superseded: null } });
  });

  test.each<[string, TrustRootChain, readonly string[], RegExp]>([
    ["of another cluster", otherChain, [document1, document2], /is not among those/],
    ["which the bundle contradicts", forkedChain(), [document1, document2], /trust root 1 is not version 2/],
    ["and the bundle has none of it", chain1, [document2], /is not among those/],
    ["and the bundle has nothing", chain2, [], /is not among those/],
    ["and the bundle goes on with another cluster's", chain1, [document1, ...other.documents], /version_gap/],
    ["and the bundle repeats one", chain1, [document1, document1], /version_gap/],
    ["and the bundle goes on with what is no document", chain1, [document1, "version 2"], /malformed/],
  ])("%s is refused", (_, trustRoots, documents, detail) => {
    const result = judged({ bundle: { ...bundle, trustRoots: documents }, trust: { trustRoots } });
    expect(result).toMatchObject({ outcome: "invalid", failed: "trust_roots" });
    expect(result.detail).toMatch(detail);
  });
});

describe("a reader who keeps the highest version seen", () => {
  test.each<[string, number, Uint8Array, string | null]>([
    ["the newest", 2, second, null],
    ["an older one", 1, first, null],
    ["a newer one than the bundle has", 3, hashOf("version 3"), "trust_roots"],
    ["another version 2", 2, hashOf("version 2"), "trust_roots"],
    ["another version 1", 1, second, "trust_roots"],
  ])("%s", (_, version, rootThk, failed) => {
    const trust = { pinnedRootThk: first };
    expect(judged({ trust, highestSeen: { version, rootThk } }).failed).toBe(failed);
  });
});

describe("pins", () => {
  test.each<[string, Uint8Array, boolean]>([
    ["version 1", first, true],
    ["version 2", second, true],
    ["another", hashOf("pin"), false],
    ["31 bytes", first.slice(0, 31), false],
    ["nothing", new Uint8Array(0), false],
  ])("%s", (_, pinnedRootThk, isGood) => {
    expect(judged({ trust: { pinnedRootThk } }).failed).toBe(isGood ? null : "trust_roots");
  });
});

test("a bundle that was read is judged as the one that was written", () => {
  const { act, world: acted } = actOf();
  const { bundle: made } = whole(acted, act, { stated: statedOf(acted, act) });
  const trust = { pinnedRootThk: acted.pin };
  const read = parseBundle(formatBundle(made));
  expect(read).toEqual(made);
  expect(verifyBundle({ bundle: read, trust }, nodeCrypto)).toEqual(verifyBundle({ bundle: made, trust }, nodeCrypto));
});

describe("limits", () => {
  const { leavesMax, bytesMax } = BUNDLE_LIMITS;
  const listOf = (count: number, item: string): string =>
    count === 0 ? "[]" : `[${`${item},`.repeat(count - 1)}${item}]`;
  const withLeaves = (singles: number, inRange: number): string =>
    formatBundle({ ...bundle, leaves: [], ranges: [] })
      .replace('"leaves":[]', `"leaves":${listOf(singles, '{"leaf":"","checkpoint":0,"inclusion":[]}')}`)
      .replace('"ranges":[]', `"ranges":[{"checkpoint":0,"from":0,"frontier":[],"leaves":${listOf(inRange, '""')}}]`);
  const codeOf = (text: string): string => {
    try {
      parseBundle(text);
    } catch (error) {
      if (error instanceof BundleError) return error.code;
      throw error;
    }
    return "none";
  };

  test.each([
    ["as many leaves as there may be", leavesMax, 0, "none"],
    ["one single leaf more", leavesMax + 1, 0, "bundle_too_large"],
    ["one leaf of a range more", 0, leavesMax + 1, "bundle_too_large"],
    ["one more of both together", 1, leavesMax, "bundle_too_large"],
  ])("%s", (_, singles, inRange, code) => expect(codeOf(withLeaves(singles, inRange))).toBe(code));

  test("as many bytes as there may be, and one more", () => {
    const text = formatBundle(bundle);
    expect(codeOf(text + " ".repeat(bytesMax - text.length - 2 * count(text)))).toBe("none");
    expect(codeOf(text + " ".repeat(bytesMax - text.length - 2 * count(text) + 1))).toBe("bundle_too_large");
    expect(codeOf(" ".repeat(bytesMax + 1))).toBe("bundle_too_large");
  });

  /** Characters of three bytes: the dashes of signature lines. */
  function count(text: string): number {
    return text.split("\u2014").length - 1;
  }
});

test("a fault names the leaf that has it", () => {
  const [leaf] = bundle.ranges.flatMap((range) => range.leaves);
  const subject = hashOf("nothing");
  expect(leaf?.length).toBeGreaterThan(0);
  expect(judged({ bundle: { ...bundle, subject: subject as Bundle["subject"] } }).detail).toContain(
    bytesToHex(subject),
  );
});
