/** C2SP signed-note: a text and the lines that sign it. */
import {
  InvalidBytesError,
  base64ToBytes,
  bytesToBase64,
  concatBytes,
  equalBytes,
  hexToBytes,
  utf8ToBytes,
} from "./bytes.ts";
import type { Sha256 } from "./crypto.ts";
import { ByteReader, ByteWriter } from "./encoding.ts";

/** A note with more signature lines is refused: each line of a known key costs a verification. */
export const NOTE_SIGNATURES_MAX = 64;
/** UTF-16 units of a whole note. */
export const NOTE_LENGTH_MAX = 1_000_000;

export type NoteCode =
  | "note_too_large"
  | "note_text_invalid"
  | "note_unsigned"
  | "signature_line_invalid"
  | "signatures_too_many"
  | "vkey_invalid"
  | "vkey_type_unknown"
  | "vkey_id_mismatch";

/** A note or a key that is not well formed. Match on `code`. */
export class NoteError extends Error {
  readonly code: NoteCode;
  constructor(code: NoteCode, message: string) {
    super(message);
    this.name = "NoteError";
    this.code = code;
  }
}

/** One signature line. `keyId` is its four bytes as an unsigned integer; `signature` is what follows them. */
export interface SignatureLine {
  readonly name: string;
  readonly keyId: number;
  readonly signature: Uint8Array;
}

/** A parsed note. Nothing in it has been verified. */
export interface SignedNote {
  /** The signed text, with its final newline. */
  readonly text: string;
  readonly lines: readonly SignatureLine[];
}

/** Signature types of signed-note that this project uses. */
export const VKEY_TYPE = { ed25519: 0x01, cosignature: 0x04 } as const;
export type VkeyType = (typeof VKEY_TYPE)[keyof typeof VKEY_TYPE];

/** A named verification key. */
export interface Vkey {
  readonly name: string;
  readonly keyId: number;
  readonly type: VkeyType;
  readonly publicKey: Uint8Array;
}

const KEY_NAME = /^[^+\p{White_Space}]+$/u;
const LONE_SURROGATE = /[\uD800-\uDFFF]/u;
// eslint-disable-next-line no-control-regex -- the format forbids exactly these
const CONTROL_CHARACTER = /[\u0000-\u0009\u000b-\u001f]/;
const LINE_START = "\u2014 ";

/** SHA-256(name ‖ 0x0A ‖ type ‖ public key), its first four bytes as an unsigned integer. */
export function keyIdOf(name: string, type: VkeyType, publicKey: Uint8Array, sha256: Sha256): number {
  return new ByteReader(sha256(concatBytes(utf8ToBytes(name), Uint8Array.of(0x0a, type), publicKey))).u32();
}

/** @throws NoteError `vkey_invalid` if the name or the key length is not legal */
export function makeVkey(name: string, type: VkeyType, publicKey: Uint8Array, sha256: Sha256): Vkey {
  if (!KEY_NAME.test(name) || publicKey.length !== 32) throw new NoteError("vkey_invalid", `not a key: ${name}`);
  return { name, keyId: keyIdOf(name, type, publicKey, sha256), type, publicKey };
}

/** `name+hex8(key id)+base64(type ‖ public key)`. */
export function formatVkey(vkey: Vkey): string {
  const keyId = vkey.keyId.toString(16).padStart(8, "0");
  return `${vkey.name}+${keyId}+${bytesToBase64(concatBytes(Uint8Array.of(vkey.type), vkey.publicKey))}`;
}

function isVkeyType(type: number | undefined): type is VkeyType {
  return type === VKEY_TYPE.ed25519 || type === VKEY_TYPE.cosignature;
}

/**
 * Reads a vkey of type 0x01 or 0x04. Hex must be lower case, so that a key has one text.
 * @throws NoteError `vkey_invalid`, `vkey_type_unknown` or `vkey_id_mismatch`
 */
export function parseVkey(text: string, sha256: Sha256): Vkey {
  // The base64 part may contain "+": only the first two separate.
  const [, name = "", hex = "", base64 = ""] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/s.exec(text) ?? [];
  if (!KEY_NAME.test(name) || LONE_SURROGATE.test(name)) throw new NoteError("vkey_invalid", "not a vkey");
  const key = decodeBase64(base64, "vkey_invalid");
  const type = key[0];
  if (!isVkeyType(type)) throw new NoteError("vkey_type_unknown", `unknown key type in the vkey of ${name}`);
  const vkey = makeVkey(name, type, key.slice(1), sha256);
  if (vkey.keyId !== new ByteReader(hexToBytes(hex, 4)).u32()) {
    throw new NoteError("vkey_id_mismatch", `the key id of ${name} is not that of its key`);
  }
  return vkey;
}

export function equalVkeys(a: Vkey, b: Vkey): boolean {
  return a.keyId === b.keyId && a.type === b.type && a.name === b.name && equalBytes(a.publicKey, b.publicKey);
}

/** Each key once, in their order. */
export function distinctVkeys(vkeys: Iterable<Vkey>): readonly Vkey[] {
  const byText = new Map<string, Vkey>();
  // Versions of a trust root share their lines: most repeats are the same object.
  for (const vkey of new Set(vkeys)) {
    const text = formatVkey(vkey);
    if (!byText.has(text)) byText.set(text, vkey);
  }
  return [...byText.values()];
}

function decodeBase64(text: string, code: NoteCode): Uint8Array {
  try {
    return base64ToBytes(text);
  } catch (error) {
    if (error instanceof InvalidBytesError) throw new NoteError(code, error.message);
    throw error;
  }
}

/** One line with its final newline. */
export function formatSignatureLine(line: SignatureLine): string {
  const blob = new ByteWriter(4 + line.signature.length).u32(line.keyId).bytes(line.signature).finish();
  return `${LINE_START}${line.name} ${bytesToBase64(blob)}\n`;
}

/** A line without its newline. @throws NoteError `signature_line_invalid` */
export function parseSignatureLine(text: string): SignatureLine {
  const parts = text.startsWith(LINE_START) ? text.slice(LINE_START.length).split(" ") : [];
  const [name = "", base64 = ""] = parts;
  if (parts.length !== 2 || !KEY_NAME.test(name)) {
    throw new NoteError("signature_line_invalid", "a signature line is a dash, a key name and base64");
  }
  const blob = decodeBase64(base64, "signature_line_invalid");
  if (blob.length < 5) throw new NoteError("signature_line_invalid", `the signature of ${name} is too short`);
  return { name, keyId: new ByteReader(blob.subarray(0, 4)).u32(), signature: blob.slice(4) };
}

/** Text, empty line, signature lines. @param text ends with a newline */
export function formatNote(text: string, lines: readonly SignatureLine[]): string {
  if (!text.endsWith("\n")) throw new RangeError("the text of a note ends with a newline");
  return `${text}\n${lines.map(formatSignatureLine).join("")}`;
}

/**
 * Reads a note, which may be attacker-controlled: nothing is verified here, and nothing malformed is skipped.
 * @throws NoteError
 */
export function parseNote(note: string): SignedNote {
  if (note.length > NOTE_LENGTH_MAX) throw new NoteError("note_too_large", `over ${NOTE_LENGTH_MAX} characters`);
  if (CONTROL_CHARACTER.test(note) || LONE_SURROGATE.test(note)) {
    throw new NoteError("note_text_invalid", "a note is UTF-8 without control characters");
  }
  const split = note.lastIndexOf("\n\n");
  if (split < 0 || !note.endsWith("\n")) throw new NoteError("note_unsigned", "no signature lines");
  const lines = note.slice(split + 2, -1).split("\n");
  if (split + 2 >= note.length) throw new NoteError("note_unsigned", "no signature lines");
  if (lines.length > NOTE_SIGNATURES_MAX) {
    throw new NoteError("signatures_too_many", `${lines.length} signature lines, at most ${NOTE_SIGNATURES_MAX}`);
  }
  return { text: note.slice(0, split + 1), lines: lines.map(parseSignatureLine) };
}

/** The bytes that a line of type 0x01 signs: the text itself. */
export function noteMessage(text: string): Uint8Array {
  return utf8ToBytes(text);
}

/** A line of type 0x01 (a log signature, a trust-root signature). @param signature 64 bytes over noteMessage(text) */
export function noteSignatureLine(
  line: { readonly name: string; readonly publicKey: Uint8Array; readonly signature: Uint8Array },
  sha256: Sha256,
): SignatureLine {
  if (line.signature.length !== 64) throw new RangeError("an Ed25519 signature has 64 bytes");
  const keyId = keyIdOf(line.name, VKEY_TYPE.ed25519, line.publicKey, sha256);
  return { name: line.name, keyId, signature: line.signature };
}
