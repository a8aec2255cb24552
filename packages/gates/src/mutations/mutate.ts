import type { Seeded } from "@event-anchoring/simulator";

const MUTATIONS_MAX = 3;
const SPAN_MAX = 40;
/** Pieces that parsers of texts, numbers and notes judge differently when they are wrong about them. */
const PIECES = [
  "0",
  "-0",
  "-1",
  "1.0",
  "1e3",
  "01",
  "+1",
  "9007199254740993",
  "18446744073709551616",
  "null",
  "true",
  '""',
  "[]",
  "{}",
  ",",
  '"a":1,',
  '"__proto__":1,',
  "\\u0000",
  "\\ud800",
  "\\/",
  "\n",
  "\n\n",
  "\r\n",
  " ",
  "\t",
  "\u00a0",
  "\u2028",
  "\ufeff",
  "\u0000",
  "é",
  "e\u0301",
  "\u{1f512}",
  "— ",
  "=",
  "==",
  "+/",
  "-_",
] as const;

/** The text, changed in one to three places. Another text than before, unless all changes cancel out. */
export function mutated(text: string, dice: Seeded): string {
  const times = 1 + dice.below(MUTATIONS_MAX);
  let now = text;
  for (let time = 0; time < times; time++) now = dice.pick(WAYS)(now, dice);
  return now;
}

type Way = (text: string, dice: Seeded) => string;

const spliced = (text: string, at: number, count: number, piece = ""): string =>
  text.slice(0, at) + piece + text.slice(at + count);

const flipped: Way = (text, dice) => {
  const at = dice.below(text.length);
  const code = text.charCodeAt(at) ^ (1 << dice.below(7));
  return spliced(text, at, 1, String.fromCharCode(code));
};

const cut: Way = (text, dice) => spliced(text, dice.below(text.length), 1 + dice.below(SPAN_MAX));

const doubled: Way = (text, dice) => {
  const at = dice.below(text.length);
  return spliced(text, at, 0, text.slice(at, at + 1 + dice.below(SPAN_MAX)));
};

const inserted: Way = (text, dice) => spliced(text, dice.below(text.length + 1), 0, dice.pick(PIECES));

const shortened: Way = (text, dice) => text.slice(0, dice.below(text.length));

/** One of its numbers becomes another one. */
const counted: Way = (text, dice) => {
  const numbers = [...text.matchAll(/\d+/g)];
  if (numbers.length === 0) return text;
  const { 0: digits, index } = dice.pick(numbers);
  const other = dice.chance(0.5) ? String(BigInt(digits) + BigInt(dice.below(3) - 1)) : dice.pick(PIECES);
  return spliced(text, index, digits.length, other);
};

/** Two of its lines, or members of its JSON, change places; or one is there twice, or not at all. */
const shuffled: Way = (text, dice) => {
  const separator = text.includes("\n") ? "\n" : ",";
  const parts = text.split(separator);
  const [from, to] = [dice.below(parts.length), dice.below(parts.length)];
  const [one = "", other = ""] = [parts[from], parts[to]];
  const way = dice.below(3);
  if (way === 0) parts[from] = other;
  if (way === 0) parts[to] = one;
  if (way === 1) parts.splice(from, 0, other);
  if (way === 2) parts.splice(from, 1);
  return parts.join(separator);
};

/** A bit of what stands there as hex or base64. */
const rewritten: Way = (text, dice) => {
  const words = [...text.matchAll(/[A-Za-z0-9+/]{16,}={0,2}/g)];
  if (words.length === 0) return text;
  const { 0: word, index } = dice.pick(words);
  const format = /^[0-9a-f]+$/.test(word) ? "hex" : "base64";
  const bytes = Buffer.from(word, format);
  const at = dice.below(bytes.length);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << dice.below(8));
  return spliced(text, index, word.length, bytes.toString(format));
};

const cased: Way = (text, dice) => {
  const at = dice.below(text.length);
  const span = text.slice(at, at + 1 + dice.below(SPAN_MAX));
  return spliced(text, at, span.length, dice.chance(0.5) ? span.toUpperCase() : span.toLowerCase());
};

const WAYS: readonly Way[] = [flipped, cut, doubled, inserted, shortened, counted, shuffled, rewritten, cased];
