import { describe, expect, test } from "@jest/globals";
import { Divergence, Effects } from "../src/certification/divergence.ts";
import { StepClock } from "./doubles.ts";

function divergence(clock: StepClock, counts: (nodeId: string) => boolean = () => true): Divergence {
  return new Divergence({ clock, quorum: () => 2, counts });
}

test("a node must stop when as many distinct peers as make a quorum differ over one point, not before", () => {
  const noted = divergence(new StepClock());
  expect([noted.note("c", "7"), noted.note("c", "7"), noted.note("b", "7")]).toEqual([false, false, true]);
  expect(noted.peers).toEqual(["b", "c"]);
});

test("two peers that differ over two points stop nobody", () => {
  const noted = divergence(new StepClock());
  expect([noted.note("c", "7"), noted.note("b", "8"), noted.note("b", "9")]).toEqual([false, false, false]);
});

test("what is long past is another event, over whatever point", () => {
  const clock = new StepClock();
  const noted = divergence(clock);
  noted.note("c", "7");
  clock.advance(10_001);
  expect(noted.peers).toEqual([]);
  expect(noted.note("b", "7")).toBe(false);
  expect(noted.peers).toEqual(["b"]);
});

test("who has lied, or is no active node, is shown and does not count", () => {
  const noted = divergence(new StepClock(), (nodeId) => nodeId !== "b");
  expect([noted.note("b", "7"), noted.note("c", "7"), noted.note("d", "7")]).toEqual([false, false, true]);
  expect(noted.peers).toEqual(["b", "c", "d"]);
});

test("a peer that differs everywhere takes bounded room", () => {
  const noted = divergence(new StepClock());
  for (let index = 0; index < 5000; index++) noted.note("b", `${index}`);
  expect(noted.note("c", "4999")).toBe(true);
  expect(noted.note("c", "1")).toBe(false);
});

describe("effects", () => {
  const [one, other] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];

  test("are compared at one log index, whoever is there first", () => {
    const effects = new Effects();
    effects.onOwn(5, one);
    expect([effects.differs("b", 5, one), effects.differs("c", 5, other)]).toEqual([false, true]);
    expect([effects.differs("b", 7, one), effects.differs("c", 7, other)]).toEqual([false, false]);
    expect(effects.onOwn(7, one)).toEqual(["c"]);
    expect(effects.onOwn(7, one)).toEqual([]);
  });

  test("of an index that this node has passed without a certify point say nothing", () => {
    const effects = new Effects();
    effects.onOwn(9, one);
    expect(effects.differs("b", 8, other)).toBe(false);
    expect(effects.onOwn(10, one)).toEqual([]);
  });

  test("that never come take bounded room", () => {
    const effects = new Effects();
    for (let index = 1; index < 5000; index++) effects.differs("b", index, other);
    expect(effects.onOwn(1, one)).toEqual([]);
    expect(effects.onOwn(4999, one)).toEqual(["b"]);
  });
});
