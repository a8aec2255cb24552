import type { Signer } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { EXIT } from "../cli-error.ts";
import type { ExitCode } from "../cli-error.ts";
import { draftOf, signedBy } from "../drafts/draft.ts";
import type { RecordRun } from "../record-run.ts";
import { draftPathOf, submitAndPrint } from "../submit-draft.ts";

/** `anchorctl claim`: both parties' keys are here. Where they are not, prepare, sign and submit do the same. */
export async function claimCommand(
  fields: Readonly<Record<string, unknown>>,
  parties: { readonly subject: Signer; readonly issuer: Signer },
  run: RecordRun,
): Promise<ExitCode> {
  const { subject, issuer } = parties;
  const keys = {
    subject_public_key: bytesToHex(subject.publicKey),
    issuer_public_key: bytesToHex(issuer.publicKey),
  };
  const draft = signedBy(draftOf("claim", { ...fields, ...keys }), [subject, issuer]);
  await submitAndPrint(draft, run.service, { ...run, draftPath: draftPathOf(draft, run.workingDir) }, run.printer);
  return EXIT.ok;
}
