import { createHash } from "node:crypto";
import { equalBytes } from "@event-anchoring/protocol";
import { Connection } from "./connection.ts";
import type { Reader } from "./connection.ts";
import { StoreError } from "./errors.ts";
import { readMigrationFiles } from "./migration-files.ts";

/** One file of migrations/: `000001_initial.sql`. Forward only; a file that was released is never edited. */
interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
  readonly sha256: Uint8Array;
  /** Its first line is `-- breaking`: a program that does not know it must not use the database. */
  readonly isBreaking: boolean;
}

interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly sha256: Uint8Array;
  readonly is_breaking: boolean;
}

export interface MigrateOptions {
  /** An existing role that may then SELECT from the state tables, and nothing else. */
  readonly readOnlyRole?: string;
  /** Where the numbered .sql files are, if they are not this package's. */
  readonly migrationsDirectory?: string;
}

export interface MigrationResult {
  /** Names of the files applied by this call; empty if the schema was there already. */
  readonly applied: readonly string[];
}

/** Serialises processes that migrate the same database; an arbitrary constant ("eventanc" in ASCII). */
const MIGRATION_LOCK = 0x6576656e74616e63n;

const TABLE_SQL = `
  CREATE SCHEMA IF NOT EXISTS state;
  CREATE TABLE IF NOT EXISTS state.migrations (
    number      integer     PRIMARY KEY,
    name        text        NOT NULL,
    sha256      bytea       NOT NULL,
    is_breaking boolean     NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT now()
  )`;

function loadMigrations(directory?: string): readonly Migration[] {
  return readMigrationFiles(directory).map(({ name, sql }) => ({
    number: Number.parseInt(name, 10),
    name,
    sql,
    sha256: createHash("sha256").update(sql).digest(),
    isBreaking: sql.startsWith("-- breaking\n"),
  }));
}

/**
 * Refuses a database whose history is not a continuation of ours: a file that differs from the one applied, or a
 * newer breaking one. A newer one that does not break is fine: it was written so that this program still works.
 */
function assertCompatible(known: readonly Migration[], applied: readonly AppliedMigration[]): void {
  for (const row of applied) {
    const ours = known.find((migration) => migration.number === row.number);
    if (ours === undefined) {
      if (!row.is_breaking) continue;
      throw new StoreError("other_build", `the database was migrated by a newer version (${row.name})`);
    }
    if (!equalBytes(ours.sha256, row.sha256)) {
      throw new StoreError("other_build", `the database was made by another build: its ${row.name} is not this one's`);
    }
  }
}

async function appliedMigrations(session: Reader): Promise<AppliedMigration[]> {
  return session.read<AppliedMigration>({
    text: "SELECT number, name, sha256, is_breaking FROM state.migrations ORDER BY number",
  });
}

async function applyMigration(connection: Connection, migration: Migration): Promise<void> {
  await connection.transaction(async (session) => {
    await session.write({ text: migration.sql });
    await session.write(
      {
        text: "INSERT INTO state.migrations (number, name, sha256, is_breaking) VALUES ($1, $2, $3, $4)",
      },
      [migration.number, migration.name, migration.sha256, migration.isBreaking],
    );
  });
}

function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Also for tables that later migrations of the same owner create. */
async function grantReads(connection: Connection, role: string): Promise<void> {
  const name = quoteIdentifier(role);
  await connection.transaction(async (session) => {
    await session.write({ text: `GRANT USAGE ON SCHEMA state TO ${name}` });
    await session.write({ text: `GRANT SELECT ON ALL TABLES IN SCHEMA state TO ${name}` });
    await session.write({
      text: `ALTER DEFAULT PRIVILEGES IN SCHEMA state GRANT SELECT ON TABLES TO ${name}`,
    });
  });
}

/**
 * Brings the schema of a database up to this program's version. Safe when raced: one process works, the others find
 * nothing left to do.
 * @param url connects as the owner of the database
 * @throws StoreError `other_build` (newer breaking schema, another file than was applied), `schema`, `unavailable`
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<MigrationResult> {
  const known = loadMigrations(options.migrationsDirectory);
  const connection = await Connection.open({ url, name: "event-anchoring migrate" });
  try {
    await connection.lock(MIGRATION_LOCK);
    await connection.write({ text: TABLE_SQL });
    const before = await appliedMigrations(connection);
    assertCompatible(known, before);
    const missing = known.filter(({ number }) => !before.some((row) => row.number === number));
    for (const migration of missing) await applyMigration(connection, migration);
    if (options.readOnlyRole !== undefined) await grantReads(connection, options.readOnlyRole);
    return { applied: missing.map(({ name }) => name) };
  } finally {
    await connection.close();
  }
}

/**
 * Checks that the database was migrated for this program.
 * @throws StoreError `schema` if it was not; `other_build` if by another build, or further in a breaking way
 */
export async function assertMigrated(connection: Reader, migrationsDirectory?: string): Promise<void> {
  const known = loadMigrations(migrationsDirectory);
  const applied = await appliedMigrations(connection);
  assertCompatible(known, applied);
  const missing = known.find(({ number }) => !applied.some((row) => row.number === number));
  if (missing !== undefined) {
    throw new StoreError("schema", `migration ${missing.name} has not been applied`);
  }
}
