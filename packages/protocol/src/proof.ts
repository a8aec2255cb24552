/** A receipt as C2SP tlog-proof text (the canonical form) and as JSON. Reading one verifies nothing. */
import { InvalidBytesError, base64ToBytes, bytesToBase64, bytesToHex, hexToBytes } from "./bytes.ts";
import { CheckpointError, parseCheckpoint, parseDecimal } from "./checkpoint.ts";
import type { Sha256 } from "./crypto.ts";
import { toAnchorId } from "./ids.ts";
import type { AnchorId } from "./ids.ts";
import { anchorIdOf } from "./leaf.ts";
import { NOTE_LENGTH_MAX, NoteError, parseNote } from "./note.ts";

/** Leaf, inclusion proof and cosigned checkpoint: all that proves one anchor, given a trust root. */
export interface Receipt {
  /** The bytes of the leaf. */
  readonly leaf: Uint8Array;
  /** Leaf index, which is the leaf's depth. */
  readonly index: number;
  /** Tree size of the checkpoint. */
  readonly treeSize: number;
  /** Inclusion path, leaf to root, 32 bytes each. */
  readonly path: readonly Uint8Array[];
  /** The whole signed note of the checkpoint. */
  readonly checkpoint: string;
}

export type ProofCode =
  | "proof_header_unknown"
  | "proof_malformed"
  | "proof_leaf_missing"
  | "proof_path_too_long"
  | "proof_too_large"
  | "proof_checkpoint_malformed";

/** Not a receipt. Match on `code`. */
export class ProofError extends Error {
  readonly code: ProofCode;
  constructor(code: ProofCode, message: string) {
    super(message);
    this.name = "ProofError";
    this.code = code;
  }
}

const HEADER = "c2sp.org/tlog-proof@v1";
/** No tree of at most 2^53 − 1 leaves has a longer path. */
const PATH_LENGTH_MAX = 53;

/** tlog-proof text; `extra` is the leaf. Files of this form end in `.tlog-proof`. */
export function formatProof(receipt: Receipt): string {
  const lines = [HEADER, `extra ${bytesToBase64(receipt.leaf)}`, `index ${receipt.index}`];
  for (const hash of receipt.path) lines.push(bytesToBase64(hash));
  return `${lines.join("\n")}\n\n${receipt.checkpoint}`;
}

/** Turns what the byte and note readers refuse into the one error of this format. */
function reading<Result>(code: ProofCode, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    const isRefusal =
      error instanceof InvalidBytesError || error instanceof NoteError || error instanceof CheckpointError;
    if (isRefusal) throw new ProofError(code, error.message);
    throw error;
  }
}

function readTreeSize(checkpoint: string): number {
  return reading("proof_checkpoint_malformed", () => parseCheckpoint(parseNote(checkpoint).text).treeSize);
}

function readPath(hashes: readonly string[]): Uint8Array[] {
  if (hashes.length > PATH_LENGTH_MAX) {
    throw new ProofError("proof_path_too_long", `${hashes.length} hashes, at most ${PATH_LENGTH_MAX}`);
  }
  return hashes.map((hash) => reading("proof_malformed", () => base64ToBytes(hash, 32)));
}

/**
 * Reads tlog-proof text, which may be attacker-controlled. The tree size is that of the checkpoint.
 * @throws ProofError
 */
export function parseProof(text: string): Receipt {
  if (text.length > NOTE_LENGTH_MAX) throw new ProofError("proof_too_large", `over ${NOTE_LENGTH_MAX} characters`);
  const split = text.indexOf("\n\n");
  const [header, extra = "", index = "", ...hashes] = text.slice(0, Math.max(split, 0)).split("\n");
  if (header !== HEADER) throw new ProofError("proof_header_unknown", `the first line is not ${HEADER}`);
  if (!extra.startsWith("extra ")) throw new ProofError("proof_leaf_missing", "the second line does not hold the leaf");
  const leafIndex = index.startsWith("index ") ? parseDecimal(index.slice("index ".length)) : null;
  if (leafIndex === null) throw new ProofError("proof_malformed", "the third line is not a leaf index");
  const checkpoint = text.slice(split + 2);
  return {
    leaf: reading("proof_malformed", () => base64ToBytes(extra.slice("extra ".length))),
    index: leafIndex,
    treeSize: readTreeSize(checkpoint),
    path: readPath(hashes),
    checkpoint,
  };
}

/** A receipt on the wire. */
export interface ReceiptJson {
  /** 64 hex digits. */
  readonly anchor_id: string;
  /** base64. */
  readonly leaf: string;
  readonly index: number;
  readonly tree_size: number;
  /** base64 of 32 bytes each, leaf to root. */
  readonly inclusion: readonly string[];
  readonly checkpoint: string;
  /** A hint: which version the server judged the checkpoint by. Verifiers do not rely on it. */
  readonly trust_root_version: number;
}

export function receiptToJson(receipt: Receipt, trustRootVersion: number, sha256: Sha256): ReceiptJson {
  return {
    anchor_id: bytesToHex(anchorIdOf(receipt.leaf, sha256)),
    leaf: bytesToBase64(receipt.leaf),
    index: receipt.index,
    tree_size: receipt.treeSize,
    inclusion: receipt.path.map(bytesToBase64),
    checkpoint: receipt.checkpoint,
    trust_root_version: trustRootVersion,
  };
}

/** A receipt read from JSON with what the JSON says about it. */
export interface StatedReceipt {
  readonly receipt: Receipt;
  /** As stated, not computed: hand it to verifyReceipt as `expect.anchorId`. */
  readonly anchorId: AnchorId;
  readonly trustRootVersion: number;
}

function text(fields: ReadonlyMap<string, unknown>, name: string): string {
  const value = fields.get(name);
  if (typeof value !== "string" || value.length > NOTE_LENGTH_MAX) {
    throw new ProofError("proof_malformed", `${name} is not a string of legal length`);
  }
  return value;
}

function integer(fields: ReadonlyMap<string, unknown>, name: string): number {
  const value = fields.get(name);
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw new ProofError("proof_malformed", `${name} is not an integer from 0 to 2^53 - 1`);
  }
  return value;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/**
 * Reads the JSON form, which may be attacker-controlled. Fields it does not know are ignored.
 * @param value what JSON.parse returned
 * @throws ProofError
 */
export function receiptFromJson(value: unknown): StatedReceipt {
  if (typeof value !== "object" || value === null) throw new ProofError("proof_malformed", "not an object");
  const fields: ReadonlyMap<string, unknown> = new Map<string, unknown>(Object.entries(value));
  const inclusion = fields.get("inclusion");
  if (!Array.isArray(inclusion) || !inclusion.every(isText)) {
    throw new ProofError("proof_malformed", "inclusion is not a list of strings");
  }
  const receipt: Receipt = {
    leaf: reading("proof_malformed", () => base64ToBytes(text(fields, "leaf"))),
    index: integer(fields, "index"),
    treeSize: integer(fields, "tree_size"),
    path: readPath(inclusion),
    checkpoint: text(fields, "checkpoint"),
  };
  const anchorId = reading("proof_malformed", () => toAnchorId(hexToBytes(text(fields, "anchor_id"), 32)));
  return { receipt, anchorId, trustRootVersion: integer(fields, "trust_root_version") };
}
