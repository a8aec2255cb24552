import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { LEAF_KIND, decodeLeaf, encodeLeaf, equalBytes, toAnchorId } from "@event-anchoring/protocol";
import type { AnchorId, Leaf } from "@event-anchoring/protocol";
import type { LeafWrite } from "@event-anchoring/ledger";
import { exportSnapshot, installSnapshot } from "../../src/index.ts";
import { encodeRecords } from "../../src/snapshot/snapshot-format.ts";
import type { SnapshotRecord } from "../../src/snapshot/snapshot-format.ts";
import { hash } from "../support/cluster.ts";
import { migratedDatabase, refusalOf, sql, startTestPostgres, superuserUrl } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { live } from "../support/random-history.ts";
import type { Life } from "../support/random-history.ts";
import {
  accepted,
  claimCommand,
  eraseCommand,
  grantCommand,
  holders,
  leafAt,
  revocationCommand,
} from "../support/records.ts";
import type { Holder } from "../support/records.ts";
import { ACCEPT_ALL, chunksOf, forge, recordsOf, sha256 } from "../support/snapshots.ts";
import type { Stream } from "../support/snapshots.ts";
import { CLIENT_ID, StoredLedgerHarness, event, reopened } from "../support/stored-ledger.ts";

let server: TestPostgres;
let directory: string;
let sender: TestDatabase;
let life: Life;
let own: Stream;

beforeAll(async () => {
  server = await startTestPostgres();
  directory = mkdtempSync(join(tmpdir(), "anchoring-spool-"));
  sender = await migratedDatabase(server);
  life = await live(sender, 21, 150);
  own = await streamOf(sender);
});

afterAll(async () => {
  await life.harness.store.close();
  await server.close();
  rmSync(directory, { recursive: true });
});

async function streamOf(database: TestDatabase): Promise<Stream> {
  const snapshot = await exportSnapshot({ url: database.url, directory, point: null });
  const stream = { manifest: snapshot.manifest, chunks: await chunksOf(snapshot) };
  await snapshot.close();
  return stream;
}

async function installed(stream: Stream): Promise<TestDatabase> {
  const receiver = await migratedDatabase(server);
  await installSnapshot({ signers: "unsigned", url: receiver.url, ...stream, checks: ACCEPT_ALL });
  return receiver;
}

const TABLES = ["claims", "grants", "revocations", "api_keys"];

async function expectSameTables(receiver: TestDatabase, other: TestDatabase): Promise<void> {
  for (const table of TABLES) {
    const rows = `SELECT to_jsonb(t) AS row FROM state.${table} t ORDER BY 1`;
    const expected = await sql(superuserUrl(server, other), rows);
    expect(expected.length).toBeGreaterThan(0);
    expect(await sql(superuserUrl(server, receiver), rows)).toEqual(expected);
  }
  const anchors = `SELECT to_jsonb(a) - 'origin' AS row FROM state.anchors a ORDER BY sequence`;
  expect(await sql(superuserUrl(server, receiver), anchors)).toEqual(await sql(superuserUrl(server, other), anchors));
}

describe("a round trip", () => {
  test("derives claims, grants and revocations to what the sender has, and keeps what was erased", async () => {
    const { anchors } = life.known;
    expect(recordsOf(own.chunks).some((one) => one.type === "leaf" && one.clientEvent?.isErased === true)).toBe(true);
    expect([...anchors.values()].some(({ kind }) => kind === LEAF_KIND.revocation)).toBe(true);
    await expectSameTables(await installed(own), sender);
  });

  test("the receiver decides as the sender does", async () => {
    const { harness, known } = life;
    const { store, state } = await reopened((await installed(own)).url);
    const follower = new StoredLedgerHarness(store, state);
    follower.clockMs = harness.clockMs;
    const claims = known.leaves.filter(({ kind }) => kind === LEAF_KIND.claim);
    const commands = [claimCommand("ada", { issuedAt: 5 }), claimCommand("new")];
    const entry = follower.entry([
      ...commands,
      grantCommand(holder("ada", claims.at(-1)), holder("bob", claims.at(-2))),
      ...claims.slice(-5).map(eraseCommand),
    ]);
    const decision = await follower.decide(entry);
    expect(decision.outcomes).toEqual((await harness.decide(entry)).outcomes);
    expect(decision.effect).toEqual((await harness.decide(entry)).effect);
    await store.close();
  });

  test("a grant by a renewed claim supersedes the one by the old claim, however the stream is cut", async () => {
    const database = await migratedDatabase(server);
    const ledger = await StoredLedgerHarness.started(database.url);
    const [ada, bob] = await holders(ledger, ["ada", "bob"]);
    if (ada === undefined || bob === undefined) throw new Error("two holders were due");
    const first = await accepted(ledger, grantCommand(ada, bob));
    const renewed = { name: "ada", claim: await accepted(ledger, claimCommand("ada", { issuedAt: 1 })) };
    const second = await accepted(ledger, grantCommand(renewed, bob));
    const below = await accepted(ledger, grantCommand(bob, renewed, { parent: second, delegationDepth: 4 }));
    await ledger.store.close();
    const receiver = await installed(await streamOf(database));
    const rows = await sql(
      superuserUrl(server, receiver),
      "SELECT sequence::int, superseded_at::int, links::int FROM state.grants ORDER BY 1",
    );
    expect(rows).toEqual([
      { sequence: first.sequence, superseded_at: second.sequence, links: 1 },
      { sequence: second.sequence, superseded_at: null, links: 1 },
      { sequence: below.sequence, superseded_at: null, links: 2 },
    ]);
  });

  test("of a stream longer than one step", async () => {
    const database = await migratedDatabase(server);
    const ledger = await StoredLedgerHarness.started(database.url);
    let people = await holders(
      ledger,
      Array.from({ length: 40 }, (_, at) => `p${at}`),
    );
    for (let round = 0; round < 3; round++) {
      await ledger.record(Array.from({ length: 600 }, (_, at) => event(`${round} ${at}`)));
      await ledger.run(
        people.slice(1).map((person, at) => grantCommand(leafHolder(people, at), person, { issuedAt: round })),
      );
      const { writes } = await ledger.run(people.map(({ name }) => claimCommand(name, { issuedAt: round + 1 })));
      people = people.map(({ name }, at) => ({ name, claim: leafAt(writes.leaves, at) }));
    }
    await ledger.run(people.slice(0, 5).map(({ claim }) => revocationCommand("claim", claim)));
    await ledger.store.close();
    const receiver = await installed(await streamOf(database));
    await expectSameTables(receiver, database);
    expect(await sql(superuserUrl(server, receiver), "SELECT 1 FROM state.grants")).toHaveLength(3 * 39);
  });
});

function leafHolder(people: readonly Holder[], at: number): Holder {
  const person = people.at(at);
  if (person === undefined) throw new RangeError(`no person ${at}`);
  return person;
}

function holder(name: string, claim: LeafWrite | undefined): Holder {
  if (claim === undefined) throw new Error("a claim was due");
  return { name, claim };
}

describe("a stream that names what is not there is refused", () => {
  function bodyOf(kind: number): Leaf {
    const leaf = life.known.leaves.find((one) => one.kind === kind);
    if (leaf === undefined) throw new Error(`no leaf of kind ${kind}`);
    return decodeLeaf(leaf.bytes);
  }

  /** The sender's stream with one leaf more, which no certificate covers: what only a lying sender can add. */
  function withLeaf(body: Leaf): Stream {
    const { leaves } = life.known;
    const before = leaves.findLast(({ originFingerprint }) => equalBytes(originFingerprint, body.originFingerprint));
    const last = leaves.at(-1);
    if (before === undefined || last === undefined) throw new Error("leaves were due");
    const place = {
      depth: before.depth + 1,
      parentAnchorId: before.anchorId,
      sequence: last.sequence + 1,
      acceptedMs: last.acceptedMs,
    };
    const isRecord = body.kind === LEAF_KIND.claim || body.kind === LEAF_KIND.grant;
    const recordedBy = isRecord ? CLIENT_ID : null;
    const bytes = encodeLeaf({ ...body, ...place });
    const leaf: SnapshotRecord = { type: "leaf", bytes, clientEvent: null, recordedBy };
    const records = recordsOf(own.chunks).map((record) =>
      record.type === "header" ? { ...record, nextSequence: record.nextSequence + 1 } : record,
    );
    return forge(own.manifest, [...records.slice(0, -1), leaf, ...records.slice(-1)]);
  }

  test("a claim or a grant that nobody recorded", async () => {
    for (const kind of [LEAF_KIND.claim, LEAF_KIND.grant]) {
      const altered = recordsOf(own.chunks).map((record) =>
        record.type === "leaf" && decodeLeaf(record.bytes).kind === kind ? { ...record, recordedBy: null } : record,
      );
      const { url } = await migratedDatabase(server);
      const stream = forge(own.manifest, altered);
      const install = installSnapshot({ signers: "unsigned", url, ...stream, checks: ACCEPT_ALL });
      expect(await refusalOf(install)).toBe("snapshot_refused");
    }
  });

  const nothing = hash("nothing");
  const bad: [string, () => Leaf][] = [
    ["a grant by no claim", () => ({ ...grantBody(), grantorClaimRef: nothing })],
    ["a grant to no claim", () => ({ ...grantBody(), granteeClaimRef: nothing })],
    ["a grant below no grant", () => ({ ...grantBody(), parentGrantRef: nothing })],
    ["a grant by a grant", () => ({ ...grantBody(), grantorClaimRef: idOf(LEAF_KIND.grant) })],
    ["a grant below a claim", () => ({ ...grantBody(), parentGrantRef: idOf(LEAF_KIND.claim) })],
    ["a grant by an event", () => ({ ...grantBody(), grantorClaimRef: idOf(LEAF_KIND.event) })],
    ["a revocation of nothing", () => ({ ...revocationBody(), targetAnchorId: toAnchorId(nothing) })],
    ["a revocation of an event", () => ({ ...revocationBody(), targetAnchorId: idOf(LEAF_KIND.event) })],
    ["a revocation of a revocation", () => ({ ...revocationBody(), targetAnchorId: idOf(LEAF_KIND.revocation) })],
  ];

  function grantBody(): Extract<Leaf, { kind: 3 }> {
    const leaf = bodyOf(LEAF_KIND.grant);
    if (leaf.kind !== LEAF_KIND.grant) throw new Error("a grant was due");
    return leaf;
  }

  function revocationBody(): Extract<Leaf, { kind: 4 }> {
    const leaf = bodyOf(LEAF_KIND.revocation);
    if (leaf.kind !== LEAF_KIND.revocation) throw new Error("a revocation was due");
    return leaf;
  }

  function idOf(kind: number): AnchorId {
    const leaf = life.known.leaves.find((one) => one.kind === kind);
    if (leaf === undefined) throw new Error(`no leaf of kind ${kind}`);
    return leaf.anchorId;
  }

  test.each(bad)("%s", async (_, leaf) => {
    const receiver = await migratedDatabase(server);
    const install = installSnapshot({
      signers: "unsigned",
      url: receiver.url,
      ...withLeaf(leaf()),
      checks: ACCEPT_ALL,
    });
    expect(await refusalOf(install)).toBe("snapshot_refused");
    expect(await sql(superuserUrl(server, receiver), "SELECT * FROM state.claims")).toEqual([]);
  });

  test("but one leaf more that names what is there is not", async () => {
    expect(await receivedWith(withLeaf(revocationBody()))).toBe(life.known.revocations.length + 1);
    expect(await receivedWith(withLeaf(grantBody()))).toBe(life.known.revocations.length);
  });

  async function receivedWith(stream: Stream): Promise<number> {
    const rows = await sql(superuserUrl(server, await installed(stream)), "SELECT * FROM state.revocations");
    return rows.length;
  }

  test("an erased event that never had an id", async () => {
    const at = recordsOf(own.chunks).findIndex((one) => one.type === "leaf" && one.clientEvent === null);
    const records = recordsOf(own.chunks).map((one, position): SnapshotRecord => {
      if (position !== at || one.type !== "leaf") return one;
      return {
        ...one,
        clientEvent: { isErased: true, apiClientId: nothing.slice(0, 16), prefix: nothing.slice(0, 8) },
      };
    });
    const receiver = await migratedDatabase(server);
    const install = installSnapshot({
      signers: "unsigned",
      url: receiver.url,
      ...forge(own.manifest, records),
      checks: ACCEPT_ALL,
    });
    expect(await refusalOf(install)).toBe("snapshot_refused");
  });
});

describe("a snapshot is refused if its format", () => {
  test.each([0, 2])("is not version %i", async (version) => {
    const bytes = Buffer.from(encodeRecords(recordsOf(own.chunks)));
    bytes.writeUInt8(version, FRAME_BYTES);
    const fitting = { totalBytes: bytes.length, chunkHashes: [sha256(bytes)], wholeHash: sha256(bytes) };
    const receiver = await migratedDatabase(server);
    const stream = { manifest: { ...own.manifest, ...fitting }, chunks: [bytes] };
    const install = installSnapshot({ signers: "unsigned", url: receiver.url, ...stream, checks: ACCEPT_ALL });
    expect(await refusalOf(install)).toBe("snapshot_refused");
  });
});

/** Kind and length of a record. */
const FRAME_BYTES = 5;
