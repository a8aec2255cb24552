/** The positions as of which a chain can be looked at: from the act to the newest one that the bundle shows. */
import type { BundleVerification } from "@event-anchoring/bundle";
import { LEAF_KIND, bytesToHex, decodeLeaf } from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import { isoMs } from "@event-anchoring/verdicts";
import type { BundleLeafEntry } from "./bundle-leaves.ts";

/** A stop of the slider. */
export interface Stop {
  readonly sequence: number;
  readonly timeMs: number;
  /** What happens there. */
  readonly label: string;
}

/** More than a slider can be moved over with a hand. */
const STOPS_MAX = 500;

const CHANGES: Readonly<Partial<Record<Leaf["kind"], string>>> = {
  [LEAF_KIND.claim]: "a claim is recorded",
  [LEAF_KIND.grant]: "a grant is recorded",
  [LEAF_KIND.revocation]: "a revocation is recorded",
};

/** Times at which a window of a record on the way begins or ends. */
function windowTimes({ trace }: BundleVerification): { timeMs: number; label: string }[] {
  const shown = [
    ...(trace?.delegation.hops ?? []).flatMap(({ grant, grantorClaim, granteeClaim }) => [
      grant,
      grantorClaim,
      granteeClaim,
    ]),
    ...(trace?.actor.claim === null || trace === null ? [] : [trace.actor.claim]),
  ];
  const seen = new Set<string>();
  return shown.flatMap(({ anchorId, bytes }) => {
    const id = bytesToHex(anchorId);
    if (seen.has(id)) return [];
    seen.add(id);
    const leaf = decodeLeaf(bytes);
    if (leaf.kind === LEAF_KIND.claim) return timed(leaf.expiresAt, "a claim expires");
    if (leaf.kind !== LEAF_KIND.grant) return [];
    return [...timed(leaf.notBefore, "a grant's window begins"), ...timed(leaf.expiresAt, "a grant's window ends")];
  });
}

function timed(timeMs: number, label: string): { timeMs: number; label: string }[] {
  return timeMs === 0 ? [] : [{ timeMs, label }];
}

/**
 * The act, every later change that the bundle holds, and its own position at last. Between two stops nothing changes
 * that the bundle shows.
 */
export function stopsOf(
  verification: BundleVerification,
  leaves: ReadonlyMap<string, BundleLeafEntry>,
): readonly Stop[] {
  const { leaf: subject, asOf } = verification;
  if (subject === null) return [];
  const act = { sequence: subject.sequence, timeMs: subject.acceptedMs, label: "the act itself" };
  const inside = [...leaves.values()].filter(
    ({ leaf }) => leaf.sequence > subject.sequence && leaf.sequence <= asOf.sequence && leaf.acceptedMs <= asOf.timeMs,
  );
  const changes = inside.flatMap(({ leaf: { kind, sequence, acceptedMs } }) => {
    const label = CHANGES[kind];
    return label === undefined ? [] : [{ sequence, timeMs: acceptedMs, label }];
  });
  const windows = windowTimes(verification)
    .filter(({ timeMs }) => timeMs > act.timeMs && timeMs < asOf.timeMs)
    .map(({ timeMs, label }) => {
      const before = inside.filter(({ leaf }) => leaf.acceptedMs <= timeMs).at(-1);
      return { sequence: before?.leaf.sequence ?? act.sequence, timeMs, label };
    });
  const own = { ...asOf, label: "the newest position of this bundle" };
  const isOwn = (stop: Stop): boolean => stop.sequence === own.sequence && stop.timeMs === own.timeMs;
  const between = [...changes, ...windows].filter((stop) => !isOwn(stop));
  const ordered = between.toSorted((a, b) => a.timeMs - b.timeMs || a.sequence - b.sequence).slice(-STOPS_MAX);
  return isOwn(act) ? [act] : [act, ...ordered, own];
}

export function stopText({ sequence, timeMs }: Stop): string {
  return `sequence ${sequence}, ${isoMs(timeMs)}`;
}
