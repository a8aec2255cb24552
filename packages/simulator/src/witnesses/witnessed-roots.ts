import { type Checkpoint, bytesToHex } from "@event-anchoring/protocol";

/** Which witness has signed which root of each size and origin. */
export class WitnessedRoots {
  readonly #needed: number;
  /** By origin and size, then by root: who has signed it. */
  readonly #signers = new Map<string, Map<string, Set<string>>>();
  /** The first size of which two heads with different roots are witnessed; null: there is none. */
  contradicted: number | null = null;

  /** @param needed how many lines make a head witnessed */
  constructor(needed: number) {
    this.#needed = needed;
  }

  onSigned({ origin, treeSize, rootHash }: Checkpoint, witness: string): void {
    const place = `${origin} ${treeSize}`;
    const roots = this.#signers.get(place) ?? new Map<string, Set<string>>();
    this.#signers.set(place, roots);
    const root = bytesToHex(rootHash);
    const signers = roots.get(root) ?? new Set<string>();
    roots.set(root, signers.add(witness));
    const witnessed = [...roots.values()].filter(({ size }) => size >= this.#needed);
    if (witnessed.length > 1) this.contradicted ??= treeSize;
  }
}
