import { BundleError, parseBundle, verifyBundle as verify } from "@event-anchoring/ledger";
import type { BundleVerification } from "@event-anchoring/ledger";
import { bytesToUtf8, InvalidBytesError } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { crypto } from "./crypto.ts";
import { InvalidInput, VerificationError } from "./errors.ts";
import { bytes32, count } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import type { HighestSeen } from "./verify-trust-root.ts";

/** What a bundle is judged by, and what it should be about. One of `trustRoot` and `pinnedRootThk`. */
export interface BundleCheck {
  /** From `verifyTrustRoot`. The bundle may continue it, and may not contradict it. */
  readonly trustRoot?: TrustRootChain | undefined;
  /** RootTHK of any version, learnt by other means than from the bundle. */
  readonly pinnedRootThk?: Bytes32 | undefined;
  readonly highestSeen?: HighestSeen | null | undefined;
  readonly anchorId?: Bytes32 | undefined;
  /** SHA-256 of your own event. */
  readonly eventHash?: Bytes32 | undefined;
}

function textOf(source: string | Uint8Array): string {
  try {
    return typeof source === "string" ? source : bytesToUtf8(source);
  } catch (error) {
    if (!(error instanceof InvalidBytesError)) throw error;
    throw new VerificationError("bundle_json_invalid", "the bundle is not UTF-8", { cause: error });
  }
}

function parse(source: string | Uint8Array): ReturnType<typeof parseBundle> {
  try {
    return parseBundle(textOf(source));
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    throw new VerificationError(error.code, `not a bundle: ${error.message}`, { cause: error });
  }
}

function trustOf({
  trustRoot,
  pinnedRootThk,
}: BundleCheck): { trustRoots: TrustRootChain } | { pinnedRootThk: Uint8Array } {
  if (trustRoot !== undefined && pinnedRootThk === undefined) return { trustRoots: trustRoot };
  if (pinnedRootThk === undefined || trustRoot !== undefined) {
    throw new InvalidInput("trustRoot", "give either trustRoot or pinnedRootThk");
  }
  return { pinnedRootThk: bytes32("pinnedRootThk", pinnedRootThk) };
}

function seenOf(seen: HighestSeen | null | undefined): { version: number; rootThk: Uint8Array } | undefined {
  if (seen === undefined || seen === null) return undefined;
  return {
    version: count("highestSeen.version", seen.version),
    rootThk: bytes32("highestSeen.rootThk", seen.rootThk),
  };
}

/**
 * Verifies a bundle, offline: every record, signature, proof and checkpoint of a trace. docs/PROTOCOL.md, "Bundle".
 *
 * Look at `outcome`: `valid` is proved; `valid_as_stated` is not contradicted, and rests in part on the word of whoever
 * made it, so never show it as valid. Both say that the verdicts `authorisedAtAction` and `authorisedNow` are right,
 * not that they are true.
 * @param source the text of the bundle, or its bytes; may be attacker-controlled
 * @throws VerificationError `bundle_…` if it is none; `bundle_invalid` with the check that fails in `step`;
 * InvalidInput
 */
export function verifyBundle(source: string | Uint8Array, check: BundleCheck): BundleVerification {
  const { anchorId, eventHash, highestSeen } = check;
  const trust = trustOf(check);
  const verification = verify(
    {
      bundle: parse(source),
      trust,
      highestSeen: seenOf(highestSeen),
      expect: {
        anchorId: anchorId === undefined ? undefined : bytes32("anchorId", anchorId),
        eventHash: eventHash === undefined ? undefined : bytes32("eventHash", eventHash),
      },
    },
    crypto,
  );
  const failed = verification.checks.find(({ result }) => result === "fail");
  if (failed === undefined) return verification;
  const context = { step: failed.code, result: verification };
  throw new VerificationError("bundle_invalid", `the bundle fails at ${failed.code}: ${failed.detail}`, context);
}
