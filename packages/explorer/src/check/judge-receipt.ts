/** Judges a receipt as `anchorctl verify` does. */
import {
  anchorIdOf,
  bytesToHex,
  decodeLeaf,
  equalBytes,
  nobleCrypto,
  verifyReceipt,
  LEAF_KIND,
} from "@event-anchoring/protocol";
import { RECEIPT_MARKS, judgeReceiptVerification, receiptSteps, receiptVerdictText } from "@event-anchoring/verdicts";
import type { JudgedBy } from "@event-anchoring/verdicts";
import type { GivenOf } from "../given/given.ts";
import type { Judged } from "./judged.ts";
import { PIN_ADVICE, pinStep } from "./pin-step.ts";

const RECEIPT_ENDING = ".tlog-proof";

/** What the reader knows by other means than the receipt. */
export interface Expected {
  readonly anchorId: Uint8Array | null;
  /** SHA-256 of the event, where the file itself is not given. */
  readonly eventHash: Uint8Array | null;
  /** What is certified and not witnessed is not good. */
  readonly requireWitnessed: boolean;
}

interface Compared {
  readonly eventHash: Uint8Array;
  readonly name: string;
  readonly what: string;
}

/** The event hash that the leaf holds; null: it is no event, or no leaf. */
export function ownHash(leaf: Uint8Array): Uint8Array | null {
  try {
    const decoded = decodeLeaf(leaf);
    const isEvent = decoded.kind === LEAF_KIND.event || decoded.kind === LEAF_KIND.signedEvent;
    return isEvent ? decoded.eventHash : null;
  } catch {
    // The first step of the verification says what is wrong with it.
    return null;
  }
}

/** The files that are not beside a receipt of their name: such a file is nothing else's. */
export function withoutReceipt(
  files: readonly GivenOf<"file">[],
  receipts: readonly GivenOf<"receipt">[],
): GivenOf<"file">[] {
  return files.filter((file) => !receipts.some((each) => each.name === `${file.name}${RECEIPT_ENDING}`));
}

/**
 * The file that a receipt is compared with: that of its name, else the one whose hash it holds, else the only one that
 * there is.
 */
function fileOf(
  { name, receipt }: GivenOf<"receipt">,
  files: readonly GivenOf<"file">[],
  receipts: readonly GivenOf<"receipt">[],
): GivenOf<"file"> | null {
  const own = files.find((file) => name === `${file.name}${RECEIPT_ENDING}`);
  if (own !== undefined) return own;
  const hash = ownHash(receipt.leaf);
  const same = hash === null ? undefined : files.find((file) => equalBytes(file.hash, hash));
  if (same !== undefined) return same;
  const free = withoutReceipt(files, receipts);
  return receipts.length === 1 && free.length === 1 ? (free[0] ?? null) : null;
}

/** Both the file and what was typed in must be what the leaf holds: the one that is not is compared with. */
function comparedWith(
  file: GivenOf<"file"> | null,
  { eventHash }: Expected,
  { name: receiptName, receipt }: GivenOf<"receipt">,
): Compared | null {
  const ofFile = file && { eventHash: file.hash, name: file.name, what: "the SHA-256 of this file" };
  if (eventHash === null) return ofFile;
  const own = ownHash(receipt.leaf);
  const isFileWrong = ofFile !== null && (own === null || !equalBytes(ofFile.eventHash, own));
  if (ofFile !== null && (isFileWrong || equalBytes(ofFile.eventHash, eventHash))) return ofFile;
  const name = receiptName.endsWith(RECEIPT_ENDING) ? receiptName.slice(0, -RECEIPT_ENDING.length) : "it";
  return { eventHash, name, what: "the SHA-256 that was typed in" };
}

/** The id that was typed in and the stated one must both be the leaf's: the one that is not is expected. */
function anchorIdFor({ receipt, statedId }: GivenOf<"receipt">, expected: Expected): Uint8Array | null {
  const ids = [expected.anchorId, statedId].filter((id) => id !== null);
  const own = anchorIdOf(receipt.leaf, nobleCrypto.sha256);
  return ids.find((id) => !equalBytes(id, own)) ?? ids[0] ?? null;
}

export function judgeReceipt(
  given: GivenOf<"receipt">,
  judgedBy: JudgedBy,
  expected: Expected,
  others: { readonly files: readonly GivenOf<"file">[]; readonly receipts: readonly GivenOf<"receipt">[] },
): Judged {
  const compared = comparedWith(fileOf(given, others.files, others.receipts), expected, given);
  const anchorId = anchorIdFor(given, expected);
  const expect = {
    ...(compared === null ? {} : { eventHash: compared.eventHash }),
    ...(anchorId === null ? {} : { anchorId }),
  };
  const { requireWitnessed } = expected;
  const input = { receipt: given.receipt, trustRoots: judgedBy.chain, expect, requireWitnessed };
  const verification = verifyReceipt(input, nobleCrypto);
  const verdict = judgeReceiptVerification(verification, judgedBy, false);
  const subject = compared === null ? `the record of ${given.name} is the one` : `${compared.name} is the event`;
  const file =
    compared === null
      ? []
      : [
          {
            mark: "skip" as const,
            label: "file",
            detail: `${compared.name}, SHA-256 ${bytesToHex(compared.eventHash)}`,
          },
        ];
  return {
    name: given.name,
    kind: "receipt",
    mark: RECEIPT_MARKS[verdict.outcome],
    text: receiptVerdictText(verification, judgedBy, verdict, { subject, nextStep: PIN_ADVICE }),
    steps: [
      ...file,
      pinStep(judgedBy),
      ...receiptSteps(verification, judgedBy, compared?.what),
      ...verdict.warnings.map((detail) => ({ mark: "warn" as const, label: "warning", detail })),
    ],
    leaf: verification.leaf,
    bundle: null,
  };
}
