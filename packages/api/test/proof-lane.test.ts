/** How requests for proofs share the states that a quorum signs for them. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import { ProofLane, RefusedError } from "@event-anchoring/api";
import type { SignedState } from "@event-anchoring/api";
import { systemClock } from "@event-anchoring/telemetry";
import { Deadline } from "../src/request/deadline.ts";

const EVERY_MS = 60;

let holds: { atMs: number; isReleased: boolean }[];
let outcomes: string[];
let hold: () => Promise<void>;
let lane: ProofLane;

beforeEach(() => {
  holds = [];
  outcomes = [];
  hold = async () => undefined;
  lane = new ProofLane({
    hold: async () => {
      const held = { atMs: performance.now(), isReleased: false };
      holds.push(held);
      await hold();
      const [databaseSnapshot, stateHead] = [`0-0-${holds.length}`, "note"];
      return { databaseSnapshot, raftIndex: holds.length, stateHead, release: () => (held.isReleased = true) };
    },
    clock: systemClock,
    onHold: (outcome) => outcomes.push(outcome),
    holdEveryMs: EVERY_MS,
  });
});

const within = (timeoutMs = 5000): Deadline => new Deadline(systemClock, timeoutMs);
const indexOf = async ({ raftIndex }: SignedState): Promise<number> => raftIndex;

describe("requests for proofs", () => {
  test("fifty at once make two holds: the first one's, and that of all who came while it was under way", async () => {
    const asked = Array.from({ length: 50 }, () => lane.withState(within(), indexOf));
    expect(await Promise.all(asked)).toEqual([1, ...Array.from({ length: 49 }, () => 2)]);
    expect(holds).toHaveLength(2);
  });

  test("each uses a state that is signed after it came", async () => {
    let open = (): void => undefined;
    hold = () => new Promise((resolve) => (open = resolve));
    const first = lane.withState(within(), indexOf);
    const second = lane.withState(within(), indexOf);
    hold = async () => undefined;
    open();
    expect([await first, await second]).toEqual([1, 2]);
  });

  test("holds are apart, and each is let go when all had their turn", async () => {
    await lane.withState(within(), indexOf);
    const heldDuring: boolean[] = [];
    await Promise.all(
      [1, 2].map(() => lane.withState(within(), async () => void heldDuring.push(holds.at(-1)?.isReleased === false))),
    );
    expect(heldDuring).toEqual([true, true]);
    expect(holds.map(({ isReleased }) => isReleased)).toEqual([true, true]);
    const [first, second] = holds.map(({ atMs }) => atMs);
    // A timer may fire a fraction of a millisecond early.
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(EVERY_MS - 2);
  });

  test("one after the other uses it, and one that fails takes nothing from the next", async () => {
    await lane.withState(within(), indexOf);
    let underWay = 0;
    const one = async (): Promise<number> => {
      underWay += 1;
      expect(underWay).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      return underWay;
    };
    const failing = lane.withState(within(), () => Promise.reject(new Error("no such anchor")));
    const others = [1, 2, 3].map(() => lane.withState(within(), one));
    await expect(failing).rejects.toThrow("no such anchor");
    expect(await Promise.all(others)).toEqual([0, 0, 0]);
  });

  test("if no quorum signs, all who wait hear it, and the next one asks again", async () => {
    hold = () => Promise.reject(new RefusedError("state_not_signed", "n1 alone has signed", 5000));
    const asked = [1, 2, 3].map(() => lane.withState(within(), indexOf));
    for (const each of asked)
      await expect(each).rejects.toMatchObject({ code: "state_not_signed", retryAfterMs: 5000 });
    hold = async () => undefined;
    expect(await lane.withState(within(), indexOf)).toBe(3);
    expect(outcomes).toEqual(["refused", "refused", "held"]);
  });

  test("whose time ends before its turn is told so; nothing is signed for it alone", async () => {
    await lane.withState(within(), indexOf);
    await expect(lane.withState(within(EVERY_MS / 4), indexOf)).rejects.toMatchObject({ code: "state_not_signed" });
    expect(holds).toHaveLength(1);
  });

  test("more than 64 do not wait", async () => {
    let open = (): void => undefined;
    hold = () => new Promise((resolve) => (open = resolve));
    const waiting = Array.from({ length: 65 }, () => lane.withState(within(), indexOf));
    await expect(lane.withState(within(), indexOf)).rejects.toMatchObject({ code: "overloaded" });
    hold = async () => undefined;
    open();
    expect(await Promise.all(waiting)).toHaveLength(65);
  });
});
