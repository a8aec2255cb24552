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

/** What the maker of the reference takes: cargo, and a Python with pdoc, as packages/sdk-python/ci.sh sets it up. */
function hasReferenceTools(): boolean {
  const env = { ...process.env, PYTHONPATH: join(CHECKOUT, "packages/sdk-python/src") };
  const pythons = [process.env["EVENT_ANCHORING_PYTHON"], join(CHECKOUT, "packages/sdk-python/.venv/bin/python")];
  const ends = (program: string, args: readonly string[]): boolean => spawnSync(program, args, { env }).status === 0;
  const isPython = [...pythons, "python3"].some(
    (python) => python !== undefined && ends(python, ["-c", "import pdoc, event_anchoring"]),
  );
  return isPython && ends("cargo", ["--version"]);
}

const hasReference = hasReferenceTools();
const describeReference: typeof describe.skip = hasReference ? describe : describe.skip;

/** The part of the site that is made from docstrings, by the tools of three languages. */
const IN_REFERENCE = /^reference\//u;

// As it is released; what differs the second time is refused.
beforeAll(() => {
  const command = join(CHECKOUT, "packages/release/bin/release.js");
  const only = ["site", ...(hasReference ? ["reference"] : [])].flatMap((name) => ["--only", name]);
  const args = [command, "--dry", "--twice", ...only, "--out", join(release, "out")];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}, 600_000);

const read = (file: string): string => readFileSync(join(site, file), "utf8");

describe("the built site", () => {
  test("has no dead link, no dead anchor, and loads nothing from another host", () => {
    const faults = faultsOf(site).filter((fault) => !IN_REFERENCE.test(fault));
    expect(faults.filter((fault) => hasReference || !/: \/reference\/\S+ is not there$/u.test(fault))).toEqual([]);
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

/**
 * What pages of tools name: lines that a script marks, what the texts of other libraries say, members that a class has
 * from Python's own, which pdoc links to and does not list, and a list of the types that implement a trait, which
 * rustdoc writes only if there are any in other crates.
 */
const OF_TOOLS = [
  /^reference\/rust\/\S+: \S+\.rs\.html#\d+-\d+ has no such place$/u,
  /^reference\/rust\/\S+: dispatcher#setting-the-default-subscriber is not there$/u,
  /^reference\/rust\/\S+: loads (?:\.\.\/)+trait\.impl\/\S+\.js, which is not there$/u,
  /^reference\/python\/event_anchoring\.html: #(?:Async)?Recorder\.record has no such place$/u,
  /^reference\/python\/event_anchoring\/adapters\.html: #RecordingHandler\.(?:level|handleError) has no such place$/u,
];

describeReference("the reference", () => {
  test("documents the client of each SDK", () => {
    expect(read("reference/typescript/classes/index.Client.html")).toContain("createEventAnchor");
    expect(read("reference/python/event_anchoring.html")).toContain("create_event_anchor");
    expect(read("reference/rust/event_anchoring/struct.Client.html")).toContain("create_event_anchor");
  });

  test("has no dead link of its own, and loads nothing from another host", () => {
    const faults = faultsOf(site).filter((fault) => IN_REFERENCE.test(fault));
    expect(faults.filter((fault) => !OF_TOOLS.some((known) => known.test(fault)))).toEqual([]);
  });

  test("has no path of this machine", () => {
    const pages = filesOf(site).filter((file) => IN_REFERENCE.test(file) && /\.(?:html|js)$/u.test(file));
    expect(pages.filter((file) => read(file).includes(CHECKOUT))).toEqual([]);
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
