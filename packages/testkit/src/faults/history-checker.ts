import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface HistoryVerdict {
  readonly verdict: "linearizable" | "not linearizable" | "invalid" | "undecided";
  readonly reason: string;
  readonly operations: number;
  readonly open: number;
  readonly faults: number;
  readonly writes_before: number;
  readonly reads_before: number;
}

export interface HistoryLimits {
  /** Acknowledged before the first fault, at least. */
  readonly writesBefore: number;
  readonly readsBefore: number;
}

const BUILD_TIMEOUT_MS = 240_000;
const JUDGE_TIMEOUT_MS = 300_000;

/** The checker of `test/linearizability`: porcupine, compiled here. Go is needed. */
export class HistoryChecker {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** @param sources the folder of the Go module. Says why there is no checker on this machine. */
  static build(sources: string): HistoryChecker | { readonly missing: string } {
    const go = spawnSync("go", ["version"], { encoding: "utf8" });
    if (go.status !== 0) return { missing: `Go is not installed (${go.error?.message ?? go.stderr.trim()})` };
    const options = { cwd: sources, encoding: "utf8", timeout: BUILD_TIMEOUT_MS } as const;
    const fetched = spawnSync("go", ["mod", "download"], options);
    if (fetched.status !== 0) return { missing: `porcupine cannot be fetched: ${fetched.stderr.trim()}` };
    const folder = mkdtempSync(join(tmpdir(), "anchoring-checker-"));
    const built = spawnSync("go", ["build", "-o", join(folder, "check"), "."], options);
    if (built.status === 0) return new HistoryChecker(folder);
    rmSync(folder, { recursive: true });
    throw new Error(`the checker does not compile: ${built.stderr}`);
  }

  judge(path: string, { writesBefore, readsBefore }: HistoryLimits): HistoryVerdict {
    const limits = [`-min-writes=${writesBefore}`, `-min-reads=${readsBefore}`];
    const { stdout, stderr } = spawnSync(join(this.#folder, "check"), [...limits, path], {
      encoding: "utf8",
      timeout: JUDGE_TIMEOUT_MS,
    });
    if (stdout === "") throw new Error(`the checker said nothing: ${stderr}`);
    return JSON.parse(stdout) as HistoryVerdict;
  }

  close(): void {
    rmSync(this.#folder, { recursive: true });
  }
}
