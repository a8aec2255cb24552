import { describe, expect, test } from "@jest/globals";
import { parseCpuProfile, summarise } from "../src/profile/cpu-profile.ts";
import type { CpuProfile } from "../src/profile/cpu-profile.ts";
import { parseProfileOptions } from "../src/profile/profile-options.ts";
import { profileTables } from "../src/profile/profile-tables.ts";

function node(id: number, functionName: string, url = "", lineNumber = -1): CpuProfile["nodes"][number] {
  return { id, callFrame: { functionName, url, lineNumber } };
}

const PROFILE: CpuProfile = {
  nodes: [
    node(1, "(root)"),
    node(2, "(program)"),
    node(3, "(idle)"),
    node(4, "(garbage collector)"),
    node(5, "encode", "file:///home/me/packages/a/dist/codec.js", 9),
    node(6, "", "file:///home/me/packages/a/dist/codec.js", 19),
    // The same function, called from elsewhere.
    node(7, "encode", "file:///home/me/packages/a/dist/codec.js", 9),
    node(8, "writev"),
  ],
  startTime: 1000,
  endTime: 2000,
  samples: [5, 3, 6, 7, 4, 8, 2],
  timeDeltas: [100, 200, 300, 10, 20, 30, 40],
};

describe("a CPU profile", () => {
  test("gives each sample the time until the next", () => {
    const summary = summarise(PROFILE, "file:///home/me/");
    expect(summary).toMatchObject({ totalUs: 900, idleUs: 300, gcUs: 30, nativeUs: 300 });
    expect(summary.functions).toEqual([
      { name: "encode", place: "packages/a/dist/codec.js:10", us: 220 },
      { name: "writev", place: "", us: 40 },
      { name: "(anonymous)", place: "packages/a/dist/codec.js:20", us: 10 },
    ]);
    expect(summary.files).toEqual([
      { name: "packages/a/dist/codec.js", place: "", us: 230 },
      { name: "(built in)", place: "", us: 40 },
    ]);
  });

  test("may be empty, or have a clock that went back", () => {
    const empty = { ...PROFILE, samples: [], timeDeltas: [] };
    expect(summarise(empty, "")).toMatchObject({ totalUs: 0, functions: [], files: [] });
    expect(summarise({ ...PROFILE, samples: [5, 5], timeDeltas: [100, -50] }, "")).toMatchObject({ totalUs: 950 });
  });

  test("is shown as shares of the time in which there was something to do", () => {
    const [byFunction, byFile] = profileTables("n1 api", summarise(PROFILE, "file:///home/me/"), 10, 1);
    expect(byFunction?.title).toBe("n1 api: busy 66.7 % of 0.0 s, 60.0 µs for each of 10.0");
    expect(byFunction?.rows).toEqual([
      ["3.00", "5.0 %", "0.030", "(garbage collector)", ""],
      ["30.0", "50.0 %", "0.30", "(native code, system calls)", ""],
      ["22.0", "36.7 %", "0.22", "encode", "packages/a/dist/codec.js:10"],
    ]);
    expect(byFile?.rows.map((cells) => cells[3])).toEqual(["packages/a/dist/codec.js"]);
  });

  test.each(["", "null", "{}", '{"nodes":[],"samples":[]}', '{"nodes":[],"samples":[],"timeDeltas":7}'])(
    "is not %j",
    (text) => {
      expect(() => parseCpuProfile(text)).toThrow();
    },
  );
});

describe("the options of a profile", () => {
  test("have defaults: both processes of the leader and of a follower", () => {
    expect(parseProfileOptions([])).toMatchObject({
      processes: ["api", "control_plane"],
      nodes: ["leader", "follower"],
      intervalUs: 500,
    });
    expect(parseProfileOptions(["--process", "api", "--node", "n3"])).toMatchObject({
      processes: ["api"],
      nodes: ["n3"],
    });
  });

  test.each([
    ["--process", "postgres"],
    ["--interval", "10"],
    ["--interval", "1.5"],
    ["--top", "0"],
    ["--seconds", "-1"],
    ["--what", "1"],
  ])("refuse %s %s", (...args) => {
    expect(() => parseProfileOptions(args)).toThrow();
  });
});
