/** A receipt's verification as a person reads it. */
import { LEAF_KIND, bytesToHex } from "@event-anchoring/protocol";
import type { ReceiptStepCode, ReceiptVerification, TrustRootChain } from "@event-anchoring/protocol";
import { notPinnedText } from "./judged-by.ts";
import type { JudgedBy } from "./judged-by.ts";
import type { Mark, ShownStep } from "./mark.ts";
import { isoMs, isoSeconds } from "./times.ts";

const LABELS: Readonly<Record<ReceiptStepCode, string>> = {
  leaf: "leaf",
  content: "content",
  anchor_id: "anchor id",
  checkpoint: "checkpoint",
  origin: "origin",
  index: "index",
  inclusion: "inclusion",
  log_signature: "log signature",
  cosignatures: "cosignatures",
  trust_root: "trust root",
  witnesses: "witnesses",
};

const MARKS: Readonly<Record<"pass" | "fail" | "not_checked", Mark>> = {
  pass: "pass",
  fail: "fail",
  not_checked: "skip",
};

const UNPINNED_MARKS: typeof MARKS = { ...MARKS, pass: "skip" };

export interface Cosigner {
  readonly name: string;
  /** Unix seconds, as the node signed it. */
  readonly timeS: number;
}

/** Nodes whose good signature the checkpoint carries. */
export function cosignersOf(verification: ReceiptVerification): readonly Cosigner[] {
  return verification.verified.flatMap(({ vkey, timeS }) => (timeS === null ? [] : [{ name: vkey.name, timeS }]));
}

/**
 * When the quorum was complete: the k-th smallest time of the cosignatures, k being the quorum. Null if there are
 * fewer. Unix seconds.
 */
export function certifiedAtS(verification: ReceiptVerification, chain: TrustRootChain): number | null {
  const times = cosignersOf(verification).map(({ timeS }) => timeS);
  return [...times].sort((a, b) => a - b)[chain.newest.trustRoot.quorum - 1] ?? null;
}

/** When as many witnesses as are needed had signed. Null if the receipt is not witnessed. Unix seconds. */
function witnessedAtS({ witnesses, witnessesNeeded, witnessed }: ReceiptVerification): number | null {
  const times = witnesses.map(({ witnessedAt }) => witnessedAt).sort((a, b) => a - b);
  return witnessed ? (times[witnessesNeeded - 1] ?? null) : null;
}

/** Who has signed, a line each, below the step that counts them. */
function signersOf(code: ReceiptStepCode, verification: ReceiptVerification): readonly Cosigner[] {
  if (code === "cosignatures") return cosignersOf(verification);
  if (code !== "witnesses") return [];
  return verification.witnesses.map(({ name, witnessedAt }) => ({ name, timeS: witnessedAt }));
}

/**
 * Every step with its result, each cosignature on its own line. Without a pin none is shown as good: all hang on it.
 * @param content what the leaf was compared with
 */
export function receiptSteps(
  verification: ReceiptVerification,
  { chain, pin }: JudgedBy,
  content = "the SHA-256 of this file",
): ShownStep[] {
  const marks = pin === null ? UNPINNED_MARKS : MARKS;
  return verification.steps.flatMap(({ code, result, detail }): ShownStep[] => {
    const isPassed = result === "pass";
    const text = isPassed ? passDetail(code, detail, verification, chain, content) : detail;
    const step = { mark: marks[result], label: LABELS[code], detail: text };
    if (!isPassed) return [step];
    const lines = signersOf(code, verification).map(({ name, timeS }) => `${name} signed at ${isoSeconds(timeS)}`);
    return [step, ...lines.map((line) => ({ mark: marks.pass, label: "", detail: line }))];
  });
}

function passDetail(
  code: ReceiptStepCode,
  detail: string,
  verification: ReceiptVerification,
  chain: TrustRootChain,
  content: string,
): string {
  const { leaf } = verification;
  const { trustRoot, rootThk } = chain.newest;
  const active = trustRoot.nodes.filter((node) => node.status === "active").length;
  if (code === "leaf" && leaf !== null) {
    return `depth ${leaf.depth} of its origin, sequence ${leaf.sequence}, accepted ${isoMs(leaf.acceptedMs)}`;
  }
  if (code === "content") return `the leaf holds ${content}`;
  if (code === "cosignatures")
    return `${cosignersOf(verification).length} good, ${trustRoot.quorum} of ${active} needed`;
  if (code === "witnesses")
    return `${verification.witnesses.length} good, ${trustRoot.witnessQuorum} of ${trustRoot.witnesses.length} needed`;
  if (code === "trust_root") return `version ${trustRoot.version}, root_thk ${bytesToHex(rootThk)}`;
  return detail;
}

/**
 * `not_pinned`: nothing is wrong, and nobody has said whose trust root it is. `not_compared`: the receipt is good, and
 * it was not compared with the event that it is meant to be about. Neither is ever shown as valid.
 */
export type ReceiptOutcome = "valid" | "not_compared" | "not_pinned" | "invalid";

export const RECEIPT_MARKS: Readonly<Record<ReceiptOutcome, Mark>> = {
  valid: "pass",
  not_compared: "warn",
  not_pinned: "warn",
  invalid: "fail",
};

export interface ReceiptVerdict {
  readonly outcome: ReceiptOutcome;
  readonly warnings: readonly string[];
  /** Stable code of what failed; null if valid. */
  readonly failure: string | null;
}

/** @param isCurrentRequired whether a receipt that only an older trust root satisfies is refused */
export function judgeReceiptVerification(
  verification: ReceiptVerification,
  { pin }: JudgedBy,
  isCurrentRequired: boolean,
): ReceiptVerdict {
  const warnings: string[] = [];
  const { supersededTrustRoot, failure } = verification;
  if (supersededTrustRoot !== undefined) {
    warnings.push(`only trust root ${supersededTrustRoot} is satisfied, not the newest: renew the receipt`);
  }
  if (verification.originLost) warnings.push("the origin is marked lost: it is never written to again");
  if (failure !== null) return { outcome: "invalid", warnings, failure: failure.code };
  if (isCurrentRequired && supersededTrustRoot !== undefined)
    return { outcome: "invalid", warnings, failure: "superseded_trust_root" };
  if (pin === null) return { outcome: "not_pinned", warnings, failure: "not_pinned" };
  if (isUncompared(verification)) return { outcome: "not_compared", warnings, failure: "not_compared" };
  return { outcome: "valid", warnings, failure: null };
}

/** Only of an event does a receipt hold no more than a hash: the leaf of any other record says all of it. */
function isUncompared({ leaf, steps }: ReceiptVerification): boolean {
  const isEvent = leaf?.kind === LEAF_KIND.event || leaf?.kind === LEAF_KIND.signedEvent;
  return isEvent && steps.some(({ code, result }) => code === "content" && result === "not_checked");
}

/**
 * The sentence at the end.
 * @param subject what the receipt is of, as the beginning of a sentence: `letter.txt is the event`
 * @param nextStep what to do with a RootTHK that was compared
 */
export function receiptVerdictText(
  verification: ReceiptVerification,
  judgedBy: JudgedBy,
  { outcome, failure, warnings }: ReceiptVerdict,
  { subject, nextStep }: { readonly subject: string; readonly nextStep: string },
): string {
  if (outcome === "invalid") {
    const step = verification.steps.find(({ result }) => result === "fail");
    const reason = step === undefined ? (warnings[0] ?? "") : `${step.code}: ${step.detail}`;
    return `NOT VALID (${failure ?? ""}): ${reason}`;
  }
  if (outcome === "not_pinned") {
    const advice = notPinnedText(judgedBy, nextStep);
    return `NOT PINNED: file, receipt and trust root go together, which proves nothing yet: ${advice}`;
  }
  if (outcome === "not_compared")
    return "NOT COMPARED: the receipt is good, and nothing shows yet of which event: give the file itself.";
  const at = certifiedAtS(verification, judgedBy.chain);
  const accepted = verification.leaf === null ? "" : ` accepted at ${isoMs(verification.leaf.acceptedMs)}`;
  const certified = at === null ? "" : ` and certified at ${isoSeconds(at)}`;
  return `VALID: ${subject} that was${accepted}${certified}${witnessedText(verification)}.`;
}

function witnessedText(verification: ReceiptVerification): string {
  const at = witnessedAtS(verification);
  if (at === null) return "";
  return `, witnessed by ${verification.witnesses.map(({ name }) => name).join(", ")} at ${isoSeconds(at)}`;
}
