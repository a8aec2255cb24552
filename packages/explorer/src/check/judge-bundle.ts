/** Judges a bundle as `anchorctl verify --bundle` does. */
import { verifyBundle } from "@event-anchoring/bundle";
import type { Bundle, BundleVerification } from "@event-anchoring/bundle";
import { nobleCrypto } from "@event-anchoring/protocol";
import { rememberVerdicts } from "@event-anchoring/records";
import { VERDICT_MARKS, bundleSteps, bundleVerdictText, pinnedOutcomeOf } from "@event-anchoring/verdicts";
import type { JudgedBy } from "@event-anchoring/verdicts";
import type { GivenOf } from "../given/given.ts";
import type { Expected } from "./judge-receipt.ts";
import type { Judged } from "./judged.ts";
import { PIN_ADVICE, pinStep } from "./pin-step.ts";

export function judgeBundle(
  given: GivenOf<"bundle">,
  judgedBy: JudgedBy,
  expected: Expected,
  files: readonly GivenOf<"file">[],
): Judged {
  // Signatures are verified once, however often the bundle is judged as of another position.
  const crypto = rememberVerdicts(nobleCrypto);
  const [file] = files;
  const eventHash = files.length === 1 && file !== undefined ? file.hash : expected.eventHash;
  const expect = {
    ...(expected.anchorId === null ? {} : { anchorId: expected.anchorId }),
    ...(eventHash === null ? {} : { eventHash }),
  };
  const judge = (bundle: Bundle): BundleVerification =>
    verifyBundle({ bundle, trust: { trustRoots: judgedBy.chain }, expect }, crypto);
  const verification = judge(given.bundle);
  return {
    name: given.name,
    kind: "bundle",
    mark: VERDICT_MARKS[pinnedOutcomeOf(verification, judgedBy)],
    text: bundleVerdictText(verification, judgedBy, PIN_ADVICE),
    steps: [pinStep(judgedBy), ...bundleSteps(verification, judgedBy)],
    leaf: null,
    bundle: {
      given,
      verification,
      isPinned: judgedBy.pin !== null,
      // What the service stated is about the bundle's own position.
      judgeAt: (asOf) => judge({ ...given.bundle, asOf, stated: null }),
    },
  };
}
