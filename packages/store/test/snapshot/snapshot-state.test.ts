/** What a quorum signed about the state: nobody who sends a snapshot, or alters a backup, can say anything else. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { apiKeyIdOf } from "@event-anchoring/ledger";
import type { ApiKey } from "@event-anchoring/ledger";
import { LEAF_KIND, decodeLeaf, formatStateHead } from "@event-anchoring/protocol";
import type { StateHead } from "@event-anchoring/protocol";
import { LedgerStore, StateHold, exportSnapshot, installSnapshot } from "../../src/index.ts";
import type { SnapshotHeader, SnapshotRecord } from "../../src/snapshot/snapshot-format.ts";
import { hash, signStateHead } from "../support/cluster.ts";
import { migratedDatabase, sql, startTestPostgres, superuserUrl } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { MEMBERS, lived, raftId } from "../support/signed-state.ts";
import { ACCEPT_ALL, chunksOf, forge, recordsOf } from "../support/snapshots.ts";
import type { Stream } from "../support/snapshots.ts";
import { StoredLedgerHarness, event, reopened } from "../support/stored-ledger.ts";

let server: TestPostgres;
let directory: string;
let sender: TestDatabase;
let head: StateHead;
let own: Stream;
let records: SnapshotRecord[];

beforeAll(async () => {
  server = await startTestPostgres();
  directory = mkdtempSync(join(tmpdir(), "anchoring-spool-"));
  sender = await migratedDatabase(server);
  head = await lived(sender);
  const hold = await StateHold.open(sender.url);
  const { databaseSnapshot } = await hold.hold();
  const point = { databaseSnapshot, stateHead: signStateHead(head, ["a", "b"]) };
  const snapshot = await exportSnapshot({ url: sender.url, directory, point });
  await hold.release();
  own = { manifest: snapshot.manifest, chunks: await chunksOf(snapshot) };
  records = recordsOf(own.chunks);
  await snapshot.close();
});

afterAll(async () => {
  await server.close();
  rmSync(directory, { recursive: true });
});

async function install(stream: Stream): Promise<string> {
  const { url } = await migratedDatabase(server);
  const options = { url, ...stream, checks: ACCEPT_ALL, signers: "quorum" as const };
  return installSnapshot(options).then(
    () => "installed",
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

/** A liar's stream: records as it likes, the manifest to fit, the state head as the quorum signed it. */
async function installAltered(alter: (record: SnapshotRecord) => readonly SnapshotRecord[]): Promise<string> {
  return install(forge(own.manifest, records.flatMap(alter)));
}

function withHeader(change: (header: SnapshotHeader) => Partial<SnapshotHeader>): Promise<string> {
  return installAltered((record) => [record.type === "header" ? { ...record, ...change(record) } : record]);
}

function withHead(note: string): Promise<string> {
  return installAltered((record) => [record.type === "state_head" ? { ...record, note } : record]);
}

describe("a snapshot with its state head", () => {
  test("is installed, and gives the sender's state tree", async () => {
    const receiver = await migratedDatabase(server);
    await installSnapshot({ url: receiver.url, ...own, checks: ACCEPT_ALL, signers: "quorum" });
    for (const table of ["tree_pages", "group_ids"]) {
      const rows = `SELECT to_jsonb(t) AS row FROM state.${table} t ORDER BY 1`;
      expect(await sql(superuserUrl(server, receiver), rows)).toEqual(await sql(superuserUrl(server, sender), rows));
    }
    const store = await LedgerStore.open({ url: receiver.url });
    expect((await store.load()).stateRoot).toEqual(head.stateRoot);
    await store.close();
  });

  test("is read at its point, whatever is written after that", async () => {
    const database = await migratedDatabase(server);
    const point = await lived(database);
    const hold = await StateHold.open(database.url);
    const { databaseSnapshot, raftIndex } = await hold.hold();
    expect(raftIndex).toBe(point.raftIndex);
    const { store, state } = await reopened(database.url);
    await new StoredLedgerHarness(store, state).record([event("later")]);
    await store.close();
    const stateHead = signStateHead(point, ["b", "c"]);
    const snapshot = await exportSnapshot({ url: database.url, directory, point: { databaseSnapshot, stateHead } });
    await hold.release();
    expect(snapshot.manifest.raftIndex).toBe(point.raftIndex);
    expect(await install({ manifest: snapshot.manifest, chunks: await chunksOf(snapshot) })).toBe("installed");
    await snapshot.close();
  });

  test("is not to be had from a point that is held no more", async () => {
    const hold = await StateHold.open(sender.url);
    const { databaseSnapshot } = await hold.hold();
    await hold.release();
    const point = { databaseSnapshot, stateHead: "" };
    await expect(exportSnapshot({ url: sender.url, directory, point })).rejects.toMatchObject({ code: "unavailable" });
    const injected = { databaseSnapshot: "x'; DROP TABLE state.anchors; --", stateHead: "" };
    await expect(exportSnapshot({ url: sender.url, directory, point: injected })).rejects.toThrow("not the name");
  });
});

describe("a lying sender cannot", () => {
  const forgedKey = (key: ApiKey): ApiKey => {
    const keyHash = hash("a key of mine");
    return { ...key, keyHash, keyId: apiKeyIdOf(keyHash), scopes: ["read", "write", "revoke", "admin"] };
  };
  const keyed = "it differs from the state head that was signed: records, API keys or erasures";

  test("add an API key", async () => {
    let isFirst = true;
    const result = await installAltered((record) => {
      if (record.type !== "api_key" || !isFirst) return [record];
      isFirst = false;
      return [record, { ...record, apiKey: forgedKey(record.apiKey) }];
    });
    expect(result).toBe(keyed);
  });

  test.each<[string, (key: ApiKey) => ApiKey]>([
    ["make a revoked key live", (key) => ({ ...key, revokedMs: 0 })],
    ["give a key a scope", (key) => ({ ...key, scopes: ["read", "write", "revoke", "admin"] })],
    ["give a key to another client", (key) => ({ ...key, apiClientId: hash("mine").slice(0, 16) })],
    ["lift a key's rate", (key) => ({ ...key, requestsPerSecond: 1_000_000 })],
    ["name another act", (key) => ({ ...key, createdBy: { ...key.createdBy, counter: 1 } })],
  ])("%s", async (_, alter) => {
    const altered = (record: SnapshotRecord): SnapshotRecord =>
      record.type === "api_key" && record.apiKey.revokedMs > 0 ? { ...record, apiKey: alter(record.apiKey) } : record;
    expect(await installAltered((record) => [altered(record)])).toBe(keyed);
  });

  test("leave a key out", async () => {
    expect(await installAltered((record) => (record.type === "api_key" ? [] : [record]))).toBe(keyed);
  });

  test("say that an event was erased, or keep one that was", async () => {
    let isFirst = true;
    const result = await installAltered((record) => {
      if (record.type !== "leaf" || record.clientEvent === null || record.clientEvent.isErased || !isFirst)
        return [record];
      isFirst = false;
      const { apiClientId } = record.clientEvent;
      return [{ ...record, clientEvent: { isErased: true, apiClientId, prefix: new Uint8Array(8) } }];
    });
    expect(result).toBe(keyed);
  });

  test("give an event to another API client", async () => {
    let isFirst = true;
    const result = await installAltered((record) => {
      if (record.type !== "leaf" || record.clientEvent === null || !isFirst) return [record];
      isFirst = false;
      return [{ ...record, clientEvent: { ...record.clientEvent, apiClientId: hash("mine").slice(0, 16) } }];
    });
    expect(result).toBe("it differs from the state head that was signed: client events");
  });

  test("say that another API client recorded a claim or a grant", async () => {
    for (const kind of [LEAF_KIND.claim, LEAF_KIND.grant]) {
      let isFirst = true;
      const result = await installAltered((record) => {
        if (record.type !== "leaf" || decodeLeaf(record.bytes).kind !== kind || !isFirst) return [record];
        isFirst = false;
        return [{ ...record, recordedBy: hash("mine").slice(0, 16) }];
      });
      expect([isFirst, result]).toEqual([false, keyed]);
    }
  });

  test("forget a group that was decided", async () => {
    let seen = 0;
    const dropped = await installAltered((record) => (record.type === "group_ids" && seen++ === 3 ? [] : [record]));
    expect(dropped).toBe("it differs from the state head that was signed: group ids");
  });

  test.each<[string, string, (header: SnapshotHeader) => Partial<SnapshotHeader>]>([
    ["choose the members", "members", () => ({ confState: { ...MEMBERS, voters: [raftId("a"), raftId("evil")] } })],
    ["make a member a learner", "members", () => ({ confState: { ...MEMBERS, learners: [raftId("d")] } })],
    ["leave the members out", "members", () => ({ confState: { ...MEMBERS, voters: [raftId("a")] } })],
    ["set the time", "time", ({ stampMs }) => ({ stampMs: stampMs + 1 })],
    ["forget earlier groups", "group ids", () => ({ groupIdsHashBefore: hash("nothing") })],
  ])("%s", async (_, what, change) => {
    expect(await withHeader(change)).toBe(`it differs from the state head that was signed: ${what}`);
  });

  test("say another place or effect", async () => {
    const effect = hash("another effect");
    const forged = forge({ ...own.manifest, effect }, records);
    expect(await install(forged)).toBe("header and manifest speak of different entries");
    const both = forge(
      { ...own.manifest, effect },
      records.map((record) => (record.type === "header" ? { ...record, effect } : record)),
    );
    expect(await install(both)).toBe("it differs from the state head that was signed: effect chain");
  });

  test("bring no state head, or one that no quorum signed", async () => {
    const none = await installAltered((record) => (record.type === "state_head" ? [] : [record]));
    expect(none).toBe("no node has signed the state: there is no state head");
    expect(await withHead(signStateHead(head, ["a"]))).toContain("quorum_missing");
    expect(await withHead("no note")).toContain("malformed");
    const forged = signStateHead({ ...head, stateRoot: hash("mine") }, ["a", "b"]);
    const spliced = `${formatStateHead(head)}${forged.slice(formatStateHead(head).length)}`;
    expect(await withHead(spliced)).toContain("signature_invalid");
  });

  test("bring a good state head of another entry", async () => {
    expect(await withHead(signStateHead({ ...head, raftIndex: head.raftIndex - 1 }, ["a", "b"]))).toBe(
      "it differs from the state head that was signed: log entry",
    );
  });

  test("bring members whom the trust root does not list, though a quorum signed them", async () => {
    const members = { ...MEMBERS, voters: [...MEMBERS.voters, raftId("evil")] };
    const note = signStateHead({ ...head, members }, ["a", "b"]);
    const forged = records.map((record): SnapshotRecord => {
      if (record.type === "state_head") return { ...record, note };
      return record.type === "header" ? { ...record, confState: members } : record;
    });
    expect(await install(forge(own.manifest, forged))).toContain("is in no trust root");
  });
});
