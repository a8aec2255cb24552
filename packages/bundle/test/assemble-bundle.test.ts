import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import type { TraceAnswer } from "@event-anchoring/api-contract";
import { bytesToHex, decodeLeaf } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { assembleBundle, completeUpTo, subtreesForPart, verifyBundle, wantedOfTrace } from "../src/index.ts";
import type { TraceToBundle } from "../src/format/assemble-bundle.ts";
import type { OriginPart, TracedAnchor } from "../src/index.ts";
import { actOf } from "./vector-builders/bundle-cases.ts";
import type { Act } from "./vector-builders/bundle-cases.ts";
import { idOf } from "./vector-builders/bundle-world.ts";
import type { Written } from "./vector-builders/bundle-world.ts";
import { hashOf, sha256 } from "../../../test/vector-builders/keys.ts";

const act = actOf();
const { world } = act;

function partOf(at: number, more: Partial<OriginPart> = {}): OriginPart {
  const tree = world.tree(at);
  return {
    originFingerprint: world.cluster.node(at).originFingerprint,
    checkpoint: world.checkpoint(at),
    treeSize: tree.length,
    hashAt: world.hashAt(at),
    leaves: [],
    range: null,
    ...more,
  };
}

function assembled(...origins: OriginPart[]) {
  const { documents: trustRoots } = world;
  const asOf = world.position(act.act);
  return assembleBundle({ subject: act.act.anchorId, asOf, trustRoots, origins, stated: null }, sha256);
}

function bytesOf(leaves: readonly Written[]): Uint8Array[] {
  return leaves.map(({ bytes }) => bytes);
}

describe("assembling", () => {
  test("the order in which things were fetched does not matter", () => {
    const parts = [0, 1, 2].map((at) => partOf(at, { leaves: bytesOf(world.tree(at)) }));
    const backwards = parts.map((part) => ({ ...part, leaves: [...part.leaves].reverse() })).reverse();
    expect(assembled(...backwards)).toEqual(assembled(...parts));
  });

  test("a leaf stands in one place, however often it was fetched", () => {
    const leaves = bytesOf(world.tree(2));
    const { leaves: singles, ranges } = assembled(
      partOf(2, { leaves: [...leaves, ...leaves], range: { from: 2, leaves: leaves.slice(2) } }),
    );
    expect(singles.map(({ leaf }) => decodeLeaf(leaf).depth)).toEqual([0, 1]);
    expect(ranges.map(({ leaves: inRange }) => inRange.length)).toEqual([leaves.length - 2]);
  });

  test("an origin of which nothing is wanted is left out", () => {
    const { checkpoints, leaves } = assembled(partOf(0), partOf(1, { leaves: bytesOf(world.tree(1)) }), partOf(2));
    expect(checkpoints).toEqual([world.checkpoint(1)]);
    expect(new Set(leaves.map(({ checkpoint }) => checkpoint))).toEqual(new Set([0]));
  });

  test("what is put together verifies", () => {
    const bundle = assembled(
      ...[0, 1, 2].map((at) => partOf(at, { range: { from: 1, leaves: bytesOf(world.tree(at).slice(1)) } })),
    );
    const { outcome } = verifyBundle({ bundle, trust: { pinnedRootThk: world.pin } }, nodeCrypto);
    expect(outcome).toBe("valid");
  });

  test.each([
    ["a leaf that is none", () => assembled(partOf(0, { leaves: [new Uint8Array(7)] }))],
    [
      "a leaf beyond the tree",
      () =>
        assembled(
          partOf(0, {
            treeSize: 2,
            leaves: bytesOf(world.tree(0)),
            hashAt: () => {
              throw new RangeError("no such hash");
            },
          }),
        ),
    ],
    [
      "a hash that was not fetched",
      () =>
        assembled(
          partOf(0, {
            leaves: bytesOf(world.tree(0)),
            hashAt: () => {
              throw new RangeError("no such hash");
            },
          }),
        ),
    ],
  ])("refuses %s", (_, assemble) => expect(assemble).toThrow());
});

describe("what to fetch", () => {
  test.each([
    ["one leaf of a tree of one", 1, [0], null, []],
    ["one leaf of eight", 8, [5], null, ["0/4", "1/3", "2/0"]],
    ["two leaves that share hashes", 8, [4, 5], null, ["0/5", "0/4", "1/3", "2/0"]],
    ["a range from the beginning", 8, [], 0, []],
    ["a range after seven leaves", 9, [], 7, ["2/0", "1/2", "0/6"]],
    ["a range after a perfect tree", 9, [], 8, ["3/0"]],
  ] as const)("%s", (_, treeSize, depths, from, wanted) => {
    const subtrees = subtreesForPart(treeSize, depths, from);
    const names = subtrees.map(({ level, index }) => `${level}/${index}`);
    expect(new Set(names)).toEqual(new Set(wanted));
    expect(names).toHaveLength(wanted.length);
  });

  test.each([
    ["a depth that is not in the tree", 3, [3], null],
    ["a negative depth", 3, [-1], null],
    ["a range from before the beginning", 3, [], -1],
  ] as const)("refuses %s", (_, treeSize, depths, from) => {
    expect(() => subtreesForPart(treeSize, depths, from)).toThrow(RangeError);
  });
});

describe("how far nothing is missing", () => {
  const leaves = bytesOf(world.written);
  const sequences = (from: number, to: number): Uint8Array[] => leaves.slice(from, to + 1);

  test.each([
    ["all of them", 3, leaves, 10],
    ["in another order", 3, [...leaves].reverse(), 10],
    ["twice", 3, [...leaves, ...leaves], 10],
    ["from the next on", 3, sequences(4, 8), 8],
    ["without the next", 3, sequences(5, 10), 3],
    ["one gap", 3, [...sequences(4, 6), ...sequences(8, 10)], 6],
    ["none", 3, [], 3],
    ["bytes that are no leaf are passed over", 3, [new Uint8Array(5), ...sequences(4, 5)], 5],
    ["from before genesis", -1, leaves, 10],
  ])("%s", (_, after, held, upTo) => expect(completeUpTo(after, held)).toBe(upTo));
});

function traced(written: Written, more: Partial<TracedAnchor> = {}): TracedAnchor {
  const { leaf } = written;
  const kind = leaf.kind === 2 ? "claim" : leaf.kind === 3 ? "grant" : "signed_event";
  const pair =
    leaf.kind === 2
      ? { entity_fingerprint: bytesToHex(leaf.entityFingerprint), attribute_type: leaf.attributeType }
      : {};
  return { anchor_id: idOf(written), kind, sequence: leaf.sequence, ...pair, ...more };
}

function answerOf({ root, deployer, agent, upper, lower, act: acted }: Act): TraceToBundle {
  return {
    anchor: traced(acted),
    actor: { claim: traced(agent.claim) },
    delegation: [
      { grant: traced(lower), grantor_claim: traced(deployer.claim), grantee_claim: traced(agent.claim) },
      { grant: traced(upper), grantor_claim: traced(root.claim), grantee_claim: traced(deployer.claim) },
    ],
    revocations: [],
    references: [
      { field: "iris_ref", anchor_id: idOf(agent.claim), exists: true },
      { field: "scroll_ref", anchor_id: bytesToHex(hashOf("scroll")), exists: false },
      { field: "grant_ref", anchor_id: idOf(lower), exists: true },
    ],
  };
}

describe("what a trace asks for", () => {
  test("the subject, the chain, its claims and what is referred to, each once", () => {
    const { anchorIds, pairs, after } = wantedOfTrace(answerOf(act));
    const { root, deployer, agent, upper, lower } = act;
    const wanted = [act.act, agent.claim, deployer.claim, root.claim, lower, upper].map(idOf);
    expect(anchorIds[0]).toBe(idOf(act.act));
    expect(anchorIds).toHaveLength(wanted.length);
    expect(new Set(anchorIds)).toEqual(new Set(wanted));
    expect(pairs).toHaveLength(3);
    expect(after).toBe(3);
  });

  test("the revocations in view, and the target of one that is traced itself", () => {
    const target = idOf(act.lower);
    const revocation = { anchor_id: "ab".repeat(32), kind: "revocation", sequence: 9 };
    const none = { actor: { claim: null }, delegation: [], references: [] };
    const ofRevocation = wantedOfTrace({
      ...none,
      anchor: { ...revocation, target_anchor_id: target },
      revocations: [],
    });
    expect(ofRevocation).toEqual({ anchorIds: [revocation.anchor_id, target], pairs: [], after: null });
    const ofAct = wantedOfTrace({ ...answerOf(act), revocations: [{ anchor: revocation }] });
    expect(ofAct.anchorIds).toContain(revocation.anchor_id);
  });

  test("a claim or a grant that is traced itself counts as one of them", () => {
    const none = { actor: { claim: null }, delegation: [], revocations: [], references: [] };
    expect(wantedOfTrace({ ...none, anchor: traced(act.agent.claim) })).toMatchObject({
      after: 5,
      pairs: [{ attributeType: 1 }],
    });
    expect(wantedOfTrace({ ...none, anchor: traced(act.lower) })).toMatchObject({ after: 7, pairs: [] });
  });

  test("the answer of the service, as its reference shows it", () => {
    const { paths } = JSON.parse(readFileSync(new URL("../../../docs/openapi.json", import.meta.url), "utf8")) as {
      readonly paths: Readonly<Record<string, ReferencePath | undefined>>;
    };
    const examples = paths["/v1/event-anchors/{anchor_id}/trace"]?.get.responses["200"].content;
    const answers = Object.values(examples?.["application/json"].examples ?? {}).map(({ value }) => value);
    expect(answers.length).toBeGreaterThan(0);
    for (const answer of answers) {
      const { anchorIds, after } = wantedOfTrace(answer);
      expect(anchorIds[0]).toBe(answer.anchor.anchor_id);
      expect(anchorIds).toEqual(expect.arrayContaining(answer.revocations.map(({ anchor }) => anchor.anchor_id)));
      expect(after).toBeLessThan(answer.anchor.sequence);
    }
  });
});

interface ReferencePath {
  readonly get: {
    readonly responses: {
      readonly "200": {
        readonly content: {
          readonly "application/json": {
            readonly examples: Readonly<Record<string, { readonly value: TraceAnswer }>>;
          };
        };
      };
    };
  };
}
