/** How the last run of each kind has ended, kept in the folder of the backups. */
import { join } from "node:path";
import { replaceDurably } from "../files/read-input.ts";
import { parseJson, readIfThere } from "./kept-folder.ts";
import type { KeptFolder } from "./kept-folder.ts";

/** `keep` makes a backup; `drill` restores the newest one. */
type RunKind = "keep" | "drill";

export interface LastRun {
  readonly atMs: number;
  /** null: it has ended well. */
  readonly failure: string | null;
  /** When one has last ended well; 0: never. */
  readonly successAtMs: number;
  /** The backup that the last good one was about; null: there was none. */
  readonly file: string | null;
}

/** In the folder of the backups. */
export const LAST_RUN_NAMES: Readonly<Record<RunKind, string>> = { keep: "last-keep.json", drill: "last-drill.json" };

/** null: there was none. */
export function readLastRun({ path }: KeptFolder, kind: RunKind): LastRun | null {
  return parseLastRun(readIfThere(join(path, LAST_RUN_NAMES[kind])));
}

/** null: it is not what a run notes. */
export function parseLastRun(text: string): LastRun | null {
  const value = parseJson(text);
  if (value === null) return null;
  const { at, failure, success_at: successAt, file } = value;
  const atMs = Date.parse(String(at));
  if (Number.isNaN(atMs)) return null;
  return {
    atMs,
    failure: typeof failure === "string" ? failure : null,
    successAtMs: typeof successAt === "string" ? Date.parse(successAt) : 0,
    file: typeof file === "string" ? file : null,
  };
}

/** @param outcome the backup that it was about, or how it has failed */
export function noteRun(
  folder: KeptFolder,
  kind: RunKind,
  nowMs: number,
  outcome: { readonly file: string } | { readonly failure: string },
): void {
  const before = readLastRun(folder, kind);
  const isGood = "file" in outcome;
  const successAtMs = isGood ? nowMs : (before?.successAtMs ?? 0);
  const value = {
    at: new Date(nowMs).toISOString(),
    failure: isGood ? null : outcome.failure,
    success_at: successAtMs === 0 ? null : new Date(successAtMs).toISOString(),
    file: isGood ? outcome.file : (before?.file ?? null),
  };
  replaceDurably(join(folder.path, LAST_RUN_NAMES[kind]), `${JSON.stringify(value, null, 2)}\n`, 0o600);
}
