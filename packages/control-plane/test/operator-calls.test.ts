/** What operators may do, on the nodes of a cluster in memory. Who they are is judged before, by the transport. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import {
  type ActSigner,
  type ApiKeyList,
  type OperatorCall,
  type OperatorResult,
  UNARY_CALLS,
  type UnaryCallName,
  decodeApiKeyList,
  decodeOperatorResult,
  encodeOperatorAct,
} from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import { encodeCommand } from "@event-anchoring/ledger";
import type { Command } from "@event-anchoring/ledger";
import { createSigner, generateSeed } from "@event-anchoring/node-crypto";
import { drawApiKey, drawReplacementApiKey } from "@event-anchoring/provision";
import type { Ceremony } from "@event-anchoring/provision";
import { type QuietCluster, type QuietMachine, WORLD_START_MS } from "@event-anchoring/simulator";
import type { SnapshotExporter } from "../src/snapshots/snapshot-exporter.ts";
import type { UnaryAnswer, UnaryIdentity } from "../src/transport/network-types.ts";
import { unaryHandlers } from "../src/calls/unary-handlers.ts";
import { clusterOf, decided, made, recorded } from "./cluster-steps.ts";
import { ceremonyOf, operatorOf } from "./ceremony.ts";
import { CREDENTIAL, eventCommand } from "./commands.ts";
import { claimOf, recordClaim, recordRevocation, revocationOf } from "./signed-records.ts";

const OPERATOR: UnaryIdentity = { kind: "operator", operatorId: "setup" };
const NO_BODY = new Uint8Array();

let cluster: QuietCluster;
let ceremony: Ceremony;
let counter = 1000;
let a: QuietMachine;
let b: QuietMachine;
let c: QuietMachine;

beforeEach(async () => {
  ceremony = ceremonyOf(["a", "b", "c"]);
  cluster = await made(await clusterOf(ceremony));
  [a, b, c] = cluster.nodes as [QuietMachine, QuietMachine, QuietMachine];
});

function call(
  node: QuietMachine,
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
  node: QuietMachine,
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

/** As the operator of the ceremony signs it, with the next counter. */
function signed(given: OperatorCall, signer: Partial<ActSigner> = {}): Uint8Array {
  counter += 1;
  return encodeOperatorAct({ ...operatorOf(ceremony), ...signer }, counter, given);
}

async function written(node: QuietMachine, given: OperatorCall): Promise<OperatorResult> {
  return sent(node, signed(given));
}

async function sent(node: QuietMachine, body: Uint8Array): Promise<OperatorResult> {
  return decodeOperatorResult((await answered(node, "operator_act", body)).body);
}

async function listed(node: QuietMachine): Promise<Extract<ApiKeyList, { outcome: "listed" }>> {
  const { status, body } = await answered(node, "list_api_keys", NO_BODY);
  const list = decodeApiKeyList(body);
  if (list.outcome !== "listed") throw new Error(list.detail);
  expect(status).toBe(200);
  return list;
}

async function keyOn(node: QuietMachine, keyId: Uint8Array) {
  const { keys } = await listed(node);
  return keys.find((key) => bytesToHex(key.keyId) === bytesToHex(keyId));
}

describe("an API key", () => {
  test("made through one node is listed by every other, with its rate and who made it", async () => {
    const drawn = drawApiKey({ label: "robot", scopes: ["read", "admin"], requestsPerSecond: 25 });
    expect(await written(a, drawn.call)).toEqual({
      outcome: "applied",
      finality: "certified",
    });
    for (const node of cluster.nodes) {
      expect(await keyOn(node, drawn.keyId)).toMatchObject({
        apiClientId: drawn.apiClientId,
        label: "robot",
        scopes: ["read", "admin"],
        requestsPerSecond: 25,
        createdBy: { operator: "operator", counter },
        endedBy: null,
        revokedMs: 0,
        expiresMs: 0,
      });
    }
    expect((await listed(b)).omitted).toBe(0);
  });

  test("is revoked once and for good, and says when", async () => {
    const drawn = drawApiKey({ label: "robot", scopes: ["read"] });
    await written(a, drawn.call);
    const revoke = { kind: "revoke_api_key", keyId: drawn.keyId } as const;
    expect(await written(b, revoke)).toEqual({ outcome: "applied", finality: "certified" });
    expect(await written(c, revoke)).toEqual({ outcome: "unchanged" });
    expect((await keyOn(a, drawn.keyId))?.revokedMs).toBeGreaterThan(WORLD_START_MS);
    expect(await written(a, drawn.call)).toMatchObject({
      outcome: "rejected",
      code: "api_key_conflict",
    });
  });

  test("is replaced by one of the same client, and lives on for the overlap", async () => {
    const drawn = drawApiKey({ label: "robot", scopes: ["write"], requestsPerSecond: 3 });
    await written(a, drawn.call);
    const replacement = drawReplacementApiKey({ keyId: drawn.keyId, overlapMs: 60_000 });
    const rotate = replacement.call;
    expect(await written(b, rotate)).toEqual({ outcome: "applied", finality: "certified" });
    expect(await written(c, rotate)).toEqual({ outcome: "unchanged" });
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

  test.each<[string, OperatorCall]>([
    ["revoke", { kind: "revoke_api_key", keyId: new Uint8Array(16) }],
    ["rotate", drawReplacementApiKey({ keyId: new Uint8Array(16), overlapMs: 0 }).call],
  ])("that nobody knows is not there to %s", async (_, given) => {
    expect((await answered(a, "operator_act", signed(given))).status).toBe(409);
    expect(await written(b, given)).toMatchObject({ outcome: "rejected", code: "api_key_unknown" });
  });
});

describe("what an API client has recorded", () => {
  const stranger = drawApiKey({ label: "stranger", scopes: ["read", "write", "revoke", "admin"] });
  const asStranger = { keyId: stranger.keyId, apiClientId: stranger.apiClientId };

  test("is revoked by an operator through any node, with a leaf that says so; once", async () => {
    await written(a, stranger.call);
    const { originFingerprint } = a.identity;
    const { anchorId } = await recorded(cluster, a, recordClaim(CREDENTIAL, claimOf(originFingerprint, "alice")));
    const revocation = revocationOf({ anchorId, kind: "claim", originFingerprint }, null);
    expect(await decided(cluster, b, recordRevocation(asStranger, revocation))).toMatchObject({
      records: [{ status: "rejected", rejection: { code: "not_own_record" } }],
    });
    const call = { kind: "record_revocation", credential: null, revocation } as const;
    const first = await written(b, call);
    expect(first).toMatchObject({ outcome: "recorded", replayed: false, finality: "certified" });
    expect(await written(c, call)).toEqual({ ...first, replayed: true });
    expect(await written(a, { ...call, revocation: { ...revocation, issuedAt: 2 ** 53 - 1 } })).toMatchObject({
      outcome: "rejected",
      code: "issued_in_future",
    });
  });

  test("is erased by an operator through any node, and by no other client", async () => {
    await written(a, stranger.call);
    const { anchorId } = await recorded(cluster, a, eventCommand(a.identity.originFingerprint, 1, "an id"));
    expect(await decided(cluster, b, { kind: "erase_client_event", credential: asStranger, anchorId })).toMatchObject({
      rejection: { code: "not_own_record" },
    });
    const call = { kind: "erase_client_event", credential: null, anchorId } as const;
    expect(await written(c, call)).toEqual({ outcome: "applied", finality: "certified" });
    expect(await written(b, call)).toEqual({ outcome: "unchanged" });
  });

  test("is out of reach of a node that says the bare command", async () => {
    const { anchorId } = await recorded(cluster, a, eventCommand(a.identity.originFingerprint, 1, "an id"));
    const { originFingerprint } = a.identity;
    const revocation = revocationOf({ anchorId, kind: "claim", originFingerprint }, null);
    const bare: Command[] = [
      { kind: "erase_client_event", credential: null, anchorId },
      { kind: "record_revocation", credential: null, revocation },
    ];
    for (const command of bare) {
      expect(await decided(cluster, b, command)).toMatchObject({ rejection: { code: "operator_signature_missing" } });
    }
  });
});

describe("an act", () => {
  const drawn = drawApiKey({ label: "forged", scopes: ["read", "admin"] });

  test.each<[string, string, () => Uint8Array]>([
    ["by another key", "signature_invalid", () => signed(drawn.call, { sign: createSigner(generateSeed()).sign })],
    ["of another cluster", "signature_invalid", () => signed(drawn.call, { clusterId: new Uint8Array(32) })],
    ["of another epoch", "signature_invalid", () => signed(drawn.call, { epoch: 1 })],
    ["of somebody unknown", "operator_unknown", () => signed(drawn.call, { operator: "mallory" })],
  ])("%s is refused by every node, and makes nothing", async (_, code, forged) => {
    for (const node of cluster.nodes) expect(await sent(node, forged())).toMatchObject({ code });
    expect(await keyOn(a, drawn.keyId)).toBeUndefined();
  });

  test("is decided once: a second time, and after a later one, its counter is used", async () => {
    const early = signed({ kind: "revoke_api_key", keyId: new Uint8Array(16) });
    const body = signed(drawn.call);
    expect(await sent(a, body)).toMatchObject({ outcome: "applied" });
    for (const again of [body, early])
      expect(await sent(b, again)).toMatchObject({ outcome: "rejected", code: "operator_counter_used" });
    expect(await sent(b, body)).toMatchObject({ detail: expect.stringContaining(String(counter)) });
  });

  test("that is refused has used its counter, too", async () => {
    const body = signed({ kind: "revoke_api_key", keyId: drawn.keyId });
    expect(await sent(a, body)).toMatchObject({ code: "api_key_unknown" });
    expect(await sent(a, body)).toMatchObject({ code: "operator_counter_used" });
  });

  test("is needed: a node that says the bare command gets nothing", async () => {
    const { kind, ...key } = drawn.call;
    const result = cluster.submit(b, { kind, key });
    await cluster.time.advance(500);
    expect(await result).toMatchObject({
      outcome: { kind: "rejected", rejection: { code: "operator_signature_missing" } },
    });
    expect(await keyOn(a, drawn.keyId)).toBeUndefined();
  });
});

describe("the list of API keys", () => {
  test("is as of the moment it is asked for: a lagging node waits, and does not show what was before", async () => {
    const lagging = cluster.nodes.find((node) => node !== cluster.leader()) as QuietMachine;
    const leader = cluster.leader() as QuietMachine;
    lagging.database.appends.hold();
    const drawn = drawApiKey({ label: "robot", scopes: ["read"] });
    await written(leader, drawn.call);
    const answer = call(lagging, "list_api_keys", NO_BODY);
    await cluster.time.advance(500);
    lagging.database.appends.release();
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
  const calls: readonly UnaryCallName[] = ["operator_act", "list_api_keys"];
  const body = (name: UnaryCallName): Uint8Array =>
    name === "list_api_keys" ? NO_BODY : signed({ kind: "revoke_api_key", keyId: new Uint8Array(16) });

  test.each(calls)("%s is for operators alone", async (name) => {
    const node: UnaryIdentity = { kind: "node", nodeId: "b" };
    expect((await answered(a, name, body(name), node)).status).toBe(403);
  });

  test.each(calls)("%s is refused by a node that is not serving", async (name) => {
    cluster.crash(b);
    expect((await answered(b, name, body(name))).status).toBe(503);
  });

  test("with a body that is no act is refused", async () => {
    const unsigned = encodeCommand({ kind: "revoke_api_key", keyId: new Uint8Array(16) });
    for (const bytes of [unsigned, NO_BODY, Uint8Array.of(0x7b)])
      expect((await answered(a, "operator_act", bytes)).status).toBe(400);
  });
});
