import type { ApiKey } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Clock } from "@event-anchoring/telemetry";
import { TokenBuckets } from "./token-buckets.ts";

/** One token bucket per API key. Only keys that exist get here, so there are as many as the key table has at most. */
export class RateLimiter {
  readonly #defaultPerSecond: number | null;
  readonly #buckets: TokenBuckets;

  /** @param defaultPerSecond of a key that has no rate of its own; null = no limit */
  constructor(defaultPerSecond: number | null, clock: Clock) {
    this.#defaultPerSecond = defaultPerSecond;
    this.#buckets = new TokenBuckets(clock);
  }

  /** @throws ProblemError `rate_limited` */
  take({ keyId, requestsPerSecond }: Pick<ApiKey, "keyId" | "requestsPerSecond">): void {
    const perSecond = requestsPerSecond === 0 ? this.#defaultPerSecond : requestsPerSecond;
    if (perSecond !== null) this.#buckets.take(bytesToHex(keyId), perSecond);
  }

  /** Takes what a request has cost beyond its first token. A key without a rate pays nothing. */
  charge(keyId: Uint8Array, tokens: number): void {
    this.#buckets.charge(bytesToHex(keyId), tokens);
  }
}
