import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, verifyReceipt } from "@event-anchoring/protocol";
import type { ReceiptVerification, TrustRootChain } from "@event-anchoring/protocol";
import { EXIT } from "../cli-error.ts";
import type { ExitCode } from "../cli-error.ts";
import { certifiedAtS, cosignersOf, isoMs, isoSeconds, printSteps } from "../describe-receipt.ts";
import type { Printer } from "../printer.ts";
import type { Progress } from "../progress.ts";
import { hashFile } from "../read-input.ts";
import { readReceipt } from "../receipt-file.ts";
import { loadTrustRoots } from "../trust-roots.ts";

export interface VerifyOptions {
  readonly file: string;
  /** Default: the file's name with `.tlog-proof` behind it. */
  readonly proof: string | null;
  readonly trustRoots: readonly string[];
  readonly rootThk: string | null;
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
  const chain = loadTrustRoots({
    paths: options.trustRoots,
    rootThk: options.rootThk,
    workingDir: options.workingDir,
  });
  const verification = verifyReceipt({ receipt, trustRoots: chain, expect: { eventHash } }, nodeCrypto);
  const outcome = judge(verification, options.isCurrentRequired);
  if (options.isJson) {
    printer.json(asJson(options, eventHash, chain, verification, outcome));
  } else {
    printer.line(`${options.file}  SHA-256 ${bytesToHex(eventHash)}`);
    printSteps(printer, verification, chain);
    for (const warning of outcome.warnings) printer.check("warn", "warning", warning);
    printer.verdict(outcome.isValid ? "pass" : "fail", verdictText(options.file, verification, chain, outcome));
  }
  return outcome.isValid ? EXIT.ok : EXIT.invalid;
}

interface Outcome {
  readonly isValid: boolean;
  readonly warnings: readonly string[];
  /** Stable code of what failed. */
  readonly failure: string | null;
}

function judge(verification: ReceiptVerification, isCurrentRequired: boolean): Outcome {
  const warnings: string[] = [];
  const { supersededTrustRoot, failure } = verification;
  if (supersededTrustRoot !== undefined) {
    warnings.push(`only trust root ${supersededTrustRoot} is satisfied, not the newest: renew the receipt`);
  }
  if (verification.originLost) warnings.push("the origin is marked lost: it is never written to again");
  if (failure !== null) return { isValid: false, warnings, failure: failure.code };
  const isRefused = isCurrentRequired && supersededTrustRoot !== undefined;
  return { isValid: !isRefused, warnings, failure: isRefused ? "superseded_trust_root" : null };
}

function verdictText(file: string, verification: ReceiptVerification, chain: TrustRootChain, outcome: Outcome): string {
  if (!outcome.isValid) {
    const step = verification.steps.find(({ result }) => result === "fail");
    const reason = step === undefined ? (outcome.warnings[0] ?? "") : `${step.code}: ${step.detail}`;
    return `NOT VALID (${outcome.failure ?? ""}): ${reason}`;
  }
  const at = certifiedAtS(verification, chain);
  const accepted = verification.leaf === null ? "" : ` accepted at ${isoMs(verification.leaf.acceptedMs)}`;
  return `VALID: ${file} is the event that was${accepted}${at === null ? "" : ` and certified at ${isoSeconds(at)}`}.`;
}

function asJson(
  options: VerifyOptions,
  eventHash: Uint8Array,
  chain: TrustRootChain,
  verification: ReceiptVerification,
  outcome: Outcome,
): object {
  const { leaf, anchorId } = verification;
  const at = certifiedAtS(verification, chain);
  return {
    valid: outcome.isValid,
    failure: outcome.failure,
    file: options.file,
    event_hash: bytesToHex(eventHash),
    anchor_id: anchorId === null ? null : bytesToHex(anchorId),
    origin_fingerprint: leaf === null ? null : bytesToHex(leaf.originFingerprint),
    depth: leaf?.depth ?? null,
    sequence: leaf?.sequence ?? null,
    accepted_at: leaf === null ? null : isoMs(leaf.acceptedMs),
    certified_at: at === null ? null : isoSeconds(at),
    cosigners: cosignersOf(verification).map(({ name, timeS }) => ({ name, time: timeS })),
    trust_root: { version: chain.newest.trustRoot.version, root_thk: bytesToHex(chain.newest.rootThk) },
    superseded_trust_root: verification.supersededTrustRoot ?? null,
    origin_lost: verification.originLost,
    steps: verification.steps,
    warnings: outcome.warnings,
  };
}
