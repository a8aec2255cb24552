import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";

/** The database's disk and session usage, as the server counts it. */
export interface DatabaseUsage {
  /** Files of the database, indexes and dead rows included; the write-ahead log is beside it. */
  readonly bytes: number;
  /** Sessions in the database, of all clients. */
  readonly sessions: number;
  /** Sessions that the server allows in all its databases. */
  readonly sessionsMax: number;
}

const USAGE = {
  name: "database_usage",
  text: `
    SELECT pg_database_size(current_database()) AS bytes, numbackends AS sessions,
      current_setting('max_connections')::integer AS sessions_max
    FROM pg_stat_database WHERE datname = current_database()`,
};

/** Any role may read it. @throws StoreError */
export async function loadDatabaseUsage(reader: Reader): Promise<DatabaseUsage> {
  const [row] = await reader.read<{ bytes: number; sessions: number; sessions_max: number }>(USAGE);
  if (row === undefined) throw new StoreError("corrupt", "the server does not list its own database");
  return { bytes: row.bytes, sessions: row.sessions, sessionsMax: row.sessions_max };
}
