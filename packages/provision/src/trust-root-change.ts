/** The next version of a trust root: composed from the newest one, then signed by the holders of root keys. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import {
  ZERO_32,
  bytesToHex,
  compareBytes,
  equalBytes,
  extendTrustRootChain,
  formatNote,
  formatTrustRootText,
  formatVkey,
  noteSignatureLine,
  parseNote,
  parseTrustRootText,
  rootThk,
  trustRootMessage,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type {
  SignatureLine,
  TrustRoot,
  TrustRootChain,
  TrustRootNode,
  TrustRootOperator,
  TrustRootOrigin,
  TrustRootRefusal,
  TrustRootWitness,
  Vkey,
} from "@event-anchoring/protocol";
import type { NodeCard } from "./node-card.ts";
import { restorationFault } from "./restoration-rule.ts";

/** What is to become different. Whatever is not named stays as it is. */
export interface TrustRootChange {
  /** Unix seconds. */
  readonly issuedS: number;
  /** Unix seconds; default: as long after `issuedS` as in the version before. */
  readonly expiresS?: number;
  /** New nodes, by the cards that their operators sent: they follow the log, and neither vote nor cosign. */
  readonly learners?: readonly NodeCard[];
  /** New nodes that vote and cosign as soon as they have caught up. */
  readonly actives?: readonly NodeCard[];
  /** Learners that become active. */
  readonly promote?: readonly string[];
  /** Nodes that leave in good standing: what they have signed stays good. Their origins are closed. */
  readonly retire?: readonly string[];
  /** Nodes whose keys may be in wrong hands: receipts that need them fail. Their origins are closed. */
  readonly distrust?: readonly string[];
  /** Nodes of this trust root with other keys; a card with a new origin moves the node there. */
  readonly newKeys?: readonly NodeCard[];
  /** Origins that are given up: nothing is ever added or certified again, 64 hex digits each. */
  readonly loseOrigins?: readonly string[];
  /** The cluster is restored by other nodes: those of the version before all leave. */
  readonly raiseEpoch?: boolean;
  readonly addRootKeys?: readonly Vkey[];
  /** Names or labels of root keys. */
  readonly removeRootKeys?: readonly string[];
  readonly rootThreshold?: number;
  /** SHA-256 of a CA's SubjectPublicKeyInfo, 32 bytes each. */
  readonly addCas?: readonly Uint8Array[];
  readonly removeCas?: readonly Uint8Array[];
  readonly quorum?: number;
  /** Keys named `<cluster name>/operator/<name>`. */
  readonly addOperators?: readonly Vkey[];
  /** Names of operators whose signatures count no more. One that is also added gets another key. */
  readonly removeOperators?: readonly string[];
  readonly addWitnesses?: readonly TrustRootWitness[];
  readonly removeWitnesses?: readonly string[];
  /** How many witnesses must cosign; default: as many as before, for the first ones more than half. */
  readonly witnessQuorum?: number;
}

/** The change cannot be made to this trust root; the message says which part of it and why. */
export class TrustRootChangeError extends Error {
  override readonly name = "TrustRootChangeError";
}

/** A version on its way: its text, and who has signed it so far. */
export interface TrustRootProposal {
  readonly text: string;
  readonly trustRoot: TrustRoot;
  /** What it will be pinned by: a hash of the text, the same before and after signing. */
  readonly rootThk: Uint8Array;
  readonly lines: readonly SignatureLine[];
}

/** Signatures that count towards one version's threshold. */
export interface SignatureCount {
  readonly version: number;
  readonly threshold: number;
  /** Names of the keys that have signed. */
  readonly signed: readonly string[];
  readonly waiting: readonly string[];
}

/**
 * Composes the version after the newest one of `chain` and holds it against every rule but that of signatures.
 * @throws TrustRootChangeError, or TrustRootError for a document that no trust root may be
 */
export function composeTrustRoot(chain: TrustRootChain, change: TrustRootChange): TrustRootProposal {
  const before = chain.newest.trustRoot;
  const after: TrustRoot = {
    clusterName: before.clusterName,
    clusterId: before.clusterId,
    version: before.version + 1,
    epoch: before.epoch + (change.raiseEpoch === true ? 1 : 0),
    previous: chain.newest.rootThk,
    issuedS: change.issuedS,
    expiresS: change.expiresS ?? change.issuedS + (before.expiresS - before.issuedS),
    rootKeys: rootKeysAfter(before, change),
    ca: casAfter(before, change),
    origins: originsAfter(before, change),
    nodes: nodesAfter(before, change),
    operators: operatorsAfter(before, change),
    quorum: change.quorum ?? before.quorum,
    ...witnessesAfter(before, change),
  };
  const text = formatTrustRootText(after);
  const proposal = { text, ...derived(text), lines: [] };
  const refusal = judgeProposal(chain, proposal);
  if (refusal !== null) throw new TrustRootChangeError(`${refusal.code}: ${refusal.detail}`);
  refuseHalfRestoration(before, proposal);
  return proposal;
}

function refuseHalfRestoration(before: TrustRoot, { trustRoot }: TrustRootProposal): void {
  const fault = restorationFault(before, trustRoot);
  if (fault !== null) throw new TrustRootChangeError(fault);
}

/** Reads what formatProposal wrote, or a document that is signed enough. @throws NoteError, TrustRootError */
export function parseProposal(content: string): TrustRootProposal {
  // A note needs a signature line; before the first one there is the text alone.
  if (!content.includes("\n\n")) return { text: content, ...derived(content), lines: [] };
  const { text, lines } = parseNote(content);
  return { text, ...derived(text), lines };
}

export function formatProposal({ text, lines }: TrustRootProposal): string {
  return lines.length === 0 ? text : formatNote(text, lines);
}

function derived(text: string): Pick<TrustRootProposal, "trustRoot" | "rootThk"> {
  const { sha256 } = nodeCrypto;
  return { trustRoot: parseTrustRootText(text, sha256), rootThk: rootThk(text, sha256) };
}

/**
 * Why the proposal may not follow the chain; null: only signatures may be missing.
 * @param chain null: there is none yet, the proposal is to be a cluster's first version
 */
export function judgeProposal(chain: TrustRootChain | null, proposal: TrustRootProposal): TrustRootRefusal | null {
  // A line of an unknown key is ignored by the rules, and lets a text without signatures be read as a note.
  const nobody = noteSignatureLine(
    { name: "unsigned", publicKey: ZERO_32, signature: new Uint8Array(64) },
    nodeCrypto.sha256,
  );
  const note = formatNote(proposal.text, proposal.lines.length === 0 ? [nobody] : proposal.lines);
  const result =
    chain === null
      ? verifyTrustRootChain({ documents: [note], pinnedRootThk: proposal.rootThk }, nodeCrypto)
      : extendTrustRootChain(chain, note, nodeCrypto);
  if (chain === null && proposal.trustRoot.version !== 1) {
    throw new TrustRootChangeError(`version ${proposal.trustRoot.version} follows versions that are not held here`);
  }
  return result.result === "verified" || result.code === "root_quorum_missing" ? null : result;
}

/** What the thresholds of the version before and of the proposed one still wait for. */
export function countSignatures(chain: TrustRootChain | null, proposal: TrustRootProposal): readonly SignatureCount[] {
  return signedBy(chain, proposal).map(({ version, rootKeys }) => {
    const signed = rootKeys.keys.filter((key) => hasSigned(proposal, key));
    return {
      version,
      threshold: rootKeys.threshold,
      signed: signed.map(({ name }) => name),
      waiting: rootKeys.keys.filter((key) => !signed.includes(key)).map(({ name }) => name),
    };
  });
}

/** The versions whose thresholds count: the one before, if there is one, and the proposed one. */
function signedBy(chain: TrustRootChain | null, { trustRoot }: TrustRootProposal): readonly TrustRoot[] {
  return chain === null ? [trustRoot] : [chain.newest.trustRoot, trustRoot];
}

function hasSigned({ text, lines }: TrustRootProposal, key: Vkey): boolean {
  const line = lines.find(({ name, keyId }) => name === key.name && keyId === key.keyId);
  return line !== undefined && nodeCrypto.ed25519Verify(key.publicKey, trustRootMessage(text), line.signature);
}

/**
 * Adds the signature of one root key, of the version before or of the proposed one. Signing twice changes nothing.
 * @throws TrustRootChangeError for a key of neither, and for an epoch that is raised in part
 */
export function signProposal(
  chain: TrustRootChain | null,
  proposal: TrustRootProposal,
  signer: Signer,
): TrustRootProposal {
  const versions = signedBy(chain, proposal);
  const known = versions.flatMap(({ rootKeys }) => rootKeys.keys);
  const key = known.find(({ publicKey }) => equalBytes(publicKey, signer.publicKey));
  if (key === undefined) {
    const names = versions.map(({ version }) => version).join(" or ");
    throw new TrustRootChangeError(`the key is no root key of version ${names}`);
  }
  if (chain !== null) refuseHalfRestoration(chain.newest.trustRoot, proposal);
  if (hasSigned(proposal, key)) return proposal;
  const signature = signer.sign(trustRootMessage(proposal.text));
  const line = noteSignatureLine({ name: key.name, publicKey: key.publicKey, signature }, nodeCrypto.sha256);
  return mergeProposals([{ ...proposal, lines: [...proposal.lines, line] }]);
}

/** One proposal with the signatures of several copies of it. @throws TrustRootChangeError for different texts */
export function mergeProposals(copies: readonly TrustRootProposal[]): TrustRootProposal {
  const [first] = copies;
  if (first === undefined) throw new TrustRootChangeError("there is no proposal");
  if (copies.some(({ text }) => text !== first.text)) throw new TrustRootChangeError("the copies differ in their text");
  const lines = new Map<string, SignatureLine>();
  for (const line of copies.flatMap((copy) => copy.lines)) lines.set(`${line.name} ${line.keyId}`, line);
  const sorted = [...lines].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line);
  return { ...first, lines: sorted };
}

function rootKeysAfter({ rootKeys, clusterName }: TrustRoot, change: TrustRootChange): TrustRoot["rootKeys"] {
  const removed = (change.removeRootKeys ?? []).map((name) => {
    const key = rootKeys.keys.find((each) => each.name === name || each.name === `${clusterName}/root/${name}`);
    if (key === undefined) throw new TrustRootChangeError(`there is no root key ${name}`);
    return key;
  });
  const keys = [...rootKeys.keys.filter((key) => !removed.includes(key)), ...(change.addRootKeys ?? [])];
  return { threshold: change.rootThreshold ?? rootKeys.threshold, keys: keys.toSorted(byText) };
}

function byText(a: Vkey, b: Vkey): number {
  return formatVkey(a) < formatVkey(b) ? -1 : 1;
}

function casAfter({ ca }: TrustRoot, { addCas = [], removeCas = [] }: TrustRootChange): readonly Uint8Array[] {
  for (const pin of removeCas) {
    if (!ca.some((each) => equalBytes(each, pin))) throw new TrustRootChangeError(`no CA ${bytesToHex(pin)} is pinned`);
  }
  const kept = ca.filter((pin) => !removeCas.some((gone) => equalBytes(gone, pin)));
  if (kept.length + addCas.length === 0) throw new TrustRootChangeError("no CA would be left");
  return [...kept, ...addCas].toSorted(compareBytes);
}

function originsAfter(before: TrustRoot, change: TrustRootChange): readonly TrustRootOrigin[] {
  const leaving = [...(change.retire ?? []), ...(change.distrust ?? [])].map((nodeId) => nodeOf(before, nodeId));
  const lost = change.loseOrigins ?? [];
  for (const hex of lost) {
    if (!before.origins.some(({ originFingerprint }) => bytesToHex(originFingerprint) === hex)) {
      throw new TrustRootChangeError(`there is no origin ${hex}`);
    }
  }
  const kept = before.origins.map((origin): TrustRootOrigin => {
    const isClosing = leaving.some((node) => equalBytes(node.originFingerprint, origin.originFingerprint));
    if (lost.includes(bytesToHex(origin.originFingerprint))) return { ...origin, status: "lost" };
    return isClosing && origin.status === "active" ? { ...origin, status: "closed" } : origin;
  });
  const cards = [...(change.learners ?? []), ...(change.actives ?? []), ...(change.newKeys ?? [])];
  const added = cards
    .filter((card) => !kept.some((origin) => equalBytes(origin.originFingerprint, card.originFingerprint)))
    .map(({ originFingerprint, logVkey }) => ({ originFingerprint, status: "active" as const, logVkey }));
  return [...kept, ...added].toSorted((a, b) => compareBytes(a.originFingerprint, b.originFingerprint));
}

function operatorsAfter(before: TrustRoot, change: TrustRootChange): readonly TrustRootOperator[] {
  const added = (change.addOperators ?? []).map((vkey) => operatorOf(before.clusterName, vkey));
  return [...without("operator", before.operators, change.removeOperators), ...added];
}

/** The line of an operator's key, which says whose it is. @throws TrustRootChangeError */
export function operatorOf(clusterName: string, vkey: Vkey): TrustRootOperator {
  const prefix = `${clusterName}/operator/`;
  if (!vkey.name.startsWith(prefix)) {
    throw new TrustRootChangeError(`${vkey.name} is no key of an operator of ${clusterName}`);
  }
  return { name: vkey.name.slice(prefix.length), vkey };
}

function witnessesAfter(before: TrustRoot, change: TrustRootChange): Pick<TrustRoot, "witnesses" | "witnessQuorum"> {
  const kept = without("witness", before.witnesses, change.removeWitnesses);
  const witnesses = [...kept, ...(change.addWitnesses ?? [])];
  if (witnesses.length === 0) return { witnesses, witnessQuorum: 0 };
  const majority = Math.floor(witnesses.length / 2) + 1;
  return { witnesses, witnessQuorum: change.witnessQuorum ?? (before.witnessQuorum || majority) };
}

function without<Named extends { readonly name: string }>(
  what: string,
  listed: readonly Named[],
  gone: readonly string[] = [],
): readonly Named[] {
  const unknown = gone.find((name) => !listed.some((each) => each.name === name));
  if (unknown !== undefined) throw new TrustRootChangeError(`the trust root lists no ${what} ${unknown}`);
  return listed.filter(({ name }) => !gone.includes(name));
}

function nodesAfter(before: TrustRoot, change: TrustRootChange): readonly TrustRootNode[] {
  const moves = new Map<string, TrustRootNode["status"]>();
  const move = (nodeIds: readonly string[] | undefined, status: TrustRootNode["status"]): void => {
    for (const nodeId of nodeIds ?? []) {
      if (moves.has(nodeId)) throw new TrustRootChangeError(`two things are asked for of node ${nodeId}`);
      nodeOf(before, nodeId);
      moves.set(nodeId, status);
    }
  };
  move(change.promote, "active");
  move(change.retire, "retired");
  move(change.distrust, "distrusted");
  const keys = new Map((change.newKeys ?? []).map((card) => [card.nodeId, keysOf(before, card)]));
  for (const nodeId of keys.keys()) nodeOf(before, nodeId);
  const kept = before.nodes.map((node) => ({
    ...node,
    ...keys.get(node.nodeId),
    status: moves.get(node.nodeId) ?? node.status,
  }));
  const joining = (card: NodeCard, status: "learner" | "active"): TrustRootNode => {
    if (kept.some(({ nodeId }) => nodeId === card.nodeId)) {
      throw new TrustRootChangeError(`${card.nodeId} is in the trust root already: node ids are never used again`);
    }
    return { nodeId: card.nodeId, status, ...keysOf(before, card) };
  };
  const added = [
    ...(change.learners ?? []).map((card) => joining(card, "learner")),
    ...(change.actives ?? []).map((card) => joining(card, "active")),
  ];
  return [...kept, ...added].toSorted((a, b) => (a.nodeId < b.nodeId ? -1 : 1));
}

function keysOf(before: TrustRoot, card: NodeCard): Omit<TrustRootNode, "nodeId" | "status"> {
  if (!equalBytes(card.clusterId, before.clusterId) || card.clusterName !== before.clusterName) {
    throw new TrustRootChangeError(`the card of ${card.nodeId} is for another cluster`);
  }
  const { originFingerprint, cosignerVkey, authPublicKey } = card;
  return { originFingerprint, cosignerVkey, authPublicKey };
}

function nodeOf(before: TrustRoot, nodeId: string): TrustRootNode {
  const node = before.nodes.find((each) => each.nodeId === nodeId);
  if (node === undefined) throw new TrustRootChangeError(`the trust root lists no node ${nodeId}`);
  return node;
}
