import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { build } from "vitepress";
import { CHECKOUT } from "./checkout.ts";
import { documents } from "./documents.ts";
import { startPage } from "./start-page.ts";

const PACKAGE = join(CHECKOUT, "packages/site");
const PROOF_PAGE = join(CHECKOUT, "packages/explorer/scripts/build-page.js");

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Everything that VitePress reads, in a folder of its own: another build may run beside this one. */
function stage(folder: string): void {
  for (const { source, page } of documents()) {
    mkdirSync(dirname(join(folder, page)), { recursive: true });
    cpSync(join(CHECKOUT, source), join(folder, page));
  }
  write(join(folder, "index.md"), startPage());
  cpSync(join(PACKAGE, "demo"), join(folder, "public/demo"), { recursive: true });
  cpSync(join(PACKAGE, "icon.svg"), join(folder, "public/icon.svg"));
  execFileSync(process.execPath, [PROOF_PAGE, join(folder, "public/verify.html")], { stdio: "inherit" });
  for (const [name, taken] of [
    ["config.js", "config.js"],
    ["theme/index.js", "theme.js"],
  ] as const) {
    const path = join(folder, ".vitepress", name);
    const from = relative(dirname(path), join(PACKAGE, "vitepress", taken));
    write(path, `export { default } from ${JSON.stringify(from)};\n`);
  }
}

/**
 * Builds the site. The same sources make the same bytes: no time, path or chance goes in.
 * @param target a folder, replaced as a whole
 * @throws Error if a link between pages is dead, or a page is in no part of the list of pages
 */
export async function buildSite(target: string): Promise<void> {
  mkdirSync(join(PACKAGE, "dist"), { recursive: true });
  // Inside the package: what the pages import is found from there.
  const folder = mkdtempSync(join(PACKAGE, "dist/pages-"));
  try {
    stage(folder);
    await build(folder, { outDir: resolve(target) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
