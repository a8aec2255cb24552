/** C2SP tlog-witness, `add-checkpoint`: the bodies of the request and of its answers, for a log and for a witness. */
import { InvalidBytesError, base64ToBytes, bytesToBase64, bytesToUtf8 } from "../bytes.ts";
import { CheckpointError, parseDecimal, parseForeignCheckpoint } from "../checkpoint.ts";
import type { Checkpoint } from "../checkpoint.ts";
import { NOTE_SIGNATURES_MAX, NoteError, formatSignatureLine, parseNote, parseSignatureLine } from "../note.ts";
import type { SignatureLine, SignedNote } from "../note.ts";

/** Hashes of a consistency proof between two trees of at most 2^63 leaves. */
export const CONSISTENCY_LINES_MAX = 63;
/** A whole request: signed-note asks verifiers to take 16 signatures, each up to nearly 5 kB before base64. */
export const ADD_CHECKPOINT_BYTES_MAX = 131_072;
/** A whole answer of 200. One line of ours has some 200 bytes; a witness may add lines of other keys. */
export const COSIGNATURES_BYTES_MAX = 131_072;
/** Content type of an answer of 409. */
export const TREE_SIZE_CONTENT_TYPE = "text/x.tlog.size";
/** Sixteen digits and a newline: more is no size below 2^53. */
const TREE_SIZE_BYTES_MAX = 17;

export type AddCheckpointCode = "body_too_large" | "request_malformed" | "checkpoint_malformed" | "answer_malformed";

/** A body that the standard, or a limit of ours, does not allow. Match on `code`. */
export class AddCheckpointError extends Error {
  readonly code: AddCheckpointCode;
  constructor(code: AddCheckpointCode, message: string) {
    super(message);
    this.name = "AddCheckpointError";
    this.code = code;
  }
}

/** What a log sends. */
export interface AddCheckpoint {
  /** Size of the newest tree of this log that the witness is known to have cosigned; 0 if none is. */
  readonly oldSize: number;
  /** RFC 6962 consistency proof from `oldSize` to the checkpoint; 32 bytes each. */
  readonly proof: readonly Uint8Array[];
  /** The whole signed note. */
  readonly checkpoint: string;
}

/** What a witness has received. Nothing in it has been verified. */
export interface SubmittedCheckpoint {
  readonly oldSize: number;
  readonly proof: readonly Uint8Array[];
  readonly note: SignedNote;
  /** The first three lines of the note's text; `note.text` may have extension lines behind them. */
  readonly checkpoint: Checkpoint;
}

/** Body of a request. @throws RangeError if a part of it is not what the standard allows */
export function formatAddCheckpoint({ oldSize, proof, checkpoint }: AddCheckpoint): string {
  if (!Number.isSafeInteger(oldSize) || oldSize < 0) throw new RangeError(`not a tree size: ${oldSize}`);
  if (proof.length > CONSISTENCY_LINES_MAX) throw new RangeError(`${proof.length} hashes in a consistency proof`);
  if (proof.some((hash) => hash.length !== 32)) throw new RangeError("a hash has 32 bytes");
  const lines = proof.map((hash) => `${bytesToBase64(hash)}\n`).join("");
  return `old ${oldSize}\n${lines}\n${checkpoint}`;
}

/**
 * Reads the body of a request, which may be attacker-controlled.
 * @throws AddCheckpointError `body_too_large`, `request_malformed` or `checkpoint_malformed`
 */
export function parseAddCheckpoint(body: Uint8Array): SubmittedCheckpoint {
  const text = textOf(body, ADD_CHECKPOINT_BYTES_MAX, "request_malformed");
  // The note behind it holds an empty line too: the first one ends the proof.
  const end = text.indexOf("\n\n");
  if (end < 0) throw new AddCheckpointError("request_malformed", "no empty line behind the consistency proof");
  const [oldLine = "", ...proofLines] = text.slice(0, end).split("\n");
  const oldSize = oldLine.startsWith("old ") ? parseDecimal(oldLine.slice("old ".length)) : null;
  if (oldSize === null) throw new AddCheckpointError("request_malformed", "the first line is not `old <size>`");
  if (proofLines.length > CONSISTENCY_LINES_MAX) {
    const message = `${proofLines.length} consistency proof lines, at most ${CONSISTENCY_LINES_MAX}`;
    throw new AddCheckpointError("request_malformed", message);
  }
  return { oldSize, proof: proofLines.map(parseHash), ...parseSubmittedNote(text.slice(end + 2)) };
}

/** Body of 200. @param lines at least one, all of the witness's own keys */
export function formatCosignatures(lines: readonly SignatureLine[]): string {
  if (lines.length === 0) throw new RangeError("a witness answers at least one line");
  return lines.map(formatSignatureLine).join("");
}

/**
 * Reads the body of 200. Nothing is verified: the caller ignores lines of keys that it does not know.
 * @throws AddCheckpointError `body_too_large` or `answer_malformed`
 */
export function parseCosignatures(body: Uint8Array): SignatureLine[] {
  const text = textOf(body, COSIGNATURES_BYTES_MAX, "answer_malformed");
  const lines = text.split("\n");
  if (lines.pop() !== "" || lines.length === 0 || lines.length > NOTE_SIGNATURES_MAX) {
    throw new AddCheckpointError("answer_malformed", `not 1 to ${NOTE_SIGNATURES_MAX} signature lines`);
  }
  return lines.map((line) => orMalformed(() => parseSignatureLine(line), "answer_malformed"));
}

/** Body of 409: size of the newest checkpoint of this log that the witness has cosigned. */
export function formatTreeSize(treeSize: number): string {
  if (!Number.isSafeInteger(treeSize) || treeSize < 0) throw new RangeError(`not a tree size: ${treeSize}`);
  return `${treeSize}\n`;
}

/** @throws AddCheckpointError `body_too_large` or `answer_malformed` */
export function parseTreeSize(body: Uint8Array): number {
  const text = textOf(body, TREE_SIZE_BYTES_MAX, "answer_malformed");
  const treeSize = text.endsWith("\n") ? parseDecimal(text.slice(0, -1)) : null;
  if (treeSize === null) throw new AddCheckpointError("answer_malformed", "not a tree size and a newline");
  return treeSize;
}

function textOf(body: Uint8Array, bytesMax: number, code: AddCheckpointCode): string {
  if (body.length > bytesMax) {
    throw new AddCheckpointError("body_too_large", `${body.length} bytes, at most ${bytesMax}`);
  }
  return orMalformed(() => bytesToUtf8(body), code);
}

function parseHash(line: string): Uint8Array {
  return orMalformed(() => base64ToBytes(line, 32), "request_malformed");
}

function parseSubmittedNote(note: string): Pick<SubmittedCheckpoint, "note" | "checkpoint"> {
  return orMalformed(() => {
    const signed = parseNote(note);
    return { note: signed, checkpoint: parseForeignCheckpoint(signed.text) };
  }, "checkpoint_malformed");
}

function orMalformed<T>(parse: () => T, code: AddCheckpointCode): T {
  try {
    return parse();
  } catch (error) {
    const isMalformed =
      error instanceof InvalidBytesError || error instanceof NoteError || error instanceof CheckpointError;
    if (!isMalformed) throw error;
    throw new AddCheckpointError(code, error.message);
  }
}
