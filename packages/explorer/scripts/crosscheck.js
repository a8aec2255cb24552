#!/usr/bin/env node
/**
 * Speaks JSON lines on stdin and stdout with the tests that hold the SDKs against one another: what the proof page says
 * of the same receipts, by the modules that its file is made of. It is no part of what is published. Needs the build.
 */
import { createInterface } from "node:readline";
import { itemOf, judgeAll, parsePin } from "../dist/index.js";

/** `NOT VALID (code): step: …` of what was judged, `NOT VALID: … (code)` of what cannot be read. */
const REFUSED = /^NOT VALID(?: \((?<code>\w+)\))?: (?:(?<step>\w+(?: \w+)?): )?.*?(?:\((?<unread>\w+)\))?$/su;

const given = (name, text) => itemOf({ name, bytes: Buffer.from(text) }, 0).given;

/** What the page shows once these files were dropped on it, and the pin was typed in. */
function judge({ content, receipt, trust_roots: roots, pinned_root_thk: pin, require_witnessed: witnessed }) {
  const documents = roots.map((root, at) => given(`trust-root-${at + 1}.txt`, root));
  const all = [given("event", content), given("event.tlog-proof", receipt), ...documents];
  const expected = { anchorId: null, eventHash: null, requireWitnessed: witnessed === true };
  return judgeAll(all, parsePin(pin), expected);
}

/** In the words of the SDKs; the verdict on the receipt comes before that on its trust roots. */
function answer(question) {
  const verdicts = judge(question);
  const ofReceipt = verdicts.find(({ kind }) => kind === "receipt");
  if (ofReceipt === undefined) throw new Error(`no verdict on the receipt: ${JSON.stringify(verdicts)}`);
  const { mark, text, steps } = ofReceipt;
  if (mark === "pass") return { ok: { verdict: "valid", step: null, code: null } };
  const { code, unread } = REFUSED.exec(text)?.groups ?? {};
  const failed = steps.find((step) => step.mark === "fail");
  if (failed === undefined) return { error: { code: code ?? unread } };
  return { ok: { verdict: "invalid", step: failed.label.replaceAll(" ", "_"), code } };
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line !== "") process.stdout.write(`${JSON.stringify(answer(JSON.parse(line)))}\n`);
}
