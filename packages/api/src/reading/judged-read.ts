import type { AsOf as WantedAsOf } from "@event-anchoring/api-contract";
import type { AsOf } from "@event-anchoring/records";
import { bytesToHex } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import type { Clock } from "@event-anchoring/telemetry";
import type { Deadline } from "../request/deadline.ts";
import { loadAnchors } from "./anchor-view.ts";
import type { SignedState } from "../control-plane/hold-state.ts";
import { resolveAsOf } from "./as-of.ts";
import { ConsistentRead } from "./consistent-read.ts";
import type { ReadSources } from "./consistent-read.ts";
import { headOf, resolveInState } from "./state-position.ts";

/** A read, the position at which it judges, and the anchors that it is about. */
export interface JudgedRead {
  readonly read: ConsistentRead;
  readonly asOf: AsOf;
  /** By the hex of their ids, those that exist. */
  readonly anchors: ReadonlyMap<string, StoredAnchor>;
}

/**
 * Begins to judge anchors, in two round trips. If a proof is asked for: at a position that the signed state proves.
 * @throws ProblemError `as_of_future`; RefusedError
 */
export async function beginJudgedRead(
  { deadline, state }: { readonly deadline: Deadline; readonly state: SignedState | null },
  dependencies: ReadSources & { readonly clock: Clock },
  ids: readonly AnchorId[],
  wantedAsOf: WantedAsOf | null,
): Promise<JudgedRead> {
  const { clock } = dependencies;
  const distinct = new Map(ids.map((id) => [bytesToHex(id), id]));
  const read = await ConsistentRead.begin(dependencies, "all", deadline);
  const [anchors, early] = await Promise.all([
    loadAnchors(read, [...distinct.values()]),
    state === null ? resolveAsOf(read, wantedAsOf, clock) : resolveInState(read, wantedAsOf, headOf(state)),
  ]);
  // Two statements run at once: one may see an anchor before the other sees where the ledger ends.
  const isOfNow = wantedAsOf === null && state === null;
  const isOvertaken = isOfNow && anchors.some(({ sequence }) => sequence > early.sequence);
  const asOf = isOvertaken ? await resolveAsOf(read, null, clock) : early;
  return { read, asOf, anchors: new Map(anchors.map((anchor) => [bytesToHex(anchor.anchorId), anchor])) };
}
