import { stateEntriesOf, stateLeafOf } from "@event-anchoring/ledger";
import type {
  EntryDecision,
  EntryWrites,
  Facts,
  FactsQuery,
  StateTreeUpdate,
  StoredLedger,
} from "@event-anchoring/ledger";
import { equalBytes, frontierRoot } from "@event-anchoring/protocol";
import type { Frontier, OriginFingerprint } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { ConfState, RaftIndex, Term } from "raft-ts";
import { buildApply, writesOf } from "./apply.ts";
import { Connection } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { loadFacts } from "./facts.ts";
import { INDEXED_PLANS } from "../postgres/indexed-plans.ts";
import { loadFrontier, loadLedger } from "./ledger-load.ts";
import { LookUpKeeper } from "./look-up-keeper.ts";
import type { LedgerRow } from "../tables/ledger.ts";
import type { RunSizes } from "../tables/look-up-runs.ts";
import { LEDGER_LOCK } from "../postgres/locks.ts";
import { assertMigrated } from "../postgres/migrate.ts";
import { OriginNumbers } from "../tables/origin-numbers.ts";
import { decodeConfState, encodeConfState } from "../log/raft-codec.ts";
import { assertSafeSettings } from "../postgres/settings.ts";
import { StateTree } from "./state-tree.ts";
import { thinCertificates } from "./thin-certificates.ts";
import type { ThinCertificatesRequest, ThinnedCertificates } from "./thin-certificates.ts";

export interface LedgerStoreOptions {
  readonly url: string;
  /** How long to wait for an earlier session to leave. Default 10,000. */
  readonly lockTimeoutMs?: number;
  /** Leaves of a look-up run. */
  readonly runSizes?: RunSizes;
}

export interface LoadedLedger {
  /** The ledger as of `appliedIndex`; `restoreLedgerState` rebuilds the state from it. */
  readonly ledger: StoredLedger;
  /** Members of the raft group as of `appliedIndex`; null until the first is applied. */
  readonly confState: ConfState | null;
  readonly appliedIndex: RaftIndex;
  readonly appliedTerm: Term;
  /** Root of the state tree, 32 bytes. */
  readonly stateRoot: Uint8Array;
  /** The log must not keep this entry, nor any before it: something in them was erased; 0: none. */
  readonly forgetLogTo: RaftIndex;
}

export interface ApplyRequest {
  readonly decision: EntryDecision;
  /** The membership after this entry; null: as before. */
  readonly confState: ConfState | null;
}

export interface AppliedEntry {
  /** Root of the state tree after the entry, 32 bytes. */
  readonly stateRoot: Uint8Array;
}

/** Rows of forgotten group ids may stay for this many entries, so that most entries delete nothing. */
const FORGOTTEN_ENTRIES_MAX = 512;

/**
 * The tables that the log produces. One statement for an entry or a run of them: rows, tiles and applied index change
 * together or not at all. Applies are committed asynchronously: a crash may lose the newest, and the durable log brings
 * them back.
 *
 * Three sessions: one that writes, one for what deciding asks for, one for look-up runs. One process at a time, one
 * apply at a time. After `unknown_outcome`, and after a connection was lost, every call fails: open anew and load.
 */
export class LedgerStore {
  readonly #writer: Connection;
  /** What deciding asks for does not wait for the transaction under way. */
  readonly #reader: Connection;
  readonly #lookUps: LookUpKeeper;
  #numbers = new OriginNumbers();
  #row: LedgerRow | null = null;
  readonly #stateTree = new StateTree();
  #deletedGroupIdsBelow = 0;
  #isUnknown = false;
  #isLostTold = false;

  private constructor(writer: Connection, reader: Connection, lookUps: LookUpKeeper) {
    this.#writer = writer;
    this.#reader = reader;
    this.#lookUps = lookUps;
    // Its lock is free for the next store that is opened.
    writer.onLost(() => void lookUps.close());
  }

  /** @throws StoreError `unavailable`, `schema`, `unsafe_settings`, `locked` */
  static async open(options: LedgerStoreOptions): Promise<LedgerStore> {
    const { url, lockTimeoutMs, runSizes } = options;
    const writer = await Connection.open({
      url,
      name: "event-anchoring ledger",
      settings: { ...INDEXED_PLANS, synchronous_commit: "off" },
    });
    try {
      await assertMigrated(writer);
      await assertSafeSettings(writer, false);
      await writer.lock(LEDGER_LOCK, lockTimeoutMs);
      const lookUps = await LookUpKeeper.open({ url, lockTimeoutMs, runSizes });
      try {
        const reader = await Connection.open({
          url,
          name: "event-anchoring ledger reads",
          settings: { ...INDEXED_PLANS, default_transaction_read_only: "on" },
        });
        return new LedgerStore(writer, reader, lookUps);
      } catch (cause) {
        await lookUps.close();
        throw cause;
      }
    } catch (cause) {
      await writer.close();
      throw cause;
    }
  }

  /** Called at most once, when a session is lost or a look-up run cannot be written; never because of close(). */
  onLost(handler: (cause: Error) => void): void {
    const once = (cause: Error): void => {
      if (this.#isLostTold) return;
      this.#isLostTold = true;
      handler(cause);
    };
    this.#writer.onLost(once);
    this.#reader.onLost(once);
    this.#lookUps.onFailure(once);
  }

  /**
   * The whole state, in one snapshot. To be called before anything else. Leaves that no certificate covers are hashed
   * again, and tiles and leaves must give one root.
   * @throws StoreError `corrupt`
   */
  async load(): Promise<LoadedLedger> {
    const { row, originRows, ledger } = await this.#writer.transaction(
      loadLedger,
      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    );
    const treeRoot = await this.#stateTree.load(this.#writer);
    if (!equalBytes(treeRoot, row.stateRoot)) {
      throw new StoreError("corrupt", "the state tree does not have the root that the row of the ledger names");
    }
    const numbers = new OriginNumbers();
    for (const { origin, originFingerprint } of originRows) numbers.add(origin, originFingerprint);
    this.#numbers = numbers;
    this.#row = row;
    this.#deletedGroupIdsBelow = row.groupIdsFrom;
    await this.#lookUps.load(row.nextSequence);
    return {
      ledger,
      confState: row.confState === null ? null : decodeConfState(row.confState),
      appliedIndex: row.appliedIndex,
      appliedTerm: row.appliedTerm,
      stateRoot: row.stateRoot,
      forgetLogTo: row.forgetLogTo,
    };
  }

  /**
   * The rows that an entry must see, as of the last applied entry; of a transaction under way, perhaps. At most one
   * SELECT.
   */
  async loadFacts(query: FactsQuery): Promise<Facts> {
    this.#usableRow();
    return loadFacts(this.#reader, query, this.#numbers);
  }

  /**
   * Writes what entries decided, in one statement that commits by itself. Several only if each of them `addsRowsOnly`.
   * @throws StoreError `out_of_order` unless the entry before them is the last applied one (then nothing is written),
   *   `unknown_outcome`, `full`, `unavailable`
   */
  async apply(...requests: readonly ApplyRequest[]): Promise<AppliedEntry> {
    const before = this.#usableRow();
    const run = requests.map(({ decision }) => decision);
    run.forEach(({ index }, at) => {
      if (index === before.appliedIndex + 1 + at) return;
      throw new StoreError("out_of_order", `entry ${index} after applied index ${before.appliedIndex + at}`);
    });
    const writes = writesOf(run);
    const numbers = this.#numbersAfter(writes);
    const stateTree = await this.#stateTreeAfter(writes);
    const row = rowAfter(before, requests, writes, stateTree);
    const deletesGroupIds = row.groupIdsFrom - this.#deletedGroupIdsBelow >= FORGOTTEN_ENTRIES_MAX;
    const { statement, values } = buildApply({
      run,
      writes,
      row,
      before,
      stateTree,
      numbers,
      deleteGroupIdsBelow: deletesGroupIds ? row.groupIdsFrom : null,
    });
    const written = await this.#noteUnknown(() => this.#writer.writeLane(statement, values));
    if (Number(written?.[0]) !== 1) {
      this.#isUnknown = true;
      throw new StoreError("out_of_order", `the stored applied index is not ${before.appliedIndex}`);
    }
    this.#numbers = numbers;
    this.#row = row;
    if (stateTree !== null) this.#stateTree.note(stateTree);
    if (deletesGroupIds) this.#deletedGroupIdsBelow = row.groupIdsFrom;
    this.#lookUps.noteWritten(row.nextSequence);
    return { stateRoot: row.stateRoot };
  }

  /** null: the writes do not change the tree; those of events never do. */
  async #stateTreeAfter(writes: EntryWrites): Promise<StateTreeUpdate | null> {
    const entries = stateEntriesOf(writes);
    if (entries.length === 0) return null;
    const leaves = entries.map((entry) => stateLeafOf(entry, nodeCrypto.sha256));
    return this.#stateTree.update(this.#writer, leaves);
  }

  /** Deletes a few of an origin's older certificates: on this node alone, independently of the log. */
  async thinCertificates(request: ThinCertificatesRequest): Promise<ThinnedCertificates> {
    this.#usableRow();
    const origin = this.#numbers.find(request.originFingerprint);
    if (origin === undefined) return { after: request.after, deleted: 0 };
    return this.#noteUnknown(() => thinCertificates(this.#writer, origin, request));
  }

  #usableRow(): LedgerRow {
    if (this.#isUnknown) {
      throw new StoreError("unavailable", "an earlier write has an unknown outcome: open the store anew");
    }
    if (this.#row === null) throw new StoreError("out_of_order", "the ledger was not loaded");
    return this.#row;
  }

  #numbersAfter({ originStatuses }: EntryWrites): OriginNumbers {
    const fresh = originStatuses.filter(({ originFingerprint }) => this.#numbers.find(originFingerprint) === undefined);
    if (fresh.length === 0) return this.#numbers;
    const numbers = this.#numbers.copy();
    for (const { originFingerprint } of fresh) numbers.add(numbers.next, originFingerprint);
    return numbers;
  }

  async #noteUnknown<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof StoreError && cause.code === "unknown_outcome") this.#isUnknown = true;
      throw cause;
    }
  }

  /**
   * The frontier of an origin's first `treeSize` leaves, from tiles and leaves as of the last applied entry.
   * @throws StoreError `out_of_order` if the origin is unknown or smaller, `corrupt`
   */
  async frontierAt(originFingerprint: OriginFingerprint, treeSize: number): Promise<Frontier> {
    this.#usableRow();
    return loadFrontier(this.#reader, originFingerprint, treeSize);
  }

  /** Root hash of an origin's first `treeSize` leaves. @throws as frontierAt */
  async rootAt(originFingerprint: OriginFingerprint, treeSize: number): Promise<Uint8Array> {
    return frontierRoot(await this.frontierAt(originFingerprint, treeSize), nodeCrypto.sha256);
  }

  async close(): Promise<void> {
    await this.#lookUps.close();
    await this.#writer.close();
    await this.#reader.close();
  }
}

/** The row of the ledger after these entries. */
function rowAfter(
  before: LedgerRow,
  requests: readonly ApplyRequest[],
  writes: EntryWrites,
  stateTree: StateTreeUpdate | null,
): LedgerRow {
  const last = requests.at(-1)?.decision;
  if (last === undefined) throw new RangeError("no entry to write");
  const erasing = requests.findLast(({ decision }) => decision.isToBeForgotten)?.decision;
  const confState = requests.findLast((request) => request.confState !== null)?.confState ?? null;
  return {
    appliedIndex: last.index,
    appliedTerm: last.term,
    effect: last.effect,
    nextSequence: last.nextSequence,
    lastAcceptedMs: last.lastAcceptedMs,
    groupIdsFrom: Math.max(before.groupIdsFrom, writes.forgetGroupIdsBelow),
    forgetLogTo: erasing?.index ?? before.forgetLogTo,
    confState: confState === null ? before.confState : encodeConfState(confState),
    rules: last.rules,
    stampMs: last.stampMs,
    stateRoot: stateTree?.rootHash ?? before.stateRoot,
    groupIdsHash: last.groupIdsHash,
    clientEventsHash: last.clientEventsHash,
  };
}
