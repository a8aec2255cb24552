/** C2SP tlog-checkpoint: origin, size and root of one tree, as text. A pure function of the log prefix. */
import { InvalidBytesError, base64ToBytes, bytesToBase64, bytesToHex } from "./bytes.ts";
import type { OriginFingerprint } from "./ids.ts";

export type CheckpointCode = "checkpoint_malformed" | "checkpoint_extended" | "name_invalid";

/** Not a checkpoint text, or a name that is not legal in one. Match on `code`. */
export class CheckpointError extends Error {
  readonly code: CheckpointCode;
  constructor(code: CheckpointCode, message: string) {
    super(message);
    this.name = "CheckpointError";
    this.code = code;
  }
}

export interface Checkpoint {
  /** The checkpoint origin, its first line. Not a URL. */
  readonly origin: string;
  readonly treeSize: number;
  /** 32 bytes. */
  readonly rootHash: Uint8Array;
}

const CLUSTER_NAME = /^[a-z0-9.-]+(\/[a-z0-9._-]+)*$/;
const CLUSTER_NAME_LENGTH_MAX = 128;
const NODE_ID = /^[a-z][a-z0-9-]{0,31}$/;
const ROOT_LABEL = /^[a-z0-9][a-z0-9-]{0,31}$/;
const DECIMAL = /^(0|[1-9][0-9]{0,15})$/;

/** `[a-z0-9.-]+(/[a-z0-9._-]+)*`, at most 128 bytes. */
export function isClusterName(name: string): boolean {
  return name.length <= CLUSTER_NAME_LENGTH_MAX && CLUSTER_NAME.test(name);
}

/** `[a-z][a-z0-9-]{0,31}`. */
export function isNodeId(nodeId: string): boolean {
  return NODE_ID.test(nodeId);
}

/** Label of an offline root key: `[a-z0-9][a-z0-9-]{0,31}`. */
export function isRootLabel(label: string): boolean {
  return ROOT_LABEL.test(label);
}

function assertName(isLegal: boolean, name: string): void {
  if (!isLegal) throw new CheckpointError("name_invalid", `not a legal name: ${name}`);
}

/** `<cluster name>/origin/<hex origin fingerprint>`: first line of a checkpoint, and name of the origin's log key. */
export function checkpointOrigin(clusterName: string, originFingerprint: OriginFingerprint): string {
  assertName(isClusterName(clusterName), clusterName);
  return `${clusterName}/origin/${bytesToHex(originFingerprint)}`;
}

/** `<cluster name>/node/<node id>`: name of a node's cosigner key. */
export function cosignerName(clusterName: string, nodeId: string): string {
  assertName(isClusterName(clusterName), clusterName);
  assertName(isNodeId(nodeId), nodeId);
  return `${clusterName}/node/${nodeId}`;
}

/** `<cluster name>/root/<label>`: name of an offline root key. */
export function rootKeyName(clusterName: string, label: string): string {
  assertName(isClusterName(clusterName), clusterName);
  assertName(isRootLabel(label), label);
  return `${clusterName}/root/${label}`;
}

/** `<cluster name>/operator/<name>`: name of an operator's key; `name` is like a node id. */
export function operatorKeyName(clusterName: string, name: string): string {
  assertName(isClusterName(clusterName), clusterName);
  assertName(isNodeId(name), name);
  return `${clusterName}/operator/${name}`;
}

/** A decimal integer from 0 to 2^53 − 1 in its one spelling (no sign, no leading zero), else null. */
export function parseDecimal(text: string): number | null {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : null;
}

/** Three lines: origin, size, base64 of the root hash. */
export function formatCheckpoint(checkpoint: Checkpoint): string {
  const { origin, treeSize, rootHash } = checkpoint;
  if (!Number.isSafeInteger(treeSize) || treeSize < 0) throw new RangeError(`not a tree size: ${treeSize}`);
  if (rootHash.length !== 32) throw new RangeError("a root hash has 32 bytes");
  if (origin === "" || origin.includes("\n")) throw new RangeError("a checkpoint origin is one line");
  return `${origin}\n${treeSize}\n${bytesToBase64(rootHash)}\n`;
}

function parseLines(text: string): { readonly checkpoint: Checkpoint; readonly extensions: readonly string[] } {
  const [origin = "", size = "", root = "", ...rest] = text.split("\n");
  const treeSize = parseDecimal(size);
  if (rest.pop() !== "" || origin === "" || treeSize === null) {
    throw new CheckpointError("checkpoint_malformed", "a checkpoint is an origin, a size and a root hash");
  }
  try {
    return { checkpoint: { origin, treeSize, rootHash: base64ToBytes(root, 32) }, extensions: rest };
  } catch (error) {
    if (error instanceof InvalidBytesError) throw new CheckpointError("checkpoint_malformed", error.message);
    throw error;
  }
}

/**
 * Reads a checkpoint text, which may be attacker-controlled. Extension lines are refused: nothing would check them.
 * @throws CheckpointError `checkpoint_malformed` or `checkpoint_extended`
 */
export function parseCheckpoint(text: string): Checkpoint {
  const { checkpoint, extensions } = parseLines(text);
  if (extensions.length > 0) throw new CheckpointError("checkpoint_extended", "extension lines are not accepted");
  return checkpoint;
}

/**
 * Reads the checkpoint text of any log. Extension lines are allowed: a cosignature covers them and makes no statement
 * about them (tlog-cosignature).
 * @throws CheckpointError `checkpoint_malformed`
 */
export function parseForeignCheckpoint(text: string): Checkpoint {
  const { checkpoint, extensions } = parseLines(text);
  if (extensions.includes("")) throw new CheckpointError("checkpoint_malformed", "an extension line is empty");
  return checkpoint;
}
