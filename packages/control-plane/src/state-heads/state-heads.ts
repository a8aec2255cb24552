import type { StateSignature } from "@event-anchoring/control-contract";
import type { Signer } from "@event-anchoring/node-crypto";
import {
  type Crypto,
  type SignatureLine,
  type StateHead,
  type TrustRoot,
  bytesToHex,
  equalBytes,
  formatStateHead,
  formatStateHeadNote,
  isGoodStateHeadSignature,
  stateHeadLine,
  stateHeadMessage,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import type { RaftIndex } from "raft-ts";
import type { Clock, Logger } from "@event-anchoring/telemetry";
import type { PromiseKeeper } from "../promises/promises.ts";

/** Newest points whose signatures are gathered, and newest ones of each peer that this node has not reached. */
const POINTS_MAX = 8;

export interface StateHeadsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crypto: Crypto;
  readonly nodeId: string;
  readonly promises: Pick<PromiseKeeper, "current" | "promiseStateHead">;
  /** The key with which this node signs under a trust root; null: it is not here. */
  readonly cosignerUnder: (root: TrustRoot) => Signer | null;
  /** Whether this node's signatures count. */
  readonly maySign: () => boolean;
  readonly broadcast: (items: readonly StateSignature[], asks: boolean) => void;
  readonly sendTo: (nodeId: string, items: readonly StateSignature[]) => void;
  /** A peer asks for the state after an entry that was not a state point: it may be this node's current index. */
  readonly onAsked: (raftIndex: RaftIndex) => void;
  /** A peer has signed another state after the same entry. */
  readonly onContradiction: (from: string, raftIndex: RaftIndex) => void;
  /** This node has promised another state after this entry: it has computed two different results. */
  readonly onForgotten: (detail: string) => void;
  readonly onFailure: (error: unknown) => void;
}

/** One state point that this node has applied. */
interface OwnStatePoint {
  readonly raftIndex: RaftIndex;
  readonly text: string;
  readonly textHash: Uint8Array;
  /** The version that the head names. */
  readonly root: TrustRoot;
  readonly head: StateHead;
  /** Good ones, by node id, this node's own included. */
  readonly signatures: Map<string, Uint8Array>;
  /** The signed note; null: there is no quorum yet. */
  note: string | null;
}

interface SignedWaiter {
  readonly raftIndex: RaftIndex;
  signed(note: string): void;
}

/**
 * Signs the state head at every state point and gathers what the other nodes sign.
 *
 * Invariant: a signature leaves only when the promise file holds the entry and the hash of what is signed, and never
 * for an entry below the promised one.
 */
export class StateHeads {
  readonly #options: StateHeadsOptions;
  /** By raft index, ascending. */
  readonly #points = new Map<RaftIndex, OwnStatePoint>();
  /** What peers have signed after entries that are not applied here, by raft index and node id. */
  readonly #early = new Map<RaftIndex, Map<string, StateSignature>>();
  readonly #waiters = new Set<SignedWaiter>();
  #isClosed = false;

  constructor(options: StateHeadsOptions) {
    this.#options = options;
  }

  /** The newest state head that a quorum has signed, as far as this node knows; null: none yet in this life. */
  get newest(): { readonly raftIndex: RaftIndex; readonly note: string } | null {
    const signed = [...this.#points.values()].findLast(({ note }) => note !== null);
    return signed === undefined || signed.note === null ? null : { raftIndex: signed.raftIndex, note: signed.note };
  }

  /** A state point is applied, or asked for again. @param root the newest applied trust root, which the head names */
  onPoint(head: StateHead, root: TrustRoot): void {
    const { crypto } = this.#options;
    const { raftIndex } = head;
    const text = formatStateHead(head);
    const textHash = crypto.sha256(utf8ToBytes(text));
    const known = this.#points.get(raftIndex);
    if (known !== undefined && equalBytes(known.textHash, textHash)) return;
    const point: OwnStatePoint = { raftIndex, text, textHash, root, head, signatures: new Map(), note: null };
    this.#points.set(raftIndex, point);
    forgetOldest(this.#points);
    for (const [from, item] of this.#early.get(raftIndex) ?? []) this.#take(from, item, point);
    for (const index of this.#early.keys()) if (index <= raftIndex) this.#early.delete(index);
    void this.#sign(point);
  }

  /** A peer's signatures: attacker-controlled, but for its name. @param asks it has no quorum for them yet */
  onSignatures(from: string, items: readonly StateSignature[], asks: boolean): void {
    for (const item of items) {
      if (asks && !this.#points.has(item.raftIndex)) this.#options.onAsked(item.raftIndex);
      const point = this.#points.get(item.raftIndex);
      if (point !== undefined) this.#take(from, item, point);
      else this.#keepEarly(from, item);
    }
    if (!asks) return;
    const own = items.flatMap(({ raftIndex }) => this.#ownOf(raftIndex));
    if (own.length > 0) this.#options.sendTo(from, own);
  }

  /** Called periodically: points without a quorum are signed if that is allowed now, and rebroadcast. */
  resend(): void {
    const newest = [...this.#points.values()].at(-1);
    if (newest === undefined || newest.note !== null) return;
    const own = this.#ownOf(newest.raftIndex);
    if (own.length > 0) this.#options.broadcast(own, true);
    else void this.#sign(newest);
  }

  /** Calls `signed` once a quorum has signed the state after this entry. @returns cancels */
  whenSigned(raftIndex: RaftIndex, signed: (note: string) => void): () => void {
    const note = this.#points.get(raftIndex)?.note ?? null;
    const waiter = { raftIndex, signed };
    if (note !== null) signed(note);
    else this.#waiters.add(waiter);
    return () => this.#waiters.delete(waiter);
  }

  /** The note with the signatures there are, if at least so many nodes have signed; null: they have not. */
  noteOf(raftIndex: RaftIndex, signersMin: number): string | null {
    const point = this.#points.get(raftIndex);
    if (point === undefined) return null;
    const lines = this.#linesOf(point);
    return lines.length < signersMin ? null : formatStateHeadNote(point.head, lines);
  }

  /** Node ids of those whose good signatures over the state after this entry are here. */
  signersOf(raftIndex: RaftIndex): readonly string[] {
    return [...(this.#points.get(raftIndex)?.signatures.keys() ?? [])].sort();
  }

  close(): void {
    this.#isClosed = true;
    this.#waiters.clear();
  }

  #ownOf(raftIndex: RaftIndex): StateSignature[] {
    const point = this.#points.get(raftIndex);
    const signature = point?.signatures.get(this.#options.nodeId);
    return point === undefined || signature === undefined ? [] : [{ raftIndex, textHash: point.textHash, signature }];
  }

  async #sign(point: OwnStatePoint): Promise<void> {
    const { promises, maySign, cosignerUnder, nodeId, broadcast } = this.#options;
    const cosigner = maySign() ? cosignerUnder(point.root) : null;
    if (cosigner === null || !this.#mayPromise(point)) return;
    try {
      await promises.promiseStateHead({ raftIndex: point.raftIndex, textHash: point.textHash });
    } catch (error) {
      if (!this.#isClosed) this.#options.onFailure(error);
      return;
    }
    if (this.#isClosed || this.#points.get(point.raftIndex) !== point) return;
    point.signatures.set(nodeId, cosigner.sign(stateHeadMessage(point.text)));
    broadcast(this.#ownOf(point.raftIndex), false);
    this.#complete(point);
  }

  #mayPromise({ raftIndex, textHash }: OwnStatePoint): boolean {
    const promised = this.#options.promises.current.stateHead;
    if (promised === null || promised.raftIndex < raftIndex) return true;
    if (promised.raftIndex > raftIndex) return false;
    if (equalBytes(promised.textHash, textHash)) return true;
    this.#options.onForgotten(`the state after entry ${raftIndex} is not the one that was signed`);
    return false;
  }

  /** A signature over another state does not count, and is reported: one of the two nodes has gone wrong, or lies. */
  #take(from: string, { raftIndex, textHash, signature }: StateSignature, point: OwnStatePoint): void {
    const { crypto, logger, onContradiction } = this.#options;
    if (!equalBytes(textHash, point.textHash)) {
      onContradiction(from, raftIndex);
      return;
    }
    if (point.note !== null || point.signatures.has(from)) return;
    if (!isGoodStateHeadSignature({ text: point.text, nodeId: from, signature }, point.root, crypto)) {
      logger.warn("state_signature_refused", { peer: from, raftIndex });
      return;
    }
    point.signatures.set(from, signature);
    this.#complete(point);
  }

  #keepEarly(from: string, item: StateSignature): void {
    const newest = [...this.#points.keys()].at(-1) ?? 0;
    if (item.raftIndex <= newest) return;
    const there = this.#early.get(item.raftIndex);
    if (there !== undefined) {
      there.set(from, item);
      return;
    }
    // A peer that claims entries that will never exist takes room from its own later claims only.
    const ofPeer = [...this.#early].filter(([, byNode]) => byNode.has(from)).map(([index]) => index);
    if (ofPeer.length >= POINTS_MAX) this.#dropEarly(from, Math.min(...ofPeer));
    this.#early.set(item.raftIndex, new Map([[from, item]]));
  }

  #dropEarly(from: string, raftIndex: RaftIndex): void {
    const byNode = this.#early.get(raftIndex);
    byNode?.delete(from);
    if (byNode?.size === 0) this.#early.delete(raftIndex);
  }

  /** Lines of distinct active nodes, as the trust root orders them. */
  #linesOf({ root, signatures }: OwnStatePoint): SignatureLine[] {
    const { sha256 } = this.#options.crypto;
    return root.nodes.flatMap(({ nodeId, status, cosignerVkey: { name, publicKey } }) => {
      const signature = signatures.get(nodeId);
      if (signature === undefined || status !== "active") return [];
      return [stateHeadLine({ name, publicKey, signature }, sha256)];
    });
  }

  /** The signed note, once there is a quorum. */
  #complete(point: OwnStatePoint): void {
    const note = this.noteOf(point.raftIndex, point.root.quorum);
    if (note === null) return;
    point.note = note;
    this.#options.logger.debug("state_head_signed", { raftIndex: point.raftIndex, hash: bytesToHex(point.textHash) });
    for (const waiter of this.#waiters) {
      if (waiter.raftIndex !== point.raftIndex) continue;
      this.#waiters.delete(waiter);
      waiter.signed(note);
    }
  }
}

function forgetOldest(points: Map<RaftIndex, OwnStatePoint>): void {
  for (const index of points.keys()) {
    if (points.size <= POINTS_MAX) return;
    points.delete(index);
  }
}
