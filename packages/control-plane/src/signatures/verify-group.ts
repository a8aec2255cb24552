import { decodeGroup, signaturesOf } from "@event-anchoring/ledger";
import type { TrustRoot } from "@event-anchoring/protocol";
import type { QueuedGroup } from "../proposals/leader-queue.ts";
import type { SignatureVerifier } from "./signature-verifier.ts";

/** A leader begins to verify before it proposes: while the group waits for its entry. */
export function verifyGroup(
  verifier: SignatureVerifier,
  { weight, bytes }: QueuedGroup,
  trustRoot: TrustRoot | null,
): void {
  if (weight.signedCommands === 0) return;
  const { commands } = decodeGroup(bytes);
  const signatures = commands.flatMap((command) => signaturesOf(command, verifier.crypto.sha256, trustRoot));
  void verifier.verify(signatures, "group");
}
