import type { MarkdownOptions } from "vitepress";
import { slug } from "github-slugger";
import { linksOf } from "./links.ts";
import type { Target } from "./links.ts";
import type { Document } from "./documents.ts";

type Markdown = Parameters<NonNullable<MarkdownOptions["config"]>>[0];
type Token = ReturnType<Markdown["parse"]>[number];

/** What examples are written in. All are loaded before the first page: one that is loaded on the way may come late. */
const LANGUAGES = ["console", "js", "json", "python", "rust", "sh", "sql", "text", "toml", "ts"] as const;
const NAMES: readonly string[] = ["", ...LANGUAGES];

/** The one page that is written for the site, and may use HTML. */
const OWN_PAGE = "index.md";

function leads(token: Token, target: Target): void {
  if (target.kind === "elsewhere") return;
  if (target.kind === "folder") {
    token.tag = "span";
    token.attrs = [];
    return;
  }
  token.attrSet("href", target.href);
  // VitePress takes what has a target for no page of its own.
  if (target.kind === "file") token.attrSet("target", "_self");
}

/** @throws Error for a language that is not among those that are loaded */
function languageOf(info: string): string {
  // What follows a comma is for Rust's documentation tests.
  const language = info.trim().replace(/^(\w+),\S*/u, "$1");
  if (NAMES.includes(language)) return language;
  throw new Error(`an example is in ${language}, which src/markdown.ts does not name`);
}

/** Sends links to where they lead now. A folder becomes text, so its closing tag has to change as well. */
function redirect(tokens: readonly Token[], follow: (href: string) => Target, onFile: (target: Target) => void): void {
  let isFolder = false;
  for (const token of tokens) {
    if (token.children !== null) redirect(token.children, follow, onFile);
    if (token.type === "fence") token.info = languageOf(token.info);
    if (token.type === "link_close" && isFolder) token.tag = "span";
    if (token.type !== "link_open") continue;
    const target = follow(token.attrGet("href") ?? "");
    isFolder = target.kind === "folder";
    leads(token, target);
    onFile(target);
  }
}

/**
 * How documents are read: as their authors see them on a forge. HTML is text, anchors are GitHub's, and links lead to
 * the page of what they name.
 * @param onCopy told of each file that the site needs a copy of
 */
export function markdownOptions(
  all: readonly Document[],
  onCopy: (source: string, copy: string) => void,
): MarkdownOptions {
  const follow = linksOf(all);
  const onFile = (target: Target): void => {
    if (target.kind === "file") onCopy(target.source, target.copy);
  };
  return {
    html: false,
    linkify: false,
    attrs: { disable: true },
    shikiSetup: (highlighter) => highlighter.loadLanguage(...LANGUAGES),
    anchor: { slugify: (title: string) => slug(title) },
    config: (markdown) => {
      markdown.disable("emoji");
      const parse = markdown.parse.bind(markdown);
      markdown.parse = (text, environment: { readonly relativePath?: string }) => {
        const page = environment.relativePath ?? "";
        markdown.set({ html: page === OWN_PAGE });
        const tokens = parse(text, environment);
        redirect(tokens, (href) => follow(page, href), onFile);
        return tokens;
      };
    },
  };
}
