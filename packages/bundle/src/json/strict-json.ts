/**
 * JSON that is read the same way in every language. Beyond the grammar it refuses what readers disagree about: repeated
 * names, numbers other than digits up to 2^53 − 1, halves of surrogate pairs, and unbounded nesting.
 */
export type BundleJson =
  | string
  | number
  | boolean
  | null
  | readonly BundleJson[]
  | { readonly [name: string]: BundleJson };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const MINUS = 0x2d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

const DIGITS = /^(?:0|[1-9][0-9]{0,15})$/;

/** What is wrong with a text; its caller gives it a code. */
class InvalidJson extends Error {
  constructor(detail: string) {
    super(detail);
    this.name = "InvalidJson";
  }
}

function invalid(detail: string): InvalidJson {
  return new InvalidJson(detail);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isInNumber(code: number): boolean {
  // Digits, + - . e E: any character of a JSON number.
  return isDigit(code) || code === 0x2b || code === MINUS || code === 0x2e || code === 0x65 || code === 0x45;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Whether a text is not whole Unicode. */
export function hasLoneSurrogate(text: string): boolean {
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    if (point >= 0xd800 && point <= 0xdfff) return true;
  }
  return false;
}

/** What a JSON string denotes. @param raw between its quotes */
function denotedBy(raw: string): string {
  try {
    return JSON.parse(`"${raw}"`) as string;
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid("a string is malformed");
    throw error;
  }
}

/** Looks at tokens alone: JSON.parse checks whether their order is legal. */
class TokenScanner {
  readonly #text: string;
  readonly #depthMax: number;
  /** Names seen in each object that is open; null for an array. */
  readonly #open: (Set<string> | null)[] = [];
  #offset = 0;

  constructor(text: string, depthMax: number) {
    this.#text = text;
    this.#depthMax = depthMax;
  }

  scan(): void {
    while (this.#offset < this.#text.length) {
      const code = this.#text.charCodeAt(this.#offset);
      if (code === QUOTE) this.#string();
      else if (isDigit(code) || code === MINUS) this.#number();
      else this.#bracket(code);
    }
  }

  #bracket(code: number): void {
    this.#offset++;
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (this.#open.length === this.#depthMax) throw invalid(`nested deeper than ${this.#depthMax}`);
      this.#open.push(code === OPEN_OBJECT ? new Set() : null);
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) this.#open.pop();
  }

  #number(): void {
    const start = this.#offset;
    while (isInNumber(this.#text.charCodeAt(this.#offset))) this.#offset++;
    const token = this.#text.slice(start, this.#offset);
    const isSafe = DIGITS.test(token) && Number(token) <= Number.MAX_SAFE_INTEGER;
    if (!isSafe) throw invalid(`a number is digits from 0 to 2^53 - 1, at character ${start}`);
  }

  #string(): void {
    const text = this.#text;
    const start = this.#offset + 1;
    let end = start;
    let isPlain = true;
    for (; end < text.length; end++) {
      const code = text.charCodeAt(end);
      if (code === QUOTE) break;
      if (code === BACKSLASH || code > 0x7f) isPlain = false;
      if (code === BACKSLASH) end++;
    }
    if (end >= text.length) throw invalid("a string has no end");
    this.#offset = end + 1;
    const raw = text.slice(start, end);
    const denoted = isPlain ? raw : denotedBy(raw);
    if (!isPlain && hasLoneSurrogate(denoted)) throw invalid("a text holds half of a surrogate pair");
    if (this.#isName()) this.#addName(denoted);
  }

  /** A string before a colon. */
  #isName(): boolean {
    let at = this.#offset;
    while (isSpace(this.#text.charCodeAt(at))) at++;
    return this.#text.charCodeAt(at) === COLON;
  }

  #addName(name: string): void {
    const names = this.#open.at(-1);
    if (names?.has(name) === true) throw invalid(`the name ${JSON.stringify(name)} is repeated`);
    names?.add(name);
  }
}

/**
 * Reads JSON text, which may be attacker-controlled and is bounded by the caller.
 * @param refusal what is thrown of a text that is refused
 */
export function readStrictJson(text: string, depthMax: number, refusal: (detail: string) => Error): BundleJson {
  try {
    new TokenScanner(text, depthMax).scan();
    return JSON.parse(text) as BundleJson;
  } catch (error) {
    if (error instanceof InvalidJson) throw refusal(error.message);
    if (error instanceof SyntaxError) throw refusal("it is no JSON");
    throw error;
  }
}
