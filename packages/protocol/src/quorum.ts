/** When cosignatures are enough: k good lines of distinct keys. */
import { equalBytes } from "./bytes.ts";
import type { Ed25519Verify } from "./crypto.ts";
import { verifyKnownLines } from "./known-lines.ts";
import type { NoteRefusal, VerifiedLine } from "./known-lines.ts";
import type { SignatureLine, Vkey } from "./note.ts";

/** `threshold` distinct keys of `cosigners` must have signed. */
export interface QuorumPolicy {
  readonly threshold: number;
  readonly cosigners: readonly Vkey[];
}

export interface QuorumVerdict {
  readonly satisfied: boolean;
  readonly threshold: number;
  /** Good lines of distinct policy keys; empty if the note is refused. */
  readonly verified: readonly VerifiedLine[];
  /** Why the note as a whole was refused; null if it was not. */
  readonly refusal: NoteRefusal | null;
  /** The k-th smallest time of the good lines, Unix seconds: when the quorum was complete. Null without a quorum. */
  readonly certifiedAtS: number | null;
}

/** Reduces lines to distinct public keys of the policy. Two names of one key count once. */
export function distinctPolicyLines(verified: readonly VerifiedLine[], policy: QuorumPolicy): VerifiedLine[] {
  const counted: VerifiedLine[] = [];
  for (const line of verified) {
    const { publicKey } = line.vkey;
    const isListed = policy.cosigners.some((vkey) => equalBytes(vkey.publicKey, publicKey));
    if (isListed && !counted.some((other) => equalBytes(other.vkey.publicKey, publicKey))) counted.push(line);
  }
  return counted;
}

/**
 * Judges the signature lines of a checkpoint. Lines of keys outside the policy are ignored; a failing or repeated line
 * of a policy key refuses the note.
 */
export function meetsQuorum(
  lines: readonly SignatureLine[],
  policy: QuorumPolicy,
  checkpointText: string,
  verify: Ed25519Verify,
): QuorumVerdict {
  const { threshold } = policy;
  const known = verifyKnownLines({ text: checkpointText, lines }, policy.cosigners, verify);
  const verified = distinctPolicyLines(known.verified, policy);
  const satisfied = known.refusal === null && threshold >= 1 && verified.length >= threshold;
  const times = verified.map((line) => line.timeS ?? 0).sort((a, b) => a - b);
  const certifiedAtS = satisfied ? (times[threshold - 1] ?? null) : null;
  return { satisfied, threshold, verified, refusal: known.refusal, certifiedAtS };
}
