import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { advance } from "@event-anchoring/ledger";
import type { EntryDecision } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, raftIdOf } from "@event-anchoring/protocol";
import type { ConfState } from "raft-ts";
import { LedgerStore, RaftLog, Reads, SNAPSHOT_CHUNK_BYTES, exportSnapshot, installSnapshot } from "../src/index.ts";
import type { InstalledSnapshot, SnapshotChecks, SnapshotExport, SnapshotManifest } from "../src/index.ts";
import { RecordDecoder, encodeRecord } from "../src/snapshot-format.ts";
import type { SnapshotRecord } from "../src/snapshot-format.ts";
import { CLUSTER_ID, SECOND_DOCUMENT, hash } from "./support/cluster.ts";
import { migratedDatabase, refusalOf, sql, startTestPostgres, superuserUrl, terminate } from "./support/database.ts";
import type { TestDatabase, TestPostgres } from "./support/database.ts";
import { StoredLedgerHarness, event, events, originAt, partsOf, reopened } from "./support/stored-ledger.ts";

const CONF_STATE: ConfState = {
  voters: [1n, 2n, 0xffff_ffff_ffff_fff0n],
  votersOutgoing: [],
  learners: [3n],
  learnersNext: [],
  autoLeave: false,
};

const ACCEPT_ALL: SnapshotChecks = { trustRoots: () => undefined, origin: () => undefined };

let server: TestPostgres;
let directory: string;
/** The sender: several tiles of level 0 complete, keys, two trust roots, certificates, uncovered leaves. */
let sender: TestDatabase;
let harness: StoredLedgerHarness;
let exported: SnapshotExport;
let chunks: Uint8Array[];

beforeAll(async () => {
  server = await startTestPostgres();
  directory = mkdtempSync(join(tmpdir(), "anchoring-spool-"));
  sender = await migratedDatabase(server);
  harness = await StoredLedgerHarness.started(sender.url);
  for (const count of [1000, 1000, 900]) {
    await harness.record(events(count, `a${harness.state.nextSequence}`));
    await harness.certify(originAt(0));
  }
  await harness.record(events(20, "c", originAt(2)));
  await harness.certify(originAt(2));
  await harness.run([{ kind: "trust_root", document: SECOND_DOCUMENT }]);
  await harness.record([event("uncovered", { clientEventId: "newest" }), event("without id")]);
  await harness.certify(originAt(1));
  const last = await harness.decide(harness.entry([]));
  await harness.store.apply({ decision: last, confState: CONF_STATE });
  advance(harness.state, last);
  exported = await exportSnapshot({ url: sender.url, directory });
  chunks = await chunksOf(exported);
});

afterAll(async () => {
  await exported.close();
  await harness.store.close();
  await server.close();
  rmSync(directory, { recursive: true });
});

async function chunksOf(snapshot: SnapshotExport): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for (let index = 0; index < snapshot.manifest.chunkHashes.length; index++) all.push(await snapshot.chunk(index));
  return all;
}

function sha256(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(createHash("sha256").update(bytes).digest());
}

function recordsOf(stream: readonly Uint8Array[]): SnapshotRecord[] {
  return new RecordDecoder().push(Buffer.concat(stream));
}

/** A stream of other records with a manifest that fits it: what a lying sender can do. */
function forge(records: readonly SnapshotRecord[]): { manifest: SnapshotManifest; chunks: Uint8Array[] } {
  const stream = Buffer.concat(records.map(encodeRecord));
  const forged: Uint8Array[] = [];
  for (let offset = 0; offset < stream.length; offset += SNAPSHOT_CHUNK_BYTES) {
    forged.push(stream.subarray(offset, offset + SNAPSHOT_CHUNK_BYTES));
  }
  const manifest = {
    ...exported.manifest,
    totalBytes: stream.length,
    chunkHashes: forged.map(sha256),
    wholeHash: sha256(stream),
  };
  return { manifest, chunks: forged };
}

async function install(
  url: string,
  snapshot: { manifest: SnapshotManifest; chunks: readonly Uint8Array[] } = { manifest: exported.manifest, chunks },
  checks: SnapshotChecks = ACCEPT_ALL,
): Promise<InstalledSnapshot> {
  return installSnapshot({ url, ...snapshot, checks });
}

describe("a round trip", () => {
  test("gives the receiver the state, the log's beginning and the membership of the sender", async () => {
    const receiver = await migratedDatabase(server);
    const point = { index: harness.state.appliedIndex, term: harness.state.appliedTerm };
    expect(await install(receiver.url)).toEqual({ point, confState: CONF_STATE });
    const { store, ledger } = await reopened(receiver.url);
    expect(ledger).toEqual(partsOf(harness.state));
    expect((await store.load()).confState).toEqual(CONF_STATE);
    await store.close();
    const log = await RaftLog.open({ url: receiver.url });
    expect(await log.load()).toMatchObject({
      hardState: { term: point.term, vote: 0n, commit: point.index },
      compacted: point,
      entries: [],
      commitHint: point.index,
    });
    await log.close();
  });

  test("rebuilds every table to what the sender has", async () => {
    const receiver = await migratedDatabase(server);
    await install(receiver.url);
    for (const table of ["anchors", "tiles", "certificates", "origins", "trust_root_positions"]) {
      const rows = `SELECT (to_jsonb(t) - 'origin') AS row, o.origin_fingerprint FROM state.${table} t
        JOIN state.origins o ON o.origin = t.origin ORDER BY 2, 1`;
      expect(await sql(superuserUrl(server, receiver), rows)).toEqual(await sql(superuserUrl(server, sender), rows));
    }
    for (const table of ["trust_roots", "api_keys", "group_ids", "ledger"]) {
      const rows = `SELECT to_jsonb(t) AS row FROM state.${table} t ORDER BY 1`;
      expect(await sql(superuserUrl(server, receiver), rows)).toEqual(await sql(superuserUrl(server, sender), rows));
    }
  });

  test("the receiver goes on as the sender does, and knows its client event ids", async () => {
    const receiver = await migratedDatabase(server);
    await install(receiver.url);
    const { store, state } = await reopened(receiver.url);
    const follower = new StoredLedgerHarness(store, state);
    follower.clockMs = harness.clockMs;
    const inputs = [event("uncovered", { clientEventId: "newest" }), event("new"), ...events(300, "more")];
    const entry = follower.entry([
      { kind: "record_events", credential: harness.credential, atomic: false, events: inputs },
    ]);
    const decision = await follower.decide(entry);
    expect(decision.effect).toEqual((await harness.decide(entry)).effect);
    expect(statusesOf(decision).slice(0, 3)).toEqual(["replayed", "accepted", "accepted"]);
    await store.apply({ decision, confState: null });
    await store.close();
  });

  test("replaces an older state and its log, and readers see the one or the other", async () => {
    const receiver = await migratedDatabase(server);
    const old = await StoredLedgerHarness.started(receiver.url);
    await old.record(events(5, "old"));
    await old.store.close();
    const log = await RaftLog.open({ url: receiver.url });
    await log.load();
    const payload = new Uint8Array(3);
    await log.append({
      entries: [1, 2, 3].map((index) => ({ index, term: 9, type: "normal", payload })),
      hardState: { term: 9, vote: 5n, commit: 3 },
      commit: 3,
    });
    await log.close();
    const reads = await Reads.open({ url: receiver.readOnlyUrl });
    const seen: number[] = [];
    const checks = {
      trustRoots: () => undefined,
      origin: async () => {
        seen.push(
          (await reads.position()).sequence,
          (await reads.anchorsOfOrigin(originAt(0), 0, 9, "ascending")).anchors.length,
        );
      },
    };
    await install(receiver.url, undefined, checks);
    expect(seen).toEqual([7, 6, 7, 6, 7, 6]);
    expect((await reads.position()).sequence).toBe(harness.state.nextSequence - 1);
    await reads.close();
    const after = await RaftLog.open({ url: receiver.url });
    expect(await after.load()).toMatchObject({
      hardState: { term: 9, vote: 5n },
      compacted: { index: harness.state.appliedIndex },
      entries: [],
    });
    await after.close();
  });

  test("without any conf change, the members are those of trust root version 1", async () => {
    const bare = await migratedDatabase(server);
    const ledger = await StoredLedgerHarness.started(bare.url);
    await ledger.store.close();
    const snapshot = await exportSnapshot({ url: bare.url, directory });
    const receiver = await migratedDatabase(server);
    const { manifest } = snapshot;
    const { confState } = await install(receiver.url, { manifest, chunks: await chunksOf(snapshot) });
    const voters = ["a", "b", "c"].map((nodeId) => raftIdOf(CLUSTER_ID, nodeId, nodeCrypto.sha256));
    expect(new Set(confState.voters)).toEqual(new Set(voters));
    await snapshot.close();
  });

  test("the checks get the chain once, and every origin with its roots", async () => {
    const receiver = await migratedDatabase(server);
    const chains: number[] = [];
    const roots: string[] = [];
    await install(receiver.url, undefined, {
      trustRoots: (chain) => {
        chains.push(chain?.versions.length ?? 0);
      },
      origin: async ({ originFingerprint, treeSize, rootHash, rootAt }) => {
        expect(await rootAt(treeSize)).toEqual(rootHash);
        expect(await rootAt(1)).toEqual(await harness.store.rootAt(originFingerprint, 1));
        expect(await refusalOf(rootAt(treeSize + 1))).toBe("out_of_order");
        roots.push(bytesToHex(rootHash));
      },
    });
    expect(chains).toEqual([2]);
    expect(new Set(roots)).toEqual(
      new Set([...harness.state.origins.values()].map(({ tree }) => bytesToHex(tree.rootAt(tree.size)))),
    );
  });
});

describe("an export", () => {
  test("is one state, whatever is applied meanwhile, and leaves no file", async () => {
    const own = await migratedDatabase(server);
    const ledger = await StoredLedgerHarness.started(own.url);
    await ledger.record(events(3000, "many").slice(0, 1000));
    const exporting = exportSnapshot({ url: own.url, directory });
    for (let count = 0; count < 20; count++) await ledger.record([event(`meanwhile ${count}`)]);
    const snapshot = await exporting;
    expect(readdirSync(directory)).toEqual([]);
    const receiver = await migratedDatabase(server);
    const { point } = await install(receiver.url, { manifest: snapshot.manifest, chunks: await chunksOf(snapshot) });
    expect(point.index).toBe(snapshot.manifest.raftIndex);
    await snapshot.close();
    await ledger.store.close();
  });

  test("gives any chunk again, and none that is not there", async () => {
    expect(sha256(await exported.chunk(0))).toEqual(exported.manifest.chunkHashes[0]);
    expect(chunks.length).toBeGreaterThan(1);
    expect(chunks.map(({ length }) => length).slice(0, -1)).toEqual(
      chunks.slice(0, -1).map(() => SNAPSHOT_CHUNK_BYTES),
    );
    await expect(exported.chunk(chunks.length)).rejects.toThrow(RangeError);
    await expect(exported.chunk(-1)).rejects.toThrow(RangeError);
  });

  test("of a ledger with a missing leaf is refused", async () => {
    const own = await migratedDatabase(server);
    const ledger = await StoredLedgerHarness.started(own.url);
    await ledger.record(events(5, "own"));
    await ledger.store.close();
    await sql(superuserUrl(server, own), "DELETE FROM state.anchors WHERE sequence = 4");
    expect(await refusalOf(exportSnapshot({ url: own.url, directory }))).toBe("corrupt");
  });
});

type Change = (records: SnapshotRecord[]) => SnapshotRecord[];

function changeFirst<T extends SnapshotRecord["type"]>(
  type: T,
  change: (record: Extract<SnapshotRecord, { type: T }>) => SnapshotRecord | null,
  isMeant: (record: Extract<SnapshotRecord, { type: T }>) => boolean = () => true,
): Change {
  return (records) => {
    const at = records.findIndex(
      (record) => record.type === type && isMeant(record as Extract<SnapshotRecord, { type: T }>),
    );
    const changed = change(records[at] as Extract<SnapshotRecord, { type: T }>);
    return [...records.slice(0, at), ...(changed === null ? [] : [changed]), ...records.slice(at + 1)];
  };
}

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.map((byte, position) => (position === at ? byte ^ 1 : byte));
}

function lastOf(records: readonly SnapshotRecord[], type: SnapshotRecord["type"]): number {
  return records.findLastIndex((record) => record.type === type);
}

describe("a lying sender is refused, and nothing is changed", () => {
  const lies: [string, Change][] = [
    ["a changed leaf", changeFirst("leaf", (leaf) => ({ ...leaf, bytes: flipped(leaf.bytes, 300) }), withClientEvent)],
    ["a leaf cut short", changeFirst("leaf", (leaf) => ({ ...leaf, bytes: leaf.bytes.slice(1) }))],
    ["a leaf left out", changeFirst("leaf", () => null, withClientEvent)],
    ["two leaves swapped", (records) => swapped(records, 20, 21)],
    ["the last leaf left out", (records) => records.filter((_, at) => at !== lastOf(records, "leaf"))],
    ["a client event id left out", changeFirst("leaf", (leaf) => ({ ...leaf, clientEvent: null }), withClientEvent)],
    [
      "another client event id",
      changeFirst(
        "leaf",
        (leaf) => ({ ...leaf, clientEvent: leaf.clientEvent && { ...leaf.clientEvent, clientEventId: "x" } }),
        withClientEvent,
      ),
    ],
    [
      "another salt",
      changeFirst(
        "leaf",
        (leaf) => ({ ...leaf, clientEvent: leaf.clientEvent && { ...leaf.clientEvent, salt: hash("x") } }),
        withClientEvent,
      ),
    ],
    ["a certificate over another root", changeFirst("certificate", (one) => ({ ...one, rootHash: hash("x") }))],
    ["a certificate of another trust root", changeFirst("certificate", (one) => ({ ...one, trustRootVersion: 2 }))],
    ["a certificate twice", (records) => doubled(records, lastOf(records, "certificate"))],
    [
      "a newest certificate without a quorum",
      (records) =>
        changedAt(records, lastOf(records, "certificate"), (one) => ({
          ...one,
          cosignatures: one.cosignatures.slice(1),
        })),
    ],
    [
      "a newest certificate with one cosignature twice",
      (records) =>
        changedAt(records, lastOf(records, "certificate"), (one) => ({
          ...one,
          cosignatures: one.cosignatures.slice(0, 1).flatMap((cosignature) => [cosignature, cosignature]),
        })),
    ],
    [
      "a newest certificate with a bad signature",
      (records) =>
        changedAt(records, lastOf(records, "certificate"), (one) => ({
          ...one,
          cosignatures: one.cosignatures.map((cosignature) => ({
            ...cosignature,
            signature: flipped(cosignature.signature, 40),
          })),
        })),
    ],
    [
      "a newest certificate of another time",
      (records) =>
        changedAt(records, lastOf(records, "certificate"), (one) => ({ ...one, certifiedAtS: one.certifiedAtS - 1 })),
    ],
    ["a trust root left out", (records) => records.filter((_, at) => at !== lastOf(records, "trust_root"))],
    ["the first trust root left out", changeFirst("trust_root", () => null)],
    [
      "a changed trust root",
      changeFirst("trust_root", (one) => ({ ...one, document: one.document.replace("1700000001", "1700000009") })),
    ],
    ["trust roots swapped", (records) => swapped(records, 1, 2)],
    [
      "an API key under another name",
      changeFirst("api_key", (one) => ({ ...one, apiKey: { ...one.apiKey, keyId: hash("x").slice(0, 16) } })),
    ],
    [
      "group ids backwards",
      (records) => swapped(records, firstOf(records, "group_ids"), firstOf(records, "group_ids") + 1),
    ],
    ["a header of another entry", changeFirst("header", (header) => ({ ...header, raftIndex: header.raftIndex + 1 }))],
    ["a header of another effect", changeFirst("header", (header) => ({ ...header, effect: hash("x") }))],
    [
      "a header of more leaves",
      changeFirst("header", (header) => ({ ...header, nextSequence: header.nextSequence + 1 })),
    ],
    ["a header of another time", changeFirst("header", (header) => ({ ...header, lastAcceptedMs: 1 }))],
    ["no header", (records) => records.slice(1)],
    ["two headers", (records) => doubled(records, 0)],
    ["no end", (records) => records.slice(0, -1)],
    ["something after the end", (records) => doubled(records, records.length - 1)],
    ["nothing but a header and an end", (records) => [...records.slice(0, 1), ...records.slice(-1)]],
    ["nothing at all", () => []],
  ];

  test.each(lies)("%s", async (_, change) => {
    const receiver = await migratedDatabase(server);
    const before = await dump(receiver);
    expect(await refusalOf(install(receiver.url, forge(change(recordsOf(chunks)))))).toBe("snapshot_refused");
    expect(await dump(receiver)).toEqual(before);
  });

  const badChunks: [string, () => Uint8Array[], Partial<SnapshotManifest>][] = [
    ["a flipped bit in a chunk", () => [flipped(chunks[0] ?? new Uint8Array(1), 77), ...chunks.slice(1)], {}],
    ["a chunk missing at the end", () => chunks.slice(0, -1), {}],
    ["chunks swapped", () => chunks.toReversed(), {}],
    ["a chunk too many", () => [...chunks, new Uint8Array(1)], {}],
    ["another whole hash", () => chunks, { wholeHash: hash("x") }],
    ["another total", () => chunks, { totalBytes: 5 }],
    ["an entry that is applied already", () => chunks, { raftIndex: 0 }],
    ["an entry of another term", () => chunks, { raftTerm: 99 }],
  ];
  test.each(badChunks)("%s", async (_, bad, change) => {
    const receiver = await migratedDatabase(server);
    const manifest = { ...exported.manifest, ...change };
    expect(await refusalOf(install(receiver.url, { manifest, chunks: bad() }))).toBe("snapshot_refused");
  });

  test("bytes that are no records", async () => {
    const receiver = await migratedDatabase(server);
    for (const [kind, length] of [
      [9, 0],
      [4, 0xffff_ffff],
      [4, 3],
      [255, 1],
    ] as const) {
      const stream = Buffer.concat([encodeRecord(headerOf(chunks)), frame(kind, length), Buffer.alloc(3)]);
      const manifest = {
        ...exported.manifest,
        totalBytes: stream.length,
        chunkHashes: [sha256(stream)],
        wholeHash: sha256(stream),
      };
      expect(await refusalOf(install(receiver.url, { manifest, chunks: [stream] }))).toBe("snapshot_refused");
    }
  });
});

describe("what stops an installation", () => {
  test("a check that throws: the caller gets that error", async () => {
    const receiver = await migratedDatabase(server);
    const before = await dump(receiver);
    const fenced = new Error("a smaller tree than we have signed");
    const refusing = { ...ACCEPT_ALL, origin: () => Promise.reject(fenced) };
    await expect(install(receiver.url, undefined, refusing)).rejects.toBe(fenced);
    const foreign = new Error("another cluster");
    const refusingChain = {
      ...ACCEPT_ALL,
      trustRoots: () => {
        throw foreign;
      },
    };
    await expect(install(receiver.url, undefined, refusingChain)).rejects.toBe(foreign);
    expect(await dump(receiver)).toEqual(before);
  });

  test("a stream that breaks off, and a session that is lost", async () => {
    const receiver = await migratedDatabase(server);
    const before = await dump(receiver);
    const broken = new Error("the peer went away");
    async function* breaking(): AsyncGenerator<Uint8Array> {
      yield* chunks.slice(0, 1);
      throw broken;
    }
    const options = { url: receiver.url, manifest: exported.manifest, checks: ACCEPT_ALL };
    await expect(installSnapshot({ ...options, chunks: breaking() })).rejects.toBe(broken);
    async function* losing(): AsyncGenerator<Uint8Array> {
      yield* chunks.slice(0, 1);
      await terminate(server, "event-anchoring snapshot install");
      yield* chunks.slice(1);
    }
    expect(await refusalOf(installSnapshot({ ...options, chunks: losing() }))).toBe("unavailable");
    expect(await dump(receiver)).toEqual(before);
    expect((await install(receiver.url)).point.index).toBe(exported.manifest.raftIndex);
  });

  test("a ledger or a log that is still open", async () => {
    const receiver = await migratedDatabase(server);
    const options = { url: receiver.url, manifest: exported.manifest, chunks, checks: ACCEPT_ALL, lockTimeoutMs: 100 };
    const store = await LedgerStore.open({ url: receiver.url });
    expect(await refusalOf(installSnapshot(options))).toBe("locked");
    await store.close();
    const log = await RaftLog.open({ url: receiver.url });
    expect(await refusalOf(installSnapshot(options))).toBe("locked");
    await log.close();
  });
});

function statusesOf(decision: EntryDecision): string[] {
  return decision.outcomes.flatMap((group) =>
    group.status === "decided"
      ? group.commands.flatMap((command) =>
          command.kind === "events" ? command.events.map(({ status }) => status) : [],
        )
      : [],
  );
}

function withClientEvent(leaf: { clientEvent: unknown }): boolean {
  return leaf.clientEvent !== null;
}

function firstOf(records: readonly SnapshotRecord[], type: SnapshotRecord["type"]): number {
  return records.findIndex((record) => record.type === type);
}

function swapped(records: readonly SnapshotRecord[], one: number, other: number): SnapshotRecord[] {
  return records.map((record, at) => (at === one ? records[other] : at === other ? records[one] : record) ?? record);
}

function doubled(records: readonly SnapshotRecord[], at: number): SnapshotRecord[] {
  return records.flatMap((record, position) => (position === at ? [record, record] : [record]));
}

type CertificateRecord = Extract<SnapshotRecord, { type: "certificate" }>;

function changedAt(
  records: readonly SnapshotRecord[],
  at: number,
  change: (record: CertificateRecord) => SnapshotRecord,
): SnapshotRecord[] {
  return records.map((record, position) =>
    position === at && record.type === "certificate" ? change(record) : record,
  );
}

function headerOf(stream: readonly Uint8Array[]): SnapshotRecord {
  const [header] = recordsOf(stream);
  if (header === undefined) throw new Error("a snapshot has a header");
  return header;
}

function frame(kind: number, length: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt8(kind);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

/** Everything that an installation may change. */
async function dump(database: TestDatabase): Promise<unknown> {
  const tables = [
    "state.ledger",
    "state.anchors",
    "state.origins",
    "node.raft_log",
    "node.raft_compaction",
    "node.raft_state",
  ];
  const dumps: unknown[] = [];
  for (const table of tables) dumps.push(await sql(superuserUrl(server, database), `SELECT * FROM ${table}`));
  return dumps;
}
