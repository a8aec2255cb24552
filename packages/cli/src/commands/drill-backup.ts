import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { describeDifference, fsckDatabase, restoreBackup, withScratchDatabase } from "@event-anchoring/store";
import type { BackupFile, FsckReport } from "@event-anchoring/store";
import { isIntact } from "../keeping/kept-folder.ts";
import type { KeptBackup, KeptFolder } from "../keeping/kept-folder.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { assertOwnCluster, judgeBackup, withBackup } from "./backup.ts";
import { noted } from "./keep-backup.ts";
import { withStoreFaults } from "./store-faults.ts";
import { unpackTo } from "./unpack-backup.ts";

/** Under which the drill's database is filled; no node has it. */
const DRILL_NODE = "drill";

export interface DrillOptions {
  readonly folder: KeptFolder;
  readonly identities: readonly string[];
  /** Trust roots of the cluster, from its pin; null: there are none at hand. */
  readonly held: TrustRootChain | null;
  /** A server on which a database may be made, and dropped again. */
  readonly scratchUrl: string;
  readonly mayBeUnsigned: boolean;
  readonly metricsPath: string | null;
  readonly isJson: boolean;
}

interface Drilled {
  readonly file: string;
  readonly takenAtMs: number;
  readonly leaves: number;
  readonly isPinned: boolean;
  readonly isSigned: boolean;
}

/**
 * `anchorctl backup drill`: the newest kept backup is unpacked, verified, put into a database of its own, and that is
 * gone through as fsck does. Nothing of it is left.
 */
export async function drillBackupCommand(
  options: DrillOptions,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const drilled = await noted("drill", options, () => drillNewest(options, progress));
  const { file, takenAtMs, leaves, isPinned, isSigned } = drilled;
  if (options.isJson) {
    const taken_at = new Date(takenAtMs).toISOString();
    printer.json({ sound: true, file, taken_at, leaves, pinned: isPinned, state_signed: isSigned });
  } else {
    printer.check("pass", "unpacked", file);
    printer.check(
      "pass",
      "verified",
      `${leaves} leaves, every signature, as ${isSigned ? "a quorum" : "NOBODY"} signed`,
    );
    printer.check("pass", "restored", "into a database, which is as its leaves make it, and is gone again");
    if (!isPinned) printer.check("warn", "NOT PINNED", "it may be of any cluster: give --trust-root or --cluster");
    printer.verdict("pass", `Sound: ${file} can be restored.`);
  }
  return isPinned ? EXIT.ok : EXIT.notPinned;
}

async function drillNewest(options: DrillOptions, progress: Progress): Promise<Drilled> {
  const { folder, identities } = options;
  const [newest] = folder.list();
  if (newest === undefined) {
    throw new CliError(EXIT.invalid, "no_backup", `there is no kept backup in ${folder.path}`);
  }
  await assertIntact(newest);
  const place = await mkdtemp(join(tmpdir(), "anchoring-drill-"));
  try {
    const path = join(place, "backup");
    await unpackTo(newest.path, identities, path, progress);
    return await withBackup(path, async (file) => {
      if (!file.manifest.isSigned && !options.mayBeUnsigned) {
        const message = `no quorum has signed ${newest.name}; --unsigned drills it all the same`;
        throw new CliError(EXIT.asStated, "unsigned", message);
      }
      await judgeBackup(file, options.held, progress);
      const report = await restoredAndChecked(file, options, progress);
      assertSame(report, file);
      const { takenAtMs, nextSequence: leaves, isSigned } = file.manifest;
      return { file: newest.name, takenAtMs, leaves, isSigned, isPinned: options.held !== null };
    });
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function assertIntact(kept: KeptBackup): Promise<void> {
  if (await isIntact(kept)) return;
  const what = kept.note === null ? "has no note beside it" : "is not as it was written";
  throw new CliError(EXIT.invalid, "altered", `${kept.path} ${what}`);
}

async function restoredAndChecked(
  file: BackupFile,
  { scratchUrl, held, mayBeUnsigned }: DrillOptions,
  progress: Progress,
): Promise<FsckReport> {
  return withStoreFaults(() =>
    withScratchDatabase(scratchUrl, async (url) => {
      await restoreBackup({
        url,
        file,
        nodeId: DRILL_NODE,
        judgeChain: (chain) => {
          if (held !== null) assertOwnCluster(held, chain);
        },
        signers: mayBeUnsigned ? "unsigned" : "quorum",
        newGroup: null,
        onProgress: (bytes, ofBytes) => progress.say(`${bytes} of ${ofBytes} bytes read`),
      });
      const report = await fsckDatabase({
        url,
        pinnedRootThk: held?.newest.rootThk ?? null,
        onProgress: ({ phase, done }) => progress.say(`${done} ${phase} checked`),
      });
      progress.end();
      return report;
    }),
  );
}

/** What is in the database must be what the backup says of itself. @throws CliError `restored_differs` */
function assertSame({ differences, origins }: FsckReport, { manifest }: BackupFile): void {
  const differs = (what: string): CliError =>
    new CliError(EXIT.invalid, "restored_differs", `the restored database is not sound: ${what}`);
  const [first] = differences;
  if (first !== undefined) throw differs(describeDifference(first));
  for (const { originFingerprint, treeSize, rootHash } of manifest.origins) {
    const found = origins.find((origin) => equalBytes(origin.originFingerprint, originFingerprint));
    const root = found?.rootHash ?? null;
    if (found?.treeSize === treeSize && root !== null && equalBytes(root, rootHash)) continue;
    throw differs(`the tree of ${bytesToHex(originFingerprint)} is another one`);
  }
}
