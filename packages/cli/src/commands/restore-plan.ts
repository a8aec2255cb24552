import { ProofError, bytesToHex, equalBytes, parseProof } from "@event-anchoring/protocol";
import type { OriginFingerprint, TrustRoot, TrustRootChain } from "@event-anchoring/protocol";
import { composeTrustRoot, formatProposal } from "@event-anchoring/provision";
import type { TrustRootChange } from "@event-anchoring/provision";
import { readPromises } from "../files/read-promises.ts";
import type { Promises } from "@event-anchoring/control-contract";
import type { ScannedBackup } from "@event-anchoring/store";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { asCliError, readText, writeWhole } from "../files/read-input.ts";
import { EvidenceError, boundOf, certifiedHead, judgeOrigin } from "./restore-evidence.ts";
import type { OriginVerdict } from "./restore-evidence.ts";
import { alignColumns } from "../terminal/table.ts";
import { assertOwnCluster, goThrough, withBackup } from "./backup.ts";
import { asRefusal, readNodeCard } from "./root-proposal.ts";

const NOTE_BYTES_MAX = 256 * 1024;

export interface RestorePlanOptions {
  readonly backup: string;
  /** Every version that was signed, newest included. */
  readonly chain: TrustRootChain;
  /** Promise files of nodes that will not run again. */
  readonly promiseFiles: readonly string[];
  /** Certified checkpoints, or receipts, that somebody has kept. */
  readonly checkpoints: readonly string[];
  /** Cards of the new nodes. */
  readonly cards: readonly string[];
  readonly quorum: number | null;
  /** Unix seconds. */
  readonly issuedS: number;
  readonly expiresS: number | null;
  readonly out: string;
  readonly isJson: boolean;
}

interface PlannedOrigin extends OriginVerdict {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
}

/** `anchorctl restore plan`: what becomes of each origin and why, and the trust root that says so, unsigned. */
export async function restorePlanCommand(
  options: RestorePlanOptions,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const { chain, out, isJson } = options;
  const files = await readAll(options.promiseFiles);
  return withBackup(options.backup, async (file) => {
    const from = file.manifest.trustRootVersion;
    const { bound, certified } = asEvidence(() => ({
      bound: boundOf(chain, from, files),
      certified: options.checkpoints.map((path) => certifiedHead(noteIn(path), path, chain)),
    }));
    const heads = [...bound.heads, ...certified];
    const scanned = await goThrough(file, progress, heads);
    assertOwnCluster(chain, scanned.chain);
    assertNotBehind(chain, scanned.chain);
    const planned = plan(chain.newest.trustRoot, scanned, { bound, certified });
    const proposal = asRefusal(() => composeTrustRoot(chain, changeOf(options, planned)));
    writeWhole(out, formatProposal(proposal));
    if (isJson) {
      printer.json({
        out,
        version: proposal.trustRoot.version,
        epoch: proposal.trustRoot.epoch,
        root_thk: bytesToHex(proposal.rootThk),
        origins: planned.map(({ originFingerprint, treeSize, status, reason }) => ({
          origin_fingerprint: bytesToHex(originFingerprint),
          tree_size: treeSize,
          status,
          reason,
        })),
      });
      return EXIT.ok;
    }
    describe(planned, printer);
    const { version, epoch } = proposal.trustRoot;
    const sign = printer.next("root", "sign", out, "--key", "<file>");
    printer.verdict("pass", `Written to ${out}: version ${version}, epoch ${epoch}. Next: ${sign}`);
    return EXIT.ok;
  });
}

function plan(
  newest: TrustRoot,
  scanned: ScannedBackup,
  known: Parameters<typeof judgeOrigin>[1],
): readonly PlannedOrigin[] {
  return newest.origins.flatMap(({ originFingerprint, status }) => {
    if (status === "lost") return [];
    // An origin of a version after the backup has no leaf in it.
    const treeSize =
      scanned.origins.find((origin) => equalBytes(origin.originFingerprint, originFingerprint))?.treeSize ?? 0;
    const verdict = judgeOrigin({ originFingerprint, treeSize }, known, (head) => scanned.rootOf(head));
    return [{ originFingerprint, treeSize, ...verdict }];
  });
}

function changeOf(options: RestorePlanOptions, planned: readonly PlannedOrigin[]): TrustRootChange {
  const { chain, cards, quorum, issuedS, expiresS } = options;
  const { nodes } = chain.newest.trustRoot;
  const leaving = nodes.filter(({ status }) => status === "active" || status === "learner");
  return {
    issuedS,
    ...(expiresS === null ? {} : { expiresS }),
    raiseEpoch: true,
    actives: cards.map(readNodeCard),
    retire: leaving.map(({ nodeId }) => nodeId),
    loseOrigins: planned
      .filter(({ status }) => status === "lost")
      .map(({ originFingerprint }) => bytesToHex(originFingerprint)),
    ...(quorum === null ? {} : { quorum }),
  };
}

/** A version that follows an older one than the newest would be a fork for everybody who has seen the newest. */
function assertNotBehind(held: TrustRootChain, found: TrustRootChain): void {
  const [have, needed] = [held.newest.trustRoot.version, found.newest.trustRoot.version];
  if (have >= needed) return;
  const how = "anchorctl backup verify --trust-roots-out <folder> writes them";
  const message = `the backup holds the trust roots up to version ${needed}, only ${have} are held here: ${how}`;
  throw new CliError(EXIT.usage, "trust_root_behind", message);
}

function asEvidence<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof EvidenceError) throw new CliError(EXIT.invalid, "evidence_invalid", error.message, error);
    throw error;
  }
}

async function readAll(paths: readonly string[]): Promise<readonly Promises[]> {
  return Promise.all(
    paths.map((path) =>
      readPromises(path).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        const known = asCliError(path, "read", error);
        if (known instanceof CliError) throw known;
        throw new CliError(EXIT.invalid, "promise_file_unusable", `${path}: ${reason}`, error);
      }),
    ),
  );
}

/** A signed checkpoint, or that of a receipt. */
function noteIn(path: string): string {
  const text = readText(path, NOTE_BYTES_MAX);
  try {
    return parseProof(text).checkpoint;
  } catch (error) {
    if (error instanceof ProofError) return text;
    throw error;
  }
}

function describe(planned: readonly PlannedOrigin[], printer: Printer): void {
  const rows = planned.map(({ originFingerprint, treeSize, status, reason }) => [
    `${printer.sign(status === "closed" ? "pass" : "warn")} origin ${bytesToHex(originFingerprint).slice(0, 16)}`,
    status,
    `${treeSize} leaves`,
    reason,
  ]);
  for (const line of alignColumns(rows)) printer.line(`  ${line}`);
}
