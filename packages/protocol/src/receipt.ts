/** Verifies a receipt offline, step by step. docs/PROTOCOL.md, "Receipt". */
import { assertNever } from "./assert-never.ts";
import { bytesToHex, equalBytes } from "./bytes.ts";
import { CheckpointError, checkpointOrigin, parseCheckpoint } from "./checkpoint.ts";
import type { Checkpoint } from "./checkpoint.ts";
import type { Crypto } from "./crypto.ts";
import { DecodeError } from "./encoding.ts";
import { toOriginFingerprint } from "./ids.ts";
import type { AnchorId } from "./ids.ts";
import { verifyKnownLines } from "./known-lines.ts";
import type { NoteRefusalCode, VerifiedLine } from "./known-lines.ts";
import { LEAF_KIND, anchorIdOf, decodeLeaf } from "./leaf.ts";
import type { Leaf } from "./leaf.ts";
import { verifyConsistency, verifyInclusion } from "./merkle.ts";
import { NoteError, VKEY_TYPE, equalVkeys, parseNote } from "./note.ts";
import type { SignedNote, Vkey } from "./note.ts";
import { claimPayload, eventActorPayload, grantPayload, revocationPayload } from "./payloads.ts";
import type { Receipt } from "./proof.ts";
import { distinctPolicyLines } from "./quorum.ts";
import { tag } from "./tags.ts";
import type { TrustRootChain } from "./trust-root-chain.ts";
import { findOrigin, quorumPolicyOf } from "./trust-root.ts";
import type { SignedTrustRoot } from "./trust-root.ts";
import type { TrustRoot, TrustRootOrigin } from "./trust-root-text.ts";
import { witnessVkeysOf, witnessingOf, witnessingText, withoutWitnesses } from "./witnessing.ts";
import type { Witnessing } from "./witnessing.ts";

/** The steps in their order. A step after a failed one is `not_checked`. */
export const RECEIPT_STEPS = [
  "leaf",
  "content",
  "anchor_id",
  "checkpoint",
  "origin",
  "index",
  "inclusion",
  "log_signature",
  "cosignatures",
  "trust_root",
  "witnesses",
] as const;

export type ReceiptStepCode = (typeof RECEIPT_STEPS)[number];

export type ReceiptFailureCode =
  | "leaf_malformed"
  | "content_differs"
  | "anchor_id_differs"
  | "checkpoint_malformed"
  | "tree_size_differs"
  | "origin_differs"
  | "origin_unknown"
  | "index_differs"
  | "inclusion_wrong"
  | NoteRefusalCode
  | "log_signature_missing"
  | "quorum_not_met"
  | "cosigner_distrusted"
  | "no_witnesses"
  | "not_witnessed";

export interface ReceiptStep {
  readonly code: ReceiptStepCode;
  readonly result: "pass" | "fail" | "not_checked";
  /** For people. */
  readonly detail: string;
}

/** What the caller knows by other means. Without `eventHash` or `payload` the content is not checked. */
export interface ReceiptExpectation {
  /** SHA-256 of the caller's own event: what makes a receipt about *this* event. */
  readonly eventHash?: Uint8Array | undefined;
  /** The signed payload of a claim, grant, revocation or signed event. */
  readonly payload?: Uint8Array | undefined;
  readonly anchorId?: Uint8Array | undefined;
}

/** A later checkpoint of the same origin and the proof that the receipt's tree is a prefix of its tree. */
export interface ReceiptRenewal {
  /** Whole signed note. */
  readonly checkpoint: string;
  readonly consistency: readonly Uint8Array[];
}

export interface ReceiptInput {
  readonly receipt: Receipt;
  /** From verifyTrustRootChain. Never taken from where the receipt came from without its pin. */
  readonly trustRoots: TrustRootChain;
  readonly expect?: ReceiptExpectation;
  readonly renewal?: ReceiptRenewal;
  /** Refuses a receipt that is certified and not witnessed. Default: false. */
  readonly requireWitnessed?: boolean;
}

export interface ReceiptVerification extends Witnessing {
  readonly verdict: "valid" | "invalid";
  /** All of RECEIPT_STEPS, in their order. */
  readonly steps: readonly ReceiptStep[];
  /** The failed step; null if valid. */
  readonly failure: { readonly step: ReceiptStepCode; readonly code: ReceiptFailureCode } | null;
  /** Only this older version of the trust root is satisfied: renew the receipt. */
  readonly supersededTrustRoot?: number;
  /** The newest trust root marks the origin `lost`. */
  readonly originLost: boolean;
  /** Unless the leaf is malformed. */
  readonly leaf: Leaf | null;
  readonly anchorId: AnchorId | null;
  /** Good log and cosigner lines, once the step `log_signature` has passed. */
  readonly verified: readonly VerifiedLine[];
  /** Certified, and enough witnesses have signed: the step `witnesses` has passed. */
  readonly witnessed: boolean;
}

/** Ends the verification at the step that is under way. */
class StepFailure extends Error {
  readonly code: ReceiptFailureCode;
  constructor(code: ReceiptFailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

function refuseUnless(condition: boolean, code: ReceiptFailureCode, message: string): void {
  if (!condition) throw new StepFailure(code, message);
}

/** Collects the steps. Each is begun once, in order, and passes unless a StepFailure ends it. */
class StepList {
  readonly #done: ReceiptStep[] = [];

  pass(code: ReceiptStepCode, detail: string): void {
    this.#done.push({ code, result: "pass", detail });
  }

  skip(code: ReceiptStepCode, detail: string): void {
    this.#done.push({ code, result: "not_checked", detail });
  }

  /** Fails the first step that has no result, and leaves the rest unchecked. */
  fail(failure: StepFailure): { steps: ReceiptStep[]; failed: ReceiptStepCode } {
    const failed = RECEIPT_STEPS[this.#done.length] ?? "witnesses";
    this.#done.push({ code: failed, result: "fail", detail: failure.message });
    for (const code of RECEIPT_STEPS.slice(this.#done.length)) this.skip(code, "an earlier step failed");
    return { steps: this.#done, failed };
  }

  get steps(): readonly ReceiptStep[] {
    return this.#done;
  }
}

function readLeaf(bytes: Uint8Array): Leaf {
  try {
    return decodeLeaf(bytes);
  } catch (error) {
    if (error instanceof DecodeError) throw new StepFailure("leaf_malformed", error.message);
    throw error;
  }
}

/** The payload that the leaf's first signer signed; null for kinds without signatures. */
function payloadOf(leaf: Leaf, expected: Uint8Array): Uint8Array | null {
  switch (leaf.kind) {
    case LEAF_KIND.genesis:
    case LEAF_KIND.event:
    case LEAF_KIND.trustRoot:
      return null;
    case LEAF_KIND.claim:
      return claimPayload(leaf);
    case LEAF_KIND.grant:
      return grantPayload(leaf);
    case LEAF_KIND.revocation: {
      // The signed origin is the target's, which differs from the leaf's own if the target's origin is lost.
      const start = tag("revocation").length;
      if (expected.length < start + 32) return null;
      return revocationPayload({ ...leaf, originFingerprint: toOriginFingerprint(expected.slice(start, start + 32)) });
    }
    case LEAF_KIND.signedEvent:
      return eventActorPayload(leaf);
    default:
      return assertNever(leaf);
  }
}

function checkContent(steps: StepList, leaf: Leaf, expect: ReceiptExpectation): void {
  const { eventHash, payload } = expect;
  if (eventHash !== undefined) {
    const own = leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent ? leaf.eventHash : null;
    const isSame = own !== null && equalBytes(own, eventHash);
    refuseUnless(isSame, "content_differs", `the leaf does not hold the event hash ${bytesToHex(eventHash)}`);
  }
  if (payload !== undefined) {
    const own = payloadOf(leaf, payload);
    const isSame = own !== null && equalBytes(own, payload);
    refuseUnless(isSame, "content_differs", "the leaf does not hold what the payload says");
  }
  if (eventHash === undefined && payload === undefined)
    steps.skip("content", "no event hash or payload was given to compare");
  else steps.pass("content", "the leaf holds what was given");
}

function checkAnchorId(steps: StepList, anchorId: AnchorId, expected: Uint8Array | undefined): void {
  const hex = bytesToHex(anchorId);
  const isSame = expected === undefined || equalBytes(anchorId, expected);
  refuseUnless(isSame, "anchor_id_differs", `the leaf hashes to ${hex}`);
  steps.pass("anchor_id", `the leaf hashes to ${hex}`);
}

interface NotedCheckpoint {
  readonly note: SignedNote;
  readonly checkpoint: Checkpoint;
}

function readCheckpoint(text: string): NotedCheckpoint {
  try {
    const note = parseNote(text);
    return { note, checkpoint: parseCheckpoint(note.text) };
  } catch (error) {
    if (error instanceof NoteError || error instanceof CheckpointError) {
      throw new StepFailure("checkpoint_malformed", error.message);
    }
    throw error;
  }
}

function checkCheckpoint(steps: StepList, receipt: Receipt): NotedCheckpoint {
  const noted = readCheckpoint(receipt.checkpoint);
  const { treeSize } = noted.checkpoint;
  const isSame = treeSize === receipt.treeSize;
  refuseUnless(isSame, "tree_size_differs", `the receipt says ${receipt.treeSize}, its checkpoint ${treeSize}`);
  steps.pass("checkpoint", `a tree of ${treeSize} leaves`);
  return noted;
}

/** The newest version must list the origin: it says which log key is right and whether the origin is lost. */
function checkOrigin(steps: StepList, leaf: Leaf, checkpoint: Checkpoint, newest: TrustRoot): TrustRootOrigin {
  const expected = checkpointOrigin(newest.clusterName, leaf.originFingerprint);
  refuseUnless(checkpoint.origin === expected, "origin_differs", `the checkpoint is not of origin ${expected}`);
  const origin = findOrigin(newest, leaf.originFingerprint);
  if (origin === undefined) {
    throw new StepFailure("origin_unknown", `trust root ${newest.version} does not list origin ${expected}`);
  }
  steps.pass("origin", expected);
  return origin;
}

function checkInclusion(steps: StepList, receipt: Receipt, leaf: Leaf, noted: NotedCheckpoint, crypto: Crypto): void {
  const { index, path } = receipt;
  const { treeSize, rootHash } = noted.checkpoint;
  const isPlaced = index === leaf.depth && index < treeSize;
  refuseUnless(isPlaced, "index_differs", `index ${index}, depth ${leaf.depth}, tree size ${treeSize}`);
  steps.pass("index", `leaf ${index} of ${treeSize}`);
  const leafHash = anchorIdOf(receipt.leaf, crypto.sha256);
  const isIncluded = verifyInclusion({ leafHash, index, size: treeSize, path, rootHash }, crypto.sha256);
  refuseUnless(isIncluded, "inclusion_wrong", "the path does not lead from the leaf to the root hash");
  steps.pass("inclusion", `${path.length} hashes lead to root ${bytesToHex(rootHash)}`);
}

/**
 * The keys whose lines are looked at: a failing or repeated line of one of them refuses the note. Nodes are those of
 * all versions held, witnesses those of the newest alone.
 */
export function checkpointKeys({ cosigners, newest }: TrustRootChain, origin: TrustRootOrigin): Vkey[] {
  return [origin.logVkey, ...cosigners, ...witnessVkeysOf(newest.trustRoot)];
}

function verifyLines(
  noted: NotedCheckpoint,
  chain: TrustRootChain,
  origin: TrustRootOrigin,
  crypto: Crypto,
): readonly VerifiedLine[] {
  const { verified, refusal } = verifyKnownLines(noted.note, checkpointKeys(chain, origin), crypto.ed25519Verify);
  if (refusal !== null) throw new StepFailure(refusal.code, `the signature line of ${refusal.name}`);
  const isLogged = verified.some(({ vkey }) => vkey.type === VKEY_TYPE.ed25519 && equalVkeys(vkey, origin.logVkey));
  refuseUnless(isLogged, "log_signature_missing", `no signature line of ${origin.logVkey.name}`);
  return verified;
}

/** Whether distinct good lines of this version's active nodes reach its quorum. */
function meets(version: SignedTrustRoot, leaf: Leaf, verified: readonly VerifiedLine[]): boolean {
  if (findOrigin(version.trustRoot, leaf.originFingerprint) === undefined) return false;
  const policy = quorumPolicyOf(version.trustRoot);
  return distinctPolicyLines(verified, policy).length >= policy.threshold;
}

function checkCosignatures(
  steps: StepList,
  chain: TrustRootChain,
  leaf: Leaf,
  verified: readonly VerifiedLine[],
): void {
  const cosigners = verified.filter((line) => line.timeS !== null);
  // Most receipts satisfy the newest version.
  const isMet = [chain.newest, ...chain.versions].some((version) => meets(version, leaf, verified));
  const { quorum } = chain.newest.trustRoot;
  refuseUnless(isMet, "quorum_not_met", `${cosigners.length} good cosignatures, a quorum is ${quorum}`);
  steps.pass("cosignatures", cosigners.map((line) => line.vkey.name).join(", "));
}

/** Drops lines of nodes that the newest version marks `distrusted`, whichever key they used. */
function withoutDistrusted(newest: TrustRoot, verified: readonly VerifiedLine[]): VerifiedLine[] {
  const distrusted = newest.nodes.filter((node) => node.status === "distrusted").map((node) => node.cosignerVkey);
  return verified.filter(
    ({ vkey }) => !distrusted.some((key) => key.name === vkey.name || equalBytes(key.publicKey, vkey.publicKey)),
  );
}

/** Whether the renewal leads from the receipt's checkpoint to one that satisfies the newest version. */
function isRenewed(input: ReceiptInput, leaf: Leaf, origin: TrustRootOrigin, old: Checkpoint, crypto: Crypto): boolean {
  if (input.renewal === undefined) return false;
  const noted = readCheckpoint(input.renewal.checkpoint);
  const { origin: name, treeSize: size, rootHash: root } = noted.checkpoint;
  const verified = verifyLines(noted, input.trustRoots, origin, crypto);
  const proof = { oldSize: old.treeSize, oldRoot: old.rootHash, size, root, path: input.renewal.consistency };
  const isSameTree = name === old.origin && verifyConsistency(proof, crypto.sha256);
  return isSameTree && meets(input.trustRoots.newest, leaf, verified);
}

/** What the witnesses of the newest version have signed counts, whichever version the quorum satisfies. */
function checkWitnesses(steps: StepList, root: TrustRoot, witnessing: Witnessing, isRequired: boolean): void {
  const detail = witnessingText(witnessing, root);
  if (isRequired) {
    refuseUnless(root.witnesses.length > 0, "no_witnesses", detail);
    refuseUnless(witnessing.witnessed, "not_witnessed", detail);
  }
  if (witnessing.witnessed) steps.pass("witnesses", detail);
  else steps.skip("witnesses", `certified, not witnessed: ${detail}`);
}

/** @returns the older version that alone is satisfied, or null if the newest one is, directly or by renewal */
function checkTrustRoot(
  input: ReceiptInput,
  leaf: Leaf,
  origin: TrustRootOrigin,
  checkpoint: Checkpoint,
  verified: readonly VerifiedLine[],
  crypto: Crypto,
): number | null {
  const { newest, versions } = input.trustRoots;
  if (meets(newest, leaf, verified) || isRenewed(input, leaf, origin, checkpoint, crypto)) return null;
  const trusted = withoutDistrusted(newest.trustRoot, verified);
  for (let position = versions.length - 1; position >= 0; position--) {
    const version = versions[position];
    if (version !== undefined && meets(version, leaf, trusted)) return version.trustRoot.version;
  }
  const version = newest.trustRoot.version;
  throw new StepFailure("cosigner_distrusted", `the quorum needs a node that trust root ${version} distrusts`);
}

/** What has been found so far: each step adds to it. */
interface Found {
  leaf: Leaf | null;
  anchorId: AnchorId | null;
  originLost: boolean;
  verified: readonly VerifiedLine[];
  supersededTrustRoot?: number;
  witnesses: Witnessing["witnesses"];
  witnessed: boolean;
}

/** Runs the steps. @throws StepFailure at the first that fails */
function runSteps(steps: StepList, found: Found, input: ReceiptInput, crypto: Crypto): void {
  const { receipt, trustRoots, expect = {}, requireWitnessed = false } = input;
  const newest = trustRoots.newest.trustRoot;
  const leaf = readLeaf(receipt.leaf);
  found.leaf = leaf;
  steps.pass("leaf", `kind ${leaf.kind}, depth ${leaf.depth}, sequence ${leaf.sequence}`);
  checkContent(steps, leaf, expect);
  found.anchorId = anchorIdOf(receipt.leaf, crypto.sha256);
  checkAnchorId(steps, found.anchorId, expect.anchorId);
  const noted = checkCheckpoint(steps, receipt);
  const origin = checkOrigin(steps, leaf, noted.checkpoint, newest);
  found.originLost = origin.status === "lost";
  checkInclusion(steps, receipt, leaf, noted, crypto);
  const lines = verifyLines(noted, trustRoots, origin, crypto);
  const witnessing = witnessingOf(newest, lines);
  found.verified = withoutWitnesses(newest, lines);
  found.witnesses = witnessing.witnesses;
  steps.pass("log_signature", origin.logVkey.name);
  checkCosignatures(steps, trustRoots, leaf, found.verified);
  const superseded = checkTrustRoot(input, leaf, origin, noted.checkpoint, found.verified, crypto);
  const lost = found.originLost ? "; the origin is lost" : "";
  if (superseded === null) {
    steps.pass("trust_root", `satisfies trust root ${newest.version}, the newest held${lost}`);
  } else {
    steps.pass("trust_root", `satisfies trust root ${superseded}, superseded by ${newest.version}${lost}`);
    found.supersededTrustRoot = superseded;
  }
  checkWitnesses(steps, newest, witnessing, requireWitnessed);
  found.witnessed = witnessing.witnessed;
}

/**
 * Verifies that a leaf is in a tree that a quorum of the cluster has cosigned. The receipt may be attacker-controlled;
 * the trust roots must not be. It does not verify signatures inside the leaf, nor whether a claim or grant is still in
 * force.
 */
export function verifyReceipt(input: ReceiptInput, crypto: Crypto): ReceiptVerification {
  const steps = new StepList();
  const found: Found = {
    leaf: null,
    anchorId: null,
    originLost: false,
    verified: [],
    witnesses: [],
    witnessed: false,
  };
  const witnessesNeeded = input.trustRoots.newest.trustRoot.witnessQuorum;
  try {
    runSteps(steps, found, input, crypto);
    return { ...found, verdict: "valid", steps: steps.steps, failure: null, witnessesNeeded };
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    const { steps: all, failed } = steps.fail(error);
    const failure = { step: failed, code: error.code };
    return { ...found, verdict: "invalid", steps: all, failure, witnessesNeeded };
  }
}
