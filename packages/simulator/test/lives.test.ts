import { describe, expect, jest, test } from "@jest/globals";
import { liveOneLife, simCommand } from "@event-anchoring/simulator";

// Lives are seconds of work; a busy machine makes minutes of them.
jest.setTimeout(600_000);

function collected(): { text: string; write(text: string): void } {
  return {
    text: "",
    write(text) {
      this.text += text;
    },
  };
}

describe("a simulated life", () => {
  test("is a function of its seed: twice the same happenings at the same times", async () => {
    for (const seed of [3, 8, 21, 34]) {
      const first = await liveOneLife({ seed });
      const second = await liveOneLife({ seed });
      expect(second.traceHash).toBe(first.traceHash);
      expect(second.happenings).toBe(first.happenings);
      expect(second.counts).toEqual(first.counts);
    }
  });

  test("differs from that of another seed", async () => {
    const lives = await Promise.all([liveOneLife({ seed: 1, harmMs: 1000 }), liveOneLife({ seed: 2, harmMs: 1000 })]);
    expect(lives[0]?.traceHash).not.toBe(lives[1]?.traceHash);
  });

  test("goes the same way beside another one in the same process", async () => {
    const alone = await liveOneLife({ seed: 5, harmMs: 2000 });
    const [beside] = await Promise.all([
      liveOneLife({ seed: 5, harmMs: 2000 }),
      liveOneLife({ seed: 6, harmMs: 2000 }),
    ]);
    expect(beside?.traceHash).toBe(alone.traceHash);
  });

  test("writes, reads and certifies while faults strike", async () => {
    const { broken, acknowledged, entries, counts, simulatedMs } = await liveOneLife({
      seed: 12,
      faults: ["kill", "cut"],
    });
    expect(broken).toBeNull();
    expect(simulatedMs).toBeGreaterThan(20_000);
    expect(acknowledged).toBeGreaterThan(20);
    expect(entries).toBeGreaterThan(20);
    expect(counts.certified).toBeGreaterThan(20);
    expect(counts.reads).toBeGreaterThan(5);
  });
});

describe("a life that was once found broken", () => {
  test.each([
    [429, 9, "a running leader's database was set back to before what the leader had acknowledged since"],
    [53, 20, "an older promise file did not know that the log had to forget an erased id"],
    [386, 50, "a follower that had abandoned its leader was looked at before the pause was over"],
    [1549, 50, "the same, with a longer pause"],
    [1596, 50, "two members that lagged behind the log of the only voter never got further"],
    [1606, 50, "a node without a session was set back, and had told nobody how far it was"],
    [2448, 50, "the only voter answered from an old commit index when it led again"],
    [3414, 50, "a copy of a running leader did not know what the leader had acknowledged since"],
    [5899, 50, "a leader was set back while one peer stopped and the other caught up: neither knew its log"],
    [11997, 50, "the one peer that knew what a node had forgotten was retired meanwhile"],
  ])("holds with seed %i, harmed for %i s: %s", async (seed, harmS) => {
    const { broken } = await liveOneLife({ seed, harmMs: harmS * 1000 });
    expect(broken).toBeNull();
  });
});

test("a life may end with the state on one node alone, which then has all that was acknowledged", async () => {
  const { broken, lastHolder } = await liveOneLife({ seed: 12_779, harmMs: 50_000 });
  expect({ broken, lastHolder }).toEqual({ broken: null, lastHolder: "d" });
});

test("a state whose taker was killed before its sender had connected to it does not keep what was erased", async () => {
  const { broken } = await liveOneLife({ seed: 111, faults: ["depose"] });
  expect(broken).toBeNull();
});

describe("a growing cluster that was once found broken", () => {
  // A leader refused what it could not certify; a follower that knew less abandoned it when the faults were over.
  test.each([25, 64])("holds with seed %i", async (seed) => {
    const { broken } = await liveOneLife({ seed, grows: "1-3", faults: ["isolate", "copy_comes_late"] });
    expect(broken).toBeNull();
  });
});

describe("a log that is bounded in bytes alone", () => {
  /** How many states were taken over, in lives in which nodes are away for a while. */
  async function takenOver(bytes: number): Promise<number> {
    let installed = 0;
    for (const seed of [6, 7, 8]) {
      const { broken } = await liveOneLife({
        seed,
        faults: ["isolate"],
        logKept: { entries: 100_000, bytes },
        onLine: ({ fields }) => (installed += Number(fields.includes("snapshot_installed"))),
      });
      expect(broken).toBeNull();
    }
    return installed;
  }

  test("hands its state to a node that lags by more, and its entries to one that lags by less", async () => {
    expect(await takenOver(2000)).toBeGreaterThan(0);
    expect(await takenOver(1024 * 1024 * 1024)).toBe(0);
  });
});

describe("npm run sim", () => {
  test("replays one life with a readable story, and says that every sentence held", async () => {
    const [out, err] = [collected(), collected()];
    expect(await simCommand(["--seed", "12", "--harm-seconds", "6", "--faults", "kill"], out, err)).toBe(0);
    expect(out.text).toMatch(/fault +kill [abc]/);
    expect(out.text).toMatch(/leader_changed/);
    expect(out.text).toMatch(/seed 12: every sentence held\..*\ntrace [0-9a-f]{16}\n$/);
  });

  test("shows the seed, the broken sentence and the last lines of a life that went wrong", async () => {
    const [out, err] = [collected(), collected()];
    const call = ["--from", "1", "--seeds", "1", "--bug", "hard_state_not_saved"];
    expect(await simCommand(call, out, err)).toBe(1);
    expect(out.text).toContain("from seed 1\n");
    expect(out.text).toMatch(/seed 1: NOT acksAndVotesLeaveOnlyAfterPersist, at [0-9.]+ s: /);
    expect(out.text).toContain("npm run sim -- --seed 1 --bug hard_state_not_saved\n");
    expect(out.text).toMatch(
      /1 lives, [0-9.]+ simulated minutes, \d+ simulated seconds for a core-second, 1 broken\n$/,
    );
  });

  test.each([
    [["--faults", "earthquake"], "no fault is called earthquake"],
    [["--bug", "none"], "no planted bug is called none"],
    [["--nodes", "4"], "a cluster has 3 or 5 nodes, not 4"],
    [["--witnesses", "ten"], "a trust root lists 0 to 9 witnesses here, not ten"],
  ])("refuses %j", async (call, reason) => {
    const [out, err] = [collected(), collected()];
    expect(await simCommand(call, out, err)).toBe(2);
    expect(err.text).toContain(reason);
    expect(out.text).toBe("");
  });

  test("says for programs what each life came to", async () => {
    const [out, err] = [collected(), collected()];
    const call = ["--from", "30", "--seeds", "2", "--harm-seconds", "1", "--nodes", "5", "--json"];
    expect(await simCommand(call, out, err)).toBe(0);
    const lives = out.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    expect(lives).toEqual([
      expect.objectContaining({ seed: 30, nodes: 5, broken: null, story: null }),
      expect.objectContaining({ seed: 31, nodes: 5, broken: null, story: null }),
    ]);
  });

  test("names the planted bugs", async () => {
    const [out, err] = [collected(), collected()];
    expect(await simCommand(["--bug", "list"], out, err)).toBe(0);
    expect(out.text.trim().split("\n").length).toBeGreaterThanOrEqual(50);
  });
});
