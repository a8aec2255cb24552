/**
 * Which peers contradicted this node's own tree or effect chain.
 *
 * One peer that differs has diverged itself, or lies: it is logged, and a signature over another root never counts.
 * When as many distinct peers as make a quorum differ from this node, it is this node that is wrong.
 */
export class Contradictions {
  readonly #quorum: () => number;
  readonly #peers = new Set<string>();

  constructor(quorum: () => number) {
    this.#quorum = quorum;
  }

  get peers(): readonly string[] {
    return [...this.#peers].sort();
  }

  /** True: this node must stop. */
  note(peer: string): boolean {
    this.#peers.add(peer);
    return this.#peers.size >= this.#quorum();
  }
}
