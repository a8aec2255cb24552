import { describe, expect, jest, test } from "@jest/globals";
import { simCommand } from "@event-anchoring/simulator";

// Lives are seconds of work; a busy machine makes minutes of them.
jest.setTimeout(1_200_000);

async function sim(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: "", err: "" };
  const code = await simCommand(
    args,
    { write: (text: string) => void (said.out += text) },
    { write: (text: string) => void (said.err += text) },
  );
  return { code, ...said };
}

/** How long a life was, and what was acknowledged in it: two lives that agree in both are the same one. */
function lived(out: string): readonly (string | undefined)[] {
  return [/([\d.]+) s, /.exec(out)?.[1], /(\d+) acknowledged/.exec(out)?.[1]];
}

describe("npm run sim -- --drawn", () => {
  test.each([
    [40, true],
    [6, false],
  ])("tells the life of seed %i, and how to see its story: it is the same life", async (seed, isBesideALiar) => {
    const drawn = await sim("--drawn", String(seed));
    expect(drawn).toMatchObject({ code: 0, err: "" });
    expect(drawn.out).toContain(`seed ${seed}: every sentence held`);
    expect(drawn.out.includes("one lies: ")).toBe(isBesideALiar);
    const [, flags = ""] = /^Its story: npm run sim -- (.*)$/mu.exec(drawn.out) ?? [];
    const story = await sim(...flags.split(" "), "--quiet");
    expect(lived(story.out)).toEqual(lived(drawn.out));
    expect(lived(story.out)).not.toContain(undefined);
  });
});

describe("npm run sim -- --lie", () => {
  test("tells a life beside a liar line by line", async () => {
    const { code, out } = await sim("--seed", "7", "--lie", "two_trees", "--harm-seconds", "1");
    expect(code).toBe(0);
    expect(out).toMatch(/lies +\w+ two_trees/);
    expect(out).toMatch(/3 nodes, quorum 2, one lies: two_trees, \d+ acknowledged\ntrace [0-9a-f]{16}/);
  });

  test.each([
    ["no such lie", ["--seed", "7", "--lie", "white"]],
    ["no seed", ["--lie", "two_trees"]],
    ["a quorum that nobody has", ["--seed", "7", "--lie", "two_trees", "--nodes", "4", "--quorum", "2"]],
    ["faults, which do not strike there", ["--seed", "7", "--lie", "two_trees", "--faults", "kill"]],
    ["a quorum without a lie", ["--seed", "7", "--quorum", "2"]],
    ["no number as a drawn seed", ["--drawn", "x"]],
  ])("refuses %s", async (_what, args) => {
    const { code, out, err } = await sim(...args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain("--help");
  });
});
