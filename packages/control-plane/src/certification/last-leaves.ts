import type { LatestAnchor, LatestClientEvent } from "@event-anchoring/control-contract";
import type { EntryWrites, LeafWrite, LedgerState } from "@event-anchoring/ledger";
import { type AnchorId, LEAF_KIND, type OriginFingerprint, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { HeldCertificate } from "./certifier.ts";
import { shownCertificate } from "./shown-certificate.ts";

/** Sizes of each origin that wait for a certificate and are remembered; the oldest go first. */
const SIZES_MAX = 64;

/** The leaf that completes a size of a tree. */
interface LastLeaf {
  readonly leaf: LeafWrite;
  readonly clientEvent: LatestClientEvent | null;
}

/**
 * The last leaf of each tree as this life of the node has decided it, so that the newest certified one can be shown
 * without a look at the tables.
 *
 * Invariant: it is as far as the state in memory. A client event id is forgotten with the entry that erases it.
 */
export class LastLeaves {
  readonly #state: LedgerState;
  readonly #heldOf: (origin: OriginFingerprint) => HeldCertificate | null;
  /** By origin, then by size, ascending. */
  readonly #origins = new Map<string, Map<number, LastLeaf>>();
  /** By origin, the anchor given last: the same object as long as it is true. */
  readonly #given = new Map<string, { readonly last: LastLeaf; readonly latest: LatestAnchor }>();

  /** @param heldOf the newest certificate of an origin: what it covers and does not show is forgotten */
  constructor(state: LedgerState, heldOf: (origin: OriginFingerprint) => HeldCertificate | null) {
    this.#state = state;
    this.#heldOf = heldOf;
  }

  /** An entry has been advanced into the state. */
  onAdvanced({ leaves, clientEvents, erasures }: EntryWrites): void {
    if (leaves.length > 0)
      for (const [key, { tree }] of this.#state.origins) this.#add(key, tree.size, leaves, clientEvents);
    for (const { anchorId } of erasures) this.#erase(anchorId);
  }

  /**
   * The last leaf under a certificate; null if it is not known here, or is a claim or a grant: their state depends on
   * the time of the question.
   */
  latestUnder(held: HeldCertificate): LatestAnchor | null {
    const key = bytesToHex(held.originFingerprint);
    const last = this.#origins.get(key)?.get(held.treeSize);
    const tree = this.#state.origins.get(key)?.tree;
    if (last === undefined || tree === undefined || hasState(last.leaf)) return null;
    const given = this.#given.get(key);
    const certificate = shownCertificate(held);
    if (given?.latest.certificate === certificate && given.last === last) return given.latest;
    const { depth, bytes, anchorId } = last.leaf;
    if (depth < tree.base) return null;
    const path = tree.prove(depth, held.treeSize);
    const { clientEvent } = last;
    const latest = { certificate, path, leaf: bytes, anchorId, clientEvent };
    this.#given.set(key, { last, latest });
    return latest;
  }

  #add(key: string, size: number, leaves: EntryWrites["leaves"], clientEvents: EntryWrites["clientEvents"]): void {
    const origin = this.#state.origins.get(key)?.originFingerprint;
    const sizes = this.#origins.get(key) ?? new Map<number, LastLeaf>();
    if (origin === undefined || sizes.has(size)) return;
    const leaf = leaves.findLast(
      ({ depth, originFingerprint }) => depth === size - 1 && equalBytes(originFingerprint, origin),
    );
    // The origin has not grown.
    if (leaf === undefined) return;
    const event = clientEvents.findLast(({ anchorId }) => equalBytes(anchorId, leaf.anchorId));
    this.#origins.set(key, sizes.set(size, { leaf, clientEvent: event === undefined ? null : clientEventOf(event) }));
    const covered = this.#heldOf(origin)?.treeSize ?? 0;
    for (const oldest of sizes.keys()) {
      if (oldest >= covered && sizes.size <= SIZES_MAX) break;
      sizes.delete(oldest);
    }
  }

  #erase(anchorId: AnchorId): void {
    for (const sizes of this.#origins.values()) {
      for (const [size, { leaf, clientEvent }] of sizes) {
        if (clientEvent === null || !equalBytes(leaf.anchorId, anchorId)) continue;
        const { apiClientId } = clientEvent;
        sizes.set(size, { leaf, clientEvent: { apiClientId, clientEventId: null, salt: null } });
      }
    }
  }
}

function hasState({ kind }: LeafWrite): boolean {
  return kind === LEAF_KIND.claim || kind === LEAF_KIND.grant;
}

function clientEventOf({ apiClientId, clientEventId, salt }: EntryWrites["clientEvents"][number]): LatestClientEvent {
  return { apiClientId, clientEventId, salt };
}
