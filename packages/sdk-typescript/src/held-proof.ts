/** Holds the proof of a verdict against the answer that it came with. */
import type { BundleVerification } from "@event-anchoring/bundle";
import type { TrustRootChain } from "@event-anchoring/protocol";
import type { AsOfAnswer, Trace, Verified, VerifiedClaim } from "./authority-answers.ts";
import { UnexpectedAnswer, VerificationError } from "./errors.ts";
import type { Bytes32 } from "./inputs.ts";
import { verifyBundle } from "./verify-bundle.ts";

/** An answer that may carry a proof. */
export interface ProvedAnswer {
  readonly asOf: AsOfAnswer;
  readonly proof: Uint8Array | null;
}

/** What was asked for. */
export interface ProofExpectation {
  readonly anchorId: Bytes32;
  readonly eventHash?: Bytes32 | undefined;
}

function isAsOf({ asOf }: BundleVerification, answer: ProvedAnswer): boolean {
  return asOf.sequence === answer.asOf.sequence && asOf.timeMs === answer.asOf.timeMs;
}

function isSameTrace(proved: BundleVerification, answer: Trace): boolean {
  return (
    proved.actorProven === answer.actorProven &&
    proved.authorisedAtAction === answer.authorisedAtAction &&
    proved.authorisedNow === answer.authorisedNow &&
    proved.trace?.isSuspect === answer.suspect
  );
}

/** A verification of another kind of anchor than claim and grant says nothing that ends. */
function isSameStanding({ standing }: BundleVerification, answer: Verified | VerifiedClaim): boolean {
  return !("state" in answer) || standing?.state === answer.state;
}

/**
 * @throws VerificationError `bundle_…` if it proves nothing, `verdict_differs` if it proves something else;
 * UnexpectedAnswer if there is none
 */
export function holdProof(
  answer: ProvedAnswer & (Trace | Verified | VerifiedClaim),
  expectation: ProofExpectation,
  trustRoot: TrustRootChain,
): void {
  if (answer.proof === null) throw new UnexpectedAnswer("the answer has no proof");
  const proved = verifyBundle(answer.proof, { ...expectation, trustRoot });
  const isSame = "authorisedNow" in answer ? isSameTrace(proved, answer) : isSameStanding(proved, answer);
  if (isSame && isAsOf(proved, answer)) return;
  throw new VerificationError("verdict_differs", "the proof says something else than the answer", { result: proved });
}
