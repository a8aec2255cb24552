import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { IdentityStore } from "../../src/index.ts";
import { hash } from "../support/cluster.ts";
import { migratedDatabase, refusalOf, startTestPostgres } from "../support/database.ts";
import type { TestPostgres } from "../support/database.ts";

const IDENTITY = {
  pairId: hash("pair").slice(0, 16),
  nodeId: "a",
  clusterId: hash("cluster"),
  raftId: 0xfedc_ba98_7654_3210n,
};

let server: TestPostgres;

beforeAll(async () => {
  server = await startTestPostgres();
});

afterAll(async () => {
  await server.close();
});

test("goes from nothing to new, paired and running, over restarts", async () => {
  const { url } = await migratedDatabase(server);
  let store = await IdentityStore.open({ url });
  expect(await store.load()).toBeNull();
  await store.insert(IDENTITY);
  for (const state of ["new", "paired"] as const) {
    await store.close();
    store = await IdentityStore.open({ url });
    expect(await store.load()).toEqual({ ...IDENTITY, state });
    await store.advance(state);
  }
  expect(await store.load()).toEqual({ ...IDENTITY, state: "running" });
  await store.close();
});

test("is inserted once, and moves only one step forward", async () => {
  const { url } = await migratedDatabase(server);
  const store = await IdentityStore.open({ url });
  expect(await refusalOf(store.advance("new"))).toBe("out_of_order");
  await store.insert(IDENTITY);
  expect(await refusalOf(store.insert({ ...IDENTITY, nodeId: "b" }))).toBe("out_of_order");
  expect(await refusalOf(store.advance("paired"))).toBe("out_of_order");
  expect(await refusalOf(store.advance("running"))).toBe("out_of_order");
  await store.advance("new");
  expect(await refusalOf(store.advance("new"))).toBe("out_of_order");
  expect(await store.load()).toEqual({ ...IDENTITY, state: "paired" });
  await store.close();
});

test("a pair id or cluster id of another length is refused", async () => {
  const { url } = await migratedDatabase(server);
  const store = await IdentityStore.open({ url });
  expect(await refusalOf(store.insert({ ...IDENTITY, pairId: hash("long") }))).toBe("out_of_order");
  expect(await refusalOf(store.insert({ ...IDENTITY, clusterId: hash("short").slice(1) }))).toBe("out_of_order");
  expect(await store.load()).toBeNull();
  await store.close();
});
