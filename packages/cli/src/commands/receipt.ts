import { nodeCrypto } from "@event-anchoring/node-crypto";
import { anchorIdOf, bytesToHex, formatProof, hexToBytes, receiptToJson } from "@event-anchoring/protocol";
import type { StatedReceipt } from "@event-anchoring/protocol";
import { checkReceipt, isProved } from "../reports/check-receipt.ts";
import type { CheckedReceipt, TrustOptions } from "../reports/check-receipt.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { printSteps } from "../reports/describe-receipt.ts";
import type { Printer } from "../terminal/printer.ts";
import { writeWhole } from "../files/read-input.ts";
import { readReceipt } from "../files/receipt-file.ts";
import type { Service } from "../service/service.ts";
import { leaves } from "../terminal/words.ts";
import { WitnessDemand, awaitWitnesses, isUnwitnessed, witnessedWithin } from "../drafts/await-witnesses.ts";
import { fetchReceipt } from "../drafts/fetch-receipt.ts";

export interface ReceiptOptions {
  /** 64 hex digits; null: that of the receipt that is renewed. */
  readonly anchorId: string | null;
  /** A receipt file; null: nothing is renewed. */
  readonly renew: string | null;
  /** Null: the receipt that is renewed, else standard output. */
  readonly out: string | null;
  /** How long to wait for one that enough witnesses have cosigned; null: not at all. */
  readonly witnessedMs: number | null;
  readonly isJson: boolean;
  readonly trust: TrustOptions;
}

/** `anchorctl receipt`: the receipt of now, verified, as tlog-proof or JSON; or an older receipt made new. */
export async function receiptCommand(
  { anchorId, renew, out, witnessedMs, isJson, trust }: ReceiptOptions,
  service: Service,
  printers: { readonly printer: Printer; readonly aside: Printer },
): Promise<ExitCode> {
  const { printer, aside } = printers;
  const old = renew === null ? null : readReceipt(renew);
  const id = anchorId ?? (old === null ? "" : bytesToHex(anchorIdOf(old.leaf, nodeCrypto.sha256)));
  const demand = witnessedMs === null ? null : new WitnessDemand(trust, witnessedMs);
  const judge = (each: StatedReceipt): CheckedReceipt | null =>
    checkReceipt(each, { anchorId: hexToBytes(id, 32) }, trust);
  const newest = await fetchReceipt(service, id, witnessedWithin(demand));
  const judged = await awaitWitnesses({ stated: newest, checked: judge(newest) }, demand, service, judge);
  if (isUnwitnessed(judged, demand)) {
    const message = `${id} is certified, and was not witnessed in time. Ask again.`;
    throw new CliError(EXIT.unavailable, "not_witnessed", message);
  }
  const { stated, checked } = judged;
  const version = checked?.held.chain.newest.trustRoot.version ?? 1;
  const json = receiptToJson(stated.receipt, version, nodeCrypto.sha256);
  const path = out ?? renew;
  if (path === null) {
    // The receipt alone is the result: a program reads it from here.
    if (isJson) printer.json({ ...json, receipt_verified: isProved(checked) });
    else printer.raw(formatProof(stated.receipt));
    if (checked === null) aside.check("warn", "receipt", "not verified: there is no trust root here (--trust-root)");
    return EXIT.ok;
  }
  writeWhole(path, formatProof(stated.receipt));
  if (isJson) {
    printer.json({ ...json, receipt: path, receipt_verified: isProved(checked), renewed: old !== null });
    return EXIT.ok;
  }
  if (checked === null) printer.check("warn", "receipt", "not verified: there is no trust root here (--trust-root)");
  else printSteps(printer, checked.verification, checked.held);
  const grown = old === null ? "" : `, of a tree of ${leaves(old.treeSize)} before and ${stated.receipt.treeSize} now`;
  printer.verdict("pass", `Receipt written to ${path}${grown}.`);
  return EXIT.ok;
}
