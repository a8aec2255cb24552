import { beforeEach, describe, expect, test } from "@jest/globals";
import { type OriginFingerprint, toOriginFingerprint } from "@event-anchoring/protocol";
import { AwaitedHeads } from "../src/certification/awaited-heads.ts";
import type { HeldCertificate } from "../src/certification/certifier.ts";
import type { ReadAnswer } from "../src/certification/linearizable-reads.ts";
import { StepClock } from "./doubles.ts";

const ORIGIN = toOriginFingerprint(new Uint8Array(32).fill(1));

let clock: StepClock;
let held: HeldCertificate | null;
let isStopped: boolean;
let withheld: number;
let writtenIndex: number;
let heads: AwaitedHeads;
let verified: number;

beforeEach(() => {
  clock = new StepClock();
  held = null;
  isStopped = false;
  withheld = Number.POSITIVE_INFINITY;
  writtenIndex = 0;
  verified = 0;
  heads = new AwaitedHeads({
    clock,
    certifier: { heldOf: () => held, isStopped: () => isStopped },
    comparison: { withholds: (_origin: OriginFingerprint, treeSize: number) => treeSize >= withheld },
    tables: {
      get writtenIndex() {
        return writtenIndex;
      },
    },
    trustRootVersion: () => 3,
  });
});

function hold(treeSize: number, raftIndex: number): void {
  const checkpoint = (): string => {
    verified += 1;
    return `size ${treeSize}`;
  };
  held = { originFingerprint: ORIGIN, treeSize, raftIndex, checkpoint } as unknown as HeldCertificate;
}

/** What comes back, as sizes; the word of a refusal. */
function awaited(afterSize: number, withinMs = 2000): (number | string)[] {
  const got: (number | string)[] = [];
  const respond = (answer: ReadAnswer): void => {
    if (answer.type === "refused") got.push(answer.code);
    else got.push(answer.certificates[0]?.treeSize ?? "none");
  };
  heads.await({ origin: ORIGIN, afterSize, deadlineMs: clock.monotonicMs() + withinMs, respond });
  return got;
}

function look(times = 1): void {
  for (let at = 0; at < times; at += 1) {
    clock.advance(200);
    heads.look();
  }
}

describe("an awaited head", () => {
  test("comes with the first look at which the node holds it, and not before", () => {
    hold(5, 10);
    writtenIndex = 10;
    const news = awaited(4);
    const nothing = awaited(5);
    expect([news, nothing]).toEqual([[], []]);
    look();
    expect([news, nothing]).toEqual([[5], []]);
    hold(9, 12);
    hold(12, 14);
    writtenIndex = 14;
    look();
    expect([news, nothing]).toEqual([[5], [12]]);
  });

  test("is one whose leaves are in the tables: under load that of the look before", () => {
    const got = awaited(0);
    hold(5, 10);
    look();
    expect(got).toEqual([]);
    hold(9, 20);
    writtenIndex = 10;
    look();
    expect(got).toEqual([5]);
    expect(verified).toBe(1);
  });

  test("without one the answer is empty, before the time is over", () => {
    const endMs = clock.monotonicMs() + 1000;
    const got = awaited(0, 1000);
    look(3);
    expect(got).toEqual([]);
    look();
    expect([got, clock.monotonicMs() <= endMs]).toEqual([["none"], true]);
    look(10);
    expect(got).toEqual(["none"]);
  });

  test("is none of a stopped origin, nor one that is withheld; nor one that was found before that", () => {
    hold(5, 10);
    const got = awaited(0, 10_000);
    look();
    isStopped = true;
    writtenIndex = 10;
    look();
    isStopped = false;
    withheld = 5;
    look();
    expect(got).toEqual([]);
    withheld = 6;
    look();
    expect(got).toEqual([5]);
  });

  test("is refused when the session ends, at once and afterwards", () => {
    const got = awaited(0);
    heads.close();
    expect([got, awaited(0)]).toEqual([["unavailable"], ["unavailable"]]);
    look(20);
    expect(got).toEqual(["unavailable"]);
  });
});
