import { Ed25519CanaryError } from "@event-anchoring/protocol";
import { VerificationError } from "./errors.ts";

/**
 * Runs what has to be held to the canaries first.
 * @throws VerificationError `ed25519_canary`
 */
export function underTheRule<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof Ed25519CanaryError)) throw error;
    const message = "this runtime does not follow the Ed25519 rule";
    throw new VerificationError("ed25519_canary", message, { cause: error });
  }
}
