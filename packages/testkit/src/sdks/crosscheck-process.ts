/** An SDK of any language as a process that answers lines of JSON. */
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findChromium } from "./find-chromium.ts";

const PACKAGES = fileURLToPath(new URL("../../..", import.meta.url));

export interface SdkCommand {
  readonly language: "TypeScript" | "Python" | "Rust" | "server" | "anchorctl" | "proof page" | "shipped page";
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** What an SDK answers to one line. */
export interface CrosscheckAnswer {
  readonly ok?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: string; readonly field?: string };
}

const scriptOf = (language: SdkCommand["language"], ...path: readonly string[]): SdkCommand => {
  return { language, program: process.execPath, args: [join(PACKAGES, ...path)], environment: {} };
};

export const TYPESCRIPT = scriptOf("TypeScript", "sdk-typescript", "bin", "crosscheck.js");
/** The modules of a node's processes that judge trust roots and checkpoints; asked about nothing else. */
export const SERVER = scriptOf("server", "testkit", "src", "sdks", "crosscheck-server.js");
/** `anchorctl verify`. It judges receipts in text, of a file whose `content` the question has, and bundles. */
export const ANCHORCTL = scriptOf("anchorctl", "cli", "bin", "crosscheck.js");
/** The proof page, by the modules that it is made of. It judges the same, JSON too, and tells what it shows. */
export const PROOF_PAGE = scriptOf("proof page", "explorer", "scripts", "crosscheck.js");

/** The page as it is shipped, in a browser; null: there is none here. */
export function shippedPage(): SdkCommand | null {
  const chromium = findChromium();
  if (chromium === null) return null;
  const page = scriptOf("shipped page", "explorer", "scripts", "crosscheck-page.js");
  return { ...page, args: [...page.args, chromium] };
}

/** A Python that can import this module of the SDK, and the variables for it; null: there is none here. */
export function findPythonWith(module: string): Pick<SdkCommand, "program" | "environment"> | null {
  const source = join(PACKAGES, "sdk-python", "src");
  const named = process.env["EVENT_ANCHORING_PYTHON"];
  const candidates = [...(named === undefined ? [] : [named]), join(PACKAGES, "sdk-python", ".venv", "bin", "python")];
  const environment = { PYTHONPATH: source, PYTHONDONTWRITEBYTECODE: "1" };
  for (const program of [...candidates, "python3"]) {
    if (program.includes("/") && !existsSync(program)) continue;
    const options = { stdio: "ignore", env: { ...process.env, ...environment } } as const;
    if (spawnSync(program, ["-c", `import ${module}`], options).status === 0) return { program, environment };
  }
  return null;
}

function pythonCommand(): SdkCommand | null {
  const module = "event_anchoring._crosscheck";
  const python = findPythonWith(module);
  return python === null ? null : { language: "Python", args: ["-m", module], ...python };
}

const RUST = join(PACKAGES, "sdk-rust");

/** When a file, or the newest one in a folder, was last changed, in ms. */
function lastChange(path: string): number {
  if (!statSync(path).isDirectory()) return statSync(path).mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => lastChange(join(path, name))));
}

/**
 * The newest program of the Rust SDK with this name. What is older than its sources would speak for an SDK that is no
 * more: null.
 * @param folders below the build folder
 * @param sources below the package
 */
export function findRustProgram(folders: readonly string[], name: RegExp, sources: readonly string[]): string | null {
  const target = process.env["CARGO_TARGET_DIR"] ?? join(RUST, "target");
  const programs = folders
    .map((folder) => join(target, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder)
        .filter((file) => name.test(file))
        .map((file) => join(folder, file)),
    )
    .sort((one, other) => lastChange(other) - lastChange(one));
  const newest = programs[0];
  if (newest === undefined) return null;
  const changed = Math.max(...sources.map((source) => lastChange(join(RUST, source))));
  return lastChange(newest) > changed ? newest : null;
}

function rustCommand(): SdkCommand | null {
  const program = findRustProgram(["release/examples", "debug/examples"], /^crosscheck$/, [
    "src",
    "examples/crosscheck.rs",
  ]);
  return program === null ? null : { language: "Rust", program, args: [], environment: {} };
}

/** The SDKs that can be asked on this machine, and why the others cannot. */
export function availableSdks(): { readonly sdks: readonly SdkCommand[]; readonly missing: readonly string[] } {
  const [python, rust] = [pythonCommand(), rustCommand()];
  return {
    sdks: [TYPESCRIPT, ...(python === null ? [] : [python]), ...(rust === null ? [] : [rust])],
    missing: [
      ...(python === null ? ["Python: packages/sdk-python/ci.sh sets up an interpreter with what the SDK needs"] : []),
      ...(rust === null ? ["Rust: `cargo build --example crosscheck` in packages/sdk-rust builds what is asked"] : []),
    ],
  };
}

/** Far longer than any answer takes, whatever else the machine does. */
const ANSWER_TIMEOUT_MS = 60_000;
/** Characters of a question in an error. */
const SHOWN_MAX = 2000;

/** A question that is not answered yet. */
interface AskedLine {
  readonly line: string;
  readonly resolve: (line: string) => void;
  readonly reject: (error: Error) => void;
}

/** Asks one SDK, line by line. */
export class CrosscheckProcess {
  readonly language: SdkCommand["language"];
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting: AskedLine[] = [];
  readonly #timeoutMs: number;
  /** Runs while a question waits, from the last answer on. */
  #timer: NodeJS.Timeout | undefined;
  /** The beginning of an answer that is not whole yet. */
  #unfinished = "";
  #stderr = "";
  /** That the process has ended, and what it said last; null: it runs. */
  #ended: Error | null = null;

  /** @param timeoutMs a question that nothing is answered for so long while it is the next one ends the process */
  constructor(command: SdkCommand, timeoutMs = ANSWER_TIMEOUT_MS) {
    this.language = command.language;
    this.#timeoutMs = timeoutMs;
    this.#child = spawn(command.program, command.args, { env: { ...process.env, ...command.environment } });
    this.#child.stderr.on("data", (chunk: Buffer) => (this.#stderr += chunk.toString()));
    this.#child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (this.#unfinished + chunk).split("\n");
      this.#unfinished = lines.pop() ?? "";
      for (const line of lines) this.#waiting.shift()?.resolve(line);
      if (lines.length > 0) this.#watch();
    });
    // A process that has ended takes no question: its end is what is told.
    this.#child.stdin.on("error", () => {});
    this.#child.on("close", (code) => {
      this.#end(new Error(`${this.language} ended with ${code}: ${this.#stderr.slice(-2000)}`));
    });
  }

  /** The first reason is the one that is told. */
  #end(reason: Error): void {
    this.#ended ??= reason;
    const ended = this.#ended;
    clearTimeout(this.#timer);
    this.#waiting.splice(0).forEach(({ reject }) => reject(ended));
  }

  #watch(): void {
    clearTimeout(this.#timer);
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#timer = setTimeout(() => {
      this.#end(new Error(`${this.language} has not answered in ${this.#timeoutMs} ms: ${shown(next.line)}`));
      // Its next answer would be taken for that to another question.
      this.#child.kill("SIGKILL");
    }, this.#timeoutMs);
  }

  /** @throws Error if the process has ended, before it was asked or meanwhile, or does not answer */
  async ask(question: object): Promise<CrosscheckAnswer> {
    if (this.#ended !== null) throw this.#ended;
    const line = inOneLine(question);
    const answer = await new Promise<string>((resolve, reject) => {
      this.#waiting.push({ line, resolve, reject });
      if (this.#waiting.length === 1) this.#watch();
      this.#child.stdin.write(`${line}\n`);
    });
    return JSON.parse(answer) as CrosscheckAnswer;
  }

  /** What was answered. @throws Error if it was refused */
  async want(question: object): Promise<Readonly<Record<string, unknown>>> {
    const { ok, error } = await this.ask(question);
    if (ok === undefined) throw new Error(`${this.language} refuses: ${JSON.stringify(error)}`);
    return ok;
  }

  end(): void {
    this.#child.stdin.end();
  }
}

/** JSON for readers that end a line at U+2028 and U+2029, too, as `node:readline` does from Node 24 on. */
function inOneLine(question: object): string {
  return JSON.stringify(question).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

function shown(question: string): string {
  return question.length > SHOWN_MAX ? `${question.slice(0, SHOWN_MAX)}…` : question;
}
