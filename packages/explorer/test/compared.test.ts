import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { LEAF_KIND, bytesToHex, formatProof } from "@event-anchoring/protocol";
import { createReceiptMaker } from "@event-anchoring/testkit/receipts";
import { judgeAll, parsePin, recognise } from "../src/index.ts";
import type { Given } from "../src/index.ts";
import { bundleText, bundles } from "./vector-bundles.ts";

const NOTHING = { anchorId: null, eventHash: null, requireWitnessed: false };

function given(name: string, text: string): Given {
  return recognise({ name, bytes: new TextEncoder().encode(text), isFile: false });
}

function hashOf(text: string): Uint8Array {
  return Uint8Array.from(createHash("sha256").update(text).digest());
}

const maker = createReceiptMaker();
const makerPin = parsePin(bytesToHex(maker.rootThk));
const LETTER = "to whom it may concern\n";
const OTHER = hashOf("another letter\n");

function receiptVerdict(all: readonly Given[], eventHash: Uint8Array | null): [string | undefined, string | undefined] {
  const everything = [...all, given("trust-root.txt", maker.trustRootDocument)];
  const cards = judgeAll(everything, makerPin, { ...NOTHING, eventHash });
  const card = cards.find(({ kind }) => kind === "receipt");
  return [card?.mark, card?.text];
}

describe("a receipt is compared with the file and with what was typed in", () => {
  const letter = given("letter.txt", LETTER);
  const receipt = given("letter.txt.tlog-proof", formatProof(maker.receipt(hashOf(LETTER))));
  const differs = ["fail", expect.stringMatching(/^NOT VALID \(content_differs\)/u)];

  test("both are what the leaf holds: the verdict names the file", () => {
    const named = ["pass", expect.stringMatching(/^VALID: letter\.txt is the event/u)];
    expect(receiptVerdict([letter, receipt], hashOf(LETTER))).toEqual(named);
  });

  test("one of them is not", () => {
    expect(receiptVerdict([letter, receipt], OTHER)).toEqual(differs);
    expect(receiptVerdict([given("letter.txt", "changed\n"), receipt], hashOf(LETTER))).toEqual(differs);
  });
});

describe("a bundle is compared with the files that have no receipt, and with what was typed in", () => {
  const one = bundles.good[0];
  if (one === undefined) throw new RangeError("there are no vectors");
  const bundle = given("x.bundle.json", bundleText(one));
  const markOf = (files: readonly Given[], eventHash: Uint8Array | null = null): string | undefined => {
    const cards = judgeAll([bundle, ...files], parsePin(one.pinned_root_thk), { ...NOTHING, eventHash });
    return cards.find(({ kind }) => kind === "bundle")?.mark;
  };
  const [card] = judgeAll([bundle], parsePin(one.pinned_root_thk), NOTHING);
  const leaf = card?.leaf ?? card?.bundle?.verification.leaf ?? null;
  const isEvent = leaf?.kind === LEAF_KIND.event || leaf?.kind === LEAF_KIND.signedEvent;
  if (!isEvent) throw new RangeError("the first bundle is of an event");
  const own: Given = { kind: "file", name: "act.txt", size: 1, hash: leaf.eventHash, said: null };
  const junk = ["a.txt", "b.txt"].map((name) => given(name, `${name}\n`));

  test("its own file is found among others", () => {
    expect([markOf([own]), markOf([...junk, own])]).toEqual(["pass", "pass"]);
  });

  test("a second file that is not its own does not make it good", () => {
    expect([markOf(junk.slice(0, 1)), markOf(junk)]).toEqual(["fail", "fail"]);
  });

  test("what was typed in is not passed over because of a file", () => {
    expect([markOf([own], leaf.eventHash), markOf([], leaf.eventHash)]).toEqual(["pass", "pass"]);
    expect([markOf([own], OTHER), markOf([], OTHER), markOf(junk, leaf.eventHash)]).toEqual(["fail", "fail", "fail"]);
  });
});

describe("what is legal and far away", () => {
  const FAR = Number.MAX_SAFE_INTEGER;

  test.each([
    ["accepted", { acceptedMs: FAR }, `accepted at ${FAR} ms (Unix)`],
    ["signed", { signedS: FAR }, `certified at ${FAR} s (Unix)`],
  ])("a time that no calendar has is shown as its number: %s", (_, times, shown) => {
    const receipt = given("letter.txt.tlog-proof", formatProof(maker.receipt(hashOf(LETTER), times)));
    const verdict = receiptVerdict([given("letter.txt", LETTER), receipt], null);
    expect(verdict).toEqual(["pass", expect.stringContaining(shown)]);
  });

  test("a thing that the page fails on takes no verdict from the others, and is not good", () => {
    const good = given("letter.txt.tlog-proof", formatProof(maker.receipt(hashOf(LETTER))));
    const broken = { ...good, name: "y.tlog-proof", receipt: { ...(good as object), leaf: null } } as unknown as Given;
    const all = [given("letter.txt", LETTER), good, broken, given("trust-root.txt", maker.trustRootDocument)];
    const cards = judgeAll(all, makerPin, NOTHING);
    expect(cards.map(({ name, mark }) => [name, mark])).toEqual([
      ["letter.txt.tlog-proof", "pass"],
      ["y.tlog-proof", "fail"],
      ["trust-root.txt", "pass"],
    ]);
    expect(cards[1]?.text).toMatch(/^NOT JUDGED: /u);
  });

  test("two things of one name keep their own verdicts apart", () => {
    const two = [given("x.tlog-proof", "nothing"), given("x.tlog-proof", "nothing else")];
    const cards = judgeAll(two, makerPin, NOTHING);
    expect(cards.map((card, at) => card.given === two[at])).toEqual([true, true]);
  });

  test("a large text is recognised in time that its length does not square", () => {
    const line = "/origin/".repeat(20_000);
    const startedMs = performance.now();
    expect(given("x.log", line).kind).toBe("file");
    expect(performance.now() - startedMs).toBeLessThan(1000);
  });
});
