/**
 * A bundle: everything that a trace needs in one file, to be judged offline. Every part proves itself; the file as a
 * whole is neither hashed nor signed. docs/PROTOCOL.md, "Bundle".
 */
import { bytesToBase64, bytesToHex, concatBytes } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import { scopeJson } from "../scope/scope.ts";
import type { Scope, ScopeJson } from "../scope/scope.ts";
import type { BundleJson } from "../json/strict-json.ts";
import type { AsOf } from "@event-anchoring/records";

export const BUNDLE_FORMAT = "event-anchoring/v4.2/bundle";

/** Limits of a reader. All inclusive. */
export const BUNDLE_LIMITS = {
  /** Bytes of UTF-8. */
  bytesMax: 64 * 1024 * 1024,
  /** Single leaves, those of ranges and those of records together. */
  leavesMax: 100_000,
  trustRootsMax: 1_000,
  checkpointsMax: 1_024,
  scopesMax: 1_024,
  /** Hashes of one inclusion path, or of one frontier. */
  hashesMax: 53,
  /** Halves of a path in the state tree: keys have so many bits. */
  levelMax: 256,
  /** Nesting of objects and arrays in the text. */
  depthMax: 32,
} as const;

/** One leaf with its own proof. */
export interface BundleLeaf {
  /** The bytes of the leaf. */
  readonly leaf: Uint8Array;
  /** Place in `checkpoints`; null: the path leads to the root of its origin in the state head. */
  readonly checkpoint: number | null;
  /** From leaf to root, 32 bytes each; the leaf's index is its depth. */
  readonly inclusion: readonly Uint8Array[];
}

/** The last leaves of a tree, without gaps: with the frontier before them they make its root. */
export interface BundleRange {
  /** Place in `checkpoints`. */
  readonly checkpoint: number;
  /** Depth of the first leaf. */
  readonly from: number;
  /** Roots of the perfect subtrees of the leaves before, largest first, 32 bytes each: one for each 1 bit of `from`. */
  readonly frontier: readonly Uint8Array[];
  /** The bytes of the leaves of depth `from` to tree size − 1. */
  readonly leaves: readonly Uint8Array[];
}

/** A claim or a grant with its value in the state tree, which says when it ended. */
export interface StatedRecord {
  /** The bytes of the leaf: their hash is the key. */
  readonly leaf: Uint8Array;
  readonly value: Uint8Array;
  /** Halves from the root of the state tree to it. */
  readonly level: number;
}

/** What a state head proves: the records on the way with their endings. It replaces checkpoints and ranges. */
export interface BundleState {
  /** The whole signed note. */
  readonly head: string;
  readonly records: readonly StatedRecord[];
  /** The other halves of the records' paths, 32 bytes each, each of them once. */
  readonly siblings: readonly Uint8Array[];
}

export interface Bundle {
  /** The anchor that is traced. */
  readonly subject: AnchorId;
  /** The position of *now*. */
  readonly asOf: AsOf;
  /** Signed documents, ascending by version, the newest last. */
  readonly trustRoots: readonly string[];
  /** Signed notes, at most one for each origin. */
  readonly checkpoints: readonly string[];
  readonly leaves: readonly BundleLeaf[];
  readonly ranges: readonly BundleRange[];
  /** null: endings are proved by leaves. */
  readonly state: BundleState | null;
  /** What grants allow, as far as somebody has chosen to disclose it: one document for each scope_hash. */
  readonly scopes: readonly Scope[];
  /** The service's answer to tracing the subject as of `asOf`; it is unsigned. */
  readonly stated: BundleJson;
}

function stateJson({ head, records, siblings }: BundleState) {
  return {
    head,
    records: records.map(({ leaf, value, level }) => ({
      leaf: bytesToBase64(leaf),
      value: bytesToBase64(value),
      level,
    })),
    siblings: bytesToBase64(concatBytes(...siblings)),
  };
}

function scopesJson(scopes: readonly Scope[]): readonly ScopeJson[] {
  return scopes.map(scopeJson);
}

/** The members of the file, by their names in it. */
export function bundleToJson(bundle: Bundle) {
  const { subject, asOf, trustRoots, checkpoints, leaves, ranges, state, scopes, stated } = bundle;
  return {
    format: BUNDLE_FORMAT,
    subject: bytesToHex(subject),
    as_of: { sequence: asOf.sequence, time_ms: asOf.timeMs },
    trust_roots: [...trustRoots],
    checkpoints: [...checkpoints],
    leaves: leaves.map(({ leaf, checkpoint, inclusion }) => ({
      leaf: bytesToBase64(leaf),
      checkpoint,
      inclusion: inclusion.map(bytesToBase64),
    })),
    ranges: ranges.map((range) => ({
      checkpoint: range.checkpoint,
      from: range.from,
      frontier: range.frontier.map(bytesToBase64),
      leaves: range.leaves.map(bytesToBase64),
    })),
    ...(state === null ? {} : { state: stateJson(state) }),
    ...(scopes.length === 0 ? {} : { scopes: scopesJson(scopes) }),
    stated,
  };
}

/** One line of JSON and a newline. */
export function formatBundle(bundle: Bundle): string {
  return `${JSON.stringify(bundleToJson(bundle))}\n`;
}
