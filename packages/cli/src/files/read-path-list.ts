import type { Readable } from "node:stream";
import { CliError, EXIT } from "../terminal/cli-error.ts";

const LIST_BYTES_MAX = 256 * 1024 * 1024;

/** Paths, one a line or each before a NUL; empty lines are left out. */
export async function readPathList(input: Readable, isNul: boolean): Promise<readonly string[]> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk as Uint8Array | string);
    length += bytes.length;
    if (length > LIST_BYTES_MAX) throw new CliError(EXIT.usage, "list_too_long", "the list of paths is too long");
    chunks.push(bytes);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  return text
    .split(isNul ? "\0" : "\n")
    .map((line) => (isNul ? line : line.replace(/\r$/u, "")))
    .filter((line) => line !== "");
}
