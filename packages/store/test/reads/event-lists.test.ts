/** Lists of events: the same whether their leaves are in long runs, in short ones, in both, or in none yet. */
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { EventInput } from "@event-anchoring/ledger";
import { LEAF_KIND, bytesToHex, decodeLeaf, equalBytes } from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import { until } from "@event-anchoring/testkit";
import { LedgerStore, PAGE_ROWS_MAX, Reads } from "../../src/index.ts";
import type { EventFilter } from "../../src/index.ts";
import { eventKeyOf } from "../../src/tables/look-ups.ts";
import { RUN_SIZES } from "../../src/tables/look-up-runs.ts";
import type { RunSizes } from "../../src/tables/look-up-runs.ts";
import { hash } from "../support/cluster.ts";
import { migratedDatabase, sql, startTestPostgres, superuserUrl } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { SMALL_RUNS, runsWritten, storedRuns } from "../support/look-up-runs.ts";
import { live } from "../support/random-history.ts";
import type { FullKnowledge, Life } from "../support/random-history.ts";
import { eventsCommand } from "../support/records.ts";
import { StoredLedgerHarness, event } from "../support/stored-ledger.ts";

jest.setTimeout(240_000);

let server: TestPostgres;

beforeAll(async () => {
  server = await startTestPostgres();
});

afterAll(async () => {
  await server.close();
});

type EventLeaf = Extract<Leaf, { kind: 1 | 6 }>;

function isEvent(leaf: Leaf): leaf is EventLeaf {
  return leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent;
}

/** A list, and what it must say. */
interface Expected {
  readonly filter: EventFilter;
  readonly sequences: readonly number[];
}

/** Every list that has an event, and some that have none; from all the leaves. */
function expectedLists({ leaves }: FullKnowledge): readonly Expected[] {
  const decoded = leaves.map(({ sequence, bytes }) => ({ sequence, leaf: decodeLeaf(bytes) }));
  const events = decoded.flatMap(({ sequence, leaf }) => (isEvent(leaf) ? [{ sequence, leaf }] : []));
  const sequencesOf = (matches: (leaf: EventLeaf) => boolean): number[] =>
    events.flatMap(({ sequence, leaf }) => (matches(leaf) ? [sequence] : []));
  const hashes = new Map(events.map(({ leaf }) => [bytesToHex(leaf.eventHash), leaf.eventHash]));
  const byHash = [...hashes.values(), hash("nothing")].map((eventHash) => ({
    filter: { by: "event_hash", eventHash } as const,
    sequences: sequencesOf((leaf) => equalBytes(leaf.eventHash, eventHash)),
  }));
  const byReference = leaves.flatMap(({ sequence, anchorId, kind }) => {
    if (kind !== LEAF_KIND.claim && kind !== LEAF_KIND.grant) return [];
    const by = kind === LEAF_KIND.claim ? ("iris_ref" as const) : ("grant_ref" as const);
    const field = kind === LEAF_KIND.claim ? "irisRef" : "grantRef";
    const sequences = sequencesOf(({ semanticAnchor }) => equalBytes(semanticAnchor[field], anchorId));
    return [{ filter: { by, sequence }, sequences }];
  });
  return [...byHash, ...byReference];
}

async function pagesOf(reads: Reads, filter: EventFilter, limit: number): Promise<number[]> {
  const found: number[] = [];
  for (let after = -1; ;) {
    const { anchors } = await reads.eventsBy(filter, after, limit);
    found.push(...anchors.map(({ sequence }) => sequence));
    const last = anchors.at(-1);
    if (last === undefined || anchors.length < limit) return found;
    after = last.sequence;
  }
}

describe.each<[string, RunSizes]>([
  ["in no run", RUN_SIZES],
  ["in long runs, short runs and none", SMALL_RUNS],
  ["in runs of one and of two", { short: 1, long: 2 }],
])("leaves %s", (_, runSizes) => {
  let database: TestDatabase;
  let life: Life;
  let reads: Reads;

  beforeAll(async () => {
    database = await migratedDatabase(server);
    life = await live(database, 11, 100, () => undefined, runSizes);
    await runsWritten(database.url, life.known.leaves.length, runSizes);
    reads = await Reads.open({ url: database.readOnlyUrl });
  });

  afterAll(async () => {
    await reads.close();
    await life.harness.store.close();
  });

  test("are listed page by page", async () => {
    const lists = expectedLists(life.known);
    const longest = { event_hash: 0, iris_ref: 0, grant_ref: 0 };
    for (const { filter, sequences } of lists) {
      for (const limit of [2, 100]) expect(await pagesOf(reads, filter, limit)).toEqual(sequences);
      longest[filter.by] = Math.max(longest[filter.by], sequences.length);
    }
    expect(lists.length).toBeGreaterThan(20);
    for (const length of Object.values(longest)) expect(length).toBeGreaterThan(3);
  });

  test("are listed from any leaf on", async () => {
    const { filter, sequences } = expectedLists(life.known)
      .toSorted((a, b) => a.sequences.length - b.sequences.length)
      .at(-1) ?? {
      filter: { by: "event_hash", eventHash: hash("") },
      sequences: [],
    };
    for (let after = -1; after <= life.known.leaves.length; after += 3) {
      const { anchors } = await reads.eventsBy(filter, after, 2);
      const expected = sequences.filter((sequence) => sequence > after).slice(0, 2);
      expect(anchors.map(({ sequence }) => sequence)).toEqual(expected);
    }
  });

  test("are not found under what is no claim and no grant", async () => {
    const none = { appliedIndex: life.harness.state.appliedIndex, anchors: [] };
    expect(await reads.eventsBy({ by: "iris_ref", sequence: 0 }, -1, 5)).toEqual(none);
    expect(await reads.eventsBy({ by: "grant_ref", sequence: 999_999 }, -1, 5)).toEqual(none);
  });
});

/** Two hashes with one key: found within some 80,000, as keys of event hashes have 32 bits. */
function sameKey(): readonly [Uint8Array, Uint8Array] {
  const seen = new Map<number, Uint8Array>();
  for (let at = 0; ; at++) {
    const candidate = hash(`candidate ${at}`);
    const key = eventKeyOf(candidate);
    const other = seen.get(key);
    if (other !== undefined) return [other, candidate];
    seen.set(key, candidate);
  }
}

async function smallLedger(
  inputs: readonly EventInput[],
  runSizes?: RunSizes,
): Promise<{ small: StoredLedgerHarness; reads: Reads; database: TestDatabase }> {
  const database = await migratedDatabase(server);
  const small = await StoredLedgerHarness.started(database.url, undefined, runSizes);
  for (let at = 0; at < inputs.length; at += 1000) await small.run([eventsCommand(inputs.slice(at, at + 1000))]);
  return { small, reads: await Reads.open({ url: database.readOnlyUrl }), database };
}

function repeated(label: string, count: number): EventInput[] {
  return Array.from({ length: count }, () => event(label));
}

describe("many events of one key", () => {
  test("a page has at most as many as any other page", async () => {
    const { small, reads } = await smallLedger([...repeated("same", PAGE_ROWS_MAX), event("same again")]);
    await small.run([eventsCommand(repeated("same", 10))]);
    const { eventHash } = event("same");
    const { anchors } = await reads.eventsBy({ by: "event_hash", eventHash }, -1, PAGE_ROWS_MAX + 5);
    expect(anchors).toHaveLength(PAGE_ROWS_MAX);
    await reads.close();
    await small.store.close();
  });

  test("are in several parts of a run, and none is missed", async () => {
    const runSizes = { short: 1024, long: 2048 };
    const inputs = Array.from({ length: 2500 }, (_, at) => (at % 7 === 3 ? event(`other ${at}`) : event("same")));
    const { small, reads, database } = await smallLedger(inputs, runSizes);
    const { nextSequence } = small.state;
    await runsWritten(database.url, nextSequence, runSizes);
    const parts = await sql(
      database.url,
      "SELECT count(*)::int AS n FROM state.lookup_runs WHERE index = 1 AND first = 0",
    );
    expect(parts).toEqual([{ n: 3 }]);
    const first = nextSequence - inputs.length;
    const expected = inputs.flatMap((_, at) => (at % 7 === 3 ? [] : [first + at]));
    const { eventHash } = event("same");
    for (const limit of [10, 999, 1000])
      expect(await pagesOf(reads, { by: "event_hash", eventHash }, limit)).toEqual(expected);
    await reads.close();
    await small.store.close();
  });

  test("with different hashes are told apart, and none is missed behind others", async () => {
    const [one, other] = sameKey();
    expect(eventKeyOf(one)).toBe(eventKeyOf(other));
    const inputs = Array.from({ length: 150 }, (_, at) => event("x", { eventHash: at % 10 === 9 ? other : one }));
    const { small, reads, database } = await smallLedger(inputs, SMALL_RUNS);
    await runsWritten(database.url, small.state.nextSequence, SMALL_RUNS);
    const first = small.state.nextSequence - inputs.length;
    const sequencesOf = (wanted: boolean): number[] =>
      inputs.flatMap((_, at) => ((at % 10 === 9) === wanted ? [first + at] : []));
    for (const limit of [1, 2, 3, 100]) {
      expect(await pagesOf(reads, { by: "event_hash", eventHash: other }, limit)).toEqual(sequencesOf(true));
      expect(await pagesOf(reads, { by: "event_hash", eventHash: one }, limit)).toEqual(sequencesOf(false));
    }
    await reads.close();
    await small.store.close();
  });
});

describe("while runs are written", () => {
  test("a list is that of its applied index", async () => {
    const database = await migratedDatabase(server);
    const reads = await Reads.open({ url: database.readOnlyUrl });
    const { eventHash } = event("same");
    const filter = { by: "event_hash", eventHash } as const;
    /** The list after each entry. */
    const lists = new Map<number, readonly number[]>();
    const harness = await StoredLedgerHarness.started(database.url, undefined, { short: 4, long: 8 });
    let sequences: readonly number[] = [];
    const writer = { isDone: false };
    const writing = (async () => {
      for (let entry = 0; entry < 150; entry++) {
        const first = harness.state.nextSequence;
        sequences = [...sequences, first];
        lists.set(harness.state.appliedIndex + 1, sequences);
        await harness.run([eventsCommand([event("same"), event(`other ${entry}`)])]);
      }
      writer.isDone = true;
    })();
    let looks = 0;
    while (!writer.isDone) {
      const { appliedIndex, anchors } = await reads.eventsBy(filter, -1, 1000);
      expect(anchors.map(({ sequence }) => sequence)).toEqual(lists.get(appliedIndex) ?? []);
      looks += 1;
    }
    await writing;
    expect(looks).toBeGreaterThan(20);
    await reads.close();
    await harness.store.close();
  });
});

describe("runs that end before their time", () => {
  const runSizes = SMALL_RUNS;

  /** Hashes whose list differs from the rows: after a crash nobody else knows what must be listed. */
  async function wrongLists(database: TestDatabase, reads: Reads): Promise<string[]> {
    const rows = await sql(
      database.url,
      `SELECT sequence::int AS sequence, substr(leaf, 116, 32) AS hash FROM state.anchors
        WHERE kind = 1 ORDER BY sequence`,
    );
    const lists = new Map<string, number[]>();
    for (const { sequence, hash: eventHash } of rows as { sequence: number; hash: Buffer }[]) {
      const key = eventHash.toString("hex");
      lists.set(key, [...(lists.get(key) ?? []), sequence]);
    }
    if (lists.size < 5) throw new Error("the crash has taken everything");
    const wrong: string[] = [];
    for (const [key, sequences] of lists) {
      const filter = { by: "event_hash", eventHash: Uint8Array.from(Buffer.from(key, "hex")) } as const;
      const listed = await pagesOf(reads, filter, 100);
      if (listed.join(" ") !== sequences.join(" ")) wrong.push(`${key}: ${listed.join(" ")}`);
    }
    return wrong;
  }

  test.each([0, 3])("a power cut leaves no list short (%i)", async (round) => {
    const own = await startTestPostgres();
    const database = await migratedDatabase(own);
    const harness = await StoredLedgerHarness.started(database.url, undefined, runSizes);
    const inputs = Array.from({ length: 60 }, (_, at) => event(`${at % 9}`));
    const record = (): Promise<unknown> => harness.run([eventsCommand(inputs)]);
    await record();
    await record();
    // Commits of the ledger are asynchronous: one that is not takes all before it to the disk.
    await sql(database.url, "CREATE TABLE public.flushed ()");
    for (let entry = 0; entry < 2 + round; entry++) await record();
    await own.kill();
    await harness.store.close();
    await own.start();
    const reads = await Reads.open({ url: database.readOnlyUrl });
    expect(await wrongLists(database, reads)).toEqual([]);
    const store = await LedgerStore.open({ url: database.url, runSizes });
    const { ledger } = await store.load();
    await runsWritten(database.url, ledger.nextSequence, runSizes);
    expect(await wrongLists(database, reads)).toEqual([]);
    await reads.close();
    await store.close();
    await own.close();
  });

  test("a long run that was not written before the end is written after the next start", async () => {
    const { small, reads, database } = await smallLedger(repeated("same", 140), { short: 8, long: 1024 });
    await runsWritten(database.url, small.state.nextSequence, { short: 8, long: 1024 });
    await small.store.close();
    expect((await storedRuns(database.url))[0]?.past).toBe(8);
    const store = await LedgerStore.open({ url: database.url, runSizes });
    await store.load();
    await runsWritten(database.url, small.state.nextSequence, runSizes);
    expect((await storedRuns(database.url))[0]?.past).toBe(128);
    expect(await listOfSame(reads)).toEqual(lastSequences(small, 140));
    await reads.close();
    await store.close();
  });

  async function listOfSame(reads: Reads): Promise<number[]> {
    return pagesOf(reads, { by: "event_hash", eventHash: event("same").eventHash }, 50);
  }

  function lastSequences({ state }: StoredLedgerHarness, count: number): number[] {
    return Array.from({ length: count }, (_, at) => state.nextSequence - count + at);
  }

  test("a missing run makes a list slower, not shorter", async () => {
    const { small, reads, database } = await smallLedger(repeated("same", 140), runSizes);
    await runsWritten(database.url, small.state.nextSequence, runSizes);
    await small.store.close();
    await sql(superuserUrl(server, database), "DELETE FROM state.lookup_runs WHERE first < 128");
    expect(await listOfSame(reads)).toEqual(lastSequences(small, 140));
    await reads.close();
  });

  test("no run is written over a leaf that is missing, nor in the place of a missing one", async () => {
    const database = await migratedDatabase(server);
    const { store, ...harness } = await losing(database, "DELETE FROM state.anchors WHERE sequence = 10");
    await harness.failed;
    expect((await storedRuns(database.url)).map(({ first }) => first)).toEqual([0]);
    await store.close();
    const other = await migratedDatabase(server);
    const { store: otherStore, ...rest } = await losing(other, "DELETE FROM state.lookup_runs WHERE first = 8", 100);
    await rest.failed;
    const runs = await storedRuns(other.url);
    expect(runs.map(({ first }) => first)).toEqual([0, ...Array.from({ length: 14 }, (_, at) => 16 + 8 * at)]);
    await otherStore.close();
  });

  /** Leaves, then damage, then enough leaves for the next run. */
  async function losing(
    database: TestDatabase,
    damage: string,
    before = 12,
  ): Promise<{ store: LedgerStore; failed: Promise<void> }> {
    const harness = await StoredLedgerHarness.started(database.url, undefined, runSizes);
    let failure: Error | null = null;
    harness.store.onLost((cause) => {
      failure = cause;
    });
    await harness.run([eventsCommand(repeated("same", before - harness.state.nextSequence))]);
    await runsWritten(database.url, before, runSizes);
    await sql(superuserUrl(server, database), damage);
    await harness.run([eventsCommand(repeated("same", 40))]);
    const failed = until("the store says that a run cannot be written", () => failure).then((cause) => {
      expect(cause).toMatchObject({ code: "corrupt" });
    });
    return { store: harness.store, failed };
  }
});
