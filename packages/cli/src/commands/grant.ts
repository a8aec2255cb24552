import type { Signer } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { EXIT } from "../cli-error.ts";
import type { ExitCode } from "../cli-error.ts";
import { draftOf, signedBy } from "../drafts/draft.ts";
import type { RecordRun } from "../record-run.ts";
import { draftPathOf, submitAndPrint } from "../submit-draft.ts";

/** `anchorctl grant`: both parties' keys are here. Where they are not, prepare, sign and submit do the same. */
export async function grantCommand(
  fields: Readonly<Record<string, unknown>>,
  parties: { readonly grantor: Signer; readonly witness: Signer },
  run: RecordRun,
): Promise<ExitCode> {
  const { grantor, witness } = parties;
  const keys = {
    grantor_public_key: bytesToHex(grantor.publicKey),
    witness_public_key: bytesToHex(witness.publicKey),
  };
  const draft = signedBy(draftOf("grant", { ...fields, ...keys }), [grantor, witness]);
  await submitAndPrint(draft, run.service, { ...run, draftPath: draftPathOf(draft, run.workingDir) }, run.printer);
  return EXIT.ok;
}
