/** The walk of fsck in small steps, for a node that serves meanwhile. */
import type { RuleTable } from "@event-anchoring/ledger";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { Connection } from "../postgres/connection.ts";
import { INDEXED_PLANS } from "../postgres/indexed-plans.ts";
import { DatabaseWalk } from "./database-walk.ts";
import { Findings } from "./findings.ts";
import type { Difference } from "./findings.ts";

export interface ScrubWalkOptions {
  /** Connects as a role that may read both schemas: the owner. */
  readonly url: string;
  /** The server cancels a statement after this time, milliseconds. */
  readonly statementTimeoutMs: number;
  /** The rules that the program that writes the log can decide by. */
  readonly ruleTable: RuleTable;
  /** What the program has verified itself: the same documents are neither verified nor held again. Default: nothing. */
  readonly heldChain?: () => TrustRootChain | null;
}

export interface ScrubStep {
  /**
   * Leaves, items of look-up runs, claims, grants, pages of the state tree, log entries and decided groups that were
   * judged.
   */
  readonly rows: number;
  /** True: with this step all tables have been walked once; the next one begins again. */
  readonly isPassDone: boolean;
  /** null: no difference. */
  readonly difference: Difference | null;
}

/** Bounds the time that a step blocks the event loop: some ms. */
const LOG_BYTES_MAX = 256 * 1024;

/**
 * Goes over all tables again and again. Each step is judged in a short snapshot of its own, on a connection of its own;
 * its position and the right edge of each tree stay in memory. It takes no locks that a writer waits for.
 */
export class ScrubWalk {
  readonly #connection: Connection;
  readonly #walkOptions: Pick<ScrubWalkOptions, "ruleTable" | "heldChain">;
  #findings = new Findings({ findsAll: false, differencesMax: 1 });
  #walk: DatabaseWalk;

  private constructor(connection: Connection, walkOptions: Pick<ScrubWalkOptions, "ruleTable" | "heldChain">) {
    this.#connection = connection;
    this.#walkOptions = walkOptions;
    this.#walk = this.#begin();
  }

  /** @throws StoreError `unavailable`, `schema` */
  static async open({ url, statementTimeoutMs, ...walkOptions }: ScrubWalkOptions): Promise<ScrubWalk> {
    const settings = {
      ...INDEXED_PLANS,
      default_transaction_read_only: "on",
      statement_timeout: String(statementTimeoutMs),
      idle_in_transaction_session_timeout: String(statementTimeoutMs),
    };
    return new ScrubWalk(await Connection.open({ url, name: "event-anchoring scrub", settings }), walkOptions);
  }

  /** @throws StoreError `unavailable`: the next step begins a pass anew, on a new connection */
  async step(rowsMax: number): Promise<ScrubStep> {
    const before = this.#rows();
    try {
      await this.#connection.transaction(
        (session) => this.#walk.step(session, { rowsMax, logBytesMax: LOG_BYTES_MAX }),
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
      );
    } catch (error) {
      // A damaged number may have failed a statement: the walk has reported it and is at its end.
      if (!this.#walk.isDone) throw error;
    }
    this.#findings.settle();
    const [difference = null] = this.#findings.differences;
    const step = { rows: this.#rows() - before, isPassDone: this.#walk.isDone, difference };
    if (this.#walk.isDone) {
      this.#findings = new Findings({ findsAll: false, differencesMax: 1 });
      this.#walk = this.#begin();
    }
    return step;
  }

  #begin(): DatabaseWalk {
    return new DatabaseWalk({ findings: this.#findings, pinnedRootThk: null, ...this.#walkOptions });
  }

  #rows(): number {
    const { leaves, lookUpItems, claims, grants, statePages, logRows, groupRows } = this.#findings.checked;
    return leaves + lookUpItems + claims + grants + statePages + logRows + groupRows;
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}
