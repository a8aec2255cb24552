import { afterAll, beforeAll, describe } from "@jest/globals";
import { type DatabaseServer, postgresServer, simulatedServer } from "./databases/databases.ts";
import { ledgerCases } from "./databases/ledger-cases.ts";
import { identityCases, logCases } from "./databases/log-cases.ts";
import { snapshotCases } from "./databases/snapshot-cases.ts";

// What simulated machines keep their log and ledger in answers as Postgres does.

describe.each([
  ["Postgres", postgresServer],
  ["the simulated database", simulatedServer],
])("%s", (_, start) => {
  let running: DatabaseServer;
  const server = (): DatabaseServer => running;

  beforeAll(async () => {
    running = await start();
  }, 240_000);

  afterAll(() => running.close());

  logCases(server);
  identityCases(server);
  ledgerCases(server);
  snapshotCases(server);
});
