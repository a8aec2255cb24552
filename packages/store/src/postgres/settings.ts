/** Refuses to store promises in a server that could lose them. */
import type { Reader } from "./connection.ts";
import { StoreError } from "./errors.ts";

interface SettingRow {
  readonly name: string;
  readonly setting: string;
}

/** Values without which a confirmed commit may vanish or a damaged page may be read as good. */
const REQUIRED: Readonly<Record<string, string>> = {
  fsync: "on",
  full_page_writes: "on",
  ignore_checksum_failure: "off",
  zero_damaged_pages: "off",
};

const SETTINGS_SQL = `
  SELECT name, setting FROM pg_settings
  WHERE name IN ('fsync', 'full_page_writes', 'ignore_checksum_failure', 'zero_damaged_pages', 'synchronous_commit')`;

const NOT_LOGGED_SQL = `
  SELECT n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname IN ('node', 'state') AND c.relkind = 'r' AND c.relpersistence <> 'p'`;

/**
 * @param requiresSynchronousCommit the session confirms what must survive a crash of this machine
 * @throws StoreError `unsafe_settings`, naming each bad one
 */
export async function assertSafeSettings(session: Reader, requiresSynchronousCommit: boolean): Promise<void> {
  const rows = await session.read<SettingRow>({ text: SETTINGS_SQL });
  const bad: string[] = [];
  for (const { name, setting } of rows) {
    const required = name === "synchronous_commit" ? synchronous(requiresSynchronousCommit) : REQUIRED[name];
    if (required !== undefined && setting !== required) bad.push(`${name} = ${setting}`);
  }
  const tables = await session.read<{ name: string }>({ text: NOT_LOGGED_SQL });
  bad.push(...tables.map(({ name }) => `${name} is not logged`));
  if (bad.length > 0) {
    throw new StoreError("unsafe_settings", `the database would lose what it confirms: ${bad.join(", ")}`);
  }
}

function synchronous(isRequired: boolean): string | undefined {
  return isRequired ? "on" : undefined;
}
