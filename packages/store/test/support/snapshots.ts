/** A node with something to send, and what its snapshot looks like from inside. */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { advance } from "@event-anchoring/ledger";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import type { ConfState } from "raft-ts";
import { SNAPSHOT_CHUNK_BYTES, exportSnapshot, installSnapshot } from "../../src/index.ts";
import type { InstalledSnapshot, SnapshotChecks, SnapshotExport, SnapshotManifest } from "../../src/index.ts";
import { RecordDecoder, encodeRecords } from "../../src/snapshot/snapshot-format.ts";
import type { SnapshotRecord } from "../../src/snapshot/snapshot-format.ts";
import { SECOND_DOCUMENT } from "./cluster.ts";
import { migratedDatabase, startTestPostgres } from "./database.ts";
import type { TestDatabase, TestPostgres } from "./database.ts";
import { StoredLedgerHarness, event, events, originAt } from "./stored-ledger.ts";

export const CONF_STATE: ConfState = {
  voters: [1n, 2n, 0xffff_ffff_ffff_fff0n],
  votersOutgoing: [],
  learners: [3n],
  learnersNext: [],
  autoLeave: false,
};

export const ACCEPT_ALL: SnapshotChecks = { trustRoots: () => undefined, origin: () => undefined };

/** A snapshot as an installation takes it. */
export interface Stream {
  readonly manifest: SnapshotManifest;
  readonly chunks: readonly Uint8Array[];
}

/** Several tiles of level 0 complete, keys, two trust roots, certificates, uncovered leaves. */
export interface Sender {
  readonly server: TestPostgres;
  /** Where exports spool. */
  readonly directory: string;
  readonly database: TestDatabase;
  readonly harness: StoredLedgerHarness;
  readonly exported: SnapshotExport;
  readonly chunks: readonly Uint8Array[];
  /** Installs what the sender exported, or the stream that is given, in another database. */
  install(url: string, stream?: Stream, checks?: SnapshotChecks): Promise<InstalledSnapshot>;
  close(): Promise<void>;
}

export async function startSender(): Promise<Sender> {
  const server = await startTestPostgres();
  const directory = mkdtempSync(join(tmpdir(), "anchoring-spool-"));
  const database = await migratedDatabase(server);
  const harness = await StoredLedgerHarness.started(database.url);
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
  const exported = await exportSnapshot({ url: database.url, directory, point: null });
  const own: Stream = { manifest: exported.manifest, chunks: await chunksOf(exported) };
  return {
    server,
    directory,
    database,
    harness,
    exported,
    chunks: own.chunks,
    install: (url, stream = own, checks = ACCEPT_ALL) =>
      installSnapshot({ signers: "unsigned", url, ...stream, checks, ruleTable: NEXT_RULES }),
    close: async () => {
      await exported.close();
      await harness.store.close();
      await server.close();
      rmSync(directory, { recursive: true });
    },
  };
}

export async function chunksOf(snapshot: SnapshotExport): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for (let index = 0; index < snapshot.manifest.chunkHashes.length; index++) all.push(await snapshot.chunk(index));
  return all;
}

export function sha256(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(createHash("sha256").update(bytes).digest());
}

export function recordsOf(stream: readonly Uint8Array[]): SnapshotRecord[] {
  return new RecordDecoder().push(Buffer.concat(stream));
}

/** A stream of other records with a manifest that fits it: what a lying sender can do. */
export function forge(manifest: SnapshotManifest, records: readonly SnapshotRecord[]): Stream {
  const stream = encodeRecords(records);
  const chunks: Uint8Array[] = [];
  for (let offset = 0; offset < stream.length; offset += SNAPSHOT_CHUNK_BYTES) {
    chunks.push(stream.subarray(offset, offset + SNAPSHOT_CHUNK_BYTES));
  }
  const fitting = {
    ...manifest,
    totalBytes: stream.length,
    chunkHashes: chunks.map(sha256),
    wholeHash: sha256(stream),
  };
  return { manifest: fitting, chunks };
}
