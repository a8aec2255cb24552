/** The same request to all three nodes at once: the log decides, and there is one anchor. */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hexToBytes, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import { AnchoringClient, expectOk, served } from "@event-anchoring/testkit/clients";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import {
  claimBody,
  grantBody,
  partyOf,
  revocationBody,
  signClaim,
  signGrant,
  signRevocation,
} from "@event-anchoring/testkit/records";
import type { Answer, WireCreated } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import type { JsonBody, Party } from "@event-anchoring/testkit/records";
import { describeWholeLogs } from "../interop/whole-logs.ts";

const BATCH_SIZE = 1000;
/** RACES=50000 runs as many; the long suites do. */
const RACES = Number(process.env["RACES"] ?? 3000);
const BATCHES = Math.floor((RACES * 0.9) / BATCH_SIZE);
const SINGLE_RACES = RACES - BATCHES * BATCH_SIZE;
const SINGLES_AT_ONCE = 32;
const BATCHES_AT_ONCE = 2;
const RECORD_RACES = 200;
const RECORDS_AT_ONCE = 8;

interface Node {
  readonly client: AnchoringClient;
  readonly origin: string;
}

let setup: TestCluster;
let nodes: readonly Node[];

beforeAll(async () => {
  setup = await startTestCluster();
  nodes = setup.cluster.file.nodes.map(({ api_url: apiUrl, origin_fingerprint: origin }) => ({
    client: new AnchoringClient({ apiUrl, apiKey: setup.apiKey, connections: SINGLES_AT_ONCE }),
    origin,
  }));
}, 240_000);

afterAll(async () => {
  await Promise.all(nodes.map(({ client }) => client.close()));
  await setup.erase();
}, 240_000);

/** Asks every node at once. */
function atOnce<Said>(ask: (node: Node) => Promise<Said>): Promise<Said[]> {
  return Promise.all(nodes.map(ask));
}

/** Runs so many of them at a time, to the end. */
async function run(count: number, together: number, race: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const runner = async (): Promise<void> => {
    while (next < count) await race(next++);
  };
  await Promise.all(Array.from({ length: together }, runner));
}

/** Leaves of all origins that a quorum has cosigned, without those that are there from the start. */
async function anchorCount(): Promise<number> {
  let count = 0;
  for (const { origin } of nodes) {
    const path = `/v1/event-anchors/latest?origin_fingerprint=${origin}`;
    const answer = await first().client.load.get(path);
    if (answer.status !== 404) count += (JSON.parse(answer.text) as { readonly depth: number }).depth;
  }
  return count;
}

function first(): Node {
  const [node] = nodes;
  if (node === undefined) throw new Error("a cluster has nodes");
  return node;
}

/** How often a node was too busy and was asked again. */
let repetitions = 0;

function patiently<Body>(ask: () => Promise<Answer<Body>>): Promise<Answer<Body>> {
  return served(async () => {
    const answer = await ask();
    if (answer.status === 503) repetitions += 1;
    return answer;
  });
}

/**
 * What the nodes said of one race; good is one that created and the others that found the same. Whoever was asked again
 * may have found what the first time had created.
 */
function raceFault(said: readonly { readonly status: number; readonly anchorId: string }[]): string | null {
  const statuses = said.map(({ status }) => String(status)).sort();
  const ids = new Set(said.map(({ anchorId }) => anchorId));
  const isGood = statuses.join() === "200,200,201" || (repetitions > 0 && statuses.join() === "200,200,200");
  return isGood && ids.size === 1 ? null : JSON.stringify(said);
}

/** Status of what was recorded and code of what was refused, in one order. */
function summaryOf(answers: readonly Answer<unknown>[]): string {
  const said = answers.map((answer) => (answer.ok ? String(answer.status) : answer.body.code));
  return said.sort().join();
}

function saidOf(answer: Answer<WireCreated>): { readonly status: number; readonly anchorId: string } {
  return { status: answer.status, anchorId: answer.ok ? answer.body.anchor.anchor_id : JSON.stringify(answer.body) };
}

describe(`${RACES} races for a client_event_id between three nodes`, () => {
  const faults: string[] = [];
  const anchorIds = new Set<string>();

  async function raceBatch(): Promise<void> {
    const events = Array.from({ length: BATCH_SIZE }, () => ({
      event_hash: randomBytes(32).toString("hex"),
      client_event_id: randomUUID(),
    }));
    const answers = await atOnce(async ({ client, origin }) =>
      expectOk(await patiently(() => client.createEvents({ origin_fingerprint: origin, events }))),
    );
    for (let at = 0; at < BATCH_SIZE; at++) {
      const said = answers.map(({ results }) => ({
        status: results[at]?.status ?? 0,
        anchorId: results[at]?.anchor?.anchor_id ?? "",
      }));
      collect(said);
    }
  }

  async function raceSingle(): Promise<void> {
    const event = { event_hash: randomBytes(32).toString("hex"), client_event_id: randomUUID() };
    const answers = await atOnce(({ client, origin }) =>
      patiently(() => client.createEvent({ origin_fingerprint: origin, ...event })),
    );
    collect(answers.map(saidOf));
  }

  function collect(said: readonly { readonly status: number; readonly anchorId: string }[]): void {
    const fault = raceFault(said);
    if (fault !== null) faults.push(fault);
    for (const { anchorId } of said) anchorIds.add(anchorId);
  }

  test(
    "have one winner each, and every node names it",
    async () => {
      const before = await anchorCount();
      const startedAt = performance.now();
      await run(BATCHES, BATCHES_AT_ONCE, raceBatch);
      await run(SINGLE_RACES, SINGLES_AT_ONCE, raceSingle);
      const seconds = (performance.now() - startedAt) / 1000;
      process.stdout.write(`${RACES} races between three nodes in ${seconds.toFixed(1)} s\n`);
      expect(faults.slice(0, 5)).toEqual([]);
      expect(anchorIds.size).toBe(RACES);
      expect((await anchorCount()) - before).toBe(RACES);
    },
    240_000 + RACES * 30,
  );

  test("give an id that is raced with other content to one content alone", async () => {
    const conflicts: string[] = [];
    await run(RECORD_RACES, RECORDS_AT_ONCE, async () => {
      const id = randomUUID();
      const answers = await atOnce(({ client, origin }) => {
        const event_hash = randomBytes(32).toString("hex");
        const body = { origin_fingerprint: origin, event_hash, client_event_id: id };
        return served(() => client.createEvent(body));
      });
      conflicts.push(summaryOf(answers));
    });
    expect(new Set(conflicts)).toEqual(new Set(["201,client_event_id_conflict,client_event_id_conflict"]));
  }, 240_000);
});

describe("races for claims and grants", () => {
  const issuer = partyOf("races issuer");
  const witness = partyOf("races witness");

  function claimOf(entity: Uint8Array, subject: Party, by: Party = issuer): JsonBody {
    const content = {
      originFingerprint: toOriginFingerprint(hexToBytes(first().origin, 32)),
      entityFingerprint: entity,
      attributeType: 1,
      attributeHash: new Uint8Array(randomBytes(32)),
      issuedAt: 0,
      expiresAt: 0,
    };
    return claimBody(signClaim(content, subject, by));
  }

  function grantOf(grantor: { party: Party; claim: string }, grantee: string, scope: Uint8Array): JsonBody {
    const content = {
      originFingerprint: toOriginFingerprint(hexToBytes(first().origin, 32)),
      grantorClaimRef: toAnchorId(hexToBytes(grantor.claim, 32)),
      granteeClaimRef: toAnchorId(hexToBytes(grantee, 32)),
      parentGrantRef: toAnchorId(new Uint8Array(32)),
      scopeHash: scope,
      delegationDepth: 0,
      issuedAt: 0,
      notBefore: 0,
      expiresAt: 0,
    };
    return grantBody(signGrant(content, grantor.party, witness));
  }

  async function registered(name: string): Promise<{ party: Party; entity: string; claim: string }> {
    const party = partyOf(name);
    const entity = new Uint8Array(randomBytes(32));
    const claim = claimOf(entity, party);
    const { anchor } = expectOk(await served(() => first().client.createClaim(claim)));
    return { party, entity: Buffer.from(entity).toString("hex"), claim: anchor.anchor_id };
  }

  test("one claim is one anchor", async () => {
    const faults: (string | null)[] = [];
    await run(RECORD_RACES, RECORDS_AT_ONCE, async (race) => {
      const body = claimOf(new Uint8Array(randomBytes(32)), partyOf(`races subject ${race}`));
      faults.push(raceFault((await atOnce(({ client }) => patiently(() => client.createClaim(body)))).map(saidOf)));
    });
    expect(faults).toEqual(Array.from({ length: RECORD_RACES }, () => null));
  }, 240_000);

  test("an entity that two issuers claim at once is one issuer's", async () => {
    const answers: string[] = [];
    await run(RECORD_RACES, RECORDS_AT_ONCE, async (race) => {
      const entity = new Uint8Array(randomBytes(32));
      const rivals = nodes.map((_, at) => partyOf(`rival ${race} ${at}`));
      const bodies = rivals.map((rival) => claimOf(entity, rival, rival));
      const said = await Promise.all(nodes.map(({ client }, at) => served(() => client.createClaim(bodies[at] ?? {}))));
      answers.push(summaryOf(said));
    });
    expect(new Set(answers)).toEqual(new Set(["201,claim_conflict,claim_conflict"]));
  }, 240_000);

  test("one grant is one anchor, and of three at once one stays active", async () => {
    const faults: (string | null)[] = [];
    const states: string[] = [];
    const grantor = await registered("races grantor");
    await run(RECORD_RACES / 2, RECORDS_AT_ONCE, async (race) => {
      const grantee = await registered(`races grantee ${race}`);
      const same = grantOf(grantor, grantee.claim, new Uint8Array(32));
      faults.push(raceFault((await atOnce(({ client }) => patiently(() => client.createGrant(same)))).map(saidOf)));
      const rivals = nodes.map(() => grantOf(grantor, grantee.claim, new Uint8Array(randomBytes(32))));
      const said = await Promise.all(nodes.map(({ client }, at) => served(() => client.createGrant(rivals[at] ?? {}))));
      const grants = said.map((answer) => expectOk(answer).anchor.anchor_id);
      const told = await Promise.all(grants.map((anchorId) => served(() => first().client.anchor(anchorId))));
      states.push(
        told
          .map((answer) => String(expectOk(answer).anchor.state))
          .sort()
          .join(),
      );
    });
    expect(faults).toEqual(Array.from({ length: RECORD_RACES / 2 }, () => null));
    expect(new Set(states)).toEqual(new Set(["active,superseded,superseded"]));
  }, 240_000);

  test("one revocation is one anchor", async () => {
    const faults: (string | null)[] = [];
    await run(RECORD_RACES / 4, RECORDS_AT_ONCE, async (race) => {
      const { claim } = await registered(`races revoked ${race}`);
      const content = {
        originFingerprint: toOriginFingerprint(hexToBytes(first().origin, 32)),
        targetAnchorId: toAnchorId(hexToBytes(claim, 32)),
        reason: 1,
        suspectSince: 0,
        issuedAt: 0,
      };
      const body = revocationBody({ ...content, originFingerprint: null, signer: signRevocation(content, issuer) });
      faults.push(
        raceFault((await atOnce(({ client }) => patiently(() => client.revoke("claim", claim, body)))).map(saidOf)),
      );
    });
    expect(faults).toEqual(Array.from({ length: RECORD_RACES / 4 }, () => null));
  }, 240_000);
});

// What the races have left are the longest logs that a test writes.
describeWholeLogs(() => setup);
