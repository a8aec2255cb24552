/** Fetches the receipt of an anchor, and judges it as if it had been dropped. */
import { ProofError, hexToBytes, receiptFromJson } from "@event-anchoring/protocol";
import { short } from "@event-anchoring/verdicts";
import type { JudgedBy } from "@event-anchoring/verdicts";
import { judgeReceipt } from "../check/judge-receipt.ts";
import type { Judged } from "../check/judged.ts";
import type { NodeService } from "./node-service.ts";
import { refusalText } from "./refusal.ts";

/** What came back for an anchor id: a receipt, whose verdict depends on the pin of the moment; or why there is none. */
export type ProvedAnchor = { readonly anchorId: string } & (
  | { readonly refusal: null; readonly judge: (judgedBy: JudgedBy) => Judged }
  | { readonly refusal: string }
);

export async function proveAnchor(service: NodeService, anchorId: string): Promise<ProvedAnchor> {
  try {
    const stated = await service.receiptOf(anchorId);
    const { receipt, anchorId: statedId } = receiptFromJson(stated);
    const given = { kind: "receipt", name: `anchor ${short(anchorId)}`, size: 0, receipt, statedId } as const;
    // The id that was asked for is what the receipt must be of.
    const expected = { anchorId: hexToBytes(anchorId, 32), eventHash: null, requireWitnessed: false };
    const judge = (judgedBy: JudgedBy): Judged => judgeReceipt(given, judgedBy, expected, { files: [], receipts: [] });
    return { anchorId, refusal: null, judge };
  } catch (error) {
    if (error instanceof ProofError) return { anchorId, refusal: `NOT VALID (${error.code}): ${error.message}` };
    return { anchorId, refusal: refusalText(error, service.hasKey) };
  }
}
