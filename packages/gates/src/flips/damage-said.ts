/** What a program says of files that it cannot use. */
const DAMAGE = new RegExp(
  [
    "invalid (?:page|record|value|data|key)",
    "corrupt|damaged|checksum|malformed|mismatch|cache lookup failed|unexpected (?:zero page|data|page)",
    "do(?:es)? not match|not (?:as|what) it|could not (?:read|open|access)|cannot be read",
    "no start line|PEM|asn1|x509|certificate|signature|bad decrypt|hello_refused_by_peer",
  ].join("|"),
  "iu",
);
/** Levels at which the programs of a node, and Postgres, say that something is wrong. */
const TROUBLE = /"level":"(?:warn|error|fatal)"|\b(?:WARNING|ERROR|FATAL|PANIC):/u;
/** The last word of a program that does not start. */
const LAST_WORD = /^(?:api|control-plane): /u;

/**
 * The first line of a node's logs that says why the node does not serve; null: they say nothing, and the node may be
 * merely slow.
 */
export function damageSaid(logs: string): string | null {
  const isReason = (line: string): boolean => LAST_WORD.test(line) || (TROUBLE.test(line) && DAMAGE.test(line));
  return logs.split("\n").find(isReason) ?? null;
}
