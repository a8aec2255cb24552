import { expect, test } from "@jest/globals";
import { slownessOf } from "@event-anchoring/testkit/overload";

test("a machine that takes twice as long for a piece of work is twice as slow; a quick one gets no less", () => {
  expect(slownessOf([1.4, 0.1, 9, 1.3, 1.5])).toBe(2);
  expect(slownessOf([0.2])).toBe(1);
  expect(() => slownessOf([])).toThrow("no piece of work was measured");
});
