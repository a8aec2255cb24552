/** The libraries of others, in one program of Go: built once for a suite, and asked line by line. */
import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { buildGo } from "./go-program.ts";

/** The folder of its sources. */
export const VERIFIER = "verifier";

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

export class GoVerifier {
  readonly #home: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting: { resolve(line: string): void; reject(error: Error): void }[] = [];
  #stderr = "";

  /** Builds and starts it: seconds if Go has its libraries compiled, else half a minute. */
  constructor() {
    this.#home = mkdtempSync(join(tmpdir(), "anchoring-interop-"));
    const program = join(this.#home, "verifier");
    buildGo(VERIFIER, program);
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
