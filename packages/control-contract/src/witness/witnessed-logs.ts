/** The logs that a node witnesses, in the format `logs/v0` in which operators of public witnesses exchange them. */
import { NoteError, parseVkey, verifyKnownLines } from "@event-anchoring/protocol";
import type { Crypto, Sha256, SubmittedCheckpoint, Vkey } from "@event-anchoring/protocol";

const HEADER = "logs/v0";
const LOGS_MAX = 256;
const TEXT_LENGTH_MAX = 262_144;
const ORIGIN_LENGTH_MAX = 1024;
/** Heads that a log may have cosigned in a day if its entry does not say: one a second. */
const HEADS_PER_DAY_DEFAULT = 86_400;
const KEYS_OF_LOG_MAX = 4;
const NUMBER = /^(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?$/;
// eslint-disable-next-line no-control-regex -- what no line of a note may contain
const CONTROL_CHARACTER = /[\u0000-\u001f]/;

export interface WitnessedLog {
  /** First line of its checkpoints. */
  readonly origin: string;
  /** Any one of them is enough. */
  readonly vkeys: readonly Vkey[];
  /** How many new heads of it are cosigned in a day. */
  readonly headsPerDay: number;
}

/** The list cannot be read; the message names the line. */
export class WitnessedLogsError extends Error {
  override readonly name = "WitnessedLogsError";
}

interface Entry {
  readonly vkey: Vkey;
  origin: string;
  headsPerDay: number | null;
}

/**
 * Reads the list: the line `logs/v0`, then entries. `vkey <verifier key>` begins an entry; `origin <text>`, if the
 * origin is not the key's name, `qpd <queries a day>` and `contact <text>` may follow. Empty lines and lines that begin
 * with `#` count for nothing. Entries of one origin are keys of one log.
 * @returns by origin
 * @throws WitnessedLogsError
 */
export function parseWitnessedLogs(text: string, sha256: Sha256): ReadonlyMap<string, WitnessedLog> {
  if (text.length > TEXT_LENGTH_MAX) throw new WitnessedLogsError(`over ${TEXT_LENGTH_MAX} characters`);
  const lines = text
    .split("\n")
    .map((line, at) => ({ line: line.trim(), number: at + 1 }))
    .filter(({ line }) => line !== "" && !line.startsWith("#"));
  if (lines.shift()?.line !== HEADER) throw new WitnessedLogsError(`the first line is not ${HEADER}`);
  const entries: Entry[] = [];
  for (const { line, number } of lines) {
    try {
      readLine(entries, line, sha256);
    } catch (error) {
      if (!(error instanceof WitnessedLogsError) && !(error instanceof NoteError)) throw error;
      throw new WitnessedLogsError(`line ${number}: ${error.message}`, { cause: error });
    }
  }
  return logsOf(entries);
}

function readLine(entries: Entry[], line: string, sha256: Sha256): void {
  const [, word = "", value = ""] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
  if (word === "vkey") {
    const vkey = parseVkey(value, sha256);
    entries.push({ vkey, origin: vkey.name, headsPerDay: null });
    return;
  }
  const entry = entries.at(-1);
  if (entry === undefined) throw new WitnessedLogsError("an entry begins with `vkey`");
  if (word === "origin") {
    const isLegal = value !== "" && value.length <= ORIGIN_LENGTH_MAX && !CONTROL_CHARACTER.test(value);
    if (!isLegal) throw new WitnessedLogsError("not an origin");
    entry.origin = value;
  } else if (word === "qpd") {
    if (!NUMBER.test(value) || Number(value) === 0) throw new WitnessedLogsError("not a number of queries a day");
    entry.headsPerDay = Number(value);
  } else if (word !== "contact") {
    throw new WitnessedLogsError("neither vkey nor origin, qpd or contact, and a value");
  }
}

function logsOf(entries: readonly Entry[]): ReadonlyMap<string, WitnessedLog> {
  const logs = new Map<string, WitnessedLog>();
  for (const { vkey, origin, headsPerDay } of entries) {
    const known = logs.get(origin);
    const vkeys = [...(known?.vkeys ?? []), vkey];
    if (vkeys.length > KEYS_OF_LOG_MAX) throw new WitnessedLogsError(`over ${KEYS_OF_LOG_MAX} keys of ${origin}`);
    const said = Math.max(known?.headsPerDay ?? 0, headsPerDay ?? HEADS_PER_DAY_DEFAULT);
    logs.set(origin, { origin, vkeys, headsPerDay: said });
  }
  if (logs.size > LOGS_MAX) throw new WitnessedLogsError(`${logs.size} logs, at most ${LOGS_MAX}`);
  return logs;
}

/** Whether a key of the log has signed it, and no line of such a key is bad: such a note is malformed (signed-note). */
export function isSignedByLog(
  { note }: Pick<SubmittedCheckpoint, "note">,
  { vkeys }: WitnessedLog,
  { ed25519Verify }: Pick<Crypto, "ed25519Verify">,
): boolean {
  const { verified, refusal } = verifyKnownLines(note, vkeys, ed25519Verify);
  return refusal === null && verified.length > 0;
}
