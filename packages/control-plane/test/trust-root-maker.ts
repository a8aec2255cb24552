/** Trust-root versions of a cluster in memory, and the keys of nodes that join it. */
import type { LedgerState } from "@event-anchoring/ledger";
import { type Signer, createSigner, generateSeed, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  type TrustRootChain,
  VKEY_TYPE,
  checkpointOrigin,
  cosignerName,
  findOrigin,
  logKeySeed,
  makeVkey,
  originFingerprintOf,
  raftIdOf,
} from "@event-anchoring/protocol";
import {
  type Ceremony,
  type NodeCard,
  type TrustRootChange,
  composeTrustRoot,
  formatProposal,
  signProposal,
} from "@event-anchoring/provision";
import { WORLD_START_MS } from "@event-anchoring/simulator";
import type { KeyName, NodeIdentity } from "../src/ports/identity.ts";

const { sha256 } = nodeCrypto;

/** The signed document that follows the newest one that this state has applied. */
export function nextTrustRoot(
  ceremony: Ceremony,
  state: LedgerState,
  change: Omit<TrustRootChange, "issuedS">,
): { readonly kind: "trust_root"; readonly document: string } {
  const chain = chainOf(state);
  const proposal = composeTrustRoot(chain, { issuedS: WORLD_START_MS / 1000, ...change });
  const [key] = ceremony.rootKeys;
  if (key === undefined) throw new Error("the ceremony made a root key");
  return { kind: "trust_root", document: formatProposal(signProposal(chain, proposal, createSigner(key.seed))) };
}

function chainOf({ trustRootChain }: LedgerState): TrustRootChain {
  if (trustRootChain === null) throw new Error("genesis is not applied");
  return trustRootChain;
}

export interface Newcomer {
  readonly identity: NodeIdentity;
  readonly card: NodeCard;
}

/** A node with keys of its own that is set up as the others are. @param like an identity of the cluster */
export function newcomer(ceremony: Ceremony, like: NodeIdentity, nodeId: string): Newcomer {
  const [authSigner, cosigner] = [createSigner(generateSeed()), createSigner(generateSeed())];
  const originFingerprint = originFingerprintOf(ceremony.clusterId, cosigner.publicKey, sha256);
  const { clusterName } = like.trustRoot;
  const logKey = createSigner(logKeySeed(ceremony.logSeed, originFingerprint, sha256)).publicKey;
  const identity: NodeIdentity = {
    ...like,
    nodeId,
    raftId: raftIdOf(ceremony.clusterId, nodeId, sha256),
    originFingerprint,
    authSigner,
    cosigner,
  };
  const card: NodeCard = {
    clusterName,
    clusterId: ceremony.clusterId,
    nodeId,
    originFingerprint,
    logVkey: makeVkey(checkpointOrigin(clusterName, originFingerprint), VKEY_TYPE.ed25519, logKey, sha256),
    cosignerVkey: makeVkey(cosignerName(clusterName, nodeId), VKEY_TYPE.cosignature, cosigner.publicKey, sha256),
    authPublicKey: authSigner.publicKey,
  };
  return { identity, card };
}

/** The card of a node of version 1 with another cosigner key, and that key. */
export function rotatedCosigner(identity: NodeIdentity): { readonly card: NodeCard; readonly signer: Signer } {
  const { nodeId, originFingerprint, clusterId, trustRoot } = identity;
  const { clusterName } = trustRoot;
  const logVkey = findOrigin(trustRoot, originFingerprint)?.logVkey;
  const authPublicKey = trustRoot.nodes.find((node) => node.nodeId === nodeId)?.authPublicKey;
  if (logVkey === undefined || authPublicKey === undefined) throw new Error(`version 1 lists ${nodeId}`);
  const signer = createSigner(generateSeed());
  const cosignerVkey = makeVkey(cosignerName(clusterName, nodeId), VKEY_TYPE.cosignature, signer.publicKey, sha256);
  return { card: { clusterName, clusterId, nodeId, originFingerprint, logVkey, cosignerVkey, authPublicKey }, signer };
}

/** An identity that holds one more key. */
export function holding(identity: NodeIdentity, name: KeyName, signer: Signer): NodeIdentity {
  return {
    ...identity,
    otherSigner: (asked, publicKey) =>
      asked === name && Buffer.from(publicKey).equals(signer.publicKey) ? signer : null,
  };
}
