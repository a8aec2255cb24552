/** Event leaves, written one after the other into the same memory. docs/PROTOCOL.md, "Leaf". */
import { ZERO_32, isZero } from "./bytes.ts";
import type { Sha256 } from "./crypto.ts";
import { ByteWriter, writeU64 } from "./encoding.ts";
import type { AnchorId, OriginFingerprint } from "./ids.ts";
import { EMPTY_SEMANTIC_ANCHOR, LEAF_BYTES, LEAF_KIND } from "./leaf.ts";
import type { EventBody, LeafHeader, SemanticAnchor } from "./leaf.ts";
import { tag } from "./tags.ts";

const LEAF_TAG_BYTES = tag("leaf").length;

/** Where the fields of an event leaf begin, behind the byte that is hashed before it. */
const EVENT_AT = {
  depth: LEAF_TAG_BYTES + 34,
  parentAnchorId: LEAF_TAG_BYTES + 42,
  sequence: LEAF_TAG_BYTES + 74,
  eventHash: LEAF_TAG_BYTES + 90,
  references: LEAF_TAG_BYTES + 122,
  clientEventCommit: LEAF_TAG_BYTES + 314,
};

/** Where an event leaf goes. */
export type EventPlace = Pick<LeafHeader, "depth" | "parentAnchorId" | "sequence">;

/**
 * The event leaves that one entry appends to an origin. What they share is laid out once; for each leaf only the bytes
 * that differ are written, into the same memory, and hashed where they are.
 */
export class EventLeafWriter {
  /** 0x00 ‖ leaf. */
  readonly #hashed: Uint8Array;
  /** The leaf that was written last, until the next one is. */
  readonly leaf: Uint8Array;
  /** True: the last leaf had references, which are still there. */
  #hasReferences = false;

  constructor(originFingerprint: OriginFingerprint, acceptedMs: number) {
    const header = new ByteWriter(EVENT_AT.eventHash)
      .u8(0)
      .bytes(tag("leaf"))
      .u8(LEAF_KIND.event)
      .bytes(originFingerprint, 32)
      .u64(0)
      .bytes(ZERO_32, 32)
      .u64(0)
      .u64(acceptedMs);
    this.#hashed = new Uint8Array(1 + LEAF_BYTES[LEAF_KIND.event]);
    this.#hashed.set(header.finish());
    this.leaf = this.#hashed.subarray(1);
  }

  /** @returns the anchor id @throws RangeError if a field has another length or range */
  write(place: EventPlace, body: EventBody, sha256: Sha256): AnchorId {
    const { depth, parentAnchorId, sequence } = place;
    if (depth === 0 || isZero(parentAnchorId)) throw new RangeError("an event is not the first leaf");
    const bytes = this.#hashed;
    writeU64(bytes, EVENT_AT.depth, depth);
    this.#set(parentAnchorId, EVENT_AT.parentAnchorId);
    writeU64(bytes, EVENT_AT.sequence, sequence);
    this.#set(body.eventHash, EVENT_AT.eventHash);
    this.#writeReferences(body.semanticAnchor);
    this.#set(body.clientEventCommit, EVENT_AT.clientEventCommit);
    return sha256(bytes) as AnchorId;
  }

  #writeReferences(anchor: SemanticAnchor): void {
    const hasReferences = anchor !== EMPTY_SEMANTIC_ANCHOR;
    if (hasReferences) {
      this.#set(anchor.irisRef, EVENT_AT.references);
      this.#set(anchor.scrollRef, EVENT_AT.references + 32);
      this.#set(anchor.grantRef, EVENT_AT.references + 64);
      this.#set(anchor.bondRef, EVENT_AT.references + 96);
      this.#set(anchor.yieldRef, EVENT_AT.references + 128);
      this.#set(anchor.eventDataHash, EVENT_AT.references + 160);
    } else if (this.#hasReferences) this.#hashed.fill(0, EVENT_AT.references, EVENT_AT.clientEventCommit);
    this.#hasReferences = hasReferences;
  }

  #set(value: Uint8Array, at: number): void {
    if (value.length !== 32) throw new RangeError(`expected 32 bytes, got ${value.length}`);
    this.#hashed.set(value, at);
  }
}
