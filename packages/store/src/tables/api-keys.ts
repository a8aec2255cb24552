/** state.api_keys: hashes, scopes and expiry of API keys, and the operators' acts that made and ended them. */
import { scopesFromBits, scopesToBits } from "@event-anchoring/ledger";
import type { ApiKey } from "@event-anchoring/ledger";
import type { Reader } from "../postgres/connection.ts";
import type { GuardedStatement } from "./guarded-statement.ts";
import { arraysOf, bigint, bytea, insertOf, selectOf, smallint, text } from "./table.ts";
import type { Columns } from "./table.ts";

interface ApiKeyRow extends Omit<ApiKey, "scopes" | "createdBy" | "endedBy"> {
  /** Bits. */
  readonly scopes: number;
  readonly createdBy: string;
  readonly createdCounter: number;
  /** '' and 0: no act. */
  readonly endedBy: string;
  readonly endedCounter: number;
}

const COLUMNS: Columns<ApiKeyRow> = {
  keyId: bytea("key_id"),
  keyHash: bytea("key_hash"),
  apiClientId: bytea("api_client_id"),
  label: text("label"),
  scopes: smallint("scopes"),
  expiresMs: bigint("expires_ms"),
  requestsPerSecond: bigint("requests_per_second"),
  createdMs: bigint("created_ms"),
  revokedMs: bigint("revoked_ms"),
  createdBy: text("created_by"),
  createdCounter: bigint("created_counter"),
  endedBy: text("ended_by"),
  endedCounter: bigint("ended_counter"),
};

/** The columns of an existing key that may change. */
const CHANGING = (
  ["label", "scopes", "expiresMs", "requestsPerSecond", "revokedMs", "endedBy", "endedCounter"] as const
)
  .map((field) => COLUMNS[field].name)
  .map((name) => `${name} = excluded.${name}`)
  .join(", ");

const arrays = arraysOf(COLUMNS);
const INSERT = {
  name: "api_keys",
  sql: insertOf("state.api_keys", COLUMNS, `ON CONFLICT (key_id) DO UPDATE SET ${CHANGING}`),
};

function rowOf(key: ApiKey): ApiKeyRow {
  const { createdBy, endedBy } = key;
  return {
    ...key,
    scopes: scopesToBits(key.scopes),
    createdBy: createdBy.operator,
    createdCounter: createdBy.counter,
    endedBy: endedBy?.operator ?? "",
    endedCounter: endedBy?.counter ?? 0,
  };
}

export function addApiKeys(statement: GuardedStatement, keys: readonly ApiKey[]): void {
  if (keys.length > 0) statement.add(INSERT, arrays(keys.map(rowOf), {}));
}

function toApiKey(row: ApiKeyRow): ApiKey {
  const { keyId, keyHash, apiClientId, label, expiresMs, requestsPerSecond, createdMs, revokedMs } = row;
  return {
    keyId,
    keyHash,
    apiClientId,
    label,
    scopes: scopesFromBits(row.scopes),
    expiresMs,
    requestsPerSecond,
    createdMs,
    revokedMs,
    createdBy: { operator: row.createdBy, counter: row.createdCounter },
    endedBy: row.endedBy === "" ? null : { operator: row.endedBy, counter: row.endedCounter },
  };
}

/** Rows are ApiKeyRow, by key id. */
const SELECT_API_KEYS = `SELECT ${selectOf("k", COLUMNS)} FROM state.api_keys k ORDER BY k.key_id`;

export async function loadApiKeys(session: Reader): Promise<ApiKey[]> {
  return (await session.read<ApiKeyRow>({ text: SELECT_API_KEYS })).map(toApiKey);
}
