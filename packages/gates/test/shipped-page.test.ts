import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Seeded } from "@event-anchoring/simulator";
import { CrosscheckProcess, TYPESCRIPT, shippedPage } from "@event-anchoring/testkit/sdks";
import { isAlike, shownOnPage } from "../src/gates/mutations.ts";
import { readCorpus } from "../src/mutations/corpus.ts";
import { mutated } from "../src/mutations/mutate.ts";

// The page as a reader has it, one file in a browser, is one of those that judge in the gate.

const shipped = shippedPage();
const { samples: corpus } = readCorpus(fileURLToPath(new URL("../../../test/vectors", import.meta.url)));
const EACH = 12;

(shipped === null ? describe.skip : describe)("the shipped page", () => {
  let programs: CrosscheckProcess[] = [];
  beforeAll(() => {
    programs = [TYPESCRIPT, ...(shipped === null ? [] : [shipped])].map((command) => new CrosscheckProcess(command));
  });
  afterAll(() => programs.forEach((program) => program.end()));

  test.each(["proof", "receipt", "bundle", "trust-root"])(
    "judges a %s as the SDK does, one after the other, by its reason",
    async (kind) => {
      const asked = corpus.filter((sample) => {
        const question = (sample.about(sample.text) ?? {}) as Record<string, unknown>;
        return sample.kind === kind && (question["op"] === "verify_bundle" || "content" in question);
      });
      const verdicts = new Set<unknown>();
      const every = Math.max(1, Math.floor(asked.length / EACH));
      for (const [at, { text, about }] of asked.filter((_, place) => place % every === 0).entries()) {
        for (const each of [text, mutated(text, new Seeded(at))]) {
          const question = about(each);
          if (question === null) continue;
          const [sdk, page] = await Promise.all(programs.map((program) => program.ask(question)));
          expect([sdk, isAlike(page ?? {}, sdk, shownOnPage)]).toEqual([sdk, true]);
          verdicts.add(sdk?.ok?.["verdict"] ?? sdk?.ok?.["outcome"] ?? "malformed");
        }
      }
      expect(verdicts.has("valid")).toBe(true);
      expect(verdicts.has("malformed")).toBe(true);
    },
    120_000,
  );
});
