#!/usr/bin/env node
/**
 * Speaks JSON lines on stdin and stdout with the tests that hold the SDKs against one another: what the proof page says
 * of the same receipts and bundles, by the modules that its file is made of. It is no part of what is published. Needs
 * the build.
 */
import { createInterface } from "node:readline";
import { itemOf, judgeAll, parsePin } from "../dist/index.js";
import { answerOf, filesOf } from "./shown-answer.js";

const given = ({ name, text }) => itemOf({ name, bytes: Buffer.from(text) }, 0).given;

/** What the page shows once these files were dropped on it, and the pin was typed in. */
function judge(question) {
  const expected = { anchorId: null, eventHash: null, requireWitnessed: question.require_witnessed === true };
  return judgeAll(filesOf(question).map(given), parsePin(question.pinned_root_thk), expected);
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line === "") continue;
  const question = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(answerOf(question, judge(question)))}\n`);
}
