import { readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { CHECKOUT } from "./checkout.ts";

/** A document of the repository, and the page of the site that shows it. Paths have forward slashes. */
export interface Document {
  /** From the root of the repository. */
  readonly source: string;
  /** From the root of the site, ending in `.md`. */
  readonly page: string;
}

const AT_THE_ROOT: Readonly<Record<string, string>> = {
  "README.md": "guide.md",
  "CONTRIBUTING.md": "contributing.md",
  "SECURITY.md": "security.md",
  "CHANGELOG.md": "changelog.md",
};

/** What a package tells its users, and the suffix of its page. */
const OF_A_PACKAGE: Readonly<Record<string, string>> = { "README.md": "", "CHANGELOG.md": "-changelog" };

function namesIn(folder: string): readonly string[] {
  return readdirSync(join(CHECKOUT, folder)).sort();
}

function underDocs(): readonly Document[] {
  const names = readdirSync(join(CHECKOUT, "docs"), { recursive: true }).map((name) =>
    String(name).replaceAll("\\", "/"),
  );
  return names
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => ({ source: posix.join("docs", name), page: name.replace(/(^|\/)README\.md$/u, "$1index.md") }));
}

function ofPackages(): readonly Document[] {
  return namesIn("packages").flatMap((folder) => {
    const names = namesIn(`packages/${folder}`);
    return Object.entries(OF_A_PACKAGE)
      .filter(([name]) => names.includes(name))
      .map(([name, suffix]) => ({ source: `packages/${folder}/${name}`, page: `packages/${folder}${suffix}.md` }));
  });
}

/** Every document that has a page, sorted within `docs`, packages and root. */
export function documents(): readonly Document[] {
  const atTheRoot = Object.entries(AT_THE_ROOT).map(([source, page]) => ({ source, page }));
  return [...atTheRoot, ...underDocs(), ...ofPackages()];
}
