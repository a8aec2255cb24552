import { beforeEach, describe, expect, test } from "@jest/globals";
import { ClockGuard } from "../src/session/clock-guard.ts";
import { StepClock } from "./doubles.ts";

let clock: StepClock;
let guard: ClockGuard;
/** How many vote: this node, and the peers with the lowest numbers. */
let voters: number;

beforeEach(() => {
  clock = new StepClock();
  voters = 3;
  guard = new ClockGuard(clock, () => ["own", ...Array.from({ length: voters - 1 }, (_, at) => `peer-${at}`)]);
});

/** Peers report clocks that differ from this node's by so much. */
function report(...offsetsMs: number[]): void {
  offsetsMs.forEach((offsetMs, at) => guard.onReport(`peer-${at}`, clock.wallMs() + offsetMs, 0));
}

describe("the clock guard", () => {
  test.each<[string, number[], { ahead?: number; behind?: number; isRefuted?: boolean }]>([
    ["nobody reports", [], {}],
    ["all agree", [0, 0], {}],
    ["this clock is behind", [9000, 9500], { behind: 9000, isRefuted: true }],
    ["one of two others is far behind", [-60_000, 0], {}],
    ["one of two others is far ahead", [60_000, 0], {}],
    ["both others are behind", [-6000, -7000], { ahead: 6000, isRefuted: true }],
    ["the only other is behind: nobody knows which is right", [-6000], { ahead: 6000 }],
    ["the only other is ahead: nobody knows which is right", [60_000], { behind: 60_000 }],
    ["the only other is a little ahead", [4000], { behind: 4000 }],
    ["two of four others are behind", [-9000, -9000, 0, 0], {}],
    ["three of four others are behind", [-9000, -8000, -7000, 0], { ahead: 7000, isRefuted: true }],
    ["three of four others are ahead", [9000, 8000, 7000, 0], { behind: 7000, isRefuted: true }],
    ["of four clocks two are ahead", [9000, 9000, 0], { behind: 9000 }],
    ["of four clocks three are ahead", [9000, 9000, 8000], { behind: 9000, isRefuted: true }],
  ])("%s", (_what, offsets, { ahead = 0, behind = 0, isRefuted = false }) => {
    voters = Math.max(3, offsets.length + 1);
    report(...offsets);
    expect([guard.aheadOfMedianMs(), guard.behindMedianMs(), guard.isRefuted()]).toEqual([ahead, behind, isRefuted]);
    const isConfirmed = offsets.length > 0;
    expect(guard.isSafe()).toBe(isConfirmed && Math.max(ahead, behind) <= 5000);
  });

  test("weighs what it was told by a learner once that votes, and no sooner", () => {
    voters = 2;
    report(0, 0, 0);
    guard.onPeerDown("peer-0");
    expect(guard.isSafe()).toBe(false);
    voters = 4;
    expect(guard.isSafe()).toBe(true);
  });

  test("calls a stamp past that its leader must have made a moment ago", () => {
    guard.onReport("peer-0", clock.wallMs() - 3_600_000, 10);
    const stampMs = clock.wallMs() - 5001;
    expect(guard.isPast(stampMs, 11, "peer-0")).toBe(true);
    expect(guard.isPast(stampMs + 1, 11, "peer-0")).toBe(false);
    expect(guard.isPast(stampMs, 10, "peer-0")).toBe(false);
    expect(guard.isPast(stampMs, 11, "peer-1")).toBe(false);
    clock.advance(2001);
    expect(guard.isPast(stampMs, 11, "peer-0")).toBe(false);
  });

  test.each([-1, 1])("lets a clock stamp that is exactly 5 s off, and none beyond (%i)", (side) => {
    report(side * 5000, side * 5000);
    expect([guard.isSafe(), guard.isRefuted()]).toEqual([true, false]);
    report(side * 5001, side * 5001);
    expect([guard.isSafe(), guard.isRefuted()]).toEqual([false, true]);
  });

  test("believes reports for 2 s", () => {
    report(-6000, -6000);
    clock.advance(2000);
    expect(guard.aheadOfMedianMs()).toBe(6000);
    clock.advance(1);
    expect(guard.aheadOfMedianMs()).toBe(0);
  });

  test("forgets a peer that is gone", () => {
    report(-6000);
    guard.onPeerDown("peer-0");
    expect(guard.aheadOfMedianMs()).toBe(0);
  });

  test.each<[number, number, boolean]>([
    [1, 0, true],
    [2, 0, false],
    [2, 1, true],
    [3, 0, false],
    [3, 1, true],
    [4, 1, false],
    [4, 2, true],
    [5, 1, false],
    [5, 2, true],
  ])("of %i voters, with %i others heard: may it stamp? %s", (count, heard, isSafe) => {
    voters = count;
    report(...Array.from({ length: heard }, () => 0));
    expect(guard.isSafe()).toBe(isSafe);
  });

  test("lets no clock stamp that nobody has confirmed for 2 s, until one is heard again", () => {
    report(0, 0);
    clock.advance(2000);
    expect(guard.isSafe()).toBe(true);
    clock.advance(1);
    expect(guard.isSafe()).toBe(false);
    report(0);
    expect(guard.isSafe()).toBe(true);
    guard.onPeerDown("peer-0");
    expect(guard.isSafe()).toBe(false);
  });

  test("sees a jump of the own clock at once, without new reports", () => {
    report(0, 0);
    clock.advance(500);
    expect(guard.aheadOfMedianMs()).toBe(0);
    clock.wall += 3_600_000;
    expect(guard.isSafe()).toBe(false);
    clock.wall -= 7_200_000;
    expect(guard.isSafe()).toBe(false);
    clock.wall += 3_600_000;
    expect(guard.isSafe()).toBe(true);
  });
});
