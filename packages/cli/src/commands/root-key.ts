import {
  PASSPHRASE_CHARACTERS_MIN,
  PrivateFileError,
  createOperatorKey,
  createRootKey,
} from "@event-anchoring/provision";
import { formatVkey } from "@event-anchoring/protocol";
import { askPerson } from "../terminal/ask-person.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { ProgramIo } from "../terminal/program-io.ts";
import type { Printer } from "../terminal/printer.ts";
import { readText } from "../files/read-input.ts";

const PASSPHRASE_BYTES_MAX = 4096;

/** Whose signatures a key makes: a holder of root keys, or an operator. */
export type KeyRole = "root" | "operator";

const DRAW = { root: createRootKey, operator: createOperatorKey } as const;

export interface NewRootKeyOptions {
  readonly role: KeyRole;
  readonly path: string;
  readonly label: string;
  readonly clusterName: string;
  /** Keep the key unencrypted: everybody who can read the file has it. */
  readonly isPlain: boolean;
  readonly passphraseFile: string | null;
  readonly isJson: boolean;
}

/** `anchorctl root init` and `anchorctl operator init`: draws the key of one person. Needs no network. */
export async function initKeyCommand(options: NewRootKeyOptions, io: ProgramIo, printer: Printer): Promise<ExitCode> {
  const { role, path, label, clusterName, isPlain, isJson } = options;
  const passphrase = isPlain ? null : await newPassphrase(options.passphraseFile, io);
  const { vkey } = await asUsage(() => DRAW[role]({ path, clusterName, label, passphrase }));
  if (isJson) {
    printer.json({ name: vkey.name, vkey: formatVkey(vkey), path, sealed: !isPlain });
    return EXIT.ok;
  }
  printer.check("pass", `${role} key`, vkey.name);
  printer.check(isPlain ? "warn" : "pass", "private", isPlain ? `${path}, not sealed` : `${path}, sealed`);
  printer.check("skip", "public", `${path}.pub, for the proposer of the next trust root:`);
  printer.line(formatVkey(vkey));
  return EXIT.ok;
}

/** Asked for twice, or the first line of a file. */
async function newPassphrase(file: string | null, io: ProgramIo): Promise<string> {
  if (file !== null) return passphraseOf(file);
  const ask = (question: string): Promise<string> => askPassphrase(io, question);
  const first = await ask(`Passphrase for the new key (${PASSPHRASE_CHARACTERS_MIN} characters at least): `);
  if ((await ask("Once more: ")) === first) return first;
  throw new CliError(EXIT.usage, "passphrase_differs", "the two passphrases differ");
}

function askPassphrase(io: ProgramIo, question: string): Promise<string> {
  const instead = "no terminal to ask for a passphrase: give --passphrase-file";
  return askPerson(io, question, { isHidden: true, instead });
}

function passphraseOf(file: string): string {
  return readText(file, PASSPHRASE_BYTES_MAX).split(/\r?\n/u)[0] ?? "";
}

/** The passphrase of a key that is there. */
export function existingPassphrase(file: string | null, keyPath: string, io: ProgramIo): () => Promise<string> {
  return async () => (file === null ? askPassphrase(io, `Passphrase of ${keyPath}: `) : passphraseOf(file));
}

/** What is wrong with a file or a value that the person gave. */
export async function asUsage<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PrivateFileError) throw new CliError(EXIT.usage, `file_${error.code}`, error.message, error);
    if (error instanceof RangeError) throw new CliError(EXIT.usage, "value_invalid", error.message, error);
    throw error;
  }
}
