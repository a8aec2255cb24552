/** Questions for verdicts: what is asked of the service, and what the answer has to be about. */
import type { Operation } from "./caller.ts";
import type { ProofExpectation } from "./held-proof.ts";
import { hex32 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import type { JsonBody } from "./json-body.ts";
import { anchorPath, asOfBody, asOfQuery, hexList } from "./query-inputs.ts";
import type { ChainQuestion, PageInput, ProvableQuestion, VerifyEventQuestion } from "./query-inputs.ts";

export interface VerdictQuestion {
  readonly operation: Operation;
  readonly expectation: ProofExpectation;
  readonly wantsProof: boolean;
}

const WITH_PROOF = { proof: "true" } as const;

function question(
  path: string,
  anchorId: Bytes32,
  asked: ProvableQuestion & Pick<VerifyEventQuestion, "eventHash">,
  more: JsonBody = {},
): VerdictQuestion {
  const { asOf, eventHash, proof: wantsProof = false } = asked;
  const body = { anchor_id: hex32("anchorId", anchorId), ...more, ...asOfBody(asOf) };
  return {
    operation: { method: "POST", path, body, ...(wantsProof ? { query: WITH_PROOF } : {}) },
    expectation: { anchorId, eventHash },
    wantsProof,
  };
}

/** @throws InvalidInput */
export function eventToVerify(anchorId: Bytes32, asked: VerifyEventQuestion): VerdictQuestion {
  const { eventHash } = asked;
  const more = eventHash === undefined ? {} : { event_hash: hex32("eventHash", eventHash) };
  return question("/v1/event-anchors:verify", anchorId, asked, more);
}

/** @throws InvalidInput */
export function claimToVerify(anchorId: Bytes32, asked: ProvableQuestion): VerdictQuestion {
  return question("/v1/claim-anchors:verify", anchorId, asked);
}

/** @throws InvalidInput */
export function grantToVerify(anchorId: Bytes32, asked: ChainQuestion): VerdictQuestion {
  const roots = asked.trustedRoots;
  const more = roots === undefined ? {} : { trusted_roots: hexList("trustedRoots", roots) };
  return question("/v1/grant-anchors:verify", anchorId, asked, more);
}

/** A page of hops; the first one carries the proof, which is of all of them. @throws InvalidInput */
export function pageToTrace(
  anchorId: Bytes32,
  asked: ChainQuestion & PageInput,
  delegationCursor: string | null,
): VerdictQuestion {
  const { asOf, trustedRoots, cursor, limit } = asked;
  const trusted_roots = trustedRoots === undefined ? null : hexList("trustedRoots", trustedRoots).join(",");
  const wantsProof = asked.proof === true && delegationCursor === null;
  const query = { as_of: asOfQuery(asOf), trusted_roots, cursor, limit, delegation_cursor: delegationCursor };
  return {
    operation: { path: `${anchorPath(anchorId)}/trace`, query: wantsProof ? { ...query, ...WITH_PROOF } : query },
    expectation: { anchorId },
    wantsProof,
  };
}
