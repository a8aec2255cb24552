import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { formatEnvelope } from "@event-anchoring/bundle";
import type { Envelope } from "@event-anchoring/bundle";
import { bytesToHex, formatProof } from "@event-anchoring/protocol";
import { createReceiptMaker } from "@event-anchoring/testkit/receipts";
import { judgeAll, parsePin, recognise } from "../src/index.ts";
import type { Given } from "../src/index.ts";

// The files that an envelope names are found among all that was given, whatever else lies beside them.

const maker = createReceiptMaker();
const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();

function given(name: string, text: string, isFile = false): Given {
  return recognise({ name, bytes: new TextEncoder().encode(text), isFile });
}

/** An envelope with one attachment, which is always called log.txt, and its receipt. */
function anchored(name: string, attached: string, isFile = false): Given[] {
  const attachment = { name: "log.txt", contentType: "text/plain", size: attached.length };
  const envelope: Envelope = {
    what: "tool.call",
    when: "2026-11-23T10:00:00.000Z",
    who: null,
    contentType: "application/json",
    content: { json: name },
    attachments: [{ ...attachment, hash: hashOf(attached).toString("hex") }],
    salt: null,
  };
  const text = formatEnvelope(envelope);
  const proof = formatProof(maker.receipt(Uint8Array.from(hashOf(text))));
  return [given(name, text, isFile), given(`${name}.tlog-proof`, proof)];
}

function cardsOf(all: readonly Given[]): [mark: string, last: string | undefined][] {
  const everything = [...all, given("trust-root.txt", maker.trustRootDocument)];
  const nothing = { anchorId: null, eventHash: null, requireWitnessed: false };
  const cards = judgeAll(everything, parsePin(bytesToHex(maker.rootThk)), nothing);
  return cards.filter(({ kind }) => kind === "receipt").map(({ mark, steps }) => [mark, steps.at(-1)?.detail]);
}

describe("an attachment", () => {
  const [first, second] = [anchored("a.json", "one"), anchored("b.json", "two")];

  test("is found by its hash, whatever it is called", () => {
    expect(cardsOf([...first, given("renamed.txt", "one")])).toEqual([
      ["pass", "renamed.txt is what the envelope names"],
    ]);
  });

  test("of one name in two envelopes is held against its own alone", () => {
    expect(cardsOf([...first, ...second, given("log.txt", "two")])).toEqual([
      ["pass", expect.stringMatching(/^log\.txt, text\/plain, 3 bytes/u)],
      ["pass", "log.txt is what the envelope names"],
    ]);
    expect(cardsOf([...first, ...second, given("log.txt", "six")]).map(([mark]) => mark)).toEqual(["fail", "fail"]);
  });

  test("is looked for as well if the reader says that the envelope is the file itself", () => {
    expect(cardsOf([...anchored("c.json", "one", true), given("log.txt", "six")])).toEqual([
      ["fail", "log.txt is NOT what the envelope names"],
    ]);
  });
});
