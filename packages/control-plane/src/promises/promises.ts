import { type OriginFingerprint, bytesToHex } from "@event-anchoring/protocol";
import { furthest } from "@event-anchoring/control-contract";
import type { EntryId, RaftId, Term } from "raft-ts";
import type { PeerPromises, PromiseFile, Promises, SignedHead, SignedState } from "./promise-file.ts";

/** Where promises become durable; `save` resolves when they are. */
export type PromiseStore = Pick<PromiseFile, "current" | "save">;

/**
 * What this node has promised, in memory and in the promise file.
 *
 * A vote and a signed head are promises: they are durable before anything that depends on them is sent. The other
 * fields are evidence against forgetting and are written whenever the file is.
 */
export class PromiseKeeper {
  readonly #file: PromiseStore;
  #current: Promises;
  /** What the file holds about peers, or will after the save under way. */
  #savedPeers: Promises["peers"];
  /** Peers that have left the group for good, by their keys in the file. */
  readonly #left = new Set<string>();

  constructor(file: PromiseStore) {
    this.#file = file;
    this.#current = file.current;
    this.#savedPeers = file.current.peers;
  }

  get current(): Promises {
    return this.#current;
  }

  /** A peer that remembers this node has found no promise missing. This is written with the next promise. */
  confirm(): void {
    this.#current = { ...this.#current, mayLackNewest: false };
  }

  headOf(origin: OriginFingerprint): SignedHead | null {
    return this.#current.signedHeads.get(bytesToHex(origin)) ?? null;
  }

  /** Entries up to `lastAppend` are durable in the database at this WAL position. */
  noteAppend(appended: EntryId | null, walPosition: bigint): void {
    const { postgres, reached } = this.#current;
    const lastAppend = appended ?? this.#current.lastAppend;
    this.#current = {
      ...this.#current,
      lastAppend,
      reached: furthest(reached, lastAppend),
      postgres: { ...postgres, walPosition: walPosition > postgres.walPosition ? walPosition : postgres.walPosition },
    };
  }

  /** Progress that a peer has signed; newer than what is held. */
  notePeer(peer: RaftId, said: PeerPromises): void {
    const key = raftIdKey(peer);
    if (this.#left.has(key)) return;
    this.#current = { ...this.#current, peers: new Map(this.#current.peers).set(key, said) };
  }

  /** What this peer has said leaves the file with the next save, and nothing that it says is noted again. */
  forgetPeer(peer: RaftId): void {
    const key = raftIdKey(peer);
    this.#left.add(key);
    const peers = new Map(this.#current.peers);
    if (peers.delete(key)) this.#current = { ...this.#current, peers };
  }

  /**
   * Resolves when the peers' signed progress is durable. Without a vote or a cosignature nothing else would write it.
   */
  async savePeers(): Promise<void> {
    if (this.#current.peers !== this.#savedPeers) await this.#save();
  }

  /**
   * A later leader replaces the uncommitted end of the log by one that is lower in Raft's order. Resolves when it is
   * durable that the log may end there: otherwise it would look like a log that was set back.
   */
  promiseRetreat(end: EntryId): Promise<void> {
    this.#current = { ...this.#current, lastAppend: end };
    return this.#save();
  }

  /** Resolves when the vote is durable; only then may it leave. */
  promiseVote(vote: { term: Term; vote: RaftId }): Promise<void> {
    this.#current = { ...this.#current, term: vote.term, vote: vote.vote };
    return this.#save();
  }

  /** Resolves when the heads are durable; only then may their cosignatures leave. */
  promiseHeads(heads: readonly SignedHead[]): Promise<void> {
    const signedHeads = new Map(this.#current.signedHeads);
    for (const head of heads) signedHeads.set(bytesToHex(head.originFingerprint), head);
    this.#current = { ...this.#current, signedHeads };
    return this.#save();
  }

  /** Resolves when the state head is durable; only then may its signature leave. */
  promiseStateHead(stateHead: SignedState): Promise<void> {
    this.#current = { ...this.#current, stateHead };
    return this.#save();
  }

  #save(): Promise<void> {
    this.#savedPeers = this.#current.peers;
    return this.#file.save(this.#current, this.#left);
  }
}

/** The key of a node in the promise file: its Raft id as 16 hex digits. */
export function raftIdKey(id: RaftId): string {
  return id.toString(16).padStart(16, "0");
}
