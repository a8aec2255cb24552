import { describe, expect, test } from "@jest/globals";
import {
  type EntryDecision,
  type FactsQuery,
  type LeafWrite,
  type StoredLedger,
  advance,
  decideEntry,
} from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { claimPairHash } from "@event-anchoring/records";
import { RecentTree, bytesToHex, emptyFrontier, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { ConfState } from "raft-ts";
import { SECOND_DOCUMENT, hash } from "../../../packages/store/test/support/cluster.ts";
import { TableLane } from "../../../packages/control-plane/src/raft/table-lane.ts";
import { refusalOf } from "../../../packages/store/test/support/database.ts";
import { FullKnowledge, RandomHistory } from "../../../packages/store/test/support/random-history.ts";
import {
  accepted,
  claimCommand,
  eraseCommand,
  grantCommand,
  holders,
  leafAt,
} from "../../../packages/store/test/support/records.ts";
import {
  CLIENT_ID,
  NOTHING_ASKED,
  event,
  events,
  originAt,
  partsOf,
} from "../../../packages/store/test/support/stored-ledger.ts";
import type { DatabaseServer, NodeDatabase } from "./databases.ts";
import { type Harness, reopened, startedLedger } from "./stored.ts";

const CONF_STATE: ConfState = {
  voters: [1n, 0xffff_ffff_ffff_fffdn],
  votersOutgoing: [2n],
  learners: [],
  learnersNext: [0x8000_0000_0000_0000n],
  autoLeave: true,
};

/** Sizes around every boundary of tiles and of certificates. */
const BATCHES = [1, 254, 255, 1, 1, 300, 3];

export function ledgerCases(server: () => DatabaseServer): void {
  describe("the ledger", () => {
    loadCases(server);
    erasureCases(server);
    applyCases(server);
    factCases(server);
    relationCases(server);
    treeCases(server);
    thinningCases(server);
    historyCases(server);
  });
}

async function started(server: () => DatabaseServer): Promise<{ harness: Harness; close(): Promise<void> }> {
  const storage = await (await server().create()).open();
  return { harness: await startedLedger(storage), close: storage.close };
}

/** What a ledger in memory and a database that was opened anew are compared by. */
interface Held {
  readonly ledger: StoredLedger;
  readonly applied: readonly number[];
  readonly certifiedSizes: readonly number[];
}

function sizesOf({ origins }: StoredLedger): readonly number[] {
  return origins.flatMap(({ certified }) => (certified === null ? [] : [certified.treeSize]));
}

async function loadedFrom(database: NodeDatabase): Promise<Held> {
  const { loadedLedger, recorded, close } = await database.open();
  await close();
  const { ledger, appliedIndex, appliedTerm } = loadedLedger;
  return { ledger, applied: [appliedIndex, appliedTerm], certifiedSizes: recorded.map(({ treeSize }) => treeSize) };
}

function heldBy({ state }: Harness): Held {
  const ledger = partsOf(state);
  return { ledger, applied: [state.appliedIndex, state.appliedTerm], certifiedSizes: sizesOf(ledger) };
}

function loadCases(server: () => DatabaseServer): void {
  test("gives after every entry what memory holds", async () => {
    const database = await server().create();
    let storage = await database.open();
    let harness = await startedLedger(storage);
    for (const [position, count] of BATCHES.entries()) {
      await harness.record(events(count, `batch ${position}`));
      if (position % 2 === 0) await harness.certify(originAt(0));
      await storage.close();
      expect(await loadedFrom(database)).toEqual(heldBy(harness));
      storage = await database.open();
      harness = harness.on(storage.ledger);
    }
    await storage.close();
  });

  test("gives keys, trust roots, statuses and positions", async () => {
    const database = await server().create();
    const { ledger, close } = await database.open();
    const harness = await startedLedger({ ledger });
    await harness.record(events(10, "before"));
    await harness.run([{ kind: "trust_root", document: SECOND_DOCUMENT }]);
    await harness.record([...events(5, "after"), ...events(2, "refused", originAt(2))]);
    await harness.certify(originAt(0));
    await close();
    expect(await loadedFrom(database)).toEqual(heldBy(harness));
    expect(partsOf(harness.state).origins.map(({ status }) => status)).toContain("closed");
  });

  test("keeps the membership until the next one, with all bits of its ids", async () => {
    const database = await server().create();
    const storage = await database.open();
    const harness = await startedLedger(storage);
    const decision = await harness.decide(harness.entry([]));
    await storage.ledger.apply({ decision, confState: CONF_STATE });
    advance(harness.state, decision);
    await harness.run([]);
    const { loadedLedger, close } = await reopened(database, storage);
    expect(loadedLedger).toMatchObject({ confState: CONF_STATE, appliedIndex: 4, appliedTerm: 3 });
    await close();
  });

  test("forgets group ids as memory does", async () => {
    const database = await server().create();
    const storage = await database.open();
    const harness = await startedLedger(storage);
    for (let count = 0; count < 3; count++) await harness.run([{ kind: "mark_certify_point" }]);
    const decision = await harness.decide(harness.entry([{ kind: "mark_certify_point" }]));
    const writes = { ...decision.writes, forgetGroupIdsBelow: 4 };
    await storage.ledger.apply({ decision: { ...decision, writes }, confState: null });
    const { loadedLedger, close } = await reopened(database, storage);
    expect(loadedLedger.ledger.groupIds.map(({ index }) => index)).toEqual([4, 5, 6]);
    await close();
  });
}

function erasureCases(server: () => DatabaseServer): void {
  test("gives the newest entry that erased a client event id, or named one that is erased", async () => {
    const database = await server().create();
    let storage = await database.open();
    let harness = await startedLedger(storage);
    const named = event("e", { clientEventId: "id" });
    const { index, writes } = await harness.record([named]);
    const erasure = eraseCommand(leafAt(writes.leaves, 0));
    const steps = [
      () => harness.run([erasure]),
      () => harness.record([event("other")]),
      () => harness.run([erasure]),
      () => harness.record([named]),
      () => harness.record([event("another")]),
    ];
    const found = [storage.loadedLedger.forgetLogTo];
    for (const step of steps) {
      await step();
      storage = await reopened(database, storage);
      harness = harness.on(storage.ledger);
      found.push(storage.loadedLedger.forgetLogTo);
    }
    expect(found).toEqual([0, index + 1, index + 1, index + 1, index + 4, index + 4]);
    await storage.close();
  });
}

function applyCases(server: () => DatabaseServer): void {
  test("refuses an entry twice, and one that leaves a gap", async () => {
    const database = await server().create();
    const { ledger, close } = await database.open();
    const harness = await startedLedger({ ledger });
    const decision = await harness.record(events(3, "once"));
    expect(await refusalOf(ledger.apply({ decision, confState: null }))).toBe("out_of_order");
    const later = { ...decision, index: decision.index + 2 };
    expect(await refusalOf(ledger.apply({ decision: later, confState: null }))).toBe("out_of_order");
    await close();
    expect(await loadedFrom(database)).toEqual(heldBy(harness));
  });

  test("entries that only add rows are one transaction, and leave what one at a time leaves", async () => {
    const [together, apart] = [await server().create(), await server().create()];
    const decided: EntryDecision[] = [];
    const storage = await apart.open();
    const harness = await startedLedger(storage, 2, (decision) => decided.push(decision));
    const run = [await harness.record(events(300, "first")), await harness.record(events(3, "other", originAt(1)))];
    run.push(await harness.certify(originAt(0)), await harness.run([]), await harness.record([event("last")]));
    const { ledger, close } = await together.open();
    for (const decision of decided.slice(0, 2)) await ledger.apply({ decision, confState: null });
    const requests = run.map((decision) => ({ decision, confState: null }));
    await expect(ledger.apply(...requests, ...requests)).rejects.toThrow();
    await ledger.apply(...requests);
    await close();
    await storage.close();
    expect(await loadedFrom(together)).toEqual(await loadedFrom(apart));
    expect(await loadedFrom(together)).toEqual(heldBy(harness));
  });

  test("an entry that changes rows is not written with another one", async () => {
    const { harness, close } = await started(server);
    const { writes } = await harness.record([event("e", { clientEventId: "id" })]);
    const erasure = await harness.decide(harness.entry([eraseCommand(leafAt(writes.leaves, 0))]));
    const after = { ...erasure, index: erasure.index + 1 };
    const requests = [erasure, after].map((decision) => ({ decision, confState: null }));
    await expect(harness.store.apply(...requests)).rejects.toThrow("is written alone");
    await close();
  });

  test("the root of the state tree changes with records and erasures, not with events", async () => {
    const database = await server().create();
    const storage = await database.open();
    const harness = await startedLedger(storage);
    const rootAfter = async (...commands: Parameters<Harness["run"]>[0]): Promise<string> => {
      const decision = await harness.decide(harness.entry(commands));
      const { stateRoot } = await storage.ledger.apply({ decision, confState: null });
      advance(harness.state, decision);
      return bytesToHex(stateRoot);
    };
    const before = await rootAfter();
    const { writes } = await harness.record([event("e", { clientEventId: "id" })]);
    expect(await rootAfter()).toBe(before);
    const withClaim = await rootAfter(claimCommand("ada"));
    expect(withClaim).not.toBe(before);
    const erased = await rootAfter(eraseCommand(leafAt(writes.leaves, 0)));
    expect(erased).not.toBe(withClaim);
    const { loadedLedger, close } = await reopened(database, storage);
    expect(bytesToHex(loadedLedger.stateRoot)).toBe(erased);
    await close();
  });
}

function factCases(server: () => DatabaseServer): void {
  test("facts are what was asked for and exists", async () => {
    const { harness, close } = await started(server);
    const { writes } = await harness.record([
      event("with id", { clientEventId: "first" }),
      event("without id"),
      event("of b", { originFingerprint: originAt(1), clientEventId: "second" }),
    ]);
    const [first, bare, ofB] = [0, 1, 2].map((at) => leafAt(writes.leaves, at)) as [LeafWrite, LeafWrite, LeafWrite];
    const facts = await harness.store.loadFacts({
      ...NOTHING_ASKED,
      anchors: [ofB.anchorId, toAnchorId(hash("nothing")), bare.anchorId],
      clientEvents: [
        { apiClientId: CLIENT_ID, clientEventId: "first" },
        { apiClientId: CLIENT_ID, clientEventId: "First" },
        { apiClientId: CLIENT_ID.map((byte) => byte ^ 1), clientEventId: "first" },
      ],
    });
    const placeOf = ({ kind, sequence, originFingerprint, depth }: LeafWrite): object => ({
      kind,
      sequence,
      originFingerprint,
      depth,
    });
    const clientEvent = { apiClientId: CLIENT_ID, isErased: false };
    expect(facts.anchors).toEqual(
      new Map([
        [bytesToHex(ofB.anchorId), { ...placeOf(ofB), clientEvent }],
        [bytesToHex(bare.anchorId), { ...placeOf(bare), clientEvent: null }],
      ]),
    );
    const { anchorId, sequence } = first;
    const contentHash = writes.clientEvents[0]?.contentHash;
    expect([...facts.clientEvents.values()]).toEqual([
      { anchorId, originFingerprint: originAt(0), sequence, contentHash, isErased: false },
    ]);
    expect(facts.contents).toEqual(new Map());
    await close();
  });

  test("an erased client event id is found when a request names it again", async () => {
    const { harness, close } = await started(server);
    const { writes } = await harness.record([event("e", { clientEventId: "id" })]);
    const leaf = leafAt(writes.leaves, 0);
    await harness.run([eraseCommand(leaf)]);
    const facts = await harness.store.loadFacts({
      ...NOTHING_ASKED,
      anchors: [leaf.anchorId],
      clientEvents: [{ apiClientId: CLIENT_ID, clientEventId: "id" }],
    });
    expect([...facts.clientEvents.values()]).toMatchObject([{ anchorId: leaf.anchorId, isErased: true }]);
    expect([...facts.anchors.values()]).toMatchObject([{ clientEvent: { apiClientId: CLIENT_ID, isErased: true } }]);
    await close();
  });

  test("facts stay what they were when they were loaded", async () => {
    const { harness, close } = await started(server);
    const claim = await accepted(harness, claimCommand("ada"));
    const query: FactsQuery = { ...NOTHING_ASKED, records: [claim.anchorId], anchors: [claim.anchorId] };
    const before = await harness.store.loadFacts(query);
    await accepted(harness, claimCommand("ada", { issuedAt: 1 }));
    expect(before.records.claim(claim.sequence)?.supersededAt).toBeNull();
    expect(before.anchors.size).toBe(1);
    const after = await harness.store.loadFacts(query);
    expect(after.records.claim(claim.sequence)?.supersededAt).not.toBeNull();
    await close();
  });
}

function relationCases(server: () => DatabaseServer): void {
  test("a claim comes with the newest of its lineage, and with no other", async () => {
    const { harness, close } = await started(server);
    const oldest = await accepted(harness, claimCommand("ada"));
    const between = await accepted(harness, claimCommand("ada", { issuedAt: 1 }));
    const newest = await accepted(harness, claimCommand("ada", { issuedAt: 2 }));
    const other = await accepted(harness, claimCommand("bob"));
    const { records } = await harness.store.loadFacts({ ...NOTHING_ASKED, records: [oldest.anchorId] });
    const known = [oldest, between, newest, other].map(({ sequence }) => records.claim(sequence)?.sequence ?? null);
    expect(known).toEqual([oldest.sequence, null, newest.sequence, null]);
    const lineage = records.claim(oldest.sequence)?.lineage ?? -1;
    expect(records.newestClaimOf(lineage, Number.MAX_SAFE_INTEGER)?.sequence).toBe(newest.sequence);
    await close();
  });

  test("a grant comes with its ancestors and both claims of each; a pair and two parties with the newest", async () => {
    const { harness, close } = await started(server);
    const [ada, bob, cyd, dan] = await holders(harness, ["ada", "bob", "cyd", "dan"]);
    if (ada === undefined || bob === undefined || cyd === undefined || dan === undefined)
      throw new Error("four are due");
    const root = await accepted(harness, grantCommand(ada, bob));
    const child = await accepted(harness, grantCommand(bob, cyd, { parent: root, delegationDepth: 3 }));
    const apart = await accepted(harness, grantCommand(ada, dan));
    const { records } = await harness.store.loadFacts({ ...NOTHING_ASKED, records: [child.anchorId] });
    expect([root, child, apart].map(({ sequence }) => records.grant(sequence) !== null)).toEqual([true, true, false]);
    const claims = [ada, bob, cyd, dan].map(({ claim }) => records.claim(claim.sequence) !== null);
    expect(claims).toEqual([true, true, true, false]);
    const pair = claimPairHash({ entityFingerprint: hash("entity dan"), attributeType: 1 }, nodeCrypto.sha256);
    const parties = { grantorClaim: ada.claim.anchorId, granteeClaim: dan.claim.anchorId };
    const asked = await harness.store.loadFacts({ ...NOTHING_ASKED, claimPairs: [pair], grantParties: [parties] });
    expect(asked.records.newestClaimOfPair(pair)?.sequence).toBe(dan.claim.sequence);
    const lineages = [ada, dan].map(({ claim }) => claim.sequence);
    const [grantor = -1, grantee = -1] = lineages;
    expect(asked.records.newestGrantBetween(grantor, grantee)?.sequence).toBe(apart.sequence);
    expect(asked.records.grant(root.sequence)).toBeNull();
    expect(asked.records.claim(ada.claim.sequence)).toBeNull();
    await close();
  });
}

function treeCases(server: () => DatabaseServer): void {
  test("the root of any earlier size is told, and of no other", async () => {
    const { harness, close } = await started(server);
    const tree = new RecentTree(emptyFrontier(), nodeCrypto.sha256);
    const known = new FullKnowledge();
    const following = harness.on(harness.store, (decision) => known.learn(decision));
    const before = following.origin(originAt(0)).tree.size;
    for (const [position, count] of BATCHES.entries()) await following.record(events(count, `batch ${position}`));
    const { size } = following.origin(originAt(0)).tree;
    expect(known.leaves).toHaveLength(size - before);
    for (let depth = 0; depth < size; depth++) {
      const leaf = following.origin(originAt(0)).tree.subtree(0, depth);
      if (leaf === undefined) throw new Error(`leaf ${depth} is no longer held`);
      tree.append(leaf);
    }
    for (const treeSize of [0, 1, 2, 255, 256, 257, 511, 512, size - 1, size]) {
      expect(await following.store.rootAt(originAt(0), treeSize)).toEqual(tree.rootAt(treeSize));
    }
    expect(await refusalOf(following.store.rootAt(originAt(0), size + 1))).toBe("out_of_order");
    const nobody = toOriginFingerprint(hash("nobody"));
    expect(await refusalOf(following.store.rootAt(nobody, 1))).toBe("out_of_order");
    expect(await following.store.rootAt(nobody, 0)).toEqual(tree.rootAt(0));
    await close();
  });
}

const HOUR_S = 3600;

/** Applies what was decided, as if its certificates had been made in another hour. */
async function certifyInHour(harness: Harness, hour: number): Promise<void> {
  await harness.record([event(`for a certificate ${harness.state.nextSequence}`)]);
  const certified = await harness.decide(harness.certificateEntry(originAt(0)));
  const certificates = certified.writes.certificates.map((one) => ({ ...one, certifiedAtS: hour * HOUR_S + 7 }));
  const decision: EntryDecision = { ...certified, writes: { ...certified.writes, certificates } };
  await harness.store.apply({ decision, confState: null });
  advance(harness.state, decision);
}

const HOURS = [10, 10, 10, 11, 11, 12, 12, 12, 12, 12, 20, 21];

function thinningCases(server: () => DatabaseServer): void {
  test.each([2, 3, 5, 500])("old certificates are thinned to the last of each hour, %d a page", async (rowsMax) => {
    const { harness, close } = await started(server);
    for (const hour of HOURS) await certifyInHour(harness, hour);
    const thin = async (kept: number): Promise<number> => {
      let deleted = 0;
      for (let after = 0; ;) {
        const request = { originFingerprint: originAt(0), kept, after, rowsMax };
        const page = await harness.store.thinCertificates(request);
        deleted += page.deleted;
        if (page.after === after) return deleted;
        after = page.after;
      }
    };
    // Ten are older than the two that stay: three, two and five in an hour.
    expect(await thin(2)).toBe(2 + 1 + 4);
    expect(await thin(2)).toBe(0);
    expect(await thin(1)).toBe(0);
    await close();
  });

  test("an origin that has few certificates, or is not listed, loses none", async () => {
    const { harness, close } = await started(server);
    await certifyInHour(harness, 10);
    await certifyInHour(harness, 10);
    const asked = { kept: 2, after: 7, rowsMax: 500 };
    for (const originFingerprint of [originAt(0), originAt(2), toOriginFingerprint(hash("nobody"))]) {
      const page = await harness.store.thinCertificates({ originFingerprint, ...asked });
      expect(page).toEqual({ after: 7, deleted: 0 });
    }
    await close();
  });
}

function historyCases(server: () => DatabaseServer): void {
  test.each([1, 2, 3])("of seed %i: what is loaded decides as all there is would", async (seed) => {
    const database = await server().create();
    const storage = await database.open();
    const known = new FullKnowledge();
    const harness = await startedLedger(storage, 2, (decision) => known.learn(decision));
    const history = new RandomHistory(seed, known, () => harness.clockMs);
    for (let count = 0; count < 80; count++) {
      const entry = harness.entry(history.next());
      const committed = { index: harness.state.appliedIndex + 1, term: 3, entry };
      const expected = decideEntry(harness.state, committed, known.facts, nodeCrypto);
      const decision = await harness.apply(entry);
      expect(decision.outcomes).toEqual(expected.outcomes);
      expect(decision.effect).toEqual(expected.effect);
    }
    await storage.close();
    expect(await loadedFrom(database)).toEqual(heldBy(harness));
  });

  test.each([4, 5, 6])("of seed %i: through the table lane, before most of it is in the tables", async (seed) => {
    const database = await server().create();
    const storage = await database.open();
    const known = new FullKnowledge();
    const begun = await startedLedger(storage, 2, (decision) => known.learn(decision));
    // Nothing is written because time passes: only what has to be.
    const lane = new TableLane({
      clock: { startTimer: () => ({ cancel: () => {} }) },
      tables: storage.ledger,
      writtenIndex: begun.state.appliedIndex,
      stateRoot: storage.loadedLedger.stateRoot,
      onWritten: () => {},
      onFailure: (error) => expect(error).toBeUndefined(),
    });
    const harness = begun.on(lane);
    const history = new RandomHistory(seed, known, () => harness.clockMs);
    let unwritten = 0;
    for (let count = 0; count < 120; count++) {
      const commands = history.next();
      const isMixed = count % 8 === 0;
      const entry = harness.entry(isMixed ? commands : commands.filter(({ kind }) => kind === "record_events"));
      const committed = { index: harness.state.appliedIndex + 1, term: 3, entry };
      const expected = decideEntry(harness.state, committed, known.facts, nodeCrypto);
      const decision = await harness.apply(entry);
      expect(decision.outcomes).toEqual(expected.outcomes);
      expect(decision.effect).toEqual(expected.effect);
      unwritten = Math.max(unwritten, decision.index - lane.writtenIndex);
    }
    expect(unwritten).toBeGreaterThan(3);
    await lane.flush();
    expect(lane.writtenIndex).toBe(harness.state.appliedIndex);
    await storage.close();
    expect(await loadedFrom(database)).toEqual(heldBy(begun.on(storage.ledger)));
  });
}
