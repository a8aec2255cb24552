import { type OriginFingerprint, bytesToHex } from "@event-anchoring/protocol";
import type { EntryId, RaftId, RaftIndex } from "raft-ts";
import type { PromiseFile, Promises, SignedHead } from "./promise-file.ts";

/** Where promises become durable; `save` resolves when they are. */
export type PromiseStore = Pick<PromiseFile, "current" | "save">;

/**
 * What this node has promised, in memory and in the promise file.
 *
 * A vote and a signed head are promises: they are waited for before anything leaves; so is what the log may not keep,
 * before the erasure is written. The other fields are evidence against forgetting and are written whenever the file is.
 */
export class PromiseKeeper {
  readonly #file: PromiseStore;
  #current: Promises;

  constructor(file: PromiseStore) {
    this.#file = file;
    this.#current = file.current;
  }

  get current(): Promises {
    return this.#current;
  }

  /** A peer that remembers this node has found nothing missing. It is written with the next promise. */
  confirm(): void {
    this.#current = { ...this.#current, mayLackNewest: false };
  }

  headOf(origin: OriginFingerprint): SignedHead | null {
    return this.#current.signedHeads.get(bytesToHex(origin)) ?? null;
  }

  /** Entries up to `lastAppend` are durable in the database at this WAL position. */
  noteAppend(lastAppend: EntryId | null, walPosition: bigint): void {
    const { postgres } = this.#current;
    this.#current = {
      ...this.#current,
      lastAppend: lastAppend ?? this.#current.lastAppend,
      postgres: { ...postgres, walPosition: walPosition > postgres.walPosition ? walPosition : postgres.walPosition },
    };
  }

  /** A peer said in this incarnation that it holds the log up to `ackedCommitted`, all of it committed. */
  notePeer(peer: RaftId, incarnation: number, ackedCommitted: RaftIndex): void {
    const key = raftIdKey(peer);
    const known = this.#current.peers.get(key);
    const next = {
      incarnation: Math.max(known?.incarnation ?? 0, incarnation),
      ackedCommitted: Math.max(known?.ackedCommitted ?? 0, ackedCommitted),
    };
    if (known?.incarnation === next.incarnation && known.ackedCommitted === next.ackedCommitted) return;
    this.#current = { ...this.#current, peers: new Map(this.#current.peers).set(key, next) };
  }

  /** Resolves when the vote is durable; only then may it leave. */
  promiseVote(vote: { term: number; vote: RaftId }): Promise<void> {
    this.#current = { ...this.#current, term: vote.term, vote: vote.vote };
    return this.#file.save(this.#current);
  }

  /** Resolves when the heads are durable; only then may their cosignatures leave. */
  promiseHeads(heads: readonly SignedHead[]): Promise<void> {
    const signedHeads = new Map(this.#current.signedHeads);
    for (const head of heads) signedHeads.set(bytesToHex(head.originFingerprint), head);
    this.#current = { ...this.#current, signedHeads };
    return this.#file.save(this.#current);
  }

  /** Resolves when it is durable that the log may not keep this entry and those before it. */
  promiseToForget(upTo: RaftIndex): Promise<void> {
    this.#current = { ...this.#current, forgetLogTo: Math.max(this.#current.forgetLogTo, upTo) };
    return this.#file.save(this.#current);
  }
}

/** The key of a node in the promise file: its Raft id as 16 hex digits. */
export function raftIdKey(id: RaftId): string {
  return id.toString(16).padStart(16, "0");
}
