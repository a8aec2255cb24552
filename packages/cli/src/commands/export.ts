import { createHash } from "node:crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { VerificationError, extendTrustRoot, readers } from "@event-anchoring/sdk";
import type { TrustRootChain } from "@event-anchoring/sdk";
import { exportOrigin } from "../export/export-origin.ts";
import type { ExportedOrigin } from "../export/export-origin.ts";
import { FolderLock } from "../export/folder-lock.ts";
import { LogFolder } from "../export/log-folder.ts";
import { PublicLog } from "../export/public-log.ts";
import { heldTrustRootsOf } from "../reports/check-receipt.ts";
import type { TrustOptions } from "../reports/check-receipt.ts";
import { pinJson, printPin } from "../reports/describe-pin.ts";
import { foreignTrustRoots } from "../service/service-trust-roots.ts";
import type { Service } from "../service/service.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { waited } from "../terminal/waited.ts";
import { leaves } from "../terminal/words.ts";
import type { HeldTrustRoots } from "../files/trust-roots.ts";

export interface ExportOptions {
  readonly out: string;
  /** Null: once. */
  readonly intervalMs: number | null;
  readonly withReceipts: boolean;
  readonly isJson: boolean;
  readonly trust: TrustOptions;
  /** Ends it. */
  readonly signal: AbortSignal | null;
}

const readDocuments = readers.record({ chain: readers.listOf(readers.record({ document: readers.text })) });

const TRUST_ROOT = "v1/trust-root";
const PAGE = "index.html";

/**
 * `anchorctl export`: the log as files, by the paths at which a public log shows it. Goes on where it ended. Nothing is
 * published that its checkpoint does not cover.
 * @throws CliError `locked` while another export writes to the folder
 */
export async function exportCommand(
  options: ExportOptions,
  service: Service,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const held = heldTrustRootsOf(options.trust);
  if (held === null) throw new CliError(EXIT.usage, "trust_root_missing", "no trust root: give --trust-root");
  const run = { folder: new LogFolder(options.out), log: new PublicLog(service), held, options, progress };
  const lock = FolderLock.take(options.out);
  try {
    for (;;) {
      report(await exportLog(run), run, printer);
      if (options.intervalMs === null || !(await waited(options.intervalMs, options.signal))) return EXIT.ok;
    }
  } finally {
    lock.release();
  }
}

interface ExportRun {
  readonly folder: LogFolder;
  readonly log: PublicLog;
  readonly held: HeldTrustRoots;
  readonly options: ExportOptions;
  readonly progress: Progress;
}

interface Exported {
  readonly origins: readonly ExportedOrigin[];
  readonly trustRootVersion: number;
  /** SHA-256 in hex; null: the node serves no page. */
  readonly pageSha256: string | null;
}

/** Trust roots first: they judge the checkpoints, which come last. */
async function exportLog({ folder, log, held, options, progress }: ExportRun): Promise<Exported> {
  const documents = await log.trustRoot();
  const chain = chainOf(documents, held.chain);
  replaceIfNew(folder, TRUST_ROOT, documents);
  const page = await log.page();
  if (page !== null) replaceIfNew(folder, PAGE, page);
  const origins: ExportedOrigin[] = [];
  for (const { originFingerprint: bytes } of chain.newest.trustRoot.origins) {
    const originFingerprint = bytesToHex(bytes);
    const onProgress = (size: number, of: number): void => {
      if (size < of) progress.say(`${originFingerprint}: ${size} of ${of} leaves`);
    };
    const { withReceipts } = options;
    const exported = await exportOrigin({ log, folder, chain, originFingerprint, withReceipts, onProgress });
    if (exported !== null) origins.push(exported);
  }
  progress.end();
  folder.discard();
  const pageSha256 = page === null ? null : createHash("sha256").update(page).digest("hex");
  return { origins, trustRootVersion: chain.newest.trustRoot.version, pageSha256 };
}

/** @throws CliError `invalid`: they do not follow from what is held */
function chainOf(answer: Uint8Array, held: TrustRootChain): TrustRootChain {
  const text = Buffer.from(answer).toString("utf8");
  try {
    return extendTrustRoot(held, readDocuments(JSON.parse(text), "the body").chain);
  } catch (error) {
    throw error instanceof VerificationError ? foreignTrustRoots(error) : error;
  }
}

function replaceIfNew(folder: LogFolder, path: string, bytes: Uint8Array): void {
  if (Buffer.compare(folder.read(path) ?? new Uint8Array(0), bytes) !== 0) folder.replace(path, bytes);
}

function report(
  { origins, trustRootVersion, pageSha256 }: Exported,
  { options, held }: ExportRun,
  printer: Printer,
): void {
  const { isJson, out } = options;
  if (isJson) {
    printer.jsonLine({
      time: new Date().toISOString(),
      folder: out,
      origins: origins.map(({ originFingerprint, treeSize, previousTreeSize }) => ({
        origin_fingerprint: originFingerprint,
        tree_size: treeSize,
        grown_by: treeSize - previousTreeSize,
      })),
      trust_root_version: trustRootVersion,
      page_sha256: pageSha256,
      pin: pinJson(held),
    });
    return;
  }
  if (held.pin === null) printPin(printer, held);
  for (const { originFingerprint, treeSize, previousTreeSize } of origins) {
    const grown = treeSize === previousTreeSize ? "as before" : `${treeSize - previousTreeSize} more`;
    printer.check("pass", "exported", `${originFingerprint}  ${leaves(treeSize)}, ${grown}`);
  }
  if (pageSha256 === null) printer.check("warn", "page", "the node serves none");
  else printer.check("pass", "page", `SHA-256 ${pageSha256}: compare it with that of the release`);
  printer.verdict("pass", `${new Date().toISOString()}: ${out} holds what its checkpoints say.`);
}
