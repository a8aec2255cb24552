/**
 * The pure half of making a bundle with a state head: which rows it needs, and how their proofs are combined. The
 * caller looks up rows and proofs, all of them in the state of one head. docs/PROTOCOL.md, "Bundle".
 */
import { LEAF_KIND, bytesToHex, shareStateProofs } from "@event-anchoring/protocol";
import type { AnchorId, Leaf, StateProof } from "@event-anchoring/protocol";
import { encodeStatedClaim, encodeStatedGrant, isEvent, leavesInView, recordsInView } from "@event-anchoring/records";
import type { AnchorFact, AsOf, ClaimRecord, GrantRecord, Records, RecordsInView } from "@event-anchoring/records";
import type { Bundle, BundleLeaf, StatedRecord } from "./bundle.ts";
import type { BundleJson } from "../json/strict-json.ts";

export interface StateBundleSubject {
  readonly leaf: Leaf;
  readonly asOf: AsOf;
  /** By hex, the anchors that the subject refers to; of a revocation, its target. */
  readonly references: ReadonlyMap<string, Pick<AnchorFact, "sequence">>;
}

/** Sequences of the claims and grants that the verdicts are about. */
function shownOf({ leaf, references }: StateBundleSubject): number[] {
  if (leaf.kind === LEAF_KIND.claim || leaf.kind === LEAF_KIND.grant) return [leaf.sequence];
  if (!isEvent(leaf)) return [];
  const { irisRef, grantRef } = leaf.semanticAnchor;
  return [irisRef, grantRef].flatMap((id) => references.get(bytesToHex(id))?.sequence ?? []);
}

/** The records that are proved in the state tree: those that the verdicts depend on. */
export function recordsOfStateBundle(subject: StateBundleSubject, records: Records): RecordsInView {
  const { leaf, asOf } = subject;
  const shown = shownOf(subject);
  return recordsInView(
    {
      claims: shown.map((sequence) => records.claim(sequence)).filter((claim) => claim !== null),
      grants: shown.map((sequence) => records.grant(sequence)).filter((grant) => grant !== null),
    },
    records,
    [{ sequence: leaf.sequence, timeMs: leaf.acceptedMs }, asOf],
    Number.MAX_SAFE_INTEGER,
  );
}

/** The leaves that prove a position: its own, and if its time is a later one, the next. The head proves the newest. */
function leavesOfPosition(asOf: AsOf, { newest, leafMs }: StateBundleHead): number[] {
  if (asOf.sequence >= newest) return [];
  return asOf.timeMs === leafMs ? [asOf.sequence] : [asOf.sequence, asOf.sequence + 1];
}

export interface StateBundleHead {
  /** Sequence of the newest leaf that the head covers. */
  readonly newest: number;
  /** Time of the leaf at the sequence of `asOf`. */
  readonly leafMs: number;
}

/**
 * Sequences of the other leaves, which are proved in the trees of their origins, ascending.
 * @param revocations sequences of all revocations of the records in view up to `asOf`
 */
export function leavesOfStateBundle(
  { leaf, asOf, references }: StateBundleSubject,
  view: RecordsInView,
  revocations: readonly number[],
  head: StateBundleHead,
): number[] {
  const inTree = new Set([...view.claims, ...view.grants].map(({ sequence }) => sequence));
  const referred = [...references.values()].map(({ sequence }) => sequence);
  const position = inTree.size === 0 ? [] : leavesOfPosition(asOf, head);
  const all = new Set([leaf.sequence, ...referred, ...leavesInView(view, asOf), ...revocations, ...position]);
  return [...all].filter((sequence) => !inTree.has(sequence)).sort((a, b) => a - b);
}

/** A record with its leaf and the proof that its value is in the state tree. */
export interface RecordInState {
  readonly leaf: Uint8Array;
  readonly value: Uint8Array;
  /** It ends at the record's own key. */
  readonly proof: StateProof;
}

/** The value that the state tree has for a record. */
export function stateValueOf(record: ClaimRecord | GrantRecord): Uint8Array {
  return "lineage" in record ? encodeStatedClaim(record) : encodeStatedGrant(record);
}

export interface StateBundleParts {
  readonly subject: AnchorId;
  readonly asOf: AsOf;
  readonly trustRoots: readonly string[];
  /** The whole signed note. */
  readonly head: string;
  readonly records: readonly RecordInState[];
  /** Each with its path to the root that the head gives for its origin. */
  readonly leaves: readonly Pick<BundleLeaf, "leaf" | "inclusion">[];
  readonly stated: BundleJson;
}

/** It verifies nothing: the caller runs verifyBundle before passing the bundle on. */
export function assembleStateBundle({ subject, asOf, trustRoots, stated, ...parts }: StateBundleParts): Bundle {
  const proved = parts.records.map(({ proof: { end, siblings } }) => {
    if (end === null) throw new RangeError("a record is not in the state tree");
    return { ...end, siblings };
  });
  const records = parts.records.map(({ leaf, value, proof }): StatedRecord => ({
    leaf,
    value,
    level: proof.siblings.length,
  }));
  return {
    subject,
    asOf,
    trustRoots,
    checkpoints: [],
    leaves: parts.leaves.map(({ leaf, inclusion }) => ({ leaf, checkpoint: null, inclusion })),
    ranges: [],
    state: { head: parts.head, records, siblings: shareStateProofs(proved) },
    scopes: [],
    stated,
  };
}
