/** Questions to the person at the terminal. */
import { Writable } from "node:stream";
import { createInterface } from "node:readline/promises";
import { CliError, EXIT } from "./cli-error.ts";
import type { ProgramIo } from "./program-io.ts";

const SILENT = new Writable({ write: (_chunk, _encoding, done) => done() });

/**
 * Asks on standard error, so that standard output stays the result.
 * @param options.isHidden what is typed is not shown
 * @throws CliError `usage` with `instead` if there is no terminal
 */
export async function askPerson(
  io: ProgramIo,
  question: string,
  options: { readonly isHidden: boolean; readonly instead: string },
): Promise<string> {
  const { stdin, stderr } = io;
  if (stdin === undefined || !stderr.isTTY) throw new CliError(EXIT.usage, "nobody_to_ask", options.instead);
  stderr.write(question);
  const lines = createInterface({ input: stdin, output: SILENT, terminal: options.isHidden });
  try {
    return await lines.question("");
  } finally {
    lines.close();
    if (options.isHidden) stderr.write("\n");
  }
}
