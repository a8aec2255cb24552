import { beforeEach, describe, expect, test } from "@jest/globals";
import { createSigner, generateSeed, nodeCrypto } from "@event-anchoring/node-crypto";
import { type TrustRoot, type TrustRootChain, verifyTrustRootChain } from "@event-anchoring/protocol";
import { type Ceremony, composeTrustRoot, formatProposal, signProposal } from "@event-anchoring/provision";
import { WORLD_START_MS } from "@event-anchoring/simulator";
import { KnownTrustRoot, contradictionOf } from "../src/membership/known-trust-root.ts";
import { ceremonyOf } from "./ceremony.ts";

const ceremony = ceremonyOf(["a", "b", "c"]);
const configured = { document: ceremony.document, version: 1, rootThk: ceremony.rootThk };
let newer: number[];

beforeEach(() => {
  newer = [];
});

function known(laterTrustRoots: readonly string[] = []): KnownTrustRoot {
  return new KnownTrustRoot({ configured, laterTrustRoots }, (root: TrustRoot) => newer.push(root.version));
}

/** Documents of the versions after the first; each expires a day later than the one before. */
function successors(count: number, from: Ceremony = ceremony): string[] {
  let chain = chainOf([from.document], from.rootThk);
  const [key] = from.rootKeys;
  for (let version = 2; version <= count + 1; version++) {
    const proposal = composeTrustRoot(chain, { issuedS: WORLD_START_MS / 1000 + version });
    const signed = signProposal(chain, proposal, createSigner(key?.seed ?? generateSeed()));
    chain = chainOf([...chain.versions.map(({ note }) => note), formatProposal(signed)], from.rootThk);
  }
  return chain.versions.slice(1).map(({ note }) => note);
}

function chainOf(documents: readonly string[], pinnedRootThk: Uint8Array): TrustRootChain {
  const verified = verifyTrustRootChain({ documents, pinnedRootThk }, nodeCrypto);
  if (verified.result === "refused") throw new Error(verified.code);
  return verified.chain;
}

describe("the newest trust root that a node knows", () => {
  test("is the one it was set up with, or the newest that stands beside it", () => {
    expect(known().newest.version).toBe(1);
    expect(known(successors(2)).newest.version).toBe(3);
    expect(known(successors(2)).versions.map(({ version }) => version)).toEqual([1, 2, 3]);
  });

  test("follows what it is shown, one version after the other, and says so once", () => {
    const [second = "", third = ""] = successors(2);
    const root = known();
    expect(root.learn([ceremony.document, second, third])).toBe(true);
    expect([root.newest.version, newer]).toEqual([3, [3]]);
    expect(root.learn([ceremony.document, second, third])).toBe(false);
    expect(newer).toEqual([3]);
    expect(root.after(0)).toEqual([ceremony.document, second, third]);
    expect(root.after(2)).toEqual([third]);
  });

  test("is the log's chain once that leads as far, and is held once with it", () => {
    const [second = "", third = "", fourth = ""] = successors(3);
    const [short, long] = [[second], [second, third, fourth]].map((later) =>
      chainOf([ceremony.document, ...later], ceremony.rootThk),
    );
    const root = known();
    root.learn([second, third]);
    root.adopt(short as TrustRootChain);
    expect([root.newest.version, newer]).toEqual([3, [3]]);
    root.adopt(long as TrustRootChain);
    expect(root.chain).toBe(long);
    expect([root.newest.version, newer]).toEqual([4, [3, 4]]);
    root.adopt(long as TrustRootChain);
    expect(newer).toEqual([3, 4]);
  });

  test("is not the log's chain if that does not lead to it", () => {
    const stranger = ceremonyOf(["a", "b", "c"]);
    const root = known();
    root.adopt(chainOf([stranger.document, ...successors(1, stranger)], stranger.rootThk));
    expect([root.newest.version, newer]).toEqual([1, []]);
  });

  test.each<[string, () => readonly string[]]>([
    ["nothing", () => []],
    ["what is no document", () => ["", "trust me", "event-anchoring/v4.2/trust-root\n"]],
    ["a version that leaves one out", () => successors(2).slice(1)],
    [
      "a version that nobody signed",
      () => [(successors(1)[0] ?? "").replace(/\n\u2014.*\n$/su, "\n\u2014 x AAAAAAAA\n")],
    ],
    ["a version of another cluster", () => successors(1, ceremonyOf(["a", "b", "c"]))],
    ["a version that was changed", () => [(successors(1)[0] ?? "").replace("quorum 2", "quorum 3")]],
  ])("does not follow %s", (_what, documents) => {
    const root = known();
    expect(root.learn(documents())).toBe(false);
    expect([root.newest.version, newer]).toEqual([1, []]);
  });

  test("keeps what was good before something that is not", () => {
    const [second = "", third = ""] = successors(2);
    const root = known();
    expect(root.learn([second, third.replace("quorum 2", "quorum 3")])).toBe(true);
    expect(root.newest.version).toBe(2);
  });

  test("is not begun with documents that do not follow from the pin", () => {
    expect(() => known(successors(2).slice(1))).toThrow(/version_gap/);
  });
});

describe("the versions of a log", () => {
  const versionsOf = (from: Ceremony): TrustRootChain["versions"] =>
    chainOf([from.document, ...successors(1, from)], from.rootThk).versions;

  test("do not contradict the one they begin with, nor one that they have not come to", () => {
    expect(contradictionOf({ configured }, [])).toBeNull();
    expect(contradictionOf({ configured }, versionsOf(ceremony))).toBeNull();
    const later = { ...configured, version: 3, rootThk: new Uint8Array(32) };
    expect(contradictionOf({ configured: later }, versionsOf(ceremony))).toBeNull();
  });

  test.each<[string, number, TrustRootChain["versions"]]>([
    ["another document for the version", 2, versionsOf(ceremony)],
    ["another cluster's", 1, versionsOf(ceremonyOf(["a", "b", "c"]))],
    ["none for the version", 1, versionsOf(ceremony).slice(1)],
  ])("contradict it with %s", (_what, version, versions) => {
    const wrong = { ...configured, version, ...(version === 2 ? { rootThk: new Uint8Array(32) } : {}) };
    expect(contradictionOf({ configured: wrong }, versions)).toMatch(/configured is version/);
  });
});
