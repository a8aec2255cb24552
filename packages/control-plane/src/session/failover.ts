import type { Clock, Random, Timer } from "../environment.ts";

const RANDOM_DELAY_MAX_MS = 150;

export interface FailoverOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly leader: () => string | null;
  readonly forgetLeader: () => void;
  readonly campaign: () => void;
}

/**
 * A leader whose connections are closed and whose port refuses is dead, not slow: waiting out the election timeout
 * would only cost time. The follower forgets it, waits a random moment so that two rarely collide, and campaigns with
 * PreVote, which disturbs nobody if it is wrong.
 */
export class Failover {
  readonly #options: FailoverOptions;
  #timer: Timer | null = null;

  constructor(options: FailoverOptions) {
    this.#options = options;
  }

  /** The peer's connections are closed and reconnects were refused for a while. */
  onPeerGone(nodeId: string): void {
    if (this.#options.leader() !== nodeId || this.#timer !== null) return;
    this.#options.forgetLeader();
    const draw = new Uint8Array(1);
    this.#options.random.fill(draw);
    const delayMs = ((draw[0] ?? 0) / 256) * RANDOM_DELAY_MAX_MS;
    this.#timer = this.#options.clock.startTimer(delayMs, () => {
      this.#timer = null;
      if (this.#options.leader() === null) this.#options.campaign();
    });
  }

  close(): void {
    this.#timer?.cancel();
  }
}
