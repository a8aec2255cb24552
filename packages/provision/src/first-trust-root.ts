/** Version 1 of a trust root, from the public halves of keys that were made apart. docs/operating/ceremony.md. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  ZERO_32,
  compareBytes,
  equalBytes,
  formatTrustRootText,
  formatVkey,
  raftIdOf,
} from "@event-anchoring/protocol";
import type { TrustRoot, Vkey } from "@event-anchoring/protocol";
import type { NodeCard } from "./node-card.ts";
import { TrustRootChangeError, judgeProposal, operatorOf, parseProposal } from "./trust-root-change.ts";
import type { TrustRootProposal } from "./trust-root-change.ts";

/** What decides the first version. */
export interface FirstTrustRoot {
  /** All of one cluster; each of these nodes is active from the start. */
  readonly nodes: readonly NodeCard[];
  readonly rootKeys: readonly Vkey[];
  /** Keys whose signatures make and revoke API keys. */
  readonly operatorKeys: readonly Vkey[];
  /** How many of them must sign. */
  readonly rootThreshold: number;
  /** How many nodes must cosign: more than half of them, at most all. */
  readonly quorum: number;
  /** SHA-256 of the SubjectPublicKeyInfo of each CA whose certificates nodes accept. */
  readonly cas: readonly Uint8Array[];
  /** Unix seconds. */
  readonly issuedS: number;
  readonly expiresS: number;
}

/**
 * Composes the first version and holds it against every rule but that of signatures.
 * @throws TrustRootChangeError, or TrustRootError for a document that no trust root may be
 */
export function composeFirstTrustRoot(first: FirstTrustRoot): TrustRootProposal {
  const { nodes, rootKeys, rootThreshold, quorum, cas, issuedS, expiresS } = first;
  const [one] = nodes;
  if (one === undefined) throw new TrustRootChangeError("a cluster has nodes: their cards are missing");
  const { clusterName, clusterId } = one;
  const isOther = (card: NodeCard): boolean =>
    card.clusterName !== clusterName || !equalBytes(card.clusterId, clusterId);
  const stranger = nodes.find(isOther);
  if (stranger !== undefined) {
    throw new TrustRootChangeError(`${stranger.nodeId} and ${one.nodeId} have cards of different clusters`);
  }
  const raftIds = new Set(nodes.map(({ nodeId }) => raftIdOf(clusterId, nodeId, nodeCrypto.sha256)));
  if (raftIds.size !== nodes.length) throw new TrustRootChangeError("a node id is there twice");
  const foreign = rootKeys.find(({ name }) => !name.startsWith(`${clusterName}/root/`));
  if (foreign !== undefined) throw new TrustRootChangeError(`${foreign.name} is no root key of ${clusterName}`);
  const operators = first.operatorKeys.map((vkey) => operatorOf(clusterName, vkey));
  const trustRoot: TrustRoot = {
    clusterName,
    clusterId,
    version: 1,
    epoch: 0,
    previous: ZERO_32,
    issuedS,
    expiresS,
    rootKeys: { threshold: rootThreshold, keys: rootKeys.toSorted(byText) },
    ca: cas.toSorted(compareBytes),
    origins: nodes
      .map(({ originFingerprint, logVkey }) => ({ originFingerprint, status: "active" as const, logVkey }))
      .toSorted((a, b) => compareBytes(a.originFingerprint, b.originFingerprint)),
    nodes: nodes
      .map(({ nodeId, originFingerprint, cosignerVkey, authPublicKey }) => {
        return { nodeId, status: "active" as const, originFingerprint, cosignerVkey, authPublicKey };
      })
      .toSorted((a, b) => (a.nodeId < b.nodeId ? -1 : 1)),
    operators,
    quorum,
    witnesses: [],
    witnessQuorum: 0,
  };
  const proposal = parseProposal(formatTrustRootText(trustRoot));
  const refusal = judgeProposal(null, proposal);
  if (refusal !== null) throw new TrustRootChangeError(`${refusal.code}: ${refusal.detail}`);
  return proposal;
}

/** Root keys stand ascending by their printed form. */
function byText(a: Vkey, b: Vkey): number {
  return formatVkey(a) < formatVkey(b) ? -1 : 1;
}
