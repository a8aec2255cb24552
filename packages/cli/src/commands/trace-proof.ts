/** The proof that a trace carries: the command verifies it offline, by the pin, before it writes or prints. */
import { BundleError, parseBundle, verifyBundle } from "@event-anchoring/bundle";
import type { BundleVerification } from "@event-anchoring/bundle";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { hexToBytes } from "@event-anchoring/protocol";
import { pinnedOutcomeOf } from "@event-anchoring/verdicts";
import type { HeldTrustRoots } from "../files/trust-roots.ts";
import { writeWhole } from "../files/read-input.ts";
import { heldTrustRootsOf } from "../reports/check-receipt.ts";
import type { TrustOptions } from "../reports/check-receipt.ts";
import type { Answer } from "../service/service.ts";
import type { ShownTrace } from "../service/trace-answer.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";

export interface ProofOptions {
  /** Null: standard output, and nothing else is printed there. */
  readonly out: string | null;
  readonly trust: TrustOptions;
}

/** A proof is judged by trust roots with a pin. @throws CliError `trust_root_missing`, `not_pinned` */
export function pinnedTrustRoots(trust: TrustOptions): HeldTrustRoots {
  const held = heldTrustRootsOf(trust);
  if (held === null)
    throw new CliError(EXIT.usage, "trust_root_missing", "no trust root to judge the proof by: give --trust-root");
  if (held.pin === null) {
    const message = "no pinned RootTHK says whose trust root it is, so nothing would be proved: give --root-thk";
    throw new CliError(EXIT.notPinned, "not_pinned", message);
  }
  return held;
}

/**
 * The text of the proof, which proves what the answer says.
 * @throws CliError `invalid`: the service must not be believed
 */
export function provedText(answer: Answer, trace: ShownTrace, held: HeldTrustRoots): string {
  const text = `${JSON.stringify(answer.body.proof ?? null)}\n`;
  const verification = judged(text, trace.anchor.anchorId, held);
  if (pinnedOutcomeOf(verification, held) !== "valid") {
    const found = verification.checks.find(({ result }) => result !== "pass");
    throw distrust(found?.code ?? "bundle_invalid", `proves nothing: ${found?.detail ?? ""}`);
  }
  if (!isSame(verification, trace)) throw distrust("verdict_differs", "says something else than its answer");
  return text;
}

function judged(text: string, anchorId: string, { chain }: HeldTrustRoots): BundleVerification {
  try {
    const expect = { anchorId: hexToBytes(anchorId, 32) };
    return verifyBundle({ bundle: parseBundle(text), trust: { trustRoots: chain }, expect }, nodeCrypto);
  } catch (error) {
    if (error instanceof BundleError) throw distrust(error.code, `is no bundle: ${error.message}`);
    throw error;
  }
}

function isSame(proved: BundleVerification, trace: ShownTrace): boolean {
  return (
    proved.asOf.sequence === trace.asOf.sequence &&
    proved.actorProven === trace.actorProven &&
    proved.authorisedAtAction === trace.authorisedAtAction &&
    proved.authorisedNow === trace.authorisedNow &&
    proved.trace?.isSuspect === trace.suspect
  );
}

function distrust(code: string, what: string): CliError {
  return new CliError(EXIT.invalid, code, `the proof that the service sent ${what} (${code}): do not trust it`);
}

/** Where the proof is asked to be. */
export function writeProof(text: string, { out }: ProofOptions, printer: Printer): void {
  if (out === null) printer.raw(text);
  else writeWhole(out, text);
}
