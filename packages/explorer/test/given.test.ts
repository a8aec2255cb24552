import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import {
  detailRows,
  leavesOf,
  parsePin,
  recognise,
  stopsOf,
  termsOf,
  judgeAll,
  chainModelOf,
  drawingOf,
} from "../src/index.ts";
import type { Given } from "../src/index.ts";
import { bundleText, bundles, receipts } from "./vector-bundles.ts";

const NOTHING = { anchorId: null, eventHash: null, requireWitnessed: false };

function given(name: string, text: string, isFile = false): Given {
  return recognise({ name, bytes: new TextEncoder().encode(text), isFile });
}

const [trustRoot = ""] = receipts.trust_roots;
const proof = receipts.proof.good[0]?.proof ?? "";
const [firstBundle] = bundles.good;
if (firstBundle === undefined) throw new RangeError("there are no vectors");
const bundle = bundleText(firstBundle);
const scoped = bundles.good.find(({ name }) => name === "scopes: nothing withheld");
const [whole] = (scoped?.bundle as { readonly scopes: readonly object[] } | undefined)?.scopes ?? [];
const disclosure = JSON.stringify(whole);
const checkpoint = proof.slice(proof.indexOf("\n\n") + 2);

describe("what was given", () => {
  test.each([
    ["letter.txt", "to whom it may concern\n", "file"],
    ["x", proof, "receipt"],
    ["letter.txt.tlog-proof", "not a receipt", "broken"],
    ["x", bundle, "bundle"],
    ["x.bundle.json", "{}", "broken"],
    ["x", disclosure, "scope"],
    ["x.json", disclosure.replace("EUR", "USD"), "broken"],
    ["x.scope.json", "{}", "broken"],
    ["x", trustRoot, "trust_root"],
    ["trust-root-2.txt", "nothing", "trust_root"],
    ["x", checkpoint, "checkpoint"],
    ["x", `# names\n${"ab".repeat(32)} billing agent\n`, "names"],
    ["x", "# names\nattribute 1 role\nscope max_amount most of one refund\n", "names"],
    ["x", "# names\nnobody\n", "broken"],
    ["SHA256SUMS", `${"ab".repeat(32)}  letter.txt\n`, "file"],
    ["root-thk.txt", `${"AB".repeat(32)}\n`, "root_thk"],
    ["x.json", "{", "file"],
    ["x.json", '{"hello": "world"}', "file"],
    ["x.json", '{"leaf": 1, "checkpoint": 2}', "broken"],
    ["x.json", JSON.stringify({ chain: [{ version: 1, document: trustRoot }] }), "trust_root"],
    ["x.json", JSON.stringify({ receipt: receipts.good[0]?.receipt }), "receipt"],
  ])("%s is recognised: %#", (name, text, kind) => {
    expect(given(name, text).kind).toBe(kind);
  });

  test("of a file of names the page has the names of hashes", () => {
    const { good } = JSON.parse(readFileSync(new URL("../../../test/vectors/names.json", import.meta.url), "utf8")) as {
      readonly good: readonly { readonly text: string; readonly hashes: Readonly<Record<string, string>> }[];
    };
    expect(good.length).toBeGreaterThan(5);
    for (const { text, hashes } of good) {
      expect(given("x", `${text}\n`)).toMatchObject({ kind: "names", names: new Map(Object.entries(hashes)) });
    }
  });

  test("anything is the event itself if the reader says so", () => {
    expect(given("x", bundle, true).kind).toBe("file");
    expect(given("letter.txt.tlog-proof", "not a receipt", true).kind).toBe("file");
  });

  test.each(["x.tlog-proof", "x.bundle.json", "trust-root-1.txt"])("%s that is no text is broken", (name) => {
    expect(recognise({ name, bytes: Uint8Array.of(255, 254, 0), isFile: false }).kind).toBe("broken");
    expect(recognise({ name, bytes: Uint8Array.of(255, 254, 0), isFile: true }).kind).toBe("file");
  });

  test("a chain of more trust roots than a bundle may have is broken", () => {
    const chain = Array.from({ length: 1001 }, () => ({ document: "x" }));
    expect(given("x.json", JSON.stringify({ chain })).kind).toBe("broken");
  });

  test("bytes that are no text are a file", () => {
    expect(recognise({ name: "x", bytes: Uint8Array.of(255, 254, 0), isFile: false }).kind).toBe("file");
  });
});

describe("the pin", () => {
  test.each([
    ["", "empty"],
    ["  \n", "empty"],
    ["ab", "malformed"],
    ["zz".repeat(32), "malformed"],
    ["ab".repeat(33), "malformed"],
    ["AB ".repeat(32), "given"],
  ])("%j is %s", (text, state) => {
    expect(parsePin(text).state).toBe(state);
  });
});

describe("verdicts", () => {
  const good = { pin: receipts.pinned_root_thk, documents: [trustRoot] };

  test("a receipt without its file is not green, although it is good", () => {
    const [card] = judgeAll([given("x", proof), given("trust-root.txt", trustRoot)], parsePin(good.pin), NOTHING);
    expect([card?.mark, card?.text]).toEqual(["warn", expect.stringMatching(/^NOT COMPARED: /u)]);
  });

  test("a file that has its own receipt is not held against a bundle beside it", () => {
    const { pinned_root_thk: pin } = firstBundle;
    const beside = [given("x.bundle.json", bundle), given("letter.txt", "to whom it may concern\n")];
    const markOf = (all: readonly Given[]): string | undefined =>
      judgeAll(all, parsePin(pin), NOTHING).find(({ kind }) => kind === "bundle")?.mark;
    expect(markOf(beside)).toBe("fail");
    expect(markOf([...beside, given("letter.txt.tlog-proof", proof)])).toBe("pass");
  });

  test("the anchor id that is stated beside a receipt is compared, and so is the one that was typed in", () => {
    const receipt = receipts.good.find(({ trust_root_versions: versions }) => versions === 1)?.receipt ?? {};
    const { anchor_id: id } = receipt as { anchor_id: string };
    const failure = (stated: string, typed: string): string => {
      const all = [given("x.json", JSON.stringify({ ...receipt, anchor_id: stated })), given("t.txt", trustRoot)];
      const anchor = parsePin(typed);
      const anchorId = anchor.state === "given" ? anchor.rootThk : null;
      const [card] = judgeAll(all, parsePin(good.pin), { ...NOTHING, anchorId });
      return card?.text.split(":")[0] ?? "";
    };
    const other = "ab".repeat(32);
    const verdicts = [failure(id, ""), failure(id, id), failure(other, ""), failure(other, id), failure(id, other)];
    const differs = "NOT VALID (anchor_id_differs)";
    expect(verdicts).toEqual(["NOT COMPARED", "NOT COMPARED", differs, differs, differs]);
  });

  test("a receipt without a trust root says what is missing", () => {
    const [card] = judgeAll([given("x", proof)], parsePin(good.pin), NOTHING);
    expect([card?.mark, card?.text]).toEqual(["warn", expect.stringMatching(/^NO TRUST ROOT: /u)]);
  });

  test("a malformed pin is no pin", () => {
    const cards = judgeAll([given("trust-root.txt", trustRoot)], parsePin("ab"), NOTHING);
    expect(cards.map(({ mark }) => mark)).toEqual(["warn"]);
  });

  test.each([
    [good.pin, "pass"],
    ["", "warn"],
    ["00".repeat(32), "fail"],
  ])("a checkpoint and a trust root under the pin %j: %s", (pin, mark) => {
    const cards = judgeAll([given("head", checkpoint), given("trust-root.txt", trustRoot)], parsePin(pin), NOTHING);
    expect(cards.map((card) => [card.kind, card.mark])).toEqual([
      ["checkpoint", mark],
      ["trust root", mark],
    ]);
  });

  test("trust roots are put in order, and begin at the pinned one", () => {
    const all = receipts.trust_roots.map((text, at) => given(`trust-root-${at + 1}.txt`, text)).toReversed();
    expect(judgeAll(all, parsePin(good.pin), NOTHING)[0]?.mark).toBe("pass");
  });
});

describe("the chain", () => {
  /** The model of a bundle as the reader sees it who has these names. */
  function modelOf(name: string, names: ReadonlyMap<string, string>, repeated = 1) {
    const one = bundles.good.find((each) => each.name === name);
    if (one === undefined) throw new RangeError(`no vector is named ${name}`);
    const [card] = judgeAll([given("x.bundle.json", bundleText(one))], parsePin(one.pinned_root_thk), NOTHING);
    const verification = card?.bundle?.verification;
    if (verification === undefined || verification.trace === null) throw new RangeError("a good bundle is judged");
    const { trace } = verification;
    const revocations = Array.from({ length: repeated }, () => trace.revocations).flat();
    const many = { ...verification, trace: { ...trace, revocations } };
    return chainModelOf(many, { names, isPinned: true, isNarrow: false });
  }

  test("a name takes the place of no hash", () => {
    const plain = modelOf("revoked after the act, by the witness", new Map());
    const names = new Map((plain?.boxes ?? []).map(({ id }) => [id, "somebody"]));
    const named = modelOf("revoked after the act, by the witness", names);
    expect(named?.boxes.map(({ title }) => title)).toEqual(named?.boxes.map(() => "somebody"));
    for (const [at, { title }] of (plain?.boxes ?? []).entries()) {
      expect(named?.boxes[at]?.lines).toContain(title);
    }
  });

  test("many revocations are a line with their count", () => {
    const one = modelOf("revoked after the act, by the witness", new Map());
    const many = modelOf("revoked after the act, by the witness", new Map(), 13);
    expect(one?.boxes.filter(({ kind }) => kind === "revocation").length).toBe(1);
    expect(many?.boxes.filter(({ kind }) => kind === "revocation")).toEqual([]);
    const counted = many?.boxes.flatMap(({ lines }) => lines.filter((line) => line.startsWith("revoked by")));
    expect(counted).toEqual([expect.stringMatching(/^revoked by the witness: .*, 13 times$/u)]);
  });

  const glossary = readFileSync(new URL("../../../docs/GLOSSARY.md", import.meta.url), "utf8");

  test.each(bundles.good.map((one) => [one.name, one] as const))("%s: stops, boxes, records", (_, one) => {
    const [card] = judgeAll([given("x.bundle.json", bundleText(one))], parsePin(one.pinned_root_thk), NOTHING);
    const judged = card?.bundle ?? null;
    if (judged === null) throw new RangeError("a good bundle is judged");
    const leaves = leavesOf(judged.given.bundle);
    const stops = stopsOf(judged.verification, leaves);
    const times = stops.map(({ timeMs }) => timeMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    for (const stop of stops) expect(judged.judgeAt(stop).outcome).not.toBe("invalid");
    // At the act a chain says what the verdict at the action says.
    const [first] = stops;
    if (first === undefined) throw new RangeError("a subject has a position");
    expect(judged.judgeAt(first).authorisedNow).toBe(judged.verification.authorisedAtAction);
    for (const isNarrow of [false, true]) {
      const model = chainModelOf(judged.verification, { names: new Map(), isPinned: false, isNarrow });
      expect(model?.boxes.filter(({ mark }) => mark === "pass")).toEqual([]);
      const drawing = model === null ? null : drawingOf(model);
      expect(drawing?.boxes.every(({ x, y }) => x >= 0 && y >= 0)).toBe(true);
      expect(drawing?.arrows.every(({ points }) => points.length > 1)).toBe(true);
    }
    for (const { leaf } of leaves.values()) {
      expect(detailRows(leaf).every(({ value }) => value !== "")).toBe(true);
      const unknown = termsOf(leaf.kind).filter((term) => !glossary.replaceAll("`", "").includes(`| ${term} |`));
      expect(unknown).toEqual([]);
    }
  });
});

describe("a disclosure beside a bundle", () => {
  const plain = JSON.stringify({ ...(scoped?.bundle as object), scopes: [] });
  const pin = parsePin(scoped?.pinned_root_thk ?? "");
  const stepsOf = (files: readonly Given[], withPin = pin) =>
    judgeAll(files, withPin, NOTHING).flatMap(({ steps }) => steps);

  test("is shown as proved under its grant", () => {
    const files = [given("act.bundle.json", plain), given("a.scope.json", disclosure)];
    expect(judgeAll(files, pin, NOTHING).map(({ kind, mark }) => [kind, mark])).toEqual([["bundle", "pass"]]);
    const shown = { mark: "pass", detail: "max_amount: 5000" };
    expect(stepsOf(files)).toContainEqual(expect.objectContaining(shown));
    expect(stepsOf(files, parsePin(""))).toContainEqual(expect.objectContaining({ ...shown, mark: "skip" }));
  });

  test("of another grant is refused, and nothing of it is shown", () => {
    const files = [given("act.bundle.json", bundle), given("a.scope.json", disclosure)];
    const [, loose] = judgeAll(files, pin, NOTHING);
    expect(loose).toMatchObject({ kind: "scope", mark: "fail", steps: [] });
    expect(loose?.text).toMatch(/^NOT VALID \(scope_not_granted\)/u);
    expect(JSON.stringify(stepsOf(files))).not.toContain("max_amount");
  });

  test("alone proves nothing", () => {
    const [verdict] = judgeAll([given("a.scope.json", disclosure)], pin, NOTHING);
    expect(verdict).toMatchObject({ kind: "scope", mark: "warn", steps: [] });
    expect(verdict?.text).toMatch(/^NO BUNDLE/u);
  });

  test("that was altered is broken", () => {
    const files = [given("act.bundle.json", plain), given("a.scope.json", disclosure.replace("5000", "9000"))];
    const broken = judgeAll(files, pin, NOTHING).find(({ kind }) => kind === "scope");
    expect(broken?.text).toContain("(scope_hash_differs)");
  });
});
