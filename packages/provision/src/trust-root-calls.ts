/** An operator's calls about trust roots and membership. */
import {
  UNARY_CALLS,
  decodeMembership,
  decodeOperatorResult,
  decodeTrustRootChain,
} from "@event-anchoring/control-contract";
import type { Membership, OperatorResult } from "@event-anchoring/control-contract";
import { utf8ToBytes } from "@event-anchoring/protocol";
import { callOperator, decoded } from "./operator.ts";
import type { CallOptions } from "./operator.ts";

/** Proposes a signed trust root as the next version. Sending it again is safe. @throws OperatorCallError */
export async function proposeTrustRoot(options: CallOptions & { readonly document: string }): Promise<OperatorResult> {
  const answer = await callOperator(options, UNARY_CALLS.propose_trust_root, utf8ToBytes(options.document));
  return decoded(() => decodeOperatorResult(answer));
}

/** The group as that node sees it. @throws OperatorCallError */
export async function readMembership(options: CallOptions): Promise<Membership> {
  const answer = await callOperator(options, UNARY_CALLS.membership, new Uint8Array(0));
  return decoded(() => decodeMembership(answer));
}

/** Signed documents, oldest first, to be verified from a pin by the caller. @throws OperatorCallError */
export async function readTrustRootChain(options: CallOptions): Promise<readonly string[]> {
  const answer = await callOperator(options, UNARY_CALLS.trust_root, new Uint8Array(0));
  return decoded(() => decodeTrustRootChain(answer));
}
