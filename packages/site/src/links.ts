import { existsSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { CHECKOUT } from "./checkout.ts";
import type { Document } from "./documents.ts";

/** Where a link of a document leads on the site. */
export type Target =
  /** Another page, or a place in this one: as VitePress writes links. */
  | { readonly kind: "page"; readonly href: string }
  /** A file of the repository, of which the site has a copy. */
  | { readonly kind: "file"; readonly href: string; readonly source: string; readonly copy: string }
  /** Another host. */
  | { readonly kind: "elsewhere" }
  /** A folder, which a site cannot show: its name alone remains. */
  | { readonly kind: "folder" };

/** What a browser shows as text, or a program reads; other files get the ending `.txt`. */
const SHOWN = new Set([".json", ".txt", ".yml", ".js", ".svg"]);

function copyOf(source: string): string {
  const visible = source
    .split("/")
    .map((part) => part.replace(/^\./u, ""))
    .join("/");
  return `files/${visible}${SHOWN.has(posix.extname(visible)) ? "" : ".txt"}`;
}

/** @returns follows a link of a document, by the page that shows it */
export function linksOf(all: readonly Document[]): (page: string, href: string) => Target {
  const pageOf = new Map(all.map(({ source, page }) => [source, page]));
  const sourceOf = new Map(all.map(({ source, page }) => [page, source]));
  return (page, href) => {
    if (/^[a-z][a-z0-9+.-]*:/iu.test(href)) return { kind: "elsewhere" };
    const [path = "", anchor] = href.split("#");
    const source = sourceOf.get(page);
    if (path === "" || path.startsWith("/") || source === undefined) return { kind: "page", href };
    const wanted = posix.join(posix.dirname(source), decodeURI(path));
    const shown = pageOf.get(wanted);
    const suffix = anchor === undefined ? "" : `#${anchor}`;
    if (shown !== undefined) return { kind: "page", href: `/${shown}${suffix}` };
    const file = join(CHECKOUT, wanted);
    // VitePress names what is not there as a dead link.
    if (wanted.startsWith("..") || !existsSync(file)) return { kind: "page", href };
    if (statSync(file).isDirectory()) return { kind: "folder" };
    const copy = copyOf(wanted);
    return { kind: "file", href: `/${copy}`, source: wanted, copy };
  };
}
