import { trustRootsAfter } from "@event-anchoring/control-contract";
import type { LedgerState } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  NoteError,
  type SignedTrustRoot,
  type TrustRoot,
  type TrustRootChain,
  TrustRootError,
  type TrustRootVerification,
  bytesToHex,
  equalBytes,
  extendTrustRootChain,
  parseSignedTrustRoot,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { NodeIdentity } from "../ports/identity.ts";

/**
 * The newest trust root that this node has verified, starting at its pin: the one it was set up with, one in its log,
 * or one that a peer has sent. It says whom to talk to; for deciding and signing, the version in the log counts.
 */
export class KnownTrustRoot {
  /** The version this node was set up with, alone. */
  readonly configured: TrustRootChain;
  readonly #onNewer: (root: TrustRoot) => void;
  #chain: TrustRootChain;

  /** @param onNewer called after each step to a newer version */
  constructor(identity: Pick<NodeIdentity, "configured" | "laterTrustRoots">, onNewer: (root: TrustRoot) => void) {
    const { configured, laterTrustRoots = [] } = identity;
    const { document, rootThk } = configured;
    this.configured = assertVerified(
      verifyTrustRootChain({ documents: [document], pinnedRootThk: rootThk }, nodeCrypto),
    );
    this.#chain = this.configured;
    for (const later of laterTrustRoots) {
      this.#chain = assertVerified(extendTrustRootChain(this.#chain, later, nodeCrypto));
    }
    this.#onNewer = onNewer;
  }

  get newest(): TrustRoot {
    return this.#chain.newest.trustRoot;
  }

  get chain(): TrustRootChain {
    return this.#chain;
  }

  /** Every version held, oldest first. */
  get versions(): readonly TrustRoot[] {
    return this.#chain.versions.map(({ trustRoot }) => trustRoot);
  }

  /** Documents for a node that knows a version, to be attached to the refusal of its hello. */
  after(version: number): readonly string[] {
    return trustRootsAfter(this.#chain.versions, version);
  }

  /**
   * Takes the chain that the log holds, if it leads to what is known or beyond: its versions follow from each other, as
   * those here do, and are held once.
   */
  adopt(applied: TrustRootChain): void {
    const { rootThk, trustRoot } = this.#chain.newest;
    if (!applied.versions.some((version) => equalBytes(version.rootThk, rootThk))) return;
    this.#chain = applied;
    if (this.newest.version > trustRoot.version) this.#onNewer(this.newest);
  }

  /**
   * Takes documents, oldest first, that may be attacker-controlled: those above the newest version are verified as its
   * successors, the others are skipped.
   * @returns whether anything was learnt
   */
  learn(documents: readonly string[]): boolean {
    const before = this.#chain;
    for (const document of documents) {
      // Peers repeat what is held, at every attempt while no leader is known: comparing is cheaper than parsing.
      if (this.#chain.versions.some(({ note }) => note === document)) continue;
      const version = versionOf(document);
      if (version === null || version <= this.newest.version) continue;
      const extended = extendTrustRootChain(this.#chain, document, nodeCrypto);
      if (extended.result === "refused") break;
      this.#chain = extended.chain;
    }
    if (this.#chain === before) return false;
    this.#onNewer(this.newest);
    return true;
  }
}

function assertVerified(verified: TrustRootVerification): TrustRootChain {
  if (verified.result === "refused") throw new Error(`the configured trust root is refused: ${verified.code}`);
  return verified.chain;
}

/** Why the versions in a log contradict the one that this node was set up with; null: they do not. */
export function contradictionOf(
  { configured }: Pick<NodeIdentity, "configured">,
  applied: readonly SignedTrustRoot[],
): string | null {
  const newest = applied.at(-1)?.trustRoot.version ?? 0;
  // A node that joins late is set up with a version that it has yet to reach.
  if (newest < configured.version) return null;
  const same = applied.find(({ trustRoot }) => trustRoot.version === configured.version);
  if (same !== undefined && equalBytes(same.rootThk, configured.rootThk)) return null;
  const found = same === undefined ? "missing" : bytesToHex(same.rootThk);
  return `configured is version ${configured.version}; in the log it is ${found}`;
}

function versionOf(document: string): number | null {
  try {
    return parseSignedTrustRoot(document, nodeCrypto.sha256).trustRoot.version;
  } catch (error) {
    if (error instanceof TrustRootError || error instanceof NoteError) return null;
    throw error;
  }
}

/** The newest applied version, or the one this node was set up with. */
export function trustRootInForce(state: LedgerState, identity: Pick<NodeIdentity, "trustRoot">): TrustRoot {
  return state.trustRootChain?.newest.trustRoot ?? identity.trustRoot;
}
