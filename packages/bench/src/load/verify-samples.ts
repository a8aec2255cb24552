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

type Fields = Partial<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** @param checkpoints of the answer, which its shared receipts name by their place */
function receiptsIn(answer: unknown, checkpoints: readonly unknown[] = []): readonly unknown[] {
  const { anchor, receipt, shared_receipt: shared, results, checkpoints: own } = fieldsOf(answer);
  if (Array.isArray(results)) {
    const named: readonly unknown[] = Array.isArray(own) ? own : [];
    return results.flatMap((result: unknown) => receiptsIn(result, named));
  }
  if (shared !== undefined && shared !== null) return [wholeReceipt(fieldsOf(anchor), fieldsOf(shared), checkpoints)];
  return receipt === undefined || receipt === null ? [] : [receipt];
}

/** The anchor's id, the fields of the shared receipt, and those of the checkpoint that it names. */
function wholeReceipt(anchor: Fields, { checkpoint, ...own }: Fields, checkpoints: readonly unknown[]): unknown {
  return { anchor_id: anchor["anchor_id"], ...own, ...fieldsOf(checkpoints[Number(checkpoint)]) };
}
