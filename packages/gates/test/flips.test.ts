import { describe, expect, test } from "@jest/globals";
import { damageSaid } from "../src/flips/damage-said.ts";
import { metNow } from "../src/flips/node-flips.ts";
import { backupFlipsAllowed } from "../src/flips/share-of-backups.ts";

test("bits of backups are never more than a quarter of all", () => {
  const counted = { nodes: 0, backups: 0 };
  for (let round = 0; round < 50; round++) {
    counted.nodes += round % 9;
    const allowed = backupFlipsAllowed(counted);
    counted.backups += allowed;
    expect(allowed).toBeLessThanOrEqual(24);
    expect(4 * counted.backups).toBeLessThanOrEqual(counted.nodes + counted.backups);
  }
  expect(counted.backups).toBeGreaterThan(50);
});

test("a bit counts once it is met: all of a node that serves, none of one that is slow", () => {
  expect([metNow("serves", 0, 8), metNow("stops", 0, 8), metNow("told", 3, 8)]).toEqual([8, 1, 3]);
  expect([metNow("slow", 0, 8), metNow("slow", 2, 8)]).toEqual([0, 2]);
});

describe("a node that does not serve", () => {
  test.each([
    "2026-11-26 20:43:58 UTC [173] ERROR:  invalid page in block 3 of relation base/5/16390",
    '2026-11-26 20:43:58 UTC [173] FATAL:  relation mapping file "global/pg_filenode.map" contains incorrect checksum',
    '{"level":"warn","check":"storage","detail":"invalid page in block 3","message":"unavailable"}',
    '{"level":"error","process":"control-plane","message":"stopped","code":"corrupt_row","detail":"a row is damaged"}',
    '{"level":"warn","process":"control-plane","slot":1,"message":"promise_slot_damaged"}',
    "control-plane: the key of the node cannot be read",
  ])("says why: %s", (line) => {
    expect(damageSaid(`{"level":"info","message":"listening"}\n${line}\n`)).toBe(line);
  });

  test("is merely slow if its logs hold what they hold at every start", () => {
    const said = [
      '{"level":"warn","code":"unreachable","detail":"this node is not serving","message":"root_sync_failed"}',
      '{"level":"warn","code":"unreachable","detail":"no leader is known","message":"root_sync_failed"}',
      '{"level":"warn","code":"schema","reason":"relation does not exist","message":"waiting for the tables"}',
      '{"level":"warn","process":"api","cause":"closed by the control plane","message":"lost the control plane"}',
      '{"level":"info","certificate":"good","message":"listening"}',
      "2026-11-26 20:43:58 UTC [1] LOG:  invalid record length at 0/1C72EF0: expected at least 24, got 0",
      "2026-11-26 20:43:58 UTC [2] FATAL:  the database system is starting up",
      "2026-11-26 20:43:58 UTC [3] ERROR:  permission denied for schema state at character 47",
    ];
    expect(damageSaid(said.join("\n"))).toBeNull();
  });
});
