import { isAbsolute, relative } from "node:path";

export interface CertsTerminal {
  /** Standard output. */
  write(text: string): void;
  error(text: string): void;
  readonly workingDir: string;
  readonly nowMs: number;
}

/** The command line is wrong; the message says what is expected. */
export class CertsUsageError extends Error {
  override readonly name = "CertsUsageError";
}

/** Where the ceremony of docker-compose.yml puts a cluster, from the root of the checkout. */
export const OUT_DIR_DEFAULT = "deploy/.anchoring";
/** For nodes and gateway: long enough for a quarter's holidays, short enough that renewing stays a habit. */
export const LIFETIME_DEFAULT = "90d";

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `90d`, `12h`, `30m`. @returns milliseconds @throws CertsUsageError */
export function parseLifetime(text: string): number {
  const [, digits = "", unit = ""] = /^([1-9][0-9]{0,4})([mhd])$/.exec(text) ?? [];
  if (digits === "") throw new CertsUsageError(`a lifetime is a number with m, h or d, such as 90d, not: ${text}`);
  return Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

export function dateText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Relative to the working folder where it lies below it, else as it is. */
export function shortPath(path: string, workingDir: string): string {
  const short = relative(workingDir, path);
  return short === "" || short.startsWith("..") || isAbsolute(short) ? path : short;
}
