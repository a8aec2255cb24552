/** What the receipts of the vectors are made of. */
import {
  bytesToBase64,
  checkpointOrigin,
  formatCheckpoint,
  formatNote,
  proveInclusion,
  receiptToJson,
} from "@event-anchoring/protocol";
import type { Receipt } from "@event-anchoring/protocol";
import type { Json } from "../../../../test/vector-builders/json.ts";
import { clusterName, cosign, fill, logLine, nodeA, sha256 } from "./fixtures.ts";
import type { FixtureNode } from "./fixtures.ts";
import { leafBytes } from "./leaves.ts";
import { leafTree } from "./trees.ts";

export function checkpointText(size: number, origin = checkpointOrigin(clusterName, nodeA.originFingerprint)): string {
  return formatCheckpoint({ origin, treeSize: size, rootHash: leafTree.rootAt(size) });
}

export function noteOf(text: string, cosigners: readonly FixtureNode[]): string {
  return formatNote(text, [logLine(nodeA, text), ...cosigners.map((node) => cosign(node, text))]);
}

export function receiptOf(index: number, size: number, cosigners: readonly FixtureNode[]): Receipt {
  return {
    leaf: leafBytes[index] ?? fill(0),
    index,
    treeSize: size,
    path: proveInclusion(index, size, leafTree.hashAt, sha256),
    checkpoint: noteOf(checkpointText(size), cosigners),
  };
}

export function flip(bytes: Uint8Array, offset: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[offset] = (copy[offset] ?? 0) ^ 1;
  return copy;
}

export interface ReceiptCase {
  readonly name: string;
  readonly receipt: Receipt;
  readonly roots?: number;
  readonly expect?: { readonly event_hash?: string; readonly payload?: string; readonly anchor_id?: string };
  readonly renewal?: { readonly checkpoint: string; readonly consistency: readonly Uint8Array[] };
  readonly superseded?: number;
  readonly lost?: boolean;
  /** Step and code. */
  readonly failure?: readonly [step: string, code: string];
}

export function receiptCaseJson({
  name,
  receipt,
  roots = 1,
  expect = {},
  renewal,
  superseded,
  lost,
  failure,
}: ReceiptCase): { [name: string]: Json } {
  return {
    name,
    trust_root_versions: roots,
    receipt: { ...receiptToJson(receipt, 1, sha256) },
    expect,
    ...(renewal === undefined
      ? {}
      : { renewal: { checkpoint: renewal.checkpoint, consistency: renewal.consistency.map(bytesToBase64) } }),
    verdict: failure === undefined ? "valid" : "invalid",
    superseded_trust_root: superseded ?? null,
    origin_lost: lost ?? false,
    failure: failure === undefined ? null : { step: failure[0], code: failure[1] },
  };
}
