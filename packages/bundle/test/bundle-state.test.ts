/** Bundles with a state head: against the long ones of the same ledgers, and how large they are. */
import { describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { formatBundle, parseBundle, verifyBundle } from "../src/index.ts";
import type { Bundle, BundleVerification } from "../src/index.ts";
import { short, stateOf, whole } from "./vector-builders/bundle-cases.ts";
import type { CutBundle, GoodCase } from "./vector-builders/bundle-cases.ts";
import { goodBundles } from "./vector-builders/bundle-good.ts";
import { goodStateBundles } from "./vector-builders/bundle-state-good.ts";
import { BundleWorld } from "./vector-builders/bundle-world.ts";
import type { Party, Written } from "./vector-builders/bundle-world.ts";

function judged(bundle: Bundle, world: BundleWorld): BundleVerification {
  return verifyBundle({ bundle: parseBundle(formatBundle(bundle)), trust: { pinnedRootThk: world.pin } }, nodeCrypto);
}

/** The subject of a case, and its position, if its ledger has come so far. */
function subjectOf({ source }: GoodCase): { world: BundleWorld; subject: Written; asOf: Bundle["asOf"] } | null {
  if (!("bundle" in source)) return null;
  const { world, bundle } = source;
  const { asOf } = bundle;
  const subject = world.written.find(({ anchorId }) => Buffer.compare(anchorId, bundle.subject) === 0);
  const position = world.written.find(({ leaf }) => leaf.sequence === asOf.sequence);
  return subject === undefined || position === undefined ? null : { world, subject, asOf };
}

const CASES = [...goodBundles(), ...goodStateBundles()].flatMap((entry) => {
  const found = subjectOf(entry);
  return found === null ? [] : [[entry.name, found] as const];
});

describe("short against long", () => {
  test.each(CASES)("%s", (_, { world, subject, asOf }) => {
    const long = judged(whole(world, subject, { asOf }).bundle, world);
    const state = judged(short(world, subject, { asOf }).bundle, world);
    expect(state.checks.filter(({ result }) => result === "fail")).toEqual([]);
    const { trace, standing, actorProven, authorisedAtAction, authorisedNow } = long;
    const verdicts = { standing, actorProven, authorisedAtAction, authorisedNow };
    expect(state).toMatchObject({ ...verdicts, trace: { ...trace, possibleParents: expect.anything() } });
    // The head excludes later leaves before its own time, and no further.
    const { sequence, acceptedMs } = stateOf(world).last;
    const isOpen = asOf.sequence === sequence && asOf.timeMs >= acceptedMs + 5;
    expect(state.outcome).toBe(isOpen ? "valid_as_stated" : "valid");
  });
});

/** Five grants, each under the one before it, between six parties, and an act under the last. */
function chainOfFive(events: number): { world: BundleWorld; act: Written } {
  const world = new BundleWorld();
  const parties = Array.from({ length: 6 }, (_, at) => world.claim(`party ${at}`, { at: at % 3 }));
  let parent: Written | undefined;
  for (let at = 0; at < 5; at++) {
    const [grantor, grantee] = [parties[at], parties[at + 1]] as [Party, Party];
    parent = world.grant(grantor, grantee, { at: at % 3, depth: 9 - at, ...(parent === undefined ? {} : { parent }) });
  }
  const agent = parties[5] as Party;
  if (parent === undefined) throw new Error("no grant");
  for (let at = 0; at < events; at++) world.event(`event ${at}`, { at: at % 3 });
  const act = world.event("act", { iris: agent.claim, grant: parent, actor: agent.name });
  return { world, act };
}

function cutOf({ world, act }: ReturnType<typeof chainOfFive>, others: number): CutBundle {
  const state = stateOf(world, { others });
  return { world, bundle: state.bundle(act, world.position(act)) };
}

function sizesOf({ bundle }: CutBundle): { file: number; proof: number } {
  const file = formatBundle(bundle);
  const { state } = JSON.parse(file) as { state: { records: { leaf: string }[] } };
  const leaves = state.records.reduce((sum, { leaf }) => sum + leaf.length, 0);
  return { file: file.length, proof: JSON.stringify(state).length - leaves };
}

describe("the size for an act under five grants", () => {
  test("the proof has at most 8 kB in a state of 10,000 keys, and the file 17 kB", () => {
    const cut = cutOf(chainOfFive(0), 10_000);
    expect(judged(cut.bundle, cut.world)).toMatchObject({ outcome: "valid", authorisedNow: true });
    const { file, proof } = sizesOf(cut);
    expect(proof).toBeLessThanOrEqual(8 * 1024);
    expect(file).toBeLessThanOrEqual(17 * 1024);
  });

  test("a thousand events more add six hashes to one path", () => {
    const few = sizesOf(cutOf(chainOfFive(10), 0));
    const many = sizesOf(cutOf(chainOfFive(1_010), 0));
    expect(many.proof - few.proof).toBeLessThanOrEqual(16);
    expect(many.file - few.file).toBeLessThanOrEqual(7 * 50);
  });

  test("ten times as many keys add 3.3 hashes to each path", () => {
    const { world, act } = chainOfFive(0);
    const sizes = [2_000, 20_000].map((others) => sizesOf(cutOf({ world, act }, others)).proof);
    const [small = 0, large = 0] = sizes;
    // Eleven records, and log2(10) hashes of 43 bytes more for each.
    expect(large - small).toBeLessThan(11 * 3.6 * 43);
  });
});
