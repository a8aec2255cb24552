import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { EntryDecision } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, raftIdOf } from "@event-anchoring/protocol";
import { until } from "@event-anchoring/testkit";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import { RaftLog, Reads, SNAPSHOT_CHUNK_BYTES, exportInProcess, exportSnapshot } from "../../src/index.ts";
import { CLUSTER_ID } from "../support/cluster.ts";
import { migratedDatabase, refusalOf, sql, superuserUrl } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { CONF_STATE, chunksOf, sha256, startSender } from "../support/snapshots.ts";
import type { Sender } from "../support/snapshots.ts";
import { StoredLedgerHarness, event, events, originAt, partsOf, reopened } from "../support/stored-ledger.ts";

let sending: Sender;
let server: TestPostgres;
let sender: TestDatabase;
let harness: StoredLedgerHarness;

beforeAll(async () => {
  sending = await startSender();
  ({ server, database: sender, harness } = sending);
});

afterAll(() => sending.close());

describe("a round trip", () => {
  test("gives the receiver the state, the log's beginning and the membership of the sender", async () => {
    const receiver = await migratedDatabase(server);
    const point = { index: harness.state.appliedIndex, term: harness.state.appliedTerm };
    expect(await sending.install(receiver.url)).toEqual({ point, confState: CONF_STATE });
    const { store, ledger } = await reopened(receiver.url);
    expect(ledger).toEqual(partsOf(harness.state));
    expect((await store.load()).confState).toEqual(CONF_STATE);
    await store.close();
    const log = await RaftLog.open({ url: receiver.url });
    expect(await log.load()).toMatchObject({
      hardState: { term: point.term, vote: 0n, commit: point.index },
      compacted: point,
      entries: [],
      commitHint: point.index,
    });
    await log.close();
  });

  test("rebuilds every table to what the sender has", async () => {
    const receiver = await migratedDatabase(server);
    await sending.install(receiver.url);
    for (const table of ["anchors", "tiles", "certificates", "origins", "trust_root_positions"]) {
      const rows = `SELECT (to_jsonb(t) - 'origin') AS row, o.origin_fingerprint FROM state.${table} t
        JOIN state.origins o ON o.origin = t.origin ORDER BY 2, 1`;
      expect(await sql(superuserUrl(server, receiver), rows)).toEqual(await sql(superuserUrl(server, sender), rows));
    }
    for (const table of ["trust_roots", "api_keys", "group_ids", "ledger"]) {
      const rows = `SELECT to_jsonb(t) AS row FROM state.${table} t ORDER BY 1`;
      expect(await sql(superuserUrl(server, receiver), rows)).toEqual(await sql(superuserUrl(server, sender), rows));
    }
  });

  test("the receiver goes on as the sender does, and knows its client event ids", async () => {
    const receiver = await migratedDatabase(server);
    await sending.install(receiver.url);
    const { store, state } = await reopened(receiver.url);
    const follower = new StoredLedgerHarness(store, state);
    follower.clockMs = harness.clockMs;
    const inputs = [event("uncovered", { clientEventId: "newest" }), event("new"), ...events(300, "more")];
    const entry = follower.entry([
      { kind: "record_events", credential: harness.credential, atomic: false, events: inputs },
    ]);
    const decision = await follower.decide(entry);
    expect(decision.effect).toEqual((await harness.decide(entry)).effect);
    expect(statusesOf(decision).slice(0, 3)).toEqual(["replayed", "accepted", "accepted"]);
    await store.apply({ decision, confState: null });
    await store.close();
  });

  test("replaces an older state and its log, and readers see the one or the other", async () => {
    const receiver = await migratedDatabase(server);
    const old = await StoredLedgerHarness.started(receiver.url);
    await old.record(events(5, "old"));
    await old.store.close();
    const log = await RaftLog.open({ url: receiver.url });
    await log.load();
    const payload = new Uint8Array(3);
    await log.append({
      entries: [1, 2, 3].map((index) => ({ index, term: 9, type: "normal", payload })),
      hardState: { term: 9, vote: 5n, commit: 3 },
      commit: 3,
    });
    await log.close();
    const reads = await Reads.open({ url: receiver.readOnlyUrl });
    const seen: number[] = [];
    const checks = {
      trustRoots: () => undefined,
      origin: async () => {
        seen.push(
          (await reads.position()).sequence,
          (await reads.anchorsOfOrigin(originAt(0), 0, 9, "ascending")).anchors.length,
        );
      },
    };
    await sending.install(receiver.url, undefined, checks);
    expect(seen).toEqual([7, 6, 7, 6, 7, 6]);
    expect((await reads.position()).sequence).toBe(harness.state.nextSequence - 1);
    await reads.close();
    const after = await RaftLog.open({ url: receiver.url });
    expect(await after.load()).toMatchObject({
      hardState: { term: 9, vote: 5n },
      compacted: { index: harness.state.appliedIndex },
      entries: [],
    });
    await after.close();
  });

  test("without any conf change, the members are those of trust root version 1", async () => {
    const bare = await migratedDatabase(server);
    const ledger = await StoredLedgerHarness.started(bare.url);
    await ledger.store.close();
    const snapshot = await exportSnapshot({ url: bare.url, directory: sending.directory, point: null });
    const receiver = await migratedDatabase(server);
    const { manifest } = snapshot;
    const { confState } = await sending.install(receiver.url, { manifest, chunks: await chunksOf(snapshot) });
    const voters = ["a", "b", "c"].map((nodeId) => raftIdOf(CLUSTER_ID, nodeId, nodeCrypto.sha256));
    expect(new Set(confState.voters)).toEqual(new Set(voters));
    await snapshot.close();
  });

  test("the checks get the chain once, and every origin with its roots", async () => {
    const receiver = await migratedDatabase(server);
    const chains: number[] = [];
    const roots: string[] = [];
    await sending.install(receiver.url, undefined, {
      trustRoots: (chain) => {
        chains.push(chain?.versions.length ?? 0);
      },
      origin: async ({ originFingerprint, treeSize, rootHash, rootAt }) => {
        expect(await rootAt(treeSize)).toEqual(rootHash);
        expect(await rootAt(1)).toEqual(await harness.store.rootAt(originFingerprint, 1));
        expect(await refusalOf(rootAt(treeSize + 1))).toBe("out_of_order");
        roots.push(bytesToHex(rootHash));
      },
    });
    expect(chains).toEqual([2]);
    expect(new Set(roots)).toEqual(
      new Set([...harness.state.origins.values()].map(({ tree }) => bytesToHex(tree.rootAt(tree.size)))),
    );
  });
});

/** The database of a ledger that has lost one leaf. */
async function withoutLeaf(): Promise<TestDatabase> {
  const own = await migratedDatabase(server);
  const ledger = await StoredLedgerHarness.started(own.url);
  await ledger.record(events(5, "own"));
  await ledger.store.close();
  await sql(superuserUrl(server, own), "DELETE FROM state.anchors WHERE sequence = 4");
  return own;
}

describe("an export", () => {
  test("is one state, whatever is applied meanwhile, and leaves no file", async () => {
    const own = await migratedDatabase(server);
    const ledger = await StoredLedgerHarness.started(own.url);
    await ledger.record(events(3000, "many").slice(0, 1000));
    const exporting = exportSnapshot({ url: own.url, directory: sending.directory, point: null });
    for (let count = 0; count < 20; count++) await ledger.record([event(`meanwhile ${count}`)]);
    const snapshot = await exporting;
    expect(readdirSync(sending.directory)).toEqual([]);
    const receiver = await migratedDatabase(server);
    const { point } = await sending.install(receiver.url, {
      manifest: snapshot.manifest,
      chunks: await chunksOf(snapshot),
    });
    expect(point.index).toBe(snapshot.manifest.raftIndex);
    await snapshot.close();
    await ledger.store.close();
  });

  test("gives any chunk again, and none that is not there", async () => {
    const { exported, chunks } = sending;
    expect(sha256(await exported.chunk(0))).toEqual(exported.manifest.chunkHashes[0]);
    expect(chunks.length).toBeGreaterThan(1);
    expect(chunks.map(({ length }) => length).slice(0, -1)).toEqual(
      chunks.slice(0, -1).map(() => SNAPSHOT_CHUNK_BYTES),
    );
    await expect(exported.chunk(chunks.length)).rejects.toThrow(RangeError);
    await expect(exported.chunk(-1)).rejects.toThrow(RangeError);
  });

  test("of a ledger with a missing leaf is refused", async () => {
    const { url } = await withoutLeaf();
    expect(await refusalOf(exportSnapshot({ url, directory: sending.directory, point: null }))).toBe("corrupt");
  });
});

describe("an export by a process of its own", () => {
  const PROGRAM = fileURLToPath(new URL("../../dist/snapshot/export-program.js", import.meta.url));

  function exported({ url }: TestDatabase, program = PROGRAM): ReturnType<typeof exportInProcess> {
    return exportInProcess({ url, directory: sending.directory, point: null }, program);
  }

  test("is the same, and its file is read here", async () => {
    const snapshot = await exported(sender);
    expect(snapshot.manifest).toEqual({ ...sending.exported.manifest, snapshotId: expect.any(Uint8Array) });
    expect((await chunksOf(snapshot)).map(sha256)).toEqual(snapshot.manifest.chunkHashes);
    expect(readdirSync(sending.directory)).toEqual([]);
    await snapshot.close();
  });

  test("fails as an export fails", async () => {
    const failure = exported(await withoutLeaf());
    await expect(failure).rejects.toMatchObject({ name: "StoreError", code: "corrupt" });
    await expect(failure).rejects.toThrow("1 anchors after sequence 0 are missing");
    const nowhere = { ...sender, url: "postgresql://nobody@127.0.0.1:1/none" };
    await expect(exported(nowhere)).rejects.toMatchObject({ name: "StoreError", code: "unavailable" });
  });

  test.each([
    ["process.exit(0)", "exit code 0"],
    ["process.kill(process.pid, 'SIGKILL')", "SIGKILL"],
    ["throw new Error('a fault that nobody expected')", "exit code 1"],
  ])("fails after %s", async (text, reason) => {
    const program = join(mkdtempSync(join(tmpdir(), "anchoring-")), "program.js");
    writeFileSync(program, text);
    const failure = exported(sender, program);
    await expect(failure).rejects.toMatchObject({ name: "StoreError", code: "unavailable" });
    await expect(failure).rejects.toThrow(`the process of an export ended before it was done: ${reason}`);
    expect(readdirSync(sending.directory)).toEqual([]);
    rmSync(dirname(program), { recursive: true });
  });

  test("ends with the one that wanted it", async () => {
    const text = `
      import { exportInProcess } from ${JSON.stringify(new URL("../../dist/index.js", import.meta.url))};
      const [url, directory] = process.argv.slice(-2);
      await exportInProcess({ url, directory, point: null });`;
    const holder = await SqlSession.open(superuserUrl(server, sender));
    const watcher = await SqlSession.open(superuserUrl(server, sender));
    const exporting = "SELECT pid FROM pg_stat_activity WHERE application_name = 'event-anchoring snapshot export'";
    const isExporting = async (): Promise<boolean> => (await watcher.rows(exporting)).length > 0;
    await holder.rows("BEGIN");
    await holder.rows("LOCK TABLE state.anchors");
    const node = spawn(process.execPath, ["--input-type=module", "-e", text, "-", sender.url, sending.directory]);
    const ended = once(node, "exit");
    await until("the export waits for a table", isExporting, 20_000);
    const [program = ""] = readFileSync(`/proc/${String(node.pid)}/task/${String(node.pid)}/children`, "latin1").split(
      " ",
    );
    expect(existsSync(`/proc/${program}/stat`)).toBe(true);
    node.kill("SIGKILL");
    await ended;
    await until("the export has ended too", () => !existsSync(`/proc/${program}/stat`), 20_000);
    await Promise.all([holder.close(), watcher.close()]);
  });
});

function statusesOf(decision: EntryDecision): string[] {
  return decision.outcomes.flatMap((group) =>
    group.status === "decided"
      ? group.commands.flatMap((command) =>
          command.kind === "records" ? command.records.map(({ status }) => status) : [],
        )
      : [],
  );
}
