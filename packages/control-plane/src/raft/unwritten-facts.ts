import {
  type ClientEventFact,
  type EntryDecision,
  type Facts,
  type FactsQuery,
  type FoundAnchor,
  clientEventKey,
} from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";

type EventFacts = Pick<Facts, "anchors" | "clientEvents">;

/**
 * What deciding must see of entries that are decided and not in the tables yet. These entries only add events: their
 * anchors and client event ids are all that can be asked for.
 *
 * Invariant: `add` and `remove` are called in the order of the log.
 */
export class UnwrittenFacts {
  /** By the hex of the anchor id. */
  readonly #anchors = new Map<string, FoundAnchor>();
  /** By clientEventKey. */
  readonly #clientEvents = new Map<string, ClientEventFact>();
  /** Not in the maps yet: most entries ask for nothing, and cost nothing here. */
  readonly #unsorted = new Set<EntryDecision>();

  /** The entry is decided. */
  add(decision: EntryDecision): void {
    this.#unsorted.add(decision);
  }

  /** The entry is in the tables. */
  remove(decision: EntryDecision): void {
    if (this.#unsorted.delete(decision)) return;
    const { leaves, clientEvents } = decision.writes;
    for (const { anchorId } of leaves) this.#anchors.delete(bytesToHex(anchorId));
    for (const event of clientEvents) this.#clientEvents.delete(keyOf(event));
  }

  /** What is known here, and the query for the rest. No other row can be known under a key that is found here. */
  find(query: FactsQuery): { readonly found: EventFacts; readonly rest: FactsQuery } {
    for (const decision of this.#unsorted) this.#sort(decision);
    this.#unsorted.clear();
    const anchors = new Map<string, FoundAnchor>();
    const clientEvents = new Map<string, ClientEventFact>();
    const rest = {
      ...query,
      anchors: query.anchors.filter((anchorId) => !isMoved(bytesToHex(anchorId), this.#anchors, anchors)),
      clientEvents: query.clientEvents.filter((event) => !isMoved(keyOf(event), this.#clientEvents, clientEvents)),
    };
    return { found: { anchors, clientEvents }, rest };
  }

  #sort({ writes: { leaves, clientEvents } }: EntryDecision): void {
    const clients = new Map(clientEvents.map(({ sequence, apiClientId }) => [sequence, apiClientId]));
    for (const { anchorId, kind, sequence, originFingerprint, depth } of leaves) {
      const apiClientId = clients.get(sequence);
      const clientEvent = apiClientId === undefined ? null : { apiClientId, isErased: false };
      this.#anchors.set(bytesToHex(anchorId), { kind, sequence, originFingerprint, depth, clientEvent });
    }
    for (const event of clientEvents) {
      const { anchorId, originFingerprint, sequence, contentHash } = event;
      this.#clientEvents.set(keyOf(event), { anchorId, originFingerprint, sequence, contentHash, isErased: false });
    }
  }
}

function keyOf(event: { readonly apiClientId: Uint8Array; readonly clientEventId: string }): string {
  return clientEventKey(event.apiClientId, event.clientEventId);
}

function isMoved<Fact>(key: string, from: ReadonlyMap<string, Fact>, to: Map<string, Fact>): boolean {
  const fact = from.get(key);
  if (fact !== undefined) to.set(key, fact);
  return fact !== undefined;
}
