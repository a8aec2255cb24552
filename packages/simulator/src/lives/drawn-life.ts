import { liveBesideALiar } from "../liar/liar-life.ts";
import { LIES, type LieName } from "../lies/all-lies.ts";
import type { Broken } from "../machine/invariants.ts";
import { Seeded } from "../world/seeded.ts";
import { liveOneLife } from "./life.ts";
import { type Lives, type Series, liveMany } from "./life-pool.ts";

/** One life of which the seed draws all: whether a member lies too. */
export interface DrawnLife {
  readonly seed: number;
  /** Nodes, and the quorum of cosignatures beside a liar: what holds depends on it. */
  readonly shape: string;
  /** null: all members are honest. */
  readonly lie: LieName | null;
  /** null: every sentence that holds for this shape held. */
  readonly broken: Broken | null;
  readonly simulatedMs: number;
  readonly acknowledged: number;
  /** The node from whose database the cluster has to be restored; null: the cluster has converged by itself. */
  readonly lastHolder: string | null;
}

interface DrawnLives extends Lives {
  readonly onResult: (life: DrawnLife) => void;
}

/** Nodes and quorum: the first two detect one liar, the others exclude it. */
export const LIAR_SHAPES = [
  [3, 2],
  [5, 3],
  [4, 3],
  [5, 4],
] as const;

const ONE_LIAR_IN = 5;
/** Faults strike, or a member lies, for so long: with birth and recovery it is a minute. */
export const DRAWN_HARM_MS = 50_000;

/** Lives of a minute, one in five beside a liar. */
export async function liveDrawnLives(lives: DrawnLives): Promise<void> {
  const series: Series<DrawnLife> = {
    ...lives,
    live: liveDrawnLife,
    thread: { file: "drawn-worker.js", common: null },
  };
  await liveMany(series);
}

/** A function of the seed. */
export async function liveDrawnLife(seed: number): Promise<DrawnLife> {
  if (seed % ONE_LIAR_IN === 0) return liveWithALiar(seed);
  const life = await liveOneLife({ seed, harmMs: DRAWN_HARM_MS });
  const { nodes, broken, simulatedMs, acknowledged, lastHolder } = life;
  return { seed, shape: `${nodes} nodes`, lie: null, broken, simulatedMs, acknowledged, lastHolder };
}

async function liveWithALiar(seed: number): Promise<DrawnLife> {
  const random = new Seeded(seed, 11);
  const [nodes, quorum] = random.pick(LIAR_SHAPES);
  const lie = random.pick(Object.keys(LIES) as LieName[]);
  const life = await liveBesideALiar({ seed, nodes, quorum, lie, lieMs: DRAWN_HARM_MS });
  const { broken, simulatedMs, acknowledged } = life;
  const shape = `${nodes} nodes, quorum ${quorum}, one lies`;
  return { seed, shape, lie, broken, simulatedMs, acknowledged, lastHolder: null };
}
