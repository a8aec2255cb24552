import { open, rename, rm } from "node:fs/promises";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { bytesToHex } from "@event-anchoring/protocol";
import { asCliError, assertWritable, readText } from "../files/read-input.ts";
import { unpackBackup } from "../keeping/packed-backup.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { manifestJson, withBackup } from "./backup.ts";

const PRIVATE = 0o600;
const KEY_FILE_BYTES_MAX = 64 * 1024;

/** Secret keys in a file as age-keygen writes it: one a line, comments with #. @throws CliError `usage` */
export function readIdentities(path: string): readonly string[] {
  const lines = readText(path, KEY_FILE_BYTES_MAX)
    .split("\n")
    .map((line) => line.trim());
  const identities = lines.filter((line) => line !== "" && !line.startsWith("#"));
  if (identities.length > 0) return identities;
  throw new CliError(EXIT.usage, "identity_missing", `${path}: there is no secret key in it`);
}

/** `anchorctl backup key`: a key of age, in a file as age-keygen writes it. */
export async function backupKeyCommand(path: string, isJson: boolean, printer: Printer): Promise<ExitCode> {
  const identity = await generateX25519Identity();
  const recipient = await identityToRecipient(identity);
  try {
    const file = await open(path, "wx", PRIVATE);
    try {
      await file.writeFile(`# public key: ${recipient}\n${identity}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    throw asCliError(path, "write", error);
  }
  if (isJson) printer.json({ file: path, recipient });
  else {
    printer.check("pass", "secret key", `${path}: without it, nothing that is encrypted to it can be read`);
    printer.check("pass", "recipient", recipient);
  }
  return EXIT.ok;
}

export interface UnpackOptions {
  readonly path: string;
  readonly identities: readonly string[];
  readonly out: string;
  readonly isJson: boolean;
}

/** `anchorctl backup unpack`: a kept backup as the file that verify and restore take. */
export async function unpackBackupCommand(
  { path, identities, out, isJson }: UnpackOptions,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  assertWritable(out);
  const bytes = await unpackTo(path, identities, out, progress);
  await withBackup(out, async (file) => {
    if (isJson) printer.json({ file: out, bytes, sha256: bytesToHex(file.sha256), ...manifestJson(file.manifest) });
    else {
      printer.check("pass", "unpacked", `${out}, ${bytes} bytes`);
      printer.check("skip", "verified", `nothing yet. ${printer.next("backup", "verify", out)}`);
    }
  });
  return EXIT.ok;
}

/** The file gets its name when all of it is there; an existing one is never overwritten. @returns its bytes */
export async function unpackTo(
  path: string,
  identities: readonly string[],
  out: string,
  progress: Progress,
): Promise<number> {
  const taken = await open(out, "wx", PRIVATE).catch((error: unknown) => {
    throw asCliError(out, "write", error);
  });
  await taken.close();
  const partial = `${out}.partial`;
  let bytes = 0;
  try {
    const file = await open(partial, "w", PRIVATE);
    try {
      await unpackBackup(path, identities, async (piece) => {
        await file.appendFile(piece);
        bytes += piece.length;
        progress.say(`${bytes} bytes unpacked`);
      });
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, out);
  } catch (error) {
    for (const each of [partial, out]) await rm(each, { force: true });
    throw asCliError(path, "read", error);
  }
  progress.end();
  return bytes;
}
