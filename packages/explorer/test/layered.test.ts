import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { placeInLayers } from "../src/index.ts";

// Where boxes and arrows are drawn: whatever the graph, nothing covers anything.

const WIDTH = 288;

const graphs = fc.array(fc.integer({ min: 40, max: 160 }), { minLength: 1, maxLength: 14 }).chain((heights) =>
  fc.record({
    boxes: fc.constant(heights.map((height, at) => ({ id: `b${at}`, width: WIDTH, height }))),
    links: fc.array(
      fc
        .tuple(fc.nat(heights.length - 1), fc.nat(heights.length - 1))
        .map(([from, to]) => [`b${from}`, `b${to}`] as const),
      { maxLength: 24 },
    ),
  }),
);

describe("a drawing", () => {
  test("has no box over another, and every box inside, whatever the arrows", () => {
    fc.assert(
      fc.property(graphs, ({ boxes, links }) => {
        const { width, height, centres, paths } = placeInLayers(boxes, links);
        const areas = boxes.map((box) => {
          const { x, y } = centres.get(box.id) ?? { x: NaN, y: NaN };
          return { left: x - WIDTH / 2, right: x + WIDTH / 2, top: y - box.height / 2, bottom: y + box.height / 2 };
        });
        for (const [at, one] of areas.entries()) {
          expect(one.left >= 0 && one.top >= 0 && one.right <= width && one.bottom <= height).toBe(true);
          const covered = areas.slice(at + 1).filter((other) => {
            const isBeside = other.left >= one.right || other.right <= one.left;
            return !isBeside && other.top < one.bottom && other.bottom > one.top;
          });
          expect(covered).toEqual([]);
        }
        expect(paths.every((path) => path.length > 2 && path.every(({ x, y }) => x >= 0 && y >= 0))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("goes down: an arrow ends below where it begins, unless it closes a circle", () => {
    const boxes = ["a", "b", "c", "d"].map((id) => ({ id, width: WIDTH, height: 60 }));
    const { centres, paths } = placeInLayers(boxes, [
      ["a", "b"],
      ["b", "c"],
      ["a", "c"],
      ["d", "c"],
      ["c", "a"],
    ]);
    const heights = paths.map((path) => Math.sign((path.at(-1)?.y ?? 0) - (path[0]?.y ?? 0)));
    expect(heights).toEqual([1, 1, 1, 1, -1]);
    // The way past the middle layer has a place of its own there.
    expect(paths[2]).toHaveLength(3);
    expect(Math.abs((paths[2]?.[1]?.x ?? 0) - (centres.get("b")?.x ?? 0))).toBeGreaterThan(WIDTH / 2);
    // What nothing leads to is beside what leads to the same box, not at the top.
    expect(centres.get("d")?.y).toBe(centres.get("b")?.y);
  });

  test("a plain chain is one straight column", () => {
    const boxes = ["a", "b", "c"].map((id) => ({ id, width: WIDTH, height: 60 }));
    const { centres, width } = placeInLayers(boxes, [
      ["a", "b"],
      ["b", "c"],
    ]);
    expect(new Set([...centres.values()].map(({ x }) => x))).toEqual(new Set([width / 2]));
  });
});
