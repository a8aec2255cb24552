import { setTimeout as delay } from "node:timers/promises";
import { OperatorCallError, issueOperatorCertificate, readNodeStatus } from "@event-anchoring/provision";
import type { CalledNode } from "@event-anchoring/provision";

export interface ControlPlaneWait {
  /** The cluster's folder. */
  readonly outDir: string;
  readonly node: CalledNode;
  readonly timeoutMs: number;
  /** Asked before every call; false ends the waiting. */
  readonly isWanted: () => boolean;
}

const POLL_MS = 50;
const CALL_TIMEOUT_MS = 2000;

/** Waits until a control plane answers an operator's question for its status, whatever that is, or the time is over. */
export async function awaitControlPlane({ outDir, node, timeoutMs, isWanted }: ControlPlaneWait): Promise<void> {
  const credential = await issueOperatorCertificate({ outDir, operatorId: "embedded" });
  const giveUpAt = performance.now() + timeoutMs;
  while (isWanted() && performance.now() < giveUpAt) {
    try {
      await readNodeStatus({ credential, node, timeoutMs: CALL_TIMEOUT_MS });
      return;
    } catch (error) {
      if (!(error instanceof OperatorCallError)) throw error;
      await delay(POLL_MS);
    }
  }
}
