import { textOf } from "./checkout.ts";
import type { Document } from "./documents.ts";

/** A part of the list of pages beside every page. */
export interface Group {
  readonly text: string;
  readonly collapsed: boolean;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

interface Part {
  readonly text: string;
  /** Names of pages in their order; `name/` takes all of a folder, those that are named here before the others. */
  readonly pages: readonly string[];
}

const PARTS: readonly Part[] = [
  { text: "Start", pages: ["guide", "cookbook/index", "cookbook/agent-log", "cookbook/build-artefacts", "cookbook/"] },
  {
    text: "Use",
    pages: [
      "anchorctl",
      "API",
      "recorder",
      "scopes",
      "names",
      "auditing",
      "packages/sdk-typescript",
      "packages/sdk-python",
      "packages/sdk-rust",
      "sdk-names",
    ],
  },
  { text: "Operate", pages: ["operating/index", "operating/install", "operating/first-day", "operating/"] },
  { text: "Understand", pages: ["ARCHITECTURE", "PROTOCOL", "GLOSSARY", "versions", "scale", "platforms"] },
  { text: "The project", pages: ["contributing", "security", "changelog", "testing", "benchmarks", "packages/"] },
  { text: "Decisions", pages: ["decisions/index", "decisions/"] },
];

/** Where the title of a document is the name of a package. */
const LABELS: Readonly<Record<string, string>> = {
  "packages/sdk-typescript/README.md": "SDK for TypeScript",
  "packages/sdk-python/README.md": "SDK for Python",
  "packages/sdk-rust/README.md": "SDK for Rust",
  "packages/sdk-python/CHANGELOG.md": "Changes of the SDK for Python",
};

/** The first line that is a title. */
function titleOf({ source }: Document): string {
  const title = /^# (.+)$/mu.exec(textOf(source))?.[1];
  if (title === undefined) throw new Error(`${source} has no title`);
  return title.replaceAll("`", "");
}

/**
 * Every page in one group.
 * @throws Error if a page is in none, or a name has no page
 */
export function sidebarOf(all: readonly Document[]): readonly Group[] {
  const left = new Map(all.map((document) => [document.page.replace(/\.md$/u, ""), document]));
  const named = new Set(PARTS.flatMap(({ pages }) => pages));
  const groups = PARTS.map(({ text, pages }) => {
    const names = pages.flatMap((name) =>
      name.endsWith("/") ? [...left.keys()].filter((page) => page.startsWith(name) && !named.has(page)) : [name],
    );
    const items = names.map((name) => {
      const document = left.get(name);
      if (document === undefined) throw new Error(`the list of pages names ${name}, and there is no such page`);
      left.delete(name);
      return { text: LABELS[document.source] ?? titleOf(document), link: `/${name.replace(/(^|\/)index$/u, "$1")}` };
    });
    return { text, collapsed: text === "Decisions", items };
  });
  if (left.size > 0) throw new Error(`in no part of the list of pages: ${[...left.keys()].join(", ")}`);
  return groups;
}
