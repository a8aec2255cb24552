import { bytesToHex } from "@event-anchoring/protocol";
import { describeDifference, fsckDatabase } from "@event-anchoring/store";
import type { FsckProgress, FsckReport } from "@event-anchoring/store";
import { EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { NodeDatabase } from "../files/node-database.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { withStoreFaults } from "./store-faults.ts";

export interface FsckCommandOptions {
  readonly database: NodeDatabase;
  /** RootTHK of a version that the node must have; null: the node's own version 1 is taken. */
  readonly pinnedRootThk: Uint8Array | null;
  readonly findsAll: boolean;
  /** How many differences are named. */
  readonly differencesMax: number;
  readonly isJson: boolean;
}

/** `anchorctl fsck`: derives a node's tables again from its leaves, names what differs: exit 1 then. */
export async function fsckCommand(
  options: FsckCommandOptions,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const { database, pinnedRootThk, findsAll, differencesMax } = options;
  const rate = new Rate(progress);
  const report = await withStoreFaults(() =>
    fsckDatabase({
      url: database.url,
      pinnedRootThk,
      findsAll,
      differencesMax,
      onProgress: (done) => rate.say(done),
    }),
  );
  progress.end();
  if (options.isJson) printer.json(reportJson(report, options));
  else describeReport(report, options, printer);
  return report.differenceCount === 0 ? EXIT.ok : EXIT.invalid;
}

/** How many rows of the phase that goes on are done, and how many a second. */
class Rate {
  readonly #progress: Progress;
  #phase: FsckProgress["phase"] | null = null;
  #from = 0;
  #fromMs = 0;

  constructor(progress: Progress) {
    this.#progress = progress;
  }

  say({ phase, done, total }: FsckProgress): void {
    if (phase !== this.#phase) [this.#phase, this.#from, this.#fromMs] = [phase, done, performance.now()];
    const seconds = (performance.now() - this.#fromMs) / 1000;
    const perSecond = seconds > 0 ? Math.round((done - this.#from) / seconds) : 0;
    this.#progress.say(`${phase}: ${done}${total === null ? "" : ` of ${total}`}, ${perSecond} a second`);
  }
}

function describeReport(report: FsckReport, { pinnedRootThk, findsAll }: FsckCommandOptions, printer: Printer): void {
  const { checked, differences, differenceCount, trustRoot, origins } = report;
  const { leaves, tiles, claims, grants, statePages, certificates, signatures, logRows } = checked;
  printer.check("skip", "looked at", `${leaves} leaves, ${tiles} tiles, ${claims} claims, ${grants} grants`);
  printer.check("skip", "", `${certificates} certificates, ${signatures} signatures, ${logRows} log entries`);
  printer.check("skip", "", `${statePages} pages of the state tree`);
  if (trustRoot !== null) {
    const pin = pinnedRootThk === null ? ", not checked against a pin" : "";
    const mark = pinnedRootThk === null ? "warn" : "skip";
    printer.check(mark, "trust root", `version ${trustRoot.version}, ${bytesToHex(trustRoot.rootThk)}${pin}`);
  }
  for (const { originFingerprint, treeSize, rootHash, certifiedSize } of origins) {
    const root = rootHash === null ? "no root" : bytesToHex(rootHash);
    printer.check("skip", "tree", `${bytesToHex(originFingerprint)}: ${treeSize} leaves, ${root}`);
    if (certifiedSize < treeSize) printer.check("skip", "", `certified up to ${certifiedSize} leaves`);
  }
  for (const difference of differences) printer.check("fail", "differs", describeDifference(difference));
  if (differenceCount === 0) {
    printer.verdict("pass", "Sound: everything is as the leaves, the log and the trust root make it.");
    return;
  }
  const unnamed = differenceCount - differences.length;
  if (unnamed > 0) printer.check("fail", "", `and ${unnamed} more`);
  const more = findsAll ? "" : " --all goes on after the first.";
  printer.verdict("fail", `NOT SOUND. Replace this node; do not repair it by hand: docs/operating/fsck.md.${more}`);
}

function reportJson(report: FsckReport, { database, pinnedRootThk }: FsckCommandOptions): object {
  const { checked, differences, differenceCount, trustRoot, origins } = report;
  return {
    sound: differenceCount === 0,
    node_id: database.nodeId,
    differences: differences.map(({ table, key, column, is, shouldBe }) => {
      return { table, key, column, is, should_be: shouldBe };
    }),
    difference_count: differenceCount,
    checked: {
      leaves: checked.leaves,
      tiles: checked.tiles,
      claims: checked.claims,
      grants: checked.grants,
      certificates: checked.certificates,
      signatures: checked.signatures,
      state_pages: checked.statePages,
      log_entries: checked.logRows,
    },
    trust_root: trustRoot === null ? null : { version: trustRoot.version, root_thk: bytesToHex(trustRoot.rootThk) },
    is_pinned: pinnedRootThk !== null,
    origins: origins.map(({ originFingerprint, treeSize, rootHash, certifiedSize }) => ({
      origin_fingerprint: bytesToHex(originFingerprint),
      tree_size: treeSize,
      root_hash: rootHash === null ? null : bytesToHex(rootHash),
      certified_size: certifiedSize,
    })),
  };
}
