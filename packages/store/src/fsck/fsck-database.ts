/** One walk over all tables of a node, in one snapshot. */
import { Connection } from "../connection.ts";
import type { Session } from "../connection.ts";
import { INDEXED_PLANS } from "../indexed-plans.ts";
import { assertMigrated } from "../migrate.ts";
import { DatabaseWalk } from "./database-walk.ts";
import { Findings } from "./findings.ts";
import { reportOf } from "./fsck-records.ts";
import { DIFFERENCES_MAX_DEFAULT } from "./options.ts";
import type { FsckOptions, FsckReport } from "./options.ts";

export interface FsckDatabaseOptions extends FsckOptions {
  /** Connects as a role that may read both schemas: the owner. */
  readonly url: string;
  /** Rows of one batch. Default 1,000. */
  readonly batchRows?: number;
}

const BATCH_ROWS_DEFAULT = 1000;

async function walkAll(session: Session, options: FsckDatabaseOptions): Promise<FsckReport> {
  const { pinnedRootThk, findsAll = false, differencesMax = DIFFERENCES_MAX_DEFAULT } = options;
  const findings = new Findings({ findsAll, differencesMax });
  const walk = new DatabaseWalk({ findings, pinnedRootThk });
  while (!walk.isDone && !findings.isEnough) {
    options.signal?.throwIfAborted();
    const progress = await walk.step(session, options.batchRows ?? BATCH_ROWS_DEFAULT);
    findings.settle();
    options.onProgress?.(progress);
  }
  return reportOf(findings, walk.walk);
}

/**
 * Derives everything again that can be derived from the leaves, and names what differs. Reads only, in one snapshot: a
 * node may serve meanwhile, and what it writes is not looked at.
 * @throws StoreError `unavailable`, `schema`; whatever the signal was aborted with
 */
export async function fsckDatabase(options: FsckDatabaseOptions): Promise<FsckReport> {
  const connection = await Connection.open({
    url: options.url,
    name: "event-anchoring fsck",
    settings: { ...INDEXED_PLANS, default_transaction_read_only: "on" },
  });
  try {
    await assertMigrated(connection);
    return await connection.transaction(
      (session) => walkAll(session, options),
      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    );
  } finally {
    await connection.close();
  }
}
