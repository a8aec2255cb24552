import { rmSync, statSync } from "node:fs";
import type { Seeded } from "@event-anchoring/simulator";
import { flipBack, flipBit } from "@event-anchoring/testkit/faults";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { takeBackup } from "../anchorctl/backups.ts";
import { runAnchorctl } from "../anchorctl/run-anchorctl.ts";

/** Exit codes of `anchorctl` that mean: this file cannot be used. */
const REFUSES = [1, 2];

/** Judges a backup. @returns an exit code; 0: the backup is sound */
export type BackupJudge = (path: string) => Promise<number>;

/** `anchorctl backup verify`, with the cluster's trust roots. */
export function anchorctlVerify({ cluster }: TestCluster): BackupJudge {
  return async (path) => (await runAnchorctl(["backup", "verify", path, "--cluster", cluster.root])).exitCode;
}

/**
 * Alters one bit of a backup after the other: every byte of it is under its hash, so each has to be refused.
 * @returns a line for each that was not
 */
export async function flipBackup(
  path: string,
  flips: number,
  dice: Seeded,
  judge: BackupJudge,
): Promise<readonly string[]> {
  const { size } = statSync(path);
  const broken: string[] = [];
  for (let done = 0; done < flips; done++) {
    const flipped = flipBit(path, dice.below(size), dice.below(8));
    const exitCode = await judge(path);
    if (!REFUSES.includes(exitCode)) {
      broken.push(`byte ${flipped.offset}, bit ${flipped.bit} of ${size} bytes: judged with ${exitCode}`);
    }
    if (!flipBack(flipped)) throw new Error(`${path} was written while it was judged`);
  }
  const exitCode = await judge(path);
  return exitCode === 0 ? broken : [...broken, `without any altered bit it is judged with ${exitCode}`];
}

/** A round on a backup of a cluster that runs. */
export async function backupRound(
  setup: TestCluster,
  seed: number,
  flips: number,
  dice: Seeded,
): Promise<readonly string[]> {
  const { id } = dice.pick(setup.cluster.file.nodes);
  const path = await takeBackup(setup, id, `flips-${seed}.backup`);
  try {
    return await flipBackup(path, flips, dice, anchorctlVerify(setup));
  } finally {
    rmSync(path);
  }
}
