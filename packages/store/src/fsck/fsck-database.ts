/** One walk over all tables of a node, in one snapshot. */
import { Connection } from "../postgres/connection.ts";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { INDEXED_PLANS } from "../postgres/indexed-plans.ts";
import { assertMigrated } from "../postgres/migrate.ts";
import { DatabaseWalk } from "./database-walk.ts";
import { Findings } from "./findings.ts";
import { reportOf } from "./fsck-records.ts";
import { DIFFERENCES_MAX_DEFAULT } from "./options.ts";
import type { FsckOptions, FsckReport } from "./options.ts";

export interface FsckSessionOptions extends FsckOptions {
  /** Rows of one batch. Default 1,000. */
  readonly batchRows?: number;
}

export interface FsckDatabaseOptions extends FsckSessionOptions {
  /** Connects as a role that may read both schemas: the owner. */
  readonly url: string;
}

const BATCH_ROWS_DEFAULT = 1000;
const LOG_BYTES_MAX = 8 * 1024 * 1024;

/** The walk, within the transaction that the session is in. */
export async function fsckSession(session: Reader, options: FsckSessionOptions): Promise<FsckReport> {
  const { pinnedRootThk, findsAll = false, differencesMax = DIFFERENCES_MAX_DEFAULT } = options;
  const findings = new Findings({ findsAll, differencesMax });
  const walk = new DatabaseWalk({ findings, pinnedRootThk });
  while (!walk.isDone && !findings.isEnough) {
    const bounds = { rowsMax: options.batchRows ?? BATCH_ROWS_DEFAULT, logBytesMax: LOG_BYTES_MAX };
    const progress = await walk.step(session, bounds);
    findings.settle();
    options.onProgress?.(progress);
  }
  return reportOf(findings, walk);
}

/**
 * Derives everything again that can be derived from the leaves, and names what differs. Reads only, in one snapshot: a
 * node may serve meanwhile; what it writes during the walk is not checked.
 * @throws StoreError `unavailable`, `schema`
 */
export async function fsckDatabase(options: FsckDatabaseOptions): Promise<FsckReport> {
  const connection = await Connection.open({
    url: options.url,
    name: "event-anchoring fsck",
    settings: { ...INDEXED_PLANS, default_transaction_read_only: "on" },
  });
  try {
    await assertMigrated(connection);
    const done: { report: FsckReport | null } = { report: null };
    try {
      await connection.transaction(async (session) => {
        done.report = await fsckSession(session, options);
      }, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    } catch (error) {
      // A damaged number may have failed a statement: the walk has reported it, and there is nothing to commit.
      if (done.report === null) throw error;
    }
    if (done.report === null) throw new StoreError("unavailable", "the walk has ended without a report");
    return done.report;
  } finally {
    await connection.close();
  }
}
