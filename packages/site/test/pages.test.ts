import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { documents } from "../src/documents.ts";
import { linksOf } from "../src/links.ts";
import { sidebarOf } from "../src/sidebar.ts";
import { faultsOf } from "./built-pages.ts";

describe("documents", () => {
  const all = documents();

  test("each has a page of its own, and is in the list of pages once", () => {
    expect(new Set(all.map(({ page }) => page)).size).toBe(all.length);
    const links = sidebarOf(all).flatMap(({ items }) => items.map(({ link }) => link));
    const pages = all.map(({ page }) => `/${page.replace(/(^|\/)index\.md$/, "$1").replace(/\.md$/, "")}`);
    expect([...links].sort()).toEqual(pages.sort());
  });

  test("the list of pages names none that is not there", () => {
    expect(() => sidebarOf(all.filter(({ page }) => page !== "API.md"))).toThrow("names API");
    expect(() => sidebarOf([...all, { source: "README.md", page: "other.md" }])).toThrow("other");
  });

  test.each([
    ["operating/index.md", "first-day.md#is-it-well", { kind: "page", href: "/operating/first-day.md#is-it-well" }],
    ["operating/index.md", "../../SECURITY.md", { kind: "page", href: "/security.md" }],
    ["guide.md", "packages/sdk-rust/README.md", { kind: "page", href: "/packages/sdk-rust.md" }],
    ["guide.md", "docs/operating/README.md", { kind: "page", href: "/operating/index.md" }],
    ["guide.md", "LICENSE", { kind: "file", source: "LICENSE", copy: "files/LICENSE.txt" }],
    ["API.md", "openapi.json", { kind: "file", copy: "files/docs/openapi.json" }],
    ["testing.md", "../.ci/skips", { kind: "file", copy: "files/ci/skips.txt" }],
    ["auditing.md", "../test/vectors", { kind: "folder" }],
    ["guide.md", "https://example.org/a.md", { kind: "elsewhere" }],
    ["guide.md", "#start", { kind: "page", href: "#start" }],
    ["guide.md", "../secret.txt", { kind: "page", href: "../secret.txt" }],
    ["guide.md", "docs/gone.md", { kind: "page", href: "docs/gone.md" }],
  ])("a link of %s to %s leads to what it names", (page, href, target) => {
    expect(linksOf(all)(page, href)).toMatchObject(target);
  });
});

describe("the check of a built site", () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-site-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const built = (name: string, files: Readonly<Record<string, string>>): readonly string[] => {
    for (const [file, text] of Object.entries(files)) {
      const path = join(folder, name, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    return faultsOf(join(folder, name));
  };

  test("finds nothing where all is there", () => {
    const files = {
      "index.html": `<a href="/a/b.html#c">b</a> <a href="a/">a</a> <a href="https://example.org/">other</a>
        <p id="top"> <a href="#top">top</a> <a href="mailto:a@example.org">mail</a>
        <img src="data:image/png;base64,AA"> <img src="i.svg">`,
      "a/index.html": `<link rel="stylesheet" href="/s.css"> <link rel="canonical" href="https://example.org/">`,
      "a/b.html": `<h2 id="c">c</h2> <a href="../index.html?q#top">top</a>`,
      "s.css": `a { background: url(i.svg) }`,
      "i.svg": "<svg/>",
    };
    expect(built("whole", files)).toEqual([]);
  });

  test.each([
    [`<a href="gone.html">`, "gone.html is not there"],
    [`<a href="#gone">`, "#gone has no such place"],
    [`<a href="/index.html#gone">`, "/index.html#gone has no such place"],
    [`<a href="//other.example/a">`, "leads to //other.example/a"],
    [`<script src="https://other.example/a.js"></script>`, "loads https://other.example/a.js from elsewhere"],
    [`<link rel="preload" href="//other.example/a">`, "loads //other.example/a from elsewhere"],
    [`<img srcset="a.png 1x, http://other.example/b.png 2x">`, "loads http://other.example/b.png from elsewhere"],
    [`<img src="gone.png">`, "loads gone.png, which is not there"],
    [`<p style="background: url('https://other.example/i')">`, "loads https://other.example/i from elsewhere"],
    [`<style>@import "https://other.example/s.css";</style>`, "loads https://other.example/s.css from elsewhere"],
    [`<iframe src="https://other.example/"></iframe>`, "loads https://other.example/ from elsewhere"],
  ])("finds what is wrong with %s", (html, fault) => {
    const faults = built(`planted-${Buffer.from(html).toString("hex").slice(0, 80)}`, {
      "index.html": html,
      "a.png": "",
    });
    expect(faults).toEqual([`index.html: ${fault}`]);
  });

  test("looks into style sheets", () => {
    const css = { "index.html": "", "a.css": `@font-face { src: url("https://other.example/f") }` };
    expect(built("style", css)).toEqual(["a.css: loads https://other.example/f from elsewhere"]);
  });
});
