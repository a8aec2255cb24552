import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Failure, Figures } from "./gates/gate.ts";

/** One batch of a gate. */
export interface BatchLine {
  readonly gate: string;
  /** When it ended, RFC 3339. */
  readonly at: string;
  /** The commit of the checkout, short; with `+` if files were changed. */
  readonly commit: string;
  /** Hash of the sources that matter to this gate. */
  readonly sources: string;
  /** The first seed, and the last one. */
  readonly from: number;
  readonly to: number;
  readonly count: number;
  readonly figures: Figures;
  readonly failures: readonly Failure[];
  readonly seconds: number;
  /** Hash of what ran and judged. The first batches have neither this nor what follows. */
  readonly judge?: string;
  /** Version of Node.js. */
  readonly node?: string;
  /** How many ran at the same time, at most. */
  readonly jobs?: number;
}

/** In place of a batch's hash of sources: they were another's when it ended. Its count is of no code. */
export const SOURCES_CHANGED = "changed";

/** A failure that was mended. Of two lines about one failure and one commit the later one holds. */
export interface MendedLine {
  readonly mended: {
    readonly gate: string;
    readonly seed: string;
    readonly commit: string;
    /** What the commit changed: sources that the gate proves, or what runs and judges alone. Old lines do not say. */
    readonly in?: "sources" | "judge";
  };
}

/** The sources of a gate at a commit: one hash by the list that its batches had, and another by a later list. */
export interface RehashedLine {
  readonly rehashed: {
    readonly gate: string;
    readonly commit: string;
    readonly was: string;
    readonly is: string;
  };
}

export type ResultLine = BatchLine | MendedLine | RehashedLine;

/** A line of the file that is no result. */
export class ResultsError extends Error {
  override readonly name = "ResultsError";
}

const BATCH_MEMBERS = {
  gate: "string",
  at: "string",
  commit: "string",
  sources: "string",
  from: "number",
  to: "number",
  count: "number",
  figures: "object",
  failures: "object",
  seconds: "number",
} as const;

export function isBatch(line: ResultLine): line is BatchLine {
  return "gate" in line;
}

export function isMended(line: ResultLine): line is MendedLine {
  return "mended" in line;
}

export function isRehashed(line: ResultLine): line is RehashedLine {
  return "rehashed" in line;
}

/** All lines, oldest first; none if there is no file. */
export function readResults(path: string): readonly ResultLine[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  if (lines.pop() !== "") throw new ResultsError(`${path} does not end with a whole line`);
  return lines.map((line, at) => {
    const parsed = parseLine(line);
    if (parsed === null) throw new ResultsError(`${path}, line ${at + 1}, is no result`);
    return parsed;
  });
}

/** Nothing is ever removed from the file. */
export function appendResult(path: string, line: ResultLine): void {
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, `${JSON.stringify(line)}\n`);
}

function parseLine(text: string): ResultLine | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value)) return null;
  if (isRecord(value["mended"])) {
    return hasOnly(value["mended"], { gate: "string", seed: "string", commit: "string" }, { in: "string" })
      ? (value as unknown as MendedLine)
      : null;
  }
  if (isRecord(value["rehashed"])) {
    return hasOnly(value["rehashed"], { gate: "string", commit: "string", was: "string", is: "string" })
      ? (value as unknown as RehashedLine)
      : null;
  }
  const isWhole =
    hasOnly(value, BATCH_MEMBERS, { judge: "string", node: "string", jobs: "number" }) &&
    isRecord(value["figures"]) &&
    Object.values(value["figures"]).every((figure) => typeof figure === "number") &&
    Array.isArray(value["failures"]) &&
    value["failures"].every((each) => isRecord(each) && hasOnly(each, { seed: "string", what: "string" }));
  return isWhole ? (value as unknown as BatchLine) : null;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type Types = Readonly<Record<string, string>>;

function hasOnly(value: Readonly<Record<string, unknown>>, wanted: Types, optional: Types = {}): boolean {
  const types: Types = { ...wanted, ...optional };
  return (
    Object.keys(wanted).every((name) => name in value) &&
    Object.entries(value).every(([name, member]) => types[name] === typeof member)
  );
}
