import { beforeEach, describe, expect, test } from "@jest/globals";
import { type LedgerState, type OriginState, emptyLedgerState } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { type OriginFingerprint, bytesToHex, toOriginFingerprint } from "@event-anchoring/protocol";
import type { LatestAnchor } from "@event-anchoring/control-contract";
import type { Certifier, HeldCertificate } from "../src/certification/certifier.ts";
import { LinearizableReads, type ReadAnswer, type ReadRequest } from "../src/certification/linearizable-reads.ts";
import { ReadRounds } from "../src/raft/read-rounds.ts";
import { StepClock } from "./doubles.ts";

const ORIGINS = [1, 2].map((fill) => toOriginFingerprint(new Uint8Array(32).fill(fill)));
const [FIRST, SECOND] = ORIGINS as [OriginFingerprint, OriginFingerprint];

let clock: StepClock;
let asked: Uint8Array[];
let rounds: ReadRounds;

beforeEach(() => {
  clock = new StepClock();
  asked = [];
  rounds = new ReadRounds({
    clock,
    lifeId: new Uint8Array(16).fill(9),
    readIndex: (context) => asked.push(context.slice()),
  });
});

function answer(attempt: number, index: number): void {
  rounds.onReadState({ index, context: asked[attempt] as Uint8Array });
}

describe("read rounds", () => {
  test("give each reader an index that was asked for after it came", () => {
    const got: string[] = [];
    rounds.request((index) => got.push(`first ${index}`));
    rounds.request((index) => got.push(`second ${index}`));
    expect(asked).toHaveLength(1);
    answer(0, 10);
    expect(got).toEqual(["first 10"]);
    clock.advance(1);
    expect(asked).toHaveLength(2);
    answer(1, 12);
    expect(got).toEqual(["first 10", "second 12"]);
    expect(clock.timerCount).toBe(0);
  });

  test("under load start a millisecond after the last, and answer all who came until then", () => {
    const got: string[] = [];
    const read = (name: string) => rounds.request((index) => got.push(`${name} ${index}`));
    read("first");
    read("second");
    const gone = read("gone");
    answer(0, 10);
    read("third");
    gone();
    clock.advance(0.9);
    expect(asked).toHaveLength(1);
    clock.advance(0.1);
    expect(asked).toHaveLength(2);
    answer(1, 12);
    expect(got).toEqual(["first 10", "second 12", "third 12"]);
    read("fourth");
    expect(asked).toHaveLength(3);
    answer(2, 13);
    expect(got.at(-1)).toBe("fourth 13");
    expect(clock.timerCount).toBe(0);
  });

  test("start none if all who waited for it have gone", () => {
    rounds.request(() => {});
    const gone = rounds.request(() => {});
    answer(0, 10);
    gone();
    clock.advance(1000);
    expect(asked).toHaveLength(1);
  });

  test("ask again after 250 ms, with another context, and ignore the late answer to the first", () => {
    const got: number[] = [];
    rounds.request((index) => got.push(index));
    clock.advance(249);
    expect(asked).toHaveLength(1);
    clock.advance(1);
    expect(asked).toHaveLength(2);
    expect(bytesToHex(asked[1] as Uint8Array)).not.toBe(bytesToHex(asked[0] as Uint8Array));
    answer(0, 5);
    expect(got).toEqual([]);
    answer(1, 6);
    expect(got).toEqual([6]);
  });

  test("ask a new leader at once, and believe nothing that the old one still says", () => {
    const got: number[] = [];
    rounds.request((index) => got.push(index));
    rounds.onLeaderChange();
    answer(0, 5);
    expect(got).toEqual([]);
    answer(1, 8);
    expect(got).toEqual([8]);
  });

  test("take an answer once, and none that nobody asked for", () => {
    const got: number[] = [];
    rounds.request((index) => got.push(index));
    rounds.onReadState({ index: 3, context: new Uint8Array(24) });
    answer(0, 4);
    answer(0, 5);
    expect(got).toEqual([4]);
  });

  test("ask for nobody no longer: readers that gave up are forgotten", () => {
    const got: number[] = [];
    const stops = Array.from({ length: 3 }, () => rounds.request((index) => got.push(index)));
    for (const stop of stops) stop();
    clock.advance(10_000);
    expect(asked).toHaveLength(1);
    expect(clock.timerCount).toBe(0);
    rounds.request((index) => got.push(index));
    answer(1, 7);
    expect(got).toEqual([7]);
  });

  test("say nothing to anybody once closed", () => {
    const got: number[] = [];
    rounds.request((index) => got.push(index));
    rounds.close();
    answer(0, 5);
    rounds.request((index) => got.push(index));
    clock.advance(1000);
    expect(got).toEqual([]);
    expect(asked).toHaveLength(1);
  });
});

interface Waiter {
  readonly origin: OriginFingerprint;
  readonly treeSize: number;
  readonly covered: () => void;
}

describe("a linearizable read", () => {
  let state: LedgerState;
  let held: Map<string, HeldCertificate>;
  let waiters: Waiter[];
  let reads: LinearizableReads;
  let hasLeader: boolean;
  let stopped: Set<string>;
  let latestUnder: (certificate: HeldCertificate) => LatestAnchor | null;
  let writtenIndex: number;
  let due: number[];

  beforeEach(() => {
    stopped = new Set();
    latestUnder = () => null;
    writtenIndex = 1_000_000;
    due = [];
    state = emptyLedgerState(nodeCrypto.sha256);
    hasLeader = true;
    held = new Map();
    waiters = [];
    state.origins = new Map(ORIGINS.map((origin) => [bytesToHex(origin), originOf(origin, 4)]));
    const certifier = {
      heldOf: (origin) => held.get(bytesToHex(origin)) ?? null,
      whenCovered: (origin, treeSize, covered) => {
        const known = held.get(bytesToHex(origin));
        const waiter = { origin, treeSize, covered: () => covered(held.get(bytesToHex(origin)) as HeldCertificate) };
        if (known !== undefined && known.treeSize >= treeSize) waiter.covered();
        else waiters.push(waiter);
        return () => (waiters = waiters.filter((each) => each !== waiter));
      },
      isStopped: (origin) => stopped.has(bytesToHex(origin)),
    } satisfies Pick<Certifier, "heldOf" | "whenCovered" | "isStopped">;
    reads = new LinearizableReads({
      clock,
      state,
      rounds,
      certifier: certifier as unknown as Certifier,
      lastLeaves: { latestUnder: (certificate) => latestUnder(certificate) },
      hasLeader: () => hasLeader,
      tables: {
        get writtenIndex() {
          return writtenIndex;
        },
        writeUpTo: (index) => due.push(index),
      },
    });
  });

  function originOf(originFingerprint: OriginFingerprint, size: number): OriginState {
    return { originFingerprint, tree: { size }, certified: null } as unknown as OriginState;
  }

  function hold(originFingerprint: OriginFingerprint, treeSize: number, raftIndex: number): void {
    const certificate = { originFingerprint, treeSize, raftIndex, checkpoint: () => "" } as unknown as HeldCertificate;
    held.set(bytesToHex(originFingerprint), certificate);
    for (const waiter of waiters.filter((each) => each.origin === originFingerprint && each.treeSize <= treeSize)) {
      waiters = waiters.filter((each) => each !== waiter);
      waiter.covered();
    }
  }

  function read(origins: ReadRequest["origins"], patienceMs = 1000, wantsLatest = false): ReadAnswer[] {
    const answers: ReadAnswer[] = [];
    reads.read({
      origins,
      wantsLatest,
      deadlineMs: clock.monotonicMs() + patienceMs,
      respond: (given) => answers.push(given),
    });
    return answers;
  }

  function applied(index: number): void {
    state.appliedIndex = index;
    reads.onApplied();
  }

  function written(index: number): void {
    writtenIndex = index;
    reads.onWritten();
  }

  test("waits for its read index, then for that index to be applied", () => {
    applied(10);
    const answers = read("none");
    expect(answers).toEqual([]);
    answer(0, 12);
    applied(11);
    expect(answers).toEqual([]);
    applied(12);
    expect(answers).toMatchObject([{ type: "ready_to_read", readIndex: 12, certificates: [] }]);
  });

  test("waits until its tables hold what it will be answered from, and has them written", () => {
    applied(12);
    hold(FIRST, 4, 11);
    writtenIndex = 9;
    const answers = read([FIRST]);
    answer(0, 10);
    expect(answers).toEqual([]);
    expect(due).toEqual([11]);
    written(10);
    expect(answers).toEqual([]);
    written(11);
    expect(answers).toMatchObject([{ type: "ready_to_read", readIndex: 11 }]);
  });

  test("is refused at its deadline when its tables are not written, and when the session is over", () => {
    applied(12);
    writtenIndex = 9;
    const [late, closed] = [read("none", 100), read("none")];
    answer(0, 10);
    answer(1, 10);
    clock.advance(100);
    reads.sweep();
    expect(late).toMatchObject([{ type: "refused", code: "deadline_exceeded" }]);
    reads.close();
    expect(closed).toMatchObject([{ type: "refused", code: "unavailable" }]);
    written(10);
    expect([late, closed].map(({ length }) => length)).toEqual([1, 1]);
  });

  test("waits for a certificate over every leaf of the wanted origins, and of no others", () => {
    applied(10);
    hold(FIRST, 3, 8);
    const answers = read([FIRST]);
    answer(0, 10);
    expect(answers).toEqual([]);
    hold(FIRST, 4, 10);
    expect(answers).toMatchObject([{ type: "ready_to_read", certificates: [{ treeSize: 4 }] }]);
  });

  test("of the latest anchor is answered from memory, and not before the state there is as far as its index", () => {
    const latest = { leaf: new Uint8Array(3) } as unknown as LatestAnchor;
    const shownAt: number[] = [];
    latestUnder = () => {
      shownAt.push(state.appliedIndex);
      return latest;
    };
    applied(10);
    hold(FIRST, 4, 10);
    const answers = read([FIRST], 1000, true);
    answer(0, 12);
    applied(11);
    expect(answers).toEqual([]);
    applied(12);
    expect(answers).toMatchObject([{ type: "ready_to_read", latest }]);
    const plain = read([FIRST]);
    answer(1, 12);
    expect(plain).toMatchObject([{ latest: null }]);
    expect(shownAt).toEqual([12]);
  });

  test("of the latest anchor waits for a certificate over all that is decided, and shows the leaf under it", () => {
    const shown: number[] = [];
    latestUnder = ({ treeSize }) => {
      shown.push(treeSize);
      return null;
    };
    applied(10);
    hold(FIRST, 3, 8);
    const answers = read([FIRST], 1000, true);
    answer(0, 10);
    expect(answers).toEqual([]);
    hold(FIRST, 5, 10);
    expect(answers).toHaveLength(1);
    expect(shown).toEqual([5]);
  });

  test("of all origins waits for all of them", () => {
    applied(10);
    const answers = read("all");
    answer(0, 10);
    hold(FIRST, 4, 10);
    expect(answers).toEqual([]);
    hold(SECOND, 4, 10);
    expect(answers).toMatchObject([{ certificates: [{ treeSize: 4 }, { treeSize: 4 }] }]);
  });

  test("names the log index that its newest certificate needs, if that is above R", () => {
    applied(10);
    const answers = read([FIRST]);
    answer(0, 10);
    hold(FIRST, 9, 17);
    expect(answers).toMatchObject([{ readIndex: 17, certificates: [{ treeSize: 9 }] }]);
  });

  test.each([
    ["no leader was there to ask", (): void => void (hasLeader = false), "no_leader"],
    ["the leader did not confirm", () => {}, "deadline_exceeded"],
    ["the index was not applied", () => answer(0, 99), "deadline_exceeded"],
    ["no certificate came", () => answer(0, 10), "certification_stalled"],
  ] as const)("is refused at its deadline: %s", (_why, happen, code) => {
    applied(10);
    const answers = read([FIRST]);
    happen();
    clock.advance(999);
    reads.sweep();
    expect(answers).toEqual([]);
    clock.advance(1);
    reads.sweep();
    expect(answers).toMatchObject([{ type: "refused", code, retryAfterMs: 1000 }]);
    answer(asked.length - 1, 10);
    hold(FIRST, 4, 10);
    expect(answers).toHaveLength(1);
    expect(waiters).toEqual([]);
  });

  test("is refused when the session ends, and at once after that", () => {
    const before = read("none");
    reads.close();
    const after = read("none");
    expect([...before, ...after]).toMatchObject([
      { type: "refused", code: "unavailable" },
      { type: "refused", code: "unavailable" },
    ]);
  });
});
