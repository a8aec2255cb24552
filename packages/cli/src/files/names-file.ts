/** A file of names, as a person gives it: `--names`. docs/names.md */
import { NAMES_LIMITS, NamesError, parseNames } from "@event-anchoring/bundle";
import type { NameFile } from "@event-anchoring/bundle";
import { attributeTypeName } from "@event-anchoring/protocol";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { readText } from "./read-input.ts";

/** For commands that show records. */
export const NAMES = ["--names <file>", "show names beside hashes, from this file: they prove nothing"] as const;

export interface NamesFlags {
  readonly names?: string;
}

export const NO_NAMES: NameFile = { hashes: new Map(), attributeTypes: new Map(), statements: new Map() };

/** @throws CliError `usage` */
function readNames(path: string): NameFile {
  try {
    return parseNames(readText(path, NAMES_LIMITS.bytesMax));
  } catch (error) {
    if (!(error instanceof NamesError)) throw error;
    throw new CliError(EXIT.usage, error.code, `${path}: ${error.message}`);
  }
}

export function namesOf({ names }: NamesFlags): NameFile {
  return names === undefined ? NO_NAMES : readNames(names);
}

/** `0x1 role` */
export function attributeTypeText(value: number, { attributeTypes }: NameFile): string {
  const name = attributeTypes.get(value) ?? attributeTypeName(value);
  return `0x${value.toString(16)}${name === null ? "" : ` ${name}`}`;
}
