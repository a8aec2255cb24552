/** What named entities depend on, as far as leaves have shown it. docs/PROTOCOL.md, "In force". */

/** An entity and an attribute type: `<entity fingerprint>:<type>`. All claims of a lineage have the same. */
export type ClaimPair = string;

export interface GrantLink {
  readonly grantor: ClaimPair;
  readonly grantee: ClaimPair;
  /** Anchor id of the grant above; null: it is a root grant. */
  readonly parent: string | null;
}

/** Memory and disk stay bounded: the file that holds as many has some 20 MB. */
const RECORDS_MAX = 100_000;

export function pairOf(entityFingerprint: string, attributeType: number): ClaimPair {
  return `${entityFingerprint}:${attributeType}`;
}

function entityOf(pair: ClaimPair): string {
  return pair.slice(0, 64);
}

/**
 * The claims and grants of the named entities, and the grants and claims that these grants hang on. A claim stands for
 * its pair: the newest claim of a lineage keeps the grants in force that name an older one.
 */
export class EntityRecords {
  readonly #entities: ReadonlySet<string>;
  readonly #pairs = new Map<string, ClaimPair>();
  readonly #links = new Map<string, GrantLink>();
  /** By pair, and by anchor id of a grant: the grants that hang on it directly. */
  readonly #below = new Map<string, string[]>();

  constructor(entities: ReadonlySet<string>) {
    this.#entities = entities;
  }

  hasRoomFor(count: number): boolean {
    return this.#pairs.size + this.#links.size + count <= RECORDS_MAX;
  }

  /** By anchor id. */
  get claims(): ReadonlyMap<string, ClaimPair> {
    return this.#pairs;
  }

  /** By anchor id. */
  get grants(): ReadonlyMap<string, GrantLink> {
    return this.#links;
  }

  isNamed(pair: ClaimPair | undefined): boolean {
    return pair !== undefined && this.#entities.has(entityOf(pair));
  }

  addClaim(anchorId: string, pair: ClaimPair): void {
    this.#pairs.set(anchorId, pair);
  }

  addGrant(anchorId: string, link: GrantLink): void {
    if (this.#links.has(anchorId)) return;
    this.#links.set(anchorId, link);
    for (const above of new Set([link.grantor, link.grantee, link.parent])) {
      if (above === null) continue;
      const grants = this.#below.get(above);
      if (grants === undefined) this.#below.set(above, [anchorId]);
      else grants.push(anchorId);
    }
  }

  /** @returns by named entity: its records that a revocation of this claim is about, or that hang on it */
  touchedByClaim(anchorId: string, pair: ClaimPair): ReadonlyMap<string, readonly string[]> {
    const touched = new Map<string, string[]>();
    if (this.isNamed(pair)) touched.set(entityOf(pair), [anchorId]);
    this.#collect(this.#below.get(pair) ?? [], touched);
    return touched;
  }

  /** The same of a grant. */
  touchedByGrant(anchorId: string): ReadonlyMap<string, readonly string[]> {
    const touched = new Map<string, string[]>();
    if (this.#links.has(anchorId)) this.#collect([anchorId], touched);
    return touched;
  }

  /** These grants and all that hang on them. */
  #collect(from: readonly string[], touched: Map<string, string[]>): void {
    const met = new Set(from);
    for (const anchorId of met) {
      const link = this.#links.get(anchorId);
      if (link === undefined) continue;
      const named = [link.grantor, link.grantee].filter((pair) => this.isNamed(pair)).map(entityOf);
      for (const entity of new Set(named)) touched.set(entity, [...(touched.get(entity) ?? []), anchorId]);
      for (const below of this.#below.get(anchorId) ?? []) met.add(below);
    }
  }
}
