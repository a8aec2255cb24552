/** What a verification says to a person, whether a terminal or the proof page shows it. */
export { VERDICT_MARKS, actSteps, bundleSteps, bundleVerdictText, pinnedOutcomeOf } from "./bundle-verdict.ts";
export type { PinnedOutcome } from "./bundle-verdict.ts";
export { contentDiffersText, envelopeLine, envelopeSteps } from "./envelope-words.ts";
export type { HeldFile, HeldFiles } from "./envelope-words.ts";
export { firstRootThk, notPinnedText } from "./judged-by.ts";
export type { JudgedBy } from "./judged-by.ts";
export type { Mark, ShownStep } from "./mark.ts";
export {
  RECEIPT_MARKS,
  certifiedAtS,
  cosignersOf,
  judgeReceiptVerification,
  receiptSteps,
  receiptVerdictText,
} from "./receipt-verdict.ts";
export type { ReceiptOutcome, ReceiptVerdict } from "./receipt-verdict.ts";
export { disclosedText, statementText } from "./scope-words.ts";
export { isoMs, isoSeconds } from "./times.ts";
export { boundaryText, hopsText, named, reasonText, short, shownVerdict, windowText } from "./trace-words.ts";
export type { Names } from "./trace-words.ts";
