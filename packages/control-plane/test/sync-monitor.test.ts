import { describe, expect, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import type { TimerClock } from "../src/ports/environment.ts";
import {
  type OwnTrustRoot,
  type PrimeAnswer,
  RootSync,
  type RootSyncError,
  type RootSyncOptions,
} from "../src/root-sync/sync-monitor.ts";

const hash = (version: number, fork = 0): Uint8Array => new Uint8Array(32).fill(version + fork * 100);
const START_MS = 1_700_000_000_000;
const EXPIRES_S = START_MS / 1000 + 3600;

/** Time that passes only when told to; between timers everything pending is let through. */
class FakeClock implements TimerClock {
  #nowMs = 0;
  #timers: { atMs: number; action: () => void }[] = [];
  wallOffsetMs = START_MS;

  wallMs(): number {
    return this.#nowMs + this.wallOffsetMs;
  }
  monotonicMs(): number {
    return this.#nowMs;
  }
  startTimer(delayMs: number, action: () => void): { cancel: () => void } {
    const timer = { atMs: this.#nowMs + delayMs, action };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }
  afterTurn(action: () => void): void {
    setImmediate(action);
  }
  get waiting(): number {
    return this.#timers.length;
  }
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    await new Promise(setImmediate);
    for (;;) {
      const next = this.#timers.filter((timer) => timer.atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#nowMs = next.atMs;
      next.action();
      await new Promise(setImmediate);
    }
    this.#nowMs = untilMs;
  }
}

/** A node whose trust roots and whose prime's answers the test sets. Documents of a chain are `version` in digits. */
function setUp(options: Partial<RootSyncOptions> = {}) {
  const clock = new FakeClock();
  const state = {
    own: 2,
    expiresS: EXPIRES_S,
    isPrime: false,
    answer: (): Promise<PrimeAnswer> => Promise.resolve(answerOf(2)),
    asked: 0,
    aborted: 0,
    attempts: [] as (string | null)[],
  };
  const own = (): OwnTrustRoot => ({
    isPrime: state.isPrime,
    version: state.own,
    rootThk: hash(state.own),
    expiresS: state.expiresS,
    rootThkOf: (version) => (version >= 1 && version <= state.own ? hash(version) : null),
  });
  const sync = new RootSync({
    clock,
    own,
    fetchPrime: (_, signal) => {
      state.asked += 1;
      signal.addEventListener("abort", () => {
        state.aborted += 1;
      });
      return state.answer();
    },
    verifyChain: (documents) => {
      const last = documents.at(-1);
      if (last === undefined) return { refused: "chain_empty" };
      if (last === "bad") return { refused: "signature_invalid" };
      return { version: Number(last), rootThk: hash(Number(last)) };
    },
    onAttempt: (error: RootSyncError | null) => state.attempts.push(error?.code ?? null),
    ...options,
  });
  return { clock, state, sync };
}

const answerOf = (version: number, change: Partial<PrimeAnswer> = {}): PrimeAnswer => ({
  primeNodeId: "b",
  version,
  rootThk: hash(version),
  ...change,
});

const answers =
  (version: number, change: Partial<PrimeAnswer> = {}) =>
  () =>
    Promise.resolve(answerOf(version, change));
const silence = (): Promise<PrimeAnswer> => new Promise(() => undefined);
const refused = (): Promise<PrimeAnswer> => Promise.reject(new Error("no leader"));

describe("in sync", () => {
  test("before the first success the gauge says 1 and there is no time of success", () => {
    const { sync } = setUp();
    expect(sync.gauges()).toEqual({ syncError: 1, lastSuccessTimestampS: 0 });
    expect(sync.summary()).toMatchObject({
      inSync: false,
      lastSuccessAtMs: null,
      ageSeconds: null,
      primeVersion: null,
    });
    expect(sync.summary().lastError).toMatch(/^never: /);
  });

  test("the first attempt is made at once, then every 5 s", async () => {
    const { clock, state, sync } = setUp();
    sync.start();
    await clock.advance(0);
    expect(sync.gauges()).toEqual({ syncError: 0, lastSuccessTimestampS: START_MS / 1000 });
    await clock.advance(20_000);
    expect(state.asked).toBe(5);
    expect(sync.gauges()).toEqual({ syncError: 0, lastSuccessTimestampS: START_MS / 1000 + 20 });
    await clock.advance(3000);
    expect(sync.summary()).toEqual({
      role: "replica",
      version: 2,
      rootThk: bytesToHex(hash(2)),
      primeVersion: 2,
      inSync: true,
      lastSuccessAtMs: START_MS + 20_000,
      ageSeconds: 3,
      expiresAtS: EXPIRES_S,
      lastError: null,
    });
    sync.stop();
    expect(clock.waiting).toBe(0);
  });

  test("the prime is judged by the same answer, from its own read-index round", async () => {
    const { clock, state, sync } = setUp();
    state.isPrime = true;
    sync.start();
    await clock.advance(0);
    expect(sync.summary()).toMatchObject({ role: "prime", inSync: true });
    state.answer = refused;
    await clock.advance(5000);
    expect(sync.summary()).toMatchObject({ role: "prime", inSync: false });
    sync.stop();
  });

  test("a version applied while the answer was on its way is no fork and no step back", async () => {
    const { clock, state, sync } = setUp();
    state.answer = () => {
      state.own = 3;
      return Promise.resolve(answerOf(2));
    };
    sync.start();
    await clock.advance(0);
    expect(sync.gauges().syncError).toBe(0);
    sync.stop();
  });

  test("a newer version that this node applies a moment later is a success", async () => {
    const { clock, state, sync } = setUp();
    state.answer = answers(3, { chain: ["3"] });
    sync.start();
    await clock.advance(300);
    expect(state.attempts).toEqual([]);
    state.own = 3;
    await clock.advance(300);
    expect(state.attempts).toEqual([null]);
    expect(sync.summary()).toMatchObject({ version: 3, primeVersion: 3, inSync: true });
    sync.stop();
  });
});

describe("out of sync", () => {
  test.each<[string, () => Promise<PrimeAnswer>]>([
    ["unreachable", refused],
    ["unreachable", silence],
    ["version_back", answers(1)],
    ["fork", answers(2, { rootThk: hash(2, 1) })],
    ["chain_invalid", answers(3)],
    ["chain_invalid", answers(3, { chain: ["bad"] })],
    ["chain_invalid", answers(3, { chain: ["4"] })],
    ["chain_invalid", answers(3, { chain: ["3"], rootThk: hash(3, 1) })],
    ["behind", answers(3, { chain: ["3"] })],
  ])("%s (%#) sets the gauge, and a later success clears it", async (code, answer) => {
    const { clock, state, sync } = setUp();
    sync.start();
    await clock.advance(4999);
    state.answer = answer;
    await clock.advance(4100);
    expect(state.attempts).toEqual([null, code]);
    expect(sync.gauges()).toEqual({ syncError: 1, lastSuccessTimestampS: START_MS / 1000 });
    expect(sync.summary()).toMatchObject({ inSync: false, lastSuccessAtMs: START_MS });
    expect(sync.summary().lastError).toMatch(new RegExp(`^${code}: `));
    if (code === "behind") state.own = 3;
    state.answer = answers(state.own);
    await clock.advance(5000);
    expect(sync.gauges().syncError).toBe(0);
    sync.stop();
  });

  test("a silent prime is given up, and the request is told so", async () => {
    const { clock, state, sync } = setUp();
    state.answer = silence;
    sync.start();
    await clock.advance(4000);
    expect(state.aborted).toBe(1);
    expect(state.attempts).toEqual(["unreachable"]);
    sync.stop();
  });

  test("a version seen once is never unseen, even if this node has not applied it", async () => {
    const { clock, state, sync } = setUp();
    state.answer = answers(4, { chain: ["3", "4"] });
    sync.start();
    await clock.advance(4000);
    state.answer = answers(3, { chain: ["3"] });
    await clock.advance(5000);
    state.answer = answers(4, { chain: ["3", "4"], rootThk: hash(4, 1) });
    await clock.advance(5000);
    state.answer = answers(2);
    await clock.advance(5000);
    expect(state.attempts).toEqual(["behind", "version_back", "fork", "version_back"]);
    sync.stop();
  });

  test("a refused chain leaves no mark: the genuine older version is still accepted", async () => {
    const { clock, state, sync } = setUp();
    state.answer = answers(9, { chain: ["bad"] });
    sync.start();
    await clock.advance(4999);
    state.answer = answers(2);
    await clock.advance(1);
    expect(state.attempts).toEqual(["chain_invalid", null]);
    sync.stop();
  });

  test("expiry is an error at once, without an attempt, and at every attempt after it", async () => {
    const { clock, state, sync } = setUp();
    sync.start();
    await clock.advance(0);
    state.expiresS = START_MS / 1000 + 3;
    await clock.advance(2999);
    expect(sync.gauges().syncError).toBe(0);
    await clock.advance(1);
    expect(sync.gauges().syncError).toBe(1);
    expect(sync.summary().lastError).toMatch(/^expired: /);
    await clock.advance(2000);
    expect(state.attempts).toEqual([null, "expired"]);
    sync.stop();
  });

  test("a monitor whose timers never fire says so by age alone", async () => {
    const { clock, sync } = setUp({ intervalMs: 1_000_000 });
    sync.start();
    await clock.advance(15_000);
    expect(sync.gauges().syncError).toBe(0);
    await clock.advance(1);
    expect(sync.gauges()).toEqual({ syncError: 1, lastSuccessTimestampS: START_MS / 1000 });
    expect(sync.summary().lastError).toMatch(/^stale: /);
    sync.stop();
  });

  test("a wall clock that jumps back hides nothing: age is monotonic", async () => {
    const { clock, sync } = setUp({ intervalMs: 1_000_000 });
    sync.start();
    await clock.advance(0);
    clock.wallOffsetMs -= 7_200_000;
    await clock.advance(16_000);
    expect(sync.summary().ageSeconds).toBe(16);
    expect(sync.gauges().syncError).toBe(1);
    sync.stop();
  });

  test("a stopped monitor asks no more and reports nothing that was on its way", async () => {
    const { clock, state, sync } = setUp();
    state.answer = silence;
    sync.start();
    await clock.advance(1000);
    sync.stop();
    await clock.advance(60_000);
    expect(state.asked).toBe(1);
    expect(state.attempts).toEqual([]);
  });
});
