/** Reads under heads that enough witnesses have cosigned. */
import { bytesToHex } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { StoreError } from "@event-anchoring/store";
import type { Logger } from "@event-anchoring/telemetry";
import { RefusedError } from "../control-plane/control-plane.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import type { Deadline } from "../request/deadline.ts";
import { ConsistentRead } from "./consistent-read.ts";
import type { ReadSources } from "./consistent-read.ts";

/** Where a leaf is. */
export interface LeafPlace {
  readonly originFingerprint: OriginFingerprint;
  readonly depth: number;
}

export interface WitnessedSources extends ReadSources {
  readonly controlPlane: Pick<ControlPlane, "read" | "awaitWitnessed">;
}

/** This part of a request's time is left for making the answer. */
const ANSWER_MS = 500;

/**
 * A read whose certificates cover these leaves and are witnessed; null if they are not in time.
 * @param mayWait false: only heads that are there already are taken
 * @throws RefusedError
 */
export async function witnessedRead(
  sources: WitnessedSources,
  leaves: readonly LeafPlace[],
  deadline: Deadline,
  mayWait = true,
): Promise<ConsistentRead | null> {
  const deepest = new Map<string, LeafPlace>();
  for (const leaf of leaves) {
    const key = bytesToHex(leaf.originFingerprint);
    if (leaf.depth >= (deepest.get(key)?.depth ?? 0)) deepest.set(key, leaf);
  }
  const waitMs = mayWait ? Math.max(0, deadline.remainingMs - ANSWER_MS) : 0;
  const ready = await Promise.all(
    [...deepest.values()].map(({ originFingerprint, depth }) =>
      // The tree of size depth + 1 is the first to hold the leaf.
      sources.controlPlane.awaitWitnessed(originFingerprint, depth, waitMs),
    ),
  );
  const certificates = ready.flatMap((each) => each.certificates);
  if (ready.length === 0 || certificates.length < ready.length) return null;
  const readIndex = Math.max(...ready.map((each) => each.readIndex));
  const trustRootVersion = Math.max(...ready.map((each) => each.trustRootVersion));
  return ConsistentRead.from({ readIndex, certificates, trustRootVersion, latest: null }, sources, deadline);
}

/** What comes of an attempt under witnessed heads; null: what is certified is answered as certified, whatever fails. */
export async function witnessedIfPossible<T>(attempt: () => Promise<T>, logger: Logger): Promise<T | null> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof RefusedError) && !(error instanceof StoreError)) throw error;
    logger.info("a receipt is not witnessed", { err: error });
    return null;
  }
}
