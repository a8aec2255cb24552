import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { anchorAnswerSchema, createdBatchSchema, createdSchema, receiptSchema } from "@event-anchoring/api-contract";
import { RefusedError } from "@event-anchoring/api";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";

const hex = (byte: number): string => byte.toString(16).padStart(2, "0").repeat(32);
const WITNESSED = { prefer: "witnessed" };

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());
afterEach(() => harness.node.witnessedUpTo.clear());

function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return harness.send(method, path, body, { authorization: `Bearer ${harness.key}`, ...headers });
}

function create(clientEventId: string, headers: Record<string, string> = {}): Promise<Answer> {
  const body = { origin_fingerprint: harness.origin, event_hash: hex(1), client_event_id: clientEventId };
  return send("POST", "/v1/event-anchors", body, headers);
}

/** Every tree up to this size is witnessed. */
function witness(treeSize: number): void {
  harness.node.witnessedUpTo.set(harness.origin, treeSize);
}

describe("Prefer: witnessed", () => {
  test("gives a receipt under a witnessed head that covers the anchor, and says so", async () => {
    const { anchor } = createdSchema.parse((await create("read")).json);
    const path = `/v1/event-anchors/${anchor.anchor_id}/receipt`;
    for (let more = 0; more < 3; more++) await create(`more ${more}`);
    witness(anchor.depth + 2);
    const preferred = await send("GET", path, undefined, WITNESSED);
    expect(preferred.headers["preference-applied"]).toBe("witnessed");
    expect(receiptSchema.parse(preferred.json).tree_size).toBe(anchor.depth + 2);
    const newest = await send("GET", path);
    expect(newest.headers["preference-applied"]).toBeUndefined();
    expect(receiptSchema.parse(newest.json).tree_size).toBeGreaterThan(anchor.depth + 2);
  });

  test("falls back to the certified receipt when no witnessed head covers the anchor", async () => {
    const { anchor } = createdSchema.parse((await create("unseen")).json);
    witness(anchor.depth);
    const answer = await send("GET", `/v1/event-anchors/${anchor.anchor_id}/receipt`, undefined, {
      prefer: "witnessed, wait=1, respond-async",
    });
    expect(answer.status).toBe(200);
    expect(answer.headers["preference-applied"]).toBe("wait=1");
    expect(receiptSchema.parse(answer.json).tree_size).toBeGreaterThan(anchor.depth);
  });

  test("is honoured by the question for an anchor, which waits for nothing if it must answer at once", async () => {
    const { anchor } = createdSchema.parse((await create("anchor")).json);
    const path = `/v1/event-anchors/${anchor.anchor_id}`;
    await create("one more");
    const early = await send("GET", path, undefined, WITNESSED);
    expect([early.status, early.headers["preference-applied"]]).toEqual([200, undefined]);
    expect(anchorAnswerSchema.parse(early.json).receipt?.tree_size).toBe(anchor.depth + 2);
    witness(anchor.depth + 1);
    const preferred = await send("GET", path, undefined, { prefer: "witnessed, respond-async" });
    expect(preferred.headers["preference-applied"]).toBe("respond-async, witnessed");
    expect(harness.node.witnessesAwaitedMs).toBe(0);
    const { receipt, anchor: shown } = anchorAnswerSchema.parse(preferred.json);
    expect([receipt?.tree_size, shown]).toEqual([anchor.depth + 1, anchor]);
    await send("GET", path, undefined, WITNESSED);
    expect(harness.node.witnessesAwaitedMs).toBeGreaterThan(1000);
  });

  test("is no reason to fail", async () => {
    const { anchor } = createdSchema.parse((await create("no reason")).json);
    harness.node.witnessesRefused = new RefusedError("no_leader", "an election is under way");
    try {
      for (const path of [`/v1/event-anchors/${anchor.anchor_id}`, `/v1/event-anchors/${anchor.anchor_id}/receipt`]) {
        expect((await send("GET", path, undefined, WITNESSED)).status).toBe(200);
      }
      expect((await create("no reason", WITNESSED)).status).toBe(200);
    } finally {
      harness.node.witnessesRefused = null;
    }
  });

  test("is honoured by a write and its replay; a write that is not witnessed in time is 201 all the same", async () => {
    const late = await create("late", WITNESSED);
    expect([late.status, late.headers["preference-applied"]]).toEqual([201, undefined]);
    const { anchor } = createdSchema.parse(late.json);
    witness(anchor.depth + 1);
    const replay = await create("late", WITNESSED);
    expect([replay.status, replay.headers["preference-applied"]]).toEqual([200, "witnessed"]);
    witness(anchor.depth + 2);
    const written = await create("in time", WITNESSED);
    expect([written.status, written.headers["preference-applied"]]).toEqual([201, "witnessed"]);
    const { receipt } = createdSchema.parse(written.json);
    expect(receipt).toMatchObject({ index: anchor.depth + 1, tree_size: anchor.depth + 2 });
  });

  test("is honoured by a batch as a whole", async () => {
    const { anchor } = createdSchema.parse((await create("before the batch")).json);
    const events = [hex(2), hex(3)].map((event_hash) => ({ event_hash }));
    const body = { origin_fingerprint: harness.origin, events };
    witness(anchor.depth + 3);
    const batch = await send("POST", "/v1/event-anchors/batch", body, WITNESSED);
    expect([batch.status, batch.headers["preference-applied"]]).toEqual([200, "witnessed"]);
    const { results } = createdBatchSchema.parse(batch.json);
    expect(results.map((result) => ("receipt" in result ? result.receipt?.tree_size : null))).toEqual([
      anchor.depth + 3,
      anchor.depth + 3,
    ]);
    witness(anchor.depth + 4);
    const partly = await send("POST", "/v1/event-anchors/batch", body, WITNESSED);
    expect(partly.headers["preference-applied"]).toBeUndefined();
  });
});
