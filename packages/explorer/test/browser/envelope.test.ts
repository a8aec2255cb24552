import { createHash } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { formatEnvelope } from "@event-anchoring/bundle";
import type { Envelope } from "@event-anchoring/bundle";
import { bytesToHex, formatProof } from "@event-anchoring/protocol";
import { createReceiptMaker } from "@event-anchoring/testkit/receipts";
import { MARK_OF_EXIT, commandVerdict } from "./command-verdict.ts";
import { PageUnderTest, ProofPage, describeInBrowser } from "./proof-page.ts";
import type { GivenFile, ShownCard } from "./proof-page.ts";

// What an envelope says is shown in the page as `anchorctl verify` shows it: in the same words, and as nobody's proof.

const built = PageUnderTest.forThisFile();
const maker = createReceiptMaker();
const pin = bytesToHex(maker.rootThk);

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

const PDF = "%PDF-1.7 invoice";
const CALL: Envelope = {
  what: "tool.call",
  when: "2026-11-23T10:00:00.000Z",
  who: "billing-agent",
  contentType: "application/json",
  content: { json: { order: "4711" } },
  attachments: [{ name: "invoice.pdf", contentType: "application/pdf", size: PDF.length, hash: hashOf(PDF) }],
  salt: null,
};
const APART: Envelope = {
  ...CALL,
  contentType: "application/pdf",
  content: { hash: hashOf(PDF), size: PDF.length },
  attachments: [],
};

/** A file with the receipt of its bytes. */
function anchored(text: string): GivenFile[] {
  const proof = formatProof(maker.receipt(Uint8Array.from(Buffer.from(hashOf(text), "hex"))));
  return [
    { name: "call.json", text },
    { name: "call.json.tlog-proof", text: proof },
  ];
}

/** The verdict on the receipt, with the page, which the caller closes. */
async function shownFor(files: readonly GivenFile[], typed: string | null): Promise<[ProofPage, ShownCard]> {
  const page = await ProofPage.open(built.browser, { file: built.file });
  if (typed !== null) await page.pin(typed);
  await page.give([...files, { name: "trust-root.txt", text: maker.trustRootDocument }]);
  const card = (await page.cards(2)).find(({ kind }) => kind === "receipt");
  if (card === undefined) throw new Error("there is no verdict on the receipt");
  expect(page.errors).toEqual([]);
  return [page, card];
}

/** Steps but for those that name where a file or a pin came from. */
const toldBy = (steps: readonly string[]): string[] => steps.filter((step) => !/\|(?:file|pin)\|/u.test(step));

describeInBrowser("an envelope, by the command", () => {
  test.each<[string, readonly GivenFile[]]>([
    ["with content in it", anchored(formatEnvelope(CALL))],
    ["without who did it", anchored(formatEnvelope({ ...CALL, who: null }))],
    ["whose content is not here", anchored(formatEnvelope(APART))],
    ["with its content beside it", [...anchored(formatEnvelope(APART)), { name: "call.content", text: PDF }]],
    ["with another content", [...anchored(formatEnvelope(APART)), { name: "call.content", text: "%PDF-1.7 invoicE" }]],
    ["that is not in canonical JSON", anchored(`${formatEnvelope(CALL)}\n`)],
    ["of characters that turn text around", anchored(formatEnvelope({ ...CALL, who: "x\u202ey" }))],
    ["that is longer than a line", anchored(formatEnvelope({ ...CALL, content: { json: "x".repeat(5000) } }))],
    [
      "that was changed",
      [...anchored(formatEnvelope(CALL)).slice(1), { name: "call.json", text: formatEnvelope(APART) }],
    ],
  ])("%s: verdict and steps of the command", async (_, files) => {
    const folder = mkdtempSync(join(built.folder, "kept-"));
    for (const { name, text } of files) writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, "trust-root.txt"), maker.trustRootDocument);
    const trust = ["--trust-root", join(folder, "trust-root.txt"), "--root-thk", pin];
    const said = await commandVerdict(folder, [join(folder, "call.json"), ...trust]);
    const [page, card] = await shownFor(files, pin);
    const plain = (text: string): string => text.replaceAll(`${folder}/`, "");
    expect([card.mark, card.sentence]).toEqual([MARK_OF_EXIT[said.exitCode], plain(said.sentence)]);
    expect(toldBy(card.steps)).toEqual(toldBy(said.steps).map(plain));
    await page.close();
  });
});

describeInBrowser("an envelope whose attachments are dropped, too", () => {
  const line = `–|attachment|invoice.pdf, application/pdf, ${PDF.length} bytes, SHA-256 ${hashOf(PDF)}`;
  const says = "–|says|tool.call at 2026-11-23T10:00:00.000Z by billing-agent; that is the word of who recorded it";

  test("they match, and only with a pin is that green", async () => {
    const files = [...anchored(formatEnvelope(CALL)), { name: "invoice.pdf", text: PDF }];
    const [pinned, card] = await shownFor(files, pin);
    expect([card.mark, card.steps.slice(-4)]).toEqual([
      "pass",
      [says, '–|content|{"order":"4711"}', line, "✓||invoice.pdf is what the envelope names"],
    ]);
    await pinned.picture("envelope-light");
    await pinned.close();
    const [unpinned, warned] = await shownFor(files, null);
    expect([warned.mark, warned.steps.at(-1)]).toEqual(["warn", "–||invoice.pdf is what the envelope names"]);
    expect(await unpinned.page.getByText("✓").count()).toBe(0);
    await unpinned.close();
  });

  test("another file of that name makes it not valid", async () => {
    const [page, card] = await shownFor([...anchored(formatEnvelope(CALL)), { name: "invoice.pdf", text: "PDF" }], pin);
    expect([card.mark, card.sentence]).toEqual([
      "fail",
      "NOT VALID (content_differs): invoice.pdf is not what the envelope names",
    ]);
    expect(card.steps.at(-1)).toBe("✗||invoice.pdf is NOT what the envelope names");
    await page.close();
  });
});
