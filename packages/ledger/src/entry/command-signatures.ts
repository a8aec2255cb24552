/** The signatures that deciding a command verifies, known from the command alone. */
import { assertNever, eventActorPayload, revocationPayload } from "@event-anchoring/protocol";
import type { Sha256, TrustRoot } from "@event-anchoring/protocol";
import { claimSignatures, grantSignatures } from "@event-anchoring/records";
import type { SignatureToVerify } from "@event-anchoring/records";
import type { Command, EventInput, RevocationInput } from "./command.ts";
import { operatorActSignature } from "./operator-act.ts";

/** The revoker's signature, over the target's origin as its proposer read it; none for an operator. */
export function revocationSignatures(revocation: RevocationInput): SignatureToVerify[] {
  const { signer, targetOriginFingerprint: originFingerprint } = revocation;
  if (signer === null) return [];
  const message = revocationPayload({ ...revocation, originFingerprint });
  return [{ ...signer, message, pointer: "/revoker_signature" }];
}

/** The actor's signature; none for an event of kind 1. */
export function eventSignatures(event: EventInput): SignatureToVerify[] {
  const { actor } = event;
  return actor === null ? [] : [{ ...actor, message: eventActorPayload(event), pointer: "/actor_signature" }];
}

/**
 * Every signature that deciding the command verifies, so that a receiver can verify them ahead of time and remember the
 * verdicts. Signatures of trust roots and cosignatures are not among them.
 * @param trustRoot the one with the operators' keys; null: none is in force yet
 */
export function signaturesOf(
  command: Command,
  sha256: Sha256,
  trustRoot: TrustRoot | null,
): readonly SignatureToVerify[] {
  switch (command.kind) {
    case "record_events":
      return command.events.flatMap(eventSignatures);
    case "record_claim":
      return claimSignatures(command.claim, sha256);
    case "record_grant":
      return grantSignatures(command.grant, sha256);
    case "record_revocation":
      return revocationSignatures(command.revocation);
    case "operator_act": {
      const signature = trustRoot === null ? null : operatorActSignature(command, trustRoot);
      return signature === null ? [] : [signature];
    }
    case "genesis":
    case "trust_root":
    case "erase_client_event":
    case "create_api_key":
    case "revoke_api_key":
    case "rotate_api_key":
    case "mark_certify_point":
    case "mark_state_point":
    case "raise_rules":
      return [];
    default:
      return assertNever(command);
  }
}
