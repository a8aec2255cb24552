import type { ApiKey } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Clock } from "@event-anchoring/telemetry";
import { ProblemError } from "../request/problem-error.ts";

interface Bucket {
  tokens: number;
  atMs: number;
}

/**
 * One token bucket per API key, refilled at its rate; it holds one second of it. A request costs one token when it
 * comes. Further cost is taken when it is known, even from an empty bucket: following requests wait until it is
 * refilled.
 */
export class RateLimiter {
  readonly #defaultPerSecond: number | null;
  readonly #clock: Clock;
  /** Only keys that exist get here, so the map is as large as the key table at most. */
  readonly #buckets = new Map<string, Bucket>();

  /** @param defaultPerSecond of a key that has no rate of its own; null = no limit */
  constructor(defaultPerSecond: number | null, clock: Clock) {
    this.#defaultPerSecond = defaultPerSecond;
    this.#clock = clock;
  }

  /** @throws ProblemError `rate_limited` */
  take({ keyId, requestsPerSecond }: Pick<ApiKey, "keyId" | "requestsPerSecond">): void {
    const perSecond = requestsPerSecond === 0 ? this.#defaultPerSecond : requestsPerSecond;
    if (perSecond === null) return;
    const name = bytesToHex(keyId);
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

  /** Takes what a request has cost beyond its first token. A key without a rate pays nothing. */
  charge(keyId: Uint8Array, tokens: number): void {
    const bucket = this.#buckets.get(bytesToHex(keyId));
    if (bucket !== undefined) bucket.tokens -= tokens;
  }
}
