import { RETRY_AFTER_MS } from "@event-anchoring/control-contract";
import type {
  CallContext,
  LocalRequest,
  LocalResponse,
  RefusalCode,
  TraceContext,
} from "@event-anchoring/control-contract";
import { type Command, decodeCommand } from "@event-anchoring/ledger";
import { DecodeError, assertNever } from "@event-anchoring/protocol";
import type { Clock, Logger, Span, Tracer } from "@event-anchoring/telemetry";
import type { HeadRequest } from "../certification/awaited-heads.ts";
import type { ReadRequest } from "../certification/linearizable-reads.ts";
import type { HeldStates, HoldRequest } from "./held-states.ts";
import { keyListOf } from "./key-list.ts";
import type { LocalHandler } from "./local-link.ts";
import type { Witness } from "../witness/witness.ts";
import { addCheckpoint } from "./witness-requests.ts";
import type { ControlPlaneNode } from "../node/node.ts";
import { submissionAnswer } from "./submission-answer.ts";

/**
 * Commands that the api process may submit for clients. Keys, trust roots and certify points come from operators and
 * from the nodes themselves: a compromised api process must not be able to submit them.
 */
const CLIENT_COMMANDS: ReadonlySet<Command["kind"]> = new Set<Command["kind"]>([
  "record_events",
  "record_claim",
  "record_grant",
  "record_revocation",
  "erase_client_event",
]);

export interface LocalRequestsOptions {
  readonly clock: Clock;
  /** Absent: nothing is logged. */
  readonly logger?: Logger;
  /** Absent or null: nothing is traced. */
  readonly tracer?: Tracer | null;
  readonly node: ControlPlaneNode;
  readonly metrics: () => Promise<string>;
  /** Absent: no state is held for backups and proofs. */
  readonly heldStates?: HeldStates;
  /** Absent or null: this node witnesses no other logs. */
  readonly witness?: Witness | null;
}

/** Handles the requests of this node's api process. */
export function localRequests(options: LocalRequestsOptions): LocalHandler {
  return requestHandler(options, ({ kind }) => CLIENT_COMMANDS.has(kind));
}

/** The same for a caller that may also submit operators' commands. */
export function trustedRequests(options: LocalRequestsOptions): LocalHandler {
  return requestHandler(options, () => true);
}

function requestHandler(options: LocalRequestsOptions, mayPropose: (command: Command) => boolean): LocalHandler {
  return (request, respond, gone) => {
    switch (request.type) {
      case "submit": {
        const command = commandOf(options, request, respond);
        if (command === null) return;
        if (mayPropose(command)) submit(options, request, command, respond);
        else respond(refused(request.requestId, "unavailable", `${command.kind} is no command of a client`));
        break;
      }
      case "read":
        read(options, request, respond);
        break;
      case "read_latest":
        read(options, { ...request, origins: [request.origin], wantsLatest: true }, respond);
        break;
      case "await_head":
        awaitHead(options, request, respond);
        break;
      case "api_keys":
        readKeys(options, request, respond);
        break;
      case "hold_state":
        holdState(options, request, respond, gone);
        break;
      case "add_checkpoint":
        addCheckpoint(options, request, respond);
        break;
      case "cosigned_checkpoint": {
        const checkpoint = options.witness?.newestOf(request.originHash) ?? null;
        respond({ type: "cosigned_checkpoint", requestId: request.requestId, checkpoint });
        break;
      }
      case "status":
        respond({ type: "status", requestId: request.requestId, status: options.node.status() });
        break;
      case "metrics":
        options.metrics().then(
          (text) => respond({ type: "metrics", requestId: request.requestId, text }),
          (error: unknown) => respond(refused(request.requestId, "unavailable", String(error))),
        );
        break;
      default:
        assertNever(request);
    }
  };
}

type Respond = (response: LocalResponse) => void;

type SubmitRequest = Extract<LocalRequest, { type: "submit" }>;

/** Bytes that are no command are the api process's fault: they are refused and logged. @returns null if they are */
function commandOf({ logger }: LocalRequestsOptions, request: SubmitRequest, respond: Respond): Command | null {
  const { requestId, call } = request;
  try {
    return decodeCommand(request.command);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    logger?.error("local_command_invalid", { request_id: call?.requestId ?? "", reason: error.message });
    respond(refused(requestId, "unavailable", `not the bytes of a command: ${error.message}`));
    return null;
  }
}

function submit(options: LocalRequestsOptions, request: SubmitRequest, command: Command, respond: Respond): void {
  const { clock, node, tracer = null } = options;
  const { requestId, answer, remainingMs, call, command: bytes } = request;
  const startMs = clock.monotonicMs();
  const parent = call?.trace ?? null;
  const span = tracer === null || parent === null ? null : startSpan(tracer, parent, request, command);
  const done = (response: LocalResponse): void => {
    node.timings.submit.observe({ outcome: outcomeOf(response) }, (clock.monotonicMs() - startMs) / 1000);
    if (options.logger !== undefined) logUnserved(options.logger, call, command, response);
    if (span !== null) endSpan(span, response);
    respond(response);
  };
  const { session } = node;
  if (session === null) {
    done(refused(requestId, notServing(node), "this node is not serving"));
  } else {
    session.submit({
      command,
      bytes,
      answer,
      deadlineMs: startMs + remainingMs,
      ...(span === null ? {} : { trace: span.context }),
      respond: (result) => done({ ...submissionAnswer(result, session), requestId }),
    });
  }
}

function startSpan(
  tracer: Tracer,
  parent: TraceContext,
  { call, answer }: SubmitRequest,
  command: Command,
): Span | null {
  const attributes = {
    "anchoring.request_id": call?.requestId ?? "",
    "anchoring.command": command.kind,
    "anchoring.awaited": answer,
  };
  return tracer.start("submit", { kind: "server", parent, attributes });
}

function endSpan(span: Span, response: LocalResponse): void {
  if (response.type === "submitted") {
    span.set({ "anchoring.finality": response.finality, "anchoring.outcome": response.outcome.kind });
    span.end();
  } else span.end(response.type === "refused" ? response.code : undefined);
}

/** A label of a closed set. */
function outcomeOf(response: LocalResponse): string {
  if (response.type === "refused") return response.code;
  if (response.type !== "submitted") return response.type;
  return response.outcome.kind === "rejected" ? "rejected" : response.finality;
}

/**
 * Logged with the request id that the client got; at level debug if a rule refused the write, since that is frequent
 * and the client's affair.
 */
function logUnserved(logger: Logger, call: CallContext | null, command: Command, response: LocalResponse): void {
  if (call === null) return;
  const fields = {
    request_id: call.requestId,
    ...(call.trace === null ? {} : { trace_id: call.trace.traceId }),
    command: command.kind,
  };
  if (response.type === "refused") {
    logger.info("write_not_served", { ...fields, code: response.code, detail: response.detail });
  } else if (response.type === "submitted" && response.outcome.kind === "rejected") {
    logger.debug("write_rejected", { ...fields, code: response.outcome.rejection.code });
  }
}

function read(
  { clock, node }: LocalRequestsOptions,
  request: Pick<ReadRequest, "origins" | "wantsLatest"> & { readonly requestId: number; readonly remainingMs: number },
  respond: Respond,
): void {
  const { requestId, origins, wantsLatest = false, remainingMs } = request;
  const { session } = node;
  if (session === null) {
    respond(refused(requestId, notServing(node), "this node is not serving"));
    return;
  }
  session.read({
    origins,
    wantsLatest,
    deadlineMs: clock.monotonicMs() + remainingMs,
    respond: (answer) => respond({ ...answer, requestId }),
  });
}

function awaitHead(
  { clock, node }: LocalRequestsOptions,
  request: Extract<LocalRequest, { type: "await_head" }>,
  respond: Respond,
): void {
  const { requestId, origin, afterSize, remainingMs, isWitnessed } = request;
  const { session } = node;
  if (session === null) {
    respond(refused(requestId, notServing(node), "this node is not serving"));
    return;
  }
  const asked: HeadRequest = {
    origin,
    afterSize,
    deadlineMs: clock.monotonicMs() + remainingMs,
    respond: (answer) => respond({ ...answer, requestId }),
  };
  if (isWitnessed) session.awaitWitnessed(asked);
  else session.awaitHead(asked);
}

/** The key table in memory, once it is as far as a read index that was asked for after the request. */
function readKeys(
  options: LocalRequestsOptions,
  { requestId, remainingMs }: Extract<LocalRequest, { type: "api_keys" }>,
  respond: Respond,
): void {
  read(options, { requestId, remainingMs, origins: "none" }, (answer) => {
    const { session } = options.node;
    if (answer.type === "refused") respond(answer);
    else if (session === null) respond(refused(requestId, notServing(options.node), "this node is not serving"));
    else respond({ type: "api_keys", requestId, keys: keyListOf(session.state) });
  });
}

function holdState(
  { node, heldStates }: LocalRequestsOptions,
  request: HoldRequest,
  respond: Respond,
  gone: AbortSignal,
): void {
  const { requestId } = request;
  if (heldStates === undefined || node.session === null) {
    respond(refused(requestId, notServing(node), "this node is not serving"));
    return;
  }
  heldStates
    .hold(request, gone)
    .then(respond, (error: unknown) => respond(refused(requestId, "unavailable", String(error))));
}

function notServing(node: ControlPlaneNode): RefusalCode {
  const { state, failing } = node.status().serving;
  if (state === "fenced") return "fenced";
  return failing.some(({ check }) => check === "storage_full") ? "storage_full" : "unavailable";
}

function refused(requestId: number, code: RefusalCode, detail: string): LocalResponse {
  return { type: "refused", requestId, code, detail, retryAfterMs: RETRY_AFTER_MS };
}
