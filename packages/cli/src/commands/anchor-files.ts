import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { rememberVerdicts } from "@event-anchoring/records";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { formatProof, hexToBytes } from "@event-anchoring/protocol";
import type { Crypto, StatedReceipt } from "@event-anchoring/protocol";
import { isPassing, readers } from "@event-anchoring/sdk";
import { BatchReport } from "../reports/batch-report.ts";
import type { ReportLine } from "../reports/batch-report.ts";
import { heldTrustRootsOf, judgeReceipt, parseStated } from "../reports/check-receipt.ts";
import type { CheckedReceipt, TrustOptions } from "../reports/check-receipt.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { printPin } from "../reports/describe-pin.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { actJson, assertRecorded, eventBody } from "../drafts/event-act.ts";
import type { Act } from "../drafts/event-act.ts";
import { originToWrite } from "../service/origin.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { receiptPathOf } from "../files/receipt-file.ts";
import { hashFile, writeWhole } from "../files/read-input.ts";
import { BATCH_TRY_TIMEOUT_MS, Service } from "../service/service.ts";
import { WitnessDemand, awaitWitnesses, isUnwitnessed, witnessedWithin } from "../drafts/await-witnesses.ts";
import { fetchReceipt } from "../drafts/fetch-receipt.ts";
import { counted } from "../terminal/words.ts";
import { apiKeyOf } from "../files/target.ts";
import type { Target } from "../files/target.ts";
import type { GivenPin, HeldTrustRoots } from "../files/trust-roots.ts";

export interface AnchorFilesOptions {
  /** As they were given; a receipt goes beside each. */
  readonly files: readonly string[];
  /** The same for all of them. */
  readonly act: Act;
  readonly report: string;
  readonly trustRoots: readonly string[];
  readonly pin: GivenPin | null;
  readonly timeoutMs: number;
  /** Wait, for each batch, for receipts that enough witnesses have cosigned. */
  readonly isWitnessed: boolean;
  readonly isJson: boolean;
  readonly workingDir: string;
}

const BATCH_MAX = 1000;
const SIGNED_BATCH_MAX = 256;

interface BatchResult {
  readonly status: number;
  readonly anchor: { readonly anchorId: string } | null;
  readonly receipt: Readonly<Record<string, unknown>> | null;
  readonly replayed: boolean | null;
  readonly problem: { readonly code: string | null; readonly detail: string | null } | null;
}

const { count, flag, hex32, listOf, object, optional, record, text } = readers;
const readResults = record({
  results: listOf(
    record<BatchResult>({
      status: count,
      anchor: optional(record({ anchorId: hex32 })),
      receipt: optional(object),
      replayed: optional(flag),
      problem: optional(record({ code: optional(text), detail: optional(text) })),
    }),
  ),
});

interface HashedFile {
  readonly file: string;
  readonly eventHash: string;
  readonly eventId: string;
}

interface Totals {
  anchored: number;
  replayed: number;
  skipped: number;
  refused: number;
  unavailable: number;
  unreadable: number;
}

/** Everything that the batches of one run share. */
interface Run {
  readonly options: AnchorFilesOptions;
  readonly trust: TrustOptions;
  readonly service: Service;
  readonly report: BatchReport;
  readonly held: HeldTrustRoots | null;
  readonly crypto: Crypto;
  readonly progress: Progress;
  readonly totals: Totals;
}

/**
 * `anchorctl anchor` of many files. Each has a client_event_id that follows from the report, the path and the content,
 * so that whatever became of an interrupted run, the next one anchors nothing twice.
 */
export async function anchorFilesCommand(
  options: AnchorFilesOptions,
  target: Target,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const { report: path, workingDir, timeoutMs, files } = options;
  const service = new Service({ apiUrls: target.apiUrls, apiKey: apiKeyOf(target), timeoutMs, onWait: target.onWait });
  const trust = { ...options, clusterFolder: target.clusterFolder };
  const held = heldTrustRootsOf(trust);
  const reportPath = resolve(workingDir, path);
  const act = actJson(options.act);
  const report =
    BatchReport.open(reportPath, act) ?? BatchReport.begin(reportPath, await originToWrite(service, target), act);
  const totals: Totals = { anchored: 0, replayed: 0, skipped: 0, refused: 0, unavailable: 0, unreadable: 0 };
  const run: Run = { options, trust, service, report, held, crypto: rememberVerdicts(nodeCrypto), progress, totals };
  try {
    const batchMax = options.act.actor === null ? BATCH_MAX : SIGNED_BATCH_MAX;
    for (let from = 0; from < files.length; from += batchMax) {
      await anchorBatch(run, await hashBatch(run, from, from + batchMax));
      progress.say(`anchored ${Math.min(from + batchMax, files.length)} of ${files.length} files`);
    }
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== EXIT.unavailable) throw error;
    const soFar = `${totals.anchored} of ${files.length} files are anchored. The same command goes on.`;
    const message = `${error.message}\n${soFar}`;
    throw new CliError(EXIT.unavailable, error.code, message);
  } finally {
    progress.end();
  }
  show(run, printer);
  if (totals.refused > 0) return EXIT.refused;
  if (totals.unavailable > 0) return EXIT.unavailable;
  return totals.unreadable > 0 ? EXIT.usage : EXIT.ok;
}

/** Files that are still to be anchored; those that cannot be read are reported. */
async function hashBatch(run: Run, from: number, to: number): Promise<readonly HashedFile[]> {
  const { options, report, totals, progress } = run;
  const { files } = options;
  const hashed: HashedFile[] = [];
  for (const [at, file] of files.slice(from, to).entries()) {
    try {
      const eventHash = Buffer.from(await hashFile(resolve(options.workingDir, file))).toString("hex");
      if (report.isDone(file, eventHash)) totals.skipped += 1;
      else hashed.push({ file, eventHash, eventId: eventIdOf(report.run, file, eventHash) });
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      totals.unreadable += 1;
      const nothing = { event_hash: null, client_event_id: null, anchor_id: null, receipt: null };
      report.add([{ file, status: "unreadable", ...nothing, code: error.code, detail: error.message }]);
    }
    progress.say(`read ${from + at + 1} of ${files.length} files`);
  }
  return hashed;
}

function eventIdOf(run: string, file: string, eventHash: string): string {
  const digest = createHash("sha256").update(`${file}\0${eventHash}`).digest("hex");
  return `anchorctl-${run}-${digest.slice(0, 32)}`;
}

async function anchorBatch(run: Run, files: readonly HashedFile[]): Promise<void> {
  if (files.length === 0) return;
  const { options, service, report } = run;
  const { originFingerprint } = report;
  const events = files.map(({ eventHash, eventId: clientEventId }) => {
    const { origin_fingerprint: _origin, ...item } = eventBody(options.act, {
      originFingerprint,
      eventHash,
      clientEventId,
    });
    return item;
  });
  const demand = options.isWitnessed ? new WitnessDemand(run.trust, options.timeoutMs) : null;
  const question = {
    method: "POST",
    path: "/v1/event-anchors/batch",
    body: { origin_fingerprint: originFingerprint, events },
    tryTimeoutMs: BATCH_TRY_TIMEOUT_MS,
    ...witnessedWithin(demand),
  } as const;
  const { results } = await service.read(question, readResults);
  if (results.length !== files.length) throw malformed("the service answered another number of results");
  for (const [at, result] of results.entries()) {
    const file = files[at];
    if (file !== undefined) report.add([await lineOf(run, file, result, demand)]);
  }
}

function malformed(message: string): CliError {
  return new CliError(EXIT.unavailable, "answer_malformed", message);
}

async function lineOf(
  run: Run,
  { file, eventHash, eventId }: HashedFile,
  result: BatchResult,
  demand: WitnessDemand | null,
): Promise<ReportLine> {
  const { options, service, held, crypto, totals } = run;
  const { status, anchor, receipt: sent, replayed, problem } = result;
  const asked = { file, event_hash: eventHash, client_event_id: eventId };
  if (status >= 300) {
    // What is refused for now may be tried again.
    const isNotNow = isPassing(status);
    totals[isNotNow ? "unavailable" : "refused"] += 1;
    const said = { code: problem?.code ?? null, detail: problem?.detail ?? null };
    return { ...asked, status: isNotNow ? "unavailable" : "refused", anchor_id: null, receipt: null, ...said };
  }
  if (anchor === null) throw malformed("the service answered a result without its anchor");
  const { anchorId } = anchor;
  const stated = sent === null ? await fetchReceipt(service, anchorId) : parseStated(sent);
  const expect = { eventHash: hexToBytes(eventHash, 32), anchorId: hexToBytes(anchorId, 32) };
  const judge = (each: StatedReceipt): CheckedReceipt | null => {
    if (held === null) return null;
    const verification = judgeReceipt(each, expect, held.chain, crypto);
    assertRecorded(options.act, verification.leaf);
    return { held, verification };
  };
  const judged = await awaitWitnesses({ stated, checked: judge(stated) }, demand, service, judge);
  const receipt = receiptPathOf(resolve(options.workingDir, file));
  writeWhole(receipt, formatProof(judged.stated.receipt));
  if (isUnwitnessed(judged, demand)) {
    totals.unavailable += 1;
    const said = { code: "not_witnessed", detail: "anchored and certified, and not witnessed in time" };
    return { ...asked, status: "unavailable", anchor_id: anchorId, receipt, ...said };
  }
  totals.anchored += 1;
  if (replayed === true) totals.replayed += 1;
  return { ...asked, status: "anchored", anchor_id: anchorId, receipt, code: null, detail: null };
}

function show({ options, report, held, totals }: Run, printer: Printer): void {
  const { files, isJson } = options;
  const { anchored, replayed, skipped, refused, unavailable, unreadable } = totals;
  if (isJson) {
    printer.json({
      files: files.length,
      ...totals,
      report: report.path,
      receipts_verified: held !== null && held.pin !== null,
    });
    return;
  }
  const again = replayed === 0 ? "" : `, ${replayed} of them before`;
  printer.check("pass", "anchored", `${counted(anchored, "file")}${again}`);
  if (skipped > 0) printer.check("skip", "done before", `${counted(skipped, "file")}, as the report says`);
  if (held === null) printer.check("warn", "receipts", "not verified: there is no trust root here (--trust-root)");
  else if (held.pin === null) printPin(printer, held);
  if (refused > 0) printer.check("fail", "refused", `${counted(refused, "file")}: the report says why`);
  if (unavailable > 0)
    printer.check("warn", "not yet", `${counted(unavailable, "file")}: the same command tries them again`);
  if (unreadable > 0) printer.check("fail", "unreadable", `${counted(unreadable, "file")}: the report says why`);
  const isWhole = refused + unavailable + unreadable === 0;
  printer.verdict(
    isWhole ? "pass" : "fail",
    `${anchored + skipped} of ${files.length} files are anchored. Report: ${report.path}`,
  );
}
