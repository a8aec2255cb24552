import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Gate } from "./gates/gate.ts";
import { type BatchLine, type RehashedLine, type ResultLine, SOURCES_CHANGED, isBatch } from "./results.ts";
import { sourcesHash } from "./sources-hash.ts";
import { batchesOf } from "./totals.ts";

/**
 * When a gate's list of sources grows, its hash is another one. Batches that ran at a commit whose sources are, by the
 * list as it is, those of the present code count for that code. Those of changed checkouts are not known, and do not.
 * @param hashOf the hash of a gate's sources as they are
 * @param hashAt the same at a commit; null: there is none
 * @returns a line for each commit of each gate whose batches count again
 */
export function rehash(
  gates: readonly Gate[],
  lines: readonly ResultLine[],
  hashOf: (gate: Gate) => string,
  hashAt: (commit: string, gate: Gate) => string | null,
): readonly RehashedLine[] {
  return gates.flatMap((gate) => {
    const is = hashOf(gate);
    const counted = new Set(batchesOf(lines, gate.name, is));
    const others = lines.filter(isBatch).filter((batch) => batch.gate === gate.name && !counted.has(batch));
    const places = new Map(others.filter(isOfACommit).map((batch) => [`${batch.commit} ${batch.sources}`, batch]));
    return [...places.values()]
      .filter(({ commit }) => hashAt(commit, gate) === is)
      .map(({ commit, sources: was }) => ({ rehashed: { gate: gate.name, commit, was, is } }));
  });
}

/** Whether a batch ran on what its commit has. */
function isOfACommit({ commit, sources }: BatchLine): boolean {
  return !commit.endsWith("+") && sources !== SOURCES_CHANGED;
}

/** The files of earlier commits, each in a folder of its own until the end. */
export class EarlierSources {
  readonly #checkout: string;
  /** By commit; null: it is not here. */
  readonly #folders = new Map<string, string | null>();

  constructor(checkout: string) {
    this.#checkout = checkout;
  }

  /** @returns null: the commit is not here, or has not all of these */
  hashAt(commit: string, sources: readonly string[]): string | null {
    let folder = this.#folders.get(commit);
    if (folder === undefined) this.#folders.set(commit, (folder = this.#filesAt(commit)));
    if (folder === null || !sources.every((path) => existsSync(join(folder, path)))) return null;
    return sourcesHash(folder, sources);
  }

  /** Commits that were asked about and are not here, as in a clone without its history. */
  get missing(): readonly string[] {
    return [...this.#folders].filter(([, folder]) => folder === null).map(([commit]) => commit);
  }

  end(): void {
    for (const folder of this.#folders.values()) if (folder !== null) rmSync(folder, { recursive: true });
  }

  #filesAt(commit: string): string | null {
    const folder = mkdtempSync(join(tmpdir(), "anchoring-sources-"));
    const archive = join(folder, "sources.tar");
    try {
      execFileSync("git", ["archive", "--output", archive, commit], { cwd: this.#checkout, stdio: "ignore" });
    } catch {
      rmSync(folder, { recursive: true });
      return null;
    }
    execFileSync("tar", ["--extract", "--file", archive, "--directory", folder]);
    return folder;
  }
}
