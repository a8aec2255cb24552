import { readText } from "../files/read-input.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";

const FILE_BYTES_MAX = 1024 * 1024;
const LINE = /^([0-9a-f]{64})(?:\s.*)?$/iu;

/**
 * Entity fingerprints, one a line, with or without a name behind it: a file of names of the proof page is one as well.
 * @throws CliError `usage`
 */
export function readWatchedEntities(path: string): ReadonlySet<string> {
  const entities = new Set<string>();
  for (const [at, line] of readText(path, FILE_BYTES_MAX).split(/\r?\n/u).entries()) {
    const text = line.trim();
    if (text === "" || text.startsWith("#")) continue;
    const [, hex = ""] = LINE.exec(text) ?? [];
    if (hex === "") throw malformed(`${path}: line ${at + 1} does not begin with an entity fingerprint, 64 hex digits`);
    entities.add(hex.toLowerCase());
  }
  if (entities.size === 0) throw malformed(`${path} names no entity`);
  return entities;
}

function malformed(message: string): CliError {
  return new CliError(EXIT.usage, "entities_malformed", message);
}
