/**
 * A small ledger that exists on paper only: what the reference shows as examples. Its hashes, proofs and signatures are
 * real, so that the examples verify with the same tools as real answers.
 */
import {
  LEAF_KIND,
  RecentTree,
  ZERO_32,
  anchorIdOf,
  asciiToBytes,
  checkpointOrigin,
  claimIssuerPayload,
  claimPayload,
  clientEventCommit,
  compareBytes,
  cosignatureLine,
  cosignatureMessage,
  cosignerName,
  decodeLeaf,
  emptyFrontier,
  encodeLeaf,
  equalBytes,
  eventActorPayload,
  formatCheckpoint,
  formatNote,
  formatTrustRootText,
  grantPayload,
  grantWitnessPayload,
  hexToBytes,
  makeVkey,
  nobleCrypto,
  noteMessage,
  noteSignatureLine,
  clientRevoker,
  originFingerprintOf,
  proveConsistency,
  proveInclusion,
  revocationPayload,
  rootKeyName,
  rootThk,
  toAnchorId,
  trustRootMessage,
  trustRootSignatureLine,
} from "@event-anchoring/protocol";
import type {
  AnchorId,
  ClaimBody,
  EventContent,
  GrantBody,
  HashAt,
  Leaf,
  LeafHeader,
  OriginFingerprint,
  Receipt,
  TrustRoot,
} from "@event-anchoring/protocol";
import { EXAMPLE_KEYS } from "./example-keys.ts";
import type { ExampleKey, ExampleUse } from "./example-keys.ts";

const { sha256 } = nobleCrypto;

const CLUSTER_NAME = "anchoring.example.org";
/** 2026-01-01T00:00:00Z. */
const ISSUED_S = 1_767_225_600;
const TEN_YEARS_S = 315_532_800;
const NODE_IDS = ["n1", "n2", "n3"] as const;
const COSIGNERS = ["n1", "n2"] as const;
const QUORUM = 2;

/** @returns 64 bytes: the signature of a key over a message, for one use of it */
export type ExampleSigner = (use: ExampleUse, key: ExampleKey, message: Uint8Array) => Uint8Array;

function named(what: string): Uint8Array {
  return sha256(asciiToBytes(`event-anchoring example: ${what}`));
}

function keyOf(name: ExampleKey): Uint8Array {
  return hexToBytes(EXAMPLE_KEYS[name], 32);
}

const CLUSTER_ID = named("cluster");

function originOf(nodeId: (typeof NODE_IDS)[number]): OriginFingerprint {
  return originFingerprintOf(CLUSTER_ID, keyOf(`cosigner ${nodeId}`), sha256);
}

function exampleTrustRoot(): TrustRoot {
  const nodes = NODE_IDS.map((nodeId) => ({
    nodeId,
    status: "active" as const,
    originFingerprint: originOf(nodeId),
    cosignerVkey: makeVkey(cosignerName(CLUSTER_NAME, nodeId), 0x04, keyOf(`cosigner ${nodeId}`), sha256),
    authPublicKey: keyOf(`auth ${nodeId}`),
  }));
  const origins = nodes.map(({ nodeId, originFingerprint }) => ({
    originFingerprint,
    status: "active" as const,
    logVkey: makeVkey(checkpointOrigin(CLUSTER_NAME, originFingerprint), 0x01, keyOf(`log ${nodeId}`), sha256),
  }));
  return {
    clusterName: CLUSTER_NAME,
    clusterId: CLUSTER_ID,
    version: 1,
    epoch: 0,
    previous: ZERO_32,
    issuedS: ISSUED_S,
    expiresS: ISSUED_S + TEN_YEARS_S,
    rootKeys: { threshold: 1, keys: [makeVkey(rootKeyName(CLUSTER_NAME, "root1"), 0x01, keyOf("root"), sha256)] },
    ca: [named("ca")],
    origins: origins.sort((a, b) => compareBytes(a.originFingerprint, b.originFingerprint)),
    nodes,
    operators: [],
    quorum: QUORUM,
    witnesses: [],
    witnessQuorum: 0,
  };
}

/** Ten milliseconds for each leaf. */
function acceptedMsOf(sequence: number): number {
  return ISSUED_S * 1000 + sequence * 10;
}

type Body<Each extends Leaf = Leaf> = Each extends Leaf ? Omit<Each, keyof LeafHeader> : never;

/** The tree of one origin, leaf by leaf. */
class ExampleTree {
  readonly origin: OriginFingerprint;
  readonly #tree = new RecentTree(emptyFrontier(), sha256);
  readonly #leaves: Uint8Array[] = [];
  #sequence: number;
  #parent: AnchorId = toAnchorId(ZERO_32);

  constructor(origin: OriginFingerprint, firstSequence: number) {
    this.origin = origin;
    this.#sequence = firstSequence;
  }

  /** After the genesis leaves of the other origins. */
  skipTo(sequence: number): void {
    this.#sequence = sequence;
  }

  append(body: Body): AnchorId {
    const sequence = this.#sequence++;
    const header = {
      originFingerprint: this.origin,
      depth: this.#leaves.length,
      parentAnchorId: this.#parent,
      sequence,
      acceptedMs: acceptedMsOf(sequence),
    };
    const bytes = encodeLeaf({ ...header, ...body });
    this.#parent = anchorIdOf(bytes, sha256);
    this.#leaves.push(bytes);
    this.#tree.append(this.#parent);
    return this.#parent;
  }

  get size(): number {
    return this.#leaves.length;
  }

  leafAt(depth: number): Uint8Array {
    const bytes = this.#leaves[depth];
    if (bytes === undefined) throw new RangeError(`no leaf ${depth}`);
    return bytes;
  }

  rootAt(size: number): Uint8Array {
    return this.#tree.rootAt(size);
  }

  readonly hashAt: HashAt = (level, index) => {
    const hash = this.#tree.subtree(level, index);
    if (hash === undefined) throw new RangeError(`no subtree ${level}, ${index}`);
    return hash;
  };
}

/** A checkpoint with the cosignatures of the quorum. */
export interface ExampleHead {
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  readonly checkpoint: string;
  readonly certifiedAtS: number;
  readonly cosigners: readonly { readonly name: string; readonly time: number }[];
}

function certify(tree: ExampleTree, moment: "before" | "after", sign: ExampleSigner): ExampleHead {
  const treeSize = tree.size;
  const rootHash = tree.rootAt(treeSize);
  const origin = checkpointOrigin(CLUSTER_NAME, tree.origin);
  const text = formatCheckpoint({ origin, treeSize, rootHash });
  const timeS = ISSUED_S + 1;
  const logKey = { name: origin, publicKey: keyOf("log n1") };
  const log = noteSignatureLine({ ...logKey, signature: sign(`log ${moment}`, "log n1", noteMessage(text)) }, sha256);
  const lines = COSIGNERS.map((nodeId) => {
    const key = `cosigner ${nodeId}` as const;
    const signature = sign(`${key} ${moment}`, key, cosignatureMessage(timeS, text));
    return cosignatureLine(
      { name: cosignerName(CLUSTER_NAME, nodeId), publicKey: keyOf(key), timeS, signature },
      sha256,
    );
  });
  return {
    treeSize,
    rootHash,
    checkpoint: formatNote(text, [log, ...lines]),
    certifiedAtS: timeS,
    cosigners: lines.map(({ name }) => ({ name, time: timeS })),
  };
}

type Party = "organisation" | "agent";

function claimOf(origin: OriginFingerprint, party: Party, sign: ExampleSigner): ClaimBody {
  const stated = {
    originFingerprint: origin,
    entityFingerprint: named(`entity ${party}`),
    attributeType: 0x10,
    attributeHash: named(`attribute ${party}`),
    issuedAt: 0,
    expiresAt: 0,
    subjectPublicKey: keyOf(party),
    issuerPublicKey: keyOf("issuer"),
  };
  const payload = claimPayload(stated);
  const subjectSignature = sign(`subject ${party}`, party, payload);
  const issuerSignature = sign(`issuer ${party}`, "issuer", claimIssuerPayload(payload, subjectSignature, sha256));
  const { originFingerprint: _origin, ...body } = stated;
  return { ...body, subjectSignature, issuerSignature };
}

function grantOf(origin: OriginFingerprint, claims: Record<Party, AnchorId>, sign: ExampleSigner): GrantBody {
  const stated = {
    originFingerprint: origin,
    grantorClaimRef: claims.organisation,
    granteeClaimRef: claims.agent,
    parentGrantRef: ZERO_32,
    scopeHash: named("scope"),
    delegationDepth: 1,
    issuedAt: 0,
    notBefore: 0,
    expiresAt: 0,
    grantorPublicKey: keyOf("organisation"),
    witnessPublicKey: keyOf("witness"),
  };
  const payload = grantPayload(stated);
  const grantorSignature = sign("grantor", "organisation", payload);
  const witnessSignature = sign("witness", "witness", grantWitnessPayload(payload, grantorSignature, sha256));
  const { originFingerprint: _origin, ...body } = stated;
  return { ...body, grantorSignature, witnessSignature };
}

const CLIENT_EVENT_ID = "order-4711";
const CLIENT_EVENT_SALT = named("salt");

function eventOf(origin: OriginFingerprint, what: string, iris: AnchorId, grant: AnchorId): EventContent {
  const eventHash = named(what);
  const semanticAnchor = {
    irisRef: iris,
    scrollRef: ZERO_32,
    grantRef: grant,
    bondRef: ZERO_32,
    yieldRef: ZERO_32,
    eventDataHash: eventHash,
  };
  return { originFingerprint: origin, eventHash, semanticAnchor };
}

export type ExampleRecord = "genesis" | Party | "grant" | "event" | "signedEvent" | "revocation" | "grantRevocation";

export interface ExampleLedger {
  readonly origin: OriginFingerprint;
  readonly clusterId: Uint8Array;
  /** Every origin's size once certified. */
  readonly origins: readonly { readonly originFingerprint: OriginFingerprint; readonly treeSize: number }[];
  readonly trustRoot: { readonly version: number; readonly rootThk: Uint8Array; readonly document: string };
  readonly clientEvent: { readonly clientEventId: string; readonly clientEventSalt: Uint8Array };
  /** Before anything was revoked, and after. */
  readonly heads: { readonly before: ExampleHead; readonly after: ExampleHead };
  id(record: ExampleRecord): AnchorId;
  leaf(record: ExampleRecord): Leaf;
  receipt(record: ExampleRecord, head: ExampleHead): Receipt;
  consistency(): readonly Uint8Array[];
  /** What the subject of the agent's claim signs to revoke it, and the signature. */
  readonly revoker: { readonly publicKey: Uint8Array; readonly signature: Uint8Array };
}

/** The tree of the first node's origin, and where each record is in it. */
class ExampleLeaves {
  readonly tree: ExampleTree;
  readonly #depths = new Map<ExampleRecord, number>();

  /** @param rank place of the origin among those of the genesis entry */
  constructor(origin: OriginFingerprint, rank: number) {
    this.tree = new ExampleTree(origin, rank);
  }

  append(record: ExampleRecord, body: Body): AnchorId {
    this.#depths.set(record, this.tree.size);
    return this.tree.append(body);
  }

  bytes(record: ExampleRecord): Uint8Array {
    return this.tree.leafAt(this.#depths.get(record) ?? -1);
  }
}

/** Two claims, a grant between them, and two events under it. */
function appendChain(leaves: ExampleLeaves, sign: ExampleSigner): { agent: AnchorId; grant: AnchorId } {
  const { origin } = leaves.tree;
  const claim = (party: Party): AnchorId =>
    leaves.append(party, { kind: LEAF_KIND.claim, ...claimOf(origin, party, sign) });
  const claims = { organisation: claim("organisation"), agent: claim("agent") };
  const grant = leaves.append("grant", { kind: LEAF_KIND.grant, ...grantOf(origin, claims, sign) });
  const { originFingerprint: _first, ...event } = eventOf(origin, "event", claims.agent, grant);
  const commit = clientEventCommit(CLIENT_EVENT_SALT, CLIENT_EVENT_ID, sha256);
  leaves.append("event", { kind: LEAF_KIND.event, ...event, clientEventCommit: commit });
  const { originFingerprint: _second, ...signed } = eventOf(origin, "signed event", claims.agent, grant);
  leaves.append("signedEvent", {
    kind: LEAF_KIND.signedEvent,
    ...signed,
    clientEventCommit: ZERO_32,
    actorPublicKey: keyOf("agent"),
    actorSignature: sign("actor", "agent", eventActorPayload({ originFingerprint: origin, ...signed })),
  });
  return { agent: claims.agent, grant };
}

/** Both that the chain hangs on are revoked: the claim by its subject, the grant by the API client that recorded it. */
function appendRevocations(
  leaves: ExampleLeaves,
  { agent, grant }: { readonly agent: AnchorId; readonly grant: AnchorId },
  sign: ExampleSigner,
): ExampleLedger["revoker"] {
  const stated = { targetAnchorId: agent, reason: 1, suspectSince: acceptedMsOf(6), issuedAt: 0 };
  const payload = revocationPayload({ originFingerprint: leaves.tree.origin, ...stated });
  const revoker = { publicKey: keyOf("agent"), signature: sign("revoker", "agent", payload) };
  leaves.append("revocation", {
    kind: LEAF_KIND.revocation,
    ...stated,
    authority: 2,
    revoker: revoker.publicKey,
    signature: revoker.signature,
  });
  leaves.append("grantRevocation", {
    kind: LEAF_KIND.revocation,
    targetAnchorId: grant,
    reason: 4,
    suspectSince: 0,
    issuedAt: 0,
    authority: 0,
    revoker: clientRevoker(named("api client").subarray(0, 16), sha256),
    signature: new Uint8Array(64),
  });
  return revoker;
}

/** @param sign makes, or looks up, the signatures */
export function buildExampleLedger(sign: ExampleSigner): ExampleLedger {
  const trustRoot = exampleTrustRoot();
  const text = formatTrustRootText(trustRoot);
  const thk = rootThk(text, sha256);
  const rootKey = { clusterName: CLUSTER_NAME, label: "root1", publicKey: keyOf("root") };
  const rootSignature = sign("root", "root", trustRootMessage(text));
  const document = formatNote(text, [trustRootSignatureLine({ ...rootKey, signature: rootSignature }, sha256)]);

  const origin = originOf("n1");
  const isFirst = (each: OriginFingerprint): boolean => equalBytes(each, origin);
  const rank = trustRoot.origins.findIndex(({ originFingerprint }) => isFirst(originFingerprint));
  const leaves = new ExampleLeaves(origin, rank);
  const { tree } = leaves;
  leaves.append("genesis", { kind: LEAF_KIND.genesis, clusterId: CLUSTER_ID, rootThk: thk });
  tree.skipTo(NODE_IDS.length);
  const ended = appendChain(leaves, sign);
  const before = certify(tree, "before", sign);
  const revoker = appendRevocations(leaves, ended, sign);
  const after = certify(tree, "after", sign);
  return {
    origin,
    clusterId: CLUSTER_ID,
    origins: trustRoot.origins.map(({ originFingerprint }) => ({
      originFingerprint,
      treeSize: isFirst(originFingerprint) ? after.treeSize : 1,
    })),
    trustRoot: { version: trustRoot.version, rootThk: thk, document },
    clientEvent: { clientEventId: CLIENT_EVENT_ID, clientEventSalt: CLIENT_EVENT_SALT },
    heads: { before, after },
    id: (record) => anchorIdOf(leaves.bytes(record), sha256),
    leaf: (record) => decodeLeaf(leaves.bytes(record)),
    receipt: (record, { treeSize, checkpoint }) => {
      const leaf = leaves.bytes(record);
      const { depth } = decodeLeaf(leaf);
      return { leaf, index: depth, treeSize, path: proveInclusion(depth, treeSize, tree.hashAt, sha256), checkpoint };
    },
    consistency: () => proveConsistency(before.treeSize, after.treeSize, tree.hashAt, sha256),
    revoker,
  };
}
