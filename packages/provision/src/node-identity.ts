/** A node's identity folder: made for a new node, given other keys, brought up to a newer trust root. */
import { readdir, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { createSigner, generateSeed, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  VKEY_TYPE,
  bytesToHex,
  checkpointOrigin,
  cosignerName,
  equalBytes,
  findOrigin,
  isNodeId,
  logKeySeed,
  makeVkey,
  originFingerprintOf,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { TrustRoot, TrustRootChain } from "@event-anchoring/protocol";
import {
  PrivateFileError,
  fileExists,
  makePrivateDirectory,
  readPrivateFile,
  readSeed,
  writePrivateFile,
  writeSeed,
} from "./files.ts";
import { spkiSha256Of, splitCertificates } from "./ca.ts";
import type { ClusterCard } from "./cluster-card.ts";
import { installRequestedTls, writeTlsRequest } from "./tls-files.ts";
import type { NodeCard } from "./node-card.ts";

export type NodeKeyName = "auth" | "cosigner";
export const NODE_KEY_NAMES: readonly NodeKeyName[] = ["auth", "cosigner"];

const FIRST_DOCUMENT = "trust-root.txt";
const PIN = "root-thk.txt";
/** Later versions stand beside the pinned one, a file each. */
const LATER_DOCUMENT = /^trust-root-([1-9][0-9]{0,9})\.txt$/u;

const keyFile = (dir: string, name: NodeKeyName): string => join(dir, `${name}.key`);
/** Made, and not yet named by the newest trust root that the node was told of. */
const nextKeyFile = (dir: string, name: NodeKeyName): string => join(dir, `${name}.next.key`);

/**
 * Makes the folder of a node that shall join: keys, log seed, trust roots. Its TLS files come from the CA.
 * @param node.chain from version 1 on, so that the node knows who voted when the log began
 * @param node.logSeed 32 bytes: the secret that all nodes hold
 * @throws PrivateFileError `exists`: keys are never overwritten
 */
export async function prepareNode(node: {
  readonly identityDir: string;
  readonly nodeId: string;
  readonly chain: TrustRootChain;
  readonly logSeed: Uint8Array;
}): Promise<NodeCard> {
  const { identityDir, nodeId, chain, logSeed } = node;
  const { trustRoot } = chain.newest;
  if (trustRoot.nodes.some((known) => known.nodeId === nodeId)) {
    throw new RangeError(`${nodeId} is in the trust root already: node ids are never used again`);
  }
  const card = await drawNodeKeys(identityDir, nodeId, trustRoot, logSeed);
  await writeTrustRoots(identityDir, chain);
  return card;
}

/**
 * Makes the folder of a node of a cluster that has no trust root yet: keys, log seed, and `tls.csr`, the request for
 * its TLS certificate. `installFirstTrustRoot` brings what is missing.
 * @param node.logSeed 32 bytes: the secret that all nodes hold
 * @throws PrivateFileError `exists`: keys are never overwritten; RangeError for an id that no node may have
 */
export async function prepareFirstNode(node: {
  readonly identityDir: string;
  readonly nodeId: string;
  readonly cluster: ClusterCard;
  readonly logSeed: Uint8Array;
}): Promise<NodeCard> {
  const { identityDir, nodeId, cluster, logSeed } = node;
  if (!isNodeId(nodeId)) throw new RangeError(`a node id is 1 to 32 of a–z, 0–9 and hyphens, not: ${nodeId}`);
  const card = await drawNodeKeys(identityDir, nodeId, cluster, logSeed);
  await writeTlsRequest(identityDir, { role: "node", clusterId: cluster.clusterId, id: nodeId });
  return card;
}

/**
 * Gives a node that `prepareFirstNode` made what it starts with: the signed first version, its pin, the CA's
 * certificates and its own. All is checked before anything is written: that the version is signed enough and is the one
 * with this pin, that it names the keys in this folder, and that its origin is the log seed's.
 * @param installing.authorities PEM of the CAs, each of which the version must pin
 * @returns when the certificate expires, Unix milliseconds
 * @throws PrivateFileError; RangeError for what does not belong together
 */
export async function installFirstTrustRoot(installing: {
  readonly identityDir: string;
  readonly nodeId: string;
  readonly document: string;
  readonly pinnedRootThk: Uint8Array;
  readonly authorities: string;
  readonly certificatePem: string;
}): Promise<number> {
  const { identityDir, nodeId, document, pinnedRootThk, authorities, certificatePem } = installing;
  const verified = verifyTrustRootChain({ documents: [document], pinnedRootThk }, nodeCrypto);
  if (verified.result !== "verified") throw new RangeError(`the trust root is refused: ${verified.detail}`);
  const { trustRoot } = verified.chain.newest;
  await assertOwnKeys(identityDir, nodeId, trustRoot);
  const pems = splitCertificates(authorities);
  const isPinned = (pem: string): boolean => trustRoot.ca.some((pin) => equalBytes(pin, spkiSha256Of(pem)));
  if (pems.length === 0 || !pems.every(isPinned)) throw new RangeError("the trust root pins another CA");
  const identity = { role: "node", clusterId: trustRoot.clusterId, id: nodeId } as const;
  const expiresMs = await installRequestedTls(identityDir, identity, certificatePem, pems);
  await writePrivateFile(join(identityDir, "ca.crt"), pems.join(""));
  await writeTrustRoots(identityDir, verified.chain);
  return expiresMs;
}

/** A node that starts with keys which its trust root does not name would never be let in. */
async function assertOwnKeys(identityDir: string, nodeId: string, trustRoot: TrustRoot): Promise<void> {
  const line = trustRoot.nodes.find((node) => node.nodeId === nodeId);
  const origin = line === undefined ? undefined : findOrigin(trustRoot, line.originFingerprint);
  if (line === undefined || origin === undefined) throw new RangeError(`the trust root lists no node ${nodeId}`);
  const publicKeyOf = async (file: string): Promise<Uint8Array> =>
    createSigner(await readSeed(join(identityDir, file))).publicKey;
  if (!equalBytes(await publicKeyOf("auth.key"), line.authPublicKey)) {
    throw new RangeError(`the trust root names another auth key for ${nodeId}`);
  }
  if (!equalBytes(await publicKeyOf("cosigner.key"), line.cosignerVkey.publicKey)) {
    throw new RangeError(`the trust root names another cosigner key for ${nodeId}`);
  }
  const logSeed = await readSeed(join(identityDir, "log.seed"));
  const logKey = createSigner(logKeySeed(logSeed, line.originFingerprint, nodeCrypto.sha256)).publicKey;
  if (!equalBytes(logKey, origin.logVkey.publicKey)) throw new RangeError("log.seed is not that of this cluster");
}

async function drawNodeKeys(
  identityDir: string,
  nodeId: string,
  cluster: ClusterCard,
  logSeed: Uint8Array,
): Promise<NodeCard> {
  for (const name of NODE_KEY_NAMES) await refuseTaken(keyFile(identityDir, name));
  await makePrivateDirectory(identityDir);
  const seeds = { auth: generateSeed(), cosigner: generateSeed() };
  for (const name of NODE_KEY_NAMES) await writeSeed(keyFile(identityDir, name), seeds[name]);
  await writeSeed(join(identityDir, "log.seed"), logSeed);
  const cosigner = createSigner(seeds.cosigner).publicKey;
  const originFingerprint = originFingerprintOf(cluster.clusterId, cosigner, nodeCrypto.sha256);
  const logKey = createSigner(logKeySeed(logSeed, originFingerprint, nodeCrypto.sha256)).publicKey;
  return cardOf(cluster, { nodeId, originFingerprint, logKey, cosigner, auth: createSigner(seeds.auth).publicKey });
}

/**
 * Draws other keys for a node beside those it uses. The node takes each up when a trust root names it, without a
 * restart; until then nothing changes.
 * @returns the node's card with the keys it shall have
 * @throws PrivateFileError `exists`: an earlier rotation is not settled
 */
export async function prepareRotation(rotation: {
  readonly identityDir: string;
  readonly nodeId: string;
  readonly chain: TrustRootChain;
  readonly keys: readonly NodeKeyName[];
}): Promise<NodeCard> {
  const { identityDir, nodeId, chain, keys } = rotation;
  const { trustRoot } = chain.newest;
  const line = trustRoot.nodes.find((node) => node.nodeId === nodeId);
  const origin = line === undefined ? undefined : findOrigin(trustRoot, line.originFingerprint);
  if (line === undefined || origin === undefined) throw new RangeError(`the trust root lists no node ${nodeId}`);
  for (const name of keys) await refuseTaken(nextKeyFile(identityDir, name));
  const publicKeys = { auth: line.authPublicKey, cosigner: line.cosignerVkey.publicKey };
  for (const name of keys) {
    const seed = generateSeed();
    await writeSeed(nextKeyFile(identityDir, name), seed);
    publicKeys[name] = createSigner(seed).publicKey;
  }
  const { originFingerprint, logVkey } = origin;
  return cardOf(trustRoot, { nodeId, originFingerprint, logKey: logVkey.publicKey, ...publicKeys });
}

/** What settling did. */
export interface SettledNode {
  readonly version: number;
  /** Keys that took the place of older ones, which are gone now. */
  readonly replaced: readonly NodeKeyName[];
  /** Keys that were drawn and are not named yet. */
  readonly waiting: readonly NodeKeyName[];
}

/**
 * Writes newer trust roots into a node's folder and puts the keys they name in the place of older ones. The node need
 * not be stopped. `chain` must begin with the version that is pinned there.
 * @throws PrivateFileError; RangeError if the chain is another cluster's or does not list the node
 */
export async function settleNode(settling: {
  readonly identityDir: string;
  readonly nodeId: string;
  readonly chain: TrustRootChain;
}): Promise<SettledNode> {
  const { identityDir, nodeId, chain } = settling;
  const pin = (await readPrivateFile(join(identityDir, PIN))).trimEnd();
  const [first = chain.newest] = chain.versions;
  if (bytesToHex(first.rootThk) !== pin) throw new RangeError("the trust roots do not begin with the one pinned there");
  const line = chain.newest.trustRoot.nodes.find((node) => node.nodeId === nodeId);
  if (line === undefined) throw new RangeError(`the trust root lists no node ${nodeId}`);
  await writeTrustRoots(identityDir, chain);
  const named = { auth: line.authPublicKey, cosigner: line.cosignerVkey.publicKey };
  const replaced: NodeKeyName[] = [];
  const waiting: NodeKeyName[] = [];
  for (const name of NODE_KEY_NAMES) {
    const next = nextKeyFile(identityDir, name);
    if (!(await fileExists(next))) continue;
    const isNamed = equalBytes(createSigner(await readSeed(next)).publicKey, named[name]);
    if (isNamed) await rename(next, keyFile(identityDir, name));
    (isNamed ? replaced : waiting).push(name);
  }
  return { version: chain.newest.trustRoot.version, replaced, waiting };
}

/** Gives up keys that were drawn by `prepareRotation` and that no trust root will name. */
export async function discardRotation(identityDir: string): Promise<readonly NodeKeyName[]> {
  const discarded: NodeKeyName[] = [];
  for (const name of NODE_KEY_NAMES) {
    const next = nextKeyFile(identityDir, name);
    if (!(await fileExists(next))) continue;
    await unlink(next);
    discarded.push(name);
  }
  return discarded;
}

/** Writes `trust-root.txt`, `root-thk.txt` and a `trust-root-<version>.txt` for each later version. */
export async function writeTrustRoots(dir: string, chain: TrustRootChain): Promise<void> {
  const [first = chain.newest, ...later] = chain.versions;
  await writePrivateFile(join(dir, FIRST_DOCUMENT), first.note);
  await writePrivateFile(join(dir, PIN), `${bytesToHex(first.rootThk)}\n`);
  for (const { trustRoot, note } of later) {
    await writePrivateFile(join(dir, `trust-root-${trustRoot.version}.txt`), note);
  }
}

/**
 * Reads what writeTrustRoots wrote, and verifies it from the pin.
 * @throws PrivateFileError `missing`, `mode_too_wide`; `malformed` for documents that do not follow from the pin
 */
export async function readTrustRoots(dir: string): Promise<TrustRootChain> {
  const paths = [join(dir, FIRST_DOCUMENT), ...(await laterDocuments(dir))];
  const documents: string[] = [];
  for (const path of paths) documents.push(await readPrivateFile(path));
  const pinnedRootThk = await readSeed(join(dir, PIN));
  const verified = verifyTrustRootChain({ documents, pinnedRootThk }, nodeCrypto);
  if (verified.result === "verified") return verified.chain;
  const { code, detail, position } = verified;
  throw new PrivateFileError("malformed", paths[position] ?? dir, `${code}: ${detail}`);
}

/** Paths of the later versions in a folder, ascending by version. */
async function laterDocuments(dir: string): Promise<readonly string[]> {
  const versions = (await readdir(dir)).flatMap((name) => {
    const [, version] = LATER_DOCUMENT.exec(name) ?? [];
    return version === undefined ? [] : [Number(version)];
  });
  return versions.toSorted((a, b) => a - b).map((version) => join(dir, `trust-root-${version}.txt`));
}

async function refuseTaken(path: string): Promise<void> {
  if (await fileExists(path)) throw new PrivateFileError("exists", path, "keys are never overwritten");
}

function cardOf(
  { clusterName, clusterId }: ClusterCard,
  node: Pick<NodeCard, "nodeId" | "originFingerprint"> & {
    readonly logKey: Uint8Array;
    readonly cosigner: Uint8Array;
    readonly auth: Uint8Array;
  },
): NodeCard {
  const { nodeId, originFingerprint, logKey, cosigner, auth } = node;
  const { sha256 } = nodeCrypto;
  return {
    clusterName,
    clusterId,
    nodeId,
    originFingerprint,
    logVkey: makeVkey(checkpointOrigin(clusterName, originFingerprint), VKEY_TYPE.ed25519, logKey, sha256),
    cosignerVkey: makeVkey(cosignerName(clusterName, nodeId), VKEY_TYPE.cosignature, cosigner, sha256),
    authPublicKey: auth,
  };
}
