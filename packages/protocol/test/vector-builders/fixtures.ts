/** One small cluster with fixed keys, from which all vectors are made. Nothing here is secret or random. */
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import {
  VKEY_TYPE,
  asciiToBytes,
  checkpointOrigin,
  cosignatureLine,
  cosignatureMessage,
  cosignerName,
  formatNote,
  formatTrustRootText,
  logKeySeed,
  makeVkey,
  noteMessage,
  noteSignatureLine,
  operatorKeyName,
  originFingerprintOf,
  rootKeyName,
  rootThk,
  trustRootMessage,
  trustRootSignatureLine,
} from "@event-anchoring/protocol";
import type {
  NodeStatus,
  OriginFingerprint,
  OriginStatus,
  SignatureLine,
  TrustRoot,
  TrustRootNode,
  TrustRootOperator,
  TrustRootOrigin,
  TrustRootWitness,
} from "@event-anchoring/protocol";

export const { sha256 } = nodeCrypto;

/** 32 equal bytes. */
export function fill(byte: number, length = 32): Uint8Array {
  return new Uint8Array(length).fill(byte);
}

/** A hash that stands for some content. */
export function hashOf(content: string): Uint8Array {
  return sha256(asciiToBytes(content));
}

export const clusterName = "anchor.example/demo";
export const clusterId = fill(0xc1);
export const logSeed = fill(0x5e);

export interface FixtureNode {
  readonly nodeId: string;
  readonly cosigner: Signer;
  readonly auth: Signer;
  readonly originFingerprint: OriginFingerprint;
  readonly log: Signer;
}

function makeNode(nodeId: string, number: number): FixtureNode {
  const cosigner = createSigner(fill(0x10 + number));
  const originFingerprint = originFingerprintOf(clusterId, cosigner.publicKey, sha256);
  const log = createSigner(logKeySeed(logSeed, originFingerprint, sha256));
  return { nodeId, cosigner, auth: createSigner(fill(0x20 + number)), originFingerprint, log };
}

export const nodeA = makeNode("a", 1);
export const nodeB = makeNode("b", 2);
export const nodeC = makeNode("c", 3);
export const nodeD = makeNode("d", 4);

export const rootSigners: Readonly<Record<string, Signer>> = {
  "1": createSigner(fill(0x31)),
  "2": createSigner(fill(0x32)),
  "3": createSigner(fill(0x33)),
  "4": createSigner(fill(0x34)),
};

function rootSigner(label: string): Signer {
  const signer = rootSigners[label];
  if (signer === undefined) throw new RangeError(`no root key ${label}`);
  return signer;
}

export function rootVkeys(labels: readonly string[]): TrustRoot["rootKeys"]["keys"] {
  return labels.map((label) =>
    makeVkey(rootKeyName(clusterName, label), VKEY_TYPE.ed25519, rootSigner(label).publicKey, sha256),
  );
}

export function originEntry(node: FixtureNode, status: OriginStatus = "active"): TrustRootOrigin {
  const { originFingerprint } = node;
  const name = checkpointOrigin(clusterName, originFingerprint);
  return { originFingerprint, status, logVkey: makeVkey(name, VKEY_TYPE.ed25519, node.log.publicKey, sha256) };
}

export function nodeEntry(node: FixtureNode, status: NodeStatus = "active"): TrustRootNode {
  const { nodeId, originFingerprint } = node;
  const name = cosignerName(clusterName, nodeId);
  const cosignerVkey = makeVkey(name, VKEY_TYPE.cosignature, node.cosigner.publicKey, sha256);
  return { nodeId, status, originFingerprint, cosignerVkey, authPublicKey: node.auth.publicKey };
}

/** An operator line, its key drawn from a byte. */
export function operatorEntry(name: string, byte: number): TrustRootOperator {
  const { publicKey } = createSigner(fill(byte));
  return { name, vkey: makeVkey(operatorKeyName(clusterName, name), VKEY_TYPE.ed25519, publicKey, sha256) };
}

/** A witness line, its key drawn from a byte and named by its host. */
export function witnessEntry(name: string, byte: number, url = `https://${name}.example/witness`): TrustRootWitness {
  const { publicKey } = createSigner(fill(byte));
  return { name, vkey: makeVkey(`${name}.example`, VKEY_TYPE.cosignature, publicKey, sha256), url };
}

export const version1: TrustRoot = {
  clusterName,
  clusterId,
  version: 1,
  epoch: 0,
  previous: fill(0),
  issuedS: 1_767_225_600,
  expiresS: 2_082_758_400,
  rootKeys: { threshold: 2, keys: rootVkeys(["1", "2", "3"]) },
  ca: [hashOf("ca 1")],
  origins: [originEntry(nodeA), originEntry(nodeB), originEntry(nodeC)],
  nodes: [nodeEntry(nodeA), nodeEntry(nodeB), nodeEntry(nodeC)],
  operators: [],
  quorum: 2,
  witnesses: [],
  witnessQuorum: 0,
};

/** The document that follows `before`, with some fields of its own. */
export function successor(before: TrustRoot, changes: Partial<TrustRoot>): TrustRoot {
  const previous = rootThk(formatTrustRootText(before), sha256);
  return { ...before, version: before.version + 1, previous, issuedS: before.issuedS + 86_400, ...changes };
}

/** Node c is gone, d takes its place. */
export const version2 = successor(version1, {
  origins: [originEntry(nodeA), originEntry(nodeB), originEntry(nodeC, "closed"), originEntry(nodeD)],
  nodes: [nodeEntry(nodeA), nodeEntry(nodeB), nodeEntry(nodeC, "retired"), nodeEntry(nodeD)],
});

/** Node b is distrusted, and root key 4 replaces 1. */
export const version3 = successor(version2, {
  rootKeys: { threshold: 2, keys: rootVkeys(["2", "3", "4"]) },
  origins: [originEntry(nodeA), originEntry(nodeB, "closed"), originEntry(nodeC, "lost"), originEntry(nodeD)],
  nodes: [nodeEntry(nodeA), nodeEntry(nodeB, "distrusted"), nodeEntry(nodeC, "retired"), nodeEntry(nodeD)],
});

/** Witnesses cosign, of which two are needed. */
export const version4 = successor(version3, {
  witnesses: [witnessEntry("north", 0x51), witnessEntry("south", 0x52), witnessEntry("west", 0x53)],
  witnessQuorum: 2,
});

/** East takes the place of west. */
export const version5 = successor(version4, {
  witnesses: [witnessEntry("east", 0x54), witnessEntry("north", 0x51), witnessEntry("south", 0x52)],
});

export function rootLine(text: string, label: string): SignatureLine {
  const { publicKey, sign } = rootSigner(label);
  return trustRootSignatureLine({ clusterName, label, publicKey, signature: sign(trustRootMessage(text)) }, sha256);
}

/** A signed document. @param labels the root keys that sign */
export function signedText(text: string, labels: readonly string[]): string {
  return formatNote(
    text,
    labels.map((label) => rootLine(text, label)),
  );
}

export function signedDocument(root: TrustRoot, labels: readonly string[]): string {
  return signedText(formatTrustRootText(root), labels);
}

export const document1 = signedDocument(version1, ["1", "2"]);
export const document2 = signedDocument(version2, ["1", "3"]);
export const document3 = signedDocument(version3, ["1", "2", "3"]);
export const document4 = signedDocument(version4, ["2", "4"]);
export const document5 = signedDocument(version5, ["3", "4"]);
export const pinnedRootThk = rootThk(formatTrustRootText(version1), sha256);

/** The log's line on a checkpoint text. */
export function logLine(node: FixtureNode, text: string): SignatureLine {
  const name = checkpointOrigin(clusterName, node.originFingerprint);
  return noteSignatureLine(
    { name, publicKey: node.log.publicKey, signature: node.log.sign(noteMessage(text)) },
    sha256,
  );
}

/** A node's cosignature on a checkpoint text. */
export function cosign(node: FixtureNode, text: string, timeS = 1_770_000_000): SignatureLine {
  const signature = node.cosigner.sign(cosignatureMessage(timeS, text));
  const name = cosignerName(clusterName, node.nodeId);
  return cosignatureLine({ name, publicKey: node.cosigner.publicKey, timeS, signature }, sha256);
}

/** The line of a witness that `witnessEntry` makes of the same name and byte. */
export function witnessLine(name: string, byte: number, text: string, timeS = 1_770_000_100): SignatureLine {
  const { publicKey, sign } = createSigner(fill(byte));
  const signature = sign(cosignatureMessage(timeS, text));
  return cosignatureLine({ name: `${name}.example`, publicKey, timeS, signature }, sha256);
}

/** A signer outside the cluster. */
export const stranger = createSigner(fill(0x77));
