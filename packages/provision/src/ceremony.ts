/** The birth of a cluster: what must exist before the first node can start. docs/PROTOCOL.md, "Trust root". */
import { randomBytes } from "node:crypto";
import { createSigner, generateSeed, nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import {
  VKEY_TYPE,
  ZERO_32,
  checkpointOrigin,
  compareBytes,
  cosignerName,
  formatNote,
  formatTrustRootText,
  formatVkey,
  logKeySeed,
  makeVkey,
  operatorKeyName,
  originFingerprintOf,
  parseTrustRootText,
  raftIdOf,
  rootKeyName,
  rootThk,
  trustRootMessage,
  trustRootSignatureLine,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { OriginFingerprint, TrustRoot, Vkey } from "@event-anchoring/protocol";

const FIRST_OPERATOR = "operator";

/** What decides a new cluster. Everything else of it is random or follows. */
export interface CeremonyPlan {
  /** `[a-z0-9.-]+(/[a-z0-9._-]+)*`, at most 128 characters; it never changes. */
  readonly clusterName: string;
  /** `[a-z][a-z0-9-]{0,31}` each; all are active from the start. */
  readonly nodeIds: readonly string[];
  /** How many nodes must cosign: more than half of them, at most all. */
  readonly quorum: number;
  /** How many offline root keys are made. */
  readonly rootKeys: number;
  /** How many of them must sign a trust root. */
  readonly rootThreshold: number;
  /** Names of those who may make API keys, `[a-z][a-z0-9-]{0,31}` each; default: one, called `operator`. */
  readonly operators?: readonly string[];
  /** SHA-256 of the SubjectPublicKeyInfo of the control plane's CA. */
  readonly caSpkiSha256: Uint8Array;
  /** The same of CAs that may follow it; pinned from the start, so that they can without a new trust root. */
  readonly nextCaSpkiSha256?: readonly Uint8Array[];
  /** Unix seconds. */
  readonly issuedS: number;
  readonly expiresS: number;
}

export interface NodeSecrets {
  readonly nodeId: string;
  readonly originFingerprint: OriginFingerprint;
  readonly authSeed: Uint8Array;
  readonly cosignerSeed: Uint8Array;
}

export interface RootKey {
  readonly label: string;
  readonly seed: Uint8Array;
}

/** What an operator signs acts with. */
export interface OperatorKey {
  readonly name: string;
  readonly seed: Uint8Array;
}

/** The outcome of a ceremony. All seeds are secret. */
export interface Ceremony {
  readonly clusterId: Uint8Array;
  /** The only secret that all nodes hold. */
  readonly logSeed: Uint8Array;
  readonly nodes: readonly NodeSecrets[];
  readonly rootKeys: readonly RootKey[];
  readonly operators: readonly OperatorKey[];
  /** Trust-root version 1, a signed note. */
  readonly document: string;
  /** The pin: hash of its text. */
  readonly rootThk: Uint8Array;
}

interface NodeKeys extends NodeSecrets {
  readonly auth: Signer;
  readonly cosigner: Signer;
  readonly log: Signer;
}

/**
 * Draws all keys in the order of docs/PROTOCOL.md, signs version 1 with its own threshold, and verifies the result as
 * every node will.
 * @throws TrustRootError, RangeError for a plan that no trust root may have
 */
export function holdCeremony(plan: CeremonyPlan): Ceremony {
  if (new Set(plan.nodeIds).size !== plan.nodeIds.length) throw new RangeError("a node id is repeated");
  const { sha256 } = nodeCrypto;
  const clusterId = Uint8Array.from(randomBytes(32));
  const logSeed = Uint8Array.from(randomBytes(32));
  checkRaftIds(clusterId, plan.nodeIds);
  const nodes = plan.nodeIds.map((nodeId) => drawNodeKeys(nodeId, clusterId, logSeed));
  const rootKeys = Array.from({ length: plan.rootKeys }, (_, index) => ({
    label: `root-${index + 1}`,
    seed: generateSeed(),
  }));
  const operators = (plan.operators ?? [FIRST_OPERATOR]).map((name) => ({ name, seed: generateSeed() }));
  const text = formatTrustRootText(trustRootOf(plan, clusterId, { nodes, rootKeys, operators }));
  parseTrustRootText(text, sha256);
  const signing = rootKeys.slice(0, plan.rootThreshold);
  const document = formatNote(
    text,
    signing.map((key) => signLine(plan.clusterName, key, text)),
  );
  const pin = rootThk(text, sha256);
  const verified = verifyTrustRootChain({ documents: [document], pinnedRootThk: pin }, nodeCrypto);
  if (verified.result !== "verified") throw new Error(`the new trust root does not verify: ${verified.code}`);
  const secrets = nodes.map(({ nodeId, originFingerprint, authSeed, cosignerSeed }) => ({
    nodeId,
    originFingerprint,
    authSeed,
    cosignerSeed,
  }));
  return { clusterId, logSeed, nodes: secrets, rootKeys, operators, document, rootThk: pin };
}

/** Equal raft ids have a chance of 2^-64 a pair; a cluster that drew them could never elect. */
function checkRaftIds(clusterId: Uint8Array, nodeIds: readonly string[]): void {
  const ids = new Set(nodeIds.map((nodeId) => raftIdOf(clusterId, nodeId, nodeCrypto.sha256)));
  if (ids.size !== nodeIds.length) throw new RangeError("two node ids have the same raft id: choose others");
}

function drawNodeKeys(nodeId: string, clusterId: Uint8Array, logSeed: Uint8Array): NodeKeys {
  const authSeed = generateSeed();
  const cosignerSeed = generateSeed();
  const cosigner = createSigner(cosignerSeed);
  const originFingerprint = originFingerprintOf(clusterId, cosigner.publicKey, nodeCrypto.sha256);
  const log = createSigner(logKeySeed(logSeed, originFingerprint, nodeCrypto.sha256));
  return { nodeId, originFingerprint, authSeed, cosignerSeed, auth: createSigner(authSeed), cosigner, log };
}

/** All keys that version 1 names. */
interface DrawnKeys {
  readonly nodes: readonly NodeKeys[];
  readonly rootKeys: readonly RootKey[];
  readonly operators: readonly OperatorKey[];
}

function trustRootOf(plan: CeremonyPlan, clusterId: Uint8Array, { nodes, rootKeys, operators }: DrawnKeys): TrustRoot {
  const { clusterName } = plan;
  const { sha256 } = nodeCrypto;
  const vkeyOf = (name: string, type: Vkey["type"], signer: Signer): Vkey =>
    makeVkey(name, type, signer.publicKey, sha256);
  const roots = rootKeys.map(({ label, seed }) =>
    vkeyOf(rootKeyName(clusterName, label), VKEY_TYPE.ed25519, createSigner(seed)),
  );
  const origins = nodes.map(({ originFingerprint, log }) => ({
    originFingerprint,
    status: "active" as const,
    logVkey: vkeyOf(checkpointOrigin(clusterName, originFingerprint), VKEY_TYPE.ed25519, log),
  }));
  const members = nodes.map(({ nodeId, originFingerprint, cosigner, auth }) => ({
    nodeId,
    status: "active" as const,
    originFingerprint,
    cosignerVkey: vkeyOf(cosignerName(clusterName, nodeId), VKEY_TYPE.cosignature, cosigner),
    authPublicKey: auth.publicKey,
  }));
  return {
    clusterName,
    clusterId,
    version: 1,
    epoch: 0,
    previous: ZERO_32,
    issuedS: plan.issuedS,
    expiresS: plan.expiresS,
    rootKeys: { threshold: plan.rootThreshold, keys: roots.toSorted(byText) },
    ca: [plan.caSpkiSha256, ...(plan.nextCaSpkiSha256 ?? [])].toSorted(compareBytes),
    origins: origins.toSorted((a, b) => compareBytes(a.originFingerprint, b.originFingerprint)),
    nodes: members.toSorted((a, b) => (a.nodeId < b.nodeId ? -1 : 1)),
    operators: operators.map(({ name, seed }) => ({
      name,
      vkey: vkeyOf(operatorKeyName(clusterName, name), VKEY_TYPE.ed25519, createSigner(seed)),
    })),
    quorum: plan.quorum,
    witnesses: [],
    witnessQuorum: 0,
  };
}

/** Root keys stand ascending by their printed form. */
function byText(a: Vkey, b: Vkey): number {
  return formatVkey(a) < formatVkey(b) ? -1 : 1;
}

function signLine(clusterName: string, key: RootKey, text: string): ReturnType<typeof trustRootSignatureLine> {
  const signer = createSigner(key.seed);
  const signature = signer.sign(trustRootMessage(text));
  return trustRootSignatureLine(
    { clusterName, label: key.label, publicKey: signer.publicKey, signature },
    nodeCrypto.sha256,
  );
}
