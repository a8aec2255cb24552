import { nodeCrypto } from "@event-anchoring/node-crypto";
import { formatProof, parseProof, receiptFromJson, receiptToJson } from "@event-anchoring/protocol";
import type { ReceiptJson } from "@event-anchoring/protocol";

/** A receipt as the text that lies beside a file. @throws ProofError it is none */
export function proofTextOf(receipt: unknown): string {
  return formatProof(receiptFromJson(receipt).receipt);
}

/** The receipt in such a text, on the wire. @throws ProofError there is none */
export function receiptOfProof(text: string): ReceiptJson {
  return receiptToJson(parseProof(text), 1, nodeCrypto.sha256);
}
