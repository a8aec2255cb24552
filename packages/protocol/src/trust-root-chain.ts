/** A chain of trust-root versions from a pinned hash to the newest one held. */
import { bytesToHex, equalBytes } from "./bytes.ts";
import type { Crypto } from "./crypto.ts";
import { verifyKnownLines } from "./known-lines.ts";
import type { NoteRefusalCode } from "./known-lines.ts";
import { NoteError, distinctVkeys, equalVkeys } from "./note.ts";
import type { Vkey } from "./note.ts";
import { TrustRootError, refuseUnless } from "./trust-root-error.ts";
import type { TrustRootCode } from "./trust-root-error.ts";
import { checkFirstCosigner, cosignerKeysOf, findOrigin, parseSignedTrustRoot, trustRootKeys } from "./trust-root.ts";
import type { SignedTrustRoot } from "./trust-root.ts";
import { nodeLine, originLine } from "./trust-root-text.ts";
import type { NodeStatus, OriginStatus, TrustRoot } from "./trust-root-text.ts";

declare const verified: unique symbol;

/** Versions without gaps, each verified from the one before it and the first one pinned. Only verification makes it. */
export interface TrustRootChain {
  readonly [verified]: true;
  /** Ascending by version; never empty. */
  readonly versions: readonly SignedTrustRoot[];
  readonly newest: SignedTrustRoot;
  /** Cosigner keys of the nodes of all versions, each key once. */
  readonly cosigners: readonly Vkey[];
}

export interface TrustRootRefusal {
  readonly result: "refused";
  readonly code: TrustRootCode;
  /** Which document, counted from 0. */
  readonly position: number;
  readonly detail: string;
}

export type TrustRootVerification = { readonly result: "verified"; readonly chain: TrustRootChain } | TrustRootRefusal;

/** Where a status may go; where it may stay is not listed. */
const ORIGIN_MOVES: Readonly<Record<OriginStatus, readonly OriginStatus[]>> = {
  active: ["closed", "lost"],
  closed: ["lost"],
  lost: [],
};

const NODE_MOVES: Readonly<Record<NodeStatus, readonly NodeStatus[]>> = {
  learner: ["active", "retired", "distrusted"],
  active: ["retired", "distrusted"],
  retired: ["distrusted"],
  distrusted: [],
};

const REFUSAL_CODES: Readonly<Record<NoteRefusalCode, TrustRootCode>> = {
  signatures_too_many: "malformed",
  key_ambiguous: "key_reused",
  signature_repeated: "signature_repeated",
  signature_invalid: "signature_invalid",
};

/** Signatures by `threshold` distinct root keys of each of the given versions. */
function checkSignatures(document: SignedTrustRoot, signers: readonly TrustRoot[], crypto: Crypto): void {
  const known: Vkey[] = signers.flatMap((signer) => signer.rootKeys.keys);
  const { verified: lines, refusal } = verifyKnownLines(document, known, crypto.ed25519Verify);
  if (refusal !== null) throw new TrustRootError(REFUSAL_CODES[refusal.code], `a line of ${refusal.name}`);
  for (const { version, rootKeys } of signers) {
    const count = rootKeys.keys.filter((key) => lines.some((line) => equalVkeys(line.vkey, key))).length;
    const detail = `${count} of the ${rootKeys.threshold} root keys that version ${version} asks for have signed`;
    refuseUnless(count >= rootKeys.threshold, "root_quorum_missing", detail);
  }
}

function checkOrigins(before: TrustRoot, after: TrustRoot): void {
  for (const old of before.origins) {
    const name = bytesToHex(old.originFingerprint);
    const next = findOrigin(after, old.originFingerprint);
    if (next === undefined) throw new TrustRootError("origin_removed", `the line of origin ${name} is gone`);
    const isLegal = next.status === old.status || ORIGIN_MOVES[old.status].includes(next.status);
    refuseUnless(isLegal, "origin_status_reversed", `origin ${name} goes from ${old.status} to ${next.status}`);
    refuseUnless(equalVkeys(old.logVkey, next.logVkey), "log_key_changed", `the log key of origin ${name} changes`);
  }
  for (const { originFingerprint, status } of after.origins) {
    const isNew = findOrigin(before, originFingerprint) === undefined;
    const name = bytesToHex(originFingerprint);
    refuseUnless(
      !isNew || status === "active",
      "origin_not_active_first",
      `origin ${name} is first listed as ${status}`,
    );
  }
}

function checkNodes(before: TrustRoot, after: TrustRoot, crypto: Crypto): void {
  for (const old of before.nodes) {
    const next = after.nodes.find((node) => node.nodeId === old.nodeId);
    if (next === undefined) throw new TrustRootError("node_removed", `the line of node ${old.nodeId} is gone`);
    const isLegal = next.status === old.status || NODE_MOVES[old.status].includes(next.status);
    refuseUnless(isLegal, "node_status_reversed", `node ${old.nodeId} goes from ${old.status} to ${next.status}`);
  }
  for (const node of after.nodes) {
    if (findOrigin(before, node.originFingerprint) === undefined) checkFirstCosigner(after, node, crypto.sha256);
  }
}

/** A key keeps its one use through all versions. */
class KeyUses {
  /** By public key in hex. */
  readonly #owners = new Map<string, string>();
  /** Versions share the keys of lines that did not change: these are known already. */
  readonly #learnt = new Set<Uint8Array>();

  constructor(versions: readonly SignedTrustRoot[]) {
    for (const { trustRoot } of versions) this.learn(trustRoot);
  }

  learn(root: TrustRoot): void {
    for (const { publicKey, owner } of trustRootKeys(root)) {
      if (this.#learnt.has(publicKey)) continue;
      this.#learnt.add(publicKey);
      this.#owners.set(bytesToHex(publicKey), owner);
    }
  }

  /** @throws TrustRootError `key_reused` */
  check(after: TrustRoot): void {
    for (const { publicKey, owner } of trustRootKeys(after)) {
      const before = this.#owners.get(bytesToHex(publicKey)) ?? owner;
      refuseUnless(before === owner, "key_reused", `the key of ${owner} was that of ${before}`);
    }
  }
}

/**
 * The next version, with the lines of origins and nodes that did not change as the version before it has them. They are
 * held once, so a version takes little more memory than its text.
 */
function sharingLines(before: TrustRoot, next: SignedTrustRoot): SignedTrustRoot {
  const { trustRoot } = next;
  const origins = shared(before.origins, trustRoot.origins, originLine);
  const nodes = shared(before.nodes, trustRoot.nodes, nodeLine);
  return { ...next, trustRoot: { ...trustRoot, origins, nodes } };
}

function shared<Line>(
  before: readonly Line[],
  after: readonly Line[],
  textOf: (line: Line) => string,
): readonly Line[] {
  const known = new Map(before.map((line) => [textOf(line), line]));
  return after.map((line) => known.get(textOf(line)) ?? line);
}

/** @param uses those of all versions up to `last` @throws TrustRootError, NoteError */
function successorOf(last: SignedTrustRoot, note: string, uses: KeyUses, crypto: Crypto): SignedTrustRoot {
  const document = parseSignedTrustRoot(note, crypto.sha256);
  const before = last.trustRoot;
  const after = document.trustRoot;
  const isNext = after.version === before.version + 1;
  refuseUnless(isNext, "version_gap", `version ${after.version} does not follow version ${before.version}`);
  refuseUnless(equalBytes(after.previous, last.rootThk), "previous_mismatch", "it follows another document");
  const isSameCluster = after.clusterName === before.clusterName && equalBytes(after.clusterId, before.clusterId);
  refuseUnless(isSameCluster, "cluster_changed", "cluster name and id never change");
  refuseUnless(after.epoch >= before.epoch, "epoch_decreased", `epoch goes from ${before.epoch} to ${after.epoch}`);
  checkOrigins(before, after);
  checkNodes(before, after, crypto);
  uses.check(after);
  checkSignatures(document, [before, after], crypto);
  return sharingLines(before, document);
}

/** The only place where a chain is made. */
function chainOf(
  versions: readonly SignedTrustRoot[],
  newest: SignedTrustRoot,
  cosigners: readonly Vkey[],
): TrustRootChain {
  const parts = { versions: Object.freeze([...versions]), newest, cosigners: Object.freeze(distinctVkeys(cosigners)) };
  return Object.freeze(parts) as TrustRootChain;
}

function refusal(error: unknown, position: number): TrustRootRefusal {
  if (error instanceof TrustRootError) {
    return { result: "refused", code: error.code, position, detail: error.message };
  }
  if (error instanceof NoteError) return { result: "refused", code: "malformed", position, detail: error.message };
  throw error;
}

/**
 * Verifies signed documents, which may be attacker-controlled, from the one whose hash is pinned. Expiry is not judged:
 * it needs a clock, and never invalidates a version of a chain.
 * @param documents whole signed notes in ascending order; the first is the pinned one
 * @param pinnedRootThk RootTHK learnt out of band, or that of a version verified earlier; 32 bytes
 */
export function verifyTrustRootChain(
  input: { readonly documents: readonly string[]; readonly pinnedRootThk: Uint8Array },
  crypto: Crypto,
): TrustRootVerification {
  let position = 0;
  try {
    const [first, ...rest] = input.documents;
    if (first === undefined) throw new TrustRootError("chain_empty", "there is no document");
    const pinned = parseSignedTrustRoot(first, crypto.sha256);
    const isPinned = equalBytes(pinned.rootThk, input.pinnedRootThk);
    refuseUnless(isPinned, "pin_mismatch", `the first document has RootTHK ${bytesToHex(pinned.rootThk)}`);
    checkSignatures(pinned, [pinned.trustRoot], crypto);
    const versions = [pinned];
    const uses = new KeyUses(versions);
    let newest = pinned;
    for (const note of rest) {
      position++;
      newest = successorOf(newest, note, uses, crypto);
      uses.learn(newest.trustRoot);
      versions.push(newest);
    }
    const cosigners = versions.flatMap(({ trustRoot }) => cosignerKeysOf(trustRoot));
    return { result: "verified", chain: chainOf(versions, newest, cosigners) };
  } catch (error) {
    return refusal(error, position);
  }
}

/** Adds the next version to a chain. The chain given is left as it was. */
export function extendTrustRootChain(chain: TrustRootChain, note: string, crypto: Crypto): TrustRootVerification {
  try {
    const next = successorOf(chain.newest, note, new KeyUses(chain.versions), crypto);
    const cosigners = [...chain.cosigners, ...cosignerKeysOf(next.trustRoot)];
    return { result: "verified", chain: chainOf([...chain.versions, next], next, cosigners) };
  } catch (error) {
    return refusal(error, chain.versions.length);
  }
}

/**
 * Holds a chain against the highest version this verifier has ever seen and kept.
 * @returns null if the chain may be used; `rollback` if its newest version is lower; `fork` if it has another document
 *   for that version, or begins after it and so cannot show that it has the same
 */
export function compareWithHighestSeen(
  chain: TrustRootChain,
  seen: { readonly version: number; readonly rootThk: Uint8Array },
): "rollback" | "fork" | null {
  if (chain.newest.trustRoot.version < seen.version) return "rollback";
  const same = chain.versions.find(({ trustRoot }) => trustRoot.version === seen.version);
  return same !== undefined && equalBytes(same.rootThk, seen.rootThk) ? null : "fork";
}
