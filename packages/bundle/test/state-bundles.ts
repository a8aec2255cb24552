/** Bundles with a state head, made from the leaves of a ledger and the keys of its nodes. */
import {
  LEAF_KIND,
  RecentTree,
  bytesToHex,
  decodeLeaf,
  emptyFrontier,
  formatStateHead,
  formatStateHeadNote,
  interiorHash,
  proveInclusion,
  raftIdOf,
  stateHeadLine,
  stateHeadMessage,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { HashAt, Leaf, SignedTrustRoot, StateHead, StateLeaf } from "@event-anchoring/protocol";
import type { Signer } from "@event-anchoring/node-crypto";
import {
  claimEntry,
  grantEntry,
  lineageEntry,
  proveState,
  stateLeafOf,
  updateStateTree,
  StatePage,
} from "@event-anchoring/ledger";
import { RecordBook, targetsInView } from "@event-anchoring/records";
import type { AnchorFact, AsOf, ClaimRecord, GrantRecord } from "@event-anchoring/records";
import { assembleStateBundle, leavesOfStateBundle, recordsOfStateBundle, stateValueOf } from "../src/index.ts";
import type { Bundle, BundleJson } from "../src/index.ts";
import { fill, hashOf, sha256 } from "../../../test/vector-builders/keys.ts";

/** Who wrote every record here: no leaf holds it. */
const API_CLIENT = fill(0xac, 16);

export interface SignedLeaf {
  readonly anchorId: Uint8Array;
  readonly bytes: Uint8Array;
}

/** A ledger up to some leaf, and who can sign its state. */
export interface StateWorld {
  /** Leaves of all origins, ascending by sequence. */
  readonly leaves: readonly SignedLeaf[];
  /** Signed documents, ascending. */
  readonly documents: readonly string[];
  /** The version that the head names. */
  readonly signed: Pick<SignedTrustRoot, "trustRoot" | "rootThk">;
  /** By node id. */
  readonly cosigners: ReadonlyMap<string, Signer>;
  /** What nodes that lie make of a claim. */
  readonly forge?: (claim: ClaimRecord) => ClaimRecord;
  /** Other keys in the state tree. */
  readonly others?: readonly StateLeaf[];
}

export interface HeadOptions {
  /** Node ids. */
  readonly signers?: readonly string[];
  readonly spoil?: Partial<StateHead>;
}

export interface BundleOptions extends HeadOptions {
  /** Sequences that a dishonest maker leaves out. */
  readonly without?: readonly number[];
  readonly stated?: BundleJson;
}

const OTHERS = { raftIndex: 40, raftTerm: 2, rules: 1 };

/** The state after the last of some leaves, with its tree. */
export class StateOfLeaves {
  readonly world: StateWorld;
  readonly book = new RecordBook(sha256);
  readonly pages = new Map<string, StatePage>([["", StatePage.empty]]);
  readonly stateRoot: Uint8Array;
  readonly #leaves: readonly { readonly leaf: Leaf; readonly written: SignedLeaf }[];
  readonly #trees = new Map<string, SignedLeaf[]>();

  constructor(world: StateWorld) {
    this.world = world;
    this.#leaves = world.leaves.map((written) => ({ leaf: decodeLeaf(written.bytes), written }));
    for (const { leaf, written } of this.#leaves) {
      this.book.append(leaf, { anchorId: written.anchorId as ClaimRecord["anchorId"], recordedBy: API_CLIENT });
      const origin = bytesToHex(leaf.originFingerprint);
      const tree = this.#trees.get(origin);
      if (tree === undefined) this.#trees.set(origin, [written]);
      else tree.push(written);
    }
    const claims = this.book.addedClaims().map((claim) => this.#stated(claim));
    const entries = [
      ...claims.map(claimEntry),
      ...claims.map(lineageEntry),
      ...this.book.addedGrants().map(grantEntry),
    ];
    const stateLeaves = [...(world.others ?? []), ...entries.map((entry) => stateLeafOf(entry, sha256))];
    const update = updateStateTree(this.pages, stateLeaves, sha256);
    for (const [prefix, page] of update.pages) this.pages.set(prefix, page);
    this.stateRoot = update.rootHash;
  }

  get last(): Leaf {
    const last = this.#leaves.at(-1);
    if (last === undefined) throw new RangeError("there is no leaf");
    return last.leaf;
  }

  head(): StateHead {
    const { clusterName, clusterId, epoch, version, nodes } = this.world.signed.trustRoot;
    return {
      ...OTHERS,
      clusterName,
      clusterId,
      epoch,
      trustRootVersion: version,
      rootThk: this.world.signed.rootThk,
      effect: hashOf("effect"),
      nextSequence: this.last.sequence + 1,
      lastAcceptedMs: this.last.acceptedMs,
      stampMs: this.last.acceptedMs + 5,
      members: {
        voters: nodes.map(({ nodeId }) => raftIdOf(clusterId, nodeId, sha256)).sort((a, b) => (a < b ? -1 : 1)),
        votersOutgoing: [],
        learners: [],
        learnersNext: [],
        autoLeave: false,
      },
      origins: [...this.#trees].map(([origin, written]) => {
        const tree = new RecentTree(emptyFrontier(), sha256);
        for (const { anchorId } of written) tree.append(anchorId);
        const originFingerprint = toOriginFingerprint(Uint8Array.from(Buffer.from(origin, "hex")));
        return { originFingerprint, treeSize: tree.size, rootHash: tree.rootAt(tree.size) };
      }),
      stateRoot: this.stateRoot,
      groupIdsHash: hashOf("groups"),
      clientEventsHash: hashOf("client events"),
    };
  }

  note({ signers, spoil = {} }: HeadOptions = {}): string {
    const head = { ...this.head(), ...spoil };
    const message = stateHeadMessage(formatStateHead(head));
    const { nodes, quorum } = this.world.signed.trustRoot;
    const ids = signers ?? nodes.slice(0, quorum).map(({ nodeId }) => nodeId);
    const lines = ids.map((nodeId) => {
      const signer = this.world.cosigners.get(nodeId);
      const name = `${head.clusterName}/node/${nodeId}`;
      if (signer === undefined) throw new RangeError(`no node ${nodeId}`);
      return stateHeadLine({ name, publicKey: signer.publicKey, signature: signer.sign(message) }, sha256);
    });
    return formatStateHeadNote(head, lines);
  }

  /** The anchors that a leaf refers to, by hex. */
  #referencesOf(leaf: Leaf): Map<string, AnchorFact> {
    const ids: Uint8Array[] = [];
    if (leaf.kind === LEAF_KIND.revocation) ids.push(leaf.targetAnchorId);
    if (leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent) {
      const { irisRef, scrollRef, grantRef, bondRef, yieldRef } = leaf.semanticAnchor;
      ids.push(irisRef, scrollRef, grantRef, bondRef, yieldRef);
    }
    const wanted = new Set(ids.map(bytesToHex));
    return new Map(
      this.#leaves.flatMap(({ leaf: each, written }) => {
        const id = bytesToHex(written.anchorId);
        return wanted.has(id) ? [[id, each] as const] : [];
      }),
    );
  }

  #leafAt(sequence: number): SignedLeaf {
    const found = this.#leaves.find(({ leaf }) => leaf.sequence === sequence);
    if (found === undefined) throw new RangeError(`no leaf of sequence ${sequence}`);
    return found.written;
  }

  #inclusionOf({ bytes }: SignedLeaf): Uint8Array[] {
    const { originFingerprint, depth } = decodeLeaf(bytes);
    const tree = this.#trees.get(bytesToHex(originFingerprint)) ?? [];
    return proveInclusion(depth, tree.length, hashesOf(tree), sha256);
  }

  #stated<Stated extends ClaimRecord | GrantRecord>(record: Stated): Stated | ClaimRecord {
    return "lineage" in record ? (this.world.forge?.(record) ?? record) : record;
  }

  #inState(known: ClaimRecord | GrantRecord) {
    const record = this.#stated(known);
    const entry = "lineage" in record ? claimEntry(record) : grantEntry(record);
    const { key } = stateLeafOf(entry, sha256);
    const { bytes: leaf } = this.#leafAt(record.sequence);
    return { leaf, value: stateValueOf(record), proof: proveState(this.pages, key, sha256) };
  }

  /** What a node makes. */
  bundle(subject: SignedLeaf, asOf: AsOf, options: BundleOptions = {}): Bundle {
    const leaf = decodeLeaf(subject.bytes);
    const about = { leaf, asOf, references: this.#referencesOf(leaf) };
    const view = recordsOfStateBundle(about, this.book);
    const targets = new Set(targetsInView(view));
    const revocations = this.#leaves.flatMap(({ leaf: each }) => {
      if (each.kind !== LEAF_KIND.revocation || each.sequence > asOf.sequence) return [];
      return targets.has(this.book.find(each.targetAnchorId)?.sequence ?? -1) ? [each.sequence] : [];
    });
    const isHeld = (sequence: number): boolean => options.without?.includes(sequence) !== true;
    const at = this.#leaves.find(({ leaf: each }) => each.sequence === asOf.sequence)?.leaf;
    const head = { newest: this.last.sequence, leafMs: at?.acceptedMs ?? 0 };
    const leaves = leavesOfStateBundle(about, view, revocations, head).filter(isHeld);
    const records = [...view.claims, ...view.grants].filter(({ sequence }) => isHeld(sequence));
    return assembleStateBundle({
      subject: subject.anchorId as Bundle["subject"],
      asOf,
      trustRoots: this.world.documents,
      head: this.note(options),
      records: records.sort((a, b) => a.sequence - b.sequence).map((each) => this.#inState(each)),
      leaves: leaves
        .map((sequence) => this.#leafAt(sequence))
        .map((each) => ({ leaf: each.bytes, inclusion: this.#inclusionOf(each) })),
      stated: options.stated ?? null,
    });
  }
}

function hashesOf(leaves: readonly SignedLeaf[]): HashAt {
  const hashAt = (level: number, index: number): Uint8Array => {
    const own = level === 0 ? leaves[index]?.anchorId : undefined;
    if (own !== undefined) return own;
    if (level === 0) throw new RangeError(`no leaf ${index}`);
    return interiorHash(hashAt(level - 1, 2 * index), hashAt(level - 1, 2 * index + 1), sha256);
  };
  return hashAt;
}
