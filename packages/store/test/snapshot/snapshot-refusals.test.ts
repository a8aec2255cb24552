import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { LedgerStore, RaftLog, installSnapshot } from "../../src/index.ts";
import type { SnapshotManifest } from "../../src/index.ts";
import { encodeRecords } from "../../src/snapshot/snapshot-format.ts";
import type { SnapshotRecord } from "../../src/snapshot/snapshot-format.ts";
import { hash } from "../support/cluster.ts";
import { migratedDatabase, refusalOf, sql, superuserUrl, terminate } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { ACCEPT_ALL, forge, recordsOf, sha256, startSender } from "../support/snapshots.ts";
import type { Sender } from "../support/snapshots.ts";

let sender: Sender;

beforeAll(async () => {
  sender = await startSender();
});

afterAll(() => sender.close());

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
    [
      "somebody who recorded an event",
      changeFirst("leaf", (leaf) => ({ ...leaf, clientEvent: null, recordedBy: hash("x").slice(16) }), withClientEvent),
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
    const receiver = await migratedDatabase(sender.server);
    const before = await dump(receiver);
    expect(
      await refusalOf(sender.install(receiver.url, forge(sender.exported.manifest, change(recordsOf(sender.chunks))))),
    ).toBe("snapshot_refused");
    expect(await dump(receiver)).toEqual(before);
  });

  const badChunks: [string, () => readonly Uint8Array[], Partial<SnapshotManifest>][] = [
    [
      "a flipped bit in a chunk",
      () => [flipped(sender.chunks[0] ?? new Uint8Array(1), 77), ...sender.chunks.slice(1)],
      {},
    ],
    ["a chunk missing at the end", () => sender.chunks.slice(0, -1), {}],
    ["chunks swapped", () => sender.chunks.toReversed(), {}],
    ["a chunk too many", () => [...sender.chunks, new Uint8Array(1)], {}],
    ["another whole hash", () => sender.chunks, { wholeHash: hash("x") }],
    ["another total", () => sender.chunks, { totalBytes: 5 }],
    ["an entry that is applied already", () => sender.chunks, { raftIndex: 0 }],
    ["an entry of another term", () => sender.chunks, { raftTerm: 99 }],
  ];
  test.each(badChunks)("%s", async (_, bad, change) => {
    const receiver = await migratedDatabase(sender.server);
    const manifest = { ...sender.exported.manifest, ...change };
    expect(await refusalOf(sender.install(receiver.url, { manifest, chunks: bad() }))).toBe("snapshot_refused");
  });

  test("bytes that are no records", async () => {
    const receiver = await migratedDatabase(sender.server);
    for (const [kind, length] of [
      [9, 0],
      [4, 0xffff_ffff],
      [4, 3],
      [255, 1],
    ] as const) {
      const stream = Buffer.concat([encodeRecords([headerOf(sender.chunks)]), frame(kind, length), Buffer.alloc(3)]);
      const manifest = {
        ...sender.exported.manifest,
        totalBytes: stream.length,
        chunkHashes: [sha256(stream)],
        wholeHash: sha256(stream),
      };
      expect(await refusalOf(sender.install(receiver.url, { manifest, chunks: [stream] }))).toBe("snapshot_refused");
    }
  });
});

describe("what stops an installation", () => {
  test("a check that throws: the caller gets that error", async () => {
    const receiver = await migratedDatabase(sender.server);
    const before = await dump(receiver);
    const fenced = new Error("a smaller tree than we have signed");
    const refusing = { ...ACCEPT_ALL, origin: () => Promise.reject(fenced) };
    await expect(sender.install(receiver.url, undefined, refusing)).rejects.toBe(fenced);
    const foreign = new Error("another cluster");
    const refusingChain = {
      ...ACCEPT_ALL,
      trustRoots: () => {
        throw foreign;
      },
    };
    await expect(sender.install(receiver.url, undefined, refusingChain)).rejects.toBe(foreign);
    expect(await dump(receiver)).toEqual(before);
  });

  test("a stream that breaks off, and a session that is lost", async () => {
    const receiver = await migratedDatabase(sender.server);
    const before = await dump(receiver);
    const broken = new Error("the peer went away");
    async function* breaking(): AsyncGenerator<Uint8Array> {
      yield* sender.chunks.slice(0, 1);
      throw broken;
    }
    const options = { url: receiver.url, manifest: sender.exported.manifest, checks: ACCEPT_ALL };
    await expect(installSnapshot({ signers: "unsigned", ...options, chunks: breaking() })).rejects.toBe(broken);
    async function* losing(): AsyncGenerator<Uint8Array> {
      yield* sender.chunks.slice(0, 1);
      await terminate(sender.server, "event-anchoring snapshot install");
      yield* sender.chunks.slice(1);
    }
    expect(await refusalOf(installSnapshot({ signers: "unsigned", ...options, chunks: losing() }))).toBe("unavailable");
    expect(await dump(receiver)).toEqual(before);
    expect((await sender.install(receiver.url)).point.index).toBe(sender.exported.manifest.raftIndex);
  });

  test("a ledger or a log that is still open", async () => {
    const receiver = await migratedDatabase(sender.server);
    const { exported, chunks } = sender;
    const { manifest } = exported;
    const signers = "unsigned" as const;
    const options = { url: receiver.url, manifest, chunks, checks: ACCEPT_ALL, signers, lockTimeoutMs: 100 };
    const store = await LedgerStore.open({ url: receiver.url });
    expect(await refusalOf(installSnapshot(options))).toBe("locked");
    await store.close();
    const log = await RaftLog.open({ url: receiver.url });
    expect(await refusalOf(installSnapshot(options))).toBe("locked");
    await log.close();
  });
});

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
  for (const table of tables) dumps.push(await sql(superuserUrl(sender.server, database), `SELECT * FROM ${table}`));
  return dumps;
}
