import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { ByteReader, DecodeError, InvalidBytesError, equalBytes } from "@event-anchoring/protocol";
import { RecordDecoder, SNAPSHOT_CHUNK_BYTES } from "../snapshot/snapshot-format.ts";
import type { SnapshotManifest, SnapshotRecord } from "../snapshot/snapshot-format.ts";
import { BackupError } from "./backup-error.ts";
import {
  BACKUP_MARK,
  BACKUP_MARK_COMMON,
  DIGEST_BYTES,
  ENDING_BYTES,
  MANIFEST_BYTES_MAX,
  NO_ENDING,
  decodeManifest,
} from "./backup-format.ts";
import type { BackupManifest } from "./backup-format.ts";

/** Where in the file the records are. */
interface Extent {
  readonly start: number;
  readonly end: number;
}

/** A backup that was written earlier, opened for reading. Its content is not trusted before it was checked. */
export class BackupFile {
  readonly manifest: BackupManifest;
  /** As stated at its end; `assertIntact` verifies it. */
  readonly sha256: Uint8Array;
  readonly bytes: number;
  readonly #file: FileHandle;
  readonly #records: Extent;

  private constructor(file: FileHandle, bytes: number, sha256: Uint8Array, manifest: BackupManifest, records: Extent) {
    this.#file = file;
    this.bytes = bytes;
    this.sha256 = sha256;
    this.manifest = manifest;
    this.#records = records;
  }

  /**
   * Reads both ends.
   * @throws BackupError `not_a_backup`, `format_unknown`; the system's error
   */
  static async open(path: string): Promise<BackupFile> {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      await assertMark(file, size);
      const ending = await readExactly(file, size - ENDING_BYTES, ENDING_BYTES);
      const manifestBytes = new ByteReader(ending.subarray(0, 4)).u32();
      const start = BACKUP_MARK.length;
      const end = size - ENDING_BYTES - manifestBytes;
      if (manifestBytes > MANIFEST_BYTES_MAX || end < start) {
        throw new BackupError("not_a_backup", NO_ENDING);
      }
      const manifest = decodeManifest(await readExactly(file, end, manifestBytes));
      return new BackupFile(file, size, ending.slice(4), manifest, { start, end });
    } catch (cause) {
      await file.close();
      throw cause;
    }
  }

  /**
   * Reads all of it once.
   * @returns the manifest that an installation compares the pieces with
   * @throws BackupError `altered`
   */
  async assertIntact(onProgress?: (bytes: number, ofBytes: number) => void): Promise<SnapshotManifest> {
    const whole = createHash("sha256");
    const records = createHash("sha256");
    const chunkHashes: Uint8Array[] = [];
    const { start, end } = this.#records;
    whole.update(await readExactly(this.#file, 0, start));
    for await (const piece of this.pieces()) {
      whole.update(piece);
      records.update(piece);
      chunkHashes.push(createHash("sha256").update(piece).digest());
      onProgress?.(Math.min(end, chunkHashes.length * SNAPSHOT_CHUNK_BYTES), this.bytes);
    }
    whole.update(await readExactly(this.#file, end, this.bytes - DIGEST_BYTES - end));
    if (!equalBytes(whole.digest(), this.sha256)) {
      throw new BackupError("altered", "the file is not as it was written: its SHA-256 is another one");
    }
    const { raftIndex, raftTerm, effect } = this.manifest;
    return {
      snapshotId: this.sha256.slice(0, 16),
      raftIndex,
      raftTerm,
      effect,
      chunkBytes: SNAPSHOT_CHUNK_BYTES,
      totalBytes: end - start,
      chunkHashes,
      wholeHash: records.digest(),
    };
  }

  /** The bytes of the records, cut at equal lengths. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    const { start, end } = this.#records;
    for (let at = start; at < end; at += SNAPSHOT_CHUNK_BYTES) {
      yield await readExactly(this.#file, at, Math.min(SNAPSHOT_CHUNK_BYTES, end - at));
    }
  }

  /** The records, as many at a time as a piece completes. @throws BackupError `inconsistent` */
  async *batches(): AsyncGenerator<readonly SnapshotRecord[]> {
    const decoder = new RecordDecoder();
    for await (const piece of this.pieces()) yield decoded(() => decoder.push(piece));
    if (decoder.pendingBytes > 0) throw new BackupError("inconsistent", "its last record is not whole");
  }

  /** @throws BackupError `inconsistent` */
  async *records(): AsyncGenerator<SnapshotRecord> {
    for await (const batch of this.batches()) yield* batch;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

async function assertMark(file: FileHandle, size: number): Promise<void> {
  if (size < BACKUP_MARK.length + ENDING_BYTES) throw new BackupError("not_a_backup", "it is too short for a backup");
  const mark = await readExactly(file, 0, BACKUP_MARK.length);
  if (equalBytes(mark, BACKUP_MARK)) return;
  if (equalBytes(mark.subarray(0, BACKUP_MARK_COMMON.length), BACKUP_MARK_COMMON)) {
    throw new BackupError("format_unknown", "it was written by another build: use that one");
  }
  throw new BackupError("not_a_backup", "it does not begin as a backup does");
}

async function readExactly(file: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  for (let filled = 0; filled < length;) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled);
    if (bytesRead === 0) throw new BackupError("altered", "it became shorter while it was read");
    filled += bytesRead;
  }
  return bytes;
}

function decoded<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof DecodeError) && !(cause instanceof InvalidBytesError)) throw cause;
    throw new BackupError("inconsistent", `a record cannot be decoded: ${cause.message}`, { cause });
  }
}
