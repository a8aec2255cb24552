/** The rows that an entry must see before it is decided: asked for in bulk, loaded by the store in one round. */
import { EMPTY_SEMANTIC_ANCHOR, LEAF_KIND, bytesToHex, isZero } from "@event-anchoring/protocol";
import type { AnchorId, LeafKind, OriginFingerprint, SemanticAnchor, Sha256 } from "@event-anchoring/protocol";
import type { Entry, EventInput } from "./command.ts";

export interface ClientEventQuery {
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  readonly clientEventId: string;
}

/** Without repeats. Both empty: there is nothing to load. */
export interface FactsQuery {
  readonly clientEvents: readonly ClientEventQuery[];
  readonly anchors: readonly AnchorId[];
}

/** What a client event id was first used for. */
export interface ClientEventFact {
  readonly anchorId: AnchorId;
  readonly originFingerprint: OriginFingerprint;
  readonly sequence: number;
  /** 32 bytes: contentHashOf the event. */
  readonly contentHash: Uint8Array;
}

export interface AnchorFact {
  readonly kind: LeafKind;
  readonly sequence: number;
  readonly originFingerprint: OriginFingerprint;
  readonly depth: number;
}

/** What was found, as of the entry before the one to be decided. What is not in a map does not exist. */
export interface Facts {
  /** By clientEventKey. */
  readonly clientEvents: ReadonlyMap<string, ClientEventFact>;
  /** By the hex of the anchor id. */
  readonly anchors: ReadonlyMap<string, AnchorFact>;
}

/** What is found when nothing was asked for. */
export const NO_FACTS: Facts = { clientEvents: new Map(), anchors: new Map() };

/** Names a client event id of one API client in a map. */
export function clientEventKey(apiClientId: Uint8Array, clientEventId: string): string {
  return clientEventKeyWith(clientKeyPrefix(apiClientId), clientEventId);
}

/** What the keys of one API client begin with. */
export function clientKeyPrefix(apiClientId: Uint8Array): string {
  return `${bytesToHex(apiClientId)}:`;
}

export function clientEventKeyWith(prefix: string, clientEventId: string): string {
  return prefix + clientEventId;
}

type ReferenceField = Exclude<keyof SemanticAnchor, "eventDataHash">;

interface ReferenceRule {
  readonly field: ReferenceField;
  /** RFC 6901, from the event. */
  readonly pointer: string;
  /** The only kind it may refer to; null: any. */
  readonly kind: LeafKind | null;
}

/** The references of an event, in the order in which they are checked. */
export const REFERENCE_RULES: readonly ReferenceRule[] = [
  { field: "irisRef", pointer: "/semantic_anchor/iris_ref", kind: LEAF_KIND.claim },
  { field: "scrollRef", pointer: "/semantic_anchor/scroll_ref", kind: null },
  { field: "grantRef", pointer: "/semantic_anchor/grant_ref", kind: LEAF_KIND.grant },
  { field: "bondRef", pointer: "/semantic_anchor/bond_ref", kind: null },
  { field: "yieldRef", pointer: "/semantic_anchor/yield_ref", kind: null },
];

/** Which rows have to be loaded before the entry is decided. */
export function factsNeeded(entry: Entry): FactsQuery {
  const clientEvents = new Map<string, ClientEventQuery>();
  const anchors = new Map<string, AnchorId>();
  for (const group of entry.groups) {
    for (const command of group.commands) {
      if (command.kind !== "record_events") continue;
      const { apiClientId } = command.credential;
      const prefix = clientKeyPrefix(apiClientId);
      for (const event of command.events) {
        const { clientEventId } = event;
        if (clientEventId !== null)
          clientEvents.set(clientEventKeyWith(prefix, clientEventId), { apiClientId, clientEventId });
        // Decoding gives every event without references the same object.
        if (event.semanticAnchor !== EMPTY_SEMANTIC_ANCHOR) collectReferences(event.semanticAnchor, anchors);
      }
    }
  }
  return { clientEvents: [...clientEvents.values()], anchors: [...anchors.values()] };
}

function collectReferences(anchor: SemanticAnchor, anchors: Map<string, AnchorId>): void {
  for (const { field } of REFERENCE_RULES) {
    const reference = anchor[field];
    if (!isZero(reference)) anchors.set(bytesToHex(reference), reference as AnchorId);
  }
}

const HASH_BYTES = 32;

/** Filled anew for every event: an array for each would cost the garbage collector more than the hash costs. */
const CONTENT = new Uint8Array(1 + 8 * HASH_BYTES);

/**
 * What makes two events with one client event id the same: H(kind ‖ the seven hashes ‖ actor key). The origin is not
 * content, as a retry through a gateway may name another node's; neither are signatures and salt.
 * @param actorPublicKey null unless the event is signed by its actor
 */
export function contentHashOf(
  event: Pick<EventInput, "eventHash" | "semanticAnchor">,
  actorPublicKey: Uint8Array | null,
  sha256: Sha256,
): Uint8Array {
  const { semanticAnchor: anchor } = event;
  const fields = [
    event.eventHash,
    anchor.irisRef,
    anchor.scrollRef,
    anchor.grantRef,
    anchor.bondRef,
    anchor.yieldRef,
    anchor.eventDataHash,
  ];
  if (actorPublicKey !== null) fields.push(actorPublicKey);
  CONTENT[0] = actorPublicKey === null ? LEAF_KIND.event : LEAF_KIND.signedEvent;
  let offset = 1;
  for (const field of fields) {
    if (field.length !== HASH_BYTES) throw new RangeError(`a content field has 32 bytes, got ${field.length}`);
    CONTENT.set(field, offset);
    offset += HASH_BYTES;
  }
  return sha256(CONTENT.subarray(0, offset));
}
