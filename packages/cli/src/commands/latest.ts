import { hexToBytes } from "@event-anchoring/protocol";
import { countAt, fieldsAt, hashAt, textAt } from "../answer-fields.ts";
import { checkReceipt, isProved, parseStated } from "../check-receipt.ts";
import type { TrustOptions } from "../check-receipt.ts";
import { EXIT } from "../cli-error.ts";
import type { ExitCode } from "../cli-error.ts";
import { printSteps } from "../describe-receipt.ts";
import type { Printer } from "../printer.ts";
import { leaves } from "../words.ts";
import { expectStatus } from "../service.ts";
import type { Service } from "../service.ts";

export interface LatestOptions {
  /** 64 hex digits; null: that of the node that answers. */
  readonly originFingerprint: string | null;
  readonly trust: TrustOptions;
  readonly isJson: boolean;
}

/** `anchorctl latest`: the latest certified anchor of an origin (its EEA), its receipt verified. */
export async function latestCommand(options: LatestOptions, service: Service, printer: Printer): Promise<ExitCode> {
  const { originFingerprint, trust, isJson } = options;
  const query = originFingerprint === null ? "" : `?origin_fingerprint=${originFingerprint}`;
  const answer = await service.ask({ method: "GET", path: `/v1/event-anchors/latest${query}` });
  const { body } = expectStatus(answer, 200);
  const anchor = fieldsAt(body, "anchor");
  const anchorId = hashAt(anchor, "anchor_id");
  const stated = parseStated(fieldsAt(body, "receipt"));
  const checked = checkReceipt(stated, { anchorId: hexToBytes(anchorId, 32) }, trust);
  if (isJson) {
    printer.json({ ...body, receipt_verified: isProved(checked) });
    return EXIT.ok;
  }
  printer.line(`${hashAt(body, "origin_fingerprint")}  ${leaves(countAt(body, "tree_size"))}`);
  printer.check("pass", textAt(anchor, "kind"), `${anchorId}, sequence ${countAt(anchor, "sequence")}`);
  if (checked === null) printer.check("warn", "receipt", "not verified: there is no trust root here (--trust-root)");
  else printSteps(printer, checked.verification, checked.held);
  printer.verdict("pass", `Certified at ${textAt(body, "certified_at")}, root ${hashAt(body, "root_hash")}.`);
  return EXIT.ok;
}
