import { anchorIdOf } from "@event-anchoring/protocol";
import type { AnchorId, Leaf, Sha256 } from "@event-anchoring/protocol";
import { readLeaf } from "./anchor-checks.ts";
import type { LoadedLeaf } from "./anchor-checks.ts";

/** A leaf that was loaded, under the id that its bytes have. */
export interface KnownLeaf extends LoadedLeaf {
  readonly leaf: Leaf;
}

/**
 * Loaded leaves by their sequences. A row's other columns are not trusted: its id is computed from its bytes, and its
 * sequence is the one in them. Rows that are not leaves are left out.
 */
export class LeafRows {
  readonly #leaves = new Map<number, KnownLeaf>();

  constructor(rows: readonly LoadedLeaf[], sha256: Sha256) {
    for (const { bytes } of rows) {
      const leaf = readLeaf(bytes);
      if (leaf !== null) this.#leaves.set(leaf.sequence, { anchorId: anchorIdOf(bytes, sha256), bytes, leaf });
    }
  }

  at(sequence: number): KnownLeaf | null {
    return this.#leaves.get(sequence) ?? null;
  }

  /** Ascending by sequence. */
  all(): KnownLeaf[] {
    return [...this.#leaves.values()].sort((a, b) => a.leaf.sequence - b.leaf.sequence);
  }

  idAt(sequence: number): AnchorId | null {
    return this.at(sequence)?.anchorId ?? null;
  }
}
