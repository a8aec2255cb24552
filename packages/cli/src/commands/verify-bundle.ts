import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { BUNDLE_FORMAT, BUNDLE_LIMITS, BundleError, parseBundle, verifyBundle } from "@event-anchoring/ledger";
import type { Bundle, BundleOutcome, BundleVerification } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { CliError, EXIT } from "../cli-error.ts";
import type { ExitCode } from "../cli-error.ts";
import { isoMs } from "../describe-receipt.ts";
import { verdictWord } from "../describe-trace.ts";
import type { Progress } from "../progress.ts";
import type { Mark, Printer } from "../printer.ts";
import { hashFile, readText } from "../read-input.ts";
import { loadTrustRoots } from "../trust-roots.ts";

export interface VerifyBundleOptions {
  readonly bundle: string;
  /** The reader's own event; null: none. */
  readonly file: string | null;
  /** What the bundle must be about, 64 hex digits; null: anything. */
  readonly anchorId: string | null;
  readonly trustRoots: readonly string[];
  readonly rootThk: string | null;
  readonly isJson: boolean;
  readonly workingDir: string;
}

const HEAD_BYTES = 256;
/** From so many on a verdict takes longer than a second. */
const MANY_LEAVES = 10_000;
const MARKS: Readonly<Record<"pass" | "fail" | "not_checked", Mark>> = {
  pass: "pass",
  fail: "fail",
  not_checked: "warn",
};

export const BUNDLE_EXITS: Readonly<Record<BundleOutcome, ExitCode>> = {
  valid: EXIT.ok,
  valid_as_stated: EXIT.asStated,
  invalid: EXIT.invalid,
};

const BUNDLE_ENDING = ".bundle.json";
const RECEIPT_ENDING = ".tlog-proof";

/** Whether a file is called or begins as a bundle does, unless it was anchored itself. */
export function looksLikeBundle(path: string): boolean {
  if (existsSync(`${path}${RECEIPT_ENDING}`)) return false;
  if (path.endsWith(BUNDLE_ENDING)) return true;
  try {
    const file = openSync(path, "r");
    try {
      const head = Buffer.alloc(HEAD_BYTES);
      const length = readSync(file, head, 0, HEAD_BYTES, 0);
      const text = head.subarray(0, length).toString("latin1").trimStart();
      return text.startsWith("{") && text.includes(`"${BUNDLE_FORMAT}"`);
    } finally {
      closeSync(file);
    }
  } catch {
    // Whoever reads it whole says what is wrong with it.
    return false;
  }
}

/** `anchorctl verify --bundle`: offline; nothing is asked of any service, and the bundle brings no trust of its own. */
export async function verifyBundleCommand(
  options: VerifyBundleOptions,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const { trustRoots: paths, rootThk, workingDir, anchorId, file, isJson } = options;
  const bundle = readBundle(options.bundle);
  const trustRoots = loadTrustRoots({ paths, rootThk, workingDir });
  const expect = {
    ...(anchorId === null ? {} : { anchorId: Uint8Array.from(Buffer.from(anchorId, "hex")) }),
    ...(file === null ? {} : { eventHash: await hashFile(file, progress) }),
  };
  const count = bundle.leaves.length + bundle.ranges.reduce((sum, { leaves }) => sum + leaves.length, 0);
  if (count >= MANY_LEAVES) progress.line(`judging ${count} leaves`);
  const verification = judgeBundle(bundle, trustRoots, expect);
  if (isJson) printer.json({ bundle: options.bundle, ...bundleJson(verification) });
  else printBundle(options.bundle, verification, printer);
  return BUNDLE_EXITS[verification.outcome];
}

/** @throws CliError `invalid` for what is no bundle */
function readBundle(path: string): Bundle {
  try {
    return parseBundle(readText(path, BUNDLE_LIMITS.bytesMax));
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    throw new CliError(EXIT.invalid, error.code, `${path} is not a bundle: ${error.message} (${error.code})`);
  }
}

export function judgeBundle(
  bundle: Bundle,
  trustRoots: TrustRootChain,
  expect: { readonly anchorId?: Uint8Array; readonly eventHash?: Uint8Array },
): BundleVerification {
  return verifyBundle({ bundle, trust: { trustRoots }, expect }, nodeCrypto);
}

export function bundleJson(verification: BundleVerification): object {
  const { outcome, checks, subject, asOf, authorisedAtAction, authorisedNow, complete, trustRoot } = verification;
  return {
    outcome,
    valid: outcome === "valid",
    failure: checks.find(({ result }) => result === "fail")?.code ?? null,
    subject: bytesToHex(subject),
    as_of: { sequence: asOf.sequence, time_ms: asOf.timeMs },
    authorised_at_action: authorisedAtAction,
    authorised_now: authorisedNow,
    complete,
    trust_root: trustRoot,
    checks,
  };
}

const VERDICTS: Readonly<Record<BundleOutcome, string>> = {
  valid: "VALID: everything that is said here is proved.",
  valid_as_stated: "VALID AS STATED: nothing is wrong, and what is marked ! rests on the word of the service.",
  invalid: "NOT VALID",
};

export function printBundle(path: string, verification: BundleVerification, printer: Printer): void {
  const { outcome, checks, subject, asOf, authorisedAtAction, authorisedNow } = verification;
  printer.line(`${path}  ${bytesToHex(subject)}`);
  for (const { code, result, detail } of checks) printer.check(MARKS[result], code.replace("_", " "), detail);
  if (outcome !== "invalid") {
    printer.check(
      verdictWord(authorisedAtAction).mark,
      "at action",
      `authorised: ${verdictWord(authorisedAtAction).word}`,
    );
    const when = `as of sequence ${asOf.sequence}, ${isoMs(asOf.timeMs)}`;
    printer.check(verdictWord(authorisedNow).mark, "later", `authorised: ${verdictWord(authorisedNow).word}, ${when}`);
  }
  const failed = checks.find(({ result }) => result === "fail");
  const reason = failed === undefined ? "" : ` (${failed.code}): ${failed.detail}`;
  const mark: Mark = outcome === "valid" ? "pass" : outcome === "invalid" ? "fail" : "warn";
  printer.verdict(mark, `${VERDICTS[outcome]}${reason}`);
}
