import type { NameFile } from "@event-anchoring/bundle";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, verifyReceipt } from "@event-anchoring/protocol";
import type { ReceiptVerification } from "@event-anchoring/protocol";
import {
  RECEIPT_MARKS,
  certifiedAtS,
  contentDiffersText,
  cosignersOf,
  isoMs,
  isoSeconds,
  judgeReceiptVerification,
  receiptVerdictText,
} from "@event-anchoring/verdicts";
import type { ReceiptOutcome, ReceiptVerdict } from "@event-anchoring/verdicts";
import { EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { envelopeJson, printEnvelope } from "../reports/describe-envelope.ts";
import { printSteps } from "../reports/describe-receipt.ts";
import { PIN_ADVICE, pinJson } from "../reports/describe-pin.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { readEnvelopeFile } from "../files/envelope-file.ts";
import { hashFile } from "../files/read-input.ts";
import { readReceipt, receiptPathOf } from "../files/receipt-file.ts";
import { loadTrustRoots } from "../files/trust-roots.ts";
import type { HeldTrustRoots } from "../files/trust-roots.ts";
import type { VerifyDemand } from "./verify-demand.ts";

export interface VerifyOptions extends VerifyDemand {
  readonly file: string;
  /** Default: the file's name with `.tlog-proof` behind it. */
  readonly proof: string | null;
  readonly names: NameFile;
}

/** `anchorctl verify`: offline; nothing is asked of any service. */
export async function verifyCommand(options: VerifyOptions, printer: Printer, progress: Progress): Promise<ExitCode> {
  const eventHash = await hashFile(options.file, progress);
  const proofPath = options.proof ?? receiptPathOf(options.file);
  const receipt = readReceipt(proofPath);
  const held = loadTrustRoots({ paths: options.trustRoots, pin: options.pin, workingDir: options.workingDir });
  const { isWitnessedRequired: requireWitnessed } = options;
  const input = { receipt, trustRoots: held.chain, expect: { eventHash }, requireWitnessed };
  const verification = verifyReceipt(input, nodeCrypto);
  const verdict = judgeReceiptVerification(verification, held, options.isCurrentRequired);
  const envelope = await readEnvelopeFile(options.file);
  const foreign = envelope === null || verdict.outcome === "invalid" ? null : contentDiffersText(envelope.held);
  if (options.isJson) {
    const judged = asJson(options, eventHash, held, verification, verdict);
    const differs = foreign === null ? {} : { valid: false, failure: "content_differs" };
    printer.json({ ...judged, ...differs, envelope: envelopeJson(envelope) });
  } else {
    printer.line(`${options.file}  SHA-256 ${bytesToHex(eventHash)}`);
    printSteps(printer, verification, held);
    const name =
      verification.anchorId === null ? undefined : options.names.hashes.get(bytesToHex(verification.anchorId));
    if (name !== undefined) printer.check("skip", "name", `${name}, as the file of names says`);
    for (const warning of verdict.warnings) printer.check("warn", "warning", warning);
    if (envelope !== null && verdict.outcome !== "invalid") printEnvelope(printer, envelope);
    const words = { subject: `${options.file} is the event`, nextStep: PIN_ADVICE };
    if (foreign !== null) printer.verdict("fail", foreign);
    else printer.verdict(RECEIPT_MARKS[verdict.outcome], receiptVerdictText(verification, held, verdict, words));
  }
  return foreign === null ? EXITS[verdict.outcome] : EXIT.invalid;
}

const EXITS: Readonly<Record<ReceiptOutcome, ExitCode>> = {
  valid: EXIT.ok,
  // A file is always given here, so there is always something to compare.
  not_compared: EXIT.invalid,
  not_pinned: EXIT.notPinned,
  invalid: EXIT.invalid,
};

function asJson(
  options: VerifyOptions,
  eventHash: Uint8Array,
  held: HeldTrustRoots,
  verification: ReceiptVerification,
  verdict: ReceiptVerdict,
): object {
  const { leaf, anchorId } = verification;
  const { newest } = held.chain;
  const at = certifiedAtS(verification, held.chain);
  return {
    valid: verdict.outcome === "valid",
    failure: verdict.failure,
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
    witnessed: verification.witnessed,
    witnesses: verification.witnesses.map(({ name, witnessedAt }) => ({ name, time: witnessedAt })),
    witnesses_needed: verification.witnessesNeeded,
    trust_root: { version: newest.trustRoot.version, root_thk: bytesToHex(newest.rootThk) },
    superseded_trust_root: verification.supersededTrustRoot ?? null,
    origin_lost: verification.originLost,
    steps: verification.steps,
    warnings: verdict.warnings,
  };
}
