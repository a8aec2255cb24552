import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";

/** What a database reads and writes at once. Of other files, what lies around the bit. */
const BLOCK = 8192;

/** A bit of a file that a disk has altered. */
export interface FlippedBit {
  readonly path: string;
  /** Where the byte is, from the beginning of the file. */
  readonly offset: number;
  /** 0 to 7; 0 is the lowest. */
  readonly bit: number;
  /** What lies around it since then. */
  readonly block: Uint8Array;
}

/** Alters one bit. Nobody has the file open. */
export function flipBit(path: string, offset: number, bit: number): FlippedBit {
  invert(path, offset, bit);
  return { path, offset, bit, block: blockAt(path, offset) };
}

/**
 * Gives the bit back, unless the block was written meanwhile: then it is no longer the one that was altered.
 * @returns whether it was given back
 */
export function flipBack({ path, offset, bit, block }: FlippedBit): boolean {
  if (Buffer.compare(blockAt(path, offset), block) !== 0) return false;
  invert(path, offset, bit);
  return true;
}

function invert(path: string, offset: number, bit: number): void {
  const file = openSync(path, "r+");
  try {
    const byte = new Uint8Array(1);
    if (readSync(file, byte, 0, 1, offset) !== 1) throw new RangeError(`${path} has no byte ${offset}`);
    byte[0] = (byte[0] ?? 0) ^ (1 << bit);
    writeSync(file, byte, 0, 1, offset);
  } finally {
    closeSync(file);
  }
}

function blockAt(path: string, offset: number): Uint8Array {
  const file = openSync(path, "r");
  try {
    const from = offset - (offset % BLOCK);
    const bytes = new Uint8Array(Math.min(BLOCK, Math.max(0, fstatSync(file).size - from)));
    readSync(file, bytes, 0, bytes.length, from);
    return bytes;
  } finally {
    closeSync(file);
  }
}
