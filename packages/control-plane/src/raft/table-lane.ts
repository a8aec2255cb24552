import { type EntryDecision, type Facts, type FactsQuery, NO_FACTS, asksNothing } from "@event-anchoring/ledger";
import { type AppliedEntry, type ApplyRequest, StoreError, addsRowsOnly } from "@event-anchoring/store";
import type { RaftIndex, Term } from "raft-ts";
import type { Timer, TimerClock } from "../ports/environment.ts";
import type { ApplyTarget } from "./applier.ts";
import { UnwrittenFacts } from "./unwritten-facts.ts";

/** So many leaves are written without waiting longer. A transaction takes entries until it has so many. */
const LEAVES_DUE = 1024;
/** The longest that an entry waits before its transaction begins. */
const DELAY_MS = 25;
/**
 * Deciding pauses while so much is decided and not written: then Postgres is slower than the log, and memory must not
 * grow for it.
 */
const LEAVES_MAX = 8 * LEAVES_DUE;
const ENTRIES_MAX = 1024;

/** The ledger's tables, as the lane needs them. */
export interface TableStorage {
  /** It is this entry's turn to be decided. */
  onTurn?(entry: { readonly index: RaftIndex; readonly term: Term }): void;
  /** It is decided, and waits to be written. */
  onDecided?(decision: EntryDecision): void;
  loadFacts(query: FactsQuery): Promise<Facts>;
  /** One transaction: all that these entries have decided, and the applied index. */
  apply(...run: readonly ApplyRequest[]): Promise<AppliedEntry>;
}

export interface TableLaneOptions {
  readonly clock: Pick<TimerClock, "startTimer">;
  readonly tables: TableStorage;
  /** What the tables hold at the start. */
  readonly writtenIndex: RaftIndex;
  readonly stateRoot: Uint8Array;
  /** The tables hold more entries: `writtenIndex` has advanced. */
  readonly onWritten: () => void;
  /** The tables cannot be written: the session is over. */
  readonly onFailure: (error: unknown) => void;
}

interface WaitingEntry {
  readonly request: ApplyRequest;
  readonly leaves: number;
  /** It only adds rows: it may wait, and share a transaction. */
  readonly isPatient: boolean;
}

interface Flush {
  readonly index: RaftIndex;
  readonly resolve: () => void;
  readonly reject: (cause: Error) => void;
}

/**
 * The table lane: what entries have decided, on its way into the ledger's tables, in the order of the log.
 *
 * Events are written a moment after they are decided, several entries in one transaction: the log holds them, and what
 * a crash loses here is decided again. An entry that changes anything else (claims, grants, keys, members …) is written
 * at once and alone, and the next entry waits for it, as does a read for what it will be answered from.
 *
 * Invariant: the tables hold every entry up to `writtenIndex`; what was decided after it is in memory here, and
 * `loadFacts` sees it.
 */
export class TableLane implements ApplyTarget {
  readonly unwritten = new UnwrittenFacts();
  readonly #options: TableLaneOptions;
  #waiting: WaitingEntry[] = [];
  /** How many the waiting entries have, and those being written. */
  #leaves = 0;
  #decidedIndex: RaftIndex;
  #writtenIndex: RaftIndex;
  /** Entries up to this one are written without waiting. */
  #dueIndex: RaftIndex;
  #stateRoot: Uint8Array;
  #flushes: Flush[] = [];
  #timer: Timer | null = null;
  #writing: Promise<void> | null = null;
  /** Why nothing is written any more. */
  #ended: Error | null = null;

  constructor(options: TableLaneOptions) {
    this.#options = options;
    this.#decidedIndex = options.writtenIndex;
    this.#writtenIndex = options.writtenIndex;
    this.#dueIndex = options.writtenIndex;
    this.#stateRoot = options.stateRoot;
  }

  /** Every entry up to this one is in the tables. */
  get writtenIndex(): RaftIndex {
    return this.#writtenIndex;
  }

  onTurn(entry: { readonly index: RaftIndex; readonly term: Term }): void {
    this.#options.tables.onTurn?.(entry);
  }

  /** As of the last decided entry. Rows of claims and grants are never in memory alone. */
  async loadFacts(query: FactsQuery): Promise<Facts> {
    const { tables } = this.#options;
    if (asksForRecords(query)) {
      await this.flush();
      return tables.loadFacts(query);
    }
    const { found, rest } = this.unwritten.find(query);
    const stored = asksNothing(rest) ? NO_FACTS : await tables.loadFacts(rest);
    return {
      ...stored,
      anchors: new Map([...stored.anchors, ...found.anchors]),
      clientEvents: new Map([...stored.clientEvents, ...found.clientEvents]),
    };
  }

  /**
   * Resolves when the next entry may be decided: at once after events, otherwise when the entry is in the tables.
   * @throws StoreError; the session is over
   */
  async apply(request: ApplyRequest): Promise<AppliedEntry> {
    if (this.#ended !== null) throw this.#ended;
    const { decision } = request;
    const entry = { request, leaves: decision.writes.leaves.length, isPatient: isPatient(request) };
    this.#options.tables.onDecided?.(decision);
    this.#waiting.push(entry);
    this.#leaves += entry.leaves;
    this.#decidedIndex = decision.index;
    if (entry.isPatient) {
      this.unwritten.add(decision);
      if (this.#leaves >= LEAVES_DUE || decision.index <= this.#dueIndex) this.writeUpTo(decision.index);
      else this.#startTimer();
    }
    if (!entry.isPatient) await this.#written(decision.index);
    while (this.#isFull()) await this.#written(this.#writtenIndex + 1);
    return { stateRoot: this.#stateRoot };
  }

  /** Entries up to this one are written without waiting longer, also those that are decided later. */
  writeUpTo(index: RaftIndex): void {
    this.#dueIndex = Math.max(this.#dueIndex, index);
    if (this.#ended === null && this.#writing === null && this.#isDue()) this.#writing = this.#writeDue();
  }

  /**
   * Resolves when the tables hold every entry that is decided now.
   * @throws StoreError; the session is over
   */
  async flush(): Promise<void> {
    await this.#written(this.#decidedIndex);
  }

  /** Nothing further is written. What waits is decided again from the log. */
  stop(): void {
    this.#end(new StoreError("unavailable", "the node is loading again"));
  }

  /** After `stop`: resolves when the transaction that was under way has ended. */
  async drained(): Promise<void> {
    await this.#writing;
  }

  #isFull(): boolean {
    return this.#leaves >= LEAVES_MAX || this.#decidedIndex - this.#writtenIndex >= ENTRIES_MAX;
  }

  /** Resolves when the tables hold every entry up to this one, which is decided. @throws StoreError */
  async #written(index: RaftIndex): Promise<void> {
    if (index <= this.#writtenIndex) return;
    if (this.#ended !== null) throw this.#ended;
    await new Promise<void>((resolve, reject) => {
      this.#flushes.push({ index, resolve, reject });
      this.writeUpTo(index);
    });
  }

  #startTimer(): void {
    if (this.#ended !== null) return;
    this.#timer ??= this.#options.clock.startTimer(DELAY_MS, () => {
      this.#timer = null;
      if (this.#decidedIndex > this.#writtenIndex) this.writeUpTo(this.#decidedIndex);
    });
  }

  /** False also while the lane does not have the entry that is due: it is written when it comes. */
  #isDue(): boolean {
    const [first] = this.#waiting;
    return first !== undefined && first.request.decision.index <= this.#dueIndex;
  }

  /** Something is due at the call, so this is under way until a transaction has ended. */
  async #writeDue(): Promise<void> {
    try {
      for (let run = this.#takeRun(); run.length > 0; run = this.#takeRun()) await this.#write(run);
    } catch (error) {
      if (this.#ended === null) this.#options.onFailure(error);
      this.#end(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#writing = null;
    }
    if (this.#waiting.length > 0) this.#startTimer();
  }

  /** The entries of the next transaction; none if nothing is due. */
  #takeRun(): readonly WaitingEntry[] {
    if (!this.#isDue()) return [];
    let length = 0;
    for (let leaves = 0; leaves < LEAVES_DUE && this.#waiting[length]?.isPatient === true; length++) {
      leaves += this.#waiting[length]?.leaves ?? 0;
    }
    return this.#waiting.splice(0, Math.max(1, length));
  }

  async #write(run: readonly WaitingEntry[]): Promise<void> {
    const { stateRoot } = await this.#options.tables.apply(...run.map(({ request }) => request));
    this.#stateRoot = stateRoot;
    for (const { request, leaves, isPatient: wasAdded } of run) {
      this.#leaves -= leaves;
      this.#writtenIndex = request.decision.index;
      if (wasAdded) this.unwritten.remove(request.decision);
    }
    const done = this.#flushes.filter(({ index }) => index <= this.#writtenIndex);
    this.#flushes = this.#flushes.filter(({ index }) => index > this.#writtenIndex);
    for (const { resolve } of done) resolve();
    if (this.#ended === null) this.#options.onWritten();
  }

  #end(cause: Error): void {
    this.#ended ??= cause;
    this.#timer?.cancel();
    this.#waiting = [];
    for (const { reject } of this.#flushes.splice(0)) reject(cause);
  }
}

/**
 * A state point is held and signed as the tables have it; an entry that the log must drop can be dropped once it is in
 * them.
 */
function isPatient({ decision, confState }: ApplyRequest): boolean {
  return confState === null && !decision.isStatePoint && !decision.isToBeForgotten && addsRowsOnly(decision.writes);
}

function asksForRecords({ contents, claimPairs, records, grantParties }: FactsQuery): boolean {
  return contents.length + claimPairs.length + records.length + grantParties.length > 0;
}
