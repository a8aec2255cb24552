/** Sends a signed draft, takes its receipt and verifies it: what claim, grant, revoke and submit share. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { bytesToHex, formatProof, hexToBytes } from "@event-anchoring/protocol";
import type { ReceiptExpectation, StatedReceipt } from "@event-anchoring/protocol";
import { PreparedClaimAnchor, PreparedGrantAnchor, PreparedRevocation, readers } from "@event-anchoring/sdk";
import { isoMs } from "@event-anchoring/verdicts";
import { checkReceipt, isProved, parseStated } from "../reports/check-receipt.ts";
import type { CheckedReceipt, TrustOptions } from "../reports/check-receipt.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { printSteps } from "../reports/describe-receipt.ts";
import { WitnessDemand, awaitWitnesses, isUnwitnessed, printUnwitnessed, witnessedWithin } from "./await-witnesses.ts";
import type { JudgedReceipt } from "./await-witnesses.ts";
import { fieldsOf, formatDraft, requestOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { fetchReceipt } from "./fetch-receipt.ts";
import type { Printer } from "../terminal/printer.ts";
import { assertWritable, writeWhole } from "../files/read-input.ts";
import { expectStatus } from "../service/service.ts";
import type { Answer, Question, Service } from "../service/service.ts";

const { count, flag, hex32, object, optional, record } = readers;
/** An answer to a write; the receipt is judged by what verifies it. */
const readRecorded = record({
  anchor: record({ anchorId: hex32, sequence: count }),
  receipt: optional(object),
  replayed: optional(flag),
});

export interface Submitted extends JudgedReceipt {
  readonly anchorId: string;
  readonly sequence: number;
  readonly isReplayed: boolean;
  readonly apiUrl: string;
  /** Fewer witnesses have cosigned than were demanded. */
  readonly isUnwitnessed: boolean;
}

export interface SubmitOptions {
  readonly trust: TrustOptions;
  /** Where the receipt goes; null: nowhere, it can be fetched at any time. */
  readonly out: string | null;
  /** How long to wait for a receipt that enough witnesses have cosigned; null: not at all. */
  readonly witnessedMs: number | null;
  readonly isJson: boolean;
  /** The draft's own file, or where it is kept if its outcome is unknown. */
  readonly draftPath: string;
}

const AGAIN: Readonly<Record<Draft["kind"], string>> = {
  claim: "the same claim is recorded once",
  grant: "the same grant is recorded once",
  revocation: "the same revocation is recorded once",
  event: "the same client_event_id is anchored once",
};

/** What the receipt's leaf must hold: the event hash, or the bytes that its first party has signed. */
function expectationOf({ prepared }: Draft): ReceiptExpectation {
  if (prepared instanceof PreparedClaimAnchor) return { payload: prepared.subjectPayload.bytes };
  if (prepared instanceof PreparedGrantAnchor) return { payload: prepared.grantorPayload.bytes };
  if (prepared instanceof PreparedRevocation) return { payload: prepared.revokerPayload.bytes };
  const { actorPublicKey, eventHash } = prepared.fields;
  return actorPublicKey === null ? { eventHash } : { payload: prepared.actorPayload.bytes };
}

/** @throws CliError `refused`, `outcome_unknown`, or `invalid` for a receipt that does not verify */
async function submitDraft(
  draft: Draft,
  service: Service,
  { trust, witnessedMs }: Pick<SubmitOptions, "trust" | "witnessedMs">,
): Promise<Submitted> {
  const { path, body } = requestOf(draft);
  const demand = witnessedMs === null ? null : new WitnessDemand(trust, witnessedMs);
  const doubt = `It may or may not be recorded. Ask again: ${AGAIN[draft.kind]}.`;
  const answer = await writeOnce(service, { path, body, ...witnessedWithin(demand) }, doubt);
  const { anchor, receipt, replayed } = answer.read(readRecorded);
  const { anchorId, sequence } = anchor;
  // While the record is committed and not yet certified, its receipt is made later.
  const stated = receipt === null ? await fetchReceipt(service, anchorId) : parseStated(receipt);
  const expect = { ...expectationOf(draft), anchorId: hexToBytes(anchorId, 32) };
  const judge = (each: StatedReceipt): CheckedReceipt | null => checkReceipt(each, expect, trust);
  const judged = await awaitWitnesses({ stated, checked: judge(stated) }, demand, service, judge);
  return {
    anchorId,
    sequence,
    isReplayed: replayed === true,
    apiUrl: answer.apiUrl,
    isUnwitnessed: isUnwitnessed(judged, demand),
    ...judged,
  };
}

/** @param doubt what a person does if the outcome is unknown @throws CliError `refused`, `outcome_unknown` */
export async function writeOnce(
  service: Service,
  write: Pick<Question, "path" | "body" | "witnessedWithinS">,
  doubt: string,
): Promise<Answer> {
  try {
    return expectStatus(await service.ask({ method: "POST", ...write }), 200, 201, 202);
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== EXIT.unavailable) throw error;
    throw new CliError(EXIT.unavailable, "outcome_unknown", `${error.message}\n${doubt}`);
  }
}

/** Submits, writes the receipt if it is wanted, and says what came of it. */
export async function submitAndPrint(
  draft: Draft,
  service: Service,
  { trust, out, witnessedMs, isJson, draftPath }: SubmitOptions,
  printer: Printer,
): Promise<ExitCode> {
  if (out !== null) assertWritable(out);
  const submitted = await submitOrKeep(draft, service, { trust, witnessedMs, draftPath }, printer);
  const { anchorId, sequence, isReplayed, stated, checked } = submitted;
  const exitCode = submitted.isUnwitnessed ? EXIT.unavailable : EXIT.ok;
  if (out !== null) writeWhole(out, formatProof(stated.receipt));
  if (isJson) {
    printer.json(asJson(draft, submitted, out));
    return exitCode;
  }
  const verb = isReplayed ? "was recorded before" : "recorded";
  printer.check("pass", draft.kind, `${verb}: ${anchorId}, sequence ${sequence}`);
  if (checked === null) printer.check("warn", "receipt", "not verified: there is no trust root here (--trust-root)");
  else printSteps(printer, checked.verification, checked.held, contentOf(draft));
  const where = out === null ? `${printer.next("receipt", anchorId)} fetches its receipt` : `Receipt written to ${out}`;
  printer.verdict("pass", `${where}.`);
  if (submitted.isUnwitnessed) printUnwitnessed(printer, out === null ? [anchorId] : ["--renew", out]);
  return exitCode;
}

/** What the leaf was compared with. */
function contentOf(draft: Draft): string {
  return "eventHash" in expectationOf(draft)
    ? "the event hash of this request"
    : "what this request says, as it was signed";
}

/** A request whose outcome is unknown is kept, so that exactly the same one can be sent again. */
async function submitOrKeep(
  draft: Draft,
  service: Service,
  { draftPath: path, ...options }: Pick<SubmitOptions, "trust" | "witnessedMs" | "draftPath">,
  printer: Printer,
): Promise<Submitted> {
  try {
    return await submitDraft(draft, service, options);
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== EXIT.unavailable) throw error;
    writeWhole(path, formatDraft(draft));
    throw new CliError(
      EXIT.unavailable,
      error.code,
      `${error.message} The request is in ${path}: ${printer.next("submit", path)}`,
    );
  }
}

/** Where a signed request is kept that has no file of its own. */
export function draftPathOf(draft: Draft, workingDir: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify(fieldsOf(draft)))
    .digest("hex")
    .slice(0, 12);
  return join(workingDir, `anchorctl-${draft.kind}-${digest}.json`);
}

function asJson(draft: Draft, submitted: Submitted, out: string | null): object {
  const { anchorId, sequence, isReplayed, apiUrl, stated, checked } = submitted;
  const leaf = checked?.verification.leaf ?? null;
  return {
    kind: draft.kind,
    anchor_id: anchorId,
    sequence,
    replayed: isReplayed,
    origin_fingerprint: leaf === null ? null : bytesToHex(leaf.originFingerprint),
    depth: stated.receipt.index,
    tree_size: stated.receipt.treeSize,
    accepted_at: leaf === null ? null : isoMs(leaf.acceptedMs),
    receipt: out,
    receipt_verified: isProved(checked),
    witnessed: checked?.verification.witnessed ?? false,
    api_url: apiUrl,
  };
}
