import { formatProof, receiptFromJson } from "@event-anchoring/protocol";

/** A receipt as the text that lies beside a file. @throws ProofError it is none */
export function proofTextOf(receipt: unknown): string {
  return formatProof(receiptFromJson(receipt).receipt);
}
