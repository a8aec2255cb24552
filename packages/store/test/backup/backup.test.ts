import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { bytesToHex, equalBytes } from "@event-anchoring/protocol";
import {
  BackupError,
  BackupFile,
  IdentityStore,
  RaftLog,
  StoreError,
  fsckRecords,
  restoreBackup,
  scanBackup,
  writeBackup,
} from "../../src/index.ts";
import type { RestoreBackupOptions, WrittenBackup } from "../../src/index.ts";
import { decodeManifest, encodeManifest } from "../../src/backup/backup-format.ts";
import { migratedDatabase, sql, superuserUrl } from "../support/database.ts";
import { sha256, startSender } from "../support/snapshots.ts";
import type { Sender } from "../support/snapshots.ts";
import { originAt, partsOf, reopened } from "../support/stored-ledger.ts";

/** Servers start on a machine that does other things too. */
const TIMEOUT_MS = 180_000;
const VOTERS = [9n, 3n, 0xffff_ffff_ffff_fff0n];

let sender: Sender;
let folder: string;
let path: string;
let written: WrittenBackup;

beforeAll(async () => {
  sender = await startSender();
  folder = mkdtempSync(join(tmpdir(), "anchoring-backup-"));
  path = join(folder, "whole");
  written = await writeBackup({ point: null, url: sender.database.url, path, nodeId: null, nowMs: 1_800_000_000_000 });
}, TIMEOUT_MS);

afterAll(async () => {
  await sender.close();
  rmSync(folder, { recursive: true });
}, TIMEOUT_MS);

async function withFile<T>(file: string, work: (opened: BackupFile) => Promise<T>): Promise<T> {
  const opened = await BackupFile.open(file);
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** The code that this is refused with. */
async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof BackupError || error instanceof StoreError) return error.code;
    throw error;
  }
  return "nothing";
}

function restore(file: BackupFile, url: string, change: Partial<RestoreBackupOptions> = {}): Promise<unknown> {
  return restoreBackup({
    signers: "unsigned",
    file,
    url,
    nodeId: "d",
    judgeChain: () => {},
    newGroup: null,
    ...change,
  });
}

describe("a backup", () => {
  test("says what it holds, and holds what it says", async () => {
    const { state } = sender.harness;
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await withFile(path, async (file) => {
      expect(file.manifest).toEqual(written.manifest);
      expect(file.manifest).toMatchObject({
        nodeId: null,
        takenAtMs: 1_800_000_000_000,
        raftIndex: state.appliedIndex,
        raftTerm: state.appliedTerm,
        nextSequence: state.nextSequence,
        trustRootVersion: 2,
        epoch: 0,
      });
      await file.assertIntact();
      const [, second] = [originAt(0), originAt(2)];
      const heads = [
        { originFingerprint: second, treeSize: 5 },
        { originFingerprint: second, treeSize: 5000 },
      ];
      const { chain, origins, apiKeys, rootOf } = await scanBackup(file, { heads });
      expect(apiKeys).toEqual([...state.apiKeys.values()]);
      expect(chain.newest.trustRoot.version).toBe(2);
      expect(origins.reduce((sum, { treeSize }) => sum + treeSize, 0)).toBe(state.nextSequence);
      const [known, beyond] = heads.map(rootOf);
      expect(equalBytes(known ?? new Uint8Array(), await sender.harness.store.rootAt(second, 5))).toBe(true);
      expect(beyond).toBeNull();
      const report = await fsckRecords(file.records(), { pinnedRootThk: null });
      expect(report.differences).toEqual([]);
      expect(report.checked.leaves).toBe(state.nextSequence);
    });
  });

  test("can be taken by the role that may only read, and is the same", async () => {
    const url = new URL(sender.database.url);
    url.username = sender.server.readOnlyRole;
    const other = join(folder, "read-only");
    const again = await writeBackup({ point: null, url: url.href, path: other, nodeId: "a", nowMs: 1_800_000_000_000 });
    expect(again.manifest).toEqual({ ...written.manifest, nodeId: "a" });
  });

  test("never takes the place of a file, and leaves nothing behind when it fails", async () => {
    const before = readdirSync(folder).length;
    const options = { url: sender.database.url, nodeId: null, nowMs: 0 };
    await expect(writeBackup({ point: null, ...options, path })).rejects.toMatchObject({ code: "EEXIST" });
    const empty = await migratedDatabase(sender.server);
    expect(await codeOf(writeBackup({ point: null, ...options, url: empty.url, path: join(folder, "none") }))).toBe(
      "empty_ledger",
    );
    const damaged = await migratedDatabase(sender.server);
    await sender.install(damaged.url);
    await sql(superuserUrl(sender.server, damaged), "DELETE FROM state.anchors WHERE sequence = 700");
    expect(await codeOf(writeBackup({ point: null, ...options, url: damaged.url, path: join(folder, "none") }))).toBe(
      "corrupt",
    );
    expect(readdirSync(folder)).toHaveLength(before);
  });

  test("what it says of itself is read as it was written, and damage to it is noticed", () => {
    const bytes = encodeManifest(written.manifest);
    expect(decodeManifest(bytes)).toEqual(written.manifest);
    expect(() => decodeManifest(bytes.subarray(0, bytes.length - 1))).toThrow(BackupError);
    expect(() => decodeManifest(Uint8Array.from([...bytes, 0]))).toThrow(BackupError);
  });
});

describe("a file that is no sound backup", () => {
  const flipped = (at: (length: number) => number) => (bytes: Buffer) => {
    const place = at(bytes.length);
    bytes[place] = (bytes[place] ?? 0) ^ 4;
    return bytes;
  };

  test.each<[string, string, (bytes: Buffer) => Buffer]>([
    ["of another mark", "not_a_backup", flipped(() => 0)],
    ["of a later format", "format_unknown", flipped(() => 24)],
    ["of nothing", "not_a_backup", () => Buffer.alloc(0)],
    ["cut off in its records", "not_a_backup", (bytes) => bytes.subarray(0, 100_000)],
    ["without its last byte", "not_a_backup", (bytes) => bytes.subarray(0, -1)],
    ["with a flipped bit in its header", "altered", flipped(() => 40)],
    ["with a flipped bit in a leaf", "altered", flipped((length) => Math.floor(length / 2))],
    ["with a flipped bit in what it says of itself", "altered", flipped((length) => length - 50)],
    ["with a flipped bit in its hash", "altered", flipped((length) => length - 1)],
    ["with a byte more", "not_a_backup", (bytes) => Buffer.concat([bytes, Buffer.alloc(1)])],
  ])("%s is refused", async (name, code, change) => {
    const file = join(folder, name.replaceAll(" ", "-"));
    writeFileSync(file, change(readFileSync(path)));
    expect(await codeOf(withFile(file, (opened) => opened.assertIntact()))).toBe(code);
  });

  /** A file that was made anew around other content: its hash fits. */
  function forged(name: string, change: (manifest: WrittenBackup["manifest"]) => WrittenBackup["manifest"]): string {
    const whole = readFileSync(path);
    const old = encodeManifest(written.manifest).length;
    const records = whole.subarray(0, whole.length - 36 - old);
    const manifest = encodeManifest(change(written.manifest));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(manifest.length);
    const body = Buffer.concat([records, manifest, length]);
    const file = join(folder, name);
    writeFileSync(file, Buffer.concat([body, sha256(body)]));
    return file;
  }

  test.each<[string, (manifest: WrittenBackup["manifest"]) => WrittenBackup["manifest"]]>([
    ["cluster", (told) => ({ ...told, clusterId: new Uint8Array(32) })],
    ["entry", (told) => ({ ...told, raftIndex: told.raftIndex + 1 })],
    ["leaves", (told) => ({ ...told, nextSequence: told.nextSequence - 1 })],
    ["epoch", (told) => ({ ...told, epoch: 1 })],
    ["origins", (told) => ({ ...told, origins: told.origins.slice(1) })],
    ["root", (told) => ({ ...told, origins: told.origins.map((one) => ({ ...one, rootHash: new Uint8Array(32) })) })],
  ])("that says another %s than it holds is refused", async (name, change) => {
    const file = forged(`forged-${name}`, change);
    expect(await codeOf(withFile(file, (opened) => scanBackup(opened)))).toBe("inconsistent");
  });

  test("forged from the same leaves, it is what it says", async () => {
    const file = forged("forged-same", (told) => told);
    expect(await codeOf(withFile(file, (opened) => scanBackup(opened)))).toBe("nothing");
  });
});

describe("a backup put into an empty database", () => {
  test("gives a node the state, the beginning of its log, and what it was made of", async () => {
    const database = await sender.server.createDatabase();
    await withFile(path, (file) => restore(file, database.url));
    const { store, ledger } = await reopened(database.url);
    expect(ledger).toEqual(partsOf(sender.harness.state));
    await store.close();
    const { appliedIndex: index, appliedTerm: term, effect } = sender.harness.state;
    const log = await RaftLog.open({ url: database.url });
    expect(await log.load()).toMatchObject({ compacted: { index, term }, entries: [], hardState: { term, vote: 0n } });
    await log.close();
    const identity = await IdentityStore.open({ url: database.url });
    expect(await identity.load()).toBeNull();
    expect(await identity.loadRestoration()).toEqual({
      scope: "node",
      nodeId: "d",
      backupSha256: written.sha256,
      point: { index, term },
      effect,
      trustRoots: [],
    });
    await identity.close();
  });

  test("gives a new group its voters and its trust roots", async () => {
    const database = await sender.server.createDatabase();
    const newGroup = { voters: VOTERS, trustRoots: ["one\n", "two\n"] };
    await withFile(path, (file) => restore(file, database.url, { newGroup }));
    const { store } = await reopened(database.url);
    const { confState } = await store.load();
    expect(confState).toMatchObject({ voters: [3n, 9n, 0xffff_ffff_ffff_fff0n], learners: [] });
    await store.close();
    const identity = await IdentityStore.open({ url: database.url });
    expect(await identity.loadRestoration()).toMatchObject({ scope: "cluster", trustRoots: ["one\n", "two\n"] });
    await identity.close();
  });

  test.each<[string, (url: string) => Promise<unknown>]>([
    ["has belonged to a node", (url) => takeIdentity(url)],
    ["holds a state", (url) => sender.install(url)],
    ["holds a backup already", (url) => withFile(path, (file) => restore(file, url))],
    ["has voted", (url) => sql(url, "INSERT INTO node.raft_state (term, vote, checksum) VALUES (1, 0, '')")],
  ])("is refused where the database %s", async (_name, use) => {
    const database = await migratedDatabase(sender.server);
    await use(database.url);
    expect(await codeOf(withFile(path, (file) => restore(file, database.url)))).toBe("not_empty");
  });

  test("is refused by its chain before anything is there, and altered before the database is touched", async () => {
    const database = await sender.server.createDatabase();
    const refusing = { judgeChain: () => refuse() };
    await expect(withFile(path, (file) => restore(file, database.url, refusing))).rejects.toThrow("not ours");
    const bytes = readFileSync(path);
    bytes[5000] = (bytes[5000] ?? 0) ^ 1;
    const altered = join(folder, "altered-for-restore");
    writeFileSync(altered, bytes);
    expect(await codeOf(withFile(altered, (file) => restore(file, database.url)))).toBe("altered");
    const [row] = await sql(database.url, "SELECT count(*)::int AS leaves FROM state.anchors");
    const [made] = await sql(database.url, "SELECT count(*)::int AS rows FROM node.restoration");
    expect([row?.["leaves"], made?.["rows"]]).toEqual([0, 0]);
  });
});

function refuse(): never {
  throw new Error("not ours");
}

async function takeIdentity(url: string): Promise<void> {
  const identity = await IdentityStore.open({ url });
  await identity.insert({
    pairId: new Uint8Array(16),
    nodeId: "a",
    clusterId: new Uint8Array(32),
    raftId: BigInt(`0x${bytesToHex(new Uint8Array(8).fill(1))}`),
  });
  await identity.close();
}
