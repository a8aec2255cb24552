import type { Signer } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { fieldsAt, hashAt, textAt } from "../answer-fields.ts";
import { CliError, EXIT } from "../cli-error.ts";
import type { ExitCode } from "../cli-error.ts";
import { draftOf } from "../drafts/draft.ts";
import { signedBy } from "../drafts/signed-by.ts";
import type { RecordRun } from "../record-run.ts";
import { expectStatus } from "../service.ts";
import { draftPathOf, submitAndPrint } from "../submit-draft.ts";

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
  const path = `/v1/event-anchors/${anchorId}`;
  const anchor = fieldsAt(expectStatus(await run.service.ask({ method: "GET", path }), 200).body, "anchor");
  const kind = textAt(anchor, "kind");
  if (kind !== "claim" && kind !== "grant") {
    throw new CliError(EXIT.usage, "wrong_kind", `${anchorId} is a ${kind}: claims and grants are revoked`);
  }
  const draft = draftOf("revocation", {
    ...fields,
    target_kind: kind,
    target_anchor_id: anchorId,
    target_origin_fingerprint: hashAt(anchor, "origin_fingerprint"),
    ...(revoker === null ? {} : { revoker_public_key: bytesToHex(revoker.publicKey) }),
  });
  const signed = signedBy(draft, revoker === null ? [] : [revoker]);
  await submitAndPrint(signed, run.service, { ...run, draftPath: draftPathOf(signed, run.workingDir) }, run.printer);
  return EXIT.ok;
}
