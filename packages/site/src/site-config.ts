import { cpSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineConfig } from "vitepress";
import type { DefaultTheme, UserConfig } from "vitepress";
import { CHECKOUT } from "./checkout.ts";
import { documents } from "./documents.ts";
import { markdownOptions } from "./markdown.ts";
import { sidebarOf } from "./sidebar.ts";

/** A browser asks no other host, whatever a page says. */
const POLICY = [
  "default-src 'self'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** What VitePress is told: pages, search, and how documents are read. */
export function siteConfig(): UserConfig<DefaultTheme.Config> {
  const all = documents();
  const copies = new Map<string, string>();
  return defineConfig({
    title: "Event anchoring",
    description: "Records hashes of events, so that anybody can check them later, offline",
    lang: "en",
    head: [
      ["meta", { "http-equiv": "Content-Security-Policy", content: POLICY }],
      ["link", { rel: "icon", href: "/icon.svg", type: "image/svg+xml" }],
    ],
    // One page after another: the index for searching has them in the order in which they come.
    buildConcurrency: 1,
    markdown: markdownOptions(all, (source, copy) => copies.set(copy, source)),
    buildEnd: ({ outDir }) => {
      for (const [copy, source] of copies) {
        mkdirSync(dirname(join(outDir, copy)), { recursive: true });
        cpSync(join(CHECKOUT, source), join(outDir, copy));
      }
    },
    themeConfig: {
      search: { provider: "local" },
      sidebar: sidebarOf(all).map(({ text, collapsed, items }) => ({ text, collapsed, items: [...items] })),
      outline: [2, 3],
      nav: [
        { text: "Install", link: "/guide" },
        { text: "Cookbook", link: "/cookbook/" },
        { text: "API", link: "/API" },
        {
          text: "Reference",
          // Made apart, from docstrings.
          items: [
            { text: "TypeScript", link: "/reference/typescript/index.html", target: "_self" },
            { text: "Python", link: "/reference/python/event_anchoring.html", target: "_self" },
            { text: "Rust", link: "/reference/rust/event_anchoring/index.html", target: "_self" },
          ],
        },
        { text: "Operating", link: "/operating/" },
        { text: "Proof page", link: "/verify.html", target: "_self" },
      ],
      externalLinkIcon: true,
    },
  });
}
