import type { Signer } from "@event-anchoring/node-crypto";
import { CliError, EXIT } from "../cli-error.ts";
import { nextSignature, withSignature } from "./draft.ts";
import type { Draft } from "./draft.ts";

/** The draft signed by each in turn. @throws CliError if the next to sign is somebody else */
export function signedBy(draft: Draft, signers: readonly Signer[]): Draft {
  let signed = draft;
  for (const signer of signers) {
    const next = nextSignature(signed);
    if (next === null) throw new CliError(EXIT.usage, "already_signed", "everybody who signs has signed");
    signed = withSignature(signed, signer.sign(next.payload));
  }
  return signed;
}
