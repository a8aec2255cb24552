import { type NodeIdentity } from "@event-anchoring/control-plane";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  type OriginFingerprint,
  type TrustRoot,
  VKEY_TYPE,
  ZERO_32,
  bytesToHex,
  checkpointOrigin,
  compareBytes,
  cosignerName,
  equalBytes,
  formatNote,
  formatTrustRootText,
  makeVkey,
  originFingerprintOf,
  parseSignedTrustRoot,
  raftIdOf,
  rootKeyName,
  trustRootMessage,
  trustRootSignatureLine,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import { type ClusterPlan, isGrowing } from "./cluster-plan.ts";
import { realSigner, simulatedSigner } from "./simulated-crypto.ts";
import { simulatedOperator } from "./simulated-operator.ts";
import { simulatedWitnessLine } from "./simulated-witness-line.ts";
import { WORLD_START_MS } from "../world/simulated-process.ts";

const { sha256 } = nodeCrypto;
const CLUSTER_NAME = "simulated.example/life";
const DAY_S = 86_400;

/** All identities of such a cluster: always the same, so that a life is a function of its seed alone. */
export function simulatedIdentities(plan: ClusterPlan): readonly NodeIdentity[] {
  const known = IDENTITIES.get(keyOf(plan));
  if (known !== undefined) return known;
  const made = makeIdentities(plan);
  IDENTITIES.set(keyOf(plan), made);
  return made;
}

const IDENTITIES = new Map<string, readonly NodeIdentity[]>();

const keyOf = ({ founders, nodes, isGivenUp, quorum = 0, witnesses = 0 }: ClusterPlan): string =>
  `${founders} ${nodes} ${String(isGivenUp)} ${quorum} ${witnesses}`;

function clusterIdOf({ founders, nodes }: ClusterPlan): Uint8Array {
  const grows = founders === nodes ? "" : ` that begins with ${founders}`;
  return sha256(utf8ToBytes(`simulated cluster of ${nodes}${grows}`));
}

function nodesOf(plan: ClusterPlan): readonly ReturnType<typeof nodeOf>[] {
  const nodeIds = Array.from({ length: plan.nodes }, (_, at) => String.fromCodePoint(0x61 + at));
  return nodeIds.map((nodeId) => nodeOf(clusterIdOf(plan), nodeId));
}

function makeIdentities(plan: ClusterPlan): readonly NodeIdentity[] {
  const clusterId = clusterIdOf(plan);
  const nodes = nodesOf(plan);
  const founded = trustRootOf(clusterId, nodes.slice(0, plan.founders));
  const document = signedDocument({ ...founded, quorum: plan.quorum ?? founded.quorum, ...witnessesOf(plan) });
  const { trustRoot, rootThk } = parseSignedTrustRoot(document, sha256);
  const configured = { document, version: 1, rootThk };
  return nodes.map(({ nodeId, originFingerprint }) => ({
    nodeId,
    clusterId,
    raftId: raftIdOf(clusterId, nodeId, sha256),
    originFingerprint,
    authSigner: simulatedSigner(`auth ${nodeId}`),
    cosigner: simulatedSigner(`cosigner ${nodeId}`),
    logSignerOf,
    configured,
    trustRoot,
  }));
}

/**
 * Versions of the trust root after the first. Each is valid a little longer than the one before; of five founders the
 * third version retires the last one; the fourth closes the last origin. The second lists the nodes that the plan adds,
 * and the third retires them again if it gives them up. Always the same documents.
 */
export function simulatedTrustRoot(plan: ClusterPlan, version: number): string {
  const chain = DOCUMENTS.get(keyOf(plan)) ?? [];
  DOCUMENTS.set(keyOf(plan), chain);
  while (chain.length < version) {
    const before = chain.at(-1);
    chain.push(before === undefined ? firstDocument(plan) : nextDocument(plan, before));
  }
  return chain[version - 1] ?? "";
}

const DOCUMENTS = new Map<string, string[]>();
export const RETIRING_VERSION = 3;
const CLOSING_VERSION = 4;

function firstDocument(plan: ClusterPlan): string {
  return simulatedIdentities(plan)[0]?.configured.document ?? "";
}

/** As version 2 lists them. */
function grownDocument(plan: ClusterPlan, { trustRoot, rootThk }: ReturnType<typeof parseSignedTrustRoot>): string {
  const { clusterId, issuedS, expiresS } = trustRoot;
  const grown = trustRootOf(clusterId, nodesOf(plan));
  return signedDocument({ ...grown, version: 2, previous: rootThk, issuedS: issuedS + 1, expiresS: expiresS + 1 });
}

/** Retires the newcomers, which never came. */
function givenUpDocument(plan: ClusterPlan, { trustRoot, rootThk }: ReturnType<typeof parseSignedTrustRoot>): string {
  const { issuedS, expiresS } = trustRoot;
  const nodes = trustRoot.nodes.map((node, at) =>
    at < plan.founders ? node : { ...node, status: "retired" as const },
  );
  const gone = nodes.slice(plan.founders).map(({ originFingerprint }) => bytesToHex(originFingerprint));
  const origins = trustRoot.origins.map((origin) =>
    gone.includes(bytesToHex(origin.originFingerprint)) ? { ...origin, status: "closed" as const } : origin,
  );
  return signedDocument({
    ...trustRoot,
    nodes,
    origins,
    version: 3,
    previous: rootThk,
    issuedS: issuedS + 1,
    expiresS: expiresS + 1,
    quorum: Math.floor(plan.founders / 2) + 1,
  });
}

function nextDocument(plan: ClusterPlan, before: string): string {
  const signed = parseSignedTrustRoot(before, sha256);
  if (isGrowing(plan) && signed.trustRoot.version === 1) return grownDocument(plan, signed);
  if (plan.isGivenUp && signed.trustRoot.version === 2) return givenUpDocument(plan, signed);
  return laterDocument(plan, signed);
}

/** Version 2 of a cluster whose first version is in force: the same, but for an origin that is given up. */
export function trustRootThatLoses(plan: ClusterPlan, lost: OriginFingerprint): string {
  const { trustRoot, rootThk } = parseSignedTrustRoot(simulatedTrustRoot(plan, 1), sha256);
  const origins = trustRoot.origins.map((origin) =>
    equalBytes(origin.originFingerprint, lost) ? { ...origin, status: "lost" as const } : origin,
  );
  const { issuedS, expiresS } = trustRoot;
  const times = { issuedS: issuedS + 1, expiresS: expiresS + 1 };
  return signedDocument({ ...trustRoot, ...times, origins, version: 2, previous: rootThk });
}

function laterDocument(plan: ClusterPlan, { trustRoot, rootThk }: ReturnType<typeof parseSignedTrustRoot>): string {
  const version = trustRoot.version + 1;
  const closed = version >= CLOSING_VERSION ? trustRoot.origins.length - 1 : -1;
  const origins = trustRoot.origins.map((origin, at) =>
    at === closed ? { ...origin, status: "closed" as const } : origin,
  );
  const { issuedS, expiresS } = trustRoot;
  const retired = version >= RETIRING_VERSION && plan.founders === 5 ? 4 : -1;
  const nodes = trustRoot.nodes.map((node, at) => (at === retired ? { ...node, status: "retired" as const } : node));
  return signedDocument({
    ...trustRoot,
    nodes,
    version,
    previous: rootThk,
    issuedS: issuedS + 1,
    expiresS: expiresS + 1,
    origins,
  });
}

function signedDocument(root: TrustRoot): string {
  const text = formatTrustRootText(root);
  const rootKey = realSigner("root");
  const line = { clusterName: CLUSTER_NAME, label: "root-1", publicKey: rootKey.publicKey };
  const signature = rootKey.sign(trustRootMessage(text));
  return formatNote(text, [trustRootSignatureLine({ ...line, signature }, sha256)]);
}

function witnessesOf({ witnesses = 0 }: ClusterPlan): Pick<TrustRoot, "witnesses" | "witnessQuorum"> {
  const lines = Array.from({ length: witnesses }, (_, at) => simulatedWitnessLine(`w${at}`));
  return { witnesses: lines, witnessQuorum: witnesses === 0 ? 0 : Math.floor(witnesses / 2) + 1 };
}

/** The key of the log with that checkpoint origin. */
export function simulatedLogKey(checkpointOriginLine: string): Uint8Array {
  return simulatedSigner(`log ${checkpointOriginLine.split("/").at(-1) ?? ""}`).publicKey;
}

export function logSignerOf(origin: OriginFingerprint): ReturnType<typeof simulatedSigner> {
  return simulatedSigner(`log ${bytesToHex(origin)}`);
}

function nodeOf(clusterId: Uint8Array, nodeId: string): { nodeId: string; originFingerprint: OriginFingerprint } {
  const cosigner = simulatedSigner(`cosigner ${nodeId}`);
  return { nodeId, originFingerprint: originFingerprintOf(clusterId, cosigner.publicKey, sha256) };
}

function trustRootOf(clusterId: Uint8Array, nodes: readonly ReturnType<typeof nodeOf>[]): TrustRoot {
  const issuedS = WORLD_START_MS / 1000;
  const rootKey = makeVkey(
    rootKeyName(CLUSTER_NAME, "root-1"),
    VKEY_TYPE.ed25519,
    realSigner("root").publicKey,
    sha256,
  );
  const origins = nodes.map(({ originFingerprint }) => {
    const name = checkpointOrigin(CLUSTER_NAME, originFingerprint);
    const logVkey = makeVkey(name, VKEY_TYPE.ed25519, logSignerOf(originFingerprint).publicKey, sha256);
    return { originFingerprint, status: "active" as const, logVkey };
  });
  const members = nodes.map(({ nodeId, originFingerprint }) => {
    const { publicKey } = simulatedSigner(`cosigner ${nodeId}`);
    const cosignerVkey = makeVkey(cosignerName(CLUSTER_NAME, nodeId), VKEY_TYPE.cosignature, publicKey, sha256);
    const authPublicKey = simulatedSigner(`auth ${nodeId}`).publicKey;
    return { nodeId, status: "active" as const, originFingerprint, cosignerVkey, authPublicKey };
  });
  return {
    clusterName: CLUSTER_NAME,
    clusterId,
    version: 1,
    epoch: 0,
    previous: ZERO_32,
    issuedS,
    expiresS: issuedS + 365 * DAY_S,
    rootKeys: { threshold: 1, keys: [rootKey] },
    ca: [new Uint8Array(32).fill(7)],
    origins: origins.toSorted((a, b) => compareBytes(a.originFingerprint, b.originFingerprint)),
    nodes: members,
    operators: [simulatedOperator(CLUSTER_NAME)],
    quorum: Math.floor(nodes.length / 2) + 1,
    witnesses: [],
    witnessQuorum: 0,
  };
}
