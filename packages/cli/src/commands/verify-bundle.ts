import { addScopes, verifyBundle } from "@event-anchoring/bundle";
import type { BundleVerification, NameFile } from "@event-anchoring/bundle";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { VERDICT_MARKS, bundleSteps, bundleVerdictText, pinnedOutcomeOf } from "@event-anchoring/verdicts";
import type { PinnedOutcome } from "@event-anchoring/verdicts";
import { EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { PIN_ADVICE, pinJson, printPin } from "../reports/describe-pin.ts";
import type { Progress } from "../terminal/progress.ts";
import type { Printer } from "../terminal/printer.ts";
import { readBundle } from "../files/bundle-file.ts";
import { NO_NAMES } from "../files/names-file.ts";
import { hashFile } from "../files/read-input.ts";
import { readScope } from "../files/scope-files.ts";
import { loadTrustRoots } from "../files/trust-roots.ts";
import type { HeldTrustRoots } from "../files/trust-roots.ts";
import type { VerifyDemand } from "./verify-demand.ts";

export interface VerifyBundleOptions extends VerifyDemand {
  readonly bundle: string;
  /** The reader's own event; null: none. */
  readonly file: string | null;
  /** What the bundle must be about, 64 hex digits; null: anything. */
  readonly anchorId: string | null;
  /** Disclosures that came apart from it. */
  readonly scopes: readonly string[];
  readonly names: NameFile;
}

/** From so many on a verdict takes longer than a second. */
const MANY_LEAVES = 10_000;
const BUNDLE_EXITS: Readonly<Record<PinnedOutcome, ExitCode>> = {
  not_pinned: EXIT.notPinned,
  valid: EXIT.ok,
  valid_as_stated: EXIT.asStated,
  invalid: EXIT.invalid,
};

/** `anchorctl verify --bundle`: offline; nothing is asked of any service, and the bundle brings no trust of its own. */
export async function verifyBundleCommand(
  options: VerifyBundleOptions,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const { trustRoots: paths, pin, workingDir, anchorId, file, isJson } = options;
  const bundle = addScopes(readBundle(options.bundle), options.scopes.map(readScope));
  const held = loadTrustRoots({ paths, pin, workingDir });
  const expect = {
    ...(anchorId === null ? {} : { anchorId: Uint8Array.from(Buffer.from(anchorId, "hex")) }),
    ...(file === null ? {} : { eventHash: await hashFile(file, progress) }),
  };
  const single = bundle.leaves.length + (bundle.state?.records.length ?? 0);
  const count = bundle.ranges.reduce((sum, { leaves }) => sum + leaves.length, single);
  if (count >= MANY_LEAVES) progress.line(`judging ${count} leaves`);
  const { isWitnessedRequired: requireWitnessed } = options;
  const input = { bundle, trust: { trustRoots: held.chain }, expect, requireWitnessed };
  const verification = verifyBundle(input, nodeCrypto);
  const isRefused = options.isCurrentRequired && isSuperseded(verification);
  if (isJson) {
    const refused = isRefused ? { outcome: "invalid", valid: false, failure: SUPERSEDED } : {};
    printer.json({ bundle: options.bundle, ...bundleJson(verification, held), ...refused });
  } else {
    const refusal = isRefused ? `NOT VALID (${SUPERSEDED}): ${supersededText(verification)}` : null;
    printBundle(options.bundle, verification, held, printer, { refusal, names: options.names });
  }
  return isRefused ? EXIT.invalid : BUNDLE_EXITS[pinnedOutcomeOf(verification, held)];
}

/** As of a receipt. */
const SUPERSEDED = "superseded_trust_root";

/** Nothing is wrong with it, but a quorum of the newest trust root has not signed it. */
export function isSuperseded({ outcome, trustRoot }: BundleVerification): boolean {
  return outcome !== "invalid" && trustRoot !== null && trustRoot.superseded !== null;
}

function supersededText({ trustRoot }: BundleVerification): string {
  const { version, superseded } = trustRoot ?? {};
  return `only trust root ${superseded ?? ""} is satisfied, and the newest is ${version ?? ""}: make the bundle anew`;
}

export function bundleJson(verification: BundleVerification, held: HeldTrustRoots): object {
  const { checks, subject, asOf, actorProven, authorisedAtAction, authorisedNow, complete, trustRoot } = verification;
  const { standing, witnessed, scopes } = verification;
  const outcome = pinnedOutcomeOf(verification, held);
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
    standing: standing === null ? null : { state: standing.state, in_force: standing.isInForce },
    scopes: scopes.map(({ scopeHash, grants, statements, withheld }) => ({
      scope_hash: bytesToHex(scopeHash),
      grants: grants.map(bytesToHex),
      statements: Object.fromEntries(statements.map(({ name, value }) => [name, value])),
      withheld,
    })),
    complete,
    witnessed,
    trust_root: trustRoot,
    checks,
  };
}

interface ShownBundle {
  /** What the reader asks for and the bundle is not; null: nothing. */
  readonly refusal: string | null;
  readonly names: NameFile;
}

export function printBundle(
  path: string,
  verification: BundleVerification,
  held: HeldTrustRoots,
  printer: Printer,
  { refusal, names }: ShownBundle = { refusal: null, names: NO_NAMES },
): void {
  const subject = bytesToHex(verification.subject);
  const name = names.hashes.get(subject);
  printer.line(`${path}  ${subject}${name === undefined ? "" : `  ${name}`}`);
  printPin(printer, held);
  for (const { mark, label, detail } of bundleSteps(verification, held, names)) printer.check(mark, label, detail);
  const outcome = pinnedOutcomeOf(verification, held);
  if (refusal !== null) printer.verdict("fail", refusal);
  else printer.verdict(VERDICT_MARKS[outcome], bundleVerdictText(verification, held, PIN_ADVICE));
}
