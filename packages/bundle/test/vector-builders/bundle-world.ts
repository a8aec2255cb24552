/**
 * A ledger of several origins that is written leaf by leaf, without being decided: it can hold what no honest cluster
 * lets in, certified all the same. Bundles are cut out of it.
 */
import {
  LEAF_KIND,
  ZERO_32,
  anchorIdOf,
  bytesToHex,
  claimIssuerPayload,
  claimPayload,
  compareBytes,
  decodeLeaf,
  encodeLeaf,
  equalBytes,
  eventActorPayload,
  grantPayload,
  grantWitnessPayload,
  interiorHash,
  clientRevoker,
  revocationPayload,
  toAnchorId,
} from "@event-anchoring/protocol";
import type {
  AnchorId,
  ClaimLeaf,
  GrantLeaf,
  HashAt,
  Leaf,
  LeafHeader,
  RevocationLeaf,
  SemanticAnchor,
  SignedEventLeaf,
  TrustRoot,
} from "@event-anchoring/protocol";
import { createSigner } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import { assembleBundle } from "../../src/index.ts";
import type { Bundle, BundleJson } from "../../src/index.ts";
import type { AsOf } from "@event-anchoring/records";
import { Cluster } from "./bundle-cluster.ts";
import type { ClusterNode, Membership, Watcher } from "./bundle-cluster.ts";
import { fill, hashOf, sha256 } from "../../../../test/vector-builders/keys.ts";

/** A leaf that was written. */
export interface Written<Body extends Leaf = Leaf> {
  readonly anchorId: AnchorId;
  readonly bytes: Uint8Array;
  readonly leaf: Body;
}

const people = new Map<string, Signer>();

/** Whoever has this name: the same key every time. */
export function person(name: string): Signer {
  const signer = people.get(name) ?? createSigner(hashOf(`person ${name}`));
  people.set(name, signer);
  return signer;
}

/** Somebody, and the claim by which they act. */
export interface Party {
  readonly name: string;
  readonly claim: Written<ClaimLeaf>;
}

interface Placed {
  /** Which origin, by the place of its node in the cluster. */
  readonly at?: number;
}

export interface ClaimOptions extends Placed {
  readonly issuer?: string;
  readonly key?: string;
  readonly expiresAt?: number;
  /** Alters the leaf after it was signed. */
  readonly spoil?: Partial<ClaimLeaf>;
}

export interface GrantOptions extends Placed {
  readonly parent?: Written;
  readonly depth?: number;
  readonly witness?: string;
  readonly signedBy?: string;
  readonly notBefore?: number;
  readonly expiresAt?: number;
  readonly scopeHash?: Uint8Array | undefined;
  readonly spoil?: Partial<GrantLeaf>;
}

export interface RevokeOptions extends Placed {
  /** Who signs; absent: an operator. */
  readonly by?: string;
  readonly authority?: number;
  readonly suspectSince?: number;
  readonly spoil?: Partial<RevocationLeaf>;
}

export interface EventOptions extends Placed {
  readonly iris?: Written;
  readonly grant?: Written;
  readonly scroll?: Written;
  /** Who signs; absent or null: nobody. */
  readonly actor?: string | null;
  readonly spoil?: Partial<SignedEventLeaf>;
}

/** How a bundle is cut out. */
export interface Cut {
  readonly subject: Written;
  /** Absent: the newest leaf. */
  readonly asOf?: AsOf;
  /** Depth from which on each origin is whole; null: no range. By the place of its node. */
  readonly ranges?: readonly (number | null)[];
  /** Leaves with proofs of their own. */
  readonly singles?: readonly Written[];
  /** Trees are as large as this; absent: as they are. By the place of its node. */
  readonly sizes?: readonly (number | undefined)[];
  readonly cosigners?: readonly number[];
  /** Which witnesses have signed the head of each origin, by the place of its node; absent: none. */
  readonly witnessedBy?: readonly (readonly Watcher[])[];
  /** How many versions of the trust root it holds. */
  readonly versions?: number;
  readonly stated?: BundleJson;
}

type Bodied = (header: LeafHeader) => Leaf;

export class BundleWorld {
  readonly cluster: Cluster;
  readonly documents: string[] = [];
  readonly thks: Uint8Array[] = [];
  /** With their RootTHKs, in the order of the documents. */
  readonly versions: { readonly trustRoot: TrustRoot; readonly rootThk: Uint8Array }[] = [];
  /** Leaves of all origins, as they were written. */
  readonly written: Written[] = [];
  /** Milliseconds between two leaves. */
  stepMs = 10;
  clockMs = 1_767_225_600_000;
  /** Sequence of the next leaf: altered, two leaves have one sequence, or one is missing. */
  nextSequence = 0;
  readonly #trees = new Map<ClusterNode, Written[]>();
  #root: TrustRoot | null = null;

  constructor(cluster = new Cluster("anchor.example/demo", 0xc1)) {
    this.cluster = cluster;
    this.rotate([0, 1, 2].map((at) => ({ node: cluster.node(at) })));
  }

  get pin(): Uint8Array {
    return this.thks[0] ?? ZERO_32;
  }

  tree(at: number): Written[] {
    return this.#trees.get(this.cluster.node(at)) ?? [];
  }

  /** The next version of the trust root: leaves in every origin that is not lost, ascending by fingerprint. */
  rotate(
    members: readonly Membership[],
    spoil: { readonly rootThk?: Uint8Array; readonly clusterId?: Uint8Array } = {},
  ) {
    const version = this.documents.length + 1;
    const ordered = [...members].sort((a, b) => compareBytes(a.node.originFingerprint, b.node.originFingerprint));
    const byId = [...members].sort((a, b) => (a.node.nodeId < b.node.nodeId ? -1 : 1));
    const base = this.cluster.trustRoot(version, this.thks.at(-1) ?? ZERO_32, ordered);
    this.#root = { ...base, nodes: this.cluster.trustRoot(version, base.previous, byId).nodes };
    this.documents.push(this.cluster.signed(this.#root));
    const rootThk = this.cluster.thk(this.#root);
    this.thks.push(rootThk);
    this.versions.push({ trustRoot: this.#root, rootThk });
    const { clusterId } = this.cluster;
    for (const { node, origin } of ordered) {
      if (origin === "lost") continue;
      const isFirst = !this.#trees.has(node);
      this.append(node, (header) =>
        isFirst
          ? { kind: LEAF_KIND.genesis, ...header, clusterId, rootThk, ...spoil }
          : { kind: LEAF_KIND.trustRoot, ...header, version, rootThk, ...spoil },
      );
    }
  }

  append<Body extends Leaf = Leaf>(node: ClusterNode, body: Bodied, spoil: Partial<LeafHeader> = {}): Written<Body> {
    const tree = this.#trees.get(node) ?? [];
    this.#trees.set(node, tree);
    const before = tree.at(-1);
    this.clockMs += this.stepMs;
    const leaf = body({
      originFingerprint: node.originFingerprint,
      depth: tree.length,
      parentAnchorId: before?.anchorId ?? toAnchorId(ZERO_32),
      sequence: this.nextSequence++,
      acceptedMs: this.clockMs,
      ...spoil,
    });
    const bytes = encodeLeaf(leaf);
    const write = { anchorId: anchorIdOf(bytes, sha256), bytes, leaf: decodeLeaf(bytes) };
    tree.push(write);
    this.written.push(write);
    return write as Written<Body>;
  }

  claim(name: string, { at = 0, issuer = "issuer", key = name, expiresAt = 0, spoil = {} }: ClaimOptions = {}): Party {
    const node = this.cluster.node(at);
    const content = {
      originFingerprint: node.originFingerprint,
      entityFingerprint: hashOf(`entity ${name}`),
      attributeType: 1,
      attributeHash: hashOf(`attribute ${name} ${this.nextSequence}`),
      issuedAt: 0,
      expiresAt,
      subjectPublicKey: person(key).publicKey,
      issuerPublicKey: person(issuer).publicKey,
    };
    const payload = claimPayload(content);
    const subjectSignature = person(key).sign(payload);
    const issuerSignature = person(issuer).sign(claimIssuerPayload(payload, subjectSignature, sha256));
    const claim = this.append<ClaimLeaf>(node, (header) => ({
      kind: LEAF_KIND.claim,
      ...header,
      ...content,
      subjectSignature,
      issuerSignature,
      ...spoil,
    }));
    return { name: key, claim };
  }

  grant(grantor: Party, grantee: Party, options: GrantOptions = {}): Written<GrantLeaf> {
    const { at = 0, parent, depth = 3, witness = "witness", signedBy = grantor.name, spoil = {} } = options;
    const node = this.cluster.node(at);
    const content = {
      originFingerprint: node.originFingerprint,
      grantorClaimRef: grantor.claim.anchorId,
      granteeClaimRef: grantee.claim.anchorId,
      parentGrantRef: parent?.anchorId ?? ZERO_32,
      scopeHash: options.scopeHash ?? hashOf("scope"),
      delegationDepth: depth,
      issuedAt: 0,
      notBefore: options.notBefore ?? 0,
      expiresAt: options.expiresAt ?? 0,
      grantorPublicKey: person(signedBy).publicKey,
      witnessPublicKey: person(witness).publicKey,
    };
    const payload = grantPayload(content);
    const grantorSignature = person(signedBy).sign(payload);
    const witnessSignature = person(witness).sign(grantWitnessPayload(payload, grantorSignature, sha256));
    return this.append<GrantLeaf>(node, (header) => ({
      kind: LEAF_KIND.grant,
      ...header,
      ...content,
      grantorSignature,
      witnessSignature,
      ...spoil,
    }));
  }

  revoke(target: Written, { at, by, authority = 0, suspectSince = 0, spoil = {} }: RevokeOptions = {}): Written {
    const own = this.cluster.nodes.findIndex(({ originFingerprint }) =>
      equalBytes(originFingerprint, target.leaf.originFingerprint),
    );
    const content = { targetAnchorId: target.anchorId, reason: 0, suspectSince, issuedAt: 0 };
    const { originFingerprint } = target.leaf;
    const signed = by === undefined ? null : person(by).sign(revocationPayload({ ...content, originFingerprint }));
    return this.append(this.cluster.node(at ?? own), (header) => ({
      kind: LEAF_KIND.revocation,
      ...header,
      ...content,
      authority,
      revoker: by === undefined ? clientRevoker(fill(0xac, 16), sha256) : person(by).publicKey,
      signature: signed ?? fill(0, 64),
      ...spoil,
    }));
  }

  event(label: string, { at = 0, iris, grant, scroll, actor, spoil = {} }: EventOptions = {}): Written {
    const node = this.cluster.node(at);
    const semanticAnchor: SemanticAnchor = {
      irisRef: iris?.anchorId ?? ZERO_32,
      scrollRef: scroll?.anchorId ?? ZERO_32,
      grantRef: grant?.anchorId ?? ZERO_32,
      bondRef: ZERO_32,
      yieldRef: ZERO_32,
      eventDataHash: ZERO_32,
    };
    const body = { eventHash: hashOf(label), semanticAnchor, clientEventCommit: ZERO_32 };
    if (actor === undefined || actor === null)
      return this.append(node, (header) => ({ kind: LEAF_KIND.event, ...header, ...body }));
    const { publicKey, sign } = person(actor);
    const actorSignature = sign(eventActorPayload({ originFingerprint: node.originFingerprint, ...body }));
    return this.append(node, (header) => ({
      kind: LEAF_KIND.signedEvent,
      ...header,
      ...body,
      actorPublicKey: publicKey,
      actorSignature,
      ...spoil,
    }));
  }

  /** Where a leaf stands. */
  position({ leaf }: Written): AsOf {
    return { sequence: leaf.sequence, timeMs: leaf.acceptedMs };
  }

  hashAt(at: number): HashAt {
    const tree = this.tree(at);
    const hashOfSubtree = (level: number, index: number): Uint8Array => {
      const leaf = level === 0 ? tree[index] : undefined;
      if (level === 0 && leaf === undefined) throw new RangeError(`no leaf ${index}`);
      if (leaf !== undefined) return leaf.anchorId;
      const left = hashOfSubtree(level - 1, 2 * index);
      return interiorHash(left, hashOfSubtree(level - 1, 2 * index + 1), sha256);
    };
    return hashOfSubtree;
  }

  /** The signed checkpoint of the first leaves of an origin. */
  checkpoint(
    at: number,
    size = this.tree(at).length,
    cosigners: readonly number[] = [0, 1],
    isLogged = true,
    watchers: readonly Watcher[] = [],
  ): string {
    const root = rootOf(
      this.tree(at)
        .slice(0, size)
        .map(({ anchorId }) => anchorId),
    );
    const nodes = cosigners.map((each) => this.cluster.node(each));
    return this.cluster.checkpoint(this.cluster.node(at), size, root, nodes, isLogged, watchers);
  }

  cut({ subject, asOf, ranges = [], singles = [], sizes = [], versions, stated = null, ...signed }: Cut): Bundle {
    const last = this.written.at(-1);
    if (last === undefined) throw new RangeError("there is no leaf");
    const origins = this.cluster.nodes.map((node, at) => {
      const size = sizes[at] ?? this.tree(at).length;
      const from = ranges[at] ?? null;
      const own = this.tree(at).slice(0, size);
      return {
        originFingerprint: node.originFingerprint,
        checkpoint: size === 0 ? "" : this.checkpoint(at, size, signed.cosigners, true, signed.witnessedBy?.[at]),
        treeSize: size,
        hashAt: this.hashAt(at),
        leaves: singles.filter((each) => own.includes(each)).map(({ bytes }) => bytes),
        range: from === null ? null : { from, leaves: own.slice(from).map(({ bytes }) => bytes) },
      };
    });
    const documents = this.documents.slice(0, versions ?? this.documents.length);
    const position = asOf ?? this.position(last);
    return assembleBundle(
      { subject: subject.anchorId, asOf: position, trustRoots: documents, origins, stated },
      sha256,
    );
  }
}

/** RFC 6962. */
function rootOf(hashes: readonly Uint8Array[]): Uint8Array {
  const [only] = hashes;
  if (only === undefined) throw new RangeError("an empty tree is not certified");
  if (hashes.length === 1) return only;
  let split = 1;
  while (split * 2 < hashes.length) split *= 2;
  return interiorHash(rootOf(hashes.slice(0, split)), rootOf(hashes.slice(split)), sha256);
}

export function idOf({ anchorId }: Written): string {
  return bytesToHex(anchorId);
}
