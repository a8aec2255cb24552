import { execFile, execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const CHECKOUT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
/** A folder that `npm run release` has made: it is tried in the place of a new one. */
const MADE_BEFORE = process.env["EVENT_ANCHORING_RELEASE"];

export type Environment = Readonly<Record<string, string>>;

/** The files of a release, and empty folders outside the checkout where they are installed. */
export class ReleaseFolder {
  readonly #place = mkdtempSync(join(tmpdir(), "anchoring-installed-"));
  readonly path = MADE_BEFORE === undefined ? join(this.#place, "release") : resolve(CHECKOUT, MADE_BEFORE);
  /** What is too costly to be made twice here. */
  readonly #madeOnce = join(this.#place, "made-once");

  /** Makes these artefacts, unless there is a release already: twice, and fails if the bytes differ. */
  async make(makers: readonly string[], environment: Environment): Promise<void> {
    if (MADE_BEFORE !== undefined) return;
    await this.#make(makers, ["--twice", "--out", this.path], environment);
  }

  /** Likewise, but once. */
  async makeOnce(maker: string): Promise<void> {
    if (MADE_BEFORE !== undefined) return;
    await this.#make([maker], ["--out", this.#madeOnce], {});
  }

  async #make(makers: readonly string[], options: readonly string[], environment: Environment): Promise<void> {
    const only = makers.flatMap((maker) => ["--only", maker]);
    const release = join(CHECKOUT, "packages/release/bin/release.js");
    await this.run(CHECKOUT, process.execPath, [release, "--dry", ...only, ...options], environment);
  }

  /** @returns the path of the one file with such a name */
  file(name: RegExp): string {
    const folders = [this.path, this.#madeOnce].filter((folder) => existsSync(folder));
    const files = folders.flatMap((folder) => readdirSync(folder).map((each) => ({ folder, each })));
    const found = files.filter(({ each }) => name.test(each));
    if (found.length !== 1) throw new Error(`the release has ${found.length} files like ${String(name)}`);
    return found.map(({ folder, each }) => join(folder, each)).join("");
  }

  /** @returns a new folder, outside the checkout */
  emptyFolder(name: string): string {
    const folder = join(this.#place, name);
    mkdirSync(folder);
    return folder;
  }

  /** Runs a program. Nothing of this checkout is in its environment, nor what npm has kept elsewhere. */
  async run(cwd: string, program: string, args: readonly string[], env: Environment = {}): Promise<string> {
    const own = Object.entries(process.env).filter(
      ([name]) => !/^(npm_|NODE_|ANCHOR|EVENT_ANCHORING|PYTHON)/iu.test(name),
    );
    const home = program === "npm" ? { HOME: this.#place } : {};
    const { stdout } = await promisify(execFile)(program, args, {
      cwd,
      env: { ...Object.fromEntries(own), ...home, ...env },
    });
    return stdout;
  }

  npmInstall(folder: string, ...args: string[]): Promise<string> {
    return this.run(folder, "npm", ["install", "--offline", "--no-audit", "--no-fund", ...args]);
  }

  erase(): void {
    rmSync(this.#place, { recursive: true });
  }
}

/**
 * @param replaced other texts in the place of some
 * @returns the first blocks of a README in that language
 */
export function examples(readme: string, language: string, count: number, replaced = new Map<string, string>()) {
  const blocks = [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gmu"))].slice(0, count);
  if (blocks.length !== count) throw new Error(`the README has ${blocks.length} examples in ${language}`);
  return [...replaced].reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`the README's example does not say ${from}`);
      return text.replaceAll(from, to);
    },
    blocks.map(([, block = ""]) => block).join("\n"),
  );
}

/** @returns the line of a README that begins so */
export function lineOf(readme: string, start: string): string {
  const line = readme.split("\n").find((each) => each.startsWith(start));
  if (line === undefined) throw new Error(`the README has no line that begins with ${start}`);
  return line;
}

/** Copies a library that this checkout has for its tests, and what it needs, into the folder of a user. */
export function copyLibrary(name: string, folder: string): void {
  const to = join(folder, "node_modules", name);
  if (existsSync(to)) return;
  const from = join(CHECKOUT, "node_modules", name);
  cpSync(from, to, { recursive: true });
  const manifest = JSON.parse(readFileSync(join(from, "package.json"), "utf8")) as { dependencies?: object };
  for (const needed of Object.keys(manifest.dependencies ?? {})) copyLibrary(needed, folder);
}

/** Whether Rust's target of the static program is on this machine. */
export function hasStaticRust(): boolean {
  const args = ["--print", "target-libdir", "--target", "x86_64-unknown-linux-musl"];
  if (spawnSync("rustc", ["--version"]).status !== 0) return false;
  return existsSync(execFileSync("rustc", args, { encoding: "utf8" }).trim());
}
