import type { Signer } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import type { SignerRole } from "@event-anchoring/sdk";
import type { ExitCode } from "../terminal/cli-error.ts";
import { draftOf, signedBy } from "../drafts/draft.ts";
import type { DraftKind } from "../drafts/draft.ts";
import type { RecordRun } from "./record-run.ts";
import { draftPathOf, submitAndPrint } from "../drafts/submit-draft.ts";

/**
 * `anchorctl claim`, `grant` and `revoke`: the parties' keys are here. Where they are not, prepare, sign and submit do
 * the same.
 * @param fields by their wire names, without the parties
 * @param signers in signing order
 */
export async function recordCommand(
  kind: DraftKind,
  fields: Readonly<Record<string, unknown>>,
  signers: Readonly<Partial<Record<SignerRole, Signer>>>,
  run: RecordRun,
): Promise<ExitCode> {
  const keys = Object.entries(signers).map(([role, { publicKey }]) => {
    return [`${role}_public_key`, bytesToHex(publicKey)] as const;
  });
  const draft = signedBy(draftOf(kind, { ...fields, ...Object.fromEntries(keys) }), Object.values(signers));
  return submitAndPrint(draft, run.service, { ...run, draftPath: draftPathOf(draft, run.workingDir) }, run.printer);
}
