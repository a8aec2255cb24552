/** How many whole requests some bytes are. */
export interface Framing {
  readonly whole: number;
  /** Whether something follows them that is no whole request: its beginning, or no HTTP at all. */
  readonly hasRest: boolean;
}

const HEAD_END = "\r\n\r\n";
const REQUEST_LINE = /^[A-Z]+ [!-~]+ HTTP\/1\.[01]$/;
const FIELD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t -~]*$/;
const LENGTH = /^content-length:[\t ]*(\d{1,9})[\t ]*$/i;
/** A body in chunks, or one that comes after a word of the server: their ends are not looked for. */
const OTHER_FRAMING = /^(?:transfer-encoding|expect|upgrade):/i;

/**
 * Reads bytes by the grammar of RFC 9112, at its strictest: what is whole here is whole for every server, which owes an
 * answer to it. What is not may still be whole for a lenient one.
 */
export function framingOf(bytes: Buffer): Framing {
  let whole = 0;
  let at = 0;
  while (at < bytes.length) {
    const end = wholeRequestEnd(bytes, at);
    if (end === null) return { whole, hasRest: true };
    whole += 1;
    at = end;
  }
  return { whole, hasRest: false };
}

/** Where the request that begins at `from` ends; null: it is not whole, or none. */
function wholeRequestEnd(bytes: Buffer, from: number): number | null {
  const headEnd = bytes.indexOf(HEAD_END, from, "latin1");
  if (headEnd < 0) return null;
  const [line = "", ...fields] = bytes.toString("latin1", from, headEnd).split("\r\n");
  if (!REQUEST_LINE.test(line) || !fields.every((field) => FIELD.test(field))) return null;
  if (fields.some((field) => OTHER_FRAMING.test(field))) return null;
  const lengths = fields.filter((field) => /^content-length:/i.test(field)).map((field) => LENGTH.exec(field)?.[1]);
  if (lengths.length > 1 || (lengths.length === 1 && lengths[0] === undefined)) return null;
  const end = headEnd + HEAD_END.length + Number(lengths[0] ?? 0);
  return end <= bytes.length ? end : null;
}
