import {
  type ConfChange,
  ConfChangeRefusedError,
  type Entry,
  type EntryMeta,
  type InboundMessage,
  type Message,
  type RaftId,
  type RaftIndex,
  type RawNode,
  type Ready,
  type ReadState,
  type SoftState,
  NotLeaderError,
  ProposalDroppedError,
} from "raft-ts";
import type { AppendLane } from "./append-lane.ts";
import type { Outbound } from "./outbound.ts";
import type { PayloadCache } from "./payload-cache.ts";

export interface DriverOptions {
  readonly node: RawNode;
  readonly cache: PayloadCache;
  readonly outbound: Outbound;
  /** Messages that were sent leave now. */
  readonly flush: () => void;
  readonly appendLane: AppendLane;
  /** Decides committed entries, in order; resolves when all are decided. Their effects may reach the tables later. */
  readonly apply: (entries: readonly EntryMeta[]) => Promise<void>;
  /** Entries have arrived and are being written: preparing their decision can begin. */
  readonly onArrived: (entries: readonly Entry[]) => void;
  readonly onSoftState: (state: SoftState) => void;
  readonly onReadState: (state: ReadState) => void;
  /** The engine, the log or the apply failed: the session is over. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * The Ready loop: `step(message | tick | proposal)` in, chores out.
 *
 * Messages leave at once: before this turn decides what they commit, which takes longer than the way to a peer. Chores
 * that must wait for the disk go through the append lane, chores that must wait for the append go through the apply
 * lane. Both are first in, first out, and nothing in them is dropped.
 */
export class Driver {
  readonly #options: DriverOptions;
  #applies: { entries: readonly EntryMeta[]; responses: readonly Message[] }[] = [];
  #applying: Promise<void> | null = null;
  #isDraining = false;
  #isScheduled = false;
  #isStopped = false;

  constructor(options: DriverOptions) {
    this.#options = options;
  }

  get node(): RawNode {
    return this.#options.node;
  }

  /** One message of a peer, already judged by the step guard. */
  step(message: InboundMessage): void {
    this.#call((node) => node.step(message));
  }

  tick(): void {
    this.#call((node) => node.tick());
  }

  /** Appends a payload to the log of this leader; its index, or null if this node does not take proposals now. */
  propose(payload: Uint8Array): RaftIndex | null {
    let index: RaftIndex | null = null;
    this.#call((node) => {
      try {
        index = node.propose(payload).index;
      } catch (error) {
        if (!(error instanceof ProposalDroppedError) && !(error instanceof NotLeaderError)) throw error;
      }
    });
    return this.#isStopped ? null : index;
  }

  /** As propose, for a membership change; null also while an earlier one is not applied. */
  proposeConfChange(change: ConfChange): RaftIndex | null {
    let index: RaftIndex | null = null;
    this.#call((node) => {
      try {
        index = node.proposeConfChange(change).index;
      } catch (error) {
        const isNotNow = error instanceof ProposalDroppedError || error instanceof ConfChangeRefusedError;
        if (!isNotNow && !(error instanceof NotLeaderError)) throw error;
      }
    });
    return this.#isStopped ? null : index;
  }

  readIndex(context: Uint8Array): void {
    this.#call((node) => node.readIndex(context));
  }

  campaign(): void {
    this.#call((node) => node.campaign());
  }

  forgetLeader(): void {
    this.#call((node) => node.forgetLeader());
  }

  /** Does nothing on a node that no longer leads. */
  transferLeader(to: RaftId): void {
    this.#call((node) => {
      try {
        node.transferLeader(to);
      } catch (error) {
        if (!(error instanceof NotLeaderError)) throw error;
      }
    });
  }

  reportUnreachable(peer: RaftId): void {
    this.#call((node) => node.reportUnreachable(peer));
  }

  reportSnapshot(peer: RaftId, isSent: boolean): void {
    this.#call((node) => node.reportSnapshot(peer, isSent));
  }

  /** Responses of the append lane: to this node's engine in one call, or out to their peers. */
  deliverResponses(messages: readonly Message[]): void {
    const { id } = this.#options.node;
    this.#call((node) => node.stepResponses(messages.filter(({ to }) => to === id)));
    if (this.#isStopped) return;
    for (const message of messages) if (message.to !== id) this.#options.outbound.send(message);
  }

  /** Does all pending chores now rather than at the end of the turn. */
  drain(): void {
    if (this.#isDraining || this.#isStopped) return;
    this.#isDraining = true;
    try {
      while (!this.#isStopped && this.#options.node.hasReady()) this.#handle(this.#options.node.ready());
      this.#options.flush();
      if (this.#applies.length > 0) this.#applying ??= this.#applyWaiting();
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isDraining = false;
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#applies = [];
    this.#options.appendLane.stop();
  }

  /** After `stop`: resolves when the writes that were under way have ended. */
  async drained(): Promise<void> {
    await Promise.all([this.#applying, this.#options.appendLane.drained()]);
  }

  #call(action: (node: RawNode) => void): void {
    if (this.#isStopped) return;
    try {
      action(this.#options.node);
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // For every frame: queueMicrotask makes an AsyncResource for each call.
    void Promise.resolve().then(() => {
      this.#isScheduled = false;
      this.drain();
    });
  }

  #handle(ready: Ready): void {
    if (ready.append !== null) this.#options.cache.put(ready.append.entries);
    if (ready.softState !== null) this.#options.onSoftState(ready.softState);
    for (const state of ready.readStates) this.#options.onReadState(state);
    for (const message of ready.messages) this.#options.outbound.send(message);
    if (ready.append !== null) {
      this.#options.appendLane.push(ready.append);
      this.#options.onArrived(ready.append.entries);
    }
    if (ready.apply !== null) this.#applies.push(ready.apply);
  }

  async #applyWaiting(): Promise<void> {
    try {
      for (let chore = this.#applies.shift(); chore !== undefined; chore = this.#applies.shift()) {
        await this.#options.apply(chore.entries);
        if (chore.responses.length > 0) this.#call((node) => node.stepResponses(chore.responses));
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#applying = null;
    }
  }

  #fail(error: unknown): void {
    if (this.#isStopped) return;
    this.stop();
    this.#options.onFailure(error);
  }
}
