import { createHash, randomBytes } from "node:crypto";
import { open, unlink } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { Connection } from "../postgres/connection.ts";
import type { Session } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { INDEXED_PLANS } from "../postgres/indexed-plans.ts";
import { loadLedgerRow } from "../tables/ledger.ts";
import type { LedgerRow } from "../tables/ledger.ts";
import { assertMigrated } from "../postgres/migrate.ts";
import { SNAPSHOT_CHUNK_BYTES, encodeRecords } from "./snapshot-format.ts";
import type { SnapshotManifest, SnapshotRecord } from "./snapshot-format.ts";
import { snapshotRecords } from "./snapshot-stream.ts";
import { adoptState } from "./state-point.ts";
import type { SignedStatePoint } from "./state-point.ts";

/** What is read. */
export interface SnapshotSource {
  readonly url: string;
  /** What to export; null: the current state, unsigned. */
  readonly point: SignedStatePoint | null;
}

export interface ExportSnapshotOptions extends SnapshotSource {
  /** The folder of the spool file. The file needs as much space as the leaves, and vanishes when this process ends. */
  readonly directory: string;
}

/** Where it is written; not all of the bytes may be. */
interface SpoolFile {
  readonly write: (
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ) => Promise<{ readonly bytesWritten: number }>;
}

/** Cuts the stream into chunks, hashes them and writes them to the spool file. */
class ChunkWriter {
  readonly #file: SpoolFile;
  readonly #whole = createHash("sha256");
  readonly #hashes: Uint8Array[] = [];
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #totalBytes = 0;

  constructor(file: SpoolFile) {
    this.#file = file;
  }

  async add(records: readonly SnapshotRecord[]): Promise<void> {
    const bytes = encodeRecords(records);
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
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
    for (let at = 0; at < chunk.length;) {
      const { bytesWritten } = await this.#file.write(chunk, at, chunk.length - at, this.#totalBytes + at);
      at += bytesWritten;
    }
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

async function writeStream(
  session: Session,
  file: SpoolFile,
  point: SignedStatePoint | null,
): Promise<SnapshotManifest> {
  if (point !== null) await adoptState(session, point.databaseSnapshot);
  const row = await loadLedgerRow(session);
  const writer = new ChunkWriter(file);
  for await (const records of snapshotRecords(session, row, point?.stateHead ?? null)) await writer.add(records);
  return writer.finish(row);
}

/**
 * The state after one entry, in a spool file: a follower may fetch any chunk at any time, repeatedly, and the database
 * is not needed any more. The file has no name and vanishes when it is closed, or when this process ends.
 */
export class SnapshotExport {
  readonly manifest: SnapshotManifest;
  readonly #file: FileHandle;

  /** Use exportSnapshot, or exportInProcess. */
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

/** It has no name any more. */
export async function openSpoolFile(directory: string): Promise<FileHandle> {
  const path = join(directory, `snapshot-${randomBytes(8).toString("hex")}.spool`);
  const file = await open(path, "wx+", 0o600);
  await unlink(path);
  return file;
}

/**
 * Writes the whole state as of one applied index, from one repeatable-read transaction.
 * @throws StoreError `unavailable`, `schema`, `corrupt`
 */
export async function writeSnapshot({ url, point }: SnapshotSource, file: SpoolFile): Promise<SnapshotManifest> {
  const connection = await Connection.open({
    url,
    name: "event-anchoring snapshot export",
    settings: { ...INDEXED_PLANS, default_transaction_read_only: "on" },
  });
  try {
    await assertMigrated(connection);
    return await connection.transaction(
      (session) => writeStream(session, file, point),
      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    );
  } finally {
    await connection.close();
  }
}

/** Writes it to a spool file, to be read from. @throws StoreError `unavailable`, `schema`, `corrupt` */
export async function exportSnapshot(options: ExportSnapshotOptions): Promise<SnapshotExport> {
  const file = await openSpoolFile(options.directory);
  try {
    return new SnapshotExport(await writeSnapshot(options, file), file);
  } catch (error) {
    await file.close();
    throw error;
  }
}
