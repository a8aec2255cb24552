import type { WitnessLine } from "@event-anchoring/control-contract";
import {
  type Crypto,
  DecodeError,
  NOTE_SIGNATURES_MAX,
  type Sha256,
  type SignatureLine,
  type TrustRoot,
  type TrustRootWitness,
  cosignatureLine,
  formatSignatureLine,
  parseCosignatureLine,
  parseNote,
  verifyCosignature,
} from "@event-anchoring/protocol";

/** Whether the witness has signed exactly this checkpoint text. */
export function isGoodWitnessLine(
  { vkey }: TrustRootWitness,
  checkpointText: string,
  { timeS, signature }: Pick<WitnessLine, "timeS" | "signature">,
  crypto: Crypto,
): boolean {
  const { publicKey } = vkey;
  // tlog-witness: the time of a cosignature over a checkpoint is never zero.
  return timeS > 0 && verifyCosignature({ timeS, signature, publicKey, checkpointText }, crypto.ed25519Verify);
}

/** The witness's line among those that it has answered, not verified; null: there is not exactly one. */
export function ownLineIn(
  answer: readonly SignatureLine[],
  { name: witness, vkey }: TrustRootWitness,
): WitnessLine | null {
  const [own, ...more] = answer.filter(({ name, keyId }) => name === vkey.name && keyId === vkey.keyId);
  if (own === undefined || more.length > 0) return null;
  try {
    return { witness, ...parseCosignatureLine(own) };
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** The note with the lines behind its own, in the order of the trust root's witnesses, which is that of their names. */
export function noteWithLines(
  note: string,
  lines: readonly WitnessLine[],
  { witnesses }: TrustRoot,
  sha256: Sha256,
): string {
  const room = NOTE_SIGNATURES_MAX - parseNote(note).lines.length;
  const added = witnesses.flatMap(({ name, vkey }) => {
    const line = lines.find(({ witness }) => witness === name);
    return line === undefined ? [] : [cosignatureLine({ ...line, name: vkey.name, publicKey: vkey.publicKey }, sha256)];
  });
  return note + added.slice(0, room).map(formatSignatureLine).join("");
}
