/** Small stand-ins that several tests share. */
import type { Logger } from "@event-anchoring/telemetry";
import type { TimerClock, Timer } from "../src/ports/environment.ts";

export interface Deferred {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

/** A promise that the test settles. */
export function deferred(): Deferred {
  let resolve: () => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve: () => resolve(), reject: (error) => reject(error) };
}

/** Lets everything run that waits for nothing but other promises. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export const quietLogger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Time that stands still until it is advanced; timers then run at once, in order. */
export class StepClock implements TimerClock {
  wall = 1_700_000_000_000;
  #nowMs = 1000;
  #timers: { atMs: number; action: () => void }[] = [];

  wallMs(): number {
    return this.wall;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  startTimer(delayMs: number, action: () => void): Timer {
    const timer = { atMs: this.#nowMs + delayMs, action };
    this.#timers.push(timer);
    return { cancel: () => (this.#timers = this.#timers.filter((candidate) => candidate !== timer)) };
  }

  afterTurn(action: () => void): void {
    queueMicrotask(action);
  }

  get timerCount(): number {
    return this.#timers.length;
  }

  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      const due = this.#timers.filter(({ atMs }) => atMs <= untilMs).sort((left, right) => left.atMs - right.atMs)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.wall += due.atMs - this.#nowMs;
      this.#nowMs = due.atMs;
      due.action();
    }
    this.wall += untilMs - this.#nowMs;
    this.#nowMs = untilMs;
  }
}

/** xorshift32: enough to tell election timeouts apart, and the same every time. */
export function seededRandom(seed: number): (bytes: Uint8Array) => void {
  let state = Math.imul(seed, 0x9e37_79b1) >>> 0 || 1;
  return (bytes) => {
    for (let at = 0; at < bytes.length; at++) {
      state ^= state << 13;
      state ^= state >>> 17;
      state = (state ^ (state << 5)) >>> 0;
      bytes[at] = state & 0xff;
    }
  };
}
