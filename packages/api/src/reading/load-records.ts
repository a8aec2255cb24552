/** Claims and grants with the records they depend on: few statements, whatever their number. */
import { LoadedRecords, RecordStates, leavesInView, recordsInView, targetsInView } from "@event-anchoring/records";
import type { AsOf, ClaimRecord, RecordState, Records, RecordsInView } from "@event-anchoring/records";
import { LEAF_KIND, bytesToHex } from "@event-anchoring/protocol";
import type { AnchorId, LeafKind } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import type { Clock } from "@event-anchoring/telemetry";
import { RefusedError } from "../control-plane/control-plane.ts";
import { resolveAsOf } from "./as-of.ts";
import type { ConsistentRead } from "./consistent-read.ts";

/** Rows of one statement: a request for a long chain lets others run in between. */
const LEAVES_PER_SELECT = 1_000;

/** Revocations that one answer reads and shows. */
export const REVOCATIONS_MAX = 1_000;

/** The position and kind of an anchor, as its records need them. */
export interface AnchorPlace {
  readonly kind: LeafKind;
  readonly sequence: number;
}

/**
 * The records of the claims and grants among these anchors, with all that they depend on. If there are none, nothing is
 * read.
 */
export async function loadRecords(
  read: ConsistentRead,
  anchors: readonly AnchorPlace[],
  positions: readonly AsOf[],
): Promise<LoadedRecords> {
  const sequencesOf = (kind: LeafKind): number[] => [
    ...new Set(anchors.filter((anchor) => anchor.kind === kind).map(({ sequence }) => sequence)),
  ];
  const wanted = { claims: sequencesOf(LEAF_KIND.claim), grants: sequencesOf(LEAF_KIND.grant) };
  if (wanted.claims.length + wanted.grants.length === 0) return new LoadedRecords([], []);
  // A position before the first leaf has the sequence −1: nothing is recorded there.
  const sequences = positions.map(({ sequence }) => sequence).filter((sequence) => sequence >= 0);
  return (await read.select((reads) => reads.records(wanted, sequences))).records;
}

/** The tables contradict themselves: an anchor exists, and the record derived from it does not. */
export function missingRecord(sequence: number): RefusedError {
  return new RefusedError("unavailable", `the record at ${sequence}, or what it hangs on, is not in the tables`);
}

/** Returns the state of a claim or a grant; null for other kinds. */
export type StateOf = (anchor: AnchorPlace) => RecordState | null;

/** @throws RefusedError `unavailable` (when asked) if the record of a claim or a grant is missing */
export function statesAt(records: Records, at: AsOf): StateOf {
  const states = new RecordStates(records, at);
  return ({ kind, sequence }) => {
    if (kind === LEAF_KIND.claim) {
      const claim = records.claim(sequence);
      if (claim === null) throw missingRecord(sequence);
      return states.claim(claim);
    }
    if (kind !== LEAF_KIND.grant) return null;
    const grant = records.grant(sequence);
    if (grant === null) throw missingRecord(sequence);
    return states.grant(grant);
  };
}

/** The current states of the claims and grants among the anchors; if there are none, nothing is read. */
export async function loadStates(
  read: ConsistentRead,
  anchors: readonly AnchorPlace[],
  clock: Clock,
): Promise<StateOf> {
  if (!anchors.some(({ kind }) => kind === LEAF_KIND.claim || kind === LEAF_KIND.grant)) return () => null;
  const at = await resolveAsOf(read, null, clock);
  return statesAt(await loadRecords(read, anchors, [at]), at);
}

/** The rows that a judgement of claims and grants needs. */
export interface LoadedEvidence {
  readonly records: LoadedRecords;
  readonly leaves: readonly StoredAnchor[];
  /** Ascending by sequence. */
  readonly revocations: readonly StoredAnchor[];
  /** The records that are judged: those on the way, and of each lineage the newest claim at each position. */
  readonly inView: RecordsInView;
}

/** The existing ones, in this order. */
export async function loadLeaves(read: ConsistentRead, sequences: readonly number[]): Promise<StoredAnchor[]> {
  const leaves: StoredAnchor[] = [];
  for (let from = 0; from < sequences.length; from += LEAVES_PER_SELECT) {
    const page = sequences.slice(from, from + LEAVES_PER_SELECT);
    const { anchors } = await read.select((reads) => reads.anchorsBySequence(page));
    for (const anchor of anchors) if (anchor !== null) leaves.push(anchor);
  }
  return leaves;
}

async function loadRevocations(read: ConsistentRead, view: RecordsInView, at: AsOf): Promise<readonly StoredAnchor[]> {
  const targets = targetsInView(view);
  if (targets.length === 0) return [];
  const { revocations } = await read.select((reads) => reads.revocationsOf(targets, at.sequence, REVOCATIONS_MAX));
  return revocations;
}

/**
 * The leaves that records are compared with, and their revocations, up to a position.
 * @param positions the positions at which the records are judged; `at` among them
 * @param hopsMax links of a chain whose leaves are read
 */
export async function loadEvidence(
  read: ConsistentRead,
  shown: RecordsInView,
  records: LoadedRecords,
  { at, positions, hopsMax }: { readonly at: AsOf; readonly positions: readonly AsOf[]; readonly hopsMax: number },
): Promise<LoadedEvidence> {
  const view = recordsInView(shown, records, positions, hopsMax);
  const [leaves, revocations] = await Promise.all([
    loadLeaves(read, leavesInView(view, at)),
    loadRevocations(read, view, at),
  ]);
  return { records, leaves, revocations, inView: view };
}

/** The existing anchors of those ids, of any kind. */
export function foundAmong(
  anchors: ReadonlyMap<string, StoredAnchor>,
  ids: readonly AnchorId[] | null,
): readonly StoredAnchor[] {
  return (ids ?? []).flatMap((id) => anchors.get(bytesToHex(id)) ?? []);
}

/** Claims that are trusted to grant without a parent. An id that is not a claim's adds none. */
export function trustedClaims(
  ids: readonly AnchorId[] | null,
  anchors: ReadonlyMap<string, StoredAnchor>,
  records: Records,
): readonly ClaimRecord[] | null {
  if (ids === null) return null;
  return foundAmong(anchors, ids).flatMap(({ sequence }) => records.claim(sequence) ?? []);
}
