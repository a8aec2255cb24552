import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { BUNDLE_FORMAT, BUNDLE_LIMITS, BundleError, parseBundle, verifyBundle } from "@event-anchoring/bundle";
import type { Bundle, BundleOutcome, BundleVerification } from "@event-anchoring/bundle";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { LEAF_KIND, bytesToHex } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { isoMs } from "../reports/describe-receipt.ts";
import { notPinnedText, pinJson, printPin } from "../reports/describe-pin.ts";
import { shownVerdict } from "../reports/describe-trace.ts";
import type { Progress } from "../terminal/progress.ts";
import type { Mark, Printer } from "../terminal/printer.ts";
import { hashFile, readText } from "../files/read-input.ts";
import { loadTrustRoots } from "../files/trust-roots.ts";
import type { GivenPin, HeldTrustRoots } from "../files/trust-roots.ts";

export interface VerifyBundleOptions {
  readonly bundle: string;
  /** The reader's own event; null: none. */
  readonly file: string | null;
  /** What the bundle must be about, 64 hex digits; null: anything. */
  readonly anchorId: string | null;
  readonly trustRoots: readonly string[];
  readonly pin: GivenPin | null;
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

/** Without a pin a bundle that goes together is no more than that. */
type PinnedOutcome = BundleOutcome | "not_pinned";

const BUNDLE_EXITS: Readonly<Record<PinnedOutcome, ExitCode>> = {
  not_pinned: EXIT.notPinned,
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
    // The reader of the whole bundle reports what is wrong with it.
    return false;
  }
}

/** `anchorctl verify --bundle`: offline; nothing is asked of any service, and the bundle brings no trust of its own. */
export async function verifyBundleCommand(
  options: VerifyBundleOptions,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const { trustRoots: paths, pin, workingDir, anchorId, file, isJson } = options;
  const bundle = readBundle(options.bundle);
  const held = loadTrustRoots({ paths, pin, workingDir });
  const expect = {
    ...(anchorId === null ? {} : { anchorId: Uint8Array.from(Buffer.from(anchorId, "hex")) }),
    ...(file === null ? {} : { eventHash: await hashFile(file, progress) }),
  };
  const count = bundle.leaves.length + bundle.ranges.reduce((sum, { leaves }) => sum + leaves.length, 0);
  if (count >= MANY_LEAVES) progress.line(`judging ${count} leaves`);
  const verification = judgeBundle(bundle, held.chain, expect);
  if (isJson) printer.json({ bundle: options.bundle, ...bundleJson(verification, held) });
  else printBundle(options.bundle, verification, held, printer);
  return BUNDLE_EXITS[outcomeOf(verification, held)];
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

function outcomeOf({ outcome }: BundleVerification, { pin }: HeldTrustRoots): PinnedOutcome {
  return pin === null && outcome !== "invalid" ? "not_pinned" : outcome;
}

export function bundleJson(verification: BundleVerification, held: HeldTrustRoots): object {
  const { checks, subject, asOf, actorProven, authorisedAtAction, authorisedNow, complete, trustRoot } = verification;
  const outcome = outcomeOf(verification, held);
  const failed = checks.find(({ result }) => result === "fail")?.code ?? null;
  return {
    outcome,
    valid: outcome === "valid",
    failure: outcome === "not_pinned" ? outcome : failed,
    pin: pinJson(held),
    subject: bytesToHex(subject),
    as_of: { sequence: asOf.sequence, time_ms: asOf.timeMs },
    actor_proven: actorProven,
    authorised_at_action: authorisedAtAction,
    authorised_now: authorisedNow,
    complete,
    trust_root: trustRoot,
    checks,
  };
}

const VERDICTS: Readonly<Record<PinnedOutcome, string>> = {
  valid: "VALID: everything above is proved.",
  valid_as_stated: "VALID AS STATED: nothing is wrong, and what is marked ! rests on the word of the service.",
  not_pinned: "NOT PINNED: the bundle and the trust root go together, which proves nothing yet:",
  invalid: "NOT VALID",
};

const VERDICT_MARKS: Readonly<Record<PinnedOutcome, Mark>> = {
  valid: "pass",
  valid_as_stated: "warn",
  not_pinned: "warn",
  invalid: "fail",
};

export function printBundle(
  path: string,
  verification: BundleVerification,
  held: HeldTrustRoots,
  printer: Printer,
): void {
  const { checks, subject } = verification;
  const outcome = outcomeOf(verification, held);
  // Nothing is shown as good that hangs on a pin, if there is none.
  const shown = (mark: Mark): Mark => (mark === "pass" && held.pin === null ? "skip" : mark);
  printer.line(`${path}  ${bytesToHex(subject)}`);
  printPin(printer, held);
  for (const { code, result, detail } of checks) printer.check(shown(MARKS[result]), code.replace("_", " "), detail);
  if (outcome !== "invalid") printVerdicts(verification, shown, printer);
  printer.verdict(VERDICT_MARKS[outcome], `${VERDICTS[outcome]}${reasonOf(outcome, verification, held)}`);
}

function reasonOf(outcome: PinnedOutcome, { checks }: BundleVerification, held: HeldTrustRoots): string {
  if (outcome === "not_pinned") return ` ${notPinnedText(held)}`;
  const failed = checks.find(({ result }) => result === "fail");
  return failed === undefined ? "" : ` (${failed.code}): ${failed.detail}`;
}

function printVerdicts(
  { leaf, asOf, actorProven, authorisedAtAction, authorisedNow }: BundleVerification,
  shown: (mark: Mark) => Mark,
  printer: Printer,
): void {
  const isAct = leaf !== null && (leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent);
  if (isAct) {
    const text = actorProven
      ? "proven: signed with the key of the actor's claim"
      : "not proven: only the API client that recorded the event says who acted";
    printer.check(shown(actorProven ? "pass" : "warn"), "actor", text);
  }
  const atAction = shownVerdict(authorisedAtAction, actorProven);
  printer.check(shown(atAction.mark), "at action", atAction.text);
  const later = shownVerdict(authorisedNow, actorProven);
  const when = `as of sequence ${asOf.sequence}, ${isoMs(asOf.timeMs)}`;
  printer.check(shown(later.mark), "later", `${later.text}, ${when}`);
}
