#!/usr/bin/env node
/**
 * As crosscheck.js, by the page as it is shipped: the built file in Chromium, without a network. Files are given to its
 * own field, and verdicts are read from the screen. Needs the build.
 *
 * Usage: crosscheck-page.js CHROMIUM
 */
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { answerOf, filesOf } from "./shown-answer.js";

const FILE = new URL("../dist/page.html", import.meta.url).href;
const MARKS = { "✓": "pass", "✗": "fail", "!": "warn", "–": "skip" };

/** Runs in the page: what a reader does, and what is then on the screen. */
async function ask({ files, pin, isWitnessed }) {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);
  /** Once the page has drawn what it was told. */
  const until = async (condition) => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve));
  };
  const type = (field, text) => {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  for (const button of all(".givens button")) button.click();
  await until(() => all(".given, .card").length === 0);
  type(one("#pin"), pin);
  if (one("#witnessed").checked !== isWitnessed) one("#witnessed").click();
  const transfer = new DataTransfer();
  for (const { name, text } of files) transfer.items.add(new File([text], name));
  one("#chosen").files = transfer.files;
  one("#chosen").dispatchEvent(new Event("change", { bubbles: true }));
  await until(() => all(".given").length === files.length && all(".card").length > 0);
  return all(".card").map((card) => ({
    kind: card.dataset.kind,
    mark: card.dataset.mark,
    text: card.querySelector(".sentence").textContent,
    steps: [...card.querySelectorAll(".step")].map((step) => [...step.children].map((part) => part.textContent)),
  }));
}

const [executablePath] = process.argv.slice(2);
// The sandbox takes rights that a container may not have; what is opened is our own page.
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const context = await browser.newContext({ offline: true });
  const page = await context.newPage();
  page.on("pageerror", (error) => {
    throw error;
  });
  await page.goto(FILE);
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === "") continue;
    const question = JSON.parse(line);
    const { pinned_root_thk: pin, require_witnessed: isWitnessed = false } = question;
    const cards = await page.evaluate(ask, { files: filesOf(question), pin, isWitnessed });
    const verdicts = cards.map(({ steps, ...card }) => ({
      ...card,
      steps: steps.map(([sign, label]) => ({ mark: MARKS[sign], label })),
    }));
    process.stdout.write(`${JSON.stringify(answerOf(question, verdicts))}\n`);
  }
} finally {
  await browser.close();
}
