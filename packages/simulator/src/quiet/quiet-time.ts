import { SimulatedProcess } from "../world/simulated-process.ts";
import { World } from "../world/world.ts";

/** The time of a world, which only a test moves. */
export class QuietTime {
  readonly world = new World();
  readonly #onAdvanced: () => void;
  readonly clock = new SimulatedProcess(this.world, () => 0).clock;

  /** @param onAdvanced called after each step */
  constructor(onAdvanced: () => void = () => {}) {
    this.#onAdvanced = onAdvanced;
  }

  /** Runs whatever is due within the next `ms`, in order, and all promise work in between. */
  async advance(ms: number): Promise<void> {
    await settled();
    await this.world.runUntil(this.world.nowMs + ms, () => false);
    await settled();
    this.#onAdvanced();
  }
}

/** Promise work that a test has begun is done: a macrotask begins when no microtask is left. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
