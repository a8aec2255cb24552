/** A cluster on paper: keys from fixed seeds, a trust root that they have signed, and cosignatures. */
import { TestActs } from "@event-anchoring/testkit/records";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import type { Certificate } from "@event-anchoring/ledger";
import {
  VKEY_TYPE,
  checkpointOrigin,
  cosignatureMessage,
  cosignerName,
  formatCheckpoint,
  formatNote,
  formatStateHead,
  formatStateHeadNote,
  formatTrustRootText,
  makeVkey,
  operatorKeyName,
  originFingerprintOf,
  rootKeyName,
  rootThk,
  stateHeadLine,
  stateHeadMessage,
  trustRootMessage,
  trustRootSignatureLine,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import type { OriginFingerprint, OriginStatus, StateHead, TrustRoot } from "@event-anchoring/protocol";

const { sha256 } = nodeCrypto;
const CLUSTER_NAME = "test.example/store";
const ROOT_LABEL = "one";

/** 32 bytes that only the label decides. */
export function hash(label: string): Uint8Array {
  return sha256(utf8ToBytes(label));
}

export const CLUSTER_ID = hash("cluster");

interface PaperNode {
  readonly nodeId: string;
  readonly cosigner: Signer;
  readonly auth: Signer;
  readonly log: Signer;
  readonly originFingerprint: OriginFingerprint;
}

function makeNode(nodeId: string): PaperNode {
  const cosigner = createSigner(hash(`cosigner ${nodeId}`));
  return {
    nodeId,
    cosigner,
    auth: createSigner(hash(`auth ${nodeId}`)),
    log: createSigner(hash(`log ${nodeId}`)),
    originFingerprint: originFingerprintOf(CLUSTER_ID, cosigner.publicKey, sha256),
  };
}

const NODES = ["a", "b", "c"].map(makeNode);
const OPERATOR = "test";
const OPERATOR_SIGNER = createSigner(hash("operator"));
/** The operator who makes keys in these tests. */
export const ACTS = new TestActs({ clusterId: CLUSTER_ID, epoch: 0 }, OPERATOR, OPERATOR_SIGNER.sign);
const ROOT_SIGNER = createSigner(hash("root"));

/** The three origins of the cluster, in the order of its nodes' names. */
export const ORIGINS: readonly OriginFingerprint[] = NODES.map(({ originFingerprint }) => originFingerprint);

function trustRoot(version: number, previous: Uint8Array, statuses: readonly OriginStatus[]): TrustRoot {
  return {
    clusterName: CLUSTER_NAME,
    clusterId: CLUSTER_ID,
    version,
    epoch: 0,
    previous,
    issuedS: 1_700_000_000 + version,
    expiresS: 2_000_000_000,
    rootKeys: {
      threshold: 1,
      keys: [makeVkey(rootKeyName(CLUSTER_NAME, ROOT_LABEL), VKEY_TYPE.ed25519, ROOT_SIGNER.publicKey, sha256)],
    },
    ca: [hash("ca")],
    origins: NODES.map(({ originFingerprint, log }, position) => ({
      originFingerprint,
      status: statuses[position] ?? "active",
      logVkey: makeVkey(checkpointOrigin(CLUSTER_NAME, originFingerprint), VKEY_TYPE.ed25519, log.publicKey, sha256),
    })),
    nodes: NODES.map(({ nodeId, cosigner, auth, originFingerprint }) => ({
      nodeId,
      status: "active",
      originFingerprint,
      cosignerVkey: makeVkey(cosignerName(CLUSTER_NAME, nodeId), VKEY_TYPE.cosignature, cosigner.publicKey, sha256),
      authPublicKey: auth.publicKey,
    })),
    operators: [
      {
        name: OPERATOR,
        vkey: makeVkey(operatorKeyName(CLUSTER_NAME, OPERATOR), VKEY_TYPE.ed25519, OPERATOR_SIGNER.publicKey, sha256),
      },
    ],
    quorum: 2,
    witnesses: [],
    witnessQuorum: 0,
  };
}

function signTrustRoot(root: TrustRoot): string {
  const text = formatTrustRootText(root);
  const signature = ROOT_SIGNER.sign(trustRootMessage(text));
  const { publicKey } = ROOT_SIGNER;
  const key = { clusterName: CLUSTER_NAME, label: ROOT_LABEL, publicKey, signature };
  return formatNote(text, [trustRootSignatureLine(key, sha256)]);
}

const ROOT_1 = trustRoot(1, new Uint8Array(32), []);
export const GENESIS_DOCUMENT = signTrustRoot(ROOT_1);

/** Version 2, in which the third origin is closed. */
export const SECOND_DOCUMENT = signTrustRoot(
  trustRoot(2, rootThk(formatTrustRootText(ROOT_1), sha256), ["active", "active", "closed"]),
);

/** Cosignatures of two nodes over this head. */
export function certify(originFingerprint: OriginFingerprint, treeSize: number, rootHash: Uint8Array): Certificate {
  const text = formatCheckpoint({ origin: checkpointOrigin(CLUSTER_NAME, originFingerprint), treeSize, rootHash });
  const cosignatures = NODES.slice(0, 2).map(({ nodeId, cosigner }, position) => {
    const timeS = 1_800_000_000 + position;
    return { nodeId, timeS, signature: cosigner.sign(cosignatureMessage(timeS, text)) };
  });
  return { originFingerprint, treeSize, rootHash, cosignatures };
}

/** The signed note of a state head. @param signers ids of the nodes that sign */
export function signStateHead(head: StateHead, signers: readonly string[]): string {
  const message = stateHeadMessage(formatStateHead(head));
  const lines = NODES.filter(({ nodeId }) => signers.includes(nodeId)).map(({ nodeId, cosigner }) => {
    const name = cosignerName(CLUSTER_NAME, nodeId);
    return stateHeadLine({ name, publicKey: cosigner.publicKey, signature: cosigner.sign(message) }, sha256);
  });
  return formatStateHeadNote(head, lines);
}

/** RootTHK of version 1: what a reader pins. */
export function rootThkOfGenesis(): Uint8Array {
  return rootThk(formatTrustRootText(ROOT_1), sha256);
}
