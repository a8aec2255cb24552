import { describe, expect, test } from "@jest/globals";
import { InvalidInput, LocalKey, ManyInterrupted } from "../src/index.ts";
import type { EventToCreate, ManyItem } from "../src/index.ts";
import { recorded } from "./fake-ledger.ts";
import { FakeTransport, clientOf } from "./fake-transport.ts";

const hashOf = (at: number): string => at.toString(16).padStart(64, "0");
const eventsTo = (count: number): EventToCreate[] =>
  Array.from({ length: count }, (_, at) => ({ eventHash: hashOf(at) }));

async function all(items: AsyncIterable<ManyItem>): Promise<ManyItem[]> {
  const found: ManyItem[] = [];
  for await (const item of items) found.push(item);
  return found;
}

function sizesOf(transport: FakeTransport): number[] {
  return transport.requests.map((_, at) => (transport.body(at)["events"] as readonly unknown[]).length);
}

describe("createMany", () => {
  test("answers every event in its order, in batches of at most 1,000", async () => {
    const transport = new FakeTransport(recorded);
    const told: number[] = [];
    const items = await all(
      clientOf(transport).client.createMany(eventsTo(2_300), { onProgress: (n) => told.push(n) }),
    );
    expect(items.map(({ anchor }) => anchor?.kind === "event" && anchor.eventHash)).toEqual(
      eventsTo(2_300).map(({ eventHash }) => eventHash),
    );
    expect([sizesOf(transport), told]).toEqual([
      [1_000, 1_000, 300],
      [1_000, 2_000, 2_300],
    ]);
    expect(new Set(items.map(({ clientEventId }) => clientEventId)).size).toBe(2_300);
  });

  test("takes at most 256 signed events into a batch", async () => {
    const transport = new FakeTransport(recorded);
    const actorSigner = LocalKey.fromSeed("61".repeat(32));
    const signed = eventsTo(257).map((event) => ({ ...event, actorSigner }));
    await all(clientOf(transport).client.createMany(signed));
    // Two are under way at once: the small one may be sent first.
    expect(sizesOf(transport).sort((a, b) => a - b)).toEqual([1, 256]);
  });

  test("what is left after a failure is sent again with the same ids", async () => {
    const lost = { fails: "lost", wasSent: true } as const;
    const transport = new FakeTransport(recorded, lost, recorded, recorded);
    const { client } = clientOf(transport, { retry: { attemptsMax: 1 } });
    const items: ManyItem[] = [];
    const failure = await (async () => {
      for await (const item of client.createMany(eventsTo(2_500), { concurrency: 1 })) items.push(item);
    })().catch((error: unknown) => error as ManyInterrupted);
    expect(failure).toBeInstanceOf(ManyInterrupted);
    const { left, clientEventIds } = failure as ManyInterrupted;
    expect([items.length, left.length, clientEventIds.length]).toEqual([1_000, 1_000, 1_000]);
    const again = await all(client.createMany(left));
    expect(again.map(({ clientEventId }) => clientEventId)).toEqual(clientEventIds);
  });

  test("is as lazy as its reader, and takes events as they come", async () => {
    const transport = new FakeTransport(recorded);
    async function* endless(): AsyncGenerator<EventToCreate> {
      for (let at = 0; ; at++) yield await Promise.resolve({ eventHash: hashOf(at) });
    }
    for await (const { status } of clientOf(transport).client.createMany(endless())) {
      expect(status).toBe(202);
      break;
    }
    expect(transport.requests.length).toBeLessThanOrEqual(2);
  });

  test("refuses events without ids", async () => {
    const { client } = clientOf(new FakeTransport(recorded));
    const none = [{ eventHash: hashOf(1), clientEventId: null }];
    await expect(all(client.createMany(none))).rejects.toThrow(InvalidInput);
  });
});
