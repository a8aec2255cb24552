/** Common to all writes: submits a command, and makes a result for each record in it. */
import type { AnchorView, CreatedAnswer, Problem } from "@event-anchoring/api-contract";
import type { SubmittedRecord } from "@event-anchoring/control-contract";
import type {
  RecordClaimCommand,
  RecordEventsCommand,
  RecordGrantCommand,
  RecordRevocationCommand,
} from "@event-anchoring/ledger";
import { LEAF_KIND, assertNever, bytesToHex, decodeLeaf } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import type { Work } from "../access/request-cost.ts";
import { ProblemError } from "../request/problem-error.ts";
import { rejectionProblem } from "../request/problems.ts";
import type { HandlerDependencies, HandlerRequest } from "./handler.ts";
import type { AppendedRecord, CreatedRecord, ReplayedRecord } from "./created-answer.ts";
import { readCommittedAnchors } from "./read-anchors.ts";
import { underWitnessedHeads } from "./witnessed-records.ts";

/** A command that appends leaves. */
export type RecordCommand = RecordEventsCommand | RecordClaimCommand | RecordGrantCommand | RecordRevocationCommand;

/** The answer to one record, before its route shapes it. */
export type RecordResult =
  | { readonly kind: "created"; readonly record: CreatedRecord }
  | { readonly kind: "refused"; readonly problem: Problem };

export interface Recorded {
  /** An atomic batch was refused: nothing is anchored. */
  readonly isRefused: boolean;
  /** Parallel to what the command records. */
  readonly results: readonly RecordResult[];
  /** Every receipt among them is under a witnessed head, as the request prefers. */
  readonly isWitnessed: boolean;
}

/** By the record's position in its command: one for each record. Null if it is not an event, or has no id. */
function clientEventIdsOf(command: RecordCommand): (string | null)[] {
  switch (command.kind) {
    case "record_events":
      return command.events.map(({ clientEventId }) => clientEventId);
    case "record_claim":
    case "record_grant":
    case "record_revocation":
      return [null];
    default:
      return assertNever(command);
  }
}

/** An unsigned event costs no extra work; a claim and a grant carry two signatures each. */
function workOf(command: RecordCommand): Work {
  switch (command.kind) {
    case "record_events": {
      const { events } = command;
      const signatures = events.filter(({ actor }) => actor !== null).length;
      return { items: events.length === 1 ? 0 : events.length, signatures };
    }
    case "record_claim":
    case "record_grant":
      return { signatures: 2 };
    case "record_revocation":
      return { signatures: command.revocation.signer === null ? 0 : 1 };
    default:
      return assertNever(command);
  }
}

/**
 * Submits a command and makes an answer for each of its records: for new ones at once, for replays by reading their
 * present state.
 * @param itemPointer RFC 6901 pointer of a record in the request body; "" when the body is the record
 * @throws ProblemError if the command as a whole is refused; RefusedError
 */
export async function record(
  request: HandlerRequest,
  dependencies: HandlerDependencies,
  command: RecordCommand,
  itemPointer: (index: number) => string = () => "",
): Promise<Recorded> {
  const clientEventIds = clientEventIdsOf(command);
  request.spend(workOf(command));
  const outcome = await dependencies.controlPlane.submit(command, {
    remainingMs: request.deadline.remainingMs,
    answer: request.isAsync ? "committed" : "certified",
    call: request.call,
  });
  if (outcome.kind === "rejected") throw new ProblemError(rejectionProblem(outcome.rejection));
  if (outcome.kind !== "records" || outcome.records.length !== clientEventIds.length) {
    throw new Error(`${command.kind} was answered with ${outcome.kind}`);
  }
  const replayed = await readReplayed(request, dependencies, outcome.records);
  const results = outcome.records.map((submitted, index): RecordResult => {
    switch (submitted.status) {
      case "accepted": {
        const clientEventId = clientEventIds[index] ?? null;
        return { kind: "created", record: appendedRecord(submitted, clientEventId) };
      }
      case "replayed":
        return { kind: "created", record: replayedRecord(replayed, submitted.anchorId) };
      case "rejected":
        return { kind: "refused", problem: rejectionProblem(submitted.rejection, itemPointer(index)) };
      default:
        return assertNever(submitted);
    }
  });
  const isPreferred = request.prefersWitnessed && !outcome.refused;
  const shown = isPreferred ? await withWitnessed(results, request, dependencies) : results;
  const created = shown.flatMap((result) => (result.kind === "created" ? [result.record] : []));
  const isWitnessed = created.length > 0 && created.every((each) => each.isWitnessed === true);
  return { isRefused: outcome.refused, results: shown, isWitnessed };
}

async function withWitnessed(
  results: readonly RecordResult[],
  request: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<readonly RecordResult[]> {
  const created = results.flatMap((result) => (result.kind === "created" ? [result.record] : []));
  const replaced = await underWitnessedHeads(created, request, dependencies);
  return results.map((result) =>
    result.kind === "created" ? { ...result, record: replaced.get(result.record) ?? result.record } : result,
  );
}

/** The answer of a command that records one thing. @throws ProblemError if it is refused; RefusedError */
export async function recordOne(
  request: HandlerRequest,
  dependencies: HandlerDependencies,
  command: RecordCommand,
): Promise<CreatedRecord> {
  const { results } = await record(request, dependencies, command);
  const [result] = results;
  if (result === undefined || results.length > 1) throw new Error(`one record, ${results.length} results`);
  if (result.kind === "refused") throw new ProblemError(result.problem);
  return result.record;
}

type Accepted = Extract<SubmittedRecord, { status: "accepted" }>;

function appendedRecord(submitted: Accepted, clientEventId: string | null): AppendedRecord {
  const { leaf: leafBytes, anchorId, inclusion, clientEventSalt } = submitted;
  const leaf = decodeLeaf(leafBytes);
  const hasState = leaf.kind === LEAF_KIND.claim || leaf.kind === LEAF_KIND.grant;
  const view: AnchorView = {
    leaf,
    anchorId,
    finality: inclusion === null ? "committed" : "certified",
    clientEvent: { clientEventId, clientEventSalt, isErased: false },
    // A claim or grant is accepted only if nothing has ended it at its own position.
    state: hasState ? "active" : null,
  };
  const proved = inclusion === null ? null : { anchorId, leaf: leafBytes, index: leaf.depth, ...inclusion };
  return { kind: "appended", view, proved };
}

/** A replay carries ids only: its anchor and receipt are read as of now, all of a batch together. */
async function readReplayed(
  request: HandlerRequest,
  dependencies: HandlerDependencies,
  records: readonly SubmittedRecord[],
): Promise<ReadonlyMap<string, CreatedAnswer>> {
  const ids = new Map<string, AnchorId>();
  for (const submitted of records) {
    if (submitted.status === "replayed") ids.set(bytesToHex(submitted.anchorId), submitted.anchorId);
  }
  const answers = new Map<string, CreatedAnswer>();
  if (ids.size === 0) return answers;
  const found = await readCommittedAnchors([...ids.values()], request, dependencies);
  for (const { anchorId, anchor, receipt } of found.values()) {
    answers.set(bytesToHex(anchorId), { anchor, receipt, replayed: true });
  }
  return answers;
}

function replayedRecord(replayed: ReadonlyMap<string, CreatedAnswer>, anchorId: AnchorId): ReplayedRecord {
  const answer = replayed.get(bytesToHex(anchorId));
  if (answer === undefined) throw new Error(`replayed anchor ${bytesToHex(anchorId)} is not in the tables`);
  return { kind: "replayed", answer };
}
