/** The trust-root document: one version and its rules. docs/PROTOCOL.md, "Trust root". */
import { bytesToHex, equalBytes, isZero, utf8ToBytes } from "./bytes.ts";
import {
  checkpointOrigin,
  cosignerName,
  isClusterName,
  isNodeId,
  isRootLabel,
  operatorKeyName,
  rootKeyName,
} from "./checkpoint.ts";
import type { Sha256 } from "./crypto.ts";
import type { OriginFingerprint } from "./ids.ts";
import { VKEY_TYPE, noteMessage, noteSignatureLine, parseNote } from "./note.ts";
import type { SignatureLine, Vkey } from "./note.ts";
import type { TlogPolicy } from "./policy.ts";
import type { QuorumPolicy } from "./quorum.ts";
import { originFingerprintOf } from "./tags.ts";
import { TrustRootError, refuseUnless } from "./trust-root-error.ts";
import { formatTrustRootText, readTrustRootText } from "./trust-root-text.ts";
import type { TrustRoot, TrustRootNode, TrustRootOrigin } from "./trust-root-text.ts";
import { isWitnessUrl } from "./witness-url.ts";

/** A document with its signatures. Parsed, not verified: verifyTrustRootChain does that. */
export interface SignedTrustRoot {
  readonly trustRoot: TrustRoot;
  /** SHA-256 of the note text, signatures excluded: the hash that is pinned. */
  readonly rootThk: Uint8Array;
  readonly text: string;
  readonly lines: readonly SignatureLine[];
  /** The whole signed note, as it was read. */
  readonly note: string;
}

/** RootTHK: SHA-256 of the note text, signatures excluded. */
export function rootThk(text: string, sha256: Sha256): Uint8Array {
  return sha256(utf8ToBytes(text));
}

/**
 * Reads the text of one version, which may be attacker-controlled, and holds it against every rule of one document.
 * @throws TrustRootError
 */
export function parseTrustRootText(text: string, sha256: Sha256): TrustRoot {
  const root = readTrustRootText(text, sha256);
  if (formatTrustRootText(root) !== text) {
    throw new TrustRootError("not_canonical", "the text is not the one text of this trust root");
  }
  checkNames(root);
  checkKeyNames(root);
  checkWitnessUrls(root);
  checkNumbers(root);
  checkLines(root);
  checkKeysDiffer(root);
  if (root.version === 1) root.nodes.forEach((node) => checkFirstCosigner(root, node, sha256));
  return root;
}

/** Words of the policy rendering that a node must not be called. */
const RESERVED_NODE_IDS: readonly string[] = ["nodes", "none"];

function checkNames(root: TrustRoot): void {
  refuseUnless(isClusterName(root.clusterName), "name_invalid", "the cluster name is not legal");
  for (const { nodeId } of root.nodes) {
    const isLegal = isNodeId(nodeId) && !RESERVED_NODE_IDS.includes(nodeId);
    refuseUnless(isLegal, "name_invalid", `not a node id: ${nodeId}`);
  }
  for (const { name } of [...root.operators, ...root.witnesses]) {
    refuseUnless(isNodeId(name), "name_invalid", `not a name of an operator or witness: ${name}`);
  }
}

function checkKeyNames(root: TrustRoot): void {
  const { clusterName } = root;
  for (const { name, type } of root.rootKeys.keys) {
    const label = name.slice(`${clusterName}/root/`.length);
    const isNamed = isRootLabel(label) && name === rootKeyName(clusterName, label);
    refuseUnless(isNamed && type === VKEY_TYPE.ed25519, "key_misnamed", `${name} is not a root key of this cluster`);
  }
  for (const { originFingerprint, logVkey } of root.origins) {
    const isNamed = logVkey.name === checkpointOrigin(clusterName, originFingerprint);
    const isLogKey = isNamed && logVkey.type === VKEY_TYPE.ed25519;
    refuseUnless(isLogKey, "key_misnamed", `${logVkey.name} is not this origin's log key`);
  }
  for (const { nodeId, cosignerVkey } of root.nodes) {
    const isNamed = cosignerVkey.name === cosignerName(clusterName, nodeId);
    const isCosigner = isNamed && cosignerVkey.type === VKEY_TYPE.cosignature;
    refuseUnless(isCosigner, "key_misnamed", `${cosignerVkey.name} is not the cosigner key of ${nodeId}`);
  }
  for (const { name, vkey } of root.operators) {
    const isOperator = vkey.name === operatorKeyName(clusterName, name) && vkey.type === VKEY_TYPE.ed25519;
    refuseUnless(isOperator, "key_misnamed", `${vkey.name} is not the key of operator ${name}`);
  }
  // Key ids are short: under the name of a node's key somebody could make a key of the same id.
  const own = new Set([...root.origins.map(({ logVkey }) => logVkey), ...cosignerKeysOf(root)].map(nameOf));
  for (const { name, vkey } of root.witnesses) {
    const isCosigner = vkey.type === VKEY_TYPE.cosignature;
    refuseUnless(isCosigner, "key_misnamed", `the key of witness ${name} makes no cosignatures`);
    refuseUnless(!own.has(vkey.name), "key_misnamed", `the key of witness ${name} has the name of one of the cluster`);
  }
}

function checkWitnessUrls({ witnesses }: TrustRoot): void {
  for (const { name, url } of witnesses) {
    refuseUnless(isWitnessUrl(url), "witness_url_invalid", `witness ${name} has no URL of the form that is asked for`);
  }
}

function checkNumbers(root: TrustRoot): void {
  const { version, epoch, previous, issuedS, expiresS, rootKeys, quorum } = root;
  const isU32 = version <= 0xffff_ffff && epoch <= 0xffff_ffff;
  refuseUnless(version >= 1 && isU32, "version_invalid", "version and epoch are u32, and versions start at 1");
  refuseUnless(
    (version === 1) === isZero(previous),
    "previous_invalid",
    "zeros stand for the version before version 1",
  );
  refuseUnless(issuedS < expiresS, "validity_invalid", "it expires before it is issued");
  const { threshold, keys } = rootKeys;
  const isReachable = threshold >= 1 && threshold <= keys.length;
  refuseUnless(isReachable, "root_threshold_invalid", `${threshold} of ${keys.length} root keys`);
  const active = root.nodes.filter((node) => node.status === "active").length;
  const isMajority = quorum > active / 2 && quorum <= active;
  refuseUnless(isMajority, "quorum_unsafe", `a quorum of ${quorum} is not a majority of ${active} active nodes`);
  const { witnessQuorum, witnesses } = root;
  const isShared =
    witnesses.length === 0 || (2 * witnessQuorum > witnesses.length && witnessQuorum <= witnesses.length);
  const detail = `${witnessQuorum} is not a majority of ${witnesses.length} witnesses`;
  refuseUnless(isShared, "witnesses_unsafe", detail);
}

/** Order is settled by the canonical text; what is left is that nothing is listed twice or missing. */
function checkLines(root: TrustRoot): void {
  const isRepeated = (items: readonly string[]): boolean => new Set(items).size !== items.length;
  const fingerprints = root.origins.map((origin) => bytesToHex(origin.originFingerprint));
  const used = root.nodes.map((node) => bytesToHex(node.originFingerprint));
  const ids = root.nodes.map((node) => node.nodeId);
  refuseUnless(!isRepeated(root.ca.map(bytesToHex)), "item_repeated", "a CA is listed twice");
  refuseUnless(!isRepeated(fingerprints), "item_repeated", "an origin is listed twice");
  refuseUnless(!isRepeated(ids), "item_repeated", "a node is listed twice");
  refuseUnless(!isRepeated(used), "item_repeated", "two nodes share an origin");
  refuseUnless(!isRepeated(root.operators.map(nameOf)), "item_repeated", "an operator is listed twice");
  refuseUnless(!isRepeated(root.witnesses.map(nameOf)), "item_repeated", "a witness is listed twice");
  // Key ids are short: under the name of another witness's key one could make a key of the same id, to spoil its lines.
  const keyNames = root.witnesses.map(({ vkey }) => vkey.name);
  refuseUnless(!isRepeated(keyNames), "item_repeated", "the keys of two witnesses have one name");
  for (const fingerprint of used) {
    refuseUnless(fingerprints.includes(fingerprint), "origin_unlisted", `a node's origin ${fingerprint} has no line`);
  }
}

/** The cosigner key of every node, whatever its status. */
export function cosignerKeysOf({ nodes }: TrustRoot): readonly Vkey[] {
  return nodes.map(({ cosignerVkey }) => cosignerVkey);
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}

function checkKeysDiffer(root: TrustRoot): void {
  const seen = new Set<string>();
  for (const { publicKey, owner } of trustRootKeys(root)) {
    const hex = bytesToHex(publicKey);
    refuseUnless(!seen.has(hex), "key_reused", `the key of ${owner} has another use as well`);
    seen.add(hex);
  }
}

/** The origin of a node's first cosigner key. @throws TrustRootError `origin_fingerprint_wrong` */
export function checkFirstCosigner(root: TrustRoot, node: TrustRootNode, sha256: Sha256): void {
  const expected = originFingerprintOf(root.clusterId, node.cosignerVkey.publicKey, sha256);
  const isOwn = equalBytes(expected, node.originFingerprint);
  refuseUnless(isOwn, "origin_fingerprint_wrong", `the origin of ${node.nodeId} is not that of its cosigner key`);
}

/** Every key of a version with the name of its one use. */
export function trustRootKeys(root: TrustRoot): { publicKey: Uint8Array; owner: string }[] {
  return [
    ...root.rootKeys.keys.map(({ name, publicKey }) => ({ publicKey, owner: name })),
    ...root.origins.map(({ logVkey }) => ({ publicKey: logVkey.publicKey, owner: logVkey.name })),
    ...root.nodes.map(({ cosignerVkey }) => ({ publicKey: cosignerVkey.publicKey, owner: cosignerVkey.name })),
    ...root.nodes.map(({ nodeId, authPublicKey }) => ({ publicKey: authPublicKey, owner: `auth of ${nodeId}` })),
    ...root.operators.map(({ vkey }) => ({ publicKey: vkey.publicKey, owner: vkey.name })),
    // Under a prefix: a witness chooses its key's name, which must not pass for one of the cluster's.
    ...root.witnesses.map(({ vkey }) => ({ publicKey: vkey.publicKey, owner: `witness ${vkey.name}` })),
  ];
}

/**
 * Reads a signed document, which may be attacker-controlled. Signatures are parsed, not verified.
 * @throws NoteError, TrustRootError
 */
export function parseSignedTrustRoot(note: string, sha256: Sha256): SignedTrustRoot {
  const { text, lines } = parseNote(note);
  return { trustRoot: parseTrustRootText(text, sha256), rootThk: rootThk(text, sha256), text, lines, note };
}

/** What an offline root key signs: the note text. */
export function trustRootMessage(text: string): Uint8Array {
  return noteMessage(text);
}

/** The signature line of the root key labelled `label`. @param key.signature 64 bytes over trustRootMessage(text) */
export function trustRootSignatureLine(
  key: {
    readonly clusterName: string;
    readonly label: string;
    readonly publicKey: Uint8Array;
    readonly signature: Uint8Array;
  },
  sha256: Sha256,
): SignatureLine {
  const { publicKey, signature } = key;
  return noteSignatureLine({ name: rootKeyName(key.clusterName, key.label), publicKey, signature }, sha256);
}

/** Who may cosign under this version: its active nodes. */
export function quorumPolicyOf(root: TrustRoot): QuorumPolicy {
  const active = root.nodes.filter((node) => node.status === "active");
  return { threshold: root.quorum, cosigners: active.map((node) => node.cosignerVkey) };
}

/** The same rule as a tlog-policy: every log key, the active nodes, `group nodes <k> …`, `quorum nodes`. */
export function tlogPolicyOf(root: TrustRoot): TlogPolicy {
  const active = root.nodes.filter((node) => node.status === "active");
  return {
    logs: root.origins.map((origin) => origin.logVkey),
    witnesses: active.map((node) => ({ name: node.nodeId, vkey: node.cosignerVkey })),
    groups: [{ name: "nodes", threshold: root.quorum, members: active.map((node) => node.nodeId) }],
    quorum: "nodes",
  };
}

/** Names of groups in the policy of witnessed heads, which a node may have as well. */
const OUTSIDE = "outside";
const BOTH = "both";

/** The name of a witness in a policy. No node id has a `/`. */
export function policyWitnessName(name: string): string {
  return `witness/${name}`;
}

/**
 * The rule of witnessed heads as a tlog-policy: the quorum of nodes, and as many witnesses as are needed,
 * `group outside <m> …`, `group both 2 nodes outside`, `quorum both`.
 * @param root one that lists witnesses
 */
export function witnessedPolicyOf(root: TrustRoot): TlogPolicy {
  if (root.witnesses.length === 0)
    throw new RangeError("a trust root without witnesses has no policy of witnessed heads");
  const nodeName = (nodeId: string): string => (nodeId === OUTSIDE || nodeId === BOTH ? `node/${nodeId}` : nodeId);
  const { logs, witnesses: nodes } = tlogPolicyOf(root);
  const inside = nodes.map(({ name, vkey }) => ({ name: nodeName(name), vkey }));
  const outside = root.witnesses.map(({ name, vkey }) => ({ name: policyWitnessName(name), vkey }));
  return {
    logs,
    witnesses: [...inside, ...outside],
    groups: [
      { name: "nodes", threshold: root.quorum, members: inside.map(nameOf) },
      { name: OUTSIDE, threshold: root.witnessQuorum, members: outside.map(nameOf) },
      { name: BOTH, threshold: 2, members: ["nodes", OUTSIDE] },
    ],
    quorum: BOTH,
  };
}

/** The line of an origin, if this version lists it. */
export function findOrigin(root: TrustRoot, originFingerprint: OriginFingerprint): TrustRootOrigin | undefined {
  return root.origins.find((origin) => equalBytes(origin.originFingerprint, originFingerprint));
}
