import type { Signer } from "@event-anchoring/node-crypto";
import { readers } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../cli-error.ts";
import type { ExitCode } from "../cli-error.ts";
import type { RecordRun } from "../record-run.ts";
import { recordCommand } from "./record.ts";

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
  const target = { target_kind: kind, target_anchor_id: anchorId, target_origin_fingerprint: originFingerprint };
  return recordCommand("revocation", { ...fields, ...target }, revoker === null ? {} : { revoker }, run);
}
