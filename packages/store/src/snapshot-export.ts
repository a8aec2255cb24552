import { createHash, randomBytes } from "node:crypto";
import { open, unlink } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { Connection } from "./connection.ts";
import type { Reader } from "./connection.ts";
import { StoreError } from "./errors.ts";
import { INDEXED_PLANS } from "./indexed-plans.ts";
import { decodeCosignatures } from "./ledger-codec.ts";
import { loadLedgerRow, toApiKey } from "./ledger-load.ts";
import type { ApiKeyRow } from "./ledger-load.ts";
import type { LedgerRow } from "./ledger-codec.ts";
import { assertMigrated } from "./migrate.ts";
import { decodeConfState } from "./raft-codec.ts";
import { toClientEvent } from "./read-rows.ts";
import { SNAPSHOT_CHUNK_BYTES, encodeRecord } from "./snapshot-format.ts";
import type { SnapshotClientEvent, SnapshotManifest, SnapshotRecord } from "./snapshot-format.ts";

export interface ExportSnapshotOptions {
  readonly url: string;
  /** Where the spool file is made. It needs as much space as the leaves, and vanishes when this process ends. */
  readonly directory: string;
}

/** Leaves, or rows of group ids, read by one statement. */
const ROWS_PER_READ = 2_000;

const LEAVES = {
  name: "export_leaves",
  text: `SELECT a.sequence, a.leaf, a.api_client_id, a.client_event_id, a.salt,
      CASE WHEN a.client_event_id IS NULL THEN int8send(a.client_prefix) END AS erased_prefix,
      c.root_hash, c.certified_at_s, c.trust_root_version, c.cosignatures
    FROM state.anchors a LEFT JOIN state.certificates c ON c.origin = a.origin AND c.tree_size = a.depth + 1
    WHERE a.sequence >= $1 AND a.sequence < $2 ORDER BY a.sequence`,
};

const GROUP_IDS = {
  name: "export_group_ids",
  text: `SELECT index, groups FROM state.group_ids WHERE index >= $1 ORDER BY index LIMIT ${ROWS_PER_READ}`,
};

interface LeafRow {
  readonly sequence: number;
  readonly leaf: Uint8Array;
  readonly api_client_id: Uint8Array | null;
  readonly client_event_id: string | null;
  readonly salt: Uint8Array | null;
  readonly erased_prefix: Uint8Array | null;
  readonly root_hash: Uint8Array | null;
  readonly certified_at_s: number;
  readonly trust_root_version: number;
  readonly cosignatures: Uint8Array;
}

/** Cuts the stream into chunks, hashes them and writes them to the spool file. */
class ChunkWriter {
  readonly #file: FileHandle;
  readonly #whole = createHash("sha256");
  readonly #hashes: Uint8Array[] = [];
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #totalBytes = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async add(records: readonly SnapshotRecord[]): Promise<void> {
    for (const record of records) {
      const bytes = encodeRecord(record);
      this.#pending.push(bytes);
      this.#pendingBytes += bytes.length;
    }
    if (this.#pendingBytes < SNAPSHOT_CHUNK_BYTES) return;
    const joined = Buffer.concat(this.#pending);
    let offset = 0;
    for (; joined.length - offset >= SNAPSHOT_CHUNK_BYTES; offset += SNAPSHOT_CHUNK_BYTES) {
      await this.#write(joined.subarray(offset, offset + SNAPSHOT_CHUNK_BYTES));
    }
    this.#pending = [joined.subarray(offset)];
    this.#pendingBytes = joined.length - offset;
  }

  async #write(chunk: Uint8Array): Promise<void> {
    this.#hashes.push(createHash("sha256").update(chunk).digest());
    this.#whole.update(chunk);
    await this.#file.write(chunk, 0, chunk.length, this.#totalBytes);
    this.#totalBytes += chunk.length;
  }

  async finish(row: LedgerRow): Promise<SnapshotManifest> {
    if (this.#pendingBytes > 0) await this.#write(Buffer.concat(this.#pending));
    return {
      snapshotId: Uint8Array.from(randomBytes(16)),
      raftIndex: row.appliedIndex,
      raftTerm: row.appliedTerm,
      effect: row.effect,
      chunkBytes: SNAPSHOT_CHUNK_BYTES,
      totalBytes: this.#totalBytes,
      chunkHashes: this.#hashes,
      wholeHash: this.#whole.digest(),
    };
  }
}

function clientEventOf(row: LeafRow): SnapshotClientEvent | null {
  const event = toClientEvent(row);
  if (event === null) return null;
  const { apiClientId, clientEventId, salt } = event;
  if (clientEventId !== null && salt !== null) return { isErased: false, apiClientId, clientEventId, salt };
  if (row.erased_prefix === null) throw new StoreError("corrupt", `anchor ${row.sequence} has half a client event id`);
  return { isErased: true, apiClientId, prefix: row.erased_prefix };
}

function leafRecords(row: LeafRow): SnapshotRecord[] {
  const leaf: SnapshotRecord = { type: "leaf", bytes: row.leaf, clientEvent: clientEventOf(row) };
  if (row.root_hash === null) return [leaf];
  const certificate: SnapshotRecord = {
    type: "certificate",
    rootHash: row.root_hash,
    certifiedAtS: row.certified_at_s,
    trustRootVersion: row.trust_root_version,
    cosignatures: decodeCosignatures(row.cosignatures),
  };
  return [leaf, certificate];
}

async function writeTables(session: Reader, writer: ChunkWriter, row: LedgerRow): Promise<void> {
  const trustRoots = await session.read<{ document: string }>({
    text: "SELECT document FROM state.trust_roots ORDER BY version",
  });
  await writer.add(trustRoots.map(({ document }) => ({ type: "trust_root", document })));
  const keys = await session.read<ApiKeyRow>({ text: "SELECT * FROM state.api_keys ORDER BY key_id" });
  await writer.add(keys.map((key) => ({ type: "api_key", apiKey: toApiKey(key) })));
  for (let from = row.groupIdsFrom; ;) {
    const rows = await session.read<{ index: number; groups: Uint8Array }>(GROUP_IDS, [from]);
    await writer.add(rows.map(({ index, groups }) => ({ type: "group_ids", index, groups })));
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_READ) return;
    from = last.index + 1;
  }
}

async function writeLeaves(session: Reader, writer: ChunkWriter, nextSequence: number): Promise<void> {
  for (let from = 0; from < nextSequence; from += ROWS_PER_READ) {
    const rows = await session.read<LeafRow>(LEAVES, [from, from + ROWS_PER_READ]);
    const expected = Math.min(ROWS_PER_READ, nextSequence - from);
    if (rows.length !== expected) {
      throw new StoreError("corrupt", `${expected - rows.length} anchors after sequence ${from} are missing`);
    }
    await writer.add(rows.flatMap(leafRecords));
  }
}

async function writeStream(session: Reader, file: FileHandle): Promise<SnapshotManifest> {
  const row = await loadLedgerRow(session);
  const writer = new ChunkWriter(file);
  await writer.add([
    {
      type: "header",
      raftIndex: row.appliedIndex,
      raftTerm: row.appliedTerm,
      effect: row.effect,
      nextSequence: row.nextSequence,
      lastAcceptedMs: row.lastAcceptedMs,
      groupIdsFrom: row.groupIdsFrom,
      confState: row.confState === null ? null : decodeConfState(row.confState),
    },
  ]);
  await writeTables(session, writer, row);
  await writeLeaves(session, writer, row.nextSequence);
  await writer.add([{ type: "end" }]);
  return writer.finish(row);
}

/**
 * The state after one entry, in a spool file: a follower may take any chunk at any time, again too, and the database is
 * done with it. The file has no name and goes when it is closed, or when this process ends.
 */
export class SnapshotExport {
  readonly manifest: SnapshotManifest;
  readonly #file: FileHandle;

  /** Use exportSnapshot. */
  constructor(manifest: SnapshotManifest, file: FileHandle) {
    this.manifest = manifest;
    this.#file = file;
  }

  /** @param index from 0. @throws RangeError if there is no such chunk */
  async chunk(index: number): Promise<Uint8Array> {
    const { chunkBytes, totalBytes, chunkHashes } = this.manifest;
    if (!Number.isSafeInteger(index) || index < 0 || index >= chunkHashes.length) {
      throw new RangeError(`no chunk ${index} of ${chunkHashes.length}`);
    }
    const start = index * chunkBytes;
    const chunk = new Uint8Array(Math.min(chunkBytes, totalBytes - start));
    for (let filled = 0; filled < chunk.length;) {
      const { bytesRead } = await this.#file.read(chunk, filled, chunk.length - filled, start + filled);
      if (bytesRead === 0) throw new StoreError("corrupt", `the spool file ends within chunk ${index}`);
      filled += bytesRead;
    }
    return chunk;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

async function openSpoolFile(directory: string): Promise<FileHandle> {
  const path = join(directory, `snapshot-${randomBytes(8).toString("hex")}.spool`);
  const file = await open(path, "wx+", 0o600);
  await unlink(path);
  return file;
}

/**
 * Writes the whole state as of one applied index to a spool file, from one repeatable-read transaction.
 * @throws StoreError `unavailable`, `schema`, `corrupt`
 */
export async function exportSnapshot(options: ExportSnapshotOptions): Promise<SnapshotExport> {
  const connection = await Connection.open({
    url: options.url,
    name: "event-anchoring snapshot export",
    settings: { ...INDEXED_PLANS, default_transaction_read_only: "on" },
  });
  try {
    await assertMigrated(connection);
    const file = await openSpoolFile(options.directory);
    try {
      const manifest = await connection.transaction(
        (session) => writeStream(session, file),
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
      );
      return new SnapshotExport(manifest, file);
    } catch (cause) {
      await file.close();
      throw cause;
    }
  } finally {
    await connection.close();
  }
}
