import { stateHeadOf } from "@event-anchoring/ledger";
import { honestSigners } from "@event-anchoring/protocol";
import { type HeldState, type SignedStatePoint, type StateHold, StoreError } from "@event-anchoring/store";
import type { RaftIndex } from "raft-ts";
import { type SessionEnd, endOfError } from "./how-a-life-ends.ts";
import type { Session } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";
import { StateHeads } from "../state-heads/state-heads.ts";

/** A state that is to be read has to be reached and signed within this time; an election may come in between. */
const SIGNED_WITHIN_MS = 20_000;
/** After this time a state point is made of where the node stands: a group without a majority commits no entry. */
const REACHED_WITHIN_MS = 2000;
/** After this time fewer signatures than a quorum are enough, and after that time this node's own. */
const FEWER_AFTER_MS = 3000;
const ALONE_AFTER_MS = 6000;
const LOOK_MS = 500;

/** Pins the tables as they are. Opened before the point, so that the next entry does not wait for a connection. */
export type OpenStateHold = Pick<StateHold, "hold" | "release">;

export interface HoldSignedOptions {
  /**
   * Whose signatures are enough. `fewer`: where no quorum can be had, as many as there are after a while; how many are
   * enough is for the reader to say.
   */
  readonly signers: "quorum" | "fewer";
  readonly withinMs?: number;
  /** Aborted: nobody waits for it any more. */
  readonly signal?: AbortSignal;
}

interface PendingHold {
  readonly hold: OpenStateHold;
  readonly resolve: (held: HeldState) => void;
  readonly reject: (error: unknown) => void;
}

/** What a session signs about its whole state, and who waits to read the state that a quorum has signed. */
export class SessionStates {
  readonly heads: StateHeads;
  readonly #options: SessionOptions;
  readonly #session: Session;
  readonly #holds = new Set<PendingHold>();
  readonly #ending = new AbortController();
  /** Root of the state tree after the last applied entry. */
  #stateRoot: Uint8Array;
  #isApplying = false;

  constructor(options: SessionOptions, session: Session, end: (end: SessionEnd) => void) {
    const { environment, identity, signatures, promises, network } = options;
    this.#options = options;
    this.#session = session;
    this.#stateRoot = options.stateRoot;
    this.heads = new StateHeads({
      clock: environment.clock,
      logger: environment.logger,
      crypto: signatures.crypto,
      nodeId: identity.nodeId,
      promises,
      cosignerUnder: (root) => session.membership.cosignerUnder(root),
      maySign: () => session.membership.maySign(),
      broadcast: (items, asks) => {
        for (const { nodeId } of session.trustRoot().nodes) {
          if (nodeId !== identity.nodeId) network.send(nodeId, "control", { type: "state_signatures", items, asks });
        }
      },
      sendTo: (nodeId, items) => network.send(nodeId, "control", { type: "state_signatures", items, asks: false }),
      onAsked: (raftIndex) => {
        if (raftIndex === session.state.appliedIndex && !this.#isApplying) this.#point();
      },
      onContradiction: (from, raftIndex) => session.truth.onStateDiffers(from, raftIndex),
      onForgotten: (detail) => end({ kind: "halted", code: "diverged", detail }),
      onFailure: (error) => end(endOfError(error)),
    });
  }

  /** The state in memory goes on; the tables follow. */
  onAdvancing(): void {
    this.#isApplying = true;
  }

  /**
   * An entry is in the tables. The next one waits for this: until it resolves, the tables hold exactly the state that
   * is signed if this is a state point.
   */
  async onApplied(stateRoot: Uint8Array, isStatePoint: boolean): Promise<void> {
    this.#isApplying = false;
    this.#stateRoot = stateRoot;
    if (!isStatePoint || this.#ending.signal.aborted) return;
    this.#point();
    await this.#holdAll();
  }

  #point(): void {
    const { membership, state } = this.#session;
    const head = stateHeadOf(state, { members: membership.confState, stateRoot: this.#stateRoot });
    if (head !== null) this.heads.onPoint(head, this.#session.trustRoot());
  }

  async #holdAll(): Promise<void> {
    for (const pending of this.#holds) {
      this.#holds.delete(pending);
      await pending.hold.hold().then(pending.resolve, pending.reject);
    }
  }

  /** Nothing is being applied, and nothing may be for a while: the state as it is. */
  async #pointHere(pending: PendingHold): Promise<void> {
    if (this.#isApplying || this.#ending.signal.aborted || !this.#holds.delete(pending)) return;
    const { appliedIndex } = this.#session.state;
    const held = await pending.hold.hold();
    if (held.raftIndex !== appliedIndex) throw new StoreError("unavailable", "the state went on while it was held");
    if (this.#session.state.appliedIndex === appliedIndex && !this.#isApplying) this.#point();
    pending.resolve(held);
  }

  /**
   * Has every node sign the state after an entry, and holds this node's tables as they are there.
   * @throws StoreError `unavailable`: too few have signed it in time, or this session has ended
   */
  async holdSigned(
    hold: OpenStateHold,
    { signers, withinMs = SIGNED_WITHIN_MS, signal: gone }: HoldSignedOptions,
  ): Promise<SignedStatePoint & { readonly raftIndex: RaftIndex }> {
    const { clock } = this.#options.environment;
    const late = new AbortController();
    const timer = clock.startTimer(withinMs, () => late.abort());
    const signal = AbortSignal.any([late.signal, this.#ending.signal, ...(gone === undefined ? [] : [gone])]);
    try {
      const { databaseSnapshot, raftIndex } = await this.#reached(hold, signal, withinMs);
      const stateHead = await this.#signed(raftIndex, signers === "quorum" ? "never" : FEWER_AFTER_MS, signal);
      return { databaseSnapshot, raftIndex, stateHead };
    } finally {
      timer.cancel();
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
      const timer = clock.startTimer(REACHED_WITHIN_MS, () => void this.#pointHere(pending).catch(reject));
      whenAborted(signal, () => timer.cancel());
      this.#session.submit({
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

  /** @param fewerAfterMs after this time fewer signatures than a quorum are enough */
  #signed(raftIndex: RaftIndex, fewerAfterMs: number | "never", signal: AbortSignal): Promise<string> {
    return new Promise<string>((resolve, reject) => {
      const { clock } = this.#options.environment;
      const { quorum } = this.#session.trustRoot();
      const startedMs = clock.monotonicMs();
      const look = (): void => {
        const isLate = clock.monotonicMs() - startedMs >= ALONE_AFTER_MS;
        const note = this.heads.noteOf(raftIndex, isLate ? 1 : honestSigners(quorum));
        if (note === null) timer = clock.startTimer(LOOK_MS, look);
        else resolve(note);
      };
      let timer = fewerAfterMs === "never" ? null : clock.startTimer(fewerAfterMs, look);
      const forget = this.heads.whenSigned(raftIndex, (note) => {
        timer?.cancel();
        resolve(note);
      });
      whenAborted(signal, () => {
        timer?.cancel();
        forget();
        const signers = this.heads.signersOf(raftIndex).join(", ");
        const who = signers === "" ? "nobody has" : `${signers} alone`;
        const what = `${who} signed the state after entry ${raftIndex} in time; the quorum is ${quorum}`;
        reject(new StoreError("unavailable", what));
      });
    });
  }
}

function whenAborted(signal: AbortSignal, action: () => void): void {
  if (signal.aborted) action();
  else signal.addEventListener("abort", action, { once: true });
}
