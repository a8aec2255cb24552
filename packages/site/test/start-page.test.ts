import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { inspectBundle, verifyBundle } from "@event-anchoring/sdk";
import { CHECKOUT, textOf } from "../src/checkout.ts";
import { EXAMPLES, linesOf } from "../src/examples.ts";
import { drawPicture } from "../src/picture/draw.ts";
import { readDemo } from "../src/picture/demo.ts";
import { DEMO_BUNDLES, startPage } from "../src/start-page.ts";

const [first = "", second = ""] = DEMO_BUNDLES.map(textOf);
const pin = textOf("packages/site/demo/root-thk.txt").trim();

describe("the picture", () => {
  const demo = readDemo([first, second]);

  test("is drawn from bundles that are proved", () => {
    expect(verifyBundle(first, { pinnedRootThk: pin }).authorisedAtAction).toBe(true);
    expect(verifyBundle(second, { pinnedRootThk: pin }).authorisedAtAction).toBe(false);
    const other = { pinnedRootThk: "00".repeat(32) };
    expect(inspectBundle(second, other).outcome).toBe("invalid");
  });

  test("shows every leaf of the log, what it names, and who has signed the root", () => {
    expect(demo.leaves.map(({ role, isAuthorised }) => [role, isAuthorised])).toEqual([
      ["genesis", null],
      ["deployer", null],
      ["agent", null],
      ["grant", null],
      ["deploy build 1842 to staging", true],
      ["revocation", null],
      ["deploy build 1843 to staging", false],
    ]);
    expect(demo.nodes).toEqual([
      { name: "n1", hasSigned: true },
      { name: "n2", hasSigned: true },
      { name: "n3", hasSigned: false },
    ]);
    const svg = drawPicture(demo);
    for (const { anchorId, time } of demo.leaves) {
      expect(svg).toContain(`${anchorId.slice(0, 12)}…`);
      expect(svg).toContain(`${time} UTC`);
    }
    expect(svg).toContain(`root ${demo.rootHash.slice(0, 16)}…`);
    expect(svg).toContain("2 of 3 nodes have computed and signed it");
    // Two claims of the grant; the grant of two acts and of the revocation.
    expect(svg.match(/marker-end/g)).toHaveLength(5);
    // A tree of n leaves has n − 1 inner nodes.
    expect(svg.match(/class="knot"/g)).toHaveLength(demo.leaves.length - 1);
    expect(svg).not.toMatch(/\n\s*\n/);
  });

  test("is drawn the same twice, and not of half a log", () => {
    expect(drawPicture(readDemo([first, second]))).toBe(drawPicture(demo));
    expect(() => readDemo([second])).toThrow("deploy build 1842 to staging has no bundle");
    expect(() => readDemo([])).toThrow("a demo has a bundle");
    const [, ...rest] = demo.leaves;
    expect(() => drawPicture({ ...demo, leaves: rest.slice(1) })).toThrow("which is no earlier leaf");
  });
});

describe("the examples", () => {
  test.each(EXAMPLES)("the start page shows five lines of $source as they are there", (example) => {
    const lines = linesOf(example);
    expect(lines.filter((line) => line.trim() !== "")).toHaveLength(5);
    expect(readFileSync(join(CHECKOUT, example.source), "utf8")).toContain(`\n${lines.join("\n")}\n`);
    expect(startPage()).toContain(`### ${example.language}\n\n\`\`\`${example.code}\n${lines.join("\n")}\n\`\`\``);
  });

  test("an example that is gone from its document is no example", () => {
    expect(() => linesOf({ ...(EXAMPLES[0] as (typeof EXAMPLES)[0]), to: "gone" })).toThrow("has no example");
  });
});

test("the start page has all of its parts", () => {
  expect(startPage()).not.toMatch(/%\w+%/);
  expect(startPage()).toContain(`\`${pin}\``);
});
