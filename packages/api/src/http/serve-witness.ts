/**
 * This node as a witness of other logs: C2SP tlog-witness, whose paths, statuses and bodies these are. It is no route
 * of the API: it takes no key, and its contract is the standard's.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { LIMITS } from "@event-anchoring/api-contract";
import { isSignedByLog } from "@event-anchoring/control-contract";
import type { WitnessAnswer, WitnessedLog } from "@event-anchoring/control-contract";
import {
  ADD_CHECKPOINT_BYTES_MAX,
  AddCheckpointError,
  TREE_SIZE_CONTENT_TYPE,
  assertNever,
  formatTreeSize,
  hexToBytes,
  parseAddCheckpoint,
} from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";
import type { PublicLog, Visitor } from "../access/public-log.ts";
import { costOf } from "../access/request-cost.ts";
import { ProblemError, problemError } from "../request/problem-error.ts";
import { Exchange } from "./exchange.ts";
import type { ExchangeDependencies } from "./exchange.ts";
import { readBody } from "./json-body.ts";
import { sendBytes } from "./respond.ts";

/** The submission prefix and the monitoring prefix. */
const PREFIX = "/witness";
const ADD_CHECKPOINT = { id: "addCheckpoint", path: `${PREFIX}/add-checkpoint`, method: "POST" } as const;
const GET_CHECKPOINT = {
  id: "getCosignedCheckpoint",
  path: `${PREFIX}/{origin_hash}/checkpoint`,
  method: "GET",
} as const;
const CHECKPOINT_TARGET = new RegExp(`^${PREFIX}/([0-9a-f]{64})/checkpoint$`);
const TEXT = "text/plain; charset=utf-8";

/** What the node's control plane does as a witness. */
export interface WitnessControl {
  addCheckpoint(body: Uint8Array, remainingMs: number): Promise<WitnessAnswer>;
  /** null: no checkpoint of that log has been cosigned. */
  cosignedCheckpoint(originHash: Uint8Array, remainingMs: number): Promise<string | null>;
}

export interface WitnessService {
  /** By origin. */
  readonly logs: ReadonlyMap<string, WitnessedLog>;
  readonly controlPlane: WitnessControl;
  /** Counts callers by address, with budgets that no reader of a public log shares. */
  readonly callers: PublicLog;
  readonly crypto: Pick<Crypto, "ed25519Verify">;
}

interface TextAnswer {
  readonly status: number;
  readonly text: string;
  readonly mediaType?: string;
}

/** Serves a request to the witness. @returns false: the target is another one's */
export function serveWitness(
  request: IncomingMessage,
  response: ServerResponse,
  service: WitnessService,
  dependencies: ExchangeDependencies,
): boolean {
  const target = request.url ?? "";
  const [, originHash] = CHECKPOINT_TARGET.exec(target) ?? [];
  if (target !== ADD_CHECKPOINT.path && originHash === undefined) return false;
  const route = originHash === undefined ? ADD_CHECKPOINT : GET_CHECKPOINT;
  const exchange = new Exchange(request, response, route, dependencies);
  if (request.method !== route.method) {
    exchange.fail(problemError("method_not_allowed"), { Allow: route.method });
    return true;
  }
  void exchange.run(async () => {
    const caller = service.callers.visitorOf(request);
    const answer = await service.callers.run(caller, () =>
      originHash === undefined
        ? addCheckpoint(request, response, caller, service)
        : getCheckpoint(hexToBytes(originHash, 32), service),
    );
    const { status, text, mediaType = TEXT } = answer;
    sendBytes(response, exchange.call.requestId, { status, mediaType, body: Buffer.from(text), headers: {} });
  });
  return true;
}

/**
 * What needs no memory of the log is checked here: so the control plane sees only what a key of a listed log has
 * signed. It checks all of it again, since this process must not be able to have anything cosigned.
 */
async function addCheckpoint(
  request: IncomingMessage,
  response: ServerResponse,
  caller: Visitor,
  { logs, controlPlane, callers, crypto }: WitnessService,
): Promise<TextAnswer> {
  const body = await readBody(request, response, { bytesMax: ADD_CHECKPOINT_BYTES_MAX, onBytes: () => {} });
  callers.charge(caller, costOf({ bodyBytes: body.length }));
  const early = refusalOf(body, logs, crypto);
  return answerOf(early ?? (await controlPlane.addCheckpoint(body, LIMITS.writeTimeoutMs)));
}

function refusalOf(
  body: Uint8Array,
  logs: WitnessService["logs"],
  crypto: WitnessService["crypto"],
): WitnessAnswer | null {
  try {
    const submitted = parseAddCheckpoint(body);
    const log = logs.get(submitted.checkpoint.origin);
    if (log === undefined) return { kind: "log_unknown" };
    return isSignedByLog(submitted, log, crypto) ? null : { kind: "untrusted" };
  } catch (error) {
    if (error instanceof AddCheckpointError) return { kind: "malformed" };
    throw error;
  }
}

/** @throws ProblemError `rate_limited` */
function answerOf(answer: WitnessAnswer): TextAnswer {
  switch (answer.kind) {
    case "cosigned":
      return { status: 200, text: answer.lines };
    case "size_differs":
      return { status: 409, text: formatTreeSize(answer.treeSize), mediaType: TREE_SIZE_CONTENT_TYPE };
    case "malformed":
      return { status: 400, text: "not an add-checkpoint request, or its old size is above the checkpoint's\n" };
    case "untrusted":
      return { status: 403, text: "no key of the log has signed the checkpoint, or a line of such a key is bad\n" };
    case "log_unknown":
      return { status: 404, text: "this witness does not know the log\n" };
    case "inconsistent":
      return { status: 422, text: "the checkpoint does not follow from the one that was cosigned\n" };
    case "limited":
      throw new ProblemError({ code: "rate_limited", retryAfterMs: answer.retryAfterMs });
    default:
      return assertNever(answer);
  }
}

async function getCheckpoint(originHash: Uint8Array, { controlPlane }: WitnessService): Promise<TextAnswer> {
  const checkpoint = await controlPlane.cosignedCheckpoint(originHash, LIMITS.readTimeoutMs);
  if (checkpoint === null) return { status: 404, text: "no checkpoint of this log has been cosigned\n" };
  return { status: 200, text: checkpoint };
}
