import { nodeCrypto } from "@event-anchoring/node-crypto";
import { ProofError, receiptFromJson, verifyReceipt } from "@event-anchoring/protocol";
import type {
  Crypto,
  ReceiptExpectation,
  ReceiptVerification,
  StatedReceipt,
  TrustRootChain,
} from "@event-anchoring/protocol";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { loadTrustRoots, trustRootFilesIn } from "../files/trust-roots.ts";
import type { GivenPin, HeldTrustRoots } from "../files/trust-roots.ts";

/** @throws CliError `invalid` for anything but a receipt in JSON */
export function parseStated(value: unknown): StatedReceipt {
  try {
    return receiptFromJson(value);
  } catch (error) {
    if (!(error instanceof ProofError)) throw error;
    throw new CliError(EXIT.invalid, error.code, `the service sent no proper receipt: ${error.message}`);
  }
}

/** Where trust roots are found: those that were given, else those of the cluster folder. */
export interface TrustOptions {
  readonly trustRoots: readonly string[];
  readonly pin: GivenPin | null;
  readonly clusterFolder: string | null;
  readonly workingDir: string;
}

export interface CheckedReceipt {
  readonly held: HeldTrustRoots;
  readonly verification: ReceiptVerification;
}

/** Proved, and not only found to go together: there is a trust root, and a pin says whose it is. */
export function isProved(checked: CheckedReceipt | null): boolean {
  return checked !== null && checked.held.pin !== null;
}

/** The trust roots to judge by; null if there are none: a remote service, and none given. */
export function heldTrustRootsOf(options: TrustOptions): HeldTrustRoots | null {
  const nearby = options.clusterFolder === null ? [] : trustRootFilesIn(options.clusterFolder);
  const paths = options.trustRoots.length > 0 ? options.trustRoots : nearby;
  if (paths.length === 0) return null;
  return loadTrustRoots({ paths, pin: options.pin, workingDir: options.workingDir });
}

/**
 * @param crypto one that remembers, where many receipts share a checkpoint
 * @throws CliError `invalid`: the service must not be believed
 */
export function judgeReceipt(
  stated: StatedReceipt,
  expect: ReceiptExpectation,
  chain: TrustRootChain,
  crypto: Crypto = nodeCrypto,
): ReceiptVerification {
  const verification = verifyReceipt({ receipt: stated.receipt, trustRoots: chain, expect }, crypto);
  if (verification.failure === null) return verification;
  const { step, code } = verification.failure;
  const message = `the service sent a receipt that does not verify (${step}: ${code}): do not trust it`;
  throw new CliError(EXIT.invalid, code, message);
}

/**
 * Verifies a receipt that the service sent, offline. Null if there is no trust root to judge it by.
 * @throws CliError `invalid`: the service must not be believed
 */
export function checkReceipt(
  stated: StatedReceipt,
  expect: ReceiptExpectation,
  options: TrustOptions,
): CheckedReceipt | null {
  const held = heldTrustRootsOf(options);
  return held === null ? null : { held, verification: judgeReceipt(stated, expect, held.chain) };
}
