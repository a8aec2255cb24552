import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { HistoryChecker } from "@event-anchoring/testkit/faults";

const HERE = dirname(fileURLToPath(import.meta.url));
const HISTORIES = join(HERE, "histories");
const WANTED: readonly (readonly [prefix: string, verdict: string])[] = [
  ["good", "linearizable"],
  ["bad", "not linearizable"],
  ["invalid", "invalid"],
];

const made = HistoryChecker.build(HERE);
const checker = made instanceof HistoryChecker ? made : null;
if (!(made instanceof HistoryChecker)) process.stdout.write(`linearizability is not tested: ${made.missing}\n`);

afterAll(() => {
  checker?.close();
});

(checker === null ? describe.skip : describe)("the checker of histories", () => {
  test.each(WANTED)("says of every %s history that it is %s", (prefix, verdict) => {
    const names = readdirSync(HISTORIES).filter((name) => name.startsWith(`${prefix}-`));
    expect(names.length).toBeGreaterThan(5);
    const limits = { writesBefore: 1, readsBefore: 1 };
    const others = names.map((name) => [name, checker?.judge(join(HISTORIES, name), limits)] as const);
    expect(others.filter(([, said]) => said?.verdict !== verdict)).toEqual([]);
  });

  test("takes none of the good ones as proof of anything when more load is asked for", () => {
    const names = readdirSync(HISTORIES).filter((name) => name.startsWith("good-"));
    const limits = { writesBefore: 10, readsBefore: 1 };
    for (const name of names) expect(checker?.judge(join(HISTORIES, name), limits).verdict).toBe("invalid");
  });
});
