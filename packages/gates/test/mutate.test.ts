import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { plant, planting } from "@event-anchoring/testkit/faults";
import { ANCHORCTL, CrosscheckProcess, PROOF_PAGE, TYPESCRIPT } from "@event-anchoring/testkit/sdks";
import type { CrosscheckAnswer } from "@event-anchoring/testkit/sdks";
import { Seeded } from "@event-anchoring/simulator";
import { isAlike, shownOnPage } from "../src/gates/mutations.ts";
import { KINDS, readCorpus } from "../src/mutations/corpus.ts";
import { mutated } from "../src/mutations/mutate.ts";

const { samples: corpus } = readCorpus(fileURLToPath(new URL("../../../test/vectors", import.meta.url)));

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
    expect(new Set(corpus.map(({ kind }) => kind))).toEqual(new Set(KINDS));
    for (const { text, about, others } of corpus) {
      expect(about(text)).toMatchObject({
        op: expect.stringMatching(/^verify_(receipt|bundle|trust_root|checkpoint)$/),
      });
      expect(others.length).toBeGreaterThan(1);
    }
  });
});

describe("the command line and the page", () => {
  const ofFiles = corpus.filter(({ kind, text, about }) => kind !== "receipt" && "content" in (about(text) ?? {}));
  let programs: CrosscheckProcess[] = [];
  beforeAll(() => {
    programs = [TYPESCRIPT, ANCHORCTL, PROOF_PAGE].map((command) => new CrosscheckProcess(command));
  });
  afterAll(() => programs.forEach((program) => program.end()));
  const ask = (question: object): Promise<CrosscheckAnswer[]> =>
    Promise.all(programs.map((program) => program.ask(question)));

  test("judge receipts of files as the SDK does, by their reasons", async () => {
    expect(ofFiles.length).toBeGreaterThan(20);
    const verdicts = new Set<unknown>();
    // All receipts, and a trust root for each of some.
    for (const { text, about } of ofFiles.filter(({ kind }, at) => kind === "proof" || at % 8 === 0)) {
      for (const each of [text, mutated(text, new Seeded(1)), text.replace("node/b", "node/x")]) {
        const [sdk, command, page] = await ask(about(each) ?? {});
        expect(command).toEqual(sdk);
        expect(isAlike(page ?? {}, sdk, shownOnPage)).toBe(true);
        verdicts.add(sdk?.ok?.["verdict"] ?? "malformed");
      }
    }
    expect(verdicts).toEqual(new Set(["invalid", "malformed", "valid"]));
  }, 120_000);

  test("see a receipt of another file as invalid, alike", async () => {
    const [first] = ofFiles;
    const question = { ...first?.about(first.text), content: "event 6" };
    const [, command, page] = await ask(question);
    const verdict = { verdict: "invalid", step: "content", code: "content_differs" };
    expect(command?.ok).toMatchObject(verdict);
    expect(page).toEqual({ ok: verdict });
  });

  test("judge bundles as the SDK does, by the trust root that is held", async () => {
    const ofBundles = corpus.filter(({ text, about }) => {
      const { op, trust_roots: roots } = (about(text) ?? {}) as Record<string, unknown>;
      return op === "verify_bundle" && roots !== undefined;
    });
    expect(ofBundles.length).toBeGreaterThan(20);
    const verdicts = new Set<unknown>();
    for (const { text, about } of ofBundles.filter((_, at) => at % 4 === 0)) {
      for (const each of [text, mutated(text, new Seeded(1)), text.replace(/"leaf":"../u, '"leaf":"zz')]) {
        const [sdk, command, page] = await ask(about(each) ?? {});
        expect(command).toEqual(sdk);
        expect(isAlike(page ?? {}, sdk, shownOnPage)).toBe(true);
        verdicts.add(sdk?.ok?.["outcome"] ?? "malformed");
      }
    }
    expect(verdicts).toEqual(new Set(["invalid", "malformed", "valid", "valid_as_stated"]));
  }, 120_000);
});

describe("the page alone", () => {
  let programs: CrosscheckProcess[] = [];
  beforeAll(() => {
    programs = [TYPESCRIPT, PROOF_PAGE].map((command) => new CrosscheckProcess(command));
  });
  afterAll(() => programs.forEach((program) => program.end()));

  test("judges receipts as JSON, and bundles by a pin alone, as the SDK does", async () => {
    const asked = corpus.filter(({ kind, text, about }) => {
      const question = (about(text) ?? {}) as Record<string, unknown>;
      return kind === "receipt" ? "content" in question : kind === "bundle" && question["trust_roots"] === undefined;
    });
    const verdicts = new Set<unknown>();
    for (const [at, { text, about }] of asked.filter((_, place) => place % 4 === 0).entries()) {
      for (const each of [text, mutated(text, new Seeded(at))]) {
        const question = about(each);
        if (question === null) continue;
        const [sdk, page] = await Promise.all(programs.map((program) => program.ask(question)));
        expect(isAlike(page ?? {}, sdk, shownOnPage)).toBe(true);
        verdicts.add(sdk?.ok?.["verdict"] ?? sdk?.ok?.["outcome"] ?? "malformed");
      }
    }
    expect(verdicts).toEqual(new Set(["invalid", "malformed", "valid", "valid_as_stated"]));
  }, 120_000);
});

describe("a command and a page that do not check the leaves of a bundle", () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-mutations-"));
  const bugs = join(folder, "bugs.json");
  let programs: CrosscheckProcess[] = [];
  beforeAll(() => {
    const skips = "leaves: () => ({ result: 'pass', detail: '' })";
    plant(bugs, [{ module: "/bundle/dist/verify/verify-bundle.js", text: "leaves: checkLeaves", instead: skips }]);
    const wrong = [ANCHORCTL, PROOF_PAGE].map((command) => ({ ...command, environment: planting(bugs) }));
    programs = [TYPESCRIPT, ...wrong].map((command) => new CrosscheckProcess(command));
  });
  afterAll(() => {
    programs.forEach((program) => program.end());
    rmSync(folder, { recursive: true });
  });

  test("are found, by the reason they give for what is not valid all the same", async () => {
    const samples = corpus.filter(({ kind, text, about }) => kind === "bundle" && "trust_roots" in (about(text) ?? {}));
    let asked = 0;
    for (const { text, about } of samples.slice(0, 12)) {
      const broken = withBrokenPath(text);
      if (broken === null) continue;
      const [sdk, command, page] = await Promise.all(programs.map((program) => program.ask(about(broken) ?? {})));
      expect(sdk?.ok?.["fails"]).toBe("leaves");
      expect(isAlike(command ?? {}, sdk, null)).toBe(false);
      expect(isAlike(page ?? {}, sdk, shownOnPage)).toBe(false);
      asked += 1;
    }
    expect(asked).toBeGreaterThan(2);
  }, 120_000);
});

/** A bundle in which a bit of a leaf's inclusion path is another one; null: it has no such leaf. */
function withBrokenPath(text: string): string | null {
  const bundle = JSON.parse(text) as { readonly leaves: readonly { readonly inclusion: string[] }[] };
  const leaf = bundle.leaves.find(({ inclusion }) => inclusion.length > 0);
  if (leaf === undefined) return null;
  const hash = Buffer.from(leaf.inclusion[0] ?? "", "base64");
  hash[3] = (hash[3] ?? 0) ^ 1;
  leaf.inclusion[0] = hash.toString("base64");
  return JSON.stringify(bundle);
}

test("answers differ if anything that both tell differs", () => {
  const sdk = { ok: { verdict: "invalid", step: "index", code: "index_out_of_range", witnessed: false } };
  const page = { ok: { verdict: "invalid", step: "index", code: "index_out_of_range" } };
  const tells = shownOnPage;
  expect([isAlike(page, sdk, tells), isAlike(sdk, sdk, null)]).toEqual([true, true]);
  const others = [
    {},
    { ok: {} },
    { ok: { ...page.ok, code: "other" } },
    { ok: { ...page.ok, step: null } },
    { error: { code: "index_out_of_range" } },
  ];
  for (const other of others) expect(isAlike(other, sdk, tells)).toBe(false);
  expect(isAlike({ ok: { ...sdk.ok, witnessed: true } }, sdk, null)).toBe(false);
  expect(isAlike({ error: { code: "a" } }, { error: { code: "b" } }, tells)).toBe(false);
  // What was not checked is the reason of a bundle that does not fail.
  const stated = { ok: { outcome: "valid_as_stated", fails: null, not_checked: ["window"], actor_proven: false } };
  const shown = { outcome: "valid_as_stated", fails: null, not_checked: ["window"] };
  expect(isAlike({ ok: shown }, stated, tells)).toBe(true);
  expect(isAlike({ ok: { ...shown, not_checked: ["authority"] } }, stated, tells)).toBe(false);
  expect(
    isAlike({ ok: { outcome: "invalid", fails: "leaves" } }, { ok: { outcome: "invalid", fails: "ranges" } }, tells),
  ).toBe(false);
});
