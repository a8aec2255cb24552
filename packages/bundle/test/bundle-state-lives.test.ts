/**
 * Short against long: of every history, a bundle with a state head says what the bundle with every leaf says, whichever
 * later head it stands on.
 */
import { describe, expect, test } from "@jest/globals";
import { LEAF_KIND, decodeLeaf, verifyTrustRootChain } from "@event-anchoring/protocol";
import type { SignedTrustRoot } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { LeafWrite } from "@event-anchoring/ledger";
import { rememberVerdicts } from "@event-anchoring/records";
import type { AsOf } from "@event-anchoring/records";
import { formatBundle, parseBundle, verifyBundle } from "../src/index.ts";
import type { Bundle, BundleVerification } from "../src/index.ts";
import { GENESIS_DOCUMENT, NODE_A, NODE_B, NODE_C, NODE_D, thkOf } from "../../../test/worlds/cluster.ts";
import { LedgerHarness } from "../../../test/worlds/ledger-harness.ts";
import { randomOf } from "../../../test/worlds/random-life.ts";
import { cutLife, liveWithActs } from "./life-bundles.ts";
import type { OriginCut } from "./life-bundles.ts";
import { StateOfLeaves } from "./state-bundles.ts";

const crypto = rememberVerdicts(nodeCrypto);
const SEEDS = [21, 22];
const STEPS = 60;
const PIN = thkOf(GENESIS_DOCUMENT);
const COSIGNERS = new Map([NODE_A, NODE_B, NODE_C, NODE_D].map(({ nodeId, cosigner }) => [nodeId, cosigner]));
const WHOLE: OriginCut = { size: Number.MAX_SAFE_INTEGER, from: 0, isSingle: () => false };

function judged(bundle: Bundle): BundleVerification {
  return verifyBundle({ bundle: parseBundle(formatBundle(bundle)), trust: { pinnedRootThk: PIN } }, crypto);
}

function versionAt(versions: readonly SignedTrustRoot[], leaves: readonly LeafWrite[]): SignedTrustRoot {
  const named = leaves.map(({ bytes }) => decodeLeaf(bytes)).filter((leaf) => leaf.kind === LEAF_KIND.trustRoot);
  const newest = Math.max(1, ...named.map(({ version }) => version));
  const found = versions.find(({ trustRoot }) => trustRoot.version === newest);
  if (found === undefined) throw new RangeError(`no version ${newest}`);
  return found;
}

/** The state after a leaf, as the nodes would have signed it there. */
function stateAt(ledger: LedgerHarness, sequence: number): StateOfLeaves {
  const documents = ledger.tables.trustRoots.map(({ document }) => document);
  const verified = verifyTrustRootChain({ documents, pinnedRootThk: PIN }, crypto);
  if (verified.result !== "verified") throw new Error(verified.detail);
  const leaves = ledger.tables.leaves.slice(0, sequence + 1);
  return new StateOfLeaves({
    leaves,
    documents,
    signed: versionAt(verified.chain.versions, leaves),
    cosigners: COSIGNERS,
  });
}

function leafAfter(ledger: LedgerHarness, from: number, dice: number): LeafWrite {
  const leaf = ledger.tables.leaves[from + dice];
  if (leaf === undefined) throw new RangeError("no leaf");
  return leaf;
}

describe.each(SEEDS)("life %i", (seed) => {
  const ledger = new LedgerHarness();
  const acts = liveWithActs(ledger, seed, STEPS);
  const { leaves } = ledger.tables;

  test("a bundle with a state head says what one with every leaf says", () => {
    const random = randomOf(seed);
    const tally = { authorised: 0, refused: 0, ended: 0, suspect: 0 };
    const others = leaves.filter(({ kind }) => kind !== LEAF_KIND.event && kind !== LEAF_KIND.signedEvent);
    for (const subject of [...acts, ...others.filter((_, at) => at % 4 === 0)]) {
      const now = leafAfter(ledger, subject.sequence, random(leaves.length - subject.sequence));
      const asOf: AsOf = { sequence: now.sequence, timeMs: now.acceptedMs };
      const head = random(3) === 0 ? now.sequence : now.sequence + random(leaves.length - now.sequence);
      const short = judged(stateAt(ledger, head).bundle(subject, asOf));
      const long = judged(cutLife(ledger, subject, asOf, () => WHOLE));
      const told = `sequence ${subject.sequence} as of ${asOf.sequence}, head after ${head}`;
      expect([told, short.checks.filter(({ result }) => result === "fail")]).toEqual([told, []]);
      expect([told, { ...short.trace, possibleParents: [] }]).toEqual([told, { ...long.trace, possibleParents: [] }]);
      expect([told, short.authorisedAtAction, short.authorisedNow]).toEqual([
        told,
        long.authorisedAtAction,
        long.authorisedNow,
      ]);
      expect([told, short.outcome]).toEqual([told, "valid"]);
      tally.authorised += short.authorisedNow === true ? 1 : 0;
      tally.refused += short.authorisedAtAction === false ? 1 : 0;
      tally.ended += short.authorisedAtAction === true && short.authorisedNow === false ? 1 : 0;
      tally.suspect += short.trace?.isSuspect === true ? 1 : 0;
    }
    expect(tally.authorised).toBeGreaterThan(0);
    expect(tally.refused).toBeGreaterThan(0);
    expect(tally.ended).toBeGreaterThan(0);
  });
});
