import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { FaultSwitches } from "@event-anchoring/testkit/faults";
import { anchorsOf } from "../../packages/cli/test/anchors-of.ts";
import { MISTAKES } from "../../packages/cli/src/doctor/mistakes.ts";
import type { MistakeCode } from "../../packages/cli/src/doctor/mistakes.ts";
import { codesSeen, look } from "./machines/doctors-look.ts";
import type { Look } from "./machines/doctors-look.ts";
import { type Machine, type Machines, whatMachinesLack } from "./machines/machine.ts";
import { bringUp } from "./machines/page.ts";
import { writeWrongFiles } from "./machines/wrong-files.ts";
import { CERTIFICATES, IDENTITY, SETTINGS } from "./mistakes/in-files.ts";
import { BACKUPS, DISKS, PEERS, PROCESSES } from "./mistakes/on-machines.ts";
import { WORDS } from "./mistakes/seeded-mistake.ts";
import type { SeededMistake } from "./mistakes/seeded-mistake.ts";

// docs/operating/doctor.md on real machines: each mistake is made, named, and undone.

const DOCS = join(import.meta.dirname, "../..");
const SEEDED_MISTAKES = [SETTINGS, IDENTITY, CERTIFICATES, DISKS, PEERS, PROCESSES, BACKUPS].flat();
const MINUTE_MS = 60_000;
const NOTICED_MS_MAX = 30_000;
const KEPT = "/srv/kept.tar";
const DOCTOR = "doctor";

/** Mistakes that such a machine cannot have, and why: packages/cli/test/doctor.test.ts makes them up. */
const NOT_HERE: Readonly<Partial<Record<MistakeCode, string>>> = {
  clock_not_kept: "the kernel keeps one clock for all machines here, and says whether a time server keeps it",
  node_js_old: "all machines here have the Node.js that runs this test, and no registry is asked for an old one",
};

const clocks = FaultSwitches.make();
const missing = whatMachinesLack() ?? ("missing" in clocks ? clocks.missing : null);
const describeMachines = missing === null ? describe : describe.skip;

afterAll(() => {
  if (!("missing" in clocks)) clocks.close();
});

test("every mistake is seeded below, but for those that a machine here cannot have", () => {
  const seeded = new Set(SEEDED_MISTAKES.map(({ code }) => code));
  expect(Object.keys(NOT_HERE).filter((code) => seeded.has(code as MistakeCode))).toEqual([]);
  expect([...seeded, ...Object.keys(NOT_HERE)].toSorted()).toEqual(Object.keys(MISTAKES).toSorted());
  expect(seeded.size).toBeGreaterThanOrEqual(25);
});

describeMachines(`three machines with mistakes${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  let machines: Machines;
  let n2: Machine;

  beforeAll(async () => {
    machines = await bringUp();
    n2 = machines.at("n2");
    await writeWrongFiles(machines.desk);
    machines.at("n3").typed(`cp /var/lib/anchoring-promise/promise.bin ${machines.desk}/wrong/promise-n3.bin`);
    n2.typed(`cp -r ${machines.desk}/wrong .`);
    await untilWell();
  }, 5 * MINUTE_MS);

  afterAll(() => machines.stop(), MINUTE_MS);

  const untilWell = (): Promise<unknown> =>
    until("doctor finds nothing wrong", () => codesSeen(n2).length === 0, MINUTE_MS);

  function make({ keeps, seed, on }: SeededMistake): void {
    if (keeps !== undefined) n2.typed(`${WORDS}\ntar -C / -cPf ${KEPT} ${keeps}`);
    machines.at(on ?? "n2").typed(`${WORDS}\n${seed}`);
  }

  function undo({ keeps, undo: commands, on }: SeededMistake): void {
    if (commands !== undefined) machines.at(on ?? "n2").typed(`${WORDS}\n${commands}`);
    if (keeps !== undefined) n2.typed(`tar -C / -xpPf ${KEPT}`);
  }

  /** Looks until the mistake is named: some are noticed seconds after they were made. */
  async function lookFor({ code, options, clockOffsetMs = 0 }: SeededMistake): Promise<Look> {
    if ("missing" in clocks) throw new Error(clocks.missing);
    const environment = Object.entries(clocks.environment(DOCTOR)).map(([name, value]) => `${name}=${value}`);
    clocks.setClock(DOCTOR, clockOffsetMs);
    const now = (): Look => look(n2, options, clockOffsetMs === 0 ? "" : environment.join(" "));
    const isAlone = ({ findings }: Look): boolean => findings.length === 1 && findings[0]?.code === code;
    let seen = now();
    const giveUpAt = performance.now() + NOTICED_MS_MAX;
    await until(code, () => {
      if (!isAlone(seen)) seen = now();
      return isAlone(seen) || performance.now() > giveUpAt;
    });
    return seen;
  }

  test.each(SEEDED_MISTAKES)("$code: $title", async (mistake) => {
    const { code, says } = mistake;
    const { level, page } = MISTAKES[code];
    try {
      make(mistake);
      const { findings, lines, last, exitCodes } = await lookFor(mistake);
      expect(findings.map((found) => [found.code, found.level, found.page])).toEqual([
        [code, level, `docs/operating/${page}`],
      ]);
      expect(findings[0]?.detail).toContain(says);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(level === "fail" ? /^ {2}✗ \S/u : /^ {2}! \S/u);
      expect(lines[0]).toContain(says);
      expect(lines[0]?.endsWith(` (docs/operating/${page})`)).toBe(true);
      expect(last).toBe(level === "fail" ? "1 to mend." : "Nothing is wrong; 1 to look at.");
      expect(exitCodes).toEqual(level === "fail" ? [1, 1] : [0, 0]);
      const [file = "", anchor] = page.split("#");
      const anchors = anchorsOf(readFileSync(join(DOCS, "docs/operating", file), "utf8"));
      expect(anchor === undefined || anchors.includes(anchor)).toBe(true);
    } finally {
      undo(mistake);
    }
    await untilWell();
  });
});
