import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  DecodeError,
  LEAF_KIND,
  anchorIdOf,
  bytesToHex,
  decodeLeaf,
  emptyFrontier,
  isZero,
} from "@event-anchoring/protocol";
import type { ClaimLeaf, Frontier, GrantLeaf, Leaf, RevocationLeaf } from "@event-anchoring/protocol";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { pairOf } from "./entity-records.ts";
import type { ClaimPair, EntityRecords, GrantLink } from "./entity-records.ts";
import { OriginLeaves } from "./origin-leaves.ts";
import type { LeafSource, ReadLeaf, ReadableHead } from "./origin-leaves.ts";
import type { RevocationMemory } from "./revocation-memory.ts";

/** After a crash at most so many are read again. */
const LEAVES_BETWEEN_SAVES = 16_384;
/** From here on the authorities are those of a grant: grantor, witness. */
const GRANT_AUTHORITY_MIN = 3;

/** A revocation that touches named entities. */
export interface SeenRevocation {
  readonly anchorId: string;
  readonly leaf: RevocationLeaf;
  /** By entity fingerprint: its claims and grants that this is about, or that hang on what this is about. */
  readonly touched: ReadonlyMap<string, readonly string[]>;
}

export interface RevocationWatchOptions {
  readonly memory: RevocationMemory;
  readonly source: LeafSource;
  /** Whether another one can be told now. If not, reading waits, and nothing is left out. */
  readonly hasRoom: () => boolean;
  /** Afterwards it is on disk. */
  readonly tell: (revocation: SeenRevocation) => void;
}

/**
 * Reads every leaf of every origin, in the order of their sequences, and tells the revocations that touch named
 * entities. What a leaf refers to has a lower sequence, so it was read before, in whichever origin it is.
 */
export class RevocationWatch {
  readonly #options: RevocationWatchOptions;
  readonly #records: EntityRecords;
  readonly #frontiers: Map<string, Frontier>;
  #nextSequence: number;
  #metBelow: number;
  #unread = 0;
  #isStopped = false;

  /** @throws CliError `state_malformed` */
  constructor(options: RevocationWatchOptions) {
    const { records, frontiers, nextSequence, metBelow } = options.memory.load();
    this.#options = options;
    this.#records = records;
    this.#frontiers = new Map(frontiers);
    this.#nextSequence = nextSequence;
    this.#metBelow = metBelow;
  }

  /** Leaves of the newest heads that were not read yet. */
  get unread(): number {
    return this.#unread;
  }

  /** A run under way ends after the leaf that it is at. */
  stop(): void {
    this.#isStopped = true;
  }

  /**
   * Reads up to these heads, as far as it can.
   * @param heads of all origins, verified; each continues the one that an earlier run was given
   * @throws CliError when leaves cannot be had, or what was read cannot be kept: the next run goes on from there
   */
  async read(heads: readonly ReadableHead[]): Promise<void> {
    const { source } = this.#options;
    const origins = heads.map((head) => {
      return new OriginLeaves(source, head, this.#frontiers.get(head.originFingerprint) ?? emptyFrontier());
    });
    this.#count(origins);
    try {
      await this.#readInOrder(origins);
    } finally {
      const met = origins.map(({ newest }) => (newest?.leaf.sequence ?? -1) + 1);
      this.#metBelow = Math.max(this.#metBelow, this.#nextSequence, ...met);
      this.#save(origins);
    }
  }

  /**
   * A sequence that is missing is in an origin whose head is older than that of another one, and comes with the next
   * head. If it does not, it is of an origin that was given up, and is passed over: so the wait is for one run.
   */
  async #readInOrder(origins: readonly OriginLeaves[]): Promise<void> {
    const passedOver = this.#metBelow;
    for (let count = 1; !this.#isStopped; count++) {
      const next = await lowestOf(origins);
      if (next === null) return;
      const { sequence } = next.read.leaf;
      if (sequence > this.#nextSequence && sequence >= passedOver) return;
      if (!(await this.#take(next.read))) return;
      next.origin.take();
      this.#nextSequence = Math.max(this.#nextSequence, sequence + 1);
      if (count % LEAVES_BETWEEN_SAVES === 0) this.#save(origins);
    }
  }

  /** False: there is no room for what it says. */
  async #take({ anchorId, leaf }: ReadLeaf): Promise<boolean> {
    if (leaf.kind === LEAF_KIND.claim) {
      const pair = pairOfClaim(leaf);
      if (this.#records.isNamed(pair)) this.#addClaim(anchorId, pair);
    } else if (leaf.kind === LEAF_KIND.grant) {
      const parties = [leaf.grantorClaimRef, leaf.granteeClaimRef].map(bytesToHex);
      if (parties.some((claim) => this.#records.isNamed(this.#records.claims.get(claim)))) {
        await this.#addChain(anchorId, leaf);
      }
    } else if (leaf.kind === LEAF_KIND.revocation) {
      const touched = await this.#touchedBy(leaf);
      if (touched.size === 0) return true;
      if (!this.#options.hasRoom()) return false;
      this.#options.tell({ anchorId, leaf, touched });
    }
    return true;
  }

  async #touchedBy({ targetAnchorId, authority }: RevocationLeaf): Promise<ReadonlyMap<string, readonly string[]>> {
    const target = bytesToHex(targetAnchorId);
    const { claims, grants } = this.#records;
    if (grants.has(target)) return this.#records.touchedByGrant(target);
    // All grants that matter are known; a claim may be the newest of a lineage on which one of them hangs.
    if (authority >= GRANT_AUTHORITY_MIN || (grants.size === 0 && !claims.has(target))) return new Map();
    const pair = claims.get(target) ?? (await this.#pairAt(target));
    return pair === null ? new Map() : this.#records.touchedByClaim(target, pair);
  }

  /** A grant of a named entity, and all grants above it. */
  async #addChain(anchorId: string, leaf: GrantLeaf): Promise<void> {
    const links: [string, GrantLink][] = [];
    let id: string | null = anchorId;
    let grant = leaf;
    while (id !== null && !this.#records.grants.has(id)) {
      const grantor = await this.#pairOf(bytesToHex(grant.grantorClaimRef));
      const grantee = await this.#pairOf(bytesToHex(grant.granteeClaimRef));
      const parent: string | null = isZero(grant.parentGrantRef) ? null : bytesToHex(grant.parentGrantRef);
      links.push([id, { grantor, grantee, parent }]);
      this.#assertRoom(links.length);
      id = parent;
      if (id !== null && !this.#records.grants.has(id)) grant = await this.#grantAt(id);
    }
    for (const [id, link] of links) this.#records.addGrant(id, link);
  }

  async #pairOf(claim: string): Promise<ClaimPair> {
    const known = this.#records.claims.get(claim);
    if (known !== undefined) return known;
    const pair = await this.#pairAt(claim);
    if (pair === null) throw contradicting(claim, "a claim");
    this.#addClaim(claim, pair);
    return pair;
  }

  /** Null: it is no claim. */
  async #pairAt(anchorId: string): Promise<ClaimPair | null> {
    const leaf = await this.#leafAt(anchorId);
    return leaf.kind === LEAF_KIND.claim ? pairOfClaim(leaf) : null;
  }

  async #grantAt(anchorId: string): Promise<GrantLeaf> {
    const leaf = await this.#leafAt(anchorId);
    if (leaf.kind !== LEAF_KIND.grant) throw contradicting(anchorId, "a grant");
    return leaf;
  }

  /** What a leaf of the log names by its hash needs no other proof. */
  async #leafAt(anchorId: string): Promise<Leaf> {
    const bytes = await this.#options.source.leaf(anchorId);
    if (bytesToHex(anchorIdOf(bytes, nodeCrypto.sha256)) !== anchorId) throw contradicting(anchorId, "that leaf");
    try {
      return decodeLeaf(bytes);
    } catch (error) {
      throw error instanceof DecodeError ? contradicting(anchorId, "a leaf") : error;
    }
  }

  #addClaim(anchorId: string, pair: ClaimPair): void {
    this.#assertRoom(1);
    this.#records.addClaim(anchorId, pair);
  }

  #assertRoom(count: number): void {
    if (this.#records.hasRoomFor(count)) return;
    const message = "too many claims and grants hang together with the named entities: name fewer, or watch in parts";
    throw new CliError(EXIT.unavailable, "too_many_records", message);
  }

  #count(origins: readonly OriginLeaves[]): void {
    this.#unread = origins.reduce((sum, { unread }) => sum + unread, 0);
  }

  #save(origins: readonly OriginLeaves[]): void {
    for (const { originFingerprint, frontier } of origins) this.#frontiers.set(originFingerprint, frontier);
    this.#count(origins);
    this.#options.memory.save({
      records: this.#records,
      frontiers: this.#frontiers,
      nextSequence: this.#nextSequence,
      metBelow: this.#metBelow,
    });
  }
}

interface NextLeaf {
  readonly origin: OriginLeaves;
  readonly read: ReadLeaf;
}

async function lowestOf(origins: readonly OriginLeaves[]): Promise<NextLeaf | null> {
  let lowest: NextLeaf | null = null;
  for (const origin of origins) {
    const read = await origin.next();
    if (read !== null && (lowest === null || read.leaf.sequence < lowest.read.leaf.sequence)) lowest = { origin, read };
  }
  return lowest;
}

function pairOfClaim({ entityFingerprint, attributeType }: ClaimLeaf): ClaimPair {
  return pairOf(bytesToHex(entityFingerprint), attributeType);
}

function contradicting(anchorId: string, what: string): CliError {
  return new CliError(EXIT.unavailable, "leaves_differ", `what is shown as ${anchorId} is not ${what}`);
}
