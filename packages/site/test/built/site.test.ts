import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { CHECKOUT } from "../../src/checkout.ts";
import { documents } from "../../src/documents.ts";
import { faultsOf, filesOf, readBuiltPage } from "../built-pages.ts";
import { describeInBrowser, siteInBrowser } from "./browser.ts";

const release = mkdtempSync(join(tmpdir(), "anchoring-built-site-"));
const site = join(release, "out/site");
afterAll(() => rmSync(release, { recursive: true }));

// As it is released; what differs the second time is refused.
beforeAll(() => {
  const command = join(CHECKOUT, "packages/release/bin/release.js");
  const args = [command, "--dry", "--twice", "--only", "site", "--out", join(release, "out")];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}, 600_000);

const read = (file: string): string => readFileSync(join(site, file), "utf8");

describe("the built site", () => {
  test("has no dead link, no dead anchor, and loads nothing from another host", () => {
    expect(faultsOf(site)).toEqual([]);
  });

  test("has a page for every document, with its text", () => {
    const files = new Set(filesOf(site));
    const pages = documents().map(({ page }) => page.replace(/\.md$/, ".html"));
    expect(pages.filter((page) => !files.has(page))).toEqual([]);
    expect(read("API.html")).toContain("client_event_id");
  });

  test("says in every page of its own that a browser may ask no other host", () => {
    const pages = ["index.html", ...documents().map(({ page }) => page.replace(/\.md$/, ".html"))];
    const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'self'; `;
    expect(pages.filter((page) => !read(page).includes(policy))).toEqual([]);
  });

  test("keeps the words of documents: nothing in them is taken for HTML, an emoji or an attribute", () => {
    expect(read("API.html")).toContain("{anchor_id}");
    expect(read("anchorctl.html")).toContain("&lt;");
    const { links } = readBuiltPage(read("guide.html"));
    expect(links).toContain("/packages/sdk-rust.html");
    expect(links.filter((link) => link.endsWith(".md") && !link.startsWith("https://"))).toEqual([]);
  });

  test("has the proof page, as the nodes serve it, and the files of the picture", () => {
    expect(read("verify.html") === readFileSync(join(CHECKOUT, "packages/explorer/dist/page.html"), "utf8")).toBe(true);
    const { links, loads } = readBuiltPage(read("index.html"));
    expect(loads).toContain("/verify.html");
    expect(links).toEqual(expect.arrayContaining(["/demo/first-act.bundle.json", "/demo/second-act.bundle.json"]));
  });
});

describeInBrowser("the site in a browser", () => {
  const shown = siteInBrowser(site);

  test("finds a page by its words, and asks nobody else", async () => {
    const page = await shown.open("/operating/first-day.html");
    await page.keyboard.press("Control+k");
    await page.locator("#localsearch-input").fill("promise file");
    const found = page.locator("#localsearch-list a").first();
    await found.waitFor();
    await found.click();
    await page.waitForURL((url) => !url.pathname.endsWith("/first-day.html"));
    expect(shown.elsewhere()).toEqual([]);
    expect(shown.complaints()).toEqual([]);
  });

  test("proves the act of the picture on the start page", async () => {
    const page = await shown.open("/");
    const proof = page.frameLocator("iframe.proof");
    await proof.getByLabel(/^Pin/).fill(read("demo/root-thk.txt").trim());
    await proof.locator("input[type=file]").first().setInputFiles(join(site, "demo/second-act.bundle.json"));
    await proof.getByText("every check is proved").first().waitFor();
    expect(shown.elsewhere()).toEqual([]);
    expect(shown.complaints()).toEqual([]);
  });
});
