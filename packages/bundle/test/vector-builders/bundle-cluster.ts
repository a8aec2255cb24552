/** A cluster with fixed keys: trust roots that its root keys sign, and checkpoints that its nodes cosign. */
import {
  VKEY_TYPE,
  checkpointOrigin,
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
  rootKeyName,
  rootThk,
  trustRootMessage,
  trustRootSignatureLine,
} from "@event-anchoring/protocol";
import type {
  NodeStatus,
  OriginFingerprint,
  OriginStatus,
  TrustRoot,
  TrustRootWitness,
  Vkey,
} from "@event-anchoring/protocol";
import { createSigner } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import { fill, fixedKey, hashOf, sha256 } from "../../../../test/vector-builders/keys.ts";

export interface ClusterNode {
  readonly nodeId: string;
  readonly cosigner: Signer;
  readonly auth: Signer;
  readonly log: Signer;
  readonly originFingerprint: OriginFingerprint;
}

export interface Membership {
  readonly node: ClusterNode;
  readonly status?: NodeStatus;
  readonly origin?: OriginStatus;
}

/** A witness whose key is at hand. */
export interface Watcher {
  readonly entry: TrustRootWitness;
  readonly signer: Signer;
}

export function watcher(name: string, byte: number): Watcher {
  const signer = fixedKey(byte);
  const url = `https://${name}.example/witness`;
  const vkey = makeVkey(`${name}.example/witness`, VKEY_TYPE.cosignature, signer.publicKey, sha256);
  return { entry: { name, vkey, url }, signer };
}

const ROOT_LABELS = ["1", "2"] as const;
const QUORUM = 2;

export class Cluster {
  readonly name: string;
  readonly clusterId: Uint8Array;
  readonly nodes: readonly ClusterNode[];
  readonly #rootKeys: readonly Signer[];
  #watchers: Pick<TrustRoot, "witnesses" | "witnessQuorum"> = { witnesses: [], witnessQuorum: 0 };

  /** @param byte keeps the keys of two clusters apart */
  constructor(name: string, byte: number) {
    this.name = name;
    this.clusterId = fill(byte);
    this.#rootKeys = ROOT_LABELS.map((label) => createSigner(hashOf(`${name} root ${label}`)));
    this.nodes = ["a", "b", "c", "d"].map((nodeId, at) => {
      const cosigner = fixedKey(((byte & 0x0f) << 4) + 1 + at);
      const originFingerprint = originFingerprintOf(this.clusterId, cosigner.publicKey, sha256);
      const log = createSigner(logKeySeed(fill(0x5e), originFingerprint, sha256));
      return { nodeId, cosigner, auth: createSigner(hashOf(`${name} auth ${nodeId}`)), log, originFingerprint };
    });
  }

  node(at: number): ClusterNode {
    const node = this.nodes[at];
    if (node === undefined) throw new RangeError(`no node ${at}`);
    return node;
  }

  /** The next trust roots list these witnesses, of which so many are needed. */
  watch(watchers: readonly Pick<Watcher, "entry">[], needed: number): void {
    this.#watchers = { witnesses: watchers.map(({ entry }) => entry), witnessQuorum: needed };
  }

  trustRoot(version: number, previous: Uint8Array, members: readonly Membership[]): TrustRoot {
    return {
      clusterName: this.name,
      clusterId: this.clusterId,
      version,
      epoch: 0,
      previous,
      issuedS: 1_767_225_600 + version,
      expiresS: 2_082_758_400,
      rootKeys: {
        threshold: 2,
        keys: ROOT_LABELS.map((label, at) =>
          makeVkey(rootKeyName(this.name, label), VKEY_TYPE.ed25519, this.#rootKey(at).publicKey, sha256),
        ),
      },
      ca: [hashOf("ca")],
      origins: members.map(({ node, origin = "active" }) => ({
        originFingerprint: node.originFingerprint,
        status: origin,
        logVkey: this.logVkey(node),
      })),
      nodes: members.map(({ node, status = "active" }) => ({
        nodeId: node.nodeId,
        status,
        originFingerprint: node.originFingerprint,
        cosignerVkey: makeVkey(
          cosignerName(this.name, node.nodeId),
          VKEY_TYPE.cosignature,
          node.cosigner.publicKey,
          sha256,
        ),
        authPublicKey: node.auth.publicKey,
      })),
      operators: [],
      quorum: QUORUM,
      ...this.#watchers,
    };
  }

  #rootKey(at: number): Signer {
    const key = this.#rootKeys[at];
    if (key === undefined) throw new RangeError(`no root key ${at}`);
    return key;
  }

  logVkey(node: ClusterNode): Vkey {
    return makeVkey(this.#originName(node), VKEY_TYPE.ed25519, node.log.publicKey, sha256);
  }

  #originName(node: ClusterNode): string {
    return checkpointOrigin(this.name, node.originFingerprint);
  }

  /** @param signers how many root keys sign */
  signed(root: TrustRoot, signers = 2): string {
    const text = formatTrustRootText(root);
    const lines = ROOT_LABELS.slice(0, signers).map((label, at) => {
      const { publicKey, sign } = this.#rootKey(at);
      const signature = sign(trustRootMessage(text));
      return trustRootSignatureLine({ clusterName: this.name, label, publicKey, signature }, sha256);
    });
    return formatNote(text, lines);
  }

  thk(root: TrustRoot): Uint8Array {
    return rootThk(formatTrustRootText(root), sha256);
  }

  checkpoint(
    node: ClusterNode,
    treeSize: number,
    rootHash: Uint8Array,
    cosigners: readonly ClusterNode[],
    isLogged = true,
    watchers: readonly Watcher[] = [],
  ): string {
    const name = this.#originName(node);
    const text = formatCheckpoint({ origin: name, treeSize, rootHash });
    const logged = noteSignatureLine(
      { name, publicKey: node.log.publicKey, signature: node.log.sign(noteMessage(text)) },
      sha256,
    );
    const timeS = 1_770_000_000;
    const cosigned = cosigners.map(({ nodeId, cosigner: { publicKey, sign } }) =>
      cosignatureLine(
        { name: cosignerName(this.name, nodeId), publicKey, timeS, signature: sign(cosignatureMessage(timeS, text)) },
        sha256,
      ),
    );
    const witnessed = watchers.map(({ entry: { vkey }, signer: { publicKey, sign } }) =>
      cosignatureLine({ name: vkey.name, publicKey, timeS, signature: sign(cosignatureMessage(timeS, text)) }, sha256),
    );
    return formatNote(text, [...(isLogged ? [logged] : []), ...cosigned, ...witnessed]);
  }
}
