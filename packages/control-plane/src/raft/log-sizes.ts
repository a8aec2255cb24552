import type { RaftIndex } from "raft-ts";

/** What a row takes beside its payload, as measured for small ones: columns, checksum, tuple and index entry. */
export const LOG_ROW_BYTES = 170;
/** Entries that are summed together. */
const BLOCK_ENTRIES = 1024;

export interface LogSizesStart {
  readonly compactedTo: RaftIndex;
  readonly applied: RaftIndex;
  /** What the scan of the log has found after `compactedTo`, in order. */
  readonly entries: Iterable<{ readonly index: RaftIndex; readonly payloadBytes: number }>;
}

/** The sizes of neighbouring entries, and their sum. */
interface Block {
  readonly sizes: Uint32Array;
  bytes: number;
}

/**
 * How many bytes the log holds, entry by entry, for four bytes of memory each, so that no table is ever summed. It
 * begins with the scan of the log at the start, and is exact across restarts: payloads, and LOG_ROW_BYTES a row.
 * Deleted rows that Postgres has not vacuumed yet are not counted.
 */
export class LogSizes {
  /** The first one holds the first entry after #compactedTo. */
  #blocks: Block[] = [];
  /** The index at the first place of the first block. */
  #base: RaftIndex;
  #compactedTo: RaftIndex;
  #lastIndex: RaftIndex;
  #applied: RaftIndex;
  #bytes = 0;
  #appliedBytes = 0;

  constructor({ compactedTo, applied, entries }: LogSizesStart) {
    this.#base = compactedTo + 1;
    this.#compactedTo = compactedTo;
    this.#lastIndex = compactedTo;
    this.#applied = compactedTo;
    for (const { index, payloadBytes } of entries) this.#append(index, payloadBytes);
    while (this.#applied < Math.min(applied, this.#lastIndex)) this.onApplied(this.#applied + 1);
  }

  /** The log begins after this entry. */
  get compactedTo(): RaftIndex {
    return this.#compactedTo;
  }

  /** Entries in the log. */
  get entries(): number {
    return this.#lastIndex - this.#compactedTo;
  }

  /** Bytes of the log. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of its applied part. */
  get appliedBytes(): number {
    return this.#appliedBytes;
  }

  /** Entries as they arrive: they replace everything from the first of them on. */
  append(entries: readonly { readonly index: RaftIndex; readonly payload: Uint8Array }[]): void {
    for (const { index, payload } of entries) this.#append(index, payload.length);
  }

  onApplied(index: RaftIndex): void {
    for (; this.#applied < index; this.#applied++) this.#appliedBytes += this.#sizeOf(this.#applied + 1);
  }

  /** The log now begins after this entry, which is applied. */
  forget(upTo: RaftIndex): void {
    for (; this.#compactedTo < upTo; this.#compactedTo++) {
      const size = this.#sizeOf(this.#compactedTo + 1);
      this.#bytes -= size;
      this.#appliedBytes -= size;
    }
    const whole = Math.floor((this.#compactedTo + 1 - this.#base) / BLOCK_ENTRIES);
    this.#blocks.splice(0, whole);
    this.#base += whole * BLOCK_ENTRIES;
  }

  /** The first entry after which the applied part takes at most this many bytes. */
  cutFor(bytes: number): RaftIndex {
    let held = this.#appliedBytes;
    let at = this.#compactedTo;
    while (at < this.#applied && held > bytes) {
      const block = this.#blocks[Math.floor((at + 1 - this.#base) / BLOCK_ENTRIES)];
      const isAtStart = (at + 1 - this.#base) % BLOCK_ENTRIES === 0;
      const isWhole = isAtStart && at + BLOCK_ENTRIES <= this.#applied && held - (block?.bytes ?? 0) > bytes;
      held -= isWhole ? (block?.bytes ?? 0) : this.#sizeOf(at + 1);
      at += isWhole ? BLOCK_ENTRIES : 1;
    }
    return at;
  }

  #append(index: RaftIndex, payloadBytes: number): void {
    if (index <= this.#applied || index > this.#lastIndex + 1) {
      throw new RangeError(`entry ${index} in a log up to ${this.#lastIndex}, applied up to ${this.#applied}`);
    }
    for (; this.#lastIndex >= index; this.#lastIndex--) this.#add(this.#lastIndex, -this.#sizeOf(this.#lastIndex));
    this.#lastIndex = index;
    this.#add(index, payloadBytes + LOG_ROW_BYTES);
  }

  #add(index: RaftIndex, bytes: number): void {
    const place = index - this.#base;
    const block = (this.#blocks[Math.floor(place / BLOCK_ENTRIES)] ??= {
      sizes: new Uint32Array(BLOCK_ENTRIES),
      bytes: 0,
    });
    block.sizes[place % BLOCK_ENTRIES] = (block.sizes[place % BLOCK_ENTRIES] ?? 0) + bytes;
    block.bytes += bytes;
    this.#bytes += bytes;
  }

  #sizeOf(index: RaftIndex): number {
    const place = index - this.#base;
    return this.#blocks[Math.floor(place / BLOCK_ENTRIES)]?.sizes[place % BLOCK_ENTRIES] ?? 0;
  }
}
