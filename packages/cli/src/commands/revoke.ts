import type { Signer } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { readers } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../cli-error.ts";
import type { ExitCode } from "../cli-error.ts";
import { draftOf, signedBy } from "../drafts/draft.ts";
import type { RecordRun } from "../record-run.ts";
import { draftPathOf, submitAndPrint } from "../submit-draft.ts";

const readTarget = readers.record({
  anchor: readers.record({ kind: readers.text, originFingerprint: readers.hex32 }),
});

/**
 * `anchorctl revoke`: the service is asked what the target is and where it stands, and that goes into the signed bytes.
 * @param revoker null: as an operator, whom no signature shows
 */
export async function revokeCommand(
  anchorId: string,
  fields: Readonly<Record<string, unknown>>,
  revoker: Signer | null,
  run: RecordRun,
): Promise<ExitCode> {
  const { anchor } = await run.service.read({ path: `/v1/event-anchors/${anchorId}` }, readTarget);
  const { kind, originFingerprint } = anchor;
  if (kind !== "claim" && kind !== "grant") {
    throw new CliError(EXIT.usage, "wrong_kind", `${anchorId} is a ${kind}: claims and grants are revoked`);
  }
  const draft = draftOf("revocation", {
    ...fields,
    target_kind: kind,
    target_anchor_id: anchorId,
    target_origin_fingerprint: originFingerprint,
    ...(revoker === null ? {} : { revoker_public_key: bytesToHex(revoker.publicKey) }),
  });
  const signed = signedBy(draft, revoker === null ? [] : [revoker]);
  await submitAndPrint(signed, run.service, { ...run, draftPath: draftPathOf(signed, run.workingDir) }, run.printer);
  return EXIT.ok;
}
