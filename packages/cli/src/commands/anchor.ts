import { randomUUID } from "node:crypto";
import { bytesToHex, formatProof } from "@event-anchoring/protocol";
import type { Leaf, StatedReceipt } from "@event-anchoring/protocol";
import { readers } from "@event-anchoring/sdk";
import { certifiedAtS, cosignersOf, isoMs, isoSeconds } from "@event-anchoring/verdicts";
import { checkReceipt, isProved, parseStated } from "../reports/check-receipt.ts";
import type { CheckedReceipt } from "../reports/check-receipt.ts";
import { EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { actJson, assertRecorded, eventBody } from "../drafts/event-act.ts";
import type { Act } from "../drafts/event-act.ts";
import { printSteps } from "../reports/describe-receipt.ts";
import { originToWrite } from "../service/origin.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { receiptPathOf } from "../files/receipt-file.ts";
import { assertWritable, hashFile, writeWhole } from "../files/read-input.ts";
import { Service } from "../service/service.ts";
import type { Answer } from "../service/service.ts";
import {
  WitnessDemand,
  awaitWitnesses,
  isUnwitnessed,
  printUnwitnessed,
  witnessedWithin,
} from "../drafts/await-witnesses.ts";
import type { JudgedReceipt } from "../drafts/await-witnesses.ts";
import { fetchReceipt } from "../drafts/fetch-receipt.ts";
import { writeOnce } from "../drafts/submit-draft.ts";
import { apiKeyOf } from "../files/target.ts";
import type { Target } from "../files/target.ts";
import type { GivenPin } from "../files/trust-roots.ts";

export interface AnchorOptions {
  readonly file: string;
  readonly act: Act;
  /** Names the event for repetitions; null: a new random one. */
  readonly eventId: string | null;
  /** Where the receipt goes; null: beside the file. */
  readonly out: string | null;
  readonly trustRoots: readonly string[];
  readonly pin: GivenPin | null;
  readonly timeoutMs: number;
  /** Wait for a receipt that enough witnesses have cosigned. */
  readonly isWitnessed: boolean;
  readonly isJson: boolean;
  readonly workingDir: string;
}

/**
 * `anchorctl anchor`: hash, anchor, verify what came back, write the receipt. A receipt that does not verify is not
 * written. Without any trust root (a remote service, none given) the receipt is written and said to be unchecked.
 */
export async function anchorCommand(
  options: AnchorOptions,
  target: Target,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const apiKey = apiKeyOf(target);
  const eventHash = await hashFile(options.file, progress);
  const out = options.out ?? receiptPathOf(options.file);
  assertWritable(out);
  const eventId = options.eventId ?? `anchorctl-${randomUUID()}`;
  const { apiUrls, onWait } = target;
  const service = new Service({ apiUrls, apiKey, timeoutMs: options.timeoutMs, onWait });
  const body = eventBody(options.act, {
    originFingerprint: await originToWrite(service, target),
    eventHash: bytesToHex(eventHash),
    clientEventId: eventId,
  });
  const trust = { ...options, clusterFolder: target.clusterFolder };
  const demand = options.isWitnessed ? new WitnessDemand(trust, options.timeoutMs) : null;
  const doubt = `It may or may not be anchored. Ask again with --event-id ${eventId}: it is anchored once at most.`;
  const answer = await writeOnce(service, { path: "/v1/event-anchors", body, ...witnessedWithin(demand) }, doubt);
  const isReplayed = answer.body.replayed === true;
  const stated = await receiptOf(service, answer, eventId);
  const expect = { eventHash, anchorId: stated.anchorId };
  const judge = (each: StatedReceipt): CheckedReceipt | null => {
    const checked = checkReceipt(each, expect, trust);
    if (checked !== null) assertRecorded(options.act, checked.verification.leaf);
    return checked;
  };
  const judged = await awaitWitnesses({ stated, checked: judge(stated) }, demand, service, judge);
  writeWhole(out, formatProof(judged.stated.receipt));
  const result = { ...options, out, eventHash, eventId, isReplayed, apiUrl: answer.apiUrl, ...judged };
  if (options.isJson) printer.json(asJson(result));
  else print(printer, result);
  if (!isUnwitnessed(judged, demand)) return EXIT.ok;
  if (!options.isJson) printUnwitnessed(printer, ["--renew", out]);
  return EXIT.unavailable;
}

interface Result extends JudgedReceipt {
  readonly file: string;
  readonly act: Act;
  readonly out: string;
  readonly eventHash: Uint8Array;
  readonly eventId: string;
  readonly isReplayed: boolean;
  readonly apiUrl: string;
}

const readAnchored = readers.record({ anchor: readers.record({ anchorId: readers.hex32 }) });

/** The receipt in the answer or, while the anchor is committed and not yet certified, the one that is made later. */
async function receiptOf(service: Service, answer: Answer, eventId: string): Promise<StatedReceipt> {
  const { receipt } = answer.body;
  if (receipt !== null && receipt !== undefined) return parseStated(receipt);
  const { anchorId } = answer.read(readAnchored).anchor;
  const hint = `The anchor ${anchorId} is committed and not yet certified. Ask again with --event-id ${eventId}.`;
  return fetchReceipt(service, anchorId, { hint });
}

function print(printer: Printer, result: Result): void {
  const { checked } = result;
  printer.line(`${result.file}  SHA-256 ${bytesToHex(result.eventHash)}`);
  const verb = result.isReplayed ? "was anchored before; this is its receipt" : "anchored";
  printer.check("pass", "anchor", `${verb}: ${bytesToHex(result.stated.anchorId)}`);
  printAct(printer, result.act);
  if (checked === null) {
    printer.check("warn", "receipt", "not verified: there is no trust root here (--trust-root)");
  } else {
    printSteps(printer, checked.verification, checked.held);
  }
  const certifiedAt = checked === null ? null : certifiedAtS(checked.verification, checked.held.chain);
  if (checked !== null && certifiedAt !== null) {
    const names = cosignersOf(checked.verification).map(({ name }) => name.slice(name.lastIndexOf("/") + 1));
    printer.line(`Certified by ${names.join(", ")} at ${isoSeconds(certifiedAt)}.`);
  }
  const proof = result.out === receiptPathOf(result.file) ? [] : ["--proof", result.out];
  const trustRoot = checked === null ? ["--trust-root", "<file>", "--root-thk", "<RootTHK>"] : [];
  const verify = printer.next("verify", result.file, ...proof, ...trustRoot);
  printer.verdict("pass", `Receipt written to ${result.out}; check it offline: ${verify}`);
}

function printAct(printer: Printer, act: Act): void {
  const { semantic_anchor: references, actor_public_key: actor } = actJson(act);
  for (const [name, value] of Object.entries(references ?? {})) {
    if (typeof value === "string") printer.check("skip", name.replaceAll("_", " "), value);
  }
  if (actor !== null) printer.check("pass", "signed", `by the actor, key ${actor}`);
}

function asJson(result: Result): object {
  const { stated, checked } = result;
  const leaf: Leaf | null = checked?.verification.leaf ?? null;
  return {
    file: result.file,
    event_hash: bytesToHex(result.eventHash),
    client_event_id: result.eventId,
    ...actJson(result.act),
    replayed: result.isReplayed,
    anchor_id: bytesToHex(stated.anchorId),
    origin_fingerprint: leaf === null ? null : bytesToHex(leaf.originFingerprint),
    depth: stated.receipt.index,
    tree_size: stated.receipt.treeSize,
    accepted_at: leaf === null ? null : isoMs(leaf.acceptedMs),
    receipt: result.out,
    receipt_verified: isProved(checked),
    witnessed: checked?.verification.witnessed ?? false,
    api_url: result.apiUrl,
  };
}
