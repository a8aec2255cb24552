import { type OriginFingerprint, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import { isBefore } from "@event-anchoring/control-contract";
import { type Identity, type IdentityState, type Restoration } from "@event-anchoring/store";
import type { EntryId, HardState, RaftIndex, Term } from "raft-ts";
import type { Promises, SignedHead } from "./promise-file.ts";

/**
 * Why a node is fenced: it forgot a promise, or shows evidence of it. Its identity is spent; it comes back as a new
 * node through a membership change. In the order in which `judgeStart` looks:
 * - `wrong_node`: database or promise file belong to another node or cluster.
 * - `promise_file_missing`: the database has acted, and the promise file is not there.
 * - `database_replaced`: the promise file is there, and the database is new or another one.
 * - `pair_mismatch`: promise file and database were not made for each other.
 * - `timeline_changed`, `wal_went_back`: Postgres was recovered to an earlier time.
 * - `hard_state_went_back`: a term or a vote is forgotten.
 * - `log_went_back`: entries that were durable are gone.
 * - `signed_entry_lost`, `signed_entry_replaced`: a cosignature covers an entry that is not in the log any more. After
 *   replay: `root_missing`, `root_differs`. Elsewhere: `promise_file_torn` (no slot can be read), `peer_remembers_more`
 *   (a peer returned something that this node has signed and does not know any more, or two members say so), `retired`
 *   (the trust root in force says that this node is no member).
 */
export type FenceCode =
  | "wrong_node"
  | "promise_file_missing"
  | "database_replaced"
  | "pair_mismatch"
  | "timeline_changed"
  | "wal_went_back"
  | "hard_state_went_back"
  | "log_went_back"
  | "signed_entry_lost"
  | "signed_entry_replaced"
  | "root_missing"
  | "root_differs"
  | "promise_file_torn"
  | "peer_remembers_more"
  | "retired";

export interface FenceReason {
  readonly code: FenceCode;
  /** For the operator: what was promised, and what was found. */
  readonly detail: string;
}

/** What a node finds in its own database when it starts. */
export interface DurableState {
  /** Who this process is configured to be. */
  readonly self: { readonly nodeId: string; readonly clusterId: Uint8Array };
  /** The identity row; null: this database has never belonged to a node. */
  readonly identity: Pick<Identity, "state" | "pairId" | "nodeId" | "clusterId"> | null;
  /** null: never written. */
  readonly hardState: HardState | null;
  /** The last entry of the log, or the compaction point if nothing follows it; 0 and 0 for an empty log. */
  readonly lastEntry: EntryId;
  /** The last entry that the log no longer holds, covered by the state or a snapshot; 0 and 0: none. */
  readonly compacted: EntryId;
  /** The term of an entry that the log holds; null for any other index. */
  readonly termAt: (index: RaftIndex) => Term | null;
  readonly systemIdentifier: string;
  readonly timeline: number;
  /** How far Postgres has flushed its own log. */
  readonly walFlushed: bigint;
  /** Which backup was put into the database before its node was born; null: none. */
  readonly restoration: Pick<Restoration, "nodeId" | "point"> | null;
}

/**
 * May this node take part? Needs no peer, so nodes that lost power together come up by themselves. The roots are
 * judged after replay, by `judgeRoots`.
 * @param promises what the promise file holds; null: there is no file
 * @returns null if nothing that was promised is missing
 */
export function judgeStart(promises: Promises | null, durable: DurableState): FenceReason | null {
  const stranger = judgeNames(promises, durable);
  if (stranger !== null) return stranger;
  const { identity } = durable;
  if (promises === null) return judgeMissingFile(durable);
  if (identity === null || identity.state === "new") {
    return fence(
      "database_replaced",
      `the promise file is in incarnation ${promises.incarnation}, the database is new`,
    );
  }
  if (!equalBytes(identity.pairId, promises.pairId)) {
    const pair = `${bytesToHex(promises.pairId)}, the database ${bytesToHex(identity.pairId)}`;
    return fence("pair_mismatch", `the promise file holds pair id ${pair}`);
  }
  return judgePostgres(promises, durable) ?? judgeLog(promises, durable);
}

function fence(code: FenceCode, detail: string): FenceReason {
  return { code, detail };
}

function judgeNames(promises: Promises | null, { self, identity, restoration }: DurableState): FenceReason | null {
  const owners = [
    ["the database", identity],
    ["the promise file", promises],
  ] as const;
  for (const [what, owner] of owners) {
    if (owner === null) continue;
    if (owner.nodeId !== self.nodeId || !equalBytes(owner.clusterId, self.clusterId)) {
      const name = `${owner.nodeId} of cluster ${bytesToHex(owner.clusterId)}`;
      return fence("wrong_node", `${what} belongs to node ${name}, this is ${self.nodeId}`);
    }
  }
  if (identity !== null || restoration === null || restoration.nodeId === self.nodeId) return null;
  return fence("wrong_node", `a backup was put here for node ${restoration.nodeId}, this is ${self.nodeId}`);
}

/** Before `running` nothing was promised: a node that was interrupted while it was set up goes on from there. */
function judgeMissingFile(durable: DurableState): FenceReason | null {
  const { identity, hardState, lastEntry } = durable;
  if (identity?.state === "running") {
    return fence("promise_file_missing", "the database belongs to a running node, and there is no promise file");
  }
  if (isAsRestored(durable)) return null;
  if (lastEntry.index > 0 || (hardState?.term ?? 0) > 0) {
    const acts = `term ${hardState?.term ?? 0}, last index ${lastEntry.index}`;
    return fence("promise_file_missing", `the database has taken part (${acts}), and there is no promise file`);
  }
  return null;
}

/** The log ends where the backup does, and the node has not voted since: it has not spoken yet. */
function isAsRestored({ restoration, hardState, lastEntry }: DurableState): boolean {
  if (restoration === null || hardState === null) return false;
  const { index, term } = restoration.point;
  const isPoint = lastEntry.index === index && lastEntry.term === term;
  return isPoint && hardState.term === term && hardState.vote === 0n;
}

function judgePostgres({ postgres }: Promises, durable: DurableState): FenceReason | null {
  if (durable.systemIdentifier !== postgres.systemIdentifier) {
    const systems = `${postgres.systemIdentifier}, this one is ${durable.systemIdentifier}`;
    return fence("database_replaced", `the promises were made beside Postgres system ${systems}`);
  }
  if (durable.timeline !== postgres.timeline) {
    return fence("timeline_changed", `Postgres is on timeline ${durable.timeline}, it was on ${postgres.timeline}`);
  }
  if (durable.walFlushed < postgres.walPosition) {
    const positions = `${durable.walFlushed}, it had been flushed up to ${postgres.walPosition}`;
    return fence("wal_went_back", `the log of Postgres ends at ${positions}`);
  }
  return null;
}

function judgeLog(promises: Promises, durable: DurableState): FenceReason | null {
  const { term, vote, lastAppend } = promises;
  const hardState = durable.hardState ?? { term: 0, vote: 0n, commit: 0 };
  if (hardState.term < term) {
    return fence("hard_state_went_back", `the database is in term ${hardState.term}, the promise file in ${term}`);
  }
  if (hardState.term === term && vote !== 0n && hardState.vote !== vote) {
    return fence("hard_state_went_back", `term ${term}: voted for ${vote}, the database says ${hardState.vote}`);
  }
  // An uncommitted tail may have been replaced by a later term's.
  if (isBefore(durable.lastEntry, lastAppend)) {
    return fence("log_went_back", `the log ends at ${show(durable.lastEntry)}, it had reached ${show(lastAppend)}`);
  }
  for (const head of promises.signedHeads.values()) {
    const reason = judgeHead(head, durable);
    if (reason !== null) return reason;
  }
  return null;
}

function show({ index, term }: EntryId): string {
  return `index ${index} of term ${term}`;
}

function judgeHead(head: SignedHead, { compacted, termAt }: DurableState): FenceReason | null {
  // Below the compaction point the terms are gone; the roots, judged after replay, still tell.
  if (head.raftIndex < compacted.index) return null;
  const found = head.raftIndex === compacted.index ? compacted.term : termAt(head.raftIndex);
  const signed = `size ${head.treeSize} of origin ${bytesToHex(head.originFingerprint)} was signed`;
  const where = show({ index: head.raftIndex, term: head.raftTerm });
  if (found === null) return fence("signed_entry_lost", `${signed} at ${where}, and the log does not hold that entry`);
  if (found === head.raftTerm) return null;
  return fence("signed_entry_replaced", `${signed} at ${where}, and the log holds one of term ${found} there`);
}

/**
 * Every entry up to this one is committed, although the database may not know it: this node has signed a tree or the
 * state after it. Ask only if `judgeStart` found nothing: then the log holds the entries of the trees. A leader that
 * offers another one in its place lies, and what it says is refused like any other change of a committed entry.
 * @param lastIndex where the log ends; a state that was signed beyond it says nothing about this log
 */
export function committedBySignature(
  { signedHeads, stateHead }: Pick<Promises, "signedHeads" | "stateHead">,
  lastIndex: RaftIndex,
): RaftIndex {
  const state = stateHead === null || stateHead.raftIndex > lastIndex ? 0 : stateHead.raftIndex;
  return Math.max(state, ...[...signedHeads.values()].map(({ raftIndex }) => raftIndex));
}

/**
 * After replay: does the node's own tree still have every root that it has signed?
 * @param rootOf the recomputed root of an origin at a size; null if the tree has not reached it
 */
export function judgeRoots(
  promises: Promises,
  rootOf: (originFingerprint: OriginFingerprint, treeSize: number) => Uint8Array | null,
): FenceReason | null {
  for (const { originFingerprint, treeSize, rootHash } of promises.signedHeads.values()) {
    const own = rootOf(originFingerprint, treeSize);
    const head = `size ${treeSize} of origin ${bytesToHex(originFingerprint)}`;
    if (own === null) return fence("root_missing", `${head} was signed, and the tree does not reach it`);
    if (!equalBytes(own, rootHash)) {
      const roots = `${bytesToHex(rootHash)}, recomputed ${bytesToHex(own)}`;
      return fence("root_differs", `${head} was signed with root ${roots}`);
    }
  }
  return null;
}

/**
 * The next step in setting up a node; each is durable before the next.
 * - `insert`: write the identity row with a random pair id, as `new`.
 * - `pair`: advance it to `paired`. From here on a promise file may exist.
 * - `create_file`: make the promise file with the row's pair id.
 * - `run`: advance the row to `running`. From here on a missing file is a forgotten promise.
 * - `done`: nothing. Call only if `judgeStart` found nothing.
 */
export function birthStep(
  state: IdentityState | null,
  hasPromiseFile: boolean,
): "insert" | "pair" | "create_file" | "run" | "done" {
  if (state === null) return "insert";
  if (state === "new") return "pair";
  if (!hasPromiseFile) return "create_file";
  return state === "paired" ? "run" : "done";
}
