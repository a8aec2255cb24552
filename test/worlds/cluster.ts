/** A cluster on paper: keys from fixed seeds, trust roots that they have signed, and cosignatures. */
import {
  VKEY_TYPE,
  bytesToHex,
  checkpointOrigin,
  cosignatureMessage,
  cosignerName,
  formatCheckpoint,
  formatNote,
  formatTrustRootText,
  makeVkey,
  operatorKeyName,
  originFingerprintOf,
  parseNote,
  parseSignedTrustRoot,
  rootKeyName,
  rootThk,
  trustRootMessage,
  trustRootSignatureLine,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import type { NodeStatus, OriginFingerprint, OriginStatus, TrustRoot } from "@event-anchoring/protocol";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import type { Certificate } from "@event-anchoring/ledger";

export const { sha256 } = nodeCrypto;
export const CLUSTER_NAME = "test.example/anchoring";
export const CLUSTER_ID = hash("cluster");

/** 32 bytes that only the label decides. */
export function hash(label: string): Uint8Array {
  return sha256(utf8ToBytes(label));
}

export interface TestNode {
  readonly nodeId: string;
  readonly cosigner: Signer;
  readonly auth: Signer;
  readonly log: Signer;
  readonly originFingerprint: OriginFingerprint;
}

export function makeNode(nodeId: string): TestNode {
  const cosigner = createSigner(hash(`cosigner ${nodeId}`));
  return {
    nodeId,
    cosigner,
    auth: createSigner(hash(`auth ${nodeId}`)),
    log: createSigner(hash(`log ${nodeId}`)),
    originFingerprint: originFingerprintOf(CLUSTER_ID, cosigner.publicKey, sha256),
  };
}

export const [NODE_A, NODE_B, NODE_C, NODE_D] = ["a", "b", "c", "d"].map(makeNode) as [
  TestNode,
  TestNode,
  TestNode,
  TestNode,
];

const ROOT_LABELS = ["one", "two", "three"] as const;
const ROOT_SIGNERS = ROOT_LABELS.map((label) => createSigner(hash(`root ${label}`)));

export const OPERATOR = "test";
export const OPERATOR_SIGNER = createSigner(hash("operator"));
const OPERATOR_VKEY = makeVkey(
  operatorKeyName(CLUSTER_NAME, OPERATOR),
  VKEY_TYPE.ed25519,
  OPERATOR_SIGNER.publicKey,
  sha256,
);

export interface Membership {
  readonly node: TestNode;
  readonly status?: NodeStatus;
  readonly origin?: OriginStatus;
}

export function trustRootOf(version: number, previous: Uint8Array, members: readonly Membership[]): TrustRoot {
  return {
    clusterName: CLUSTER_NAME,
    clusterId: CLUSTER_ID,
    version,
    epoch: 0,
    previous,
    issuedS: 1_700_000_000 + version,
    expiresS: 2_000_000_000,
    rootKeys: {
      threshold: 2,
      keys: ROOT_LABELS.map((label, at) =>
        makeVkey(rootKeyName(CLUSTER_NAME, label), VKEY_TYPE.ed25519, rootSigner(at).publicKey, sha256),
      ),
    },
    ca: [hash("ca")],
    origins: members.map(({ node, origin = "active" }) => ({
      originFingerprint: node.originFingerprint,
      status: origin,
      logVkey: makeVkey(
        checkpointOrigin(CLUSTER_NAME, node.originFingerprint),
        VKEY_TYPE.ed25519,
        node.log.publicKey,
        sha256,
      ),
    })),
    nodes: members.map(({ node, status = "active" }) => ({
      nodeId: node.nodeId,
      status,
      originFingerprint: node.originFingerprint,
      cosignerVkey: makeVkey(
        cosignerName(CLUSTER_NAME, node.nodeId),
        VKEY_TYPE.cosignature,
        node.cosigner.publicKey,
        sha256,
      ),
      authPublicKey: node.auth.publicKey,
    })),
    operators: [{ name: OPERATOR, vkey: OPERATOR_VKEY }],
    quorum: 2,
    witnesses: [],
    witnessQuorum: 0,
  };
}

function rootSigner(at: number): Signer {
  const signer = ROOT_SIGNERS[at];
  if (signer === undefined) throw new RangeError(`no root key ${at}`);
  return signer;
}

/** @param signers how many of the three root keys sign */
export function signTrustRoot(root: TrustRoot, signers = 2): string {
  const text = formatTrustRootText(root);
  const lines = ROOT_LABELS.slice(0, signers).map((label, at) => {
    const { publicKey, sign } = rootSigner(at);
    const signature = sign(trustRootMessage(text));
    return trustRootSignatureLine({ clusterName: root.clusterName, label, publicKey, signature }, sha256);
  });
  return formatNote(text, lines);
}

export function thkOf(document: string): Uint8Array {
  return rootThk(parseNote(document).text, sha256);
}

export const ABC: readonly Membership[] = [{ node: NODE_A }, { node: NODE_B }, { node: NODE_C }];
export const GENESIS_DOCUMENT = signTrustRoot(trustRootOf(1, new Uint8Array(32), ABC));

/** Version 2: what the members are is up to the test. */
export function successor(members: readonly Membership[], previous = GENESIS_DOCUMENT, version = 2): string {
  return signTrustRoot(trustRootOf(version, thkOf(previous), members));
}

/** Cosignatures by these nodes at the given times. */
export function certify(
  head: { readonly originFingerprint: OriginFingerprint; readonly treeSize: number; readonly rootHash: Uint8Array },
  cosigners: readonly (readonly [TestNode, number])[],
): Certificate {
  const { originFingerprint, treeSize, rootHash } = head;
  const origin = checkpointOrigin(CLUSTER_NAME, originFingerprint);
  const text = formatCheckpoint({ origin, treeSize, rootHash });
  return {
    originFingerprint,
    treeSize,
    rootHash,
    cosignatures: cosigners.map(([{ nodeId, cosigner }, timeS]) => ({
      nodeId,
      timeS,
      signature: cosigner.sign(cosignatureMessage(timeS, text)),
    })),
  };
}

export function originHex(node: TestNode): string {
  return bytesToHex(node.originFingerprint);
}

/** Version 1, as it is in force after GENESIS_DOCUMENT. */
export const TRUST_ROOT_1 = parseSignedTrustRoot(GENESIS_DOCUMENT, sha256).trustRoot;
