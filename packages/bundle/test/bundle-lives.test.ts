/**
 * Bundles of ledgers that decided what they hold: a whole one says what the service would say, and whatever is left out
 * of one, nothing that is false is ever proved.
 */
import { describe, expect, test } from "@jest/globals";
import { LEAF_KIND } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { BUNDLE_CHECKS } from "../src/verify/verify-bundle.ts";
import { verifyBundle } from "../src/index.ts";
import { rememberVerdicts } from "@event-anchoring/records";
import type { Bundle, BundleVerification } from "../src/index.ts";
import type { LeafWrite } from "@event-anchoring/ledger";
import type { AsOf } from "@event-anchoring/records";
import { GENESIS_DOCUMENT, thkOf } from "../../../test/worlds/cluster.ts";
import { LedgerHarness } from "../../../test/worlds/ledger-harness.ts";
import { cutLife, liveWithActs, namedBy, tracedOf } from "./life-bundles.ts";
import type { OriginCut, Random } from "./life-bundles.ts";
import { randomOf } from "../../../test/worlds/random-life.ts";

const crypto = rememberVerdicts(nodeCrypto);
const SEEDS = [13, 14];
const STEPS = 60;
const PIN = thkOf(GENESIS_DOCUMENT);

function judged(bundle: Bundle): BundleVerification {
  return verifyBundle({ bundle, trust: { pinnedRootThk: PIN } }, crypto);
}

function positionOf({ sequence, acceptedMs }: LeafWrite): AsOf {
  return { sequence, timeMs: acceptedMs };
}

function lifeOf(seed: number): { ledger: LedgerHarness; acts: LeafWrite[] } {
  const ledger = new LedgerHarness();
  return { ledger, acts: liveWithActs(ledger, seed, STEPS) };
}

const lives = new Map(SEEDS.map((seed) => [seed, lifeOf(seed)]));

function lifeAt(seed: number): { ledger: LedgerHarness; acts: LeafWrite[] } {
  const life = lives.get(seed);
  if (life === undefined) throw new RangeError(`no life ${seed}`);
  return life;
}

/** The leaf at a sequence, or one after it. */
function positionAfter(ledger: LedgerHarness, { sequence }: LeafWrite, random: Random): AsOf {
  const { leaves } = ledger.tables;
  const found = leaves[sequence + random(leaves.length - sequence)];
  if (found === undefined) throw new RangeError("no leaf");
  return positionOf(found);
}

const WHOLE: OriginCut = { size: Number.MAX_SAFE_INTEGER, from: 0, isSingle: () => false };

describe.each(SEEDS)("life %i", (seed) => {
  test("a whole bundle says what the service says", () => {
    const { ledger, acts } = lifeAt(seed);
    const random = randomOf(seed);
    const records = ledger.tables.leaves.filter(({ kind }) => kind === LEAF_KIND.claim || kind === LEAF_KIND.grant);
    expect(acts.length).toBeGreaterThan(10);
    for (const subject of [...acts, ...records.slice(0, 6)]) {
      const asOf = positionAfter(ledger, subject, random);
      const { outcome, trace, checks } = judged(cutLife(ledger, subject, asOf, () => WHOLE));
      expect(checks.filter(({ result }) => result !== "pass")).toEqual([]);
      expect(outcome).toBe("valid");
      const truth = tracedOf(ledger, subject, asOf, crypto);
      expect({ ...trace, possibleParents: [] }).toEqual(truth);
    }
  });
});

/** Something is left out: the ends of trees, their beginnings, whole origins, leaves here and there. */
function lessThanWhole(random: Random, named: ReadonlySet<number>): (leaves: readonly LeafWrite[]) => OriginCut | null {
  const keepsNamed = random(4) !== 0;
  return (leaves) => {
    const dice = random(8);
    const needed = keepsNamed ? leaves.findLastIndex(({ sequence }) => named.has(sequence)) + 1 : 0;
    if (dice === 0 && needed === 0) return null;
    const size = dice < 4 ? leaves.length : Math.max(1 + random(leaves.length), needed);
    const from = random(3) === 0 ? random(size) : random(4) === 0 ? null : 0;
    const rarity = 1 + random(12);
    return { size, from, isSingle: ({ sequence }) => (keepsNamed && named.has(sequence)) || random(rarity) !== 0 };
  };
}

/** One leaf is missing, everything else has a proof of its own. */
function withoutOne(missing: number): (leaves: readonly LeafWrite[]) => OriginCut {
  return (leaves) => ({ size: leaves.length, from: null, isSingle: ({ sequence }) => sequence !== missing });
}

interface Tally {
  readonly outcomes: Map<string, number>;
  readonly failures: Set<string>;
  /** What was proved, and is not so. */
  readonly falsehoods: string[];
  /** Verdicts that were not proved, and not true. */
  misled: number;
}

/** Holds a bundle against what is so. */
function hold(ledger: LedgerHarness, subject: LeafWrite, bundle: Bundle, tally: Tally): void {
  const verification = judged(bundle);
  const { outcome, authorisedAtAction, authorisedNow, complete, checks } = verification;
  tally.outcomes.set(outcome, (tally.outcomes.get(outcome) ?? 0) + 1);
  const failed = checks.find(({ result }) => result === "fail");
  if (failed !== undefined) tally.failures.add(failed.code);
  if (outcome === "invalid") return;
  const truth = tracedOf(ledger, subject, bundle.asOf, crypto);
  const isAtActionProved = complete === null || complete.to >= subject.sequence;
  const [isRightAtAction, isRightNow] = [
    authorisedAtAction === truth.authorisedAtAction,
    authorisedNow === truth.authorisedNow,
  ];
  const told = `sequence ${subject.sequence} as of ${bundle.asOf.sequence}`;
  if (isAtActionProved && !isRightAtAction) tally.falsehoods.push(`${told}: at action ${String(authorisedAtAction)}`);
  if (outcome === "valid" && !isRightNow) tally.falsehoods.push(`${told}: now ${String(authorisedNow)}`);
  if (!isRightAtAction || !isRightNow) tally.misled++;
}

describe("whatever is left out", () => {
  test.each(SEEDS)("life %i: nothing is proved that is not so", (seed) => {
    const { ledger, acts } = lifeAt(seed);
    const random = randomOf(seed * 7);
    const tally: Tally = { outcomes: new Map(), failures: new Set(), falsehoods: [], misled: 0 };
    for (const subject of acts) {
      const named = namedBy(ledger, subject);
      for (let round = 0; round < 4; round++) {
        const asOf = positionAfter(ledger, subject, random);
        hold(ledger, subject, cutLife(ledger, subject, asOf, lessThanWhole(random, named)), tally);
      }
      const missing = random(ledger.tables.leaves.length);
      hold(
        ledger,
        subject,
        cutLife(ledger, subject, positionAfter(ledger, subject, random), withoutOne(missing)),
        tally,
      );
    }
    expect(tally.falsehoods).toEqual([]);
    expect(tally.outcomes.get("valid")).toBeGreaterThan(5);
    expect(tally.outcomes.get("valid_as_stated")).toBeGreaterThan(5);
    expect(tally.outcomes.get("invalid")).toBeGreaterThan(5);
    expect(BUNDLE_CHECKS.filter((code) => tally.failures.has(code))).toEqual(
      expect.arrayContaining(["subject", "records"]),
    );
    // What was left out has misled, where nothing was proved: the cases are worth their name.
    expect(tally.misled).toBeGreaterThan(0);
  });

  test("no single leaf between a record and as_of can be taken out unnoticed", () => {
    const { ledger, acts } = lifeAt(13);
    const random = randomOf(3);
    const subject = acts[acts.length >> 1];
    const last = ledger.tables.leaves.at(-1);
    if (subject === undefined || last === undefined) throw new Error("a life without acts");
    const asOf = positionOf(last);
    const { complete } = judged(cutLife(ledger, subject, asOf, () => WHOLE));
    const after = complete?.after ?? 0;
    const unnoticed = ledger.tables.leaves
      .filter(({ sequence }) => sequence > after && random(4) === 0)
      .filter(({ sequence }) => judged(cutLife(ledger, subject, asOf, withoutOne(sequence))).outcome === "valid");
    expect(after).toBeGreaterThan(0);
    expect(unnoticed.map(({ sequence }) => sequence)).toEqual([]);
  });
});
