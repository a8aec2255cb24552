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
}

/** A failure that was mended. */
export interface MendedLine {
  readonly mended: { readonly gate: string; readonly seed: string; readonly commit: string };
}

export type ResultLine = BatchLine | MendedLine;

/** A line of the file that is no result. */
export class ResultsError extends Error {
  override readonly name = "ResultsError";
}

export function isBatch(line: ResultLine): line is BatchLine {
  return "gate" in line;
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
    return hasOnly(value["mended"], { gate: "string", seed: "string", commit: "string" })
      ? (value as unknown as MendedLine)
      : null;
  }
  const isWhole =
    hasOnly(value, {
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
    }) &&
    isRecord(value["figures"]) &&
    Object.values(value["figures"]).every((figure) => typeof figure === "number") &&
    Array.isArray(value["failures"]) &&
    value["failures"].every((each) => isRecord(each) && hasOnly(each, { seed: "string", what: "string" }));
  return isWhole ? (value as unknown as BatchLine) : null;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasOnly(value: Readonly<Record<string, unknown>>, members: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(members);
  return Object.keys(value).length === names.length && names.every((name) => typeof value[name] === members[name]);
}
