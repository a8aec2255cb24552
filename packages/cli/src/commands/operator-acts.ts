/** An operator revokes and erases any client's records. */
import type { RevocationInput } from "@event-anchoring/ledger";
import { REVOCATION_REASONS, hexToBytes, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import { actDone } from "./act-signer.ts";
import type { Acting } from "./act-signer.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Service } from "../service/service.ts";
import { readTarget } from "./revoke.ts";

/** What the options say of a revocation. Times are Unix milliseconds. */
export interface RevocationFields {
  readonly reason: string | undefined;
  readonly suspect_since: number;
  readonly issued_at: number;
}

export interface OperatorActOptions extends Acting {
  readonly isJson: boolean;
  readonly printer: Printer;
}

export interface AskedRevocation {
  /** 64 hex digits. */
  readonly anchorId: string;
  /** 64 hex digits; null: that of the record. */
  readonly origin: string | null;
  readonly fields: RevocationFields;
}

/**
 * `anchorctl operator revoke`: the API is asked what the record is and where it stands, and that is signed. A node that
 * says something else of it gets a refusal: nothing else is revoked.
 */
export async function operatorRevokeCommand(
  asked: AskedRevocation,
  service: Service,
  options: OperatorActOptions,
): Promise<ExitCode> {
  const revocation = await revocationOf(asked, service);
  const done = await actDone({ kind: "record_revocation", credential: null, revocation }, options);
  if (done.outcome !== "recorded") throw new Error(`a revocation was answered with ${done.outcome}`);
  const { anchorId, replayed, finality } = done;
  const { operator } = options.signer;
  if (options.isJson) {
    const said = { anchor_id: anchorId, revoked_anchor_id: asked.anchorId, operator, replayed, finality };
    options.printer.json(said);
    return EXIT.ok;
  }
  const when = replayed ? "was revoked so before" : "is revoked";
  options.printer.verdict("pass", `The ${revocation.targetKind} ${asked.anchorId} ${when}, by operator ${operator}.`);
  options.printer.check("skip", "revocation", anchorId);
  if (finality === "committed") {
    options.printer.verdict("warn", "It is committed, and not certified yet: too few nodes have cosigned it");
  }
  return EXIT.ok;
}

async function revocationOf({ anchorId, origin, fields }: AskedRevocation, service: Service): Promise<RevocationInput> {
  const { kind, originFingerprint } = await readTarget(service, anchorId);
  if (kind !== "claim" && kind !== "grant") {
    throw new CliError(EXIT.usage, "wrong_kind", `${anchorId} is a ${kind}: claims and grants are revoked`);
  }
  return {
    targetKind: kind,
    targetAnchorId: anchorIdOf(anchorId),
    targetOriginFingerprint: toOriginFingerprint(hexToBytes(originFingerprint, 32)),
    originFingerprint: origin === null ? null : toOriginFingerprint(hexToBytes(origin, 32)),
    reason: reasonOf(fields.reason ?? "unspecified"),
    suspectSince: fields.suspect_since,
    issuedAt: fields.issued_at,
    signer: null,
  };
}

/** `anchorctl operator erase`. */
export async function operatorEraseCommand(anchorId: string, options: OperatorActOptions): Promise<ExitCode> {
  const call = { kind: "erase_client_event", credential: null, anchorId: anchorIdOf(anchorId) } as const;
  const { outcome } = await actDone(call, options);
  const { operator } = options.signer;
  const erased = outcome === "applied";
  if (options.isJson) options.printer.json({ anchor_id: anchorId, operator, erased });
  else if (erased)
    options.printer.verdict("pass", `The client_event_id of ${anchorId} is erased, by operator ${operator}.`);
  else
    options.printer.verdict("pass", `${anchorId} has no client_event_id, or none any more: nothing was to be erased.`);
  return EXIT.ok;
}

function anchorIdOf(hex: string): AnchorId {
  return toAnchorId(hexToBytes(hex, 32));
}

function reasonOf(word: string): number {
  const reason = REVOCATION_REASONS.findIndex((known) => known === word);
  if (reason >= 0) return reason;
  throw new CliError(EXIT.usage, "reason_invalid", `--reason is one of ${REVOCATION_REASONS.join(", ")}, not: ${word}`);
}
