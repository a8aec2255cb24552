/** What a person is told if a node does not answer, or refuses. */
import {
  AnchoringError,
  ApiProblem,
  ConnectionFailed,
  Forbidden,
  RateLimited,
  TimedOut,
  Unauthorized,
  Unavailable,
  UnexpectedAnswer,
  VerificationError,
} from "@event-anchoring/sdk";

/** Asking again with the same key makes no sense. */
export function isFinal(error: unknown): boolean {
  return error instanceof Unauthorized || error instanceof Forbidden;
}

/** The node has said nothing, for or against what it showed before. */
export function isSilence(error: unknown): boolean {
  return error instanceof AnchoringError && !(error instanceof VerificationError);
}

/** How long the node asks to be left alone, in ms; null: it does not. */
export function pauseOf(error: unknown): number | null {
  return error instanceof AnchoringError && error.retryAfter !== null ? error.retryAfter * 1000 : null;
}

function ofProblem(error: ApiProblem, hasKey: boolean): string {
  const cause = `(${error.status} ${error.code})`;
  if (error instanceof Unauthorized) {
    return hasKey
      ? `The node does not take this key ${cause}: it is not whole, or unknown, expired or revoked.`
      : `The node wants a key with the scope read ${cause}.`;
  }
  if (error instanceof Forbidden) return `The key is known, and may not read ${cause}: use one with the scope read.`;
  if (error instanceof RateLimited) return `The node asks to be asked less often ${cause}.`;
  if (error instanceof Unavailable) return `The node cannot answer now ${cause}: ${error.message}`;
  if (error.status === 404) return `The node has nothing under this name ${cause}: ${error.message}`;
  return `The node refuses the question ${cause}: ${error.message}`;
}

export function refusalText(error: unknown, hasKey: boolean): string {
  if (error instanceof ApiProblem) return ofProblem(error, hasKey);
  if (error instanceof ConnectionFailed) return "The node is not reachable: no connection, or it was lost.";
  if (error instanceof TimedOut) return `The node does not answer: ${error.message}.`;
  if (error instanceof UnexpectedAnswer) {
    return `What came back is no answer of a node: ${error.message}. Something between you and it may have answered.`;
  }
  if (error instanceof VerificationError) return `NOT VALID (${error.code}): ${error.message}`;
  return `This page failed, so nothing here is proved: ${String(error)}`;
}
