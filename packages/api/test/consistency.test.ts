import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { consistencySchema } from "@event-anchoring/api-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { base64ToBytes, bytesToHex, hexToBytes, verifyConsistency } from "@event-anchoring/protocol";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { hex } from "./records.ts";

const SIZE = 14;

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
  const events = Array.from({ length: SIZE - 1 }, (_, index) => ({ event_hash: hex(index) }));
  await harness.send("POST", "/v1/event-anchors/batch", { origin_fingerprint: harness.origin, events });
});
afterAll(() => harness.close());

const ask = (query: string): Promise<Answer> => harness.send("GET", `/v1/event-anchors/consistency?${query}`);

describe("a consistency proof", () => {
  test.each([
    [1, 1],
    [1, SIZE],
    [7, 8],
    [8, 13],
    [13, SIZE],
    [SIZE, SIZE],
  ])("from %i to %i verifies offline", async (from, to) => {
    const { status, json } = await ask(`from_size=${from}&to_size=${to}`);
    expect(status).toBe(200);
    const answer = consistencySchema.parse(json);
    const tree = harness.node.state.origins.get(harness.origin)?.tree;
    expect(answer.from).toEqual({ tree_size: from, root_hash: bytesToHex(tree?.rootAt(from) ?? new Uint8Array()) });
    expect(answer.to).toMatchObject({ tree_size: to, root_hash: bytesToHex(tree?.rootAt(to) ?? new Uint8Array()) });
    const claim = {
      oldSize: from,
      oldRoot: hexToBytes(answer.from.root_hash, 32),
      size: to,
      root: hexToBytes(answer.to.root_hash, 32),
      path: answer.proof.map((hash) => base64ToBytes(hash, 32)),
    };
    expect(verifyConsistency(claim, nodeCrypto.sha256)).toBe(true);
  });

  test("leads to the newest certified head, with its checkpoint, unless another size is asked for", async () => {
    const newest = consistencySchema.parse((await ask("from_size=3")).json);
    expect(newest.origin_fingerprint).toBe(harness.origin);
    expect(newest.to.tree_size).toBe(SIZE);
    expect(newest.to.checkpoint).toBe(harness.node.certificateOf(harness.node.origin).checkpoint);
    const older = consistencySchema.parse((await ask(`from_size=3&to_size=${SIZE - 1}`)).json);
    expect(older.to.checkpoint).toBeNull();
  });

  test("of another origin of the cluster", async () => {
    const other = bytesToHex(harness.node.cluster.origins[1] ?? new Uint8Array());
    const { json } = await ask(`origin_fingerprint=${other}&from_size=1`);
    expect(consistencySchema.parse(json)).toMatchObject({ origin_fingerprint: other, to: { tree_size: 1 }, proof: [] });
  });

  test.each([
    ["beyond the certified tree", `from_size=${SIZE + 1}`, 409, "from_size_ahead"],
    ["to beyond the certified tree", `from_size=1&to_size=${SIZE + 1}`, 409, "from_size_ahead"],
    ["both beyond", `from_size=900&to_size=901`, 409, "from_size_ahead"],
    ["of an unknown origin", `origin_fingerprint=${hex(9)}&from_size=1`, 409, "origin_unknown"],
    ["from nothing", "", 400, "invalid_request"],
    ["from size 0", "from_size=0", 400, "invalid_request"],
    ["to size 0", "from_size=1&to_size=0", 400, "invalid_request"],
    ["backwards", "from_size=5&to_size=4", 400, "invalid_request"],
    ["from -1", "from_size=-1", 400, "invalid_request"],
    ["from beyond 2^53", "from_size=9007199254740992", 400, "invalid_request"],
    ["with a cursor", "from_size=1&cursor=1", 400, "invalid_request"],
  ])("%s is refused", async (_what, query, status, code) => {
    const answer = await ask(query);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  test("the tables have another root than is certified: no proof of them leaves the node", async () => {
    const [leaf] = harness.node.tables.leavesOf(harness.node.origin);
    if (leaf === undefined) throw new Error("no leaf");
    const { anchorId } = leaf;
    anchorId[0] = (anchorId[0] ?? 0) ^ 1;
    const { status, json } = await ask("from_size=3");
    anchorId[0] = (anchorId[0] ?? 0) ^ 1;
    expect([status, json.code]).toEqual([503, "unavailable"]);
  });
});
