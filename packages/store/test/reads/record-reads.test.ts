import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { claimStateAt, grantForceAt, grantStateOf } from "@event-anchoring/records";
import type { EventInput } from "@event-anchoring/ledger";
import type { AsOf, ClaimRecord, GrantRecord } from "@event-anchoring/records";
import { LEAF_KIND, bytesToHex, decodeLeaf, equalBytes } from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import { PAGE_ROWS_MAX, Reads } from "../../src/index.ts";
import type { EventFilter } from "../../src/index.ts";
import { eventPrefixOf } from "../../src/tables/leaf-indexes.ts";
import { hash } from "../support/cluster.ts";
import { migratedDatabase, sql, startTestPostgres, superuserUrl } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { live, randomOf } from "../support/random-history.ts";
import type { FullKnowledge } from "../support/random-history.ts";
import { eventsCommand } from "../support/records.ts";
import { StoredLedgerHarness, event } from "../support/stored-ledger.ts";

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

/** Every leaf with what it says, in the order of sequences. */
function leaves(): { sequence: number; anchorId: Uint8Array; leaf: Leaf }[] {
  return known.leaves.map(({ sequence, anchorId, bytes }) => ({ sequence, anchorId, leaf: decodeLeaf(bytes) }));
}

function isEvent(leaf: Leaf): leaf is Extract<Leaf, { kind: 1 | 6 }> {
  return leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent;
}

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

describe("events", () => {
  /** What a list must say, from all the leaves. */
  function sequencesOf(matches: (leaf: Extract<Leaf, { kind: 1 | 6 }>) => boolean): number[] {
    return leaves().flatMap(({ sequence, leaf }) => (isEvent(leaf) && matches(leaf) ? [sequence] : []));
  }

  async function pagesOf(filter: EventFilter, limit: number): Promise<number[]> {
    const found: number[] = [];
    for (let after = -1; ;) {
      const { anchors } = await reads.eventsBy(filter, after, limit);
      found.push(...anchors.map(({ sequence }) => sequence));
      const last = anchors.at(-1);
      if (last === undefined || anchors.length < limit) return found;
      after = last.sequence;
    }
  }

  test("with a hash, page by page", async () => {
    const hashes = new Map(leaves().flatMap(({ leaf }) => (isEvent(leaf) ? [[bytesToHex(leaf.eventHash), leaf]] : [])));
    expect(hashes.size).toBeGreaterThan(10);
    let longest = 0;
    for (const { eventHash } of hashes.values()) {
      const expected = sequencesOf((leaf) => equalBytes(leaf.eventHash, eventHash));
      for (const limit of [1, 3, 100]) expect(await pagesOf({ by: "event_hash", eventHash }, limit)).toEqual(expected);
      longest = Math.max(longest, expected.length);
    }
    expect(longest).toBeGreaterThan(3);
    expect(await pagesOf({ by: "event_hash", eventHash: hash("nothing") }, 5)).toEqual([]);
  });

  test.each(["iris_ref", "grant_ref"] as const)("with an %s, page by page", async (by) => {
    const kind = by === "iris_ref" ? LEAF_KIND.claim : LEAF_KIND.grant;
    let longest = 0;
    for (const { sequence, anchorId } of known.leaves.filter((one) => one.kind === kind)) {
      const expected = sequencesOf(({ semanticAnchor }) =>
        equalBytes(by === "iris_ref" ? semanticAnchor.irisRef : semanticAnchor.grantRef, anchorId),
      );
      for (const limit of [1, 2, 100]) expect(await pagesOf({ by, sequence }, limit)).toEqual(expected);
      longest = Math.max(longest, expected.length);
    }
    expect(longest).toBeGreaterThan(3);
    const none = { appliedIndex: harness.state.appliedIndex, anchors: [] };
    expect(await reads.eventsBy({ by, sequence: 0 }, -1, 5)).toEqual(none);
    expect(await reads.eventsBy({ by, sequence: 999_999 }, -1, 5)).toEqual(none);
  });

  test("a page has at most as many as any other page", async () => {
    const { small, smallReads } = await smallLedger([...repeated("same", PAGE_ROWS_MAX), event("same again")]);
    await small.run([eventsCommand(repeated("same", 10))]);
    const eventHash = event("same").eventHash;
    const { anchors } = await smallReads.eventsBy({ by: "event_hash", eventHash }, -1, PAGE_ROWS_MAX + 5);
    expect(anchors).toHaveLength(PAGE_ROWS_MAX);
    await smallReads.close();
    await small.store.close();
  });

  test("that lie many runs of the index apart are found in one statement, in order", async () => {
    const { small, smallReads, url } = await smallLedger([]);
    const bytes = known.leaves.find(({ kind }) => kind === LEAF_KIND.event)?.bytes ?? new Uint8Array(0);
    await spread(url, bytes, [0, 2 ** 17 - 1, 2 ** 17, 5 * 2 ** 17 + 7, 2 ** 22]);
    const { appliedIndex } = small.state;
    expect((await sql(url, "SELECT applied_index::int FROM state.ledger"))[0]).toEqual({ applied_index: appliedIndex });
    const leaf = decodeLeaf(bytes);
    if (!isEvent(leaf)) throw new Error("an event was due");
    const filter = { by: "event_hash", eventHash: leaf.eventHash } as const;
    // The leaves that were copied do not say where they are now, so that the first one found is refused as damaged.
    await expect(smallReads.eventsBy(filter, 5 * 2 ** 17, 1)).rejects.toThrow(`anchor ${5 * 2 ** 17 + 17} `);
    await expect(smallReads.eventsBy(filter, -1, 10)).rejects.toThrow("anchor 10 ");
    expect((await smallReads.eventsBy(filter, 2 ** 22 + 10, 5)).anchors).toEqual([]);
    await smallReads.close();
    await small.store.close();
  });
});

function repeated(label: string, count: number): EventInput[] {
  return Array.from({ length: count }, () => event(label));
}

async function smallLedger(
  inputs: readonly EventInput[],
): Promise<{ small: StoredLedgerHarness; smallReads: Reads; url: string }> {
  const own = await migratedDatabase(server);
  const small = await StoredLedgerHarness.started(own.url);
  for (let at = 0; at < inputs.length; at += 1000) await small.run([eventsCommand(inputs.slice(at, at + 1000))]);
  return { small, smallReads: await Reads.open({ url: own.readOnlyUrl }), url: superuserUrl(server, own) };
}

/** Copies of a leaf at these sequences after the tenth. */
async function spread(url: string, bytes: Uint8Array, sequences: readonly number[]): Promise<void> {
  await sql(
    url,
    `INSERT INTO state.anchors (sequence, origin, depth, kind, event_prefix, accepted_ms, anchor_prefix,
        anchor_id, leaf)
      SELECT u.sequence + 10, 1, u.sequence + 10, 1, $3, 1, 0, '', $2 FROM unnest($1::bigint[]) AS u (sequence)`,
    [sequences, Buffer.from(bytes), Buffer.from(eventPrefixOf(bytes.subarray(115, 147))).readInt32BE(0)],
  );
  await sql(url, "UPDATE state.ledger SET next_sequence = (SELECT max(sequence) + 1 FROM state.anchors)");
}

describe("anchors by sequence", () => {
  test("stand where they were asked for, and null where there is none yet", async () => {
    const last = known.leaves.length - 1;
    const { anchors } = await reads.anchorsBySequence([last, 3, last + 1, 3]);
    expect(anchors.map((anchor) => anchor?.sequence ?? null)).toEqual([last, 3, null, 3]);
    expect(anchors[1]?.anchorId).toEqual(known.leaves[3]?.anchorId);
    expect((await reads.anchorsBySequence([])).anchors).toEqual([]);
  });
});
