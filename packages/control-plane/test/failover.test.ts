import { beforeEach, expect, test } from "@jest/globals";
import { Failover, turnAfter } from "../src/session/failover.ts";
import { StepClock, quietLogger } from "./doubles.ts";

let clock: StepClock;
let leader: string | null;
let isCaughtUp: boolean;
let wouldRefuse: boolean;
let campaigns: number;
let turn: number;
let failover: Failover;

beforeEach(() => {
  clock = new StepClock();
  leader = "b";
  isCaughtUp = true;
  wouldRefuse = false;
  campaigns = 0;
  turn = 0;
  failover = new Failover({
    environment: { clock, random: { fill: (bytes) => bytes.fill(128) }, logger: quietLogger },
    leader: () => leader,
    turnAfter: () => turn,
    isCaughtUp: () => isCaughtUp,
    wouldRefuse: () => wouldRefuse,
    forgetLeader: () => (leader = null),
    campaign: () => (campaigns += 1),
  });
});

function forward(writes: number): void {
  for (let write = 0; write < writes; write++) failover.onForwarded("b");
}

function refuse(isUnderstood: boolean, isUnderstoodLater = isUnderstood): void {
  wouldRefuse = isUnderstood;
  failover.onRefused("b", [{ purpose: "client", commands: [] }]);
  wouldRefuse = isUnderstoodLater;
}

test("a leader whose port refuses is left at once", () => {
  failover.onPeerGone("c");
  expect(leader).toBe("b");
  failover.onPeerGone("b");
  expect(leader).toBeNull();
  clock.advance(0);
  expect(campaigns).toBe(1);
  expect(failover.isShunned("b")).toBe(false);
});

test("a node whose turn is later does not campaign if a leader is elected by then", () => {
  turn = 1;
  failover.onPeerGone("b");
  clock.advance(119);
  expect(campaigns).toBe(0);
  leader = "c";
  failover.onElected();
  clock.advance(10_000);
  expect(campaigns).toBe(0);
});

test("a node campaigns again when half a second later there is no leader, three times in all", () => {
  failover.onPeerGone("b");
  clock.advance(0);
  expect(campaigns).toBe(1);
  clock.advance(499);
  expect(campaigns).toBe(1);
  clock.advance(1);
  expect(campaigns).toBe(2);
  clock.advance(10_000);
  expect(campaigns).toBe(3);
});

test.each([
  [1n, [0, 1, 2]],
  [5n, [1, 2, 0]],
  [7n, [0, 1, 2]],
])("after leader %s each of the others has a turn of its own", (leaderId, turns) => {
  const voters = [7n, 1n, 5n, 3n];
  const others = [1n, 3n, 5n, 7n].filter((voter) => voter !== leaderId);
  expect(others.map((voter) => turnAfter(leaderId, voter, voters))).toEqual(turns);
});

test("a leader under whom nothing forwarded is decided for five seconds is left, and not followed for a while", () => {
  forward(3);
  clock.advance(4999);
  expect(leader).toBe("b");
  clock.advance(1);
  expect([leader, failover.isShunned("b"), failover.isShunned("c")]).toEqual([null, true, false]);
  clock.advance(0);
  expect(campaigns).toBe(1);
  clock.advance(9999);
  expect(failover.isShunned("b")).toBe(true);
  clock.advance(1);
  expect(failover.isShunned("b")).toBe(false);
});

test("the pause grows each time", () => {
  const pauses = [1, 2, 3].map(() => {
    leader = "b";
    forward(3);
    clock.advance(5000);
    let seconds = 0;
    for (; failover.isShunned("b"); seconds += 10) clock.advance(10_000);
    return seconds;
  });
  expect(pauses).toEqual([10, 20, 40]);
});

test.each([
  ["a write was decided", () => failover.onDecided()],
  ["it refused one that this node would refuse as well", () => refuse(true)],
  ["it refused one, and this node learns why", () => refuse(false, true)],
  ["another node leads by then", () => (leader = "c")],
  ["it was elected again meanwhile", () => failover.onElected()],
])("a leader is kept if %s", (_what, happens) => {
  forward(3);
  clock.advance(3000);
  happens();
  const before = leader;
  clock.advance(10_000);
  expect([leader, failover.isShunned("b")]).toEqual([before, false]);
});

test("a leader that refuses what this node would not refuse is left, a second later while writes keep coming", () => {
  for (let tenth = 0; tenth < 60; tenth++) {
    expect(leader).toBe("b");
    forward(1);
    refuse(false);
    clock.advance(100);
  }
  expect([leader, failover.isShunned("b")]).toEqual([null, true]);
});

test("a leader that has refused, and is asked again when patience ends, gets a second to decide that write", () => {
  forward(3);
  refuse(false);
  clock.advance(4990);
  forward(1);
  clock.advance(990);
  expect(leader).toBe("b");
  failover.onDecided();
  clock.advance(10_000);
  expect([leader, failover.isShunned("b")]).toEqual(["b", false]);
});

test("what another node refuses, or nobody sent, answers for nothing", () => {
  forward(3);
  wouldRefuse = true;
  failover.onRefused("c", [{ purpose: "client", commands: [] }]);
  failover.onRefused("b", []);
  clock.advance(5000);
  expect(leader).toBeNull();
});

test("one lost write costs no leader, and a node that lags itself blames nobody", () => {
  forward(1);
  clock.advance(20_000);
  expect(leader).toBe("b");
  isCaughtUp = false;
  forward(5);
  clock.advance(20_000);
  expect(leader).toBe("b");
  isCaughtUp = true;
  clock.advance(500);
  expect(leader).toBeNull();
});
