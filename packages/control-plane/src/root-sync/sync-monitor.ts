import type { NodeStatus } from "@event-anchoring/control-contract";
import { bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { TimerClock, Timer } from "../ports/environment.ts";

/**
 * What the prime, the current leader, reports about the newest trust root, after a read-index round confirmed it leads.
 */
export interface PrimeAnswer {
  readonly primeNodeId: string;
  readonly version: number;
  /** 32 bytes. */
  readonly rootThk: Uint8Array;
  /** Signed documents from the asker's next version up to `version`, oldest first. Attacker-controlled. */
  readonly chain?: readonly string[];
}

/** The newest trust root of this node's own state. */
export interface OwnTrustRoot {
  readonly isPrime: boolean;
  readonly version: number;
  /** 32 bytes. */
  readonly rootThk: Uint8Array;
  /** Unix seconds at which the document stops being fresh. */
  readonly expiresS: number;
  /** RootTHK of an older version; null for one that is not held. */
  readonly rootThkOf: (version: number) => Uint8Array | null;
}

/**
 * - `unreachable`: no prime, no answer in time, or the prime could not confirm that it leads.
 * - `version_back`: the prime's version is lower than one that was seen before.
 * - `fork`: another trust root under a version that was seen before.
 * - `chain_invalid`: the prime's newer documents do not follow from ours.
 * - `behind`: the newer version is genuine, and this node has not applied it in time.
 * - `expired`: the newest trust root is past its expiry.
 * - `stale`: no attempt has succeeded for too long, by the monotonic clock.
 * - `never`: no attempt has succeeded since the start.
 */
export type RootSyncCode =
  | "unreachable"
  | "version_back"
  | "fork"
  | "chain_invalid"
  | "behind"
  | "expired"
  | "stale"
  | "never";

export interface RootSyncError {
  readonly code: RootSyncCode;
  readonly detail: string;
}

export interface RootSyncOptions {
  readonly clock: TimerClock;
  /**
   * Asks the prime, or, on the prime itself, runs a read-index round and answers from the own state. Rejects when it
   * cannot; a promise that stays open is given up after `timeoutMs`, and the signal fires.
   * @param ownVersion documents above this version are wanted
   */
  readonly fetchPrime: (ownVersion: number, signal: AbortSignal) => Promise<PrimeAnswer>;
  readonly own: () => OwnTrustRoot;
  /**
   * Verifies documents as successors of the own chain. Pure.
   * @returns the newest version and its hash, or why they are refused
   */
  readonly verifyChain: (
    documents: readonly string[],
  ) => { readonly version: number; readonly rootThk: Uint8Array } | { readonly refused: string };
  /** After every attempt; null: it succeeded. */
  readonly onAttempt?: (error: RootSyncError | null) => void;
  /** Default 5,000. */
  readonly intervalMs?: number;
  /** Default 4,000. */
  readonly timeoutMs?: number;
  /** Without a success for this long the gauge is 1, regardless of the attempts' errors. Default 15,000. */
  readonly staleAfterMs?: number;
}

export interface RootSyncGauges {
  /** `anchoring_prime_root_thk_sync_error` */
  readonly syncError: 0 | 1;
  /** `anchoring_prime_root_thk_last_sync_success_timestamp_seconds`; 0 before the first success. */
  readonly lastSuccessTimestampS: number;
}

// A version that the prime has applied reaches a healthy replica within a heartbeat: ask again soon before saying so.
const BEHIND_RETRY_MS = 250;
const BEHIND_RETRIES_MAX = 8;
// A node that starts has no leader yet: until the first success it asks again soon.
const FIRST_RETRY_MS = 500;

/**
 * Keeps asking whether this node's trust root is the newest. A success proves: a quorum confirmed the prime, and its
 * version and hash are ours.
 *
 * States: never (nothing succeeded yet) → in sync ⇄ failing. An attempt decides at its end; age and expiry are judged
 * when they are asked for, so that no timer can fail to say so. A later success ends every state, `fork` included.
 */
export class RootSync {
  readonly #options: RootSyncOptions;
  readonly #intervalMs: number;
  readonly #timeoutMs: number;
  readonly #staleAfterMs: number;
  #timer: Timer | null = null;
  #abort: AbortController | null = null;
  #isStopped = true;
  #primeVersion: number | null = null;
  /** The highest version ever seen here, own or the prime's, with its hash: lower or other ones are refused. */
  #highestSeen: { version: number; rootThk: Uint8Array } | null = null;
  #lastSuccess: { wallMs: number; monotonicMs: number } | null = null;
  #lastError: RootSyncError | null = { code: "never", detail: "no attempt has been made yet" };

  constructor(options: RootSyncOptions) {
    this.#options = options;
    this.#intervalMs = options.intervalMs ?? 5000;
    this.#timeoutMs = options.timeoutMs ?? 4000;
    this.#staleAfterMs = options.staleAfterMs ?? 15_000;
  }

  /** The first attempt is made at once. */
  start(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    this.#beginRound();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#abort?.abort();
  }

  /** The `prime_root_thk` summary of /healthz. */
  summary(): NodeStatus["primeRootThk"] {
    const own = this.#options.own();
    const error = this.#errorNow(own);
    const success = this.#lastSuccess;
    const ageMs = success === null ? null : this.#options.clock.monotonicMs() - success.monotonicMs;
    return {
      role: own.isPrime ? "prime" : "replica",
      version: own.version,
      rootThk: bytesToHex(own.rootThk),
      primeVersion: this.#primeVersion,
      inSync: error === null,
      lastSuccessAtMs: success === null ? null : Math.floor(success.wallMs),
      ageSeconds: ageMs === null ? null : Math.max(0, ageMs) / 1000,
      expiresAtS: own.expiresS,
      lastError: error === null ? null : `${error.code}: ${error.detail}`.slice(0, 1000),
    };
  }

  gauges(): RootSyncGauges {
    return {
      syncError: this.#errorNow(this.#options.own()) === null ? 0 : 1,
      lastSuccessTimestampS: Math.floor((this.#lastSuccess?.wallMs ?? 0) / 1000),
    };
  }

  /** The last attempt's error; else what time alone has made wrong since. */
  #errorNow(own: OwnTrustRoot): RootSyncError | null {
    if (this.#lastError !== null) return this.#lastError;
    const { clock } = this.#options;
    const expired = expiryError(own, clock.wallMs());
    if (expired !== null) return expired;
    const ageMs = clock.monotonicMs() - (this.#lastSuccess?.monotonicMs ?? 0);
    if (ageMs > this.#staleAfterMs) {
      return { code: "stale", detail: `the last success was ${Math.floor(ageMs / 1000)} s ago` };
    }
    return null;
  }

  #beginRound(): void {
    const startedMs = this.#options.clock.monotonicMs();
    const finish = (error: RootSyncError | null): void => {
      if (this.#isStopped) return;
      this.#settle(error);
      const spentMs = this.#options.clock.monotonicMs() - startedMs;
      const isStarting = this.#lastSuccess === null && error?.code === "unreachable";
      const periodMs = isStarting ? Math.min(FIRST_RETRY_MS, this.#intervalMs) : this.#intervalMs;
      const waitMs = Math.max(0, periodMs - spentMs);
      this.#timer = this.#options.clock.startTimer(waitMs, () => this.#beginRound());
    };
    this.#attempt(0).then(finish, (error: unknown) => finish({ code: "unreachable", detail: textOf(error) }));
  }

  #settle(error: RootSyncError | null): void {
    this.#lastError = error;
    const { clock } = this.#options;
    if (error === null) this.#lastSuccess = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
    this.#options.onAttempt?.(error);
  }

  async #attempt(retries: number): Promise<RootSyncError | null> {
    // Taken before asking: what this node had applied by then, a linearizable answer must contain.
    const before = this.#options.own();
    this.#see(before);
    const answer = await this.#fetch(before.version);
    this.#primeVersion = answer.version;
    const own = this.#options.own();
    const error = this.#judge(before, own, answer);
    if (error?.code !== "behind" || retries >= BEHIND_RETRIES_MAX || this.#isStopped) return error;
    await new Promise<void>((resolve) => {
      this.#timer = this.#options.clock.startTimer(BEHIND_RETRY_MS, resolve);
    });
    return this.#attempt(retries + 1);
  }

  /** @throws whatever `fetchPrime` rejects with, or an Error after `timeoutMs` */
  #fetch(ownVersion: number): Promise<PrimeAnswer> {
    const abort = new AbortController();
    this.#abort = abort;
    return new Promise((resolve, reject) => {
      const timer = this.#options.clock.startTimer(this.#timeoutMs, () => {
        abort.abort();
        reject(new Error(`the prime did not answer within ${this.#timeoutMs} ms`));
      });
      this.#options
        .fetchPrime(ownVersion, abort.signal)
        .then(resolve, reject)
        .finally(() => timer.cancel());
    });
  }

  #judge(before: OwnTrustRoot, own: OwnTrustRoot, answer: PrimeAnswer): RootSyncError | null {
    const seen = this.#highestSeen;
    const floor = Math.max(seen?.version ?? 0, before.version);
    const from = `${answer.primeNodeId} answered version ${answer.version}`;
    if (answer.version < floor) return { code: "version_back", detail: `${from}; version ${floor} was seen before` };
    const known = answer.version === seen?.version ? seen.rootThk : hashOf(own, answer.version);
    if (known !== null && !equalBytes(known, answer.rootThk)) {
      const hashes = `${bytesToHex(answer.rootThk)}; ${bytesToHex(known)} was seen before`;
      return { code: "fork", detail: `${from} with RootTHK ${hashes}` };
    }
    if (answer.version > own.version) return this.#judgeNewer(own, answer, from);
    // Applied while the answer was on its way: the prime's version is then an older one of ours, and it agrees.
    this.#see(own);
    return expiryError(own, this.#options.clock.wallMs());
  }

  #judgeNewer(own: OwnTrustRoot, answer: PrimeAnswer, from: string): RootSyncError {
    const verified = this.#options.verifyChain(answer.chain ?? []);
    if ("refused" in verified) return { code: "chain_invalid", detail: `${from}: ${verified.refused}` };
    if (verified.version !== answer.version || !equalBytes(verified.rootThk, answer.rootThk)) {
      return { code: "chain_invalid", detail: `${from}; its documents lead to version ${verified.version}` };
    }
    this.#see(verified);
    return { code: "behind", detail: `${from}; this node has applied version ${own.version}` };
  }

  #see(root: { readonly version: number; readonly rootThk: Uint8Array }): void {
    if (root.version > (this.#highestSeen?.version ?? 0)) {
      this.#highestSeen = { version: root.version, rootThk: root.rootThk };
    }
  }
}

function hashOf(own: OwnTrustRoot, version: number): Uint8Array | null {
  return version === own.version ? own.rootThk : own.rootThkOf(version);
}

function expiryError(own: OwnTrustRoot, wallMs: number): RootSyncError | null {
  if (own.expiresS * 1000 > wallMs) return null;
  return { code: "expired", detail: `trust-root version ${own.version} expired at ${own.expiresS} (Unix seconds)` };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
