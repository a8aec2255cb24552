/**
 * The pure half of making a bundle: what to fetch, and how the answers are combined. The caller does the fetching.
 * docs/PROTOCOL.md, "Bundle".
 */
import {
  DecodeError,
  compareBytes,
  decodeLeaf,
  proveInclusion,
  subtreesForInclusion,
  subtreesOfSize,
} from "@event-anchoring/protocol";
import type { AnchorId, HashAt, OriginFingerprint, Sha256, Subtree } from "@event-anchoring/protocol";
import type { Bundle, BundleLeaf, BundleRange } from "./bundle.ts";
import type { BundleJson } from "../json/strict-json.ts";
import type { AsOf } from "@event-anchoring/records";

/** The data fetched for one origin. */
export interface OriginPart {
  readonly originFingerprint: OriginFingerprint;
  /** The whole signed note. */
  readonly checkpoint: string;
  readonly treeSize: number;
  /** Looks up the hashes that subtreesForPart names. */
  readonly hashAt: HashAt;
  /** Single leaves that are wanted; repeats, and those of the range, are left out. */
  readonly leaves: readonly Uint8Array[];
  /** The last leaves of the tree, from a depth on; null: none are wanted. */
  readonly range: { readonly from: number; readonly leaves: readonly Uint8Array[] } | null;
}

export interface BundleParts {
  readonly subject: AnchorId;
  readonly asOf: AsOf;
  /** Signed documents, ascending by version. Fetched last, so that no version that a leaf names is missing. */
  readonly trustRoots: readonly string[];
  readonly origins: readonly OriginPart[];
  readonly stated: BundleJson;
}

/** The perfect subtrees whose hashes prove leaves of these depths and begin a range. Without repeats. */
export function subtreesForPart(treeSize: number, depths: readonly number[], from: number | null): Subtree[] {
  const wanted = new Map<string, Subtree>();
  const all = [
    ...depths.flatMap((depth) => subtreesForInclusion(depth, treeSize)),
    ...(from === null ? [] : subtreesOfSize(from)),
  ];
  for (const subtree of all) wanted.set(`${subtree.level}/${subtree.index}`, subtree);
  return [...wanted.values()];
}

function rangeOf({ range, hashAt }: OriginPart, checkpoint: number): BundleRange[] {
  if (range === null) return [];
  const { from, leaves } = range;
  const frontier = subtreesOfSize(from).map(({ level, index }) => hashAt(level, index));
  return [{ checkpoint, from, frontier, leaves }];
}

/** Ascending by depth. */
function leavesOf(part: OriginPart, checkpoint: number, sha256: Sha256): BundleLeaf[] {
  const { treeSize, hashAt, range } = part;
  const end = range?.from ?? treeSize;
  const byDepth = new Map(part.leaves.map((leaf) => [decodeLeaf(leaf).depth, leaf]));
  return [...byDepth]
    .filter(([depth]) => depth < end)
    .sort(([a], [b]) => a - b)
    .map(([depth, leaf]) => ({ leaf, checkpoint, inclusion: proveInclusion(depth, treeSize, hashAt, sha256) }));
}

/**
 * Assembles a bundle: origins ascending by fingerprint, those without wanted leaves left out. It verifies nothing: the
 * caller runs verifyBundle before passing the bundle on.
 * @throws DecodeError if a single leaf is malformed; whatever `hashAt` throws
 */
export function assembleBundle(parts: BundleParts, sha256: Sha256): Bundle {
  const origins = parts.origins
    .filter(({ leaves, range }) => leaves.length > 0 || range !== null)
    .sort((a, b) => compareBytes(a.originFingerprint, b.originFingerprint));
  return {
    subject: parts.subject,
    asOf: parts.asOf,
    trustRoots: parts.trustRoots,
    checkpoints: origins.map(({ checkpoint }) => checkpoint),
    leaves: origins.flatMap((part, at) => leavesOf(part, at, sha256)),
    ranges: origins.flatMap(rangeOf),
    state: null,
    scopes: [],
    stated: parts.stated,
  };
}

function sequenceOf(bytes: Uint8Array): number[] {
  try {
    return [decodeLeaf(bytes).sequence];
  } catch (error) {
    if (error instanceof DecodeError) return [];
    throw error;
  }
}

/**
 * The newest sequence up to which no leaf is missing: the position to judge at, if a bundle is to prove everything in
 * it.
 * @param after the oldest claim or grant that the trace names
 * @param leaves bytes of the fetched leaves, in any order
 */
export function completeUpTo(after: number, leaves: readonly Uint8Array[]): number {
  const held = new Set(leaves.flatMap(sequenceOf));
  let sequence = after;
  while (held.has(sequence + 1)) sequence++;
  return sequence;
}

/** A pair whose newest claims belong in a bundle. */
export interface WantedPair {
  /** 64 hex digits. */
  readonly entityFingerprint: string;
  readonly attributeType: number;
}

/** What a bundle has to contain, as far as a trace shows. */
export interface WantedOfTrace {
  /** Anchor ids, 64 hex digits, without repeats: the subject first. */
  readonly anchorIds: readonly string[];
  /** Pairs of the claims on the way: the newest claim of the same pair may decide for the lineage of a named one. */
  readonly pairs: readonly WantedPair[];
  /** Sequence of the oldest claim or grant on the way: ranges begin after it. null: there is none. */
  readonly after: number | null;
}

/** The fields of the service's answer that are read here. */
export interface TraceToBundle {
  readonly anchor: TracedAnchor;
  readonly actor: { readonly claim: TracedAnchor | null };
  readonly delegation: readonly {
    readonly grant: TracedAnchor;
    readonly grantor_claim: TracedAnchor;
    readonly grantee_claim: TracedAnchor;
  }[];
  readonly revocations: readonly { readonly anchor: TracedAnchor }[];
  readonly references: readonly { readonly field: string; readonly anchor_id: string; readonly exists: boolean }[];
}

export interface TracedAnchor {
  readonly anchor_id: string;
  readonly kind: string;
  readonly sequence: number;
  readonly entity_fingerprint?: string;
  readonly attribute_type?: number;
  readonly target_anchor_id?: string;
}

function pairsOf(claims: readonly TracedAnchor[]): WantedPair[] {
  const pairs = new Map<string, WantedPair>();
  for (const { entity_fingerprint: entityFingerprint, attribute_type: attributeType } of claims) {
    if (entityFingerprint === undefined || attributeType === undefined) continue;
    pairs.set(`${entityFingerprint}/${attributeType}`, { entityFingerprint, attributeType });
  }
  return [...pairs.values()];
}

/**
 * What to fetch after GET /v1/event-anchors/{anchor_id}/trace. A chain of more hops than the answer shows has further
 * ancestors, which are found by their `parent_grant_ref`.
 */
export function wantedOfTrace(trace: TraceToBundle): WantedOfTrace {
  const { anchor, actor, delegation, revocations, references } = trace;
  const grants = [...delegation.map(({ grant }) => grant), ...(anchor.kind === "grant" ? [anchor] : [])];
  const claims = [
    ...(actor.claim === null ? [] : [actor.claim]),
    ...(anchor.kind === "claim" ? [anchor] : []),
    ...delegation.flatMap((hop) => [hop.grantor_claim, hop.grantee_claim]),
  ];
  const records = [...claims, ...grants];
  const ids = [
    anchor.anchor_id,
    ...(anchor.target_anchor_id === undefined ? [] : [anchor.target_anchor_id]),
    ...records.map(({ anchor_id: id }) => id),
    ...revocations.map((each) => each.anchor.anchor_id),
    ...references.flatMap((each) => (each.exists ? [each.anchor_id] : [])),
  ];
  const after = records.length === 0 ? null : Math.min(...records.map(({ sequence }) => sequence));
  return { anchorIds: [...new Set(ids)], pairs: pairsOf(claims), after };
}
