import { describe, expect, test } from "@jest/globals";
import { GroupIdMemory } from "../src/state/group-id-memory.ts";
import type { GroupId } from "../src/entry/command.ts";

const id = (counter: number, node = 1n, incarnation = 1): GroupId => ({ node, incarnation, counter });

describe("the memory of decided group ids", () => {
  test("forgets exactly what was decided below the index, at whatever step the index rises", () => {
    for (const step of [7, 40, 1023, 1024, 3000]) {
      const memory = new GroupIdMemory();
      for (let index = 1; index <= 3000; index++) memory.add(id(index), index);
      for (let below = step; below <= 3000; below += step) {
        memory.forgetBelow(below);
        expect([memory.has(id(below - 1)), memory.has(id(below)), memory.has(id(3000))]).toEqual([false, true, true]);
        expect(memory.entries().length).toBe(3001 - below);
      }
    }
  });

  test("does not remember again what is forgotten when a lower index is named", () => {
    const memory = new GroupIdMemory();
    memory.add(id(7), 10);
    memory.forgetBelow(11);
    memory.forgetBelow(5);
    expect(memory.has(id(7))).toBe(false);
  });

  test("an id that is decided again after it was forgotten is kept as long as any other", () => {
    const memory = new GroupIdMemory();
    memory.add(id(1), 1);
    memory.add(id(2), 2);
    memory.forgetBelow(2);
    memory.add(id(1), 3000);
    memory.forgetBelow(2000);
    expect([memory.has(id(1)), memory.has(id(2))]).toEqual([true, false]);
    expect(memory.entries()).toEqual([{ ...id(1), index: 3000 }]);
    memory.forgetBelow(4500);
    expect(memory.has(id(1))).toBe(false);
  });

  test("keeps apart lives and nodes, and lists all in order", () => {
    const memory = new GroupIdMemory();
    memory.add(id(9, 2n), 4);
    memory.add(id(8, 1n, 2), 4);
    memory.add(id(9, 1n, 1), 4);
    memory.add(id(3, 0xffn, 1), 3);
    expect(memory.has(id(9, 1n, 2))).toBe(false);
    expect(memory.entries()).toEqual([
      { ...id(3, 0xffn, 1), index: 3 },
      { ...id(9, 1n, 1), index: 4 },
      { ...id(8, 1n, 2), index: 4 },
      { ...id(9, 2n), index: 4 },
    ]);
  });
});
