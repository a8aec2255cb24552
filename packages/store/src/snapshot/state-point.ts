import { Connection } from "../postgres/connection.ts";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { INDEXED_PLANS } from "../postgres/indexed-plans.ts";
import { loadLedgerRow } from "../tables/ledger.ts";
import type { RaftIndex } from "raft-ts";

/** As Postgres prints the name of an exported snapshot. */
const SNAPSHOT_NAME = /^[0-9A-F]+-[0-9A-F]+-[0-9]+$/;

/** A state that stays readable while the node goes on, and the state head that a quorum signed over it. */
export interface SignedStatePoint {
  /** Name of the database snapshot that has exactly this state. */
  readonly databaseSnapshot: string;
  /** The signed note. */
  readonly stateHead: string;
}

/**
 * The state after one entry, readable under a name until it is released. A reader that has begun can continue after
 * that.
 */
export interface HeldState {
  readonly databaseSnapshot: string;
  readonly raftIndex: RaftIndex;
}

/** A session that pins a state of the database for others to read. Opened ahead, so that pinning takes no time. */
export class StateHold {
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** @throws StoreError `unavailable` */
  static async open(url: string): Promise<StateHold> {
    const settings = { ...INDEXED_PLANS, default_transaction_read_only: "on" };
    return new StateHold(await Connection.open({ url, name: "event-anchoring state point", settings }));
  }

  /** Pins the state as it is now. Called once. @throws StoreError `unavailable`, `corrupt` */
  async hold(): Promise<HeldState> {
    await this.#connection.read({ text: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" });
    const [exported] = await this.#connection.read<{ name: string }>({ text: "SELECT pg_export_snapshot() AS name" });
    const { appliedIndex } = await loadLedgerRow(this.#connection);
    return { databaseSnapshot: exported?.name ?? "", raftIndex: appliedIndex };
  }

  /** Ends the session, and its transaction with it. */
  async release(): Promise<void> {
    await this.#connection.close();
  }
}

/** The first statement of a repeatable-read transaction. @throws StoreError `unavailable`: it is not held any more */
export async function adoptState(session: Reader, databaseSnapshot: string): Promise<void> {
  // SET takes no parameters.
  if (!SNAPSHOT_NAME.test(databaseSnapshot)) {
    throw new StoreError("unavailable", `not the name of a database snapshot: ${databaseSnapshot}`);
  }
  try {
    await session.read({ text: `SET TRANSACTION SNAPSHOT '${databaseSnapshot}'` });
  } catch (cause) {
    throw new StoreError("unavailable", `the state ${databaseSnapshot} is held no more`, { cause });
  }
}
