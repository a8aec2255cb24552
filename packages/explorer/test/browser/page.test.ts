import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "@jest/globals";
import { bundleText, bundles } from "../vector-bundles.ts";
import { CHECKOUT, PageUnderTest, ProofPage, buildPage, describeInBrowser } from "./proof-page.ts";
import type { ProofPageOptions } from "./proof-page.ts";

// The page as an auditor uses it who was mailed a bundle. Pictures of it go to artefacts/explorer.

const GZIP_BYTES_MAX = 95_000;
const built = PageUnderTest.forThisFile();
const { folder: home, file: pageFile } = built;

/** By the beginning of its name: a bundle, and the pin that it is judged by. */
function vector(name: string): { readonly text: string; readonly pin: string } {
  const found = bundles.good.find((one) => one.name.startsWith(name));
  if (found === undefined) throw new RangeError(`no vector begins with ${name}`);
  return { text: bundleText(found), pin: found.pinned_root_thk };
}

describe("the built file", () => {
  test("has at most 95 kB with gzip, and loads nothing", () => {
    const html = readFileSync(pageFile);
    expect(gzipSync(html, { level: 9 }).length).toBeLessThanOrEqual(GZIP_BYTES_MAX);
    const outside = [...html.toString("utf8").matchAll(/<(?:script|link|img)[^>]+(?:src|href)="([^"]+)"/gu)];
    expect(outside.map(([, address]) => address)).toEqual(["data:,"]);
  });

  test("begins with the notices of what it contains", () => {
    const html = readFileSync(pageFile, "utf8");
    const [, notices = ""] = /^<!doctype html>\s*<!--([^]*?)-->/iu.exec(html) ?? [];
    expect(notices).toContain("Permission is hereby granted");
    for (const name of ["preact", "@noble/curves", "@noble/hashes"]) {
      const text = readFileSync(join(CHECKOUT, "node_modules", name, "LICENSE"), "utf8");
      const [line = ""] = /Copyright \(c\).*/u.exec(text) ?? [];
      expect(notices).toContain(line.trim());
    }
  });

  test("is the same each time, and knows nothing of the machine", () => {
    const again = join(home, "again.html");
    buildPage(again);
    const html = readFileSync(pageFile, "utf8");
    expect(readFileSync(again, "utf8") === html).toBe(true);
    expect(html.includes(CHECKOUT)).toBe(false);
  });
});

const open = (options: Omit<ProofPageOptions, "file"> = {}) =>
  ProofPage.open(built.browser, { file: pageFile, ...options });

describeInBrowser("an auditor who was mailed a bundle", () => {
  test("sees that an act was not authorised, and why, without knowing the project", async () => {
    const page = await open();
    const { text, pin } = vector("revoked before the act, by the grantor");
    await page.give([{ name: "act.bundle.json", text }]);
    const [unpinned] = await page.cards(1);
    expect([unpinned?.mark, unpinned?.sentence]).toEqual(["warn", expect.stringMatching(/^NOT PINNED: /u)]);
    await page.pin(pin.replaceAll(/(.{8})/gu, "$1 "));
    await page.page.locator('.card[data-mark="pass"]').waitFor();
    const banner = await page.page.locator(".banner").innerText();
    expect(banner).toContain("VALID");
    expect(banner).toContain("The act, when it was done: authorised: no");
    expect(await page.page.locator("g.box.is-fail.grant").textContent()).toContain("the grant is revoked");
    expect(await page.page.locator("g.box.revocation").textContent()).toContain("by the grantor");
    expect(await page.page.locator(".verdicts > [role=status]").textContent()).toContain("act.bundle.json: VALID");
    await page.close();
  });

  test("tries docs/auditing.md: its three files, its pin, and one letter changed", async () => {
    const text = readFileSync(join(CHECKOUT, "docs/auditing.md"), "utf8");
    const [, invoice = ""] = /printf '([^']+)' > invoice\.txt/u.exec(text) ?? [];
    const [, proof = ""] = /> invoice\.txt\.tlog-proof <<'EOF'\n([^]*?)EOF\n/u.exec(text) ?? [];
    const [, trustRoot = ""] = /> trust-root\.txt <<'EOF'\n([^]*?)EOF\n/u.exec(text) ?? [];
    const [, pin = ""] = /^ROOT_THK=([0-9a-f]{64})$/mu.exec(text) ?? [];
    const content = invoice.replace("\\n", "\n");
    const page = await open();
    await page.pin(pin);
    await page.give([
      { name: "invoice.txt", text: content },
      { name: "invoice.txt.tlog-proof", text: proof },
      { name: "trust-root.txt", text: trustRoot },
    ]);
    const cards = await page.cards(2);
    expect(cards.map(({ mark }) => mark)).toEqual(["pass", "pass"]);
    await page.page.getByText("The record: event").click();
    expect(await page.page.locator(".fields").textContent()).toMatch(/event hash[0-9a-f]{64}/u);
    await page.picture("receipt-light");
    await page.give([{ name: "invoice.txt", text: content.replace("42.00", "43.00") }]);
    await page.page.locator('.card[data-kind="receipt"][data-mark="fail"]').waitFor();
    const [changed] = await page.cards(2);
    expect(changed?.sentence).toContain("NOT VALID (content_differs)");
    await page.close();
  });

  test("moves through time: what was good at the act is broken later", async () => {
    const page = await open();
    const { text, pin } = vector("revoked after the act, by the witness");
    await page.pin(pin);
    await page.give([{ name: "act.bundle.json", text }]);
    await page.cards(1);
    expect(await page.page.locator("g.box.grant.is-fail").count()).toBe(1);
    await page.page.locator("#as-of").focus();
    await page.page.keyboard.press("Home");
    await page.page.getByText("the act itself").waitFor();
    await page.page.locator("g.box.grant.is-fail").waitFor({ state: "detached" });
    expect(await page.page.locator("g.box.is-fail").count()).toBe(0);
    expect(await page.page.locator(".finding.is-fail").count()).toBe(0);
    await page.page.getByRole("button", { name: "Later" }).click();
    await page.page.locator("g.box.grant.is-fail").waitFor();
    expect(await page.page.locator("#as-of").getAttribute("aria-valuetext")).toContain("sequence 10");
    await page.close();
  });
});

describeInBrowser("what the page shows besides", () => {
  test("opens a record by the keyboard: its leaf, its proof, and what the words mean", async () => {
    const page = await open();
    const { text, pin } = vector("complete");
    await page.pin(pin);
    await page.give([{ name: "act.bundle.json", text }]);
    await page.cards(1);
    await page.page.locator("g.box.grant").first().focus();
    await page.page.keyboard.press("Enter");
    const record = page.page.locator(".record");
    await record.waitFor();
    expect(await page.page.evaluate("document.activeElement.tagName")).toBe("H4");
    expect(await record.textContent()).toMatch(/scope hash[0-9a-f]{64}/u);
    await record.getByText("Its proof").click();
    expect(await record.textContent()).toContain("A quorum of the nodes has signed that root");
    await record.getByText("What the words mean").click();
    expect(await record.textContent()).toContain("The time in which a grant counts");
    await record.locator("button.link").first().click();
    await page.page
      .locator(".record h4")
      .getByText(/^claim/u)
      .waitFor();
    await page.close();
  });

  test("gives names, which change no verdict", async () => {
    const page = await open();
    const { text, pin } = vector("complete");
    const { subject } = JSON.parse(text) as { subject: string };
    await page.pin(pin);
    await page.give([{ name: "act.bundle.json", text }]);
    const before = await page.cards(1);
    await page.give([{ name: "names.txt", text: `# names\n${subject} the payment of May\n` }]);
    await page.page.locator("g.box.act").getByText("the payment of May").waitFor();
    expect(await page.cards(1)).toEqual(before);
    await page.page.getByText("The names are from names.txt and are not proved.").waitFor();
    await page.close();
  });

  test("what cannot be compared with is not passed over, and what was pasted is judged", async () => {
    const page = await open();
    const { text, pin } = vector("complete");
    await page.pin(pin);
    await page.page.getByText("Paste text instead").click();
    await page.page.locator("#pasted").fill(text);
    await page.page.getByRole("button", { name: "Read it" }).click();
    expect((await page.cards(1))[0]).toMatchObject({ name: "pasted text 1", mark: "pass" });
    await page.page.getByText("More to compare with").click();
    await page.page.locator("#expected-anchor").fill("9d9f48");
    await page.page.getByText("so nothing is judged").last().waitFor();
    expect(await page.page.locator(".card").count()).toBe(0);
    await page.page.locator("#expected-anchor").fill("ab".repeat(32));
    expect((await page.cards(1))[0]?.sentence).toContain("NOT VALID (subject)");
    await page.close();
  });

  test("a pin that came with the files is no pin", async () => {
    const page = await open();
    const { text, pin } = vector("complete");
    await page.give([
      { name: "act.bundle.json", text },
      { name: "root-thk.txt", text: `${pin}\n` },
    ]);
    const [card] = await page.cards(1);
    expect(card?.mark).toBe("warn");
    expect(await page.page.locator(".is-pass").count()).toBe(0);
    expect(await page.page.locator(".givens").innerText()).toContain("which is not used");
    await page.close();
  });
});

describeInBrowser("the page itself", () => {
  test("nothing can be sent, and every field has a name", async () => {
    const page = await open();
    const refused = await page.page.evaluate(`(async () => {
      const violations = [];
      document.addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));
      await fetch("https://example.org/").catch(() => undefined);
      const image = new Image();
      image.src = "https://example.org/x.png";
      while (violations.length < 2) await new Promise(requestAnimationFrame);
      return violations;
    })()`);
    expect(refused).toEqual(expect.arrayContaining(["connect-src", "img-src"]));
    const unnamed = await page.page.evaluate(
      `[...document.querySelectorAll("input, textarea")].filter((field) => field.labels.length === 0).length`,
    );
    expect(unnamed).toBe(0);
    await page.close();
  });

  test.each([
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    ["phone", { colorScheme: "light", width: 390 }],
  ] as const)("%s: pictures, and nothing is wider than the window", async (name, options) => {
    const page = await open(options);
    await page.picture(`empty-${name}`);
    const { text, pin } = vector("revoked before the act, by the grantor");
    await page.give([{ name: "act.bundle.json", text }]);
    await page.cards(1);
    await page.picture(`not-pinned-${name}`);
    await page.pin(pin);
    await page.page.locator('.card[data-mark="pass"]').waitFor();
    await page.page.locator("g.box.grant").first().click();
    await page.picture(`bundle-${name}`);
    const overflow = await page.page.evaluate("document.documentElement.scrollWidth - innerWidth");
    expect(overflow).toBeLessThanOrEqual(0);
    await page.close();
  });
});
