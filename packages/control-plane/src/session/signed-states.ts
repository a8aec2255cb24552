import { stateHeadOf } from "@event-anchoring/ledger";
import { honestSigners } from "@event-anchoring/protocol";
import { type HeldState, type SignedStatePoint, type StateHold, StoreError } from "@event-anchoring/store";
import type { RaftIndex } from "raft-ts";
import type { Submission } from "../proposals/proposals.ts";
import type { Timer } from "../ports/environment.ts";
import { LinkedAbort } from "../ports/linked-abort.ts";
import type { Life } from "./how-a-life-ends.ts";
import type { Membership } from "./membership.ts";
import type { SessionOptions } from "./session-options.ts";
import { StateHeads } from "../state-heads/state-heads.ts";

/** A state that is to be read has to be reached and signed within this time; an election may come in between. */
const SIGNED_WITHIN_MS = 20_000;
/** After this time the node's current index becomes the state point: a group without a majority commits no entry. */
const REACHED_WITHIN_MS = 2000;
/** After this time fewer signatures than a quorum are enough, and after that time a single one. */
const FEWER_AFTER_MS = 3000;
const ALONE_AFTER_MS = 6000;
/** After this time those there are, if no node is in reach that could add one. */
const ALL_AFTER_MS = 1000;
const LOOK_MS = 500;

/** Pins the tables as they are. Opened before the point, so that the next entry does not wait for a connection. */
export type OpenStateHold = Pick<StateHold, "hold" | "release">;

export interface HoldSignedOptions {
  /**
   * Whose signatures are enough. `fewer`: if no quorum is reached, as many as there are after a while; the reader
   * decides how many are enough.
   */
  readonly signers: "quorum" | "fewer";
  /** Whether that peer takes over this state: then it cannot sign it. */
  readonly isTaking?: (nodeId: string) => boolean;
  readonly withinMs?: number;
  /** Aborted when no reader waits for it any more. */
  readonly signal?: AbortSignal;
}

export interface SignedState extends SignedStatePoint {
  readonly raftIndex: RaftIndex;
  /** So many nodes have signed it that one of them is honest, if at most one lies. */
  readonly hasHonestSigner: boolean;
}

interface PendingHold {
  readonly hold: OpenStateHold;
  readonly resolve: (held: HeldState) => void;
  readonly reject: (error: unknown) => void;
}

export interface SignedStatesParts {
  readonly membership: Membership;
  readonly submit: (submission: Submission) => void;
  /** A peer has signed another state after the same entry. */
  readonly onContradiction: (from: string, raftIndex: RaftIndex) => void;
  readonly life: Life;
  /** Resolves when the tables hold every entry that is decided now. */
  readonly flushTables: () => Promise<void>;
}

/** A session's signatures over its whole state, and the readers that wait for a state that a quorum has signed. */
export class SignedStates {
  readonly heads: StateHeads;
  readonly #options: SessionOptions;
  readonly #parts: SignedStatesParts;
  readonly #holds = new Set<PendingHold>();
  readonly #ending = new AbortController();
  /** Root of the state tree after the last applied entry. */
  #stateRoot: Uint8Array;
  #isApplying = false;

  constructor(options: SessionOptions, parts: SignedStatesParts) {
    const { environment, identity, signatures, promises, network } = options;
    const { membership, onContradiction, life } = parts;
    const { group } = membership;
    this.#options = options;
    this.#parts = parts;
    this.#stateRoot = options.stateRoot;
    this.heads = new StateHeads({
      clock: environment.clock,
      logger: environment.logger,
      crypto: signatures.crypto,
      nodeId: identity.nodeId,
      promises,
      cosignerUnder: (root) => group.cosignerUnder(root),
      maySign: () => group.maySign(),
      broadcast: (items, asks) => membership.broadcast({ type: "state_signatures", items, asks }),
      sendTo: (nodeId, items) => network.send(nodeId, "control", { type: "state_signatures", items, asks: false }),
      onAsked: (raftIndex) => {
        this.#pointAt(raftIndex).catch((error: unknown) => life.fail(error));
      },
      onContradiction: onContradiction,
      onForgotten: (detail) => life.end({ kind: "halted", code: "diverged", detail }),
      onFailure: (error) => life.fail(error),
    });
  }

  /** The state in memory advances; the tables follow. */
  onAdvancing(): void {
    this.#isApplying = true;
  }

  /**
   * An entry is on its way to the tables; a state point is in them. The next entry waits for this: until it resolves,
   * the tables hold exactly the state that is signed if this is a state point.
   */
  async onApplied(stateRoot: Uint8Array, isStatePoint: boolean): Promise<void> {
    this.#isApplying = false;
    this.#stateRoot = stateRoot;
    if (!isStatePoint || this.#ending.signal.aborted) return;
    this.#point();
    await this.#holdAll();
  }

  /** Signs that state, if it is still this node's once the tables hold it. */
  async #pointAt(raftIndex: RaftIndex): Promise<void> {
    if (raftIndex === this.#options.state.appliedIndex && (await this.#areTablesHere())) this.#point();
  }

  /** Has the tables written. False: an entry was decided meanwhile, or the session has ended. */
  async #areTablesHere(): Promise<boolean> {
    const { state } = this.#options;
    const { appliedIndex } = state;
    if (this.#isApplying) return false;
    await this.#parts.flushTables();
    return state.appliedIndex === appliedIndex && !this.#isApplying && !this.#ending.signal.aborted;
  }

  #point(): void {
    const { membership } = this.#parts;
    const head = stateHeadOf(this.#options.state, { members: membership.group.confState, stateRoot: this.#stateRoot });
    if (head !== null) this.heads.onPoint(head, membership.trustRoot());
  }

  async #holdAll(): Promise<void> {
    for (const pending of this.#holds) {
      this.#holds.delete(pending);
      await pending.hold.hold().then(pending.resolve, pending.reject);
    }
  }

  /**
   * No entry is being applied, and none may come for a while: takes the state as it is. While entries come, the state
   * point comes as well.
   * @returns false: the tables are not there yet
   */
  async #pointHere(pending: PendingHold): Promise<boolean> {
    if (!(await this.#areTablesHere())) return false;
    if (!this.#holds.delete(pending)) return true;
    const { appliedIndex } = this.#options.state;
    const held = await pending.hold.hold();
    if (held.raftIndex !== appliedIndex) throw new StoreError("unavailable", "the state went on while it was held");
    if (this.#options.state.appliedIndex === appliedIndex && !this.#isApplying) this.#point();
    pending.resolve(held);
    return true;
  }

  /**
   * Has every node sign the state after an entry, and holds this node's tables as they are there.
   * @throws StoreError `unavailable`: too few have signed it in time, there is no state, or this session has ended
   */
  async holdSigned(
    hold: OpenStateHold,
    { signers, isTaking = () => false, withinMs = SIGNED_WITHIN_MS, signal: gone }: HoldSignedOptions,
  ): Promise<SignedState> {
    const { environment, state } = this.#options;
    const { clock } = environment;
    if (state.trustRootChain === null) throw new StoreError("unavailable", "this node has no state yet");
    const over = new LinkedAbort(this.#ending.signal, ...(gone === undefined ? [] : [gone]));
    const { signal } = over;
    const timer = clock.startTimer(withinMs, () => over.abort());
    try {
      const { databaseSnapshot, raftIndex } = await this.#reached(hold, signal, withinMs);
      const hasAll = signers === "quorum" ? null : () => this.#hasAllSignatures(raftIndex, isTaking);
      const stateHead = await this.#signed(raftIndex, hasAll, signal);
      const { quorum } = this.#parts.membership.trustRoot();
      const hasHonestSigner = this.heads.signersOf(raftIndex).length >= honestSigners(quorum);
      return { databaseSnapshot, raftIndex, stateHead, hasHonestSigner };
    } finally {
      timer.cancel();
      over.letGo();
    }
  }

  close(): void {
    this.heads.close();
    this.#ending.abort();
  }

  #reached(hold: OpenStateHold, signal: AbortSignal, withinMs: number): Promise<HeldState> {
    return new Promise<HeldState>((resolve, reject) => {
      const pending: PendingHold = { hold, resolve, reject };
      whenAborted(signal, () => {
        this.#holds.delete(pending);
        reject(new StoreError("unavailable", "no state point was reached in time"));
      });
      this.#holds.add(pending);
      const { clock } = this.#options.environment;
      const look = async (): Promise<void> => {
        const isOver = await this.#pointHere(pending);
        if (!isOver && this.#holds.has(pending)) timer = lookIn(LOOK_MS);
      };
      const lookIn = (delayMs: number): Timer => clock.startTimer(delayMs, () => void look().catch(reject));
      let timer = lookIn(REACHED_WITHIN_MS);
      whenAborted(signal, () => timer.cancel());
      this.#parts.submit({
        command: { kind: "mark_state_point" },
        answer: "committed",
        deadlineMs: clock.monotonicMs() + withinMs,
        respond: (result) => {
          if (result.kind !== "refused" || !this.#holds.delete(pending)) return;
          reject(new StoreError("unavailable", `no state point can be made: ${result.code}: ${result.detail}`));
        },
      });
    });
  }

  /**
   * True: every node that could sign this state now has signed it. That leaves out nodes that are not connected, that
   * have no state, and that take over this one. Whoever takes it over decides how many signatures it needs.
   */
  #hasAllSignatures(raftIndex: RaftIndex, isTaking: (nodeId: string) => boolean): boolean {
    const { identity, network } = this.#options;
    const { membership } = this.#parts;
    const { group, peers } = membership;
    const signers = this.heads.signersOf(raftIndex);
    const mayFollow = (nodeId: string): boolean =>
      nodeId === identity.nodeId
        ? group.maySign()
        : network.isConnected(nodeId) && peers.memories.hasState(nodeId) && !isTaking(nodeId);
    const active = membership.trustRoot().nodes.filter(({ status }) => status === "active");
    return active.every(({ nodeId }) => signers.includes(nodeId) || !mayFollow(nodeId));
  }

  /** @param hasAll whether no further signature can be expected; null: a quorum is waited for */
  #signed(raftIndex: RaftIndex, hasAll: (() => boolean) | null, signal: AbortSignal): Promise<string> {
    return new Promise<string>((resolve, reject) => {
      const { clock } = this.#options.environment;
      const { quorum } = this.#parts.membership.trustRoot();
      const startedMs = clock.monotonicMs();
      const look = (isAll: () => boolean): void => {
        const waitedMs = clock.monotonicMs() - startedMs;
        const isOver = waitedMs >= ALONE_AFTER_MS || (waitedMs >= ALL_AFTER_MS && isAll());
        const enough = waitedMs >= FEWER_AFTER_MS ? honestSigners(quorum) : quorum;
        const note = this.heads.noteOf(raftIndex, isOver ? 1 : enough);
        if (note === null && !isOver) {
          timer = clock.startTimer(LOOK_MS, () => look(isAll));
          return;
        }
        forget();
        if (note === null) refuse();
        else resolve(note);
      };
      const refuse = (): void => {
        const signers = this.heads.signersOf(raftIndex).join(", ");
        const who = signers === "" ? "no node has" : `${signers} alone`;
        const what = `${who} signed the state after entry ${raftIndex} in time; the quorum is ${quorum}`;
        reject(new StoreError("unavailable", what));
      };
      let timer = hasAll === null ? null : clock.startTimer(LOOK_MS, () => look(hasAll));
      const forget = this.heads.whenSigned(raftIndex, (note) => {
        timer?.cancel();
        resolve(note);
      });
      whenAborted(signal, () => {
        timer?.cancel();
        forget();
        refuse();
      });
    });
  }
}

function whenAborted(signal: AbortSignal, action: () => void): void {
  if (signal.aborted) action();
  else signal.addEventListener("abort", action, { once: true });
}
