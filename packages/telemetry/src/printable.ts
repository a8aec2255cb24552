/** What a log line may say of a value: whatever is thrown at the logger, no secret is printed. */

const REDACTED = "[redacted]";
const DEPTH_MAX = 6;
const ITEMS_MAX = 100;
const CHARACTERS_MAX = 8192;

/** How names of secrets end, without case and punctuation: `log_seed`, `privateKey`, `OTEL_EXPORTER_OTLP_HEADERS`. */
const SECRET_NAME =
  /(authorization|cookie|apikey|passw(or)?d|passphrase|secret|seed|privatekey|token|credentials|otlp\w*headers|pem)$/;
/** Keys of this service, wherever they stand. */
const API_KEY = /ank_[0-9A-Za-z]{43,}/g;
const BEARER = /\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi;
const PEM_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g;
const URL_PASSWORD = /\b([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*):[^\s@]*@/gi;

/**
 * A copy that can be written as JSON, in which secrets are replaced: by the name they go by, by their form, and every
 * array of bytes by its length. Bounded in depth, breadth and length; cycles are cut.
 */
export function printable(value: unknown): unknown {
  return copyOf(value, 0, new Set());
}

/** A text without what looks like a secret in it. */
export function printableText(text: string): string {
  const masked = text
    .replace(PEM_KEY, REDACTED)
    .replace(API_KEY, REDACTED)
    .replace(BEARER, `$1 ${REDACTED}`)
    .replace(URL_PASSWORD, `$1:${REDACTED}@`);
  return masked.length > CHARACTERS_MAX ? `${masked.slice(0, CHARACTERS_MAX)}…` : masked;
}

function copyOf(value: unknown, depth: number, above: ReadonlySet<object>): unknown {
  if (typeof value === "string") return printableText(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "function" || typeof value === "symbol") return `[${typeof value}]`;
  if (typeof value !== "object" || value === null) return value;
  if (above.has(value) || depth >= DEPTH_MAX) return "[…]";
  const path = new Set(above).add(value);
  if (value instanceof Error) return errorOf(value, depth, path);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "invalid date" : value.toISOString();
  if (value instanceof URL) return printableText(value.href);
  if (Array.isArray(value)) return value.slice(0, ITEMS_MAX).map((item) => copyOf(item, depth + 1, path));
  if (value instanceof Set) return copyOf([...value], depth, above);
  return fieldsOf(value instanceof Map ? [...value] : Object.entries(value), depth, path);
}

function fieldsOf(
  entries: readonly (readonly [unknown, unknown])[],
  depth: number,
  path: ReadonlySet<object>,
): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [key, inner] of entries.slice(0, ITEMS_MAX)) {
    const name = printableText(String(key));
    if (inner !== undefined) fields[name] = isSecretName(name) ? REDACTED : copyOf(inner, depth + 1, path);
  }
  return fields;
}

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.toLowerCase().replaceAll(/[^a-z0-9]/g, ""));
}

/** What a person needs of an error. Anything else that hangs on it, such as the headers of a request, stays off. */
function errorOf(error: Error, depth: number, path: ReadonlySet<object>): Record<string, unknown> {
  const { name, message, stack, cause } = error;
  const code =
    "code" in error && (typeof error.code === "string" || typeof error.code === "number") ? error.code : null;
  return {
    type: printableText(name),
    message: printableText(message),
    ...(code === null ? {} : { code: copyOf(code, depth, path) }),
    ...(stack === undefined ? {} : { stack: printableText(stack) }),
    ...(cause === undefined ? {} : { cause: copyOf(cause, depth + 1, path) }),
  };
}
