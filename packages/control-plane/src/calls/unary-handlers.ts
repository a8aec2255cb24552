import {
  type ApiKeyList,
  UNARY_CALLS,
  apiKeyListOf,
  apiKeyListStatus,
  decodeOperatorAct,
  encodeApiKeyList,
  encodeNodeStatus,
  encodePrimeRootThk,
  encodeTrustRootChain,
  RETRY_AFTER_MS,
} from "@event-anchoring/control-contract";
import { type OperatorCommand, apiKeyIdOf, keyIdHex, trustRootsOf } from "@event-anchoring/ledger";
import { DecodeError, assertNever, bytesToHex } from "@event-anchoring/protocol";
import { membership, proposeTrustRoot, trustRootReadiness } from "./trust-root-handlers.ts";
import type { UnaryAnswer, UnaryHandler, UnaryRequest } from "../transport/network-types.ts";
import {
  FORBIDDEN,
  MALFORMED,
  NOT_NOW,
  NOT_SERVING,
  type UnaryView,
  answer,
  confirmed,
  submitted,
} from "./operator-calls.ts";

/** What this node answers on its private listener, by path. */
export function unaryHandlers(view: UnaryView): Readonly<Record<string, UnaryHandler>> {
  return {
    [UNARY_CALLS.trust_root.path]: async () => ({ status: 200, body: encodeTrustRootChain(trustRootDocuments(view)) }),
    [UNARY_CALLS.prime_root_thk.path]: async (request) => primeRootThk(view, request),
    [UNARY_CALLS.status.path]: async () => ({ status: 200, body: encodeNodeStatus(view.status()) }),
    [UNARY_CALLS.operator_act.path]: (request) => operatorAct(view, request),
    [UNARY_CALLS.list_api_keys.path]: (request) => listApiKeys(view, request),
    [UNARY_CALLS.propose_trust_root.path]: (request) => proposeTrustRoot(view, request),
    [UNARY_CALLS.trust_root_readiness.path]: async (request) => trustRootReadiness(view, request),
    [UNARY_CALLS.membership.path]: async () => membership(view),
    [UNARY_CALLS.snapshot_manifest.path]: (request) => view.snapshots.manifest(request),
    [UNARY_CALLS.snapshot_chunk.path]: (request) => view.snapshots.chunk(request),
  };
}

/** Signed documents from version 1 on; before genesis, the one this node was set up with. */
function trustRootDocuments(view: Pick<UnaryView, "identity" | "session">): readonly string[] {
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
    term: session.consensus.status().term,
  });
  return { status: 200, body };
}

/** Proposes what an operator has signed, and answers once it is decided. Every replica verifies it again. */
async function operatorAct(view: UnaryView, request: UnaryRequest): Promise<UnaryAnswer> {
  const session = view.session();
  if (request.from.kind !== "operator") return FORBIDDEN;
  const command = parsed(() => decodeOperatorAct(request.body));
  if (command === null) return MALFORMED;
  if (session === null) return answer(NOT_SERVING);
  const result = await submitted(session, view.clock, command);
  const { operator, counter } = command;
  const done = { operator, counter, command: command.command.kind, about: aboutOf(command.command) };
  view.logger.info("operator_act", { ...done, outcome: result.outcome, certificate: request.from.operatorId });
  return answer(result);
}

/** Hex of the key id, or of the anchor id. */
function aboutOf(command: OperatorCommand): string {
  switch (command.kind) {
    case "create_api_key":
      return keyIdHex(apiKeyIdOf(command.key.keyHash));
    case "revoke_api_key":
    case "rotate_api_key":
      return keyIdHex(command.keyId);
    case "record_revocation":
      return bytesToHex(command.revocation.targetAnchorId);
    case "erase_client_event":
      return bytesToHex(command.anchorId);
    default:
      return assertNever(command);
  }
}

function parsed<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** The key table, including every change that any node acknowledged before the call. */
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
