import type { LocalRequest, LocalResponse, RefusalCode } from "@event-anchoring/control-contract";
import type { Command } from "@event-anchoring/ledger";
import { assertNever } from "@event-anchoring/protocol";
import type { Clock } from "../environment.ts";
import type { LocalHandler } from "./local-link.ts";
import type { ControlPlaneNode } from "../node.ts";
import { submissionAnswer } from "../proposals/submissions.ts";

const RETRY_AFTER_MS = 1000;

/**
 * What a client may have asked of the api process. Keys, trust roots and certify points come from operators and from
 * the nodes themselves: an api process in foreign hands must not be able to speak in their name.
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
  readonly node: ControlPlaneNode;
  readonly metrics: () => Promise<string>;
}

/** What the api process of this node asks, and how it is answered. */
export function localRequests(options: LocalRequestsOptions): LocalHandler {
  const answer = trustedRequests(options);
  return (request, respond) => {
    const foreign = request.type === "submit" && request.commands.find(({ kind }) => !CLIENT_COMMANDS.has(kind));
    if (!foreign) return answer(request, respond);
    respond(refused(request.requestId, "unavailable", `${foreign.kind} is no command of a client`));
  };
}

/** The same for a caller who may speak for operators, too. */
export function trustedRequests(options: LocalRequestsOptions): LocalHandler {
  return (request, respond) => {
    switch (request.type) {
      case "submit":
        submit(options, request, respond);
        break;
      case "read":
        read(options, request, respond);
        break;
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

function submit(
  { clock, node }: LocalRequestsOptions,
  request: Extract<LocalRequest, { type: "submit" }>,
  respond: Respond,
): void {
  const { requestId, answer, remainingMs } = request;
  const [command, ...more] = request.commands;
  const { session } = node;
  if (command === undefined || more.length > 0) {
    respond(refused(requestId, "too_large", "one request is one command"));
  } else if (session === null) {
    respond(refused(requestId, notServing(node), "this node is not serving"));
  } else {
    session.submit({
      command,
      answer,
      deadlineMs: clock.monotonicMs() + remainingMs,
      isHousekeeping: false,
      respond: (result) => respond({ ...submissionAnswer(result, session), requestId }),
    });
  }
}

function read(
  { clock, node }: LocalRequestsOptions,
  request: Extract<LocalRequest, { type: "read" }>,
  respond: Respond,
): void {
  const { requestId, origins, remainingMs } = request;
  const { session } = node;
  if (session === null) {
    respond(refused(requestId, notServing(node), "this node is not serving"));
    return;
  }
  session.read({
    origins,
    deadlineMs: clock.monotonicMs() + remainingMs,
    respond: (answer) => respond({ ...answer, requestId }),
  });
}

function notServing(node: ControlPlaneNode): RefusalCode {
  const { state, failing } = node.status().serving;
  if (state === "fenced") return "fenced";
  return failing.some(({ check }) => check === "storage_full") ? "storage_full" : "unavailable";
}

function refused(requestId: number, code: RefusalCode, detail: string): LocalResponse {
  return { type: "refused", requestId, code, detail, retryAfterMs: RETRY_AFTER_MS };
}
