import {
  type NodeStatus,
  type OperatorResult,
  type ApiKeyList,
  UNARY_CALLS,
  apiKeyListOf,
  apiKeyListStatus,
  decodeCreateApiKey,
  decodeRevokeApiKey,
  decodeRotateApiKey,
  encodeApiKeyList,
  encodeNodeStatus,
  encodeOperatorResult,
  encodePrimeRootThk,
  encodeTrustRootChain,
  operatorResultStatus,
} from "@event-anchoring/control-contract";
import { type Command, trustRootsOf } from "@event-anchoring/ledger";
import { DecodeError, assertNever } from "@event-anchoring/protocol";
import type { Clock } from "./environment.ts";
import type { NodeIdentity } from "./identity.ts";
import type { SubmissionResult } from "./proposals/proposals.ts";
import type { Session } from "./session/session.ts";
import type { SnapshotExporter } from "./snapshot-transfer.ts";
import type { UnaryAnswer, UnaryHandler, UnaryRequest } from "./transport/network-types.ts";

/** How long an operator's call, and a confirmation by a read-index round, may take. */
const OPERATOR_DEADLINE_MS = 10_000;
const CONFIRM_DEADLINE_MS = 2000;

export interface UnaryView {
  readonly clock: Clock;
  readonly identity: NodeIdentity;
  readonly session: () => Session | null;
  readonly status: () => NodeStatus;
  readonly snapshots: SnapshotExporter;
}

const RETRY_AFTER_MS = 1000;

const NOT_NOW: UnaryAnswer = { status: 503, body: new Uint8Array() };
const FORBIDDEN: UnaryAnswer = { status: 403, body: new Uint8Array() };
/** The body is not what the call takes. */
const MALFORMED: UnaryAnswer = { status: 400, body: new Uint8Array() };

const NOT_SERVING = {
  outcome: "refused",
  code: "unavailable",
  detail: "the node is not serving",
  retryAfterMs: RETRY_AFTER_MS,
} as const;

/** What this node answers on its private listener, by path. */
export function unaryHandlers(view: UnaryView): Readonly<Record<string, UnaryHandler>> {
  return {
    [UNARY_CALLS.trust_root.path]: async () => ({ status: 200, body: encodeTrustRootChain(trustRootDocuments(view)) }),
    [UNARY_CALLS.prime_root_thk.path]: async (request) => primeRootThk(view, request),
    [UNARY_CALLS.status.path]: async () => ({ status: 200, body: encodeNodeStatus(view.status()) }),
    [UNARY_CALLS.create_api_key.path]: (request) =>
      write(view, request, (body, operator) => ({ kind: "create_api_key", operator, key: decodeCreateApiKey(body) })),
    [UNARY_CALLS.revoke_api_key.path]: (request) =>
      write(view, request, (body, operator) => ({ kind: "revoke_api_key", operator, ...decodeRevokeApiKey(body) })),
    [UNARY_CALLS.rotate_api_key.path]: (request) =>
      write(view, request, (body, operator) => ({ kind: "rotate_api_key", operator, ...decodeRotateApiKey(body) })),
    [UNARY_CALLS.list_api_keys.path]: (request) => listApiKeys(view, request),
    [UNARY_CALLS.snapshot_manifest.path]: (request) => view.snapshots.manifest(request),
    [UNARY_CALLS.snapshot_chunk.path]: (request) => view.snapshots.chunk(request),
  };
}

/** Signed documents from version 1 on; before genesis, the one this node was set up with. */
export function trustRootDocuments(view: Pick<UnaryView, "identity" | "session">): readonly string[] {
  const session = view.session();
  const applied = session === null ? [] : trustRootsOf(session.state).map(({ note }) => note);
  return applied.length > 0 ? applied : [view.identity.configured.document];
}

/** Only a leader that a quorum confirms right now may answer: an isolated one gets no read index. */
async function primeRootThk(view: UnaryView, request: UnaryRequest): Promise<UnaryAnswer> {
  const session = view.session();
  if (session === null || !session.isLeader()) return NOT_NOW;
  const readIndex = await confirmed(session, view.clock, request.signal);
  const newest = session.state.trustRootChain?.newest;
  if (readIndex === null || newest === undefined || !session.isLeader()) return NOT_NOW;
  const body = encodePrimeRootThk({
    primeNodeId: view.identity.nodeId,
    version: newest.trustRoot.version,
    rootThk: newest.rootThk,
    readIndex,
    term: session.raftStatus().term,
  });
  return { status: 200, body };
}

/** A log index that a quorum confirmed after this call, and that is applied here; null if that was not so in time. */
export function confirmed(session: Session, clock: Clock, signal: AbortSignal): Promise<number | null> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(null), { once: true });
    session.read({
      origins: "none",
      deadlineMs: clock.monotonicMs() + CONFIRM_DEADLINE_MS,
      respond: (answer) => resolve(answer.type === "ready_to_read" ? answer.readIndex : null),
    });
  });
}

/** Of an operator's body. @throws DecodeError */
type OperatorCommand = (body: Uint8Array, operator: string) => Command;

/** Proposes what an operator asks for, in the operator's name, and answers once it is decided. */
async function write(view: UnaryView, request: UnaryRequest, commandOf: OperatorCommand): Promise<UnaryAnswer> {
  const session = view.session();
  const { from } = request;
  if (from.kind !== "operator") return FORBIDDEN;
  const command = parsed(() => commandOf(request.body, from.operatorId));
  if (command === null) return MALFORMED;
  if (session === null) return answer(NOT_SERVING);
  const result = await new Promise<SubmissionResult>((respond) => {
    session.submit({
      command,
      answer: "certified",
      deadlineMs: view.clock.monotonicMs() + OPERATOR_DEADLINE_MS,
      isHousekeeping: false,
      respond,
    });
  });
  return answer(operatorResult(result));
}

function parsed<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** The key table as it is after whatever was acknowledged, by any node, before the call. */
async function listApiKeys(view: UnaryView, { from, signal }: UnaryRequest): Promise<UnaryAnswer> {
  const session = view.session();
  if (from.kind !== "operator") return FORBIDDEN;
  if (session === null) return listed(NOT_SERVING);
  const readIndex = await confirmed(session, view.clock, signal);
  if (readIndex === null) {
    const detail = "no quorum has confirmed in time that this node knows every key";
    return listed({ outcome: "refused", code: "no_leader", detail, retryAfterMs: RETRY_AFTER_MS });
  }
  return listed(apiKeyListOf(session.state.apiKeys.values()));
}

function listed(list: ApiKeyList): UnaryAnswer {
  return { status: apiKeyListStatus(list), body: encodeApiKeyList(list) };
}

function operatorResult(result: SubmissionResult): OperatorResult {
  if (result.kind === "refused") {
    return { outcome: "refused", code: result.code, detail: result.detail, retryAfterMs: RETRY_AFTER_MS };
  }
  const { outcome } = result;
  switch (outcome.kind) {
    case "applied":
    case "unchanged":
      return { outcome: outcome.kind };
    case "rejected":
      return { outcome: "rejected", code: outcome.rejection.code, detail: outcome.rejection.detail };
    case "records":
      throw new Error("an operator's command appends nothing");
    default:
      return assertNever(outcome);
  }
}

function answer(result: OperatorResult): UnaryAnswer {
  return { status: operatorResultStatus(result), body: encodeOperatorResult(result) };
}
