/** The proof of a verdict: a bundle with a state head, verified before it is answered. docs/PROTOCOL.md, "Bundle". */
import {
  assembleStateBundle,
  bundleToJson,
  leavesOfStateBundle,
  recordsOfStateBundle,
  stateValueOf,
  verifyBundle,
} from "@event-anchoring/bundle";
import type { Bundle, BundleVerification, StateBundleSubject } from "@event-anchoring/bundle";
import { LIMITS } from "@event-anchoring/api-contract";
import type { ProofAnswer } from "@event-anchoring/api-contract";
import {
  LEAF_KIND,
  bytesToHex,
  decodeLeaf,
  proveInclusion,
  stateKeyOf,
  subtreesForInclusion,
} from "@event-anchoring/protocol";
import type { StateHead } from "@event-anchoring/protocol";
import { RECORD_STATE_KIND, targetsInView } from "@event-anchoring/records";
import type { AsOf, ClaimRecord, GrantRecord, RecordsInView, VerdictMemo } from "@event-anchoring/records";
import type { StoredAnchor } from "@event-anchoring/store";
import { RefusedError } from "../control-plane/control-plane.ts";
import type { SignedState } from "../control-plane/hold-state.ts";
import type { Deadline } from "../request/deadline.ts";
import { problemError } from "../request/problem-error.ts";
import { ConsistentRead } from "./consistent-read.ts";
import { REVOCATIONS_MAX, loadLeaves, loadRecords } from "./load-records.ts";
import type { StateReads, StatesToRead } from "./node-reads.ts";
import { loadFacts, placesOnTheWay, referencesOf } from "./on-the-way.ts";
import { headOf } from "./state-position.ts";
import type { TrustRootReader } from "./trust-root-reader.ts";
import { verifyAhead } from "./verdicts.ts";

export interface ProofSources {
  readonly states: StatesToRead;
  readonly trustRoots: TrustRootReader;
  /** It has the verdicts on the signatures of the answer already. */
  readonly crypto: VerdictMemo;
}

/** What is proved: an anchor as of a position that the head proves. */
export interface ToProve {
  readonly anchor: StoredAnchor;
  readonly asOf: AsOf;
  readonly state: SignedState;
  readonly deadline: Deadline;
}

/** A proof, and what it says. */
export interface MadeProof {
  readonly json: ProofAnswer;
  readonly verification: BundleVerification;
  /** Claims and grants in it. */
  readonly records: number;
}

/** One state, and what of it is read. */
interface StateInView {
  readonly read: ConsistentRead;
  readonly reads: StateReads;
  readonly head: StateHead;
  readonly crypto: VerdictMemo;
}

/**
 * Proves the verdicts on an anchor as of a position.
 * @throws ProblemError `proof_too_large`; RefusedError `unavailable` if what this node has in its tables proves nothing
 */
export async function proveAuthority(toProve: ToProve, sources: ProofSources): Promise<MadeProof> {
  const { state, deadline } = toProve;
  const { states, trustRoots, crypto } = sources;
  const head = headOf(state);
  return states.atState(state.databaseSnapshot, async (reads) => {
    const { raftIndex: readIndex } = state;
    const ready = { readIndex, certificates: [], trustRootVersion: head.trustRootVersion, latest: null };
    const read = ConsistentRead.from(ready, { reads: { opened: async () => reads } }, deadline);
    const chain = await trustRoots.chain(read);
    const documents = chain.versions
      .filter(({ trustRoot }) => trustRoot.version <= head.trustRootVersion)
      .map(({ note }) => note);
    const bundle = await bundleOf(toProve, documents, { read, reads, head, crypto });
    const verification = verifyBundle({ bundle, trust: { trustRoots: chain } }, crypto);
    assertProved(verification);
    return { json: proofOf(bundle), verification, records: bundle.state?.records.length ?? 0 };
  });
}

/** The bundle as the answer has it: what it has besides the state head's part is of no use beside one. */
function proofOf(bundle: Bundle): ProofAnswer {
  const { state, leaves, ...json } = bundleToJson(bundle);
  if (state === undefined) throw new Error("a proof has a state head");
  return { ...json, leaves: leaves.map((leaf) => ({ ...leaf, checkpoint: null })), ranges: [], state, stated: null };
}

/** What this node cannot prove to itself it does not answer. */
function assertProved({ outcome, checks }: BundleVerification): void {
  if (outcome === "valid") return;
  const found = checks.find(({ result }) => result !== "pass");
  throw new RefusedError("unavailable", `its own proof is ${outcome}: ${found?.code ?? ""}: ${found?.detail ?? ""}`);
}

async function bundleOf(toProve: ToProve, documents: readonly string[], view: StateInView): Promise<Bundle> {
  const { anchor, asOf, state, deadline } = toProve;
  const { read, head, crypto } = view;
  const about = await subjectOf(toProve, read);
  const positions = [{ sequence: anchor.sequence, timeMs: anchor.acceptedMs }, asOf];
  const records = await loadRecords(read, placesOnTheWay(anchor, about.references), positions);
  const inView = recordsOfStateBundle(about, records);
  if (inView.grants.length > LIMITS.traceDelegationMax) throw problemError("proof_too_large");
  const targets = targetsInView(inView);
  const [{ revocations }, { acceptedMs }] = await Promise.all([
    targets.length === 0
      ? { revocations: [] }
      : read.select((reads) => reads.revocationsOf(targets, asOf.sequence, REVOCATIONS_MAX)),
    read.select((reads) => reads.acceptedMsOf(asOf.sequence)),
  ]);
  const ofHead = { newest: head.nextSequence - 1, leafMs: acceptedMs ?? 0 };
  const sequences = revocations.map(({ sequence }) => sequence);
  const leaves = await loadLeaves(read, leavesOfStateBundle(about, inView, sequences, ofHead));
  const stated = await statedRecords(inView, view);
  await verifyAhead([...leaves, ...stated.map(({ leaf: bytes }) => ({ bytes }))], crypto, deadline);
  return assembleStateBundle({
    subject: anchor.anchorId,
    asOf,
    trustRoots: documents,
    head: state.stateHead,
    records: stated,
    leaves: await withPaths(leaves, view),
    stated: null,
  });
}

async function subjectOf(
  { anchor, asOf }: ToProve,
  read: ConsistentRead,
): Promise<StateBundleSubject & { readonly references: ReadonlyMap<string, StoredAnchor> }> {
  const leaf = decodeLeaf(anchor.bytes);
  const ids = leaf.kind === LEAF_KIND.revocation ? [leaf.targetAnchorId] : referencesOf(anchor);
  return { leaf, asOf, references: await loadFacts(read, ids) };
}

/** Ascending by sequence, each with the proof of its value. */
async function statedRecords({ claims, grants }: RecordsInView, { read, reads, crypto }: StateInView) {
  const records = [...claims, ...grants].sort((a, b) => a.sequence - b.sequence);
  const keys = records.map((record) => stateKeyOf(kindOf(record), record.anchorId, crypto.sha256));
  const proofs = await reads.stateProofs(keys);
  const leaves = await loadLeaves(
    read,
    records.map(({ sequence }) => sequence),
  );
  return records.map((record, at) => {
    const [leaf, proof] = [leaves[at], proofs[at]];
    if (leaf === undefined || proof === undefined || leaf.sequence !== record.sequence) {
      throw new RefusedError("unavailable", `the leaf of sequence ${record.sequence} is not in the tables`);
    }
    return { leaf: leaf.bytes, value: stateValueOf(record), proof };
  });
}

function kindOf(record: ClaimRecord | GrantRecord): number {
  return "lineage" in record ? RECORD_STATE_KIND.claim : RECORD_STATE_KIND.grant;
}

/** Each with its path to the root that the head gives for its origin. */
async function withPaths(leaves: readonly StoredAnchor[], { read, head, crypto }: StateInView) {
  const sizes = new Map(
    head.origins.map(({ originFingerprint, treeSize }) => [bytesToHex(originFingerprint), treeSize]),
  );
  const sizeOf = ({ originFingerprint }: StoredAnchor): number => sizes.get(bytesToHex(originFingerprint)) ?? 0;
  const wanted = leaves.map((leaf) => ({
    originFingerprint: leaf.originFingerprint,
    subtrees: subtreesForInclusion(leaf.depth, sizeOf(leaf)),
  }));
  if (wanted.length === 0) return [];
  const hashes = await read.select((reads) => reads.proofHashes(wanted));
  return leaves.map((leaf) => {
    const hashAt = hashes.hashAt(leaf.originFingerprint);
    return { leaf: leaf.bytes, inclusion: proveInclusion(leaf.depth, sizeOf(leaf), hashAt, crypto.sha256) };
  });
}
