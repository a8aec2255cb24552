import { looksLikeNames } from "@event-anchoring/bundle";
import { readText } from "../files/read-input.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";

const FILE_BYTES_MAX = 1024 * 1024;
/** What else a file of names has names for. */
const NO_ENTITY = /^(attribute|scope)[ \t]/u;
const LINE = /^([0-9a-f]{64})(?:\s.*)?$/iu;

/**
 * Entity fingerprints, one a line, with or without a name behind it: a file of names (docs/names.md) is one as well.
 * @throws CliError `usage`
 */
export function readWatchedEntities(path: string): ReadonlySet<string> {
  const entities = new Set<string>();
  const all = readText(path, FILE_BYTES_MAX);
  const isNames = looksLikeNames(all);
  for (const [at, line] of all.split(/\r?\n/u).entries()) {
    const text = line.trim();
    if (text === "" || text.startsWith("#") || (isNames && NO_ENTITY.test(text))) continue;
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
