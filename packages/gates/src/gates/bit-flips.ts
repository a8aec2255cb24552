import { Seeded } from "@event-anchoring/simulator";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import { Recorder, audit } from "@event-anchoring/testkit/faults";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { backupRound } from "../flips/backup-flips.ts";
import { nodeRound } from "../flips/node-flips.ts";
import type { Flipped } from "../flips/places.ts";
import type { Batch, Gate } from "./gate.ts";
import { SERVICE_SOURCES } from "./sources.ts";

/** One cluster's rounds, in order; a damaged log ahead ends its life. */
const ROUNDS: readonly (Flipped | "backup")[] = [
  "tables",
  "promise file",
  "tables",
  "small files",
  "tables",
  "backup",
  "identity",
  "tables",
  "catalogue",
  "promise file",
  "tables",
  "log ahead",
];
const BACKUP_FLIPS = 24;
const AUDIT_EVERY = 5;

/** Disks that alter what they hold. */
export const BIT_FLIPS: Gate = {
  name: "bit-flips",
  counts: "bits flipped in database, promise file and identity of one node of three, and in backups, each asked about",
  fails: "a wrong answer, a damaged backup that is taken, a node that has all its bits again and does not serve",
  toReach: 2000,
  firstStop: 200,
  sources: [
    ...SERVICE_SOURCES,
    "packages/cli/src/commands/backup.ts",
    "packages/cli/src/commands/store-faults.ts",
    "packages/cli/src/files",
    "packages/cli/src/service",
  ],
  missing: () => null,
  run: async (batch) => {
    for (let seed = batch.from; !batch.isOver();) seed = await lifeOf(seed, batch);
  },
};

/** @returns the first seed that the next cluster takes */
async function lifeOf(from: number, batch: Batch): Promise<number> {
  const setup = await startTestCluster();
  try {
    const recorder = new Recorder();
    let seed = from;
    for (let isWhole = true; isWhole && !batch.isOver(); seed++) {
      isWhole = await roundOf(setup, recorder, seed, batch);
    }
    return seed;
  } finally {
    await setup.erase();
  }
}

/** @returns whether the cluster is as good as before */
async function roundOf(setup: TestCluster, recorder: Recorder, seed: number, batch: Batch): Promise<boolean> {
  const dice = new Seeded(seed, 41);
  const what = ROUNDS[(seed - 1) % ROUNDS.length] ?? "tables";
  if (what === "backup") {
    const broken = await backupRound(setup, seed, BACKUP_FLIPS, dice);
    for (const line of broken) batch.fail({ seed: `${seed}`, what: `backup: ${line}` });
    batch.note(BACKUP_FLIPS, seed, { "in backups": BACKUP_FLIPS });
    return true;
  }
  const { flips, outcome, answered, refused, broken, isWhole } = await nodeRound(setup, recorder, seed, what, dice);
  // It reads all that the cluster holds: once in a while is enough.
  const isAudited = isWhole && seed % AUDIT_EVERY === 0;
  const audited = isAudited ? (await audit(setup, recorder)).broken : [];
  const all = [...broken, ...audited.slice(0, 3)];
  if (all.length > 0) batch.fail({ seed: `${seed}`, what: `${what}, ${outcome}: ${all.join("; ")}` });
  batch.note(flips, seed, {
    [`in ${what}`]: flips,
    [`node ${outcome}`]: 1,
    "answers compared": answered,
    "answers refused": refused,
  });
  return isWhole && all.length === 0;
}
