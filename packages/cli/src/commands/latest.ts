import { hexToBytes } from "@event-anchoring/protocol";
import { readers } from "@event-anchoring/sdk";
import { checkReceipt, isProved, parseStated } from "../reports/check-receipt.ts";
import type { TrustOptions } from "../reports/check-receipt.ts";
import { EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { printSteps } from "../reports/describe-receipt.ts";
import type { Printer } from "../terminal/printer.ts";
import { leaves } from "../terminal/words.ts";
import { expectStatus } from "../service/service.ts";
import type { Service } from "../service/service.ts";

const { count, hex32, record, text } = readers;
const readLatest = record({
  originFingerprint: hex32,
  treeSize: count,
  anchor: record({ anchorId: hex32, kind: text, sequence: count }),
  certifiedAt: text,
  rootHash: hex32,
});

export interface LatestOptions {
  /** 64 hex digits; null: that of the node that answers. */
  readonly originFingerprint: string | null;
  readonly trust: TrustOptions;
  readonly isJson: boolean;
}

/** `anchorctl latest`: the latest certified anchor of an origin (its EEA), its receipt verified. */
export async function latestCommand(options: LatestOptions, service: Service, printer: Printer): Promise<ExitCode> {
  const { originFingerprint, trust, isJson } = options;
  const query = { origin_fingerprint: originFingerprint };
  const answer = expectStatus(await service.ask({ path: "/v1/event-anchors/latest", query }), 200);
  const { anchor, ...latest } = answer.read(readLatest);
  const stated = parseStated(answer.body["receipt"]);
  const checked = checkReceipt(stated, { anchorId: hexToBytes(anchor.anchorId, 32) }, trust);
  if (isJson) {
    printer.json({ ...answer.body, receipt_verified: isProved(checked) });
    return EXIT.ok;
  }
  printer.line(`${latest.originFingerprint}  ${leaves(latest.treeSize)}`);
  printer.check("pass", anchor.kind, `${anchor.anchorId}, sequence ${anchor.sequence}`);
  if (checked === null) printer.check("warn", "receipt", "not verified: there is no trust root here (--trust-root)");
  else printSteps(printer, checked.verification, checked.held);
  printer.verdict("pass", `Certified at ${latest.certifiedAt}, root ${latest.rootHash}.`);
  return EXIT.ok;
}
