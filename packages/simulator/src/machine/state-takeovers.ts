import type { InstallSnapshotOptions, InstalledSnapshot } from "@event-anchoring/store";
import type { EntryId } from "raft-ts";
import type { SimulatedDatabase } from "../disks/simulated-database.ts";
import type { SimulatedSnapshots, StateGiver } from "../disks/simulated-snapshots.ts";
import type { Seeded } from "../world/seeded.ts";
import type { SimulatedProcess } from "../world/simulated-process.ts";
import type { World } from "../world/world.ts";
import type { Invariants } from "./invariants.ts";

/** Nobody waits longer than two minutes for a peer that is away. */
const AWAY_MAX_MS = 100_000;

export interface StateTakeoversOptions {
  readonly name: string;
  readonly database: SimulatedDatabase;
  readonly world: World;
  readonly snapshots: SimulatedSnapshots;
  readonly invariants: Invariants;
  readonly random: Seeded;
  /** A state is written within this time at most; 0: it takes no time. */
  readonly installsMs: number;
}

interface TakenState {
  readonly point: EntryId;
  readonly giver: StateGiver;
  readonly atMs: number;
}

/** A machine that takes over states of peers. */
export class StateTakeovers {
  readonly #options: StateTakeoversOptions;
  /** null: its log has gone on since, or there was none. */
  #taken: TakenState | null = null;

  constructor(options: StateTakeoversOptions) {
    this.#options = options;
  }

  async install(process: SimulatedProcess, options: Omit<InstallSnapshotOptions, "url">): Promise<InstalledSnapshot> {
    const { database, snapshots, random, installsMs, world } = this.#options;
    const installed = await snapshots.install(database, options, async () => {
      if (installsMs === 0) return;
      await new Promise<void>((resolve) => process.later(random.between(0, installsMs), resolve));
    });
    const giver = snapshots.giverOf(options.manifest);
    this.#taken = giver === null ? null : { point: installed.point, giver, atMs: world.nowMs };
    return installed;
  }

  /** A session has been loaded, and connects to its peers now. */
  onSession(): void {
    const { database, world } = this.#options;
    const taken = this.#taken;
    this.#taken = null;
    // Its log has gone on already, or its disk was set back.
    if (taken === null || database.appliedIndex !== taken.point.index || database.rows.length > 0) return;
    if (world.nowMs - taken.atMs < AWAY_MAX_MS) this.theLogAfterAStateStays(taken);
  }

  theLogAfterAStateStays({ point, giver }: TakenState): void {
    const { name, invariants } = this.#options;
    if (!giver.lives() || giver.compactedTo() <= point.index) return;
    const begins = `whose log begins after ${giver.compactedTo()}`;
    invariants.fail("theLogAfterAStateStays", `${name} has the state after ${point.index} of ${giver.name}, ${begins}`);
  }
}
