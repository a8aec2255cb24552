import { describe, expect, test } from "@jest/globals";
import { fileURLToPath } from "node:url";
import { Seeded } from "@event-anchoring/simulator";
import { readCorpus } from "../src/mutations/corpus.ts";
import { mutated } from "../src/mutations/mutate.ts";

const corpus = readCorpus(fileURLToPath(new URL("../../../test/vectors", import.meta.url)));

describe("a mutation", () => {
  test("is a function of its seed, and nearly always another text", () => {
    const text = corpus[0]?.text ?? "";
    const many = Array.from({ length: 500 }, (_, seed) => mutated(text, new Seeded(seed)));
    expect(Array.from({ length: 500 }, (_, seed) => mutated(text, new Seeded(seed)))).toEqual(many);
    expect(many.filter((other) => other !== text).length).toBeGreaterThan(450);
    expect(new Set(many).size).toBeGreaterThan(400);
  });

  test("can be made of a text of one character, and of none that is left", () => {
    for (let seed = 0; seed < 500; seed++) expect(typeof mutated("7", new Seeded(seed))).toBe("string");
  });
});

describe("the corpus", () => {
  test("has samples of every kind, each of which can be asked about", () => {
    expect([...new Set(corpus.map(({ kind }) => kind))].sort()).toEqual(["bundle", "proof", "receipt", "trust-root"]);
    for (const { text, about } of corpus)
      expect(about(text)).toMatchObject({ op: expect.stringMatching(/^verify_(receipt|bundle)$/) });
  });
});
