import { UNARY_CALLS, decodePrimeRootThk, decodeTrustRootChain } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { type TrustRootChain, extendTrustRootChain } from "@event-anchoring/protocol";
import type { Environment } from "../ports/environment.ts";
import type { NodeIdentity } from "../ports/identity.ts";
import type { Session } from "../session/session.ts";
import { type OwnTrustRoot, type PrimeAnswer, RootSync } from "./sync-monitor.ts";
import type { PeerAddress, PeerNetwork } from "../transport/network-types.ts";
import { confirmed } from "../calls/operator-calls.ts";

const CALL_TIMEOUT_MS = 3000;
/** Together with a failed attempt within the time of one. */
const LEARN_TIMEOUT_MS = 500;

export interface RootSyncView {
  readonly environment: Environment;
  readonly identity: NodeIdentity;
  /** The version this node was set up with, verified once: every status of a node without a session asks for it. */
  readonly configured: TrustRootChain;
  readonly session: () => Session | null;
  readonly network: () => PeerNetwork | null;
  readonly peers: () => readonly PeerAddress[];
  /** Verifies documents from the pin, and keeps what is newer. */
  readonly learn: (documents: readonly string[]) => boolean;
}

/** The sync monitor of this node: asks the current leader, or a quorum if this node leads. */
export function createRootSync(view: RootSyncView): RootSync {
  const { clock, logger } = view.environment;
  return new RootSync({
    clock,
    own: () => ownTrustRoot(view),
    fetchPrime: async (ownVersion, signal) => {
      try {
        return await fetchPrime(view, ownVersion, signal);
      } catch (error) {
        await learnFromPeers(view, signal);
        throw error;
      }
    },
    verifyChain: (documents) => verifySuccessors(view, documents),
    onAttempt: (error) => {
      if (error !== null) logger.warn("root_sync_failed", { code: error.code, detail: error.detail });
    },
  });
}

/** The chain applied here; before genesis, the version this node was set up with. */
function ownChain(view: RootSyncView): TrustRootChain {
  return view.session()?.state.trustRootChain ?? view.configured;
}

function ownTrustRoot(view: RootSyncView): OwnTrustRoot {
  const { versions, newest } = ownChain(view);
  return {
    isPrime: view.session()?.isLeader() ?? false,
    version: newest.trustRoot.version,
    rootThk: newest.rootThk,
    expiresS: newest.trustRoot.expiresS,
    rootThkOf: (version) => versions.find(({ trustRoot }) => trustRoot.version === version)?.rootThk ?? null,
  };
}

async function fetchPrime(view: RootSyncView, ownVersion: number, signal: AbortSignal): Promise<PrimeAnswer> {
  const session = view.session();
  const network = view.network();
  if (session === null || network === null) throw new Error("this node is not serving");
  if (session.isLeader()) {
    const index = await confirmed(session, view.environment.clock, signal);
    if (index === null) throw new Error("no quorum confirmed that this node leads");
    const { newest } = ownChain(view);
    return { primeNodeId: view.identity.nodeId, version: newest.trustRoot.version, rootThk: newest.rootThk };
  }
  const leader = session.leaderNodeId();
  if (leader === null) throw new Error("no leader is known");
  const options = { timeoutMs: CALL_TIMEOUT_MS, signal };
  const answer = await network.call(leader, UNARY_CALLS.prime_root_thk.path, null, options);
  if (answer.status !== 200) throw new Error(`${leader} answered ${answer.status}`);
  const prime = decodePrimeRootThk(answer.body);
  if (prime.version <= ownVersion) return prime;
  const chain = await network.call(leader, UNARY_CALLS.trust_root.path, null, options);
  if (chain.status !== 200) throw new Error(`${leader} answered ${chain.status} for its trust roots`);
  return { ...prime, chain: decodeTrustRootChain(chain.body).slice(ownVersion) };
}

/**
 * A node that was down during a rotation may know no peer's key any more. A chain of trust roots proves itself, so it
 * may come from any peer.
 */
async function learnFromPeers(view: RootSyncView, signal: AbortSignal): Promise<void> {
  const network = view.network();
  if (network === null) return;
  const { logger } = view.environment;
  const asked = view.peers().map(async ({ nodeId }) => {
    const options = { timeoutMs: LEARN_TIMEOUT_MS, signal };
    const answer = await network.call(nodeId, UNARY_CALLS.trust_root.path, null, options);
    if (answer.status === 200 && view.learn(decodeTrustRootChain(answer.body))) {
      logger.info("trust_root_learnt", { from: nodeId });
    }
  });
  for (const result of await Promise.allSettled(asked)) {
    if (result.status === "rejected") logger.debug("trust_root_not_learnt", { reason: String(result.reason) });
  }
}

function verifySuccessors(view: RootSyncView, documents: readonly string[]): ReturnType<RootSyncOptionsVerify> {
  let chain = ownChain(view);
  for (const document of documents) {
    const extended = extendTrustRootChain(chain, document, nodeCrypto);
    if (extended.result === "refused") return { refused: `${extended.code}: ${extended.detail}` };
    chain = extended.chain;
  }
  return { version: chain.newest.trustRoot.version, rootThk: chain.newest.rootThk };
}

type RootSyncOptionsVerify = ConstructorParameters<typeof RootSync>[0]["verifyChain"];
