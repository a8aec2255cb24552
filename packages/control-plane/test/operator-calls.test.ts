/** What operators may do, on the nodes of a cluster in memory. Who they are is judged before, by the transport. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import {
  type ApiKeyList,
  type OperatorResult,
  UNARY_CALLS,
  type UnaryCallName,
  decodeApiKeyList,
  decodeOperatorResult,
  encodeCreateApiKey,
  encodeRevokeApiKey,
  encodeRotateApiKey,
} from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import { drawApiKey, drawReplacementApiKey } from "@event-anchoring/provision";
import type { SnapshotExporter } from "../src/snapshot-exporter.ts";
import type { UnaryAnswer, UnaryIdentity } from "../src/transport/network-types.ts";
import { unaryHandlers } from "../src/unary-handlers.ts";
import { readyCluster } from "./cluster-steps.ts";
import { type MemoryCluster, type MemoryNode, START_MS } from "./memory-cluster.ts";

const OPERATOR: UnaryIdentity = { kind: "operator", operatorId: "setup" };
const NO_BODY = new Uint8Array();

let cluster: MemoryCluster;
let a: MemoryNode;
let b: MemoryNode;
let c: MemoryNode;

beforeEach(async () => {
  cluster = await readyCluster();
  [a, b, c] = cluster.nodes as [MemoryNode, MemoryNode, MemoryNode];
});

function call(
  node: MemoryNode,
  name: UnaryCallName,
  body: Uint8Array,
  from: UnaryIdentity = OPERATOR,
): Promise<UnaryAnswer> {
  const handlers = unaryHandlers({
    clock: cluster.time.clock,
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    call: () => Promise.reject(new Error("nobody is called here")),
    identity: node.identity,
    session: () => node.session,
    status: () => {
      throw new Error("nobody asks for the status here");
    },
    snapshots: {} as SnapshotExporter,
  });
  const handler = handlers[UNARY_CALLS[name].path];
  if (handler === undefined) throw new Error(`no handler for ${name}`);
  return handler({ from, body, signal: new AbortController().signal });
}

async function answered(
  node: MemoryNode,
  name: UnaryCallName,
  body: Uint8Array,
  from?: UnaryIdentity,
): Promise<{ status: number; body: Uint8Array }> {
  const answer = call(node, name, body, from);
  await cluster.time.advance(500);
  const given = await answer;
  if (!("body" in given)) throw new Error("a stream");
  return given;
}

async function written(node: MemoryNode, name: UnaryCallName, body: Uint8Array): Promise<OperatorResult> {
  return decodeOperatorResult((await answered(node, name, body)).body);
}

async function listed(node: MemoryNode): Promise<Extract<ApiKeyList, { outcome: "listed" }>> {
  const { status, body } = await answered(node, "list_api_keys", NO_BODY);
  const list = decodeApiKeyList(body);
  if (list.outcome !== "listed") throw new Error(list.detail);
  expect(status).toBe(200);
  return list;
}

async function keyOn(node: MemoryNode, keyId: Uint8Array) {
  const { keys } = await listed(node);
  return keys.find((key) => bytesToHex(key.keyId) === bytesToHex(keyId));
}

describe("an API key", () => {
  test("made through one node is listed by every other, with its rate and who made it", async () => {
    const drawn = drawApiKey({ label: "robot", scopes: ["read", "admin"], requestsPerSecond: 25 });
    expect(await written(a, "create_api_key", encodeCreateApiKey(drawn.call))).toEqual({
      outcome: "applied",
      finality: "certified",
    });
    for (const node of cluster.nodes) {
      expect(await keyOn(node, drawn.keyId)).toMatchObject({
        apiClientId: drawn.apiClientId,
        label: "robot",
        scopes: ["read", "admin"],
        requestsPerSecond: 25,
        operator: "setup",
        revokedMs: 0,
        expiresMs: 0,
      });
    }
    expect((await listed(b)).omitted).toBe(0);
  });

  test("is revoked once and for good, and says when", async () => {
    const drawn = drawApiKey({ label: "robot", scopes: ["read"] });
    await written(a, "create_api_key", encodeCreateApiKey(drawn.call));
    const revoke = encodeRevokeApiKey({ keyId: drawn.keyId });
    expect(await written(b, "revoke_api_key", revoke)).toEqual({ outcome: "applied", finality: "certified" });
    expect(await written(c, "revoke_api_key", revoke)).toEqual({ outcome: "unchanged" });
    expect((await keyOn(a, drawn.keyId))?.revokedMs).toBeGreaterThan(START_MS);
    expect(await written(a, "create_api_key", encodeCreateApiKey(drawn.call))).toMatchObject({
      outcome: "rejected",
      code: "api_key_conflict",
    });
  });

  test("is replaced by one of the same client, and lives on for the overlap", async () => {
    const drawn = drawApiKey({ label: "robot", scopes: ["write"], requestsPerSecond: 3 });
    await written(a, "create_api_key", encodeCreateApiKey(drawn.call));
    const replacement = drawReplacementApiKey({ keyId: drawn.keyId, overlapMs: 60_000 });
    const rotate = encodeRotateApiKey(replacement.call);
    expect(await written(b, "rotate_api_key", rotate)).toEqual({ outcome: "applied", finality: "certified" });
    expect(await written(c, "rotate_api_key", rotate)).toEqual({ outcome: "unchanged" });
    expect(await keyOn(c, replacement.keyId)).toMatchObject({
      apiClientId: drawn.apiClientId,
      label: "robot",
      scopes: ["write"],
      requestsPerSecond: 3,
      expiresMs: 0,
    });
    const old = await keyOn(c, drawn.keyId);
    const made = await keyOn(c, replacement.keyId);
    expect(old?.expiresMs).toBe((made?.createdMs ?? 0) + 60_000);
  });

  test.each<[UnaryCallName, Uint8Array]>([
    ["revoke_api_key", encodeRevokeApiKey({ keyId: new Uint8Array(16) })],
    ["rotate_api_key", encodeRotateApiKey(drawReplacementApiKey({ keyId: new Uint8Array(16), overlapMs: 0 }).call)],
  ])("that nobody knows is not there to %s", async (name, body) => {
    const { status } = await answered(a, name, body);
    expect(status).toBe(409);
    expect(await written(b, name, body)).toMatchObject({ outcome: "rejected", code: "api_key_unknown" });
  });
});

describe("the list of API keys", () => {
  test("is as of the moment it is asked for: a lagging node waits, and does not show what was before", async () => {
    const lagging = cluster.nodes.find((node) => node !== cluster.leader()) as MemoryNode;
    const leader = cluster.leader() as MemoryNode;
    lagging.log.hold();
    const drawn = drawApiKey({ label: "robot", scopes: ["read"] });
    await written(leader, "create_api_key", encodeCreateApiKey(drawn.call));
    const answer = call(lagging, "list_api_keys", NO_BODY);
    await cluster.time.advance(500);
    lagging.log.release();
    await cluster.time.advance(500);
    const given = await answer;
    if (!("body" in given)) throw new Error("a stream");
    const list = decodeApiKeyList(given.body);
    if (list.outcome !== "listed") throw new Error(list.detail);
    expect(list.keys.map(({ keyId }) => keyId)).toContainEqual(drawn.keyId);
  });

  test("is refused by a node that is cut off: it cannot be sure", async () => {
    cluster.cut(b.nodeId);
    const answer = call(b, "list_api_keys", NO_BODY);
    await cluster.time.advance(3000);
    const given = await answer;
    if (!("body" in given)) throw new Error("a stream");
    expect(given.status).toBe(503);
    expect(decodeApiKeyList(given.body)).toMatchObject({ outcome: "refused", code: "no_leader" });
  });
});

describe("an operator's call", () => {
  const calls: readonly UnaryCallName[] = ["create_api_key", "revoke_api_key", "rotate_api_key", "list_api_keys"];

  test.each(calls)("%s is for operators alone", async (name) => {
    const node: UnaryIdentity = { kind: "node", nodeId: "b" };
    expect((await answered(a, name, NO_BODY, node)).status).toBe(403);
  });

  test.each(calls)("%s is refused by a node that is not serving", async (name) => {
    cluster.crash(b);
    const drawn = drawApiKey({ label: "robot", scopes: ["read"] });
    const bodies: Partial<Record<UnaryCallName, Uint8Array>> = {
      create_api_key: encodeCreateApiKey(drawn.call),
      revoke_api_key: encodeRevokeApiKey({ keyId: drawn.keyId }),
      rotate_api_key: encodeRotateApiKey(drawReplacementApiKey({ keyId: drawn.keyId, overlapMs: 0 }).call),
    };
    expect((await answered(b, name, bodies[name] ?? NO_BODY)).status).toBe(503);
  });

  test.each(calls.filter((name) => name !== "list_api_keys"))(
    "%s with a body of another call is refused",
    async (name) => {
      const wrong = name === "revoke_api_key" ? "create_api_key" : "revoke_api_key";
      const body =
        wrong === "revoke_api_key"
          ? encodeRevokeApiKey({ keyId: new Uint8Array(16) })
          : encodeCreateApiKey(drawApiKey({ label: "x", scopes: ["read"] }).call);
      for (const bytes of [body, NO_BODY, Uint8Array.of(0x7b)])
        expect((await answered(a, name, bytes)).status).toBe(400);
    },
  );
});
