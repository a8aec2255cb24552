/** What all handlers of unary calls use: their view of the node, and how they answer. */
import {
  type NodeStatus,
  type OperatorResult,
  encodeOperatorResult,
  operatorResultStatus,
  RETRY_AFTER_MS,
} from "@event-anchoring/control-contract";
import type { Command, RecordOutcome } from "@event-anchoring/ledger";
import { assertNever, bytesToHex } from "@event-anchoring/protocol";
import type { Logger } from "@event-anchoring/telemetry";
import type { TimerClock } from "../ports/environment.ts";
import type { NodeIdentity } from "../ports/identity.ts";
import type { SubmissionResult } from "../proposals/proposals.ts";
import type { Session } from "../session/session.ts";
import type { SnapshotExporter } from "../snapshots/snapshot-exporter.ts";
import type { PeerNetwork, UnaryAnswer } from "../transport/network-types.ts";

/** How long an operator's call, and a confirmation by a read-index round, may take. */
const OPERATOR_DEADLINE_MS = 10_000;
const CONFIRM_DEADLINE_MS = 2000;
/** How long an operator waits for a certificate. The command is in force already: a stall must not hide that. */
const CERTIFICATE_WAIT_MS = 500;

export interface UnaryView {
  readonly clock: TimerClock;
  readonly logger: Logger;
  readonly identity: NodeIdentity;
  readonly session: () => Session | null;
  readonly status: () => NodeStatus;
  readonly snapshots: SnapshotExporter;
  /** A call to a peer. @throws PeerCallError */
  readonly call: PeerNetwork["call"];
}

export const NOT_NOW: UnaryAnswer = { status: 503, body: new Uint8Array() };
export const FORBIDDEN: UnaryAnswer = { status: 403, body: new Uint8Array() };
/** The body is not what the call takes. */
export const MALFORMED: UnaryAnswer = { status: 400, body: new Uint8Array() };

export const NOT_SERVING = {
  outcome: "refused",
  code: "unavailable",
  detail: "the node is not serving",
  retryAfterMs: RETRY_AFTER_MS,
} as const;

/** A log index that a quorum confirmed after this call, and that is applied here; null if not in time. */
export function confirmed(session: Session, clock: TimerClock, signal: AbortSignal): Promise<number | null> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(null), { once: true });
    session.read({
      origins: "none",
      deadlineMs: clock.monotonicMs() + CONFIRM_DEADLINE_MS,
      respond: (answer) => resolve(answer.type === "ready_to_read" ? answer.readIndex : null),
    });
  });
}

/** Resolves once the command is decided and its leaf is certified, or the wait for either was given up. */
export async function submitted(session: Session, clock: TimerClock, command: Command): Promise<OperatorResult> {
  const result = await new Promise<SubmissionResult>((respond) => {
    session.submit({
      command,
      answer: "committed",
      deadlineMs: clock.monotonicMs() + OPERATOR_DEADLINE_MS,
      respond,
    });
  });
  return operatorResult(result, async () => ((await isCertified(session, clock)) ? "certified" : "committed"));
}

/** Whether every leaf that exists now gets a certificate in time. */
function isCertified(session: Session, clock: TimerClock): Promise<boolean> {
  return new Promise((resolve) => {
    const open = new Set([...session.state.origins.values()].filter(({ status }) => status !== "lost"));
    const timer = clock.startTimer(CERTIFICATE_WAIT_MS, () => finish(false));
    const stops: (() => void)[] = [];
    const finish = (isMet: boolean): void => {
      timer.cancel();
      for (const stop of stops) stop();
      resolve(isMet);
    };
    for (const origin of open) {
      const covered = (): void => {
        open.delete(origin);
        if (open.size === 0) finish(true);
      };
      stops.push(session.whenCovered(origin.originFingerprint, origin.tree.size, covered));
    }
  });
}

async function operatorResult(
  result: SubmissionResult,
  finality: () => Promise<"certified" | "committed">,
): Promise<OperatorResult> {
  if (result.kind === "refused") {
    return { outcome: "refused", code: result.code, detail: result.detail, retryAfterMs: RETRY_AFTER_MS };
  }
  const { outcome } = result;
  switch (outcome.kind) {
    case "applied":
      return { outcome: "applied", finality: await finality() };
    case "unchanged":
      return { outcome: "unchanged" };
    case "rejected":
      return { outcome: "rejected", code: outcome.rejection.code, detail: outcome.rejection.detail };
    case "records":
      return recordedResult(outcome.records, finality);
    default:
      return assertNever(outcome);
  }
}

/** An operator's command records one thing: a revocation. */
async function recordedResult(
  [record]: readonly RecordOutcome[],
  finality: () => Promise<"certified" | "committed">,
): Promise<OperatorResult> {
  if (record === undefined) throw new Error("an operator's command has recorded nothing");
  if (record.status === "rejected") {
    return { outcome: "rejected", code: record.rejection.code, detail: record.rejection.detail };
  }
  const replayed = record.status === "replayed";
  const { anchorId } = record.status === "replayed" ? record : record.leaf;
  return { outcome: "recorded", anchorId: bytesToHex(anchorId), replayed, finality: await finality() };
}

export function answer(result: OperatorResult): UnaryAnswer {
  return { status: operatorResultStatus(result), body: encodeOperatorResult(result) };
}
