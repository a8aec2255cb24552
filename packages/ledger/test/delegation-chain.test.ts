/** Chains as long as they may be, over records that nobody had to sign. */
import { describe, expect, test } from "@jest/globals";
import { LEAF_KIND, bytesToHex, toAnchorId } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { LIMITS, NO_FACTS, decideEntry } from "../src/index.ts";
import { LoadedRecords, grantForceAt } from "@event-anchoring/records";
import type { CommandOutcome, FoundAnchor } from "../src/index.ts";
import type { ClaimRecord, GrantRecord } from "@event-anchoring/records";
import { NODE_A, hash } from "../../../test/worlds/cluster.ts";
import { CLIENT_ID, LedgerHarness, codeOf } from "../../../test/worlds/ledger-harness.ts";
import { grant, person } from "../../../test/worlds/signed-records.ts";
import type { Party } from "../../../test/worlds/signed-records.ts";

const { originFingerprint } = NODE_A;
const LONGEST = LIMITS.delegationLinksMax;
/** Claim n has sequence 2n, the grant from claim n to claim n + 1 has sequence 2n + 3. */
const claimSequence = (at: number): number => 2 * at;
const grantSequence = (at: number): number => 2 * at + 3;

/** Every person of the chain has the same key; each has a claim, and so a lineage, of their own. */
const KEY = person("everybody").publicKey;

function claimAt(at: number): ClaimRecord {
  const sequence = claimSequence(at);
  return {
    anchorId: toAnchorId(hash(`claim ${at}`)),
    recordedBy: CLIENT_ID,
    originFingerprint,
    sequence,
    entityFingerprint: hash(`entity ${at}`),
    attributeType: 1,
    subjectPublicKey: KEY,
    issuerPublicKey: KEY,
    expiresAt: 0,
    lineage: sequence,
    supersededAt: null,
    revokedAt: null,
  };
}

function grantAt(at: number, claims: readonly ClaimRecord[]): GrantRecord {
  const [grantor, grantee] = [claims[at], claims[at + 1]];
  if (grantor === undefined || grantee === undefined) throw new RangeError("no claim");
  return {
    anchorId: toAnchorId(hash(`grant ${at}`)),
    recordedBy: CLIENT_ID,
    originFingerprint,
    sequence: grantSequence(at),
    grantorClaim: grantor.sequence,
    granteeClaim: grantee.sequence,
    grantorLineage: grantor.lineage,
    granteeLineage: grantee.lineage,
    grantorFingerprint: grantor.entityFingerprint,
    granteeFingerprint: grantee.entityFingerprint,
    parent: at === 0 ? null : grantSequence(at - 1),
    links: at + 1,
    delegationDepth: 2 * LONGEST - at,
    notBefore: 0,
    expiresAt: 0,
    grantorPublicKey: KEY,
    witnessPublicKey: person("witness").publicKey,
    supersededAt: null,
    revokedAt: null,
  };
}

const CLAIMS = Array.from({ length: LONGEST + 2 }, (_, at) => claimAt(at));
const GRANTS = Array.from({ length: LONGEST }, (_, at) => grantAt(at, CLAIMS));

function foundOf(record: ClaimRecord | GrantRecord, kind: 2 | 3): [string, FoundAnchor] {
  const { sequence, anchorId } = record;
  return [bytesToHex(anchorId), { kind, sequence, originFingerprint, depth: sequence, clientEvent: null }];
}

function party(at: number): Party {
  const { anchorId, sequence } = CLAIMS[at] ?? claimAt(at);
  const leaf = { kind: LEAF_KIND.claim, depth: sequence, sequence, acceptedMs: 1, bytes: new Uint8Array() };
  return { name: "everybody", claim: { ...leaf, anchorId, originFingerprint } };
}

class CountedRecords extends LoadedRecords {
  grantsAsked = 0;

  override grant(sequence: number): GrantRecord | null {
    this.grantsAsked++;
    return super.grant(sequence);
  }
}

/** Decides so many grants, each under the last of `links`. */
function decide(links: number, records: LoadedRecords, count: number): readonly CommandOutcome[] {
  const parent = records.grant(grantSequence(links - 1));
  if (parent === null) throw new RangeError("no chain");
  const ledger = LedgerHarness.started();
  ledger.state.nextSequence = 10 * LONGEST;
  const claims = CLAIMS.slice(links, links + 2).map((claim) => foundOf(claim, LEAF_KIND.claim));
  const facts = { ...NO_FACTS, anchors: new Map([...claims, foundOf(parent, LEAF_KIND.grant)]), records };
  const options = { parentGrantRef: parent.anchorId, delegationDepth: 0 };
  const commands = Array.from({ length: count }, (_, at) =>
    grant(party(links), party(links + 1), { ...options, issuedAt: at }),
  );
  const entry = ledger.entry([ledger.group(...commands)]);
  const committed = { index: ledger.state.appliedIndex + 1, term: 3, entry };
  const [outcome] = decideEntry(ledger.state, committed, facts, nodeCrypto).outcomes;
  return outcome?.status === "decided" ? outcome.commands : [];
}

/** Decides one grant under the last of `links`, some of which are changed. */
function extend(
  links: number,
  change: (grant: GrantRecord) => GrantRecord = (each) => each,
): readonly CommandOutcome[] {
  const chain = GRANTS.slice(0, links).map(change);
  return decide(links, new LoadedRecords(CLAIMS.slice(0, links + 2), chain), 1);
}

describe("the longest chain", () => {
  test("may be reached, and not passed", () => {
    expect(extend(LONGEST - 1).map(codeOf)).toEqual(["accepted"]);
    expect(extend(LONGEST)).toMatchObject([
      { records: [{ rejection: { code: "depth_exceeded", pointer: "/parent_grant_ref" } }] },
    ]);
  });

  test("is judged to its root: any link that has ended ends it", () => {
    for (const ended of [1, LONGEST / 2, LONGEST - 1]) {
      const outcomes = extend(LONGEST - 1, (each) => (each.links === ended ? { ...each, revokedAt: 1 } : each));
      expect(outcomes.map(codeOf)).toEqual(["grant_not_in_force"]);
    }
  });

  test("with a link that the tables do not hold halts: nothing is decided on half of it", () => {
    const cut = (each: GrantRecord): GrantRecord => (each.links === 7000 ? { ...each, parent: 1 } : each);
    expect(() => extend(LONGEST - 1, cut)).toThrow(expect.objectContaining({ code: "stored_state_inconsistent" }));
  });

  test("is followed without recursion, in the order from leaf to root", () => {
    const records = new LoadedRecords(CLAIMS, GRANTS);
    const last = GRANTS[LONGEST - 1];
    if (last === undefined) throw new RangeError("no chain");
    const force = grantForceAt(last, { sequence: 10 * LONGEST, timeMs: 1 }, records);
    expect(force.chain.map(({ links }) => links)).toEqual(Array.from({ length: LONGEST }, (_, at) => LONGEST - at));
    expect(force).toMatchObject({ faults: [], isComplete: true });
  });

  test("is walked once for an entry of 256 grants under it", () => {
    const records = new CountedRecords(CLAIMS, GRANTS.slice(0, LONGEST - 1));
    expect(decide(LONGEST - 1, records, 256).map(codeOf)).toEqual(Array.from({ length: 256 }, () => "accepted"));
    expect(records.grantsAsked).toBeLessThan(LONGEST + 2 * 256);
  });
});
