import type { MarkdownOptions } from "vitepress";
import { slug } from "github-slugger";
import { linksOf } from "./links.ts";
import type { Target } from "./links.ts";
import type { Document } from "./documents.ts";

type Markdown = Parameters<NonNullable<MarkdownOptions["config"]>>[0];
type Token = ReturnType<Markdown["parse"]>[number];

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

/** Sends links to where they lead now. A folder becomes text, so its closing tag has to change as well. */
function redirect(tokens: readonly Token[], follow: (href: string) => Target, onFile: (target: Target) => void): void {
  let isFolder = false;
  for (const token of tokens) {
    if (token.children !== null) redirect(token.children, follow, onFile);
    // What follows a comma is for Rust's documentation tests.
    if (token.type === "fence") token.info = token.info.replace(/^(\w+),\S*/u, "$1");
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
