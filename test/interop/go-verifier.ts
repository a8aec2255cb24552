/** The libraries of others, in one program of Go: built once for a suite, and asked line by line. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("verifier", import.meta.url));
/** Of Go 1: what verifier/go.mod asks for. */
const GO_MINOR = 26;
const ENVIRONMENT = { ...process.env, GOFLAGS: "-mod=readonly", GOTOOLCHAIN: "local", GOWORK: "off" };

/** What the program answers. verifier/main.go says what each member means. */
export interface Verdict {
  readonly accepted: boolean;
  readonly step?: string;
  readonly reason?: string;
  readonly signers?: readonly string[];
  readonly origin?: string;
  readonly size?: number;
  readonly threshold?: number;
  readonly addresses?: readonly string[];
  readonly leaves?: number;
}

export interface Question {
  readonly ask: "note" | "policy" | "quorum" | "checkpoint" | "receipt" | "bundle" | "inclusion" | "consistency";
  readonly [input: string]: unknown;
}

/** Why there can be no verifier on this machine; null: Go is here, and so are the modules. */
export function whatGoLacks(): string | null {
  const { stdout } = spawnSync("go", ["env", "GOVERSION"], { encoding: "utf8", env: ENVIRONMENT, cwd: tmpdir() });
  const [, minor = "0"] = /^go1\.(\d+)/u.exec(stdout ?? "") ?? [];
  if (Number(minor) < GO_MINOR) return `there is no Go 1.${GO_MINOR} here`;
  const download = spawnSync("go", ["mod", "download"], { cwd: FOLDER, env: ENVIRONMENT, encoding: "utf8" });
  if (download.status === 0) return null;
  // What CI leaves out is not proved: there, modules that cannot be had are a failure.
  if (process.env["CI"] !== undefined) throw new Error(`go mod download: ${download.stderr}`);
  return `the modules of test/interop/verifier cannot be had: ${download.stderr.trim()}`;
}

export class GoVerifier {
  readonly #home: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting: { resolve(line: string): void; reject(error: Error): void }[] = [];
  #stderr = "";

  /** Builds and starts it: seconds if Go has its libraries compiled, else half a minute. */
  constructor() {
    this.#home = mkdtempSync(join(tmpdir(), "anchoring-interop-"));
    const program = join(this.#home, "verifier");
    const args = ["build", "-trimpath", "-buildvcs=false", "-o", program, "."];
    execFileSync("go", args, { cwd: FOLDER, env: ENVIRONMENT });
    this.#child = spawn(program);
    this.#child.stderr.on("data", (chunk: Buffer) => (this.#stderr += chunk.toString()));
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#waiting.shift()?.resolve(line));
    this.#child.on("close", (code) => {
      const error = new Error(`the verifier ended with ${code}: ${this.#stderr}`);
      this.#waiting.splice(0).forEach(({ reject }) => reject(error));
    });
  }

  async judge(question: Question): Promise<Verdict> {
    const line = await new Promise<string>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#child.stdin.write(`${JSON.stringify(question)}\n`);
    });
    return JSON.parse(line) as Verdict;
  }

  end(): void {
    this.#child.stdin.end();
    rmSync(this.#home, { recursive: true });
  }
}
