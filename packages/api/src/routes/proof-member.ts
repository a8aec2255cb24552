import type { ProofAnswer } from "@event-anchoring/api-contract";
import type { BundleVerification } from "@event-anchoring/bundle";
import { RefusedError } from "../control-plane/control-plane.ts";
import { proveAuthority } from "../reading/prove-authority.ts";
import type { ToProve } from "../reading/prove-authority.ts";
import { rememberingCrypto } from "../reading/verdicts.ts";
import type { HandlerRequest, ReadDependencies } from "./handler.ts";

/**
 * The member `proof` of an answer, if the request asks for one. Each record in it costs as much as a hop.
 * @param agrees whether the proof says what the answer says
 * @throws ProblemError `proof_too_large`; RefusedError `unavailable` if it does not
 */
export async function proofMember(
  request: HandlerRequest,
  dependencies: ReadDependencies,
  { anchor, asOf }: Pick<ToProve, "anchor" | "asOf">,
  agrees: (verification: BundleVerification) => boolean,
): Promise<{ readonly proof?: ProofAnswer }> {
  const { state, deadline } = request;
  if (state === null) return {};
  const { states, trustRoots, crypto } = dependencies;
  if (states === undefined) throw new Error("no proof is made here");
  const sources = { states, trustRoots, crypto: rememberingCrypto(crypto) };
  const made = await proveAuthority({ anchor, asOf, state, deadline }, sources);
  request.spend({ hops: made.records });
  if (!agrees(made.verification)) throw new RefusedError("unavailable", "the proof differs from the answer");
  return { proof: made.json };
}
