import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { restoreLedgerState } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import { exportSnapshot, installSnapshot } from "../../src/index.ts";
import type { SnapshotHeader, SnapshotRecord } from "../../src/snapshot/snapshot-format.ts";
import { migratedDatabase, refusalOf, sql } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { ACCEPT_ALL, CONF_STATE, chunksOf, forge, recordsOf, startSender } from "../support/snapshots.ts";
import type { Sender, Stream } from "../support/snapshots.ts";
import { StoredLedgerHarness, event, partsOf, reopened } from "../support/stored-ledger.ts";

jest.setTimeout(120_000);

let sending: Sender;
let database: TestDatabase;
/** What was sent once rules 2 were in force, and an entry without leaves had moved the time on. */
let raised: Stream;

beforeAll(async () => {
  sending = await startSender();
  ({ database } = sending);
  const { harness, directory } = sending;
  await harness.run([{ kind: "raise_rules", rules: 2 }]);
  await harness.run([]);
  const exported = await exportSnapshot({ url: database.url, directory, point: null });
  raised = { manifest: exported.manifest, chunks: await chunksOf(exported) };
  await exported.close();
}, 300_000);

afterAll(() => sending.close());

function headerOf(records: readonly SnapshotRecord[]): SnapshotHeader {
  const [header] = records;
  if (header?.type !== "header") throw new Error("no header");
  return header;
}

describe("rules in the tables", () => {
  test("are loaded again, with the time that no leaf has", async () => {
    const { url } = await migratedDatabase(sending.server);
    const harness = await StoredLedgerHarness.started(url);
    await harness.record([event("one")]);
    await harness.run([{ kind: "raise_rules", rules: 2 }]);
    await harness.run([]);
    await harness.store.close();
    const { store, state, ledger } = await reopened(url);
    expect(ledger).toEqual(partsOf(harness.state));
    expect(state).toMatchObject({ rules: 2, stampMs: harness.clockMs, lastAcceptedMs: harness.clockMs - 20 });
    await store.close();
  });

  test("a program that does not have them goes no further", async () => {
    const { url } = await migratedDatabase(sending.server);
    const harness = await StoredLedgerHarness.started(url);
    await harness.run([{ kind: "raise_rules", rules: 2 }]);
    await harness.store.close();
    const { store, ledger } = await reopened(url);
    const restore = (): unknown => restoreLedgerState(ledger, nodeCrypto);
    expect(restore).toThrow(expect.objectContaining({ code: "rules_unknown" }));
    await store.close();
  });

  test.each(["rules = rules + 1", "stamp_ms = stamp_ms + 1"])("altered, %s, they are not loaded", async (change) => {
    const { url } = await migratedDatabase(sending.server);
    const harness = await StoredLedgerHarness.started(url);
    await harness.store.close();
    await sql(url, `UPDATE state.ledger SET ${change}`);
    expect(await refusalOf(reopened(url))).toBe("corrupt");
  });
});

describe("rules in a snapshot", () => {
  test("are in its header, with the time that no leaf has", () => {
    expect(headerOf(recordsOf(sending.chunks))).toMatchObject({ rules: 1 });
    const second = headerOf(recordsOf(raised.chunks));
    expect(second).toMatchObject({ rules: 2, stampMs: sending.harness.clockMs });
    expect(second.lastAcceptedMs).toBeLessThan(second.stampMs);
  });

  test("that the installing program does not have are refused", async () => {
    const { url } = await migratedDatabase(sending.server);
    expect(await refusalOf(installSnapshot({ signers: "unsigned", url, ...raised, checks: ACCEPT_ALL }))).toBe(
      "snapshot_refused",
    );
  });

  test("the receiver goes on by them, from that time on", async () => {
    const receiver = await migratedDatabase(sending.server);
    expect((await sending.install(receiver.url, raised)).confState).toEqual(CONF_STATE);
    const { store, state, ledger } = await reopened(receiver.url);
    expect(ledger).toEqual(partsOf(sending.harness.state));
    const follower = new StoredLedgerHarness(store, state);
    follower.clockMs = sending.harness.clockMs - 5000;
    const entry = follower.entry([]);
    expect((await follower.decide(entry)).effect).toEqual((await sending.harness.decide(entry)).effect);
    await store.close();
  });

  test.each<[string, Partial<SnapshotHeader>]>([
    ["rules that this program does not have", { rules: NEXT_RULES.max + 1 }],
    ["a time before the newest leaf's", { stampMs: 1 }],
  ])("%s are refused, and the next one is not", async (_, change) => {
    const receiver = await migratedDatabase(sending.server);
    const records = recordsOf(raised.chunks);
    const lie = forge(raised.manifest, [{ ...headerOf(records), ...change }, ...records.slice(1)]);
    expect(await refusalOf(sending.install(receiver.url, lie))).toBe("snapshot_refused");
    expect(await sending.install(receiver.url, raised)).toMatchObject({ point: { index: raised.manifest.raftIndex } });
  });
});
