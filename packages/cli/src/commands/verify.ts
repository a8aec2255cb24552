import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, verifyReceipt } from "@event-anchoring/protocol";
import type { ReceiptVerification } from "@event-anchoring/protocol";
import { EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { certifiedAtS, cosignersOf, isoMs, isoSeconds, printSteps } from "../reports/describe-receipt.ts";
import { notPinnedText, pinJson } from "../reports/describe-pin.ts";
import type { Mark, Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { hashFile } from "../files/read-input.ts";
import { readReceipt } from "../files/receipt-file.ts";
import { loadTrustRoots } from "../files/trust-roots.ts";
import type { GivenPin, HeldTrustRoots } from "../files/trust-roots.ts";

export interface VerifyOptions {
  readonly file: string;
  /** Default: the file's name with `.tlog-proof` behind it. */
  readonly proof: string | null;
  readonly trustRoots: readonly string[];
  readonly pin: GivenPin | null;
  /** Whether a receipt that only an older trust root satisfies is refused. */
  readonly isCurrentRequired: boolean;
  readonly isJson: boolean;
  readonly workingDir: string;
}

/** `anchorctl verify`: offline; nothing is asked of any service. */
export async function verifyCommand(options: VerifyOptions, printer: Printer, progress: Progress): Promise<ExitCode> {
  const eventHash = await hashFile(options.file, progress);
  const proofPath = options.proof ?? `${options.file}.tlog-proof`;
  const receipt = readReceipt(proofPath);
  const held = loadTrustRoots({ paths: options.trustRoots, pin: options.pin, workingDir: options.workingDir });
  const verification = verifyReceipt({ receipt, trustRoots: held.chain, expect: { eventHash } }, nodeCrypto);
  const outcome = judge(verification, held, options.isCurrentRequired);
  if (options.isJson) {
    printer.json(asJson(options, eventHash, held, verification, outcome));
  } else {
    printer.line(`${options.file}  SHA-256 ${bytesToHex(eventHash)}`);
    printSteps(printer, verification, held);
    for (const warning of outcome.warnings) printer.check("warn", "warning", warning);
    printer.verdict(MARKS[outcome.exitCode], verdictText(options.file, verification, held, outcome));
  }
  return outcome.exitCode;
}

type OutcomeCode = typeof EXIT.ok | typeof EXIT.invalid | typeof EXIT.notPinned;

const MARKS: Readonly<Record<OutcomeCode, Mark>> = {
  [EXIT.ok]: "pass",
  [EXIT.invalid]: "fail",
  [EXIT.notPinned]: "warn",
};

interface Outcome {
  readonly exitCode: OutcomeCode;
  readonly warnings: readonly string[];
  /** Stable code of what failed. */
  readonly failure: string | null;
}

function judge(verification: ReceiptVerification, { pin }: HeldTrustRoots, isCurrentRequired: boolean): Outcome {
  const warnings: string[] = [];
  const { supersededTrustRoot, failure } = verification;
  if (supersededTrustRoot !== undefined) {
    warnings.push(`only trust root ${supersededTrustRoot} is satisfied, not the newest: renew the receipt`);
  }
  if (verification.originLost) warnings.push("the origin is marked lost: it is never written to again");
  if (failure !== null) return { exitCode: EXIT.invalid, warnings, failure: failure.code };
  if (isCurrentRequired && supersededTrustRoot !== undefined)
    return { exitCode: EXIT.invalid, warnings, failure: "superseded_trust_root" };
  if (pin === null) return { exitCode: EXIT.notPinned, warnings, failure: "not_pinned" };
  return { exitCode: EXIT.ok, warnings, failure: null };
}

function verdictText(file: string, verification: ReceiptVerification, held: HeldTrustRoots, outcome: Outcome): string {
  if (outcome.exitCode === EXIT.invalid) {
    const step = verification.steps.find(({ result }) => result === "fail");
    const reason = step === undefined ? (outcome.warnings[0] ?? "") : `${step.code}: ${step.detail}`;
    return `NOT VALID (${outcome.failure ?? ""}): ${reason}`;
  }
  if (outcome.exitCode === EXIT.notPinned)
    return `NOT PINNED: file, receipt and trust root go together, which proves nothing yet: ${notPinnedText(held)}`;
  const at = certifiedAtS(verification, held.chain);
  const accepted = verification.leaf === null ? "" : ` accepted at ${isoMs(verification.leaf.acceptedMs)}`;
  return `VALID: ${file} is the event that was${accepted}${at === null ? "" : ` and certified at ${isoSeconds(at)}`}.`;
}

function asJson(
  options: VerifyOptions,
  eventHash: Uint8Array,
  held: HeldTrustRoots,
  verification: ReceiptVerification,
  outcome: Outcome,
): object {
  const { leaf, anchorId } = verification;
  const { newest } = held.chain;
  const at = certifiedAtS(verification, held.chain);
  return {
    valid: outcome.exitCode === EXIT.ok,
    failure: outcome.failure,
    pin: pinJson(held),
    file: options.file,
    event_hash: bytesToHex(eventHash),
    anchor_id: anchorId === null ? null : bytesToHex(anchorId),
    origin_fingerprint: leaf === null ? null : bytesToHex(leaf.originFingerprint),
    depth: leaf?.depth ?? null,
    sequence: leaf?.sequence ?? null,
    accepted_at: leaf === null ? null : isoMs(leaf.acceptedMs),
    certified_at: at === null ? null : isoSeconds(at),
    cosigners: cosignersOf(verification).map(({ name, timeS }) => ({ name, time: timeS })),
    trust_root: { version: newest.trustRoot.version, root_thk: bytesToHex(newest.rootThk) },
    superseded_trust_root: verification.supersededTrustRoot ?? null,
    origin_lost: verification.originLost,
    steps: verification.steps,
    warnings: outcome.warnings,
  };
}
