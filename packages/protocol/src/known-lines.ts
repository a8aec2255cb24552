/** Which lines of a note are signed by keys we know. One bad or repeated line of a known key spoils the whole note. */
import { assertNever } from "./assert-never.ts";
import { parseCosignatureLine, verifyCosignature } from "./cosignature.ts";
import type { Ed25519Verify } from "./crypto.ts";
import { DecodeError } from "./encoding.ts";
import { NOTE_SIGNATURES_MAX, VKEY_TYPE, equalVkeys, noteMessage } from "./note.ts";
import type { SignatureLine, SignedNote, Vkey } from "./note.ts";

/** A line whose signature is good. */
export interface VerifiedLine {
  readonly vkey: Vkey;
  /** Unix seconds of a cosignature; null for a line of type 0x01. */
  readonly timeS: number | null;
}

export type NoteRefusalCode = "signatures_too_many" | "key_ambiguous" | "signature_repeated" | "signature_invalid";

export interface NoteRefusal {
  readonly code: NoteRefusalCode;
  /** Name of the key at fault. */
  readonly name: string;
}

/** Either every line of a known key is good and they are all listed, in the order of the note, or none is. */
export interface KnownLines {
  readonly verified: readonly VerifiedLine[];
  readonly refusal: NoteRefusal | null;
}

function refused(code: NoteRefusalCode, name: string): KnownLines {
  return { verified: [], refusal: { code, name } };
}

function indexKeys(keys: readonly Vkey[]): Map<string, Vkey> | NoteRefusal {
  const index = new Map<string, Vkey>();
  for (const vkey of keys) {
    const name = `${vkey.name}+${vkey.keyId}`;
    const other = index.get(name);
    if (other !== undefined && !equalVkeys(other, vkey)) return { code: "key_ambiguous", name: vkey.name };
    index.set(name, vkey);
  }
  return index;
}

function verifyLine(text: string, line: SignatureLine, vkey: Vkey, verify: Ed25519Verify): VerifiedLine | null {
  switch (vkey.type) {
    case VKEY_TYPE.ed25519:
      return verify(vkey.publicKey, noteMessage(text), line.signature) ? { vkey, timeS: null } : null;
    case VKEY_TYPE.cosignature: {
      const cosignature = readCosignature(line);
      if (cosignature === null) return null;
      const { publicKey } = vkey;
      const isGood = verifyCosignature({ publicKey, checkpointText: text, ...cosignature }, verify);
      return isGood ? { vkey, timeS: cosignature.timeS } : null;
    }
    default:
      return assertNever(vkey.type);
  }
}

function readCosignature(line: SignatureLine): ReturnType<typeof parseCosignatureLine> | null {
  try {
    return parseCosignatureLine(line);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/**
 * Verifies the lines of known keys and ignores all others. Repeats are refused before anything is verified or counted,
 * so copies of one signature can neither count twice nor cost twice.
 */
export function verifyKnownLines(note: SignedNote, known: readonly Vkey[], verify: Ed25519Verify): KnownLines {
  if (note.lines.length > NOTE_SIGNATURES_MAX) return refused("signatures_too_many", "");
  const index = indexKeys(known);
  if (!(index instanceof Map)) return { verified: [], refusal: index };
  const found = new Map<Vkey, SignatureLine>();
  for (const line of note.lines) {
    const vkey = index.get(`${line.name}+${line.keyId}`);
    if (vkey === undefined) continue;
    if (found.has(vkey)) return refused("signature_repeated", vkey.name);
    found.set(vkey, line);
  }
  const verified: VerifiedLine[] = [];
  for (const [vkey, line] of found) {
    const good = verifyLine(note.text, line, vkey, verify);
    if (good === null) return refused("signature_invalid", vkey.name);
    verified.push(good);
  }
  return { verified, refusal: null };
}
