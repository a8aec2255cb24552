import {
  BundleError,
  addScopes as add,
  formatBundle,
  parseBundle,
  parseScope,
  verifyBundle as verify,
} from "@event-anchoring/bundle";
import type { BundleVerification } from "@event-anchoring/bundle";
import { bytesToUtf8, InvalidBytesError } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { crypto } from "./crypto.ts";
import { InvalidInput, VerificationError } from "./errors.ts";
import { bytes32, count } from "./inputs.ts";
import type { Scope } from "./scope.ts";
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
  /**
   * Refuses a bundle that rests on a head which fewer witnesses have signed than the newest trust root asks for: the
   * check `witnesses` fails. A bundle with a state head is always refused: no witness signs one. Default: false.
   */
  readonly requireWitnessed?: boolean | undefined;
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

/**
 * The text of a bundle with disclosures of what its grants allow; `verifyBundle` judges both together. A disclosure
 * takes the place of one of the same `scope_hash`. Whoever reads the text can read what it discloses.
 * @param source the text of the bundle, or its bytes
 * @throws VerificationError `bundle_…` if it is no bundle
 */
export function addScopes(source: string | Uint8Array, scopes: readonly Scope[]): string {
  return formatBundle(
    add(
      parse(source),
      scopes.map((scope) => parseScope(scope.toText())),
    ),
  );
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
 * Looks at a bundle as `verifyBundle` does, and reports on any. Its `outcome` is one of three: `valid` alone is proved,
 * `valid_as_stated` rests in part on the word of the bundle's maker, `invalid` proves nothing.
 * @param source the text of the bundle, or its bytes; may be attacker-controlled
 * @throws VerificationError `bundle_…` if it is no bundle at all; InvalidInput
 */
export function inspectBundle(source: string | Uint8Array, check: BundleCheck): BundleVerification {
  const { anchorId, eventHash, highestSeen, requireWitnessed } = check;
  const trust = trustOf(check);
  return verify(
    {
      bundle: parse(source),
      trust,
      highestSeen: seenOf(highestSeen),
      expect: {
        anchorId: anchorId === undefined ? undefined : bytes32("anchorId", anchorId),
        eventHash: eventHash === undefined ? undefined : bytes32("eventHash", eventHash),
      },
      requireWitnessed,
    },
    crypto,
  );
}

/** What is thrown of an outcome, and the result of the check that is named. */
const REFUSALS = {
  invalid: { code: "bundle_invalid", culprit: "fail", says: "fails at" },
  valid_as_stated: { code: "bundle_not_proved", culprit: "not_checked", says: "does not prove" },
} as const;

/**
 * Verifies a bundle, offline: every record, signature, proof and checkpoint of a trace. docs/PROTOCOL.md, "Bundle".
 *
 * What it returns is proved throughout, so the verdicts `authorisedAtAction` and `authorisedNow` are right. They need
 * not be true: an act that was not authorised can be proved as well as one that was.
 * @param source the text of the bundle, or its bytes; may be attacker-controlled
 * @throws VerificationError for every bundle that is not proved throughout: `bundle_invalid` if something is wrong,
 * `bundle_not_proved` if something rests on the word of its maker; with the check in `step`, all checks in
 * `steps`, and the BundleVerification in `result`. To look at such a bundle without an error: `inspectBundle`.
 * `bundle_…` if it is no bundle; InvalidInput
 */
export function verifyBundle(source: string | Uint8Array, check: BundleCheck): BundleVerification {
  const verification = inspectBundle(source, check);
  const { outcome, checks } = verification;
  if (outcome === "valid") return verification;
  const { code, culprit, says } = REFUSALS[outcome];
  const found = checks.find(({ result }) => result === culprit);
  const context = { step: found?.code, steps: checks, result: verification };
  throw new VerificationError(code, `the bundle ${says} ${found?.code ?? ""}: ${found?.detail ?? ""}`, context);
}
