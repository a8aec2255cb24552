/** A bundle's verification as a person reads it. */
import type { BundleOutcome, BundleVerification } from "@event-anchoring/bundle";
import { LEAF_KIND } from "@event-anchoring/protocol";
import type { JudgedBy } from "./judged-by.ts";
import { notPinnedText } from "./judged-by.ts";
import type { Mark, ShownStep } from "./mark.ts";
import { isoMs } from "./times.ts";
import { scopeSteps } from "./scope-words.ts";
import type { StepNames } from "./scope-words.ts";
import { shownVerdict } from "./trace-words.ts";

const MARKS: Readonly<Record<"pass" | "fail" | "not_checked", Mark>> = {
  pass: "pass",
  fail: "fail",
  not_checked: "warn",
};

/** Without a pin a bundle that goes together is no more than that. */
export type PinnedOutcome = BundleOutcome | "not_pinned";

export function pinnedOutcomeOf({ outcome }: BundleVerification, { pin }: Pick<JudgedBy, "pin">): PinnedOutcome {
  return pin === null && outcome !== "invalid" ? "not_pinned" : outcome;
}

/** Nothing is shown as good that hangs on a pin, if there is none. */
function shownWith({ pin }: Pick<JudgedBy, "pin">): (mark: Mark) => Mark {
  return (mark) => (mark === "pass" && pin === null ? "skip" : mark);
}

/** Every check with its result; if the bundle is not invalid, the verdicts on the act, and what grants allow. */
export function bundleSteps(
  verification: BundleVerification,
  judgedBy: Pick<JudgedBy, "pin">,
  names?: StepNames,
): ShownStep[] {
  const shown = shownWith(judgedBy);
  const checks = verification.checks.map(({ code, result, detail }) => {
    // It passes also where the reader demands no witnesses.
    const isUnmet = code === "witnesses" && result === "pass" && !verification.witnessed;
    return { mark: isUnmet ? ("skip" as const) : shown(MARKS[result]), label: code.replace("_", " "), detail };
  });
  if (verification.outcome === "invalid") return checks;
  return [...checks, ...actSteps(verification, judgedBy), ...scopeSteps(verification.scopes, shown("pass"), names)];
}

/** Whether a claim or a grant is in force, and why not. */
function standingStep(
  { state, isInForce, faults }: NonNullable<BundleVerification["standing"]>,
  when: string,
): ShownStep {
  const why = faults.map(({ code, sequence }) => (sequence === null ? code : `${code} at sequence ${sequence}`));
  const detail = isInForce ? `in force, ${when}` : `not in force, ${state}: ${why.join(", ")}; ${when}`;
  return { mark: isInForce ? "pass" : "warn", label: "standing", detail };
}

/** Who acted, and whether it was authorised then and later; of a claim or a grant, whether it is in force. */
export function actSteps(
  { leaf, asOf, actorProven, authorisedAtAction, authorisedNow, standing }: BundleVerification,
  judgedBy: Pick<JudgedBy, "pin">,
): ShownStep[] {
  const shown = shownWith(judgedBy);
  const isAct = leaf !== null && (leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent);
  const actor = actorProven
    ? "proven: signed with the key of the actor's claim"
    : "not proven: only the API client that recorded the event says who acted";
  const atAction = shownVerdict(authorisedAtAction, actorProven);
  const later = shownVerdict(authorisedNow, actorProven);
  const when = `as of sequence ${asOf.sequence}, ${isoMs(asOf.timeMs)}`;
  if (standing !== null) {
    const step = standingStep(standing, when);
    return [{ ...step, mark: shown(step.mark) }];
  }
  return [
    ...(isAct ? [{ mark: shown(actorProven ? "pass" : "warn"), label: "actor", detail: actor }] : []),
    { mark: shown(atAction.mark), label: "at action", detail: atAction.text },
    { mark: shown(later.mark), label: "later", detail: `${later.text}, ${when}` },
  ];
}

const VERDICTS: Readonly<Record<PinnedOutcome, string>> = {
  valid: "VALID: every check is proved.",
  valid_as_stated: "VALID AS STATED: nothing is wrong, and what is marked ! rests on the word of the service.",
  not_pinned: "NOT PINNED: the bundle and the trust root go together, which proves nothing yet:",
  invalid: "NOT VALID",
};

export const VERDICT_MARKS: Readonly<Record<PinnedOutcome, Mark>> = {
  valid: "pass",
  valid_as_stated: "warn",
  not_pinned: "warn",
  invalid: "fail",
};

/**
 * The sentence at the end.
 * @param nextStep what to do with a RootTHK that was compared
 */
export function bundleVerdictText(verification: BundleVerification, judgedBy: JudgedBy, nextStep: string): string {
  const outcome = pinnedOutcomeOf(verification, judgedBy);
  if (outcome === "not_pinned") return `${VERDICTS[outcome]} ${notPinnedText(judgedBy, nextStep)}`;
  const failed = verification.checks.find(({ result }) => result === "fail");
  return `${VERDICTS[outcome]}${failed === undefined ? "" : ` (${failed.code}): ${failed.detail}`}`;
}
