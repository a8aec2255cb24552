/**
 * Strict JSON: refuses before parsing whatever two parsers might read differently (RFC 8259 sections 4, 6 and 9 leave
 * it open), so that what is validated here is what every other reader of the same bytes sees.
 */
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./json-codes.ts";
import { LIMITS } from "./limits.ts";

export type JsonFaultCode =
  | "syntax"
  | "too_deep"
  | "too_many_keys"
  | "key_too_long"
  | "too_many_values"
  | "duplicate_key"
  | "forbidden_key"
  | "number_not_digits"
  | "integer_unsafe"
  | "lone_surrogate";

/** The first fault of a text, and where it is. */
export interface JsonFault {
  readonly code: JsonFaultCode;
  /** RFC 6901 pointer to the value that holds the fault. */
  readonly pointer: string;
  readonly detail: string;
}

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** RFC 6901 pointer of a path. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  let pointer = "";
  for (const part of path) {
    pointer += `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`;
  }
  return pointer;
}

/** Thrown inside the scanner and caught at its door. */
class ScanFault extends Error {
  readonly code: JsonFaultCode;
  constructor(code: JsonFaultCode, detail: string) {
    super(detail);
    this.code = code;
  }
}

const INTEGER_DIGITS_MAX = String(LIMITS.integerMax).length;

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isHexDigit(code: number): boolean {
  return isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
}

/** What may follow a backslash, beside `u`. */
const ESCAPED: ReadonlySet<number> = new Set([0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74]);

/**
 * One pass over a text. `path` is where the scan is; it is read only when a fault is reported. Recursion is bounded by
 * `jsonDepthMax`.
 */
class JsonScanner {
  readonly #text: string;
  #offset = 0;
  #values = 0;
  readonly path: (string | number)[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  scan(): void {
    this.#skipSpace();
    this.#value();
    this.#skipSpace();
    if (this.#offset < this.#text.length) this.#syntax("text after the value");
  }

  #syntax(what: string): never {
    throw new ScanFault("syntax", `${what} at character ${this.#offset}`);
  }

  #peek(): number {
    return this.#offset < this.#text.length ? this.#text.charCodeAt(this.#offset) : -1;
  }

  #skipSpace(): void {
    const text = this.#text;
    let at = this.#offset;
    for (let code = text.charCodeAt(at); code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;) {
      at += 1;
      code = text.charCodeAt(at);
    }
    this.#offset = at;
  }

  #value(): void {
    this.#values += 1;
    if (this.#values > LIMITS.jsonValuesMax) {
      throw new ScanFault("too_many_values", `a body has at most ${LIMITS.jsonValuesMax} values`);
    }
    const code = this.#peek();
    if (code === QUOTE) this.#string();
    else if (code === OPEN_OBJECT) this.#object();
    else if (code === OPEN_ARRAY) this.#array();
    else if (isDigit(code) || code === 0x2d) this.#number();
    else this.#literal();
  }

  #literal(): void {
    for (const word of ["true", "false", "null"]) {
      if (this.#text.startsWith(word, this.#offset)) {
        this.#offset += word.length;
        return;
      }
    }
    this.#syntax(this.#offset < this.#text.length ? "no JSON value" : "text ends early");
  }

  #enter(): void {
    if (this.path.length >= LIMITS.jsonDepthMax) {
      throw new ScanFault("too_deep", `nested deeper than ${LIMITS.jsonDepthMax}`);
    }
    this.#offset++;
    this.#skipSpace();
  }

  #array(): void {
    this.#enter();
    if (this.#peek() === CLOSE_ARRAY) {
      this.#offset++;
      return;
    }
    const level = this.path.push(0) - 1;
    for (let index = 0; ; index++) {
      this.path[level] = index;
      this.#value();
      if (!this.#continues(CLOSE_ARRAY)) break;
    }
    this.path.pop();
  }

  #object(): void {
    this.#enter();
    if (this.#peek() === CLOSE_OBJECT) {
      this.#offset++;
      return;
    }
    const seen = new Set<string>();
    do {
      if (this.#peek() !== QUOTE) this.#syntax("no key");
      const key = this.#key(seen.size);
      this.path.push(key);
      // A repeated key is read differently by different parsers: one validates the first, another acts on the last.
      if (seen.has(key)) throw new ScanFault("duplicate_key", "the key is repeated");
      if (key === "__proto__") throw new ScanFault("forbidden_key", "this key is not allowed");
      seen.add(key);
      this.#skipSpace();
      if (this.#peek() !== COLON) this.#syntax("no colon after a key");
      this.#offset++;
      this.#skipSpace();
      this.#value();
      this.path.pop();
    } while (this.#continues(CLOSE_OBJECT));
  }

  /** @param before keys that its object has already; what is too much is not looked at, and not repeated to anybody */
  #key(before: number): string {
    if (before === LIMITS.jsonObjectKeysMax) {
      throw new ScanFault("too_many_keys", `an object has at most ${LIMITS.jsonObjectKeysMax} keys`);
    }
    const key = this.#string();
    if (key.length <= LIMITS.jsonKeyCharsMax) return key;
    throw new ScanFault("key_too_long", `a key has at most ${LIMITS.jsonKeyCharsMax} characters`);
  }

  /** After a value: true after a comma, false after the closing bracket. */
  #continues(close: number): boolean {
    this.#skipSpace();
    const code = this.#peek();
    if (code !== COMMA && code !== close) this.#syntax("neither comma nor closing bracket");
    this.#offset++;
    if (code === close) return false;
    this.#skipSpace();
    return true;
  }

  /** No field of this API is negative or a fraction: digits alone leave no two spellings of one number. */
  #number(): void {
    const start = this.#offset;
    while (isDigit(this.#peek())) this.#offset++;
    const length = this.#offset - start;
    const next = this.#peek();
    if (length === 0 || next === 0x2e || next === 0x65 || next === 0x45) {
      throw new ScanFault("number_not_digits", "a number is written as digits only");
    }
    if (length > 1 && this.#text.charCodeAt(start) === 0x30) this.#syntax("leading zero");
    const isTooLong = length > INTEGER_DIGITS_MAX;
    if (isTooLong || Number(this.#text.slice(start, this.#offset)) > LIMITS.integerMax) {
      throw new ScanFault("integer_unsafe", "the integer exceeds 2^53 − 1");
    }
  }

  /**
   * Consumes a string and returns what it denotes. A text of two million characters is most of a body: this loop reads
   * nothing but locals.
   */
  #string(): string {
    const text = this.#text;
    const start = this.#offset + 1;
    let end = start;
    let isEscaped = false;
    let bits = 0;
    for (let code = text.charCodeAt(end); code !== QUOTE; code = text.charCodeAt(end)) {
      const length = code === BACKSLASH ? escapeLength(text, end) : 1;
      // Beyond the end a character's code is NaN.
      if (length === 0 || !(code >= 0x20)) this.#badCharacter(end, length === 0);
      if (length > 1) isEscaped = true;
      bits |= code;
      end += length;
    }
    this.#offset = end + 1;
    const raw = text.slice(start, end);
    const denoted = isEscaped ? (JSON.parse(`"${raw}"`) as string) : raw;
    if ((isEscaped || bits >= 0x80) && hasLoneSurrogate(denoted)) {
      throw new ScanFault("lone_surrogate", "the text holds half of a surrogate pair");
    }
    return denoted;
  }

  #badCharacter(offset: number, isEscape: boolean): never {
    this.#offset = offset;
    if (isEscape) this.#syntax("bad escape");
    return this.#syntax(offset < this.#text.length ? "control character" : "string without end");
  }
}

/** Characters of the escape that begins there; 0: it is none. */
function escapeLength(text: string, offset: number): number {
  const code = text.charCodeAt(offset + 1);
  if (ESCAPED.has(code)) return 2;
  if (code !== 0x75) return 0;
  for (let digit = 2; digit < 6; digit++) if (!isHexDigit(text.charCodeAt(offset + digit))) return 0;
  return 6;
}

/** With the flag u a pair is one character, so what is left of the range are halves. */
function hasLoneSurrogate(text: string): boolean {
  return /[\ud800-\udfff]/u.test(text);
}

/** The first fault of a JSON text, or null if it is acceptable. */
export function findJsonFault(text: string): JsonFault | null {
  const scanner = new JsonScanner(text);
  try {
    scanner.scan();
    return null;
  } catch (error) {
    if (!(error instanceof ScanFault)) throw error;
    return { code: error.code, pointer: jsonPointer(scanner.path), detail: error.message };
  }
}

/** Parses a JSON text that the scan accepts. */
export function parseStrictJson(
  text: string,
): { readonly ok: true; readonly value: JsonValue } | { readonly ok: false; readonly fault: JsonFault } {
  const fault = findJsonFault(text);
  if (fault !== null) return { ok: false, fault };
  return { ok: true, value: JSON.parse(text) as JsonValue };
}
