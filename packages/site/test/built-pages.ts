import { readFileSync, readdirSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { Parser } from "htmlparser2";

/** What a page of the built site has. */
interface BuiltPage {
  readonly anchors: ReadonlySet<string>;
  /** Where a reader can go from here. */
  readonly links: readonly string[];
  /** What a browser fetches to show it. */
  readonly loads: readonly string[];
}

/** By tag: the attributes whose address a browser fetches by itself. */
const FETCHED: Readonly<Record<string, readonly string[]>> = {
  script: ["src"],
  img: ["src", "srcset"],
  source: ["src", "srcset"],
  iframe: ["src"],
  frame: ["src"],
  embed: ["src"],
  audio: ["src"],
  video: ["src", "poster"],
  track: ["src"],
  input: ["src"],
  object: ["data"],
  image: ["href", "xlink:href"],
  use: ["href", "xlink:href"],
  link: ["href"],
  body: ["background"],
};

/** Relations of `link` that a browser fetches nothing for. */
const ONLY_NAMED = new Set(["canonical", "alternate", "author", "license", "next", "prev", "help", "search"]);

/** Addresses in a style sheet. */
export function loadsOfStyle(css: string): readonly string[] {
  const found = [...css.matchAll(/url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)/gu)];
  return found.map(([, url, imported]) => (url ?? imported ?? "").trim());
}

function addresses(name: string, value: string): readonly string[] {
  if (name !== "srcset") return [value];
  return value.split(",").flatMap((part) => part.trim().split(/\s+/u)[0] ?? []);
}

function fetched(tag: string, attributes: Readonly<Record<string, string>>): readonly string[] {
  if (tag === "link" && ONLY_NAMED.has(attributes["rel"] ?? "")) return [];
  const sources = (FETCHED[tag] ?? []).flatMap((name) => {
    const value = attributes[name];
    return value === undefined ? [] : addresses(name, value);
  });
  return [...sources, ...loadsOfStyle(attributes["style"] ?? "")];
}

/** Reads a page as a browser would. */
export function readBuiltPage(html: string): BuiltPage {
  const anchors = new Set<string>();
  const [links, loads]: [string[], string[]] = [[], []];
  let isStyle = false;
  const parser = new Parser({
    onopentag: (tag, attributes) => {
      isStyle = tag === "style";
      for (const name of ["id", "name"]) anchors.add(attributes[name] ?? "");
      if (["a", "area"].includes(tag) && attributes["href"] !== undefined) links.push(attributes["href"]);
      loads.push(...fetched(tag, attributes));
    },
    ontext: (text) => {
      if (isStyle) loads.push(...loadsOfStyle(text));
    },
    onclosetag: () => {
      isStyle = false;
    },
  });
  parser.end(html);
  return { anchors, links, loads };
}

const SCHEME = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/iu;

/** The file that an address of this site names, and the place in it, as written. Null: another host, or no file. */
export function placeOf(page: string, address: string): { readonly file: string; readonly anchor: string } | null {
  if (SCHEME.test(address)) return null;
  const [before = "", anchor = ""] = address.split("#");
  const path = decodeURI(before.split("?")[0] ?? "");
  const file = path === "" ? page : path.startsWith("/") ? path.slice(1) : posix.join(posix.dirname(page), path);
  const isFolder = file === "" || file.endsWith("/") || file === ".";
  return { file: isFolder ? posix.join(file, "index.html") : file, anchor };
}

/** Files of a site, with forward slashes. */
export function filesOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => String(name).replaceAll("\\", "/"))
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort();
}

/** What is wrong with the pages of a site, as `page: what`: dead links, dead anchors, and what comes from elsewhere. */
export function faultsOf(folder: string): readonly string[] {
  const files = new Set(filesOf(folder));
  const text = (file: string): string => readFileSync(join(folder, file), "utf8");
  const pages = new Map(
    [...files].filter((file) => file.endsWith(".html")).map((file) => [file, readBuiltPage(text(file))]),
  );
  const linkFault = (page: string, link: string): string[] => {
    const place = placeOf(page, link);
    if (place === null) return /^\/\/|^file:/u.test(link) ? [`${page}: leads to ${link}`] : [];
    if (!files.has(place.file)) return [`${page}: ${link} is not there`];
    // A browser looks for the place as it is written, and then for what that means.
    const names = [place.anchor, decodeURIComponent(place.anchor)];
    const anchors = pages.get(place.file)?.anchors;
    const isThere = place.anchor === "" || anchors === undefined || names.some((name) => anchors.has(name));
    return isThere ? [] : [`${page}: ${link} has no such place`];
  };
  const loadFault = (page: string, address: string): string[] => {
    if (address.startsWith("data:") || address.startsWith("#")) return [];
    const place = placeOf(page, address);
    if (place === null) return [`${page}: loads ${address} from elsewhere`];
    return files.has(place.file) ? [] : [`${page}: loads ${address}, which is not there`];
  };
  const ofPages = [...pages].flatMap(([page, { links, loads }]) => [
    ...links.flatMap((link) => linkFault(page, link)),
    ...loads.flatMap((address) => loadFault(page, address)),
  ]);
  const styles = [...files].filter((file) => file.endsWith(".css"));
  return [...ofPages, ...styles.flatMap((file) => loadsOfStyle(text(file)).flatMap((url) => loadFault(file, url)))];
}
