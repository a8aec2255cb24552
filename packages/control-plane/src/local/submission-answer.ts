import { RETRY_AFTER_MS } from "@event-anchoring/control-contract";
import type { LocalResponse, SubmittedRecord, SubmittedOutcome } from "@event-anchoring/control-contract";
import type { CommandOutcome, RecordOutcome, LedgerState } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Certifier } from "../certification/certifier.ts";
import { shownCertificate } from "../certification/shown-certificate.ts";
import type { SubmissionResult } from "../proposals/proposals.ts";

export interface AnswerView {
  readonly state: LedgerState;
  heldOf: Certifier["heldOf"];
}

type Answer = Omit<Extract<LocalResponse, { type: "submitted" }>, "requestId"> | Refusal;
type Refusal = Omit<Extract<LocalResponse, { type: "refused" }>, "requestId">;

/** A decided submission as the api process gets it: leaves, and paths under the certificate held at this moment. */
export function submissionAnswer(result: SubmissionResult, view: AnswerView): Answer {
  if (result.kind === "refused") {
    return { type: "refused", code: result.code, detail: result.detail, retryAfterMs: RETRY_AFTER_MS };
  }
  const outcome = submittedOutcome(result.outcome, view, result.finality === "certified");
  return { type: "submitted", finality: result.finality, outcome };
}

function submittedOutcome(outcome: CommandOutcome, view: AnswerView, isCertified: boolean): SubmittedOutcome {
  if (outcome.kind !== "records") return outcome;
  const records = outcome.records.map((record): SubmittedRecord => {
    if (record.status !== "accepted" || !isCertified) return uncertified(record);
    const { leaf, clientEventSalt } = record;
    const held = view.heldOf(leaf.originFingerprint);
    const tree = view.state.origins.get(bytesToHex(leaf.originFingerprint))?.tree;
    if (held === null || tree === undefined || held.treeSize <= leaf.depth) return uncertified(record);
    const inclusion = { certificate: shownCertificate(held), path: tree.prove(leaf.depth, held.treeSize) };
    return { status: "accepted", leaf: leaf.bytes, anchorId: leaf.anchorId, inclusion, clientEventSalt };
  });
  return { kind: "records", refused: outcome.refused, records };
}

function uncertified(record: RecordOutcome): SubmittedRecord {
  if (record.status !== "accepted") return record;
  const { leaf, clientEventSalt } = record;
  return { status: "accepted", leaf: leaf.bytes, anchorId: leaf.anchorId, inclusion: null, clientEventSalt };
}
