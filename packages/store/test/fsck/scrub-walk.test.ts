/** The scrub walks tables that change between its steps. */
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { RELEASE_RULES, erasureEntry } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { parseSignedTrustRoot, verifyTrustRootChain } from "@event-anchoring/protocol";
import { Findings } from "../../src/fsck/findings.ts";
import { judgedChain } from "../../src/fsck/trust-roots.ts";
import { ScrubWalk, describeDifference } from "../../src/index.ts";
import { LOG_ROW_CHECKSUM_SQL } from "../../src/log/raft-codec.ts";
import { changeStateTree, forgetGroups } from "../support/state-tables.ts";
import { flipped } from "../support/planted.ts";
import { migratedDatabase, refusalOf, sql, startTestPostgres, terminate } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import { makeSoundNode } from "../support/sound-node.ts";
import type { SoundNode } from "../support/sound-node.ts";

jest.setTimeout(240_000);

let server: TestPostgres;
let database: TestDatabase;
let node: SoundNode;
let walk: ScrubWalk;

beforeAll(async () => {
  server = await startTestPostgres();
  database = await migratedDatabase(server);
  node = await makeSoundNode(database);
});

beforeEach(async () => {
  walk = await ScrubWalk.open({ url: database.url, statementTimeoutMs: 120_000, ruleTable: RELEASE_RULES });
});

afterAll(async () => {
  await server.close();
});

const STEPS_MAX = 2000;

/** Steps until the pass ends or finds something; `between` runs before each. */
async function pass(rowsMax: number, between: (step: number) => Promise<void> = async () => undefined) {
  let rows = 0;
  for (let step = 0; step < STEPS_MAX; step++) {
    await between(step);
    const made = await walk.step(rowsMax);
    rows += made.rows;
    if (made.difference !== null) return { rows, told: describeDifference(made.difference) };
    if (made.isPassDone) return { rows, told: null };
  }
  throw new Error("the pass does not end");
}

/** What is in the log beyond what is applied, to be taken away and put back. */
const TAIL = "CREATE TABLE IF NOT EXISTS public.tail AS SELECT * FROM node.raft_log WHERE index >";

/** As an entry erases them: rows, state tree and ledger in one transaction. */
async function erased({ url }: TestDatabase, sequences: readonly number[]): Promise<void> {
  await changeStateTree(url, sequences.map(erasureEntry), [
    `UPDATE state.anchors SET client_event_id = NULL, salt = NULL WHERE sequence IN (${sequences.join(", ")})`,
  ]);
}

describe("a pass", () => {
  test("ends, and the next one walks the same rows again", async () => {
    const first = await pass(100);
    const second = await pass(60);
    expect(first.told).toBeNull();
    const kept = "(SELECT count(*) FROM state.tree_pages) + (SELECT count(*) FROM state.group_ids)";
    const items = "(SELECT sum(cardinality(items)) FROM state.lookup_runs)";
    const [counted] = await sql(database.url, `SELECT (${kept} + ${items})::int AS rows`);
    expect(first.rows).toBe(node.nextSequence + 5 + 3 + node.appliedIndex + 2 + Number(counted?.["rows"]));
    expect(second).toEqual(first);
    await walk.close();
  });

  test("is not led astray by a log whose end comes and goes", async () => {
    await sql(database.url, `${TAIL} ${node.appliedIndex}`);
    let isThere = true;
    const { told } = await pass(4, async (step) => {
      // Before that it walks leaves.
      if (step < node.nextSequence / 4) return;
      isThere = !isThere;
      const text = isThere
        ? "INSERT INTO node.raft_log SELECT * FROM public.tail"
        : `DELETE FROM node.raft_log WHERE index > ${node.appliedIndex}`;
      if (step < node.nextSequence / 4 + 12) await sql(database.url, text);
    });
    expect(told).toBeNull();
    await sql(database.url, "INSERT INTO node.raft_log SELECT * FROM public.tail ON CONFLICT DO NOTHING");
    await walk.close();
  });

  test("reads the log as the program does that has written it, which may know more than a release", async () => {
    const stamped = (version: number): string =>
      `UPDATE node.raft_log SET payload = set_byte(payload, 0, ${version}) WHERE index = 4`;
    await sql(database.url, stamped(2));
    await sql(database.url, `UPDATE node.raft_log SET checksum = ${LOG_ROW_CHECKSUM_SQL} WHERE index = 4`);
    const byRelease = await pass(500);
    expect(byRelease.told).toMatch(/^node\.raft_log, index 4, payload: is entry_version_unknown/);
    await walk.close();
    walk = await ScrubWalk.open({ url: database.url, statementTimeoutMs: 120_000, ruleTable: NEXT_RULES });
    expect((await pass(500)).told).toBeNull();
    await sql(database.url, stamped(1));
    await sql(database.url, `UPDATE node.raft_log SET checksum = ${LOG_ROW_CHECKSUM_SQL} WHERE index = 4`);
    await walk.close();
  });

  test("takes the chain that the program holds for its own documents, and finds others", async () => {
    const rows = await sql(database.url, "SELECT document FROM state.trust_roots ORDER BY version");
    const documents = rows.map((row) => String(row["document"]));
    const pinnedRootThk = parseSignedTrustRoot(documents[0] ?? "", nodeCrypto.sha256).rootThk;
    const verified = verifyTrustRootChain({ documents, pinnedRootThk }, nodeCrypto);
    if (verified.result === "refused") throw new Error(verified.detail);
    const { chain } = verified;
    expect(judgedChain(documents, null, new Findings({ findsAll: true, differencesMax: 1 }), chain)).toBe(chain);
    await walk.close();
    const options = { url: database.url, statementTimeoutMs: 120_000, ruleTable: RELEASE_RULES };
    walk = await ScrubWalk.open({ ...options, heldChain: () => chain });
    expect((await pass(100)).told).toBeNull();
    const altered =
      "UPDATE state.trust_roots SET document = replace(document, 'quorum 2', 'quorum 3') WHERE version = 2";
    await sql(database.url, altered);
    expect((await pass(100)).told).toMatch(/^state\.trust_roots, version 2, document: is /u);
    await sql(database.url, altered.replace("'quorum 2', 'quorum 3'", "'quorum 3', 'quorum 2'"));
    await walk.close();
  });

  test("is not led astray by ids that are erased", async () => {
    const { told } = await pass(100, async (step) => {
      if (step === 3) await erased(database, [9, 350]);
    });
    expect(told).toBeNull();
    await walk.close();
  });

  test("finds what is damaged ahead of it", async () => {
    const { told } = await pass(50, async (step) => {
      if (step !== 2) return;
      await sql(database.url, "UPDATE state.anchors SET kind = 6 WHERE sequence = 400");
    });
    expect(told).toBe("state.anchors, sequence 400, kind: is 6, should be 1");
    await sql(database.url, "UPDATE state.anchors SET kind = 1 WHERE sequence = 400");
    await walk.close();
  });

  test("finds what was damaged behind it with the next one", async () => {
    const first = await pass(50, async (step) => {
      if (step !== 5) return;
      await sql(database.url, "UPDATE state.anchors SET kind = 6 WHERE sequence = 40");
    });
    expect(first.told).toBeNull();
    expect((await pass(50)).told).toBe("state.anchors, sequence 40, kind: is 6, should be 1");
    await sql(database.url, "UPDATE state.anchors SET kind = 1 WHERE sequence = 40");
    await walk.close();
  });

  test("finds a page of the state tree that was damaged, and is not led astray by a tree that grows", async () => {
    const flip = `UPDATE state.tree_pages SET ${flipped("slots", 40)} WHERE prefix = ''`;
    const whole = await pass(10, async (step) => {
      if (step % 7 === 0 && step < 70) await erased(database, [20 + step]);
    });
    expect(whole.told).toBeNull();
    const found = await pass(100, async (step) => {
      if (step === 2) await sql(database.url, flip);
    });
    expect(found.told).toContain("state.tree_pages");
    await sql(database.url, flip);
    await walk.close();
  });

  test("is not led astray by groups that are forgotten", async () => {
    let steps = 0;
    await pass(1, async (step) => void (steps = step));
    const [newest] = await sql(database.url, "SELECT max(index)::int AS index FROM state.group_ids");
    const { told } = await pass(1, async (step) => {
      // The groups come last, row by row.
      if (step === steps - 5) await forgetGroups(database.url, Number(newest?.["index"]));
    });
    expect(told).toBeNull();
    await walk.close();
  });

  test("is not led astray by a log that is cut at its beginning", async () => {
    const compactTo = async (index: number): Promise<void> => {
      await sql(
        database.url,
        `WITH gone AS (DELETE FROM node.raft_log WHERE index <= ${index})
        INSERT INTO node.raft_compaction VALUES (true, ${index}, 3, sha256(int8send(${index}) || int8send(3)))
        ON CONFLICT (only_row) DO UPDATE SET index = excluded.index, checksum = excluded.checksum`,
      );
    };
    const { told } = await pass(5, async (step) => {
      const inLog = step - Math.ceil(node.nextSequence / 5);
      if (inLog > 0 && inLog * 3 < node.appliedIndex) await compactTo(inLog * 3);
    });
    expect(told).toBeNull();
    await walk.close();
  });

  test("that loses its connection fails as a whole: nothing is taken for judged that was not", async () => {
    await walk.step(50);
    await terminate(server, "event-anchoring scrub");
    expect(await refusalOf(walk.step(50))).toBe("unavailable");
    await walk.close();
  });
});
