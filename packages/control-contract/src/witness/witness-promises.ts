/** What a node has promised as a witness of other logs: its own cosignatures, newest of each log. */
import {
  CheckpointError,
  NoteError,
  equalBytes,
  equalVkeys,
  formatVkey,
  parseForeignCheckpoint,
  parseNote,
  parseVkey,
  verifyKnownLines,
} from "@event-anchoring/protocol";
import type { Checkpoint, Crypto, Vkey } from "@event-anchoring/protocol";

const FORMAT = "event-anchoring/witness-promises/v1";

/** The newest checkpoint of a log that was cosigned. */
export interface CosignedCheckpoint {
  readonly checkpoint: Checkpoint;
  /** The signed text, with extension lines if there are any. */
  readonly text: string;
  /** Unix seconds of the cosignature. */
  readonly timeS: number;
  /** The whole note, with the log's lines and the witness's. */
  readonly note: string;
}

/** Invariant: no later value takes back what an earlier one promised. */
export interface WitnessPromises {
  /** Type 0x04. */
  readonly vkey: Vkey;
  /** The witness was shown a cosignature of its own that it does not know: the key must not sign any more. */
  readonly isSpent: boolean;
  /** By origin. */
  readonly heads: ReadonlyMap<string, CosignedCheckpoint>;
}

/** The file is not what a witness wrote. */
export class WitnessPromisesError extends Error {
  override readonly name = "WitnessPromisesError";
}

/** Describes what `next` takes back of what `previous` promised; null: nothing. */
export function brokenWitnessPromise(previous: WitnessPromises, next: WitnessPromises): string | null {
  if (!equalVkeys(previous.vkey, next.vkey)) return "another key";
  if (previous.isSpent && !next.isSpent) return "a spent key that is used again";
  for (const [origin, { checkpoint: known }] of previous.heads) {
    const later = next.heads.get(origin)?.checkpoint;
    if (later === undefined) return `no head of ${origin}`;
    if (later.treeSize < known.treeSize) return `size ${later.treeSize} after ${known.treeSize} of ${origin}`;
    if (later.treeSize === known.treeSize && !equalBytes(later.rootHash, known.rootHash)) {
      return `a second root of size ${known.treeSize} of ${origin}`;
    }
  }
  return null;
}

/** One JSON document. Equal promises give equal text. */
export function formatWitnessPromises({ vkey, isSpent, heads }: WitnessPromises): string {
  const checkpoints = [...heads].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { note }]) => note);
  const json = { format: FORMAT, witness: formatVkey(vkey), spent: isSpent, checkpoints };
  return `${JSON.stringify(json, null, 1)}\n`;
}

/**
 * Reads what was written. Every note must carry a good cosignature of the witness: it is its own checksum, and nobody
 * else can have made it.
 * @throws WitnessPromisesError
 */
export function parseWitnessPromises(text: string, crypto: Crypto): WitnessPromises {
  const json = asRecord(parseJson(text));
  const { format, witness, spent, checkpoints } = json;
  const isShaped = format === FORMAT && typeof witness === "string" && typeof spent === "boolean";
  if (!isShaped || !Array.isArray(checkpoints)) throw new WitnessPromisesError("not the promises of a witness");
  const vkey = orRefuse(() => parseVkey(witness, crypto.sha256));
  const heads = new Map<string, CosignedCheckpoint>();
  for (const note of checkpoints as readonly unknown[]) {
    if (typeof note !== "string") throw new WitnessPromisesError("a checkpoint is not a text");
    const head = readCosigned(note, vkey, crypto);
    if (heads.has(head.checkpoint.origin)) {
      throw new WitnessPromisesError(`two checkpoints of ${head.checkpoint.origin}`);
    }
    heads.set(head.checkpoint.origin, head);
  }
  return { vkey, isSpent: spent, heads };
}

function readCosigned(note: string, vkey: Vkey, crypto: Crypto): CosignedCheckpoint {
  return orRefuse(() => {
    const signed = parseNote(note);
    const [own] = verifyKnownLines(signed, [vkey], crypto.ed25519Verify).verified;
    const checkpoint = parseForeignCheckpoint(signed.text);
    if (own === undefined || own.timeS === null) {
      throw new WitnessPromisesError(`no good cosignature of the witness on the checkpoint of ${checkpoint.origin}`);
    }
    return { checkpoint, text: signed.text, timeS: own.timeS, note };
  });
}

function orRefuse<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof NoteError) && !(error instanceof CheckpointError)) throw error;
    throw new WitnessPromisesError(error.message, { cause: error });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new WitnessPromisesError("not JSON", { cause });
  }
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
