/** Calls about the trust root's next version and the group: made by operators, and by nodes to each other. */
import {
  type OperatorResult,
  type TrustRootReadiness,
  UNARY_CALLS,
  decodeTrustRootReadiness,
  encodeMembership,
  encodeTrustRootReadiness,
  RETRY_AFTER_MS,
} from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  InvalidBytesError,
  type TrustRoot,
  type TrustRootChain,
  bytesToUtf8,
  equalBytes,
  extendTrustRootChain,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import type { Session } from "../session/session.ts";
import { PeerCallError, type UnaryAnswer, type UnaryRequest } from "../transport/network-types.ts";
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
import { isLearner, isVoter } from "../membership/membership-plan.ts";
import { missingKeyUnder } from "../membership/own-keys.ts";

const READINESS_TIMEOUT_MS = 1500;

/**
 * Proposes a signed trust root, once enough of the nodes that must cosign under it have confirmed that they can: a
 * version under which nothing can be certified would stop the cluster, and only a later version could start it again.
 */
export async function proposeTrustRoot(view: UnaryView, request: UnaryRequest): Promise<UnaryAnswer> {
  if (request.from.kind !== "operator") return FORBIDDEN;
  const document = textOf(request.body);
  if (document === null) return MALFORMED;
  const session = view.session();
  if (session === null) return answer(NOT_SERVING);
  const readIndex = await confirmed(session, view.clock, request.signal);
  if (readIndex === null)
    return answer(refusedNow("no_leader", "no quorum has confirmed in time which version is newest"));
  const chain = session.state.trustRootChain;
  if (chain === null) return answer(refusedNow("not_initialised", "the genesis entry is not applied yet"));
  const pending = session.membership.group.restored.pending();
  if (pending !== null) {
    return answer(refusedNow("not_initialised", `trust-root version ${pending.version} is not applied yet`));
  }
  const next = nextOf(chain, document);
  if ("outcome" in next) return answer(next);
  if (next.epoch > chain.newest.trustRoot.epoch) {
    // Only the nodes of a restored cluster propose it, each from its own database.
    const detail = "a version that raises the epoch is for anchorctl restore cluster: a living cluster is not restored";
    return answer({ outcome: "rejected", code: "trust_root_invalid", detail });
  }
  const unready = await preflight(view, session, next, document);
  if (unready !== null) return answer({ outcome: "rejected", code: "not_ready", detail: unready.slice(0, 1000) });
  view.logger.info("trust_root_proposed", { version: next.version, operator: request.from.operatorId });
  return answer(await submitted(session, view.clock, { kind: "trust_root", document }));
}

function textOf(body: Uint8Array): string | null {
  try {
    return bytesToUtf8(body);
  } catch (error) {
    if (error instanceof InvalidBytesError) return null;
    throw error;
  }
}

function refusedNow(code: "no_leader" | "not_initialised", detail: string): OperatorResult {
  return { outcome: "refused", code, detail, retryAfterMs: RETRY_AFTER_MS };
}

/** The version in the document; or the answer to give if it is invalid, or in force already. */
function nextOf(chain: TrustRootChain, document: string): TrustRoot | OperatorResult {
  const extended = extendTrustRootChain(chain, document, nodeCrypto);
  if (extended.result === "verified") return extended.chain.newest.trustRoot;
  const newest = utf8ToBytes(chain.newest.text);
  const given = utf8ToBytes(document).subarray(0, newest.length);
  if (equalBytes(given, newest)) return { outcome: "unchanged" };
  const detail = `${extended.code}: ${extended.detail}`.slice(0, 1000);
  return { outcome: "rejected", code: "trust_root_invalid", detail };
}

/**
 * Why too few nodes could cosign under that version; null: enough can. A learner that it makes active votes as soon as
 * it is in force. A node that it adds cannot be asked beforehand: it counts only while every other one is ready.
 */
async function preflight(view: UnaryView, session: Session, next: TrustRoot, document: string): Promise<string | null> {
  const { group, members } = session.membership;
  const { confState } = group;
  const active = next.nodes.filter(({ status }) => status === "active");
  const signers = active.filter(({ nodeId }) => {
    const raftId = members.raftIdOf(nodeId);
    return raftId !== null && (isVoter(confState, raftId) || isLearner(confState, raftId));
  });
  const answers = await Promise.all(
    signers.map(async ({ nodeId }) => ({ nodeId, ...(await readinessOf(view, nodeId, document)) })),
  );
  const ready = answers.filter((each) => each.ready).length;
  const reasons = answers.filter((each) => !each.ready).map(({ nodeId, detail }) => `${nodeId}: ${detail}`);
  const newcomers = active.length - signers.length;
  if (ready + (reasons.length === 0 ? newcomers : 0) >= next.quorum) return null;
  const have = `${ready} of the ${next.quorum} nodes that must cosign under version ${next.version} are ready now`;
  return [have, ...reasons].join("; ");
}

async function readinessOf(view: UnaryView, nodeId: string, document: string): Promise<TrustRootReadiness> {
  if (nodeId === view.identity.nodeId) return ownReadiness(view, document);
  try {
    const options = { timeoutMs: READINESS_TIMEOUT_MS };
    const { path } = UNARY_CALLS.trust_root_readiness;
    const { status, body } = await view.call(nodeId, path, utf8ToBytes(document), options);
    return status === 200 ? decodeTrustRootReadiness(body) : { ready: false, detail: `it answered ${status}` };
  } catch (error) {
    if (error instanceof PeerCallError) return { ready: false, detail: error.message };
    throw error;
  }
}

/** Whether this node could cosign under a version that a peer is about to propose. */
export function trustRootReadiness(view: UnaryView, { from, body }: UnaryRequest): UnaryAnswer {
  if (from.kind !== "node") return FORBIDDEN;
  const document = textOf(body);
  if (document === null) return MALFORMED;
  return { status: 200, body: encodeTrustRootReadiness(ownReadiness(view, document)) };
}

function ownReadiness(view: UnaryView, document: string): TrustRootReadiness {
  const unready = (detail: string): TrustRootReadiness => ({ ready: false, detail: detail.slice(0, 1000) });
  const chain = view.session()?.state.trustRootChain ?? null;
  if (chain === null) return unready("the node is not serving");
  const extended = extendTrustRootChain(chain, document, nodeCrypto);
  if (extended.result === "refused") return unready(`${extended.code}: ${extended.detail}`);
  const missing = missingKeyUnder(view.identity, extended.chain.newest.trustRoot);
  return missing === null ? { ready: true, detail: "" } : unready(missing);
}

/** The group as this node sees it. */
export function membership(view: UnaryView): UnaryAnswer {
  const session = view.session();
  return session === null ? NOT_NOW : { status: 200, body: encodeMembership(session.membership.group.view()) };
}
