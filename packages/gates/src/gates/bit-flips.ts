import { Seeded } from "@event-anchoring/simulator";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import { Recorder, audit } from "@event-anchoring/testkit/faults";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { backupRound } from "../flips/backup-flips.ts";
import { nodeRound } from "../flips/node-flips.ts";
import type { Flipped } from "../flips/places.ts";
import { backupFlipsAllowed } from "../flips/share-of-backups.ts";
import type { CountedFlips } from "../flips/share-of-backups.ts";
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
const AUDIT_EVERY = 5;

/** Flips of a batch so far. */
type Counted = { -readonly [Name in keyof CountedFlips]: CountedFlips[Name] };

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
    const counted = { nodes: 0, backups: 0 };
    for (let seed = batch.from; !batch.isOver();) seed = await lifeOf(seed, batch, counted);
  },
};

/**
 * @param counted grows with each round
 * @returns the first seed that the next cluster takes
 */
async function lifeOf(from: number, batch: Batch, counted: Counted): Promise<number> {
  const setup = await startTestCluster();
  try {
    const recorder = new Recorder();
    let seed = from;
    for (let isWhole = true; isWhole && !batch.isOver(); seed++) {
      isWhole = await roundOf(setup, recorder, seed, batch, counted);
    }
    return seed;
  } finally {
    await setup.erase();
  }
}

/** @returns whether the cluster is as good as before */
async function roundOf(
  setup: TestCluster,
  recorder: Recorder,
  seed: number,
  batch: Batch,
  counted: Counted,
): Promise<boolean> {
  const dice = new Seeded(seed, 41);
  const what = ROUNDS[(seed - 1) % ROUNDS.length] ?? "tables";
  if (what === "backup") {
    const flips = backupFlipsAllowed(counted);
    const broken = flips === 0 ? [] : await backupRound(setup, seed, flips, dice);
    for (const line of broken) batch.fail({ seed: `${seed}`, what: `backup: ${line}` });
    counted.backups += flips;
    batch.note(flips, seed, { "in backups": flips });
    return true;
  }
  const round = await nodeRound(setup, recorder, seed, what, dice);
  const { flips, isSlow, outcome, answered, refused, broken, isWhole } = round;
  counted.nodes += flips;
  // It reads all that the cluster holds: once in a while is enough.
  const isAudited = isWhole && seed % AUDIT_EVERY === 0;
  const audited = isAudited ? (await audit(setup, recorder)).broken : [];
  const all = [...broken, ...audited.slice(0, 3)];
  if (all.length > 0) batch.fail({ seed: `${seed}`, what: `${what}, ${outcome}: ${all.join("; ")}` });
  batch.note(flips, seed, {
    [`in ${what}`]: flips,
    [`node ${outcome}`]: 1,
    ...(isSlow ? { "rounds not counted, for the node was slow": 1 } : {}),
    "answers compared": answered,
    "answers refused": refused,
  });
  return isWhole && all.length === 0;
}
