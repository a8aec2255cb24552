/** The latest anchor, as it is answered from memory and from the tables. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { latestSchema } from "@event-anchoring/api-contract";
import type { LatestAnswer } from "@event-anchoring/api-contract";
import type { AnchorReads } from "@event-anchoring/api";
import { clientIdOf, startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { claimed, hex } from "./records.ts";
import { verdictOf } from "./verdict.ts";

let harness: Harness;
let writer: string;
let sameClient: string;
let stranger: string;
let admin: string;

beforeEach(async () => {
  harness = await startHarness();
  writer = harness.keyWith("writer", ["read", "write"]);
  sameClient = harness.keyWith("second key", ["read"], { apiClientId: clientIdOf("writer") });
  stranger = harness.keyWith("stranger", ["read", "write"]);
  admin = harness.keyWith("admin", ["read", "write", "admin"]);
});

afterEach(() => harness.close());

const LATEST = "/v1/event-anchors/latest";

function ask(key: string, path = LATEST): Promise<Answer> {
  return harness.send("GET", path, undefined, { "x-api-key": key });
}

async function latest(key: string): Promise<LatestAnswer> {
  const { status, json } = await ask(key);
  expect(status).toBe(200);
  return latestSchema.parse(json);
}

async function write(fields: object, key = writer): Promise<string> {
  const body = { origin_fingerprint: harness.origin, event_hash: hex(1), ...fields };
  const { json } = await harness.send("POST", "/v1/event-anchors", body, { "x-api-key": key });
  return json.anchor.anchor_id;
}

/** What is asked of the tables from now on. */
function countSelects(): string[] {
  const { reads } = harness.node;
  const selects: string[] = [];
  for (const name of Object.keys(reads) as (keyof AnchorReads)[]) {
    const select = reads[name] as (...parameters: unknown[]) => unknown;
    Object.assign(reads, {
      [name]: (...parameters: unknown[]) => {
        selects.push(name);
        return select.apply(reads, parameters);
      },
    });
  }
  return selects;
}

describe("the latest anchor", () => {
  test("costs no read of the tables, whoever asks, as often as it is asked", async () => {
    await write({ client_event_id: "first" });
    // The trust root is read from the tables once, with the first answer of a process.
    await latest(stranger);
    const selects = countSelects();
    for (let round = 0; round < 3; round++) {
      await write({ client_event_id: `round ${round}` });
      for (const key of [stranger, writer, sameClient, admin, stranger, writer]) await latest(key);
      // The key table is too old to be used now, and is asked for anew.
      harness.clock.offsetMs += 2000;
    }
    expect(selects).toEqual([]);
  });

  test("is the same from memory and from the tables, byte by byte", async () => {
    for (const fields of [{}, { client_event_id: "one" }]) {
      await write(fields);
      for (const key of [writer, stranger, admin]) {
        harness.node.remembersLatest = true;
        const inMemory = await ask(key);
        const again = await ask(key);
        harness.node.remembersLatest = false;
        // The same certificate is another object, so that nothing that was kept is found.
        harness.node.forgetShown();
        const fromTables = await ask(key);
        expect([again.text, fromTables.text]).toEqual([inMemory.text, inMemory.text]);
        expect(again.headers["content-type"]).toBe("application/json; charset=utf-8");
        expect(verdictOf(harness, latestSchema.parse(inMemory.json).receipt)).toBe("valid");
      }
    }
  });

  test("moves with every write", async () => {
    for (let at = 1; at < 6; at++) {
      const anchorId = await write({ event_hash: hex(at) });
      expect((await latest(stranger)).anchor.anchor_id).toBe(anchorId);
    }
  });

  test("is a claim with the state of now: it is asked for each time", async () => {
    await claimed(harness, "subject");
    const before = await latest(stranger);
    expect(before.anchor).toMatchObject({ kind: "claim", state: "active" });
    const selects = countSelects();
    await latest(stranger);
    expect(selects).toContain("anchorsOfOrigin");
  });

  test("with from_size is asked for each time", async () => {
    const { tree_size: size } = await latest(await write({}).then(() => stranger));
    await write({ event_hash: hex(2) });
    await latest(stranger);
    const { json } = await ask(stranger, `${LATEST}?from_size=${size}`);
    expect(latestSchema.parse(json).consistency).toMatchObject({ from_size: size, tree_size: size + 1 });
    expect(await latest(stranger)).not.toHaveProperty("consistency");
  });
});

describe("a client event id in the latest anchor", () => {
  const idIn = ({ anchor }: LatestAnswer): unknown => ("client_event_id" in anchor ? anchor.client_event_id : "hidden");

  test.each<[string, boolean]>([
    ["in memory", true],
    ["in the tables", false],
  ])("is shown to its writer and to admin, and to nobody else, whoever asks first (%s)", async (_where, remembers) => {
    harness.node.remembersLatest = remembers;
    const keys = { writer, sameClient, stranger, admin };
    const orders = [
      ["writer", "stranger", "admin", "sameClient", "stranger"],
      ["stranger", "writer", "stranger", "admin"],
      ["admin", "stranger", "sameClient", "stranger"],
      ["sameClient", "stranger", "writer"],
    ] as const;
    for (const [at, order] of orders.entries()) {
      const id = `order ${at}`;
      await write({ client_event_id: id });
      for (const who of order) {
        const { text } = await ask(keys[who]);
        expect([who, text.includes(id), text.includes("client_event_salt")]).toEqual([
          who,
          who !== "stranger",
          who !== "stranger",
        ]);
      }
    }
  });

  test("is not shown any more once it is erased, though the certificate is the same", async () => {
    const own = harness.keyWith("admin's second", ["read"], { apiClientId: clientIdOf("admin") });
    const anchorId = await write({ client_event_id: "to be erased" }, admin);
    for (const key of [own, admin, stranger]) await latest(key);
    const before = await latest(own);
    expect(idIn(before)).toBe("to be erased");
    const path = `/v1/event-anchors/${anchorId}/erase-client-event-id`;
    const erased = await harness.send("POST", path, {}, { "x-api-key": admin });
    expect(erased.status).toBe(200);
    for (const key of [own, admin]) {
      const after = await latest(key);
      expect(after.checkpoint).toBe(before.checkpoint);
      expect(after.anchor).toMatchObject({ client_event_id: null, client_event_erased: true });
    }
    expect((await ask(stranger)).text).not.toContain("to be erased");
  });

  test("of nobody: all see the same", async () => {
    await write({});
    const answers = await Promise.all([writer, stranger, admin].map((key) => latest(key)));
    expect(answers.map(idIn)).toEqual([null, null, null]);
  });
});
