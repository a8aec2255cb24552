/** What a read answers when the tables do not answer in its time. */
import { expect, test } from "@jest/globals";
import { StoreError } from "@event-anchoring/store";
import type { AnchorReads, AtIndex } from "../src/reading/node-reads.ts";
import { ConsistentRead } from "../src/reading/consistent-read.ts";
import { Deadline } from "../src/request/deadline.ts";

const READY = { readIndex: 7, certificates: [], trustRootVersion: 1, latest: null };
const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };

function selected(select: () => Promise<AtIndex>, timeoutMs: number): Promise<AtIndex> {
  const reads = { opened: async () => ({}) as AnchorReads };
  return ConsistentRead.from(READY, { reads }, new Deadline(clock, timeoutMs)).select(select);
}

test("tables that are behind are asked again until they are not", async () => {
  let appliedIndex = 5;
  expect(await selected(async () => ({ appliedIndex: appliedIndex++ }), 5000)).toEqual({ appliedIndex: 7 });
});

test("tables that stay behind, or do not answer at all, are waited for until the deadline, and no longer", async () => {
  const startedMs = clock.monotonicMs();
  const behind = { code: "deadline_exceeded", message: "tables at 5, read index 7" };
  await expect(selected(async () => ({ appliedIndex: 5 }), 50)).rejects.toMatchObject(behind);
  const silent = { code: "deadline_exceeded", message: "the tables did not answer in time" };
  await expect(selected(() => new Promise<never>(() => {}), 50)).rejects.toMatchObject(silent);
  expect(clock.monotonicMs() - startedMs).toBeLessThan(3000);
});

test("a database that fails is not waited for", async () => {
  const failing = async (): Promise<never> => Promise.reject(new StoreError("unavailable", "the server is away"));
  await expect(selected(failing, 5000)).rejects.toThrow("the server is away");
});

test("a statement that ends by its own timeout in a process that stood still is no more than late", async () => {
  const failing = async (): Promise<never> => {
    const until = clock.monotonicMs() + 60;
    while (clock.monotonicMs() < until) continue;
    throw new StoreError("unavailable", "canceling statement due to statement timeout");
  };
  await expect(selected(failing, 50)).rejects.toMatchObject({ code: "deadline_exceeded" });
  const corrupt = async (): Promise<never> => failing().catch(() => Promise.reject(new StoreError("corrupt", "a row")));
  await expect(selected(corrupt, 50)).rejects.toMatchObject({ code: "corrupt" });
});
