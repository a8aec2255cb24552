import { nodeCrypto } from "@event-anchoring/node-crypto";
import { receiptFromJson, verifyReceipt } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";

/** How many of these answers (single or batch) hold only receipts that verify offline. @throws for one that does not */
export function verifySamples(answers: readonly string[], trustRoots: TrustRootChain): number {
  let count = 0;
  for (const answer of answers) {
    for (const value of receiptsIn(JSON.parse(answer))) {
      const { receipt, anchorId } = receiptFromJson(value);
      const { failure } = verifyReceipt({ receipt, trustRoots, expect: { anchorId } }, nodeCrypto);
      if (failure !== null) throw new Error(`a receipt does not verify: ${failure.step} ${failure.code}`);
      count += 1;
    }
  }
  return count;
}

function receiptsIn(answer: unknown): readonly unknown[] {
  if (typeof answer !== "object" || answer === null) return [];
  const { receipt, results }: { receipt?: unknown; results?: unknown } = answer;
  if (Array.isArray(results)) return results.flatMap((result: unknown) => receiptsIn(result));
  return receipt === undefined || receipt === null ? [] : [receipt];
}
