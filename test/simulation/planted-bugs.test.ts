import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { PLANTED_BUGS, findPlantedBugs } from "@event-anchoring/simulator";

describe("the simulator finds every planted bug", () => {
  const found: string[] = [];

  test.each(Object.keys(PLANTED_BUGS).map((bug, at) => [bug, at + 1] as const))(
    "%s",
    async (bug, place) => {
      const complaints: (string | null)[] = [];
      await findPlantedBugs({
        from: place,
        count: 1,
        jobs: 1,
        isOver: () => false,
        onFind: ({ complaint, lives, found: life }) => {
          complaints.push(complaint);
          found.push(`${bug.padEnd(36)} ${String(lives).padStart(3)} ${life?.broken.sentence ?? "not found"}`);
        },
      });
      expect(complaints).toEqual([null]);
    },
    1_200_000,
  );

  test("and says how many seeds each took", () => {
    process.stdout.write(`${found.join("\n")}\n`);
    expect(found).toHaveLength(Object.keys(PLANTED_BUGS).length);
    expect(found.length).toBeGreaterThanOrEqual(89);
  });
});

const PACKAGES = join(dirname(fileURLToPath(import.meta.url)), "../../packages");
/** What a node in production is started from. */
const PROGRAMS = ["control-plane", "api"];

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Folders of the packages that these need, themselves included. */
function neededBy(folders: readonly string[]): readonly string[] {
  const known = new Set(folders);
  for (const folder of known) {
    const manifest = JSON.parse(readFileSync(join(PACKAGES, folder, "package.json"), "utf8")) as Manifest;
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      const needed = name.replace("@event-anchoring/", "");
      if (existsSync(join(PACKAGES, needed, "package.json"))) known.add(needed);
    }
  }
  return [...known];
}

describe("a node in production", () => {
  test("needs no package that holds planted bugs", () => {
    const needed = neededBy(PROGRAMS);
    expect(needed).not.toContain("simulator");
    expect(needed).not.toContain("testkit");
    expect(neededBy(["simulator"])).toEqual(expect.arrayContaining(["control-plane", "ledger", "raft-ts"]));
  });

  test("is made of nothing that knows of planted bugs, and of no test double", () => {
    const offenders = neededBy(PROGRAMS).flatMap((name) =>
      readdirSync(join(PACKAGES, name, "src"), { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(".ts"))
        .filter((path) =>
          /planted|testkit|simulator"|Simulated/.test(readFileSync(join(PACKAGES, name, "src", path), "utf8")),
        )
        .map((path) => `${name}/${path}`),
    );
    expect(offenders).toEqual([]);
  });
});
