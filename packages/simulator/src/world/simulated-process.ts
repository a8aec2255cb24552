import type { Timer, TimerClock } from "@event-anchoring/control-plane";
import type { Seeded } from "./seeded.ts";
import type { World } from "./world.ts";

/** Wall time at which every world begins. */
export const WORLD_START_MS = 1_700_000_000_000;

/**
 * One process of a simulated machine: every event reaches it as a turn. A paused process takes its turns when it is
 * resumed, a killed one never.
 */
export class SimulatedProcess {
  readonly #world: World;
  /** How far the machine's wall clock is off, in ms. */
  readonly #wallOffsetMs: () => number;
  #waiting: (() => void)[] = [];
  #state: "running" | "paused" | "killed" = "running";

  constructor(world: World, wallOffsetMs: () => number) {
    this.#world = world;
    this.#wallOffsetMs = wallOffsetMs;
  }

  get isAlive(): boolean {
    return this.#state !== "killed";
  }

  get isPaused(): boolean {
    return this.#state === "paused";
  }

  readonly clock: TimerClock = {
    wallMs: () => Math.floor(WORLD_START_MS + this.#world.nowMs + this.#wallOffsetMs()),
    monotonicMs: () => this.#world.nowMs,
    startTimer: (delayMs, action) => this.#startTimer(delayMs, action),
    afterTurn: (action) => queueMicrotask(action),
  };

  /** Something reaches the process now. */
  turn(action: () => void): void {
    if (this.#state === "running") action();
    else if (this.#state === "paused") this.#waiting.push(action);
  }

  /** Something reaches the process after that time. */
  later(delayMs: number, action: () => void): void {
    this.#world.after(delayMs, () => this.turn(action));
  }

  pause(): void {
    if (this.#state === "running") this.#state = "paused";
  }

  /** Delivers what came meanwhile, each in a turn of its own. */
  resume(): void {
    if (this.#state !== "paused") return;
    this.#state = "running";
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const action of waiting) this.later(0, action);
  }

  kill(): void {
    this.#state = "killed";
    this.#waiting = [];
  }

  #startTimer(delayMs: number, action: () => void): Timer {
    let isCancelled = false;
    const scheduled = this.#world.after(delayMs, () => {
      this.turn(() => {
        if (!isCancelled) action();
      });
    });
    return {
      cancel: () => {
        isCancelled = true;
        scheduled.isCancelled = true;
      },
    };
  }
}

/** A bound, so that no access outlasts the fault by long. */
const LATENCY_MAX_MS = 4000;

/** Latencies drawn from a range that usually is narrow and sometimes is not. @param slowness a factor */
export function latency(random: Seeded, lowMs: number, highMs: number, slowness: number): number {
  const isSlow = random.chance(0.02);
  return Math.min(LATENCY_MAX_MS, slowness * random.between(lowMs, isSlow ? highMs * 8 : highMs));
}
