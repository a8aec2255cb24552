import { type NodeIdentity } from "@event-anchoring/control-plane";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  type OriginFingerprint,
  type TrustRoot,
  VKEY_TYPE,
  ZERO_32,
  bytesToHex,
  checkpointOrigin,
  compareBytes,
  cosignerName,
  formatNote,
  formatTrustRootText,
  makeVkey,
  originFingerprintOf,
  parseSignedTrustRoot,
  raftIdOf,
  rootKeyName,
  trustRootMessage,
  trustRootSignatureLine,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import { realSigner, simulatedSigner } from "./simulated-crypto.ts";
import { WORLD_START_MS } from "./simulated-process.ts";

const { sha256 } = nodeCrypto;
const CLUSTER_NAME = "simulated.example/life";
const DAY_S = 86_400;

/** The identities of a cluster of that size: always the same, so that a life is a function of its seed alone. */
export function simulatedIdentities(nodeCount: number): readonly NodeIdentity[] {
  const known = IDENTITIES.get(nodeCount);
  if (known !== undefined) return known;
  const made = makeIdentities(nodeCount);
  IDENTITIES.set(nodeCount, made);
  return made;
}

const IDENTITIES = new Map<number, readonly NodeIdentity[]>();

function makeIdentities(nodeCount: number): readonly NodeIdentity[] {
  const clusterId = sha256(utf8ToBytes(`simulated cluster of ${nodeCount}`));
  const nodeIds = Array.from({ length: nodeCount }, (_, at) => String.fromCodePoint(0x61 + at));
  const nodes = nodeIds.map((nodeId) => nodeOf(clusterId, nodeId));
  const document = signedDocument(trustRootOf(clusterId, nodes));
  const { trustRoot, rootThk } = parseSignedTrustRoot(document, sha256);
  const configured = { document, version: 1, rootThk };
  return nodes.map(({ nodeId, originFingerprint }) => ({
    nodeId,
    clusterId,
    raftId: raftIdOf(clusterId, nodeId, sha256),
    originFingerprint,
    authSigner: simulatedSigner(`auth ${nodeId}`),
    cosigner: simulatedSigner(`cosigner ${nodeId}`),
    logSignerOf,
    configured,
    trustRoot,
  }));
}

/**
 * Versions of the trust root after the first. Each is valid a little longer than the one before; of five nodes the
 * third version retires the last one; the fourth closes the last origin. Always the same documents.
 */
export function simulatedTrustRoot(nodeCount: number, version: number): string {
  const chain = DOCUMENTS.get(nodeCount) ?? [];
  DOCUMENTS.set(nodeCount, chain);
  while (chain.length < version) {
    const before = chain.at(-1);
    chain.push(before === undefined ? firstDocument(nodeCount) : nextDocument(before));
  }
  return chain[version - 1] ?? "";
}

const DOCUMENTS = new Map<number, string[]>();
export const RETIRING_VERSION = 3;
const CLOSING_VERSION = 4;

function firstDocument(nodeCount: number): string {
  return simulatedIdentities(nodeCount)[0]?.configured.document ?? "";
}

function nextDocument(before: string): string {
  const { trustRoot, rootThk } = parseSignedTrustRoot(before, sha256);
  const version = trustRoot.version + 1;
  const closed = version >= CLOSING_VERSION ? trustRoot.origins.length - 1 : -1;
  const origins = trustRoot.origins.map((origin, at) =>
    at === closed ? { ...origin, status: "closed" as const } : origin,
  );
  const { issuedS, expiresS } = trustRoot;
  const retired = version >= RETIRING_VERSION && trustRoot.nodes.length === 5 ? 4 : -1;
  const nodes = trustRoot.nodes.map((node, at) => (at === retired ? { ...node, status: "retired" as const } : node));
  return signedDocument({
    ...trustRoot,
    nodes,
    version,
    previous: rootThk,
    issuedS: issuedS + 1,
    expiresS: expiresS + 1,
    origins,
  });
}

function signedDocument(root: TrustRoot): string {
  const text = formatTrustRootText(root);
  const rootKey = realSigner("root");
  const line = { clusterName: CLUSTER_NAME, label: "root-1", publicKey: rootKey.publicKey };
  const signature = rootKey.sign(trustRootMessage(text));
  return formatNote(text, [trustRootSignatureLine({ ...line, signature }, sha256)]);
}

function logSignerOf(origin: OriginFingerprint): ReturnType<typeof simulatedSigner> {
  return simulatedSigner(`log ${bytesToHex(origin)}`);
}

function nodeOf(clusterId: Uint8Array, nodeId: string): { nodeId: string; originFingerprint: OriginFingerprint } {
  const cosigner = simulatedSigner(`cosigner ${nodeId}`);
  return { nodeId, originFingerprint: originFingerprintOf(clusterId, cosigner.publicKey, sha256) };
}

function trustRootOf(clusterId: Uint8Array, nodes: readonly ReturnType<typeof nodeOf>[]): TrustRoot {
  const issuedS = WORLD_START_MS / 1000;
  const rootKey = makeVkey(
    rootKeyName(CLUSTER_NAME, "root-1"),
    VKEY_TYPE.ed25519,
    realSigner("root").publicKey,
    sha256,
  );
  const origins = nodes.map(({ originFingerprint }) => {
    const name = checkpointOrigin(CLUSTER_NAME, originFingerprint);
    const logVkey = makeVkey(name, VKEY_TYPE.ed25519, logSignerOf(originFingerprint).publicKey, sha256);
    return { originFingerprint, status: "active" as const, logVkey };
  });
  const members = nodes.map(({ nodeId, originFingerprint }) => {
    const { publicKey } = simulatedSigner(`cosigner ${nodeId}`);
    const cosignerVkey = makeVkey(cosignerName(CLUSTER_NAME, nodeId), VKEY_TYPE.cosignature, publicKey, sha256);
    const authPublicKey = simulatedSigner(`auth ${nodeId}`).publicKey;
    return { nodeId, status: "active" as const, originFingerprint, cosignerVkey, authPublicKey };
  });
  return {
    clusterName: CLUSTER_NAME,
    clusterId,
    version: 1,
    epoch: 0,
    previous: ZERO_32,
    issuedS,
    expiresS: issuedS + 365 * DAY_S,
    rootKeys: { threshold: 1, keys: [rootKey] },
    ca: [new Uint8Array(32).fill(7)],
    origins: origins.toSorted((a, b) => compareBytes(a.originFingerprint, b.originFingerprint)),
    nodes: members,
    quorum: Math.floor(nodes.length / 2) + 1,
  };
}
