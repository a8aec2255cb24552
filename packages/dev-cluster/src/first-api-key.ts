import { setTimeout as delay } from "node:timers/promises";
import {
  OperatorCallError,
  act,
  drawApiKey,
  issueOperatorCertificate,
  loadFirstOperator,
} from "@event-anchoring/provision";
import type { CalledNode } from "@event-anchoring/provision";

export interface FirstApiKeyOptions {
  readonly outDir: string;
  readonly nodes: readonly CalledNode[];
  readonly timeoutMs: number;
}

const RETRY_MS = 150;
const CALL_TIMEOUT_MS = 3000;

/**
 * Makes the cluster's first API key by an operator call, which any node takes once the cluster has a leader and its
 * genesis is applied. The call is repeated, with the same key, until a node has answered that it is applied.
 */
export async function makeFirstApiKey(options: FirstApiKeyOptions): Promise<string> {
  const credential = await issueOperatorCertificate({ outDir: options.outDir, operatorId: "embedded" });
  const signer = await loadFirstOperator(options.outDir);
  const key = drawApiKey({ label: "embedded default", scopes: ["read", "write", "revoke"] });
  const giveUpAt = performance.now() + options.timeoutMs;
  let newestRefusal = "no node was asked";
  for (let attempt = 0; performance.now() < giveUpAt; attempt++) {
    const node = options.nodes[attempt % options.nodes.length];
    if (node === undefined) break;
    try {
      const result = await act({ credential, signer, node, call: key.call, timeoutMs: CALL_TIMEOUT_MS });
      if (result.outcome !== "rejected" && result.outcome !== "refused") return key.apiKey;
      newestRefusal = `${node.nodeId}: ${result.code}: ${result.detail}`;
    } catch (error) {
      if (!(error instanceof OperatorCallError)) throw error;
      newestRefusal = `${node.nodeId}: ${error.message}`;
    }
    await delay(RETRY_MS);
  }
  throw new Error(`the first API key could not be made in ${options.timeoutMs} ms (${newestRefusal})`);
}
