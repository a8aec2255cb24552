import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { claimStateAt, grantForceAt, grantStateOf } from "@event-anchoring/records";
import type { AsOf, ClaimRecord, GrantRecord } from "@event-anchoring/records";
import { LEAF_KIND, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import { Reads } from "../../src/index.ts";
import { hash } from "../support/cluster.ts";
import { migratedDatabase, startTestPostgres } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { live, randomOf } from "../support/random-history.ts";
import type { FullKnowledge } from "../support/random-history.ts";
import type { StoredLedgerHarness } from "../support/stored-ledger.ts";

let server: TestPostgres;
let database: TestDatabase;
let harness: StoredLedgerHarness;
let known: FullKnowledge;
let reads: Reads;

beforeAll(async () => {
  server = await startTestPostgres();
  database = await migratedDatabase(server);
  ({ harness, known } = await live(database, 11, 160));
  reads = await Reads.open({ url: database.readOnlyUrl });
});

afterAll(async () => {
  await reads.close();
  await harness.store.close();
  await server.close();
});

/** Positions all along the history, ascending. */
function positions(): AsOf[] {
  const last = known.leaves.length - 1;
  return Array.from({ length: 12 }, (_, at) => {
    const sequence = Math.floor((last * at) / 11);
    return { sequence, timeMs: known.leaves[sequence]?.acceptedMs ?? 0 };
  });
}

/** As it was: nothing has happened to it that happened later. */
function standsAt({ sequence, supersededAt, revokedAt }: GrantRecord, upTo: number): boolean {
  return sequence <= upTo && (supersededAt ?? Infinity) > upTo && (revokedAt ?? Infinity) > upTo;
}

describe("records", () => {
  test("give at every position the state that all records give, and miss nothing", async () => {
    const random = randomOf(5);
    const states = new Set<string>();
    const claims = known.book.addedClaims();
    const grants = known.book.addedGrants();
    for (let count = 0; count < 60; count++) {
      const grant = grants[random(grants.length)];
      const claim = claims[random(claims.length)];
      if (grant === undefined || claim === undefined) throw new Error("the history has claims and grants");
      const at = positions();
      const sequences = at.map(({ sequence }) => sequence);
      const { records } = await reads.records({ claims: [claim.sequence], grants: [grant.sequence] }, sequences);
      expect(records.claim(claim.sequence)).toEqual(claim);
      for (const asOf of at) {
        const force = grantForceAt(grant, asOf, records);
        if (asOf.sequence < grant.sequence) continue;
        expect(force).toEqual(grantForceAt(grant, asOf, known.book));
        expect(force.isComplete).toBe(true);
        states.add(grantStateOf(force));
        if (asOf.sequence >= claim.sequence) states.add(claimStateAt(claim, asOf));
        expect(records.newestClaimOf(claim.lineage, asOf.sequence)).toEqual(
          known.book.newestClaimOf(claim.lineage, asOf.sequence),
        );
      }
    }
    expect(states).toEqual(new Set(["active", "superseded", "revoked", "expired"]));
  });

  test("of sequences that are no claims or grants are none", async () => {
    const other = known.leaves.find(({ kind }) => kind === LEAF_KIND.event)?.sequence ?? -1;
    const { records, appliedIndex } = await reads.records({ claims: [other, 0, 999_999], grants: [other] }, [5]);
    expect(appliedIndex).toBe(harness.state.appliedIndex);
    expect([records.claim(other), records.grant(other), records.claim(0)]).toEqual([null, null, null]);
    const { records: none } = await reads.records({ claims: [], grants: [] }, []);
    expect(none.claim(0)).toBeNull();
  });
});

describe("the newest claim of a pair", () => {
  test("is the last one that was recorded, whatever has become of it", async () => {
    const newest = new Map<string, ClaimRecord>();
    for (const claim of known.book.addedClaims()) {
      newest.set(`${bytesToHex(claim.entityFingerprint)} ${claim.attributeType}`, claim);
    }
    expect([...newest.values()].some(({ revokedAt }) => revokedAt !== null)).toBe(true);
    for (const claim of newest.values()) {
      const { claim: found } = await reads.newestClaim(claim.entityFingerprint, claim.attributeType);
      expect(found).toEqual(known.book.claim(claim.sequence));
    }
  });

  test("is none for a pair that has none, with the applied index", async () => {
    const { entityFingerprint } = known.book.addedClaims()[0] ?? { entityFingerprint: hash("none") };
    const none = { appliedIndex: harness.state.appliedIndex, claim: null };
    expect(await reads.newestClaim(entityFingerprint, 2 ** 32 - 1)).toEqual(none);
    expect(await reads.newestClaim(hash("nobody"), 1)).toEqual(none);
  });
});

describe("grants between two entities", () => {
  test("are those that stand, by lineages, and the newest of all", async () => {
    const grants = known.book.addedGrants();
    const last = known.leaves.length - 1;
    let several = 0;
    for (const { grantorFingerprint, granteeFingerprint } of grants) {
      const between = grants.filter(
        (one) =>
          equalBytes(one.grantorFingerprint, grantorFingerprint) &&
          equalBytes(one.granteeFingerprint, granteeFingerprint),
      );
      const standing = between
        .filter((one) => standsAt(one, last))
        .sort((a, b) => a.grantorLineage - b.grantorLineage || a.granteeLineage - b.granteeLineage);
      const found = await reads.grantsBetween(grantorFingerprint, granteeFingerprint, 100);
      expect(found.grants).toEqual(standing);
      expect(found.newest).toEqual(between.at(-1));
      const { appliedIndex, sequence, acceptedMs } = found;
      expect({ appliedIndex, sequence, acceptedMs }).toEqual(await reads.position());
      const first = await reads.grantsBetween(grantorFingerprint, granteeFingerprint, 1);
      expect(first.grants).toEqual(standing.slice(0, 1));
      several = Math.max(several, standing.length);
    }
    expect(several).toBeGreaterThan(1);
  });

  test("are none between strangers, and none the other way round", async () => {
    const none = { ...(await reads.position()), grants: [], newest: null };
    expect(await reads.grantsBetween(hash("nobody"), hash("nobody"), 5)).toEqual(none);
    const [grant] = known.book.addedGrants();
    if (grant === undefined) throw new Error("the history has grants");
    expect(await reads.grantsBetween(grant.granteeFingerprint, hash("nobody"), 5)).toEqual(none);
  });
});

describe("histories", () => {
  /** Page by page, beginning after what the page before ended with. */
  async function pages<T extends { readonly sequence: number }>(
    limit: number,
    page: (after: number) => Promise<readonly T[]>,
  ): Promise<T[]> {
    const found: T[] = [];
    for (let after = -1; ;) {
      const some = await page(after);
      found.push(...some);
      const last = some.at(-1);
      if (last === undefined || some.length < limit) return found;
      after = last.sequence;
    }
  }

  test("of claims: an entity's, and a pair's, ended or not", async () => {
    const claims = known.book.addedClaims();
    const ends = new Set<string>();
    let types = 0;
    for (const { entityFingerprint, attributeType } of claims) {
      const ofEntity = claims.filter((one) => equalBytes(one.entityFingerprint, entityFingerprint));
      const ofPair = ofEntity.filter((one) => one.attributeType === attributeType);
      for (const one of ofEntity) ends.add(`${one.supersededAt === null} ${one.revokedAt === null}`);
      types = Math.max(types, new Set(ofEntity.map((one) => one.attributeType)).size);
      for (const [type, expected] of [
        [null, ofEntity],
        [attributeType, ofPair],
      ] as const) {
        const filter = { entityFingerprint, attributeType: type };
        for (const limit of [1, 3, 100]) {
          const found = await pages(limit, async (after) => (await reads.claimHistory(filter, after, limit)).claims);
          expect(found).toEqual(expected);
        }
      }
    }
    expect(ends.size).toBeGreaterThan(2);
    expect(types).toBeGreaterThan(1);
  });

  test("of grants: a grantor's, a grantee's, and those of both", async () => {
    const grants = known.book.addedGrants();
    let longest = 0;
    for (const { grantorFingerprint, granteeFingerprint } of grants) {
      const byGrantor = grants.filter((one) => equalBytes(one.grantorFingerprint, grantorFingerprint));
      const byGrantee = grants.filter((one) => equalBytes(one.granteeFingerprint, granteeFingerprint));
      const both = byGrantor.filter((one) => equalBytes(one.granteeFingerprint, granteeFingerprint));
      longest = Math.max(longest, byGrantor.length, byGrantee.length);
      for (const [filter, expected] of [
        [{ by: "grantor", fingerprint: grantorFingerprint }, byGrantor],
        [{ by: "grantee", fingerprint: granteeFingerprint }, byGrantee],
        [{ by: "both", grantorFingerprint, granteeFingerprint }, both],
      ] as const) {
        for (const limit of [1, 3, 100]) {
          const found = await pages(limit, async (after) => (await reads.grantHistory(filter, after, limit)).grants);
          expect(found).toEqual(expected);
        }
      }
    }
    expect(longest).toBeGreaterThan(3);
  });

  test("of nobody are empty, with the position", async () => {
    const position = await reads.position();
    const nobody = { entityFingerprint: hash("nobody"), attributeType: null };
    expect(await reads.claimHistory(nobody, -1, 5)).toEqual({ ...position, claims: [] });
    const grantee = { by: "grantee", fingerprint: hash("nobody") } as const;
    expect(await reads.grantHistory(grantee, -1, 5)).toEqual({ ...position, grants: [] });
  });
});

describe("grants to a lineage", () => {
  test("are those that stand at a position, ascending", async () => {
    const grants = known.book.addedGrants();
    let longest = 0;
    for (const lineage of new Set(grants.map(({ granteeLineage }) => granteeLineage))) {
      for (const at of positions()) {
        const isInWindow = ({ notBefore, expiresAt }: GrantRecord): boolean =>
          notBefore <= at.timeMs && (expiresAt === 0 || at.timeMs < expiresAt);
        const expected = grants.filter(
          (one) => one.granteeLineage === lineage && standsAt(one, at.sequence) && isInWindow(one),
        );
        expect((await reads.grantsTo(lineage, at, 100)).grants).toEqual(expected);
        expect((await reads.grantsTo(lineage, at, 1)).grants).toEqual(expected.slice(0, 1));
        longest = Math.max(longest, expected.length);
      }
    }
    expect(longest).toBeGreaterThan(1);
    expect((await reads.grantsTo(999_999, { sequence: 5, timeMs: 5 }, 5)).grants).toEqual([]);
  });
});

describe("revocations", () => {
  test("of some records, up to a position, ascending", async () => {
    const targets = [...new Set(known.revocations.map(({ target }) => target))];
    for (const { sequence: upTo } of positions()) {
      const expected = known.revocations.filter(({ sequence }) => sequence <= upTo).map(({ sequence }) => sequence);
      const { revocations } = await reads.revocationsOf([...targets, ...targets, 0], upTo, 1000);
      expect(revocations.map(({ sequence }) => sequence)).toEqual(expected);
      const first = await reads.revocationsOf(targets, upTo, 3);
      expect(first.revocations.map(({ sequence }) => sequence)).toEqual(expected.slice(0, 3));
    }
    const repeated = targets.find((target) => known.revocations.filter((one) => one.target === target).length > 1);
    expect(repeated).toBeDefined();
    expect((await reads.revocationsOf([], 99, 5)).revocations).toEqual([]);
  });
});

describe("anchors by sequence", () => {
  test("stand where they were asked for, and null where there is none yet", async () => {
    const last = known.leaves.length - 1;
    const { anchors } = await reads.anchorsBySequence([last, 3, last + 1, 3]);
    expect(anchors.map((anchor) => anchor?.sequence ?? null)).toEqual([last, 3, null, 3]);
    expect(anchors[1]?.anchorId).toEqual(known.leaves[3]?.anchorId);
    expect((await reads.anchorsBySequence([])).anchors).toEqual([]);
  });
});
