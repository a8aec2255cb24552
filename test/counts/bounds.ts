/**
 * What an entry of the log and an answer may cost, in counts that no machine's noise moves. A change that lowers a
 * count lowers its bound here; one that raises a count says why in its commit.
 */
import type { EntryCounts } from "./counted-cluster.ts";

/**
 * All three nodes together, for each entry. Frames are without heartbeats and clock readings. Synced writes are appends
 * and writes of the promise file. Fact queries ask for what events name: ids of clients, once for each node and entry.
 */
export const ENTRY_BOUNDS: Readonly<
  Record<"oneClient" | "manyClients" | "manyClientsWithIds", Omit<EntryCounts, "leaves">>
> = {
  oneClient: { frames: 13, wasmCalls: 23, appends: 3, applies: 1.1, factQueries: 0, promiseWrites: 3.1 },
  manyClients: { frames: 14, wasmCalls: 23, appends: 3, applies: 1, factQueries: 0, promiseWrites: 3.1 },
  manyClientsWithIds: { frames: 14, wasmCalls: 23, appends: 3, applies: 1, factQueries: 3, promiseWrites: 3.1 },
};

/** 48 clients are in two entries: more than this are in each. */
export const MANY_LEAVES = 23;

/** Round trips to Postgres, of one node. */
export const SQL_BOUNDS = {
  append: 1,
  applyOneLeaf: 1,
  applyHundredLeaves: 1,
  applyTenEntries: 1,
  factsOfIdAndReferences: 1,
} as const;

/**
 * What an api process allocates on its heap from a request to its answer, with what the test's client takes of it. Code
 * that V8 has not optimised yet allocates a tenth more, which the bound allows.
 */
export const ANSWER_HEAP_BYTES_MAX = 56_000;
