import { verifyCheckpoint as verify } from "@event-anchoring/bundle";
import { bytesToHex, verifyConsistency as isConsistent } from "@event-anchoring/protocol";
import type { TrustRootChain, Witnessing } from "@event-anchoring/protocol";
import { crypto, sha256 } from "./crypto.ts";
import { InvalidInput, VerificationError } from "./errors.ts";
import { bytes32, count } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";

/** A tree of one origin. */
export interface TreeHead {
  /** Leaves in it. */
  readonly treeSize: number;
  readonly rootHash: Bytes32;
}

/** What a good checkpoint says. */
export interface VerifiedCheckpoint extends TreeHead, Witnessing {
  /** 64 hex digits. */
  readonly originFingerprint: string;
  /** 64 hex digits. */
  readonly rootHash: string;
  /** Good, but only under this older version of the trust root. null: under the newest. */
  readonly supersededTrustRoot: number | null;
  /** The newest trust root marks the origin `lost`. */
  readonly originLost: boolean;
  /** Who has cosigned, and when: Unix seconds. */
  readonly cosigners: readonly { readonly name: string; readonly time: number }[];
}

/**
 * Verifies a signed checkpoint by the rules of a receipt, offline.
 * @param note the whole signed note; may be attacker-controlled
 * @param trustRoot from `verifyTrustRoot`
 * @throws VerificationError
 */
export function verifyCheckpoint(note: string, trustRoot: TrustRootChain): VerifiedCheckpoint {
  if (typeof note !== "string") throw new InvalidInput("note", "expected a text");
  const verification = verify(note, trustRoot, crypto.ed25519Verify);
  if (verification.verdict === "invalid") {
    const { code, detail } = verification;
    throw new VerificationError(code, `the checkpoint is not good: ${detail}`, { result: verification });
  }
  const { checkpoint, origin, verified, supersededTrustRoot, witnessing } = verification;
  return {
    originFingerprint: bytesToHex(origin.originFingerprint),
    treeSize: checkpoint.treeSize,
    rootHash: bytesToHex(checkpoint.rootHash),
    supersededTrustRoot,
    originLost: origin.status === "lost",
    cosigners: verified.flatMap(({ vkey, timeS }) => (timeS === null ? [] : [{ name: vkey.name, time: timeS }])),
    ...witnessing,
  };
}

/**
 * Verifies that one tree is the beginning of another (RFC 9162 section 2.1.4.2), offline. Two EEAs of one origin are
 * two such trees. It says nothing about who has signed them: `verifyCheckpoint` does.
 * @throws VerificationError `consistency_wrong`; InvalidInput
 */
export function verifyConsistency(from: TreeHead, to: TreeHead, proof: readonly Uint8Array[]): void {
  const claim = {
    oldSize: count("from.treeSize", from.treeSize),
    oldRoot: bytes32("from.rootHash", from.rootHash),
    size: count("to.treeSize", to.treeSize),
    root: bytes32("to.rootHash", to.rootHash),
    path: proof.map((hash, at) => bytes32(`proof[${at}]`, hash)),
  };
  if (isConsistent(claim, sha256)) return;
  const message = `the tree of ${claim.oldSize} leaves is not shown to be the beginning of that of ${claim.size}`;
  throw new VerificationError("consistency_wrong", message);
}
