/** The log as tiles, C2SP tlog-tiles: what places are called, and what is in them. */
import { InvalidBytesError, TILE_WIDTH, bytesToUtf8, entriesPath, tilePath } from "@event-anchoring/protocol";
import { InvalidInput, UnexpectedAnswer, VerificationError } from "./errors.ts";
import { count, hex32 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import { checkpointIn } from "./signed-note.ts";

const HASH_BYTES = 32;
const LEVEL_MAX = 63;

/** A place in the log. */
export interface EntriesPlace {
  /** The leaves from 256 · `index` on. */
  readonly index: number;
  /** How many there are; 256, the default, is all of a full one. */
  readonly width?: number | undefined;
}

/** A place in the tree. */
export interface TilePlace extends EntriesPlace {
  /** Roots of the perfect subtrees of level 8 · `level`. 0 to 63. */
  readonly level: number;
}

function widthOf({ width = TILE_WIDTH }: EntriesPlace): number {
  if (Number.isInteger(width) && width >= 1 && width <= TILE_WIDTH) return width;
  throw new InvalidInput("width", `expected 1 to ${TILE_WIDTH}`);
}

function pathOf(originFingerprint: Bytes32, rest: string): string {
  return `/v1/origins/${hex32("originFingerprint", originFingerprint)}/${rest}`;
}

/** @throws InvalidInput */
export function placeOfTile(
  originFingerprint: Bytes32,
  place: TilePlace,
): { readonly path: string; readonly width: number } {
  const level = count("level", place.level);
  if (level > LEVEL_MAX) throw new InvalidInput("level", `expected 0 to ${LEVEL_MAX}`);
  const width = widthOf(place);
  return { path: pathOf(originFingerprint, tilePath(level, count("index", place.index), width)), width };
}

/** @throws InvalidInput */
export function placeOfEntries(
  originFingerprint: Bytes32,
  place: EntriesPlace,
): { readonly path: string; readonly width: number } {
  const width = widthOf(place);
  return { path: pathOf(originFingerprint, entriesPath(count("index", place.index), width)), width };
}

/** Its hashes. @throws UnexpectedAnswer unless there are as many as its name says */
export function hashesOfTile(tile: Uint8Array, width: number): readonly Uint8Array[] {
  if (tile.length !== width * HASH_BYTES) {
    throw new UnexpectedAnswer(`a tile of ${tile.length} bytes, ${width} hashes were asked for`);
  }
  return Array.from({ length: width }, (_, at) => tile.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES));
}

/** Its leaves, each after its length as u16. @throws UnexpectedAnswer unless there are as many as its name says */
export function leavesOfBundle(bundle: Uint8Array, width: number): readonly Uint8Array[] {
  const view = new DataView(bundle.buffer, bundle.byteOffset, bundle.byteLength);
  const leaves: Uint8Array[] = [];
  let at = 0;
  while (at + 2 <= bundle.length && leaves.length < width) {
    const end = at + 2 + view.getUint16(at);
    leaves.push(bundle.slice(at + 2, end));
    at = end;
  }
  if (at === bundle.length && leaves.length === width) return leaves;
  throw new UnexpectedAnswer(`an entry bundle that does not hold ${width} leaves`);
}

/** A signed checkpoint of this origin. Nothing is verified. @throws UnexpectedAnswer, VerificationError */
export function noteOf(bytes: Uint8Array, originFingerprint: string): string {
  const note = textOf(bytes);
  const checkpoint = checkpointIn(note);
  if (checkpoint === null) throw new UnexpectedAnswer("the answer is no signed checkpoint");
  if (checkpoint.origin.endsWith(`/origin/${originFingerprint}`)) return note;
  throw new VerificationError("origin_differs", `the checkpoint is of origin ${checkpoint.origin}`);
}

function textOf(bytes: Uint8Array): string {
  try {
    return bytesToUtf8(bytes);
  } catch (error) {
    if (!(error instanceof InvalidBytesError)) throw error;
    throw new UnexpectedAnswer("the answer is no text", { cause: error });
  }
}
