/** Judges a bundle as `anchorctl verify --bundle` does. */
import { verifyBundle } from "@event-anchoring/bundle";
import type { Bundle, BundleVerification } from "@event-anchoring/bundle";
import { anchorIdOf, equalBytes, nobleCrypto } from "@event-anchoring/protocol";
import { rememberVerdicts } from "@event-anchoring/records";
import { VERDICT_MARKS, bundleSteps, bundleVerdictText, pinnedOutcomeOf } from "@event-anchoring/verdicts";
import type { JudgedBy } from "@event-anchoring/verdicts";
import type { GivenOf } from "../given/given.ts";
import { ownHash } from "./judge-receipt.ts";
import type { Expected } from "./judge-receipt.ts";
import type { Judged } from "./judged.ts";
import { PIN_ADVICE, pinStep } from "./pin-step.ts";

/** Whether the subject is an event of this hash. */
function isOfSubject({ subject, leaves, ranges }: Bundle, hash: Uint8Array): boolean {
  // An event is never among the records of a state head.
  const all = [...leaves.map(({ leaf }) => leaf), ...ranges.flatMap((range) => range.leaves)];
  return all.some((leaf) => {
    const own = ownHash(leaf);
    return own !== null && equalBytes(own, hash) && equalBytes(anchorIdOf(leaf, nobleCrypto.sha256), subject);
  });
}

/**
 * What the subject must hold; null: nothing is given to compare with. A file that is not its own is compared with it,
 * and fails: one more file must not make a bundle good.
 */
function eventHashFor(bundle: Bundle, expected: Expected, files: readonly GivenOf<"file">[]): Uint8Array | null {
  const file = files.find(({ hash }) => isOfSubject(bundle, hash)) ?? files[0];
  const hashes = [expected.eventHash, file?.hash ?? null].filter((hash) => hash !== null);
  return hashes.find((hash) => !isOfSubject(bundle, hash)) ?? hashes[0] ?? null;
}

export function judgeBundle(
  given: GivenOf<"bundle">,
  judgedBy: JudgedBy,
  expected: Expected,
  files: readonly GivenOf<"file">[],
): Judged {
  // Signatures are verified once, however often the bundle is judged as of another position.
  const crypto = rememberVerdicts(nobleCrypto);
  const eventHash = eventHashFor(given.bundle, expected, files);
  const { requireWitnessed } = expected;
  const expect = {
    ...(expected.anchorId === null ? {} : { anchorId: expected.anchorId }),
    ...(eventHash === null ? {} : { eventHash }),
  };
  const judge = (bundle: Bundle): BundleVerification =>
    verifyBundle({ bundle, trust: { trustRoots: judgedBy.chain }, expect, requireWitnessed }, crypto);
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
