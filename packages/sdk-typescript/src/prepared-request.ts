import type { Bytes64 } from "./inputs.ts";
import type { JsonBody } from "./json-body.ts";
import type { Payload, SignerRole } from "./payload.ts";

/** What every prepared request can do, whatever it is about: to be signed step by step, in several places. */
export interface PreparedRequest {
  /** Who signs, in this order. */
  readonly signingOrder: readonly SignerRole[];
  /** The body without its signatures. With them beside it, it is all that a file has to hold. */
  readonly unsigned: JsonBody;
  /**
   * What is signed next.
   * @param signatures those that there are, in signing order; they are not verified
   * @returns null if no other party signs
   */
  nextPayload(signatures: readonly Bytes64[]): Payload | null;
  /** The body to POST. @throws InvalidInput; SigningFailed if a signature is not good */
  request(...signatures: readonly Bytes64[]): JsonBody;
}
