import type { Clock } from "@event-anchoring/telemetry";
import { ProblemError } from "../request/problem-error.ts";

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Full again after this time, if nothing is taken: a bucket holds one second's tokens. */
const FULL_AFTER_MS = 1000;

/**
 * Token buckets by name, each refilled at its rate; a bucket holds one second of it. A request costs one token when it
 * comes. Further cost is taken when it is known, even from an empty bucket: following requests wait until it is
 * refilled.
 */
export class TokenBuckets {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#buckets.size;
  }

  has(name: string): boolean {
    return this.#buckets.has(name);
  }

  /** @throws ProblemError `rate_limited` */
  take(name: string, perSecond: number): void {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.get(name) ?? { tokens: Math.max(1, perSecond), atMs: nowMs };
    const refilled = bucket.tokens + ((nowMs - bucket.atMs) / 1000) * perSecond;
    bucket.tokens = Math.min(Math.max(1, perSecond), refilled);
    bucket.atMs = nowMs;
    this.#buckets.set(name, bucket);
    if (bucket.tokens < 1) {
      const retryAfterMs = ((1 - bucket.tokens) / perSecond) * 1000;
      throw new ProblemError({ code: "rate_limited", retryAfterMs });
    }
    bucket.tokens -= 1;
  }

  /** Takes what a request has cost beyond its first token. A name without a bucket pays nothing. */
  charge(name: string, tokens: number): void {
    const bucket = this.#buckets.get(name);
    if (bucket !== undefined) bucket.tokens -= tokens;
  }

  /** Forgets the buckets that owe nothing and that nobody has taken from for so long that they are full. */
  forgetFull(): void {
    const beforeMs = this.#clock.monotonicMs() - FULL_AFTER_MS;
    for (const [name, { tokens, atMs }] of this.#buckets) {
      if (atMs <= beforeMs && tokens >= 0) this.#buckets.delete(name);
    }
  }
}
