import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { createHash } from "node:crypto";
import {
  bytesToHex,
  formatProof,
  hexToBytes,
  receiptFromJson,
  verifyReceipt,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { createReceiptMaker } from "@event-anchoring/testkit/receipts";
import { receiptSteps } from "@event-anchoring/verdicts";
import { bundleText, bundles, receipts, together } from "../vector-bundles.ts";
import type { BundleCase, ReceiptCase } from "../vector-bundles.ts";
import { MARK_OF_EXIT, commandVerdict } from "./command-verdict.ts";
import { PageUnderTest, ProofPage, describeInBrowser } from "./proof-page.ts";
import type { GivenFile, ShownCard } from "./proof-page.ts";

// Every vector of receipts and bundles gets in the page what `anchorctl verify` says of it, step by step: the page is a
// file, and the network is off.

const built = PageUnderTest.forThisFile();
const { folder: home, file: pageFile } = built;

/** The document whose RootTHK a vector pins, as somebody sends it along; null: no vector has it. */
function pinnedDocument(pin: string): string | null {
  const documents = bundles.good.flatMap(
    ({ bundle }) => (bundle as { trust_roots?: string[] } | undefined)?.trust_roots ?? [],
  );
  return documents.find((document) => hashOfText(document) === pin) ?? null;
}

/** RootTHK is the hash of a note without its signatures. */
function hashOfText(note: string): string {
  const text = note.slice(0, note.indexOf("\n\n") + 1);
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/** Steps without the one about the pin, which names where the pin came from. */
function stepsOf({ steps }: ShownCard): string[] {
  return steps.filter((step) => step.split("|")[1] !== "pin");
}

const allBundles: readonly BundleCase[] = [...bundles.good, ...bundles.bad];
/** Those with the same pin and expectations are dropped together. */
const bundleGroups = together(allBundles, (one) => [
  one.pinned_root_thk,
  one.expect ?? {},
  one.require_witnessed ?? false,
]);

type Named = readonly { readonly one: BundleCase; readonly name: string; readonly text: string }[];
const namesOf = (cases: readonly BundleCase[]): Named =>
  cases.map((one, at) => ({ one, name: `${at}.bundle.json`, text: bundleText(one) }));

/** What the page says of bundles that share a pin and what is expected of them. */
async function judged(named: Named, asked: BundleCase, more: GivenFile[]) {
  const { pinned_root_thk: pin, expect: wanted = {}, require_witnessed: requireWitnessed = false } = asked;
  const page = await ProofPage.open(built.browser, { file: pageFile });
  await page.pin(pin);
  await page.page.getByText("More to compare with").click();
  await page.page.locator("#expected-hash").fill(wanted.event_hash ?? "");
  await page.page.locator("#expected-anchor").fill(wanted.anchor_id ?? "");
  await page.demandWitnesses(requireWitnessed);
  await page.give([...named, ...more]);
  const cards = await page.cards(named.length + more.length);
  expect(page.errors).toEqual([]);
  expect(page.requests.filter((url) => !url.startsWith("file:"))).toEqual([]);
  await page.close();
  return new Map(cards.map((card) => [card.name, card]));
}

describeInBrowser("bundles, by their vectors", () => {
  test.each(bundleGroups)("%s, and those like it: the outcome of the vector", async (_, cases) => {
    const [first] = cases;
    if (first === undefined) throw new RangeError("a group has a first case");
    const named = namesOf(cases);
    const cards = await judged(named, first, []);
    const marks: Readonly<Record<string, string>> = { valid: "pass", valid_as_stated: "warn" };
    for (const { one, name } of named) {
      // The page does not keep the highest version that its reader has seen.
      if (one.highest_seen !== undefined) continue;
      const card = cards.get(name);
      const isWithoutTrust = card?.sentence.startsWith("NO TRUST ROOT") === true && one.fails === "trust_roots";
      const wanted = isWithoutTrust ? "warn" : (marks[one.outcome ?? ""] ?? "fail");
      expect([one.name, card?.mark]).toEqual([one.name, wanted]);
      const failed = card?.steps.filter((step) => step.startsWith("✗")).map((step) => step.split("|")[1]) ?? [];
      const isStep = failed.includes(one.fails?.replace("_", " ") ?? "");
      expect([one.name, isStep || one.fails === undefined || card?.steps.length === 0]).toEqual([one.name, true]);
    }
  });
});

describeInBrowser("bundles, by the command", () => {
  /** The command takes an event hash from a file alone, and a trust root that somebody has. */
  const asked = bundleGroups.filter(([, [first]]) => {
    return first?.expect?.event_hash === undefined && pinnedDocument(first?.pinned_root_thk ?? "") !== null;
  });

  test.each(asked)("%s, and those like it: verdict and steps of the command", async (_, cases) => {
    const [first] = cases;
    const document = pinnedDocument(first?.pinned_root_thk ?? "");
    if (first === undefined || document === null) throw new RangeError("a group has a first case, and its trust root");
    const trustRoot = join(home, "trust-root.txt");
    writeFileSync(trustRoot, document);
    const named = namesOf(cases);
    const cards = await judged(named, first, [{ name: "trust-root.txt", text: document }]);
    const expectedId = first.expect?.anchor_id === undefined ? [] : ["--anchor-id", first.expect.anchor_id];
    const demand = first.require_witnessed === true ? ["--witnessed"] : [];
    for (const { one, name, text } of named) {
      const path = join(home, name);
      writeFileSync(path, text);
      const pin = ["--trust-root", trustRoot, "--root-thk", one.pinned_root_thk];
      const said = await commandVerdict(home, ["--bundle", path, ...pin, ...expectedId, ...demand]);
      const card = cards.get(name);
      const seen = { mark: card?.mark, sentence: card?.sentence, steps: card === undefined ? [] : stepsOf(card) };
      expect({ vector: one.name, ...seen }).toEqual({
        vector: one.name,
        mark: MARK_OF_EXIT[said.exitCode],
        sentence: said.sentence,
        steps: said.steps,
      });
    }
  });
});

describeInBrowser("bundles that prove nothing", () => {
  test("without a pin nothing turns green, whatever is dropped", async () => {
    const page = await ProofPage.open(built.browser, { file: pageFile });
    const named = allBundles.map((one, at) => ({ name: `${at}.bundle.json`, text: bundleText(one) }));
    await page.give(named);
    const cards = await page.cards(named.length);
    expect(new Set(cards.map(({ mark }) => mark))).toEqual(new Set(["warn", "fail"]));
    expect(await page.page.locator(".is-pass").count()).toBe(0);
    expect(await page.page.getByText("✓").count()).toBe(0);
    await page.close();
  });

  test("what is no bundle is refused as the command refuses it", async () => {
    const pin = bundles.good[0]?.pinned_root_thk ?? "";
    const trustRoot = join(home, "trust-root.txt");
    writeFileSync(trustRoot, pinnedDocument(pin) ?? "");
    const page = await ProofPage.open(built.browser, { file: pageFile });
    const named = bundles.malformed.map(({ text }, at) => ({ name: `malformed-${at}.bundle.json`, text }));
    await page.pin(pin);
    await page.give(named);
    const cards = await page.cards(named.length);
    for (const { name, text } of named) {
      const path = join(home, name);
      writeFileSync(path, text);
      const said = await commandVerdict(home, ["--bundle", path, "--trust-root", trustRoot, "--root-thk", pin]);
      const card = cards.find((each) => each.name === name);
      expect([name, card?.mark, said.exitCode]).toEqual([name, "fail", 1]);
      const reason = card?.sentence.replace(`NOT VALID: ${name} is not a bundle: `, "") ?? "nothing";
      expect(said.sentence).toContain(reason);
    }
    await page.close();
  });
});

describeInBrowser("receipts", () => {
  /** Neither the page nor the command takes a payload or a renewal. */
  const isTaken = ({ expect: wanted, renewal }: ReceiptCase): boolean =>
    wanted.payload === undefined && renewal === undefined;
  const all = [...receipts.good, ...receipts.bad, ...receipts.witnessed.good, ...receipts.witnessed.bad];
  const groups = together(all.filter(isTaken), (one) => [
    one.trust_root_versions,
    one.expect,
    one.require_witnessed ?? false,
  ]);

  test("all are judged here but those with a payload or a renewal", () => {
    expect(all.filter((one) => !isTaken(one)).map(({ name }) => name)).toEqual([
      "distrusted node, needed, renewed",
      "payload against an unsigned event",
      "another payload",
      "renewal without a quorum of the newest",
      "renewal with a wrong consistency proof",
    ]);
  });

  test.each(groups)("%s, and those like it: verdict and steps", async (_, cases) => {
    const [first] = cases;
    if (first === undefined) throw new RangeError("a group has a first case");
    const { trust_root_versions: versions, expect: wanted, require_witnessed: requireWitnessed = false } = first;
    const documents = receipts.trust_roots.slice(0, versions);
    const pinned = { documents, pinnedRootThk: hexToBytes(receipts.pinned_root_thk, 32) };
    const held = verifyTrustRootChain(pinned, nodeCrypto);
    if (held.result === "refused") throw new Error(held.detail);
    const page = await ProofPage.open(built.browser, { file: pageFile });
    await page.pin(receipts.pinned_root_thk);
    await page.page.getByText("More to compare with").click();
    await page.page.locator("#expected-hash").fill(wanted.event_hash ?? "");
    await page.page.locator("#expected-anchor").fill(wanted.anchor_id ?? "");
    await page.demandWitnesses(requireWitnessed);
    const named = cases.map((one, at) => ({ one, name: `${at}.json`, text: JSON.stringify(one.receipt) }));
    await page.give([...named, ...documents.map((text, at) => ({ name: `trust-root-${at + 1}.txt`, text }))]);
    const cards = await page.cards(named.length + 1);
    for (const { one, name } of named) {
      const { receipt, anchorId: stated } = receiptFromJson(one.receipt);
      const expected = {
        ...(wanted.event_hash === undefined ? {} : { eventHash: hexToBytes(wanted.event_hash) }),
        // The page expects what the answer states, too.
        anchorId: wanted.anchor_id === undefined ? stated : hexToBytes(wanted.anchor_id),
      };
      const input = { receipt, trustRoots: held.chain, expect: expected, requireWitnessed };
      const verification = verifyReceipt(input, nodeCrypto);
      const content = "the SHA-256 that was typed in";
      const steps = receiptSteps(verification, { chain: held.chain, pin: {} }, content);
      const card = cards.find((each) => each.name === name);
      const shown = card === undefined ? [] : stepsOf(card).filter((step) => !/\|(file|warning)\|/u.test(step));
      expect([one.name, shown.map((step) => step.slice(2))]).toEqual([
        one.name,
        steps.map(({ label, detail }) => `${label}|${detail}`),
      ]);
      expect([one.name, card?.mark === "fail"]).toEqual([one.name, one.verdict === "invalid"]);
      const failure = one.failure === null ? "" : `NOT VALID (${one.failure.code})`;
      expect(card?.sentence).toContain(failure);
    }
    expect(page.errors).toEqual([]);
    await page.close();
  });
});

describeInBrowser("files with their receipts", () => {
  test("a file, its receipt and the trust root get the command's verdict, good and bad", async () => {
    const maker = createReceiptMaker();
    const content = Buffer.from("to whom it may concern\n");
    const pin = bytesToHex(maker.rootThk);
    const proof = formatProof(maker.receipt(Uint8Array.from(createHash("sha256").update(content).digest())));
    const few = formatProof(
      maker.receipt(Uint8Array.from(createHash("sha256").update(content).digest()), { cosigners: 1 }),
    );
    const trustRoot = join(home, "maker-trust-root.txt");
    writeFileSync(trustRoot, maker.trustRootDocument);
    const tries: readonly { readonly of: Buffer; readonly proof: string; readonly pin: string | null }[] = [
      { of: content, proof, pin },
      { of: content, proof, pin: null },
      { of: Buffer.from("to whom it may concern!\n"), proof, pin },
      { of: content, proof: few, pin },
      { of: content, proof: proof.replace(/index 1/u, "index 0"), pin },
      { of: content, proof: proof.slice(5), pin },
      { of: content, proof, pin: "ab".repeat(32) },
    ];
    for (const { of, proof: text, pin: typed } of tries) {
      const page = await ProofPage.open(built.browser, { file: pageFile });
      if (typed !== null) await page.pin(typed);
      await page.give([
        { name: "letter.txt", text: of },
        { name: "letter.txt.tlog-proof", text },
        { name: "trust-root.txt", text: maker.trustRootDocument },
      ]);
      const cards = await page.cards(2);
      const card = cards.find(({ kind }) => kind === "receipt");
      const folder = mkdtempSync(join(home, "letter-"));
      writeFileSync(join(folder, "letter.txt"), of);
      writeFileSync(join(folder, "letter.txt.tlog-proof"), text);
      const said = await commandVerdict(folder, [
        join(folder, "letter.txt"),
        "--trust-root",
        trustRoot,
        ...(typed === null ? [] : ["--root-thk", typed]),
      ]);
      expect([said.sentence, card?.mark]).toEqual([said.sentence, MARK_OF_EXIT[said.exitCode]]);
      const steps = card === undefined ? [] : stepsOf(card).filter((step) => step.split("|")[1] !== "file");
      expect([said.sentence, steps]).toEqual([said.sentence, said.steps]);
      const isGreen = (await page.page.locator(".is-pass").count()) > 0;
      expect([said.sentence, isGreen && typed === null]).toEqual([said.sentence, false]);
      await page.close();
    }
  });
});

describeInBrowser("witnesses", () => {
  /** What the leaf of the vectors holds is the hash of this. */
  const content = "event 5";
  const named = (name: string): ReceiptCase => {
    const found = [...receipts.witnessed.good, ...receipts.witnessed.bad].find((one) => one.name === name);
    if (found === undefined) throw new RangeError(`no vector is called ${name}`);
    return found;
  };
  const filesOf = ({ receipt, trust_root_versions: versions }: ReceiptCase): GivenFile[] => [
    { name: "event.txt", text: content },
    { name: "event.txt.tlog-proof", text: formatProof(receiptFromJson(receipt).receipt) },
    ...receipts.trust_roots.slice(0, versions).map((text, at) => ({ name: `trust-root-${at + 1}.txt`, text })),
  ];

  test("the switch asks for them: certified is green without it, and not with it", async () => {
    const page = await ProofPage.open(built.browser, { file: pageFile });
    await page.pin(receipts.pinned_root_thk);
    await page.give(filesOf(named("one too few, not demanded")));
    const receiptCard = async (): Promise<ShownCard | undefined> =>
      (await page.cards(2)).find(({ kind }) => kind === "receipt");
    const certified = await receiptCard();
    expect([certified?.mark, certified?.sentence]).toEqual(["pass", expect.not.stringContaining("witnessed")]);
    expect(certified?.steps).toContain("–|witnesses|certified, not witnessed: 1 of 3 witnesses, 2 needed: west");
    await page.demandWitnesses(true);
    await page.page.locator('.card[data-kind="receipt"][data-mark="fail"]').waitFor();
    expect((await receiptCard())?.sentence).toContain("NOT VALID (not_witnessed)");
    await page.give(filesOf(named("as many as are needed")));
    await page.page.locator('.card[data-kind="receipt"][data-mark="pass"]').waitFor();
    expect((await receiptCard())?.sentence).toContain(", witnessed by north, south at 2026-02-02T02:41:45Z.");
    await page.picture("witnessed-light");
    await page.close();
  });

  test("a checkpoint alone says who has witnessed it", async () => {
    const page = await ProofPage.open(built.browser, { file: pageFile });
    const { receipt } = receiptFromJson(named("all of them").receipt);
    await page.pin(receipts.pinned_root_thk);
    await page.demandWitnesses(true);
    const roots = receipts.trust_roots.slice(0, 4).map((text, at) => ({ name: `trust-root-${at + 1}.txt`, text }));
    await page.give([{ name: "head.checkpoint", text: receipt.checkpoint }, ...roots]);
    const head = (await page.cards(2)).find(({ kind }) => kind === "checkpoint");
    expect([head?.mark, head?.sentence]).toEqual(["pass", expect.stringContaining("witnessed by north, south, west.")]);
    await page.close();
  });

  test("the switch asks for them of a bundle, too: with a state head it cannot have them", async () => {
    const page = await ProofPage.open(built.browser, { file: pageFile });
    const [few] = bundles.good.filter(({ name }) => name === "one witness too few, not demanded");
    const [state] = bundles.good.filter(({ name }) => name === "state head: witnesses listed, and not demanded");
    if (few === undefined || state === undefined) throw new RangeError("there are no such vectors");
    await page.pin(few.pinned_root_thk);
    await page.give([
      { name: "few.bundle.json", text: bundleText(few) },
      { name: "state.bundle.json", text: bundleText(state) },
    ]);
    const [first, second] = await page.cards(2);
    expect([first?.mark, second?.mark]).toEqual(["pass", "pass"]);
    expect(first?.steps).toContain(
      "–|witnesses|certified, not witnessed: checkpoint 0: 1 of 3 witnesses, 2 needed: west",
    );
    await page.demandWitnesses(true);
    await page.page.locator('.card[data-mark="fail"]').nth(1).waitFor();
    const refused = await page.cards(2);
    expect(refused.map(({ sentence }) => sentence)).toEqual([
      expect.stringMatching(/^NOT VALID \(witnesses\): not_witnessed: checkpoint 0: 1 of 3/u),
      expect.stringMatching(/^NOT VALID \(witnesses\): state_not_witnessed: no witness signs a state head/u),
    ]);
    await page.close();
  });
});
