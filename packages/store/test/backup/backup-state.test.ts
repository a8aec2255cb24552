/** A backup that a quorum has signed: nobody who can write the file can have it say anything else. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { ApiKey } from "@event-anchoring/ledger";
import { LEAF_KIND, decodeLeaf } from "@event-anchoring/protocol";
import type { StateHead } from "@event-anchoring/protocol";
import {
  BackupError,
  BackupFile,
  StateHold,
  StoreError,
  fsckRecords,
  restoreBackup,
  scanBackup,
  writeBackup,
} from "../../src/index.ts";
import type { BackupManifest, RestoreBackupOptions, WrittenBackup } from "../../src/index.ts";
import { BACKUP_MARK, encodeManifest } from "../../src/backup/backup-format.ts";
import { encodeRecords } from "../../src/snapshot/snapshot-format.ts";
import type { SnapshotHeader, SnapshotRecord } from "../../src/snapshot/snapshot-format.ts";
import { SnapshotRebuild } from "../../src/snapshot/snapshot-rebuild.ts";
import { hash, signStateHead } from "../support/cluster.ts";
import { migratedDatabase, sql, startTestPostgres } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { MEMBERS, lived, raftId } from "../support/signed-state.ts";
import { sha256 } from "../support/snapshots.ts";
import { StoredLedgerHarness, event, reopened } from "../support/stored-ledger.ts";

const TIMEOUT_MS = 180_000;

let server: TestPostgres;
let folder: string;
let node: TestDatabase;
let head: StateHead;
let path: string;
let written: WrittenBackup;
let records: SnapshotRecord[];
let files = 0;

beforeAll(async () => {
  server = await startTestPostgres();
  folder = mkdtempSync(join(tmpdir(), "anchoring-signed-"));
  node = await migratedDatabase(server);
  head = await lived(node);
  path = join(folder, "signed");
  written = await take(path, signStateHead(head, ["a", "b"]));
  records = await withFile(path, async (file) => {
    const all: SnapshotRecord[] = [];
    for await (const record of file.records()) all.push(record);
    return all;
  });
}, TIMEOUT_MS);

afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
}, TIMEOUT_MS);

/** Holds the state, goes on with another entry, and backs up what is held. */
async function take(out: string, stateHead: string): Promise<WrittenBackup> {
  const hold = await StateHold.open(node.url);
  const { databaseSnapshot } = await hold.hold();
  const point = { databaseSnapshot, stateHead };
  const options = { url: node.url, path: out, nodeId: null, nowMs: 0, point, onPointOpened: () => void hold.release() };
  try {
    return await writeBackup(options);
  } finally {
    await hold.release();
  }
}

async function withFile<T>(file: string, work: (opened: BackupFile) => Promise<T>): Promise<T> {
  const opened = await BackupFile.open(file);
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

async function wordsOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof BackupError || error instanceof StoreError) return error.message;
    throw error;
  }
  return "nothing";
}

/** A file around other records, which says of itself what it holds. */
function forged(alter: (record: SnapshotRecord) => readonly SnapshotRecord[]): string {
  const altered = records.flatMap(alter);
  const rebuild = new SnapshotRebuild();
  for (const record of altered) rebuild.add(record);
  const { raftIndex, raftTerm, effect, nextSequence, lastAcceptedMs } = rebuild.header;
  const trees = rebuild.origins();
  return fileOf(altered, {
    ...written.manifest,
    raftIndex,
    raftTerm,
    effect,
    nextSequence,
    lastAcceptedMs,
    isSigned: rebuild.stateHead !== null,
    origins: written.manifest.origins.map((origin, at) => ({ ...origin, ...trees[at] })),
  });
}

/** Its hashes fit, whatever is in it. */
function fileOf(altered: readonly SnapshotRecord[], told: BackupManifest): string {
  const manifest = encodeManifest(told);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(manifest.length);
  const body = Buffer.concat([BACKUP_MARK, encodeRecords(altered), manifest, length]);
  const file = join(folder, `forged-${files++}`);
  writeFileSync(file, Buffer.concat([body, sha256(body)]));
  return file;
}

interface Refusals {
  readonly verify: string;
  readonly restore: string;
  /** Rows of the state that the refused restore has left. */
  readonly rows: number;
}

async function restore(file: string, url: string, change: Partial<RestoreBackupOptions> = {}): Promise<unknown> {
  return withFile(file, (opened) =>
    restoreBackup({
      signers: "quorum",
      file: opened,
      url,
      nodeId: "d",
      judgeChain: () => {},
      newGroup: null,
      ...change,
    }),
  );
}

async function refusalsOf(file: string, change: Partial<RestoreBackupOptions> = {}): Promise<Refusals> {
  const { url } = await migratedDatabase(server);
  const verify = await wordsOf(withFile(file, (opened) => scanBackup(opened)));
  const result = await wordsOf(restore(file, url, change));
  const count = "(SELECT count(*) FROM state.api_keys) + (SELECT count(*) FROM state.anchors)";
  const [left] = await sql(url, `SELECT (${count} + (SELECT count(*) FROM node.restoration))::int AS rows`);
  return { verify, restore: result, rows: Number(left?.["rows"]) };
}

/** The altered file, verified, restored, and restored on an operator's word. */
async function refused(
  alter: (record: SnapshotRecord) => readonly SnapshotRecord[],
): Promise<Refusals & { readonly vouchedFor: string }> {
  const file = forged(alter);
  const vouched = await refusalsOf(file, { signers: "unsigned" });
  const signed = await refusalsOf(file);
  return { ...signed, vouchedFor: vouched.restore, rows: signed.rows + vouched.rows };
}

/** The head that the quorum has signed finds it, and nothing else. */
function differsIn(what: string): Awaited<ReturnType<typeof refused>> {
  const words = `it differs from the state head that was signed: ${what}`;
  return { verify: words, restore: words, vouchedFor: words, rows: 0 };
}

const onKey =
  (alter: (key: ApiKey) => ApiKey) =>
  (record: SnapshotRecord): readonly SnapshotRecord[] => {
    const isRevoked = record.type === "api_key" && record.apiKey.revokedMs > 0;
    return [isRevoked ? { ...record, apiKey: alter(record.apiKey) } : record];
  };

const onHeader =
  (change: (header: SnapshotHeader) => Partial<SnapshotHeader>) =>
  (record: SnapshotRecord): readonly SnapshotRecord[] => [
    record.type === "header" ? { ...record, ...change(record) } : record,
  ];

/** Alters the first record that it changes, and no other. */
function once(
  alter: (record: SnapshotRecord) => SnapshotRecord,
): (record: SnapshotRecord) => readonly SnapshotRecord[] {
  let isDone = false;
  return (record) => {
    const altered = isDone ? record : alter(record);
    isDone ||= altered !== record;
    return [altered];
  };
}

describe("a backup that a quorum has signed", () => {
  test("says so, is sound, and gives a node the state as it was signed", async () => {
    expect(written.manifest).toMatchObject({ isSigned: true, raftIndex: head.raftIndex });
    const scanned = await withFile(path, (file) => scanBackup(file));
    expect(scanned.stateHead?.signers).toEqual(["a", "b"]);
    expect(scanned.stateHead?.head.raftIndex).toBe(head.raftIndex);
    expect((await withFile(path, (file) => fsckRecords(file.records(), { pinnedRootThk: null }))).differences).toEqual(
      [],
    );
    const { url } = await migratedDatabase(server);
    await restore(path, url);
    const { store } = await reopened(url);
    expect((await store.load()).stateRoot).toEqual(head.stateRoot);
    await store.close();
  });

  test("can be restored for another group: its own members are signed, the new ones are the trust root's", async () => {
    const { url } = await migratedDatabase(server);
    await restore(path, url, { newGroup: { voters: [4n, 5n, 6n], trustRoots: ["one\n"] } });
    const { store } = await reopened(url);
    expect((await store.load()).confState).toMatchObject({ voters: [4n, 5n, 6n] });
    await store.close();
  });

  test("is of the point that was held, whatever came after it, and is made of no point that is gone", async () => {
    const { store, state } = await reopened(node.url);
    const hold = await StateHold.open(node.url);
    const { databaseSnapshot } = await hold.hold();
    await new StoredLedgerHarness(store, state).record([event("later")]);
    await store.close();
    const point = { databaseSnapshot, stateHead: signStateHead(head, ["b", "c"]) };
    const options = { url: node.url, nodeId: null, nowMs: 0, point };
    // By the role of the api process, which may only read: the point is the owner's.
    const url = new URL(node.url);
    url.username = server.readOnlyRole;
    const earlier = await writeBackup({ ...options, url: url.href, path: join(folder, "earlier") });
    expect(earlier.manifest.raftIndex).toBe(head.raftIndex);
    await hold.release();
    await expect(writeBackup({ ...options, path: join(folder, "gone") })).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  test("is not made of a state that no quorum has signed, or of another one than was signed", async () => {
    const before = signStateHead(head, ["a", "b"]);
    // The test before has written on: the head is of an earlier entry.
    await expect(take(join(folder, "other"), before)).rejects.toMatchObject({ code: "corrupt" });
    await expect(take(join(folder, "one"), signStateHead(head, ["a"]))).rejects.toThrow(/quorum_missing/);
  });
});

describe("whoever alters it cannot", () => {
  test("add an API key", async () => {
    const keyHash = hash("a key of mine");
    const forge = (key: ApiKey): ApiKey => ({ ...key, keyHash, keyId: keyHash.slice(0, 16), revokedMs: 0 });
    let isFirst = true;
    expect(
      await refused((record) => {
        if (record.type !== "api_key" || !isFirst) return [record];
        isFirst = false;
        return [record, { ...record, apiKey: forge(record.apiKey) }];
      }),
    ).toEqual(differsIn("records, API keys or erasures"));
  });

  test.each<[string, (key: ApiKey) => ApiKey]>([
    ["bring a revoked key back", (key) => ({ ...key, revokedMs: 0 })],
    ["give a key a scope", (key) => ({ ...key, scopes: ["read", "write", "revoke", "admin"] })],
    ["give a key to another client", (key) => ({ ...key, apiClientId: hash("mine").slice(0, 16) })],
  ])("%s", async (_, alter) => {
    expect(await refused(onKey(alter))).toEqual(differsIn("records, API keys or erasures"));
  });

  test.each<[string, string, (header: SnapshotHeader) => Partial<SnapshotHeader>]>([
    ["add a member", "members", () => ({ confState: { ...MEMBERS, voters: [...MEMBERS.voters, raftId("evil")] } })],
    ["make a member a learner", "members", () => ({ confState: { ...MEMBERS, learners: [raftId("d")] } })],
    ["say that the members never changed", "members", () => ({ confState: { ...MEMBERS, voters: [raftId("a")] } })],
    ["set the time", "time", ({ stampMs }) => ({ stampMs: stampMs + 1 })],
    ["forget earlier groups", "group ids", () => ({ groupIdsHashBefore: hash("nothing") })],
    ["choose the place in the log", "log entry", ({ raftIndex }) => ({ raftIndex: raftIndex + 1 })],
    ["choose the effect", "effect chain", () => ({ effect: hash("another") })],
  ])("%s", async (_, what, change) => {
    expect(await refused(onHeader(change))).toEqual(differsIn(what));
  });

  test("choose the rules", async () => {
    const raised = records.map((record) =>
      record.type === "header" ? { ...record, rules: record.rules + 1 } : record,
    );
    const found = await refusalsOf(fileOf(raised, written.manifest));
    expect(found).toMatchObject({ verify: expect.stringContaining("rules"), rows: 0 });
    expect(found.restore).toContain("rules");
  });

  test("give an event to another API client, or another id", async () => {
    const apiClientId = hash("mine").slice(0, 16);
    expect(
      await refused(
        once((record) => {
          if (record.type !== "leaf" || record.clientEvent === null) return record;
          return { ...record, clientEvent: { ...record.clientEvent, apiClientId } };
        }),
      ),
    ).toEqual(differsIn("client events"));
  });

  test("give a claim to another API client", async () => {
    const recordedBy = hash("mine").slice(0, 16);
    expect(
      await refused(
        once((record) => (record.type === "leaf" && record.recordedBy !== null ? { ...record, recordedBy } : record)),
      ),
    ).toEqual(differsIn("records, API keys or erasures"));
  });

  test("erase a client's id", async () => {
    expect(
      await refused(
        once((record) => {
          if (record.type !== "leaf" || record.clientEvent === null || record.clientEvent.isErased) return record;
          const { apiClientId } = record.clientEvent;
          return { ...record, clientEvent: { isErased: true, apiClientId, prefix: new Uint8Array(8) } };
        }),
      ),
    ).toEqual(differsIn("records, API keys or erasures"));
  });

  test("forget a group that was decided", async () => {
    let seen = 0;
    expect(await refused((record) => (record.type === "group_ids" && seen++ === 3 ? [] : [record]))).toEqual(
      differsIn("group ids"),
    );
  });

  test("take the end of a record away, with all that came after it", async () => {
    const leaves = records.flatMap((record) => (record.type === "leaf" ? [decodeLeaf(record.bytes)] : []));
    const cut = leaves.findIndex(({ kind }) => kind === LEAF_KIND.revocation);
    const lastAcceptedMs = leaves[cut - 1]?.acceptedMs ?? 0;
    let seen = 0;
    expect(
      await refused((record) => {
        if (record.type === "header") return [{ ...record, nextSequence: cut, lastAcceptedMs }];
        return record.type === "leaf" && seen++ >= cut ? [] : [record];
      }),
    ).toEqual(differsIn("leaves"));
  });

  test("put another head into it: of another entry, of too few nodes, or none", async () => {
    const withNote = (note: string): string =>
      forged((record) => [record.type === "state_head" ? { ...record, note } : record]);
    const other = await refusalsOf(withNote(signStateHead({ ...head, raftIndex: head.raftIndex - 1 }, ["a", "b"])));
    expect(other.restore).toContain("log entry");
    expect(other.verify).toBe(other.restore);
    expect((await refusalsOf(withNote(signStateHead(head, ["a"])))).restore).toContain("quorum_missing");
    const none = await refusalsOf(forged((record) => (record.type === "state_head" ? [] : [record])));
    expect(none).toEqual({ verify: "nothing", restore: expect.stringContaining("no quorum has signed"), rows: 0 });
  });

  test("name a member whom the trust root does not list, though a quorum signed it", async () => {
    const members = { ...MEMBERS, voters: [...MEMBERS.voters, raftId("evil")] };
    const note = signStateHead({ ...head, members }, ["a", "b"]);
    const file = forged((record) => {
      if (record.type === "state_head") return [{ ...record, note }];
      return [record.type === "header" ? { ...record, confState: members } : record];
    });
    const found = await refusalsOf(file);
    expect(found.verify).toContain("is in no trust root");
    expect(found.restore).toContain("is in no trust root");
  });
});

describe("a backup that nobody has signed", () => {
  test("says so, and is restored on the operator's word alone", async () => {
    const unsigned = join(folder, "unsigned");
    const made = await writeBackup({ url: node.url, path: unsigned, nodeId: null, nowMs: 0, point: null });
    expect(made.manifest.isSigned).toBe(false);
    expect((await withFile(unsigned, (file) => scanBackup(file))).stateHead).toBeNull();
    const { url } = await migratedDatabase(server);
    await expect(restore(unsigned, url)).rejects.toMatchObject({ code: "unsigned" });
    await restore(unsigned, url, { signers: "unsigned" });
    const { store } = await reopened(url);
    await store.close();
  });

  test("and says that somebody has is refused, whoever vouches for it", async () => {
    const headless = records.filter(({ type }) => type !== "state_head");
    const found = await refusalsOf(fileOf(headless, written.manifest), { signers: "unsigned" });
    expect(found).toEqual({
      verify: expect.stringContaining("whether it is signed"),
      restore: "no node has signed the state: there is no state head",
      rows: 0,
    });
  });
});
