/** Ways to spoil a text. Each throws if what it alters is not there, so that no case is about nothing. */
import { base64ToBytes, bytesToBase64, formatNote, parseNote } from "@event-anchoring/protocol";
import type { SignatureLine } from "@event-anchoring/protocol";

export type Alter = (text: string) => string;

export function replaced(from: string | RegExp, to: string | ((found: string) => string)): Alter {
  return (text) => {
    const altered = typeof to === "string" ? text.replace(from, to) : text.replace(from, (found) => to(found));
    if (altered === text) throw new Error(`there is no ${String(from)}`);
    return altered;
  };
}

/** @param at negative: from the end */
function flipped(bytes: Uint8Array, at: number): Uint8Array {
  const place = at < 0 ? bytes.length + at : at;
  if (place < 0 || place >= bytes.length) throw new RangeError(`no byte ${at} of ${bytes.length}`);
  return bytes.map((byte, index) => (index === place ? byte ^ 1 : byte));
}

/** Flips a bit in the base64 that follows `before` to the end of its line, in the byte at a place. */
export function flippedAfter(before: RegExp, at: number): Alter {
  return (text) => {
    const base64 = foundIn(text, new RegExp(`${before.source}([A-Za-z0-9+/]+=*)$`, "mu"));
    return text.replace(base64, bytesToBase64(flipped(base64ToBytes(base64), at)));
  };
}

/** Other signature lines of a note, or of the note that ends a receipt. */
export function withLines(change: (lines: readonly SignatureLine[]) => readonly SignatureLine[]): Alter {
  return (text) => {
    const start = text.startsWith("c2sp.org/") ? text.indexOf("\n\n") + 2 : 0;
    const note = parseNote(text.slice(start));
    return text.slice(0, start) + formatNote(note.text, change(note.lines));
  };
}

/** One line altered. A checkpoint's first line is the log's own; those of nodes follow. */
export function withLine(which: number, change: (line: SignatureLine) => SignatureLine): Alter {
  return withLines((lines) => lines.map((line, at) => (at === which ? change(line) : line)));
}

export function withoutLines(...which: readonly number[]): Alter {
  return withLines((lines) => lines.filter((_line, at) => !which.includes(at)));
}

export function signatureFlipped(line: SignatureLine): SignatureLine {
  return { ...line, signature: flipped(line.signature, -1) };
}

/** The time of a cosignature is the eight bytes before the signature. */
export function timeFlipped(line: SignatureLine): SignatureLine {
  return { ...line, signature: flipped(line.signature, 7) };
}

/** What the first group finds. */
export function foundIn(text: string, pattern: RegExp): string {
  const [, found] = pattern.exec(text) ?? [];
  if (found === undefined) throw new Error(`there is no ${pattern.source}`);
  return found;
}
