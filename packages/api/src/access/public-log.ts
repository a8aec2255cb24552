/** Callers without a key on a public log: counted by address, with budgets that no key shares. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { LIMITS } from "@event-anchoring/api-contract";
import type { Clock } from "@event-anchoring/telemetry";
import type { Proxies } from "./addresses.ts";
import { BytesUnderWay, overloaded } from "./bytes-under-way.ts";
import { FeedSlots } from "./feed-slots.ts";
import { TokenBuckets } from "./token-buckets.ts";

/** Visits that are being answered at a time, of all addresses and of one. */
const VISITS_MAX = 32;
const ADDRESS_VISITS_MAX = 8;
/** Answers that visitors have not read yet, of all addresses and of one. An entry bundle has 128 KiB at most. */
const BYTES_MAX = 8 * 1024 * 1024;
const ADDRESS_BYTES_MAX = BYTES_MAX / 4;
/** Addresses with a bucket of their own; further ones share one. */
const ADDRESSES_MAX = 4096;
/** How often full buckets are looked for, if there are too many. */
const FORGET_EVERY_MS = 1000;

const EVERYBODY = "everybody";
const FURTHER_ADDRESSES = "further addresses";

/** Tokens a second at this node. */
export interface PublicRates {
  readonly addressRequestsPerSecond: number;
  readonly requestsPerSecond: number;
}

/** Who reads a public log without a key. */
export interface Visitor {
  /** What it is counted as. */
  readonly address: string;
}

export interface PublicLogOptions {
  readonly rates: PublicRates;
  readonly proxies: Proxies;
  readonly clock: Clock;
}

/**
 * What visitors may take of this process, so that however many there are, requests with a key find it as if there were
 * few: at most VISITS_MAX are under way, with connections to the database of their own.
 */
export class PublicLog {
  readonly #options: PublicLogOptions;
  readonly #addresses: TokenBuckets;
  readonly #all: TokenBuckets;
  readonly feeds = new FeedSlots({ max: LIMITS.publicFeedsMax, shareMax: LIMITS.addressFeedsMax });
  readonly #bytes = new BytesUnderWay({ bytesMax: BYTES_MAX, shareBytesMax: ADDRESS_BYTES_MAX });
  readonly #visits = new Map<string, number>();
  #visitCount = 0;
  #forgotMs = Number.NEGATIVE_INFINITY;

  constructor(options: PublicLogOptions) {
    this.#options = options;
    this.#addresses = new TokenBuckets(options.clock);
    this.#all = new TokenBuckets(options.clock);
  }

  /** @throws ProblemError `rate_limited`; RefusedError `overloaded` */
  visitorOf(request: IncomingMessage): Visitor {
    const { proxies, rates } = this.#options;
    const forwarded = request.headers["x-forwarded-for"];
    const forwardedFor = Array.isArray(forwarded) ? forwarded.join() : forwarded;
    const address = proxies.clientOf(request.socket.remoteAddress ?? "", forwardedFor);
    // The address first: one that is over its rate takes nothing from the others.
    this.#addresses.take(this.#bucketOf(address), rates.addressRequestsPerSecond);
    this.#all.take(EVERYBODY, rates.requestsPerSecond);
    this.#bytes.assertRoom(address);
    return { address };
  }

  charge({ address }: Visitor, tokens: number): void {
    this.#addresses.charge(this.#bucketOf(address), tokens);
    this.#all.charge(EVERYBODY, tokens);
  }

  count(response: ServerResponse, { address }: Visitor, bytes: number): void {
    this.#bytes.count(response, address, bytes);
  }

  /** Runs a visit if there is room for it. @throws RefusedError `overloaded` */
  async run<T>({ address }: Visitor, visit: () => Promise<T>): Promise<T> {
    const ofAddress = this.#visits.get(address) ?? 0;
    if (this.#visitCount >= VISITS_MAX) throw overloaded(`${VISITS_MAX} visits are under way`);
    if (ofAddress >= ADDRESS_VISITS_MAX) throw overloaded(`${ADDRESS_VISITS_MAX} visits of one address are under way`);
    this.#note(address, 1);
    try {
      return await visit();
    } finally {
      this.#note(address, -1);
    }
  }

  #note(address: string, change: 1 | -1): void {
    this.#visitCount += change;
    const left = (this.#visits.get(address) ?? 0) + change;
    if (left === 0) this.#visits.delete(address);
    else this.#visits.set(address, left);
  }

  #bucketOf(address: string): string {
    if (this.#addresses.size < ADDRESSES_MAX || this.#addresses.has(address)) return address;
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#forgotMs >= FORGET_EVERY_MS) {
      this.#forgotMs = nowMs;
      this.#addresses.forgetFull();
    }
    return this.#addresses.size < ADDRESSES_MAX ? address : FURTHER_ADDRESSES;
  }
}
