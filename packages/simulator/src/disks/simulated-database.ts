import type { IdentityStorage, LedgerStorage, OpenStorage, RaftLogStorage } from "@event-anchoring/control-plane";
import {
  type AppendRequest,
  type Identity,
  type LoadedRaftLog,
  type Restoration,
  StoreError,
  addsRowsOnly,
} from "@event-anchoring/store";
import type { Entry, EntryId, HardState, RaftIndex } from "raft-ts";
import type { AppliedRow, DatabaseImage, LogRow, SimulatedDatabaseOptions } from "./database-image.ts";
import { assertFollows, assertHardState, assertTermsAscend, readRows } from "./log-checks.ts";
import { identityStorageOn } from "./simulated-identity.ts";
import type { SimulatedProcess } from "../world/simulated-process.ts";
import { HeldStatements } from "./held-statements.ts";
import { SimulatedWitnessedHeads } from "./simulated-witnessed-heads.ts";
import { SimulatedTables } from "./simulated-tables.ts";
import { type WriteFault, StatementsUnderWay } from "./statements-under-way.ts";
import { forgetLogToOf, recordedIn, rootIn, storedLedgerOf } from "./stored-ledger.ts";

/** An apply, and other asynchronous commits: they do not wait for the disk. */
const FAST_WRITE = { lowMs: 0.1, highMs: 0.5, fault: null } as const;
/** For the bug that needs tables far behind the log. */
const SLOW_WRITE = { lowMs: 200, highMs: 400, fault: null } as const;

/**
 * One Postgres: the log is durable when an append resolves; applies are visible at once and durable with the next
 * append, or a while later. A session is bound to the process that opened it and to the server's life.
 */
export class SimulatedDatabase {
  readonly #options: SimulatedDatabaseOptions;
  #rows: LogRow[] = [];
  #compacted: EntryId = { index: 0, term: 0 };
  #hardState: Pick<HardState, "term" | "vote"> | null = null;
  #identity: Identity | null = null;
  #applied: AppliedRow[] = [];
  #durableApplied = 0;
  #wal = 1n;
  readonly #witnessedHeads = new SimulatedWitnessedHeads();
  #tables: SimulatedTables;
  readonly #statements: StatementsUnderWay;
  /** Appends to the log, and writes to the tables, that a test holds back. */
  readonly appends = new HeldStatements();
  readonly applies = new HeldStatements();
  /** Names of certificates that were deleted, and those of them whose deletion is durable. */
  #thinned = new Set<string>();
  #durableThinned: ReadonlySet<string> = new Set();
  #restoration: Restoration | null = null;
  #sessions: { readonly process: SimulatedProcess; readonly onLost: (cause: Error) => void }[] = [];
  #isUp = true;
  /** The rows that an apply in two steps has written, and its index has not. */
  #torn: AppliedRow | null = null;
  nextFault: WriteFault | null = null;
  isFull = false;
  repairs = 0;
  /** While true, a compaction that is asked for never ends. */
  holdsCompactions = false;
  /** Called once, when the next append has been sent and not been committed. */
  onNextAppend: (() => void) | null = null;
  /** Called once, when an append has replaced a suffix. */
  onNextReplaced: (() => void) | null = null;

  constructor(options: SimulatedDatabaseOptions) {
    this.#options = options;
    this.#statements = new StatementsUnderWay(options.world, options.random);
    this.#tables = this.#newTables();
  }

  /** Multiplies latencies. */
  set slowness(factor: number) {
    this.#statements.slowness = factor;
  }

  get appliedIndex(): RaftIndex {
    return this.#applied.at(-1)?.decision.index ?? 0;
  }

  /** Names of certificates that were deleted. */
  get thinned(): ReadonlySet<string> {
    return this.#thinned;
  }

  /** Every entry that the tables hold, the oldest first. */
  get applied(): readonly AppliedRow[] {
    return this.#applied;
  }

  /** What follows from that. */
  get tables(): Pick<SimulatedTables, "facts" | "stateRoot"> {
    return this.#tables;
  }

  get rows(): readonly LogRow[] {
    return this.#rows;
  }

  get compacted(): EntryId {
    return this.#compacted;
  }

  get hardState(): Pick<HardState, "term" | "vote"> | null {
    return this.#hardState;
  }

  /** Whether the durable log, or what was compacted of it, holds this entry. */
  holds({ index, term }: EntryId): boolean {
    if (index <= this.#compacted.index) return true;
    return this.#rows[index - this.#compacted.index - 1]?.entry.term === term;
  }

  image(): DatabaseImage {
    return {
      rows: this.#rows.map((row) => ({ ...row })),
      compacted: this.#compacted,
      hardState: this.#hardState,
      identity: this.#identity,
      applied: [...this.#applied],
      wal: this.#wal,
      thinned: new Set(this.#thinned),
      restoration: this.#restoration,
    };
  }

  /** Another image in this one's place. No process may have it open. */
  restore(image: DatabaseImage): void {
    this.#statements.end(() => false);
    this.#rows = image.rows.map((row) => ({ ...row }));
    this.#compacted = image.compacted;
    this.#hardState = image.hardState;
    this.#identity = image.identity;
    this.#setThinned(image.thinned);
    this.#restoration = image.restoration ?? null;
    this.#setApplied([...image.applied]);
    this.#wal = image.wal;
  }

  get #lastIndex(): RaftIndex {
    return this.#compacted.index + this.#rows.length;
  }

  /** The highest commit index in any row; 0: none. */
  get rowsCommitHint(): RaftIndex {
    return this.#rows.reduce((hint, row) => Math.max(hint, row.commitHint), 0);
  }

  /** A planted bug: the durable log is shortened without its writer's knowledge. */
  dropRowsAfter(index: RaftIndex): void {
    this.#rows = this.#rows.slice(0, Math.max(0, index - this.#compacted.index));
  }

  /** Turns a bit in the row of one entry. */
  corrupt(index: RaftIndex): boolean {
    const row = this.#rows[index - this.#compacted.index - 1];
    if (row === undefined) return false;
    row.isCorrupt = true;
    return true;
  }

  /** Restores the rows, as a page check or another copy would. */
  repair(): void {
    this.repairs += 1;
    for (const row of this.#rows) row.isCorrupt = false;
  }

  /** Power is lost: what is not flushed is gone. */
  losePower(): void {
    this.#statements.end(() => false);
    this.#sessions = [];
    this.#statements.loseSessions();
    this.#torn = null;
    if (this.#options.bugs.has("applied_index_apart")) this.#torn = this.#applied[this.#durableApplied] ?? null;
    this.#setThinned(this.#durableThinned);
    this.#setApplied(this.#applied.slice(0, this.#durableApplied));
  }

  /** The server restarts at once: sessions end, asynchronous applies are lost. */
  restartServer(): void {
    const sessions = this.#sessions;
    this.#statements.end(() => this.#options.random.chance(0.5));
    this.losePower();
    for (const { process, onLost } of sessions) {
      process.later(0.2, () => onLost(new StoreError("unavailable", "the server closed the connection")));
    }
  }

  /** What works beside log and tables has failed, in every process that has the database open. */
  failBeside(cause: Error): void {
    for (const { process, onLost } of this.#sessions) process.later(0, () => onLost(cause));
  }

  /** Unreachable until it is started again. */
  stopServer(): void {
    this.restartServer();
    this.#isUp = false;
  }

  startServer(): void {
    this.#isUp = true;
  }

  /** The process is gone; what it had sent may still be done. */
  forgetProcess(process: SimulatedProcess): void {
    this.#sessions = this.#sessions.filter((session) => session.process !== process);
  }

  async open(process: SimulatedProcess, onLost: (cause: Error) => void): Promise<OpenStorage> {
    await this.#statements.wait(process, 1, 4);
    if (!this.#isUp) throw new StoreError("unavailable", "the server does not answer");
    // A new session gets the lock when the old one has ended, and all statements that it had sent.
    this.#statements.end(() => this.#options.random.chance(0.5));
    const session = { process, onLost };
    this.#sessions.push(session);
    const life = this.#statements.serverLife;
    const assertUp = (): void => {
      if (!this.#isUp || life !== this.#statements.serverLife)
        throw new StoreError("unavailable", "the connection is lost");
    };
    const loadedLog = this.#loadLog();
    const loadedLedger = this.#loadLedger();
    return {
      log: this.#openLog(process, assertUp),
      ledger: this.#openLedger(process, assertUp),
      identityStore: this.#openIdentity(process, assertUp),
      loadedLog,
      loadedLedger,
      ...this.#witnessedHeads.open(process, () => this.#applied),
      recorded: recordedIn(this.#applied.map(({ decision }) => decision)),
      restoration: this.#restoration,
      close: async () => {
        this.#sessions = this.#sessions.filter((each) => each !== session);
      },
    };
  }

  /**
   * The log begins after `point`, and these entries are what is applied.
   * @param thinned the certificates that the sender has deleted
   * @param losesLookUps a planted bug
   */
  install(
    { applied, thinned }: Pick<DatabaseImage, "applied" | "thinned">,
    point: EntryId,
    losesLookUps: boolean,
  ): void {
    this.#setThinned(thinned);
    this.#setApplied([...applied]);
    if (losesLookUps) this.#tables = this.#newTables();
    this.#rows = [];
    this.#compacted = point;
    if (this.#hardState === null || this.#hardState.term < point.term) {
      this.#hardState = { term: point.term, vote: 0n };
    }
    this.#wal += 1n;
  }

  #newTables(): SimulatedTables {
    return new SimulatedTables(this.#options.bugs, this.#thinned);
  }

  #setThinned(thinned: ReadonlySet<string>): void {
    this.#thinned = new Set(thinned);
    this.#durableThinned = new Set(thinned);
  }

  /** Everything that was committed before is durable with this commit. */
  #flush(): void {
    this.#wal += 1n;
    this.#durableApplied = this.#applied.length;
    if (this.#durableThinned.size < this.#thinned.size) this.#durableThinned = new Set(this.#thinned);
  }

  #setApplied(applied: AppliedRow[]): void {
    this.#applied = applied;
    this.#durableApplied = applied.length;
    this.#tables = this.#newTables();
    for (const { decision } of applied) this.#tables.apply(decision);
  }

  #loadLog(): LoadedRaftLog {
    const { bugs, systemIdentifier } = this.#options;
    const corruptAt = this.#rows.findIndex(({ isCorrupt }) => isCorrupt);
    if (corruptAt >= 0) {
      const index = this.#compacted.index + corruptAt + 1;
      if (!bugs.has("corrupt_row_as_absent")) {
        throw new StoreError("corrupt", `log row ${index} does not match its checksum`);
      }
      this.#rows = this.#rows.slice(0, corruptAt);
    }
    const lastIndex = this.#lastIndex;
    const commitHint = Math.min(Math.max(this.rowsCommitHint, this.#compacted.index), lastIndex);
    if (bugs.has("log_tail_dropped_at_start")) {
      const kept = Math.max(commitHint, this.appliedIndex);
      this.#rows = this.#rows.slice(0, kept - this.#compacted.index);
    }
    const lastTerm = assertTermsAscend(this.#compacted, this.#rows);
    if (!bugs.has("hard_state_not_saved")) assertHardState(this.#hardState, lastTerm);
    const entries = this.#rows.map(({ entry: { index, term, type, payload } }) => ({
      index,
      term,
      type,
      payloadBytes: payload.length,
      ...(type === "conf_change" ? { payload } : {}),
    }));
    return {
      hardState: this.#hardState === null ? null : { ...this.#hardState, commit: commitHint },
      compacted: this.#compacted,
      entries,
      commitHint,
      systemIdentifier,
      timeline: 1,
      walFlushed: this.#wal,
    };
  }

  #loadLedger(): OpenStorage["loadedLedger"] {
    const torn = this.#torn;
    this.#torn = null;
    const rows = torn === null ? this.#applied : [...this.#applied, torn];
    const ledger = storedLedgerOf(rows.map(({ decision }) => decision));
    const confState = this.#applied.findLast((row) => row.confState !== null)?.confState ?? null;
    const last = this.#applied.at(-1)?.decision;
    const appliedIndex = last?.index ?? 0;
    const appliedTerm = last?.term ?? 0;
    const { stateRoot } = this.#tables;
    const forgetLogTo = this.#options.bugs.has("erasure_debt_not_kept") ? 0 : forgetLogToOf(rows);
    const whole = { ...ledger, appliedIndex, appliedTerm };
    return { ledger: whole, confState, appliedIndex, appliedTerm, stateRoot, forgetLogTo };
  }

  #openLog(process: SimulatedProcess, assertUp: () => void): RaftLogStorage {
    let isUnknown = false;
    const assertUsable = (): void => {
      assertUp();
      if (isUnknown) throw new StoreError("unavailable", "an earlier write has an unknown outcome: open the log anew");
    };
    return {
      append: async (request) => {
        if (this.appends.areHeld) await this.appends.released(process);
        assertUsable();
        const hardState = this.#changedHardState(request.hardState);
        if (request.entries.length === 0 && hardState === null) return { walPosition: this.#wal };
        this.#assertFollows(request.entries);
        try {
          return await this.#append(process, { ...request, hardState });
        } catch (error) {
          if (error instanceof StoreError && error.code === "unknown_outcome") isUnknown = true;
          throw error;
        }
      },
      read: async (from, to, maxBytes) => {
        assertUsable();
        await this.#statements.wait(process, 0.1, 1);
        assertUsable();
        return readRows(this.#rows, this.#compacted.index, { from, to, maxBytes });
      },
      compact: async (upTo) => {
        assertUsable();
        if (this.holdsCompactions) await new Promise(() => {});
        await this.#statements.wait(process, 0.2, 2);
        assertUsable();
        return this.#compact(upTo);
      },
    };
  }

  #append(process: SimulatedProcess, request: AppendRequest): Promise<{ walPosition: bigint }> {
    const { bugs } = this.#options;
    const fault = this.isFull ? "refused" : this.nextFault;
    this.nextFault = null;
    if (fault !== null && bugs.has("failed_append_taken_for_done")) return Promise.resolve({ walPosition: this.#wal });
    const { onNextAppend } = this;
    this.onNextAppend = null;
    if (onNextAppend !== null) this.#options.world.after(0, onNextAppend);
    const write = (): { walPosition: bigint } => {
      this.#write(request);
      return { walPosition: this.#wal };
    };
    if (bugs.has("ack_before_persist") && fault === null) {
      const walPosition = this.#wal + 1n;
      void this.#statements.run(process, write, { lowMs: 30, highMs: 60, fault: null });
      return Promise.resolve({ walPosition });
    }
    return this.#statements.run(process, write, { lowMs: 0.3, highMs: 1.5, fault });
  }

  #write({ entries, hardState, commit }: AppendRequest): void {
    const { bugs, watcher } = this.#options;
    const first = entries[0];
    if (first !== undefined) {
      const kept = this.#rows.slice(0, first.index - this.#compacted.index - 1);
      const commitHint = Math.min(commit, entries.at(-1)?.index ?? 0);
      const written = entries.map((entry) => ({ entry, commitHint, isCorrupt: false }));
      const tail = bugs.has("old_tail_left") ? this.#rows.slice(kept.length + written.length) : [];
      if (kept.length < this.#rows.length) this.#onReplaced();
      this.#rows = [...kept, ...written, ...tail];
    }
    if (hardState !== null && !bugs.has("hard_state_not_saved")) {
      this.#hardState = { term: hardState.term, vote: bugs.has("vote_not_saved") ? 0n : hardState.vote };
    }
    this.#flush();
    watcher.onDurable(entries, hardState);
  }

  #onReplaced(): void {
    const { onNextReplaced } = this;
    this.onNextReplaced = null;
    if (onNextReplaced !== null) this.#options.world.after(0, onNextReplaced);
  }

  /** null: it is what is stored. */
  #changedHardState(hardState: HardState | null): HardState | null {
    if (hardState === null) return null;
    const { term, vote } = this.#hardState ?? { term: 0, vote: 0n };
    if (hardState.term < term) throw new StoreError("out_of_order", `term ${hardState.term} after term ${term}`);
    return hardState.term === term && hardState.vote === vote ? null : hardState;
  }

  #assertFollows(entries: readonly Entry[]): void {
    if (this.#options.bugs.has("ack_before_persist")) return;
    assertFollows(entries, this.#lastIndex, Math.max(this.rowsCommitHint, this.#compacted.index));
  }

  #compact(upTo: RaftIndex): EntryId {
    if (upTo <= this.#compacted.index) return this.#compacted;
    const applied = this.#options.bugs.has("compaction_beyond_tables") ? this.#lastIndex : this.appliedIndex;
    if (upTo > Math.min(this.#lastIndex, applied)) {
      throw new StoreError("out_of_order", `cannot compact to ${upTo}`);
    }
    const row = this.#rows[upTo - this.#compacted.index - 1];
    if (row === undefined || row.isCorrupt) throw new StoreError("corrupt", `log row ${upTo} is missing`);
    this.#rows = this.#rows.slice(upTo - this.#compacted.index);
    this.#compacted = { index: upTo, term: row.entry.term };
    this.#flush();
    return this.#compacted;
  }

  #openLedger(process: SimulatedProcess, assertUp: () => void): LedgerStorage {
    const { bugs, isFirst } = this.#options;
    const areSlow = bugs.has("compaction_beyond_tables");
    const isBlind = bugs.has("client_event_id_not_looked_up") || (isFirst && bugs.has("facts_differ_on_one_node"));
    return {
      loadFacts: async (query) => {
        assertUp();
        return this.#tables.facts(isBlind ? { ...query, clientEvents: [] } : query);
      },
      apply: async (...run) => {
        if (this.applies.areHeld) await this.applies.released(process);
        assertUp();
        return this.#statements.run(process, () => this.#apply(run), areSlow ? SLOW_WRITE : FAST_WRITE);
      },
      rootAt: async (origin, treeSize) => {
        assertUp();
        const root = rootIn(
          this.#applied.map(({ decision }) => decision),
          origin,
          treeSize,
        );
        if (root === null) throw new StoreError("out_of_order", `the origin has no ${treeSize} leaves`);
        return root;
      },
      thinCertificates: async (request) => {
        assertUp();
        return this.#statements.run(process, () => this.#tables.thinCertificates(request), FAST_WRITE);
      },
    };
  }

  /** One transaction. */
  #apply(run: readonly AppliedRow[]): { stateRoot: Uint8Array } {
    if (run.length > 1 && !run.every(({ decision }) => addsRowsOnly(decision.writes))) {
      throw new RangeError("an entry that changes rows is written alone");
    }
    run.forEach(({ decision: { index } }, at) => {
      if (index === this.appliedIndex + 1 + at) return;
      throw new StoreError("out_of_order", `entry ${index} after applied ${this.appliedIndex + at}`);
    });
    for (const row of run) {
      this.#applied.push(row);
      this.#tables.apply(row.decision);
    }
    this.#wal += 1n;
    return { stateRoot: this.#tables.stateRoot };
  }

  #openIdentity(process: SimulatedProcess, assertUp: () => void): IdentityStorage {
    return identityStorageOn({
      load: () => {
        assertUp();
        return this.#identity;
      },
      write: async (change) => {
        assertUp();
        const write = (): void => {
          this.#identity = change(this.#identity);
        };
        return this.#statements.run(process, write, { lowMs: 0.3, highMs: 1.5, fault: null });
      },
    });
  }
}
