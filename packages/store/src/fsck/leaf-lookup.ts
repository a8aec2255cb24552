/** Leaves by their anchor ids: for references between leaves. */
import { LEAF_KIND, bytesToHex, decodeLeaf, isZero } from "@event-anchoring/protocol";
import type { ClaimLeaf, GrantLeaf, LeafKind } from "@event-anchoring/protocol";

/** A leaf that another one names. */
export interface NamedLeaf {
  readonly kind: LeafKind;
  readonly sequence: number;
  /** The whole leaf of a claim or a grant; null for all others, and if it cannot be decoded. */
  readonly record: ClaimLeaf | GrantLeaf | null;
}

export interface LeafLookup {
  /** @returns the leaves found, by the hex of the anchor id */
  find(anchorIds: readonly Uint8Array[]): Promise<ReadonlyMap<string, NamedLeaf>>;
}

/** @throws DecodeError */
export function recordOf(kind: number, bytes: Uint8Array): ClaimLeaf | GrantLeaf | null {
  if (kind !== LEAF_KIND.claim && kind !== LEAF_KIND.grant) return null;
  const leaf = decodeLeaf(bytes);
  return leaf.kind === LEAF_KIND.claim || leaf.kind === LEAF_KIND.grant ? leaf : null;
}

const ID_BYTES = 32;
const FIRST_CAPACITY = 4096;

/** Every leaf that was added, in some 50 bytes each; those of claims and grants are kept whole (400 bytes each). */
export class LeavesInMemory implements LeafLookup {
  #ids = new Uint8Array(FIRST_CAPACITY * ID_BYTES);
  #kinds = new Uint8Array(FIRST_CAPACITY);
  /** Place + 1 by hash, open addressing; 0: free. Twice as many as there can be leaves. */
  #slots = new Uint32Array(FIRST_CAPACITY * 2);
  #count = 0;
  readonly #records = new Map<number, Uint8Array>();

  /** @param bytes of the leaf whose place is the number of those before it */
  add(anchorId: Uint8Array, kind: LeafKind, bytes: Uint8Array): void {
    if (this.#count * ID_BYTES === this.#ids.length) this.#grow();
    const place = this.#count++;
    this.#ids.set(anchorId, place * ID_BYTES);
    this.#kinds[place] = kind;
    if (kind === LEAF_KIND.claim || kind === LEAF_KIND.grant) this.#records.set(place, bytes);
    this.#slots[this.#slotOf(anchorId)] = place + 1;
  }

  /** An unreadable leaf takes a place too. */
  skip(): void {
    if (this.#count * ID_BYTES === this.#ids.length) this.#grow();
    this.#count += 1;
  }

  #grow(): void {
    const ids = new Uint8Array(this.#ids.length * 2);
    ids.set(this.#ids);
    const kinds = new Uint8Array(this.#kinds.length * 2);
    kinds.set(this.#kinds);
    [this.#ids, this.#kinds] = [ids, kinds];
    this.#slots = new Uint32Array(kinds.length * 2);
    for (let place = 0; place < this.#count; place++) {
      if (isZero(this.#idAt(place))) continue;
      this.#slots[this.#slotOf(this.#idAt(place))] = place + 1;
    }
  }

  #idAt(place: number): Uint8Array {
    return this.#ids.subarray(place * ID_BYTES, (place + 1) * ID_BYTES);
  }

  /** Where it is, or would be. Anchor ids are hashes, so their first bytes are as good as any. */
  #slotOf(anchorId: Uint8Array): number {
    const count = this.#slots.length;
    let slot = Buffer.from(anchorId.buffer, anchorId.byteOffset, ID_BYTES).readUInt32BE(0) % count;
    for (;;) {
      const place = (this.#slots[slot] ?? 0) - 1;
      if (place < 0 || Buffer.compare(this.#idAt(place), anchorId) === 0) return slot;
      slot = (slot + 1) % count;
    }
  }

  find(anchorIds: readonly Uint8Array[]): Promise<ReadonlyMap<string, NamedLeaf>> {
    const found = new Map<string, NamedLeaf>();
    for (const anchorId of anchorIds) {
      const place = (this.#slots[this.#slotOf(anchorId)] ?? 0) - 1;
      if (place < 0) continue;
      const kind = (this.#kinds[place] ?? 0) as LeafKind;
      const bytes = this.#records.get(place);
      const record = bytes === undefined ? null : recordOf(kind, bytes);
      found.set(bytesToHex(anchorId), { kind, sequence: place, record });
    }
    return Promise.resolve(found);
  }
}
