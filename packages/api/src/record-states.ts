import { claimStateAt, grantForceAt, grantStateOf } from "@event-anchoring/ledger";
import type { AsOf, GrantRecord, RecordState, Records } from "@event-anchoring/ledger";
import { LEAF_KIND } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import { resolveAsOf } from "./as-of.ts";
import type { ConsistentRead } from "./consistent-read.ts";
import { RefusedError } from "./ports.ts";
import type { Clock } from "./ports.ts";

/** States of claims and grants, by sequence. */
export type RecordStates = ReadonlyMap<number, RecordState>;

const NO_STATES: RecordStates = new Map();

/** What is missing was loaded by nobody: the tables contradict themselves. */
export function missingRecord(sequence: number): RefusedError {
  return new RefusedError("unavailable", `the record at ${sequence}, or what it hangs on, is not in the tables`);
}

/** @throws RefusedError `unavailable` if something that the grant hangs on is missing */
export function grantStateAt(grant: GrantRecord, at: AsOf, records: Records): RecordState {
  const force = grantForceAt(grant, at, records);
  if (!force.isComplete) throw missingRecord(grant.sequence);
  return grantStateOf(force);
}

function stateOf({ kind, sequence }: StoredAnchor, at: AsOf, records: Records): RecordState {
  if (kind === LEAF_KIND.claim) {
    const claim = records.claim(sequence);
    if (claim === null) throw missingRecord(sequence);
    return claimStateAt(claim, at);
  }
  const grant = records.grant(sequence);
  if (grant === null) throw missingRecord(sequence);
  return grantStateAt(grant, at, records);
}

/** The current states of the claims and grants among the anchors; where there are none, nothing is read. */
export async function loadStates(
  read: ConsistentRead,
  anchors: readonly StoredAnchor[],
  clock: Clock,
): Promise<RecordStates> {
  const ofKind = (wanted: StoredAnchor["kind"]): number[] =>
    anchors.filter(({ kind }) => kind === wanted).map(({ sequence }) => sequence);
  const [claims, grants] = [ofKind(LEAF_KIND.claim), ofKind(LEAF_KIND.grant)];
  if (claims.length + grants.length === 0) return NO_STATES;
  const at = await resolveAsOf(read, null, clock);
  const { records } = await read.select((reads) => reads.records({ claims, grants }, [at.sequence]));
  const stateful = anchors.filter(({ kind }) => kind === LEAF_KIND.claim || kind === LEAF_KIND.grant);
  return new Map(stateful.map((anchor) => [anchor.sequence, stateOf(anchor, at, records)]));
}
