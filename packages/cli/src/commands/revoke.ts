import type { Signer } from "@event-anchoring/node-crypto";
import { readers } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { RecordRun } from "./record-run.ts";
import type { Service } from "../service/service.ts";
import { recordCommand } from "./record.ts";

const readAnswer = readers.record({
  anchor: readers.record({ kind: readers.text, originFingerprint: readers.hex32 }),
});

/** What a record is, and in which origin it stands. */
export interface RecordToRevoke {
  readonly kind: string;
  /** 64 hex digits. */
  readonly originFingerprint: string;
}

/** @throws CliError what the service answers instead */
export async function readTarget(service: Service, anchorId: string): Promise<RecordToRevoke> {
  return (await service.read({ path: `/v1/event-anchors/${anchorId}` }, readAnswer)).anchor;
}

/**
 * `anchorctl revoke`: the service is asked what the target is and where it stands, and that goes into the signed bytes.
 * @param revoker null: unsigned, because the API client has recorded the target itself
 */
export async function revokeCommand(
  anchorId: string,
  fields: Readonly<Record<string, unknown>>,
  revoker: Signer | null,
  run: RecordRun,
): Promise<ExitCode> {
  const { kind, originFingerprint } = await readTarget(run.service, anchorId);
  if (kind !== "claim" && kind !== "grant") {
    throw new CliError(EXIT.usage, "wrong_kind", `${anchorId} is a ${kind}: claims and grants are revoked`);
  }
  const target = { target_kind: kind, target_anchor_id: anchorId, target_origin_fingerprint: originFingerprint };
  return recordCommand("revocation", { ...fields, ...target }, revoker === null ? {} : { revoker }, run);
}
