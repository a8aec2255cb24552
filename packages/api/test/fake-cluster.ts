/** Keys, trust root and checkpoints of a three-node cluster: real signatures over real formats, made in memory. */
import { TestActs } from "@event-anchoring/testkit/records";
import {
  VKEY_TYPE,
  checkpointOrigin,
  compareBytes,
  cosignatureLine,
  cosignatureMessage,
  cosignerName,
  equalBytes,
  formatCheckpoint,
  formatNote,
  formatStateHead,
  formatStateHeadNote,
  formatTrustRootText,
  logKeySeed,
  makeVkey,
  operatorKeyName,
  noteMessage,
  noteSignatureLine,
  originFingerprintOf,
  parseSignedTrustRoot,
  rootKeyName,
  stateHeadLine,
  stateHeadMessage,
  trustRootMessage,
  trustRootSignatureLine,
} from "@event-anchoring/protocol";
import type { OriginFingerprint, OriginStatus, SignedTrustRoot, StateHead, TrustRoot } from "@event-anchoring/protocol";
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

const OPERATOR = createSigner(seedOf("operator"));

function keysOf(nodeId: string, clusterId: Uint8Array): FakeKeys {
  const cosigner = createSigner(seedOf(`cosigner ${nodeId}`));
  const originFingerprint = originFingerprintOf(clusterId, cosigner.publicKey, sha256);
  const log = createSigner(logKeySeed(seedOf("log seed"), originFingerprint, sha256));
  return { nodeId, cosigner, auth: createSigner(seedOf(`auth ${nodeId}`)), log, originFingerprint };
}

function trustRootOf(clusterId: Uint8Array, nodes: readonly FakeKeys[], root: Signer): TrustRoot {
  const origins = nodes
    .map(({ originFingerprint, log }) => ({
      originFingerprint,
      status: "active" as const,
      logVkey: makeVkey(checkpointOrigin(CLUSTER_NAME, originFingerprint), VKEY_TYPE.ed25519, log.publicKey, sha256),
    }))
    .toSorted((a, b) => compareBytes(a.originFingerprint, b.originFingerprint));
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
    operators: [
      {
        name: "test",
        vkey: makeVkey(operatorKeyName(CLUSTER_NAME, "test"), VKEY_TYPE.ed25519, OPERATOR.publicKey, sha256),
      },
    ],
    quorum: 2,
    witnesses: [],
    witnessQuorum: 0,
  };
}

export class FakeCluster {
  readonly clusterId = seedOf("cluster");
  readonly #nodes = ["node-a", "node-b", "node-c"].map((nodeId) => keysOf(nodeId, this.clusterId));
  readonly #root = createSigner(seedOf("root"));
  readonly #trustRoots = [this.#sign(trustRootOf(this.clusterId, this.#nodes, this.#root))];

  /** The operator who makes API keys. */
  readonly acts = new TestActs({ clusterId: this.clusterId, epoch: 0 }, "test", OPERATOR.sign);

  /** Version 1: what clients pin. */
  get trustRoot(): SignedTrustRoot {
    const [first] = this.#trustRoots;
    if (first === undefined) throw new Error("no trust root");
    return first;
  }

  /** Ascending by version. */
  get trustRoots(): readonly SignedTrustRoot[] {
    return this.#trustRoots;
  }

  /** Ascending by node id; node-a is the one under test. */
  get origins(): readonly OriginFingerprint[] {
    return this.#nodes.map((node) => node.originFingerprint);
  }

  #sign(trustRoot: TrustRoot): SignedTrustRoot {
    const text = formatTrustRootText(trustRoot);
    const { publicKey } = this.#root;
    const signature = this.#root.sign(trustRootMessage(text));
    const line = trustRootSignatureLine({ clusterName: CLUSTER_NAME, label: "one", publicKey, signature }, sha256);
    return parseSignedTrustRoot(formatNote(text, [line]), sha256);
  }

  /** Makes the next version, in which one origin has another status. */
  succeed(origin: OriginFingerprint, status: OriginStatus): SignedTrustRoot {
    const newest = this.#trustRoots.at(-1) ?? this.trustRoot;
    const origins = newest.trustRoot.origins.map((listed) =>
      equalBytes(listed.originFingerprint, origin) ? { ...listed, status } : listed,
    );
    const { version, issuedS } = newest.trustRoot;
    const changes = { version: version + 1, previous: newest.rootThk, issuedS: issuedS + 1, origins };
    const next = this.#sign({ ...newest.trustRoot, ...changes });
    this.#trustRoots.push(next);
    return next;
  }

  /** The whole signed note over a state, with the lines of two nodes. */
  stateNote(head: StateHead): string {
    const message = stateHeadMessage(formatStateHead(head));
    const lines = this.#nodes.slice(0, 2).map(({ nodeId, cosigner: { publicKey, sign } }) => {
      const signature = sign(message);
      return stateHeadLine({ name: cosignerName(CLUSTER_NAME, nodeId), publicKey, signature }, sha256);
    });
    return formatStateHeadNote(head, lines);
  }

  /** The whole signed note over one origin's tree. */
  checkpoint(origin: OriginFingerprint, treeSize: number, rootHash: Uint8Array, timeS: number): string {
    const name = checkpointOrigin(CLUSTER_NAME, origin);
    const body = formatCheckpoint({ origin: name, treeSize, rootHash });
    const owner = this.#nodes.find((node) => equalBytes(node.originFingerprint, origin));
    if (owner === undefined) throw new Error("no such origin");
    const signature = owner.log.sign(noteMessage(body));
    const lines = this.#nodes.slice(0, 2).map(({ nodeId, cosigner }) =>
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
  }
}
