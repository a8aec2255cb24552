/** Which witnesses have signed a checkpoint, and whether they are enough. docs/PROTOCOL.md, "Witnessed". */
import { equalBytes } from "./bytes.ts";
import type { VerifiedLine } from "./known-lines.ts";
import type { Vkey } from "./note.ts";
import type { TrustRoot } from "./trust-root-text.ts";

/** A witness whose good line is on the checkpoint. */
export interface WitnessSignature {
  /** As the trust root lists it. */
  readonly name: string;
  /** Unix seconds, as the witness signed them. */
  readonly witnessedAt: number;
}

/** What a trust root says of the lines of a checkpoint. */
export interface Witnessing {
  /** Ascending by name. */
  readonly witnesses: readonly WitnessSignature[];
  /** How many the trust root asks for; 0 if it lists no witness. */
  readonly witnessesNeeded: number;
  /** Whether enough have signed. Never true if the trust root lists no witness. */
  readonly witnessed: boolean;
}

/** Keys whose lines count as witnesses' lines. */
export function witnessVkeysOf({ witnesses }: TrustRoot): Vkey[] {
  return witnesses.map(({ vkey }) => vkey);
}

/**
 * Counts the witnesses of a trust root. It says nothing about the quorum of nodes, without which nothing is witnessed.
 * @param verified good lines of a checkpoint; lines of other keys are passed over
 */
export function witnessingOf(
  { witnesses: listed, witnessQuorum }: TrustRoot,
  verified: readonly VerifiedLine[],
): Witnessing {
  const witnesses = listed.flatMap(({ name, vkey }) => {
    const timeS = verified.find((line) => equalBytes(line.vkey.publicKey, vkey.publicKey))?.timeS ?? null;
    return timeS === null ? [] : [{ name, witnessedAt: timeS }];
  });
  const witnessed = listed.length > 0 && witnesses.length >= witnessQuorum;
  return { witnesses, witnessesNeeded: witnessQuorum, witnessed };
}

/** Good lines of log and nodes: those that say when a quorum was complete. */
export function withoutWitnesses(root: TrustRoot, verified: readonly VerifiedLine[]): VerifiedLine[] {
  const keys = witnessVkeysOf(root);
  return verified.filter(({ vkey }) => !keys.some(({ publicKey }) => equalBytes(publicKey, vkey.publicKey)));
}

/** For a person: who has signed, of how many, and how many are needed. */
export function witnessingText({ witnesses, witnessesNeeded }: Witnessing, root: TrustRoot): string {
  if (root.witnesses.length === 0) return `trust root ${root.version} lists no witness`;
  const names = witnesses.map(({ name }) => name).join(", ");
  const counted = `${witnesses.length} of ${root.witnesses.length} witnesses, ${witnessesNeeded} needed`;
  return names === "" ? counted : `${counted}: ${names}`;
}
