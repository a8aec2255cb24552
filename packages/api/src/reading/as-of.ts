import { formatRfc3339 } from "@event-anchoring/api-contract";
import type { AsOf as WantedAsOf, AsOfAnswer } from "@event-anchoring/api-contract";
import type { AsOf } from "@event-anchoring/records";
import type { Clock } from "@event-anchoring/telemetry";
import { problemError } from "../request/problem-error.ts";
import type { ConsistentRead } from "./consistent-read.ts";

/** Clocks of clients and nodes differ by this much at most before a time counts as the future. */
const FUTURE_MS_MAX = 5000;

/** Sequence of a position before the first leaf: every leaf is younger. */
const BEFORE_ALL = -1;

/** The position of a snapshot, as of now: at the node's time or the leaf's, whichever is later. */
export function nowAt({ sequence, acceptedMs }: AsOfPosition, clock: Clock): AsOf {
  return { sequence, timeMs: Math.max(clock.wallMs(), acceptedMs) };
}

interface AsOfPosition {
  readonly sequence: number;
  readonly acceptedMs: number;
}

/**
 * The position that a request means.
 * @param wanted null = now: the newest leaf applied, at the node's time or the leaf's, whichever is later
 * @throws ProblemError `as_of_future`
 */
export async function resolveAsOf(read: ConsistentRead, wanted: WantedAsOf | null, clock: Clock): Promise<AsOf> {
  if (wanted === null) {
    return nowAt(await read.select((reads) => reads.position()), clock);
  }
  if (wanted.kind === "sequence") {
    const { sequence } = wanted;
    const { acceptedMs } = await read.select((reads) => reads.acceptedMsOf(sequence));
    if (acceptedMs === null) throw problemError("as_of_future");
    return { sequence, timeMs: acceptedMs };
  }
  const { timeMs } = wanted;
  if (wanted.kind === "position") {
    const { sequence } = wanted;
    const { acceptedMs } = await read.select((reads) => reads.acceptedMsOf(sequence));
    if (acceptedMs === null || timeMs > Math.max(acceptedMs, clock.wallMs() + FUTURE_MS_MAX)) {
      throw problemError("as_of_future");
    }
    return { sequence, timeMs };
  }
  if (timeMs > clock.wallMs() + FUTURE_MS_MAX) throw problemError("as_of_future");
  const { sequence } = await read.select((reads) => reads.sequenceAtOrBefore(timeMs));
  return { sequence: sequence ?? BEFORE_ALL, timeMs };
}

export function asOfAnswer({ sequence, timeMs }: AsOf): AsOfAnswer {
  return { sequence: sequence < 0 ? null : sequence, time_ms: timeMs, time: formatRfc3339(timeMs) };
}
