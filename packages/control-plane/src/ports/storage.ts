import type { Certificate } from "@event-anchoring/ledger";
import type {
  IdentityStore,
  LedgerStore,
  LoadedLedger,
  LoadedRaftLog,
  LoadedWitnessedHeads,
  RaftLog,
  Restoration,
  WitnessedHeadStore,
} from "@event-anchoring/store";

/** The durable Raft log, as a session uses it. The simulator has one in memory. */
export type RaftLogStorage = Pick<RaftLog, "append" | "read" | "compact">;

/** The ledger's tables, as a node uses them once they are loaded. */
export type LedgerStorage = Pick<LedgerStore, "loadFacts" | "apply" | "rootAt" | "thinCertificates">;

/** What witnesses have cosigned, and the proofs that they ask for. */
export type WitnessedHeadStorage = Pick<WitnessedHeadStore, "replace" | "proveGrowth">;

/** The row that names the node that owns the database. */
export type IdentityStorage = Pick<IdentityStore, "load" | "insert" | "advance">;

/** Everything a node keeps in its Postgres, opened and loaded once. */
export interface OpenStorage {
  readonly log: RaftLogStorage;
  readonly ledger: LedgerStorage;
  readonly loadedLog: LoadedRaftLog;
  readonly loadedLedger: LoadedLedger;
  /** The newest recorded certificate of each origin. */
  readonly recorded: readonly Certificate[];
  readonly identityStore: IdentityStorage;
  readonly witnessedHeads: WitnessedHeadStorage;
  readonly loadedWitnessed: LoadedWitnessedHeads;
  /** Which backup the database began from; absent or null: none. */
  readonly restoration?: Restoration | null;
  close(): Promise<void>;
}
