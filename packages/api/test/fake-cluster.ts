/** Keys, trust root and checkpoints of a three-node cluster: real signatures over real formats, made in memory. */
import {
  VKEY_TYPE,
  checkpointOrigin,
  concatBytes,
  cosignatureLine,
  cosignatureMessage,
  cosignerName,
  formatCheckpoint,
  formatNote,
  formatTrustRootText,
  logKeySeed,
  makeVkey,
  noteMessage,
  noteSignatureLine,
  originFingerprintOf,
  parseSignedTrustRoot,
  rootKeyName,
  trustRootMessage,
  trustRootSignatureLine,
} from "@event-anchoring/protocol";
import type { OriginFingerprint, SignedTrustRoot, TrustRoot } from "@event-anchoring/protocol";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";

const { sha256 } = nodeCrypto;
const CLUSTER_NAME = "test.example";

/** 32 bytes that belong to a label: tests need keys that are the same in every run. */
export function seedOf(label: string): Uint8Array {
  return sha256(new TextEncoder().encode(label));
}

interface FakeKeys {
  readonly nodeId: string;
  readonly cosigner: Signer;
  readonly auth: Signer;
  readonly log: Signer;
  readonly originFingerprint: OriginFingerprint;
}

function keysOf(nodeId: string, clusterId: Uint8Array): FakeKeys {
  const cosigner = createSigner(seedOf(`cosigner ${nodeId}`));
  const originFingerprint = originFingerprintOf(clusterId, cosigner.publicKey, sha256);
  const log = createSigner(logKeySeed(seedOf("log seed"), originFingerprint, sha256));
  return { nodeId, cosigner, auth: createSigner(seedOf(`auth ${nodeId}`)), log, originFingerprint };
}

export interface FakeCluster {
  readonly clusterId: Uint8Array;
  readonly trustRoot: SignedTrustRoot;
  /** Ascending by node id; node-a is the one under test. */
  readonly origins: readonly OriginFingerprint[];
  /** The whole signed note over one origin's tree. */
  checkpoint(origin: OriginFingerprint, treeSize: number, rootHash: Uint8Array, timeS: number): string;
}

function compareHex(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

function trustRootOf(clusterId: Uint8Array, nodes: readonly FakeKeys[], root: Signer): TrustRoot {
  const origins = nodes
    .map(({ originFingerprint, log }) => ({
      originFingerprint,
      status: "active" as const,
      logVkey: makeVkey(checkpointOrigin(CLUSTER_NAME, originFingerprint), VKEY_TYPE.ed25519, log.publicKey, sha256),
    }))
    .toSorted((a, b) => compareHex(a.originFingerprint, b.originFingerprint));
  return {
    clusterName: CLUSTER_NAME,
    clusterId,
    version: 1,
    epoch: 0,
    previous: new Uint8Array(32),
    issuedS: 1_700_000_000,
    expiresS: 2_000_000_000,
    rootKeys: {
      threshold: 1,
      keys: [makeVkey(rootKeyName(CLUSTER_NAME, "one"), VKEY_TYPE.ed25519, root.publicKey, sha256)],
    },
    ca: [seedOf("ca")],
    origins,
    nodes: nodes.map(({ nodeId, originFingerprint, cosigner, auth }) => ({
      nodeId,
      status: "active" as const,
      originFingerprint,
      cosignerVkey: makeVkey(cosignerName(CLUSTER_NAME, nodeId), VKEY_TYPE.cosignature, cosigner.publicKey, sha256),
      authPublicKey: auth.publicKey,
    })),
    quorum: 2,
  };
}

export function fakeCluster(): FakeCluster {
  const clusterId = seedOf("cluster");
  const nodes = ["node-a", "node-b", "node-c"].map((nodeId) => keysOf(nodeId, clusterId));
  const root = createSigner(seedOf("root"));
  const text = formatTrustRootText(trustRootOf(clusterId, nodes, root));
  const line = trustRootSignatureLine(
    {
      clusterName: CLUSTER_NAME,
      label: "one",
      publicKey: root.publicKey,
      signature: root.sign(trustRootMessage(text)),
    },
    sha256,
  );
  const trustRoot = parseSignedTrustRoot(formatNote(text, [line]), sha256);
  const checkpoint = (origin: OriginFingerprint, treeSize: number, rootHash: Uint8Array, timeS: number): string => {
    const name = checkpointOrigin(CLUSTER_NAME, origin);
    const body = formatCheckpoint({ origin: name, treeSize, rootHash });
    const owner = nodes.find((node) => compareHex(node.originFingerprint, origin) === 0);
    if (owner === undefined) throw new Error("no such origin");
    const signature = owner.log.sign(noteMessage(body));
    const lines = nodes.slice(0, 2).map(({ nodeId, cosigner }) =>
      cosignatureLine(
        {
          name: cosignerName(CLUSTER_NAME, nodeId),
          publicKey: cosigner.publicKey,
          timeS,
          signature: cosigner.sign(cosignatureMessage(timeS, body)),
        },
        sha256,
      ),
    );
    const logLine = noteSignatureLine({ name, publicKey: owner.log.publicKey, signature }, sha256);
    return formatNote(body, [logLine, ...lines]);
  };
  return { clusterId, trustRoot, origins: nodes.map((node) => node.originFingerprint), checkpoint };
}

/** 32 bytes made of one repeated byte. */
export function bytes32(byte: number): Uint8Array {
  return concatBytes(new Uint8Array(32).fill(byte));
}
