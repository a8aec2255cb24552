/**
 * Claims, grants and questions about a responsibility chain. Keys are made and everything is signed before a workload
 * begins: what clients spend on signing is not the service's.
 */
import { createHash, randomBytes } from "node:crypto";
import { toAnchorId, toOriginFingerprint, hexToBytes } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import { AnchoringClient, expectOk } from "../anchoring-client.ts";
import { partyOf, signClaim, signGrant } from "../party.ts";
import type { Party } from "../party.ts";
import { claimBody, grantBody } from "../request-bodies.ts";
import type { Origins } from "./event-workloads.ts";
import type { BenchRequest, Workload } from "./scenarios.ts";

/** Grants of the chain that is verified and traced. */
const CHAIN_LINKS = 5;
const VERIFIED_EVENTS = 1000;

export const QUESTIONS = [
  "verify a chain of 5 grants",
  "trace under a chain of 5 grants",
  "verify a batch of 1,000 events",
] as const;

/** Claims between whom grants are given: every ordered pair of them can be used once. */
const GRANT_PARTIES = 250;
const NOTHING = new Uint8Array(32);

interface Registered {
  readonly party: Party;
  readonly claim: AnchorId;
}

export interface WorkloadSetup {
  readonly apiKey: string;
  readonly origins: Origins;
  /** How many requests to prepare for each node. */
  readonly perNode: number;
}

type QuestionName = (typeof QUESTIONS)[number];

/** Every claim is of an entity, and of a subject key, that nobody has used before. */
export function newClaims({ origins, perNode }: WorkloadSetup): Workload {
  const issuer = partyOf("issuer");
  const prepared = prepare(origins, perNode, (origin) => {
    const subject = newParty();
    return { path: "/v1/claim-anchors", body: JSON.stringify(claimBody(signedClaim(origin, subject, issuer))) };
  });
  return { name: "claims", goal: "≥ 1,000/s", anchorsPerRequest: 1, isGood: isCreated, ...prepared };
}

/** Every grant is between two parties that have none yet. */
export async function newGrants(setup: WorkloadSetup): Promise<Workload> {
  const { origins, perNode } = setup;
  const parties = await register(setup, GRANT_PARTIES);
  const witness = partyOf("witness");
  let pair = 0;
  const prepared = prepare(origins, Math.min(perNode, Math.floor(pairsOf(parties) / origins.size)), (origin) => {
    const grantor = at(parties, pair % parties.length);
    const grantee = at(parties, (pair + 1 + Math.floor(pair / parties.length)) % parties.length);
    pair += 1;
    const input = signedGrant({ origin, grantor, grantee, parent: toAnchorId(NOTHING), depth: 0 }, witness);
    return { path: "/v1/grant-anchors", body: JSON.stringify(grantBody(input)) };
  });
  return { name: "grants", goal: "≥ 1,000/s", anchorsPerRequest: 1, isGood: isCreated, ...prepared };
}

function pairsOf(parties: readonly Registered[]): number {
  return parties.length * (parties.length - 1);
}

/** Verify of the last grant of a chain, trace of an event under it, and verify of a batch of events. */
export async function chainQuestions(setup: WorkloadSetup): Promise<readonly Workload[]> {
  const { client, origin } = firstNode(setup);
  try {
    const parties = await register(setup, CHAIN_LINKS + 1);
    const witness = partyOf("witness");
    let parent = toAnchorId(NOTHING);
    for (let link = 0; link < CHAIN_LINKS; link++) {
      const [grantor, grantee] = [at(parties, link), at(parties, link + 1)];
      const input = signedGrant({ origin, grantor, grantee, parent, depth: CHAIN_LINKS - link }, witness);
      parent = idOf(expectOk(await client.createGrant(grantBody(input))).anchor.anchor_id);
    }
    const semanticAnchor = { iris_ref: hex(at(parties, CHAIN_LINKS).claim), grant_ref: hex(parent) };
    const event = { origin_fingerprint: origin, event_hash: randomHash(), semantic_anchor: semanticAnchor };
    const traced = expectOk(await client.createEvent(event)).anchor.anchor_id;
    const events = Array.from({ length: VERIFIED_EVENTS }, () => ({ event_hash: randomHash() }));
    const { results } = expectOk(await client.createEvents({ origin_fingerprint: origin, events }));
    const anchors = results.map(({ anchor }) => ({ anchor_id: anchor?.anchor_id ?? "" }));
    return [
      question("verify a chain of 5 grants", "p50 ≤ 5 ms", `"valid":true`, {
        path: "/v1/grant-anchors:verify",
        body: JSON.stringify({ anchor_id: hex(parent) }),
      }),
      question("trace under a chain of 5 grants", null, `"authorised_at_action":true`, {
        path: `/v1/event-anchors/${traced}/trace`,
        body: null,
      }),
      question("verify a batch of 1,000 events", "p50 ≤ 300 ms", `"valid":${VERIFIED_EVENTS}`, {
        path: "/v1/event-anchors:batchVerify",
        body: JSON.stringify({ anchors }),
      }),
    ];
  } finally {
    await client.close();
  }
}

/** The same request again and again, whose answer says `expected`. */
function question(name: QuestionName, goal: string | null, expected: string, request: BenchRequest): Workload {
  return {
    name,
    ...(goal === null ? {} : { goal }),
    anchorsPerRequest: 1,
    next: () => request,
    isGood: ({ status, text }) => status === 200 && text.includes(expected),
  };
}

/** A queue of requests for each node, each with the node's own origin. */
function prepare(origins: Origins, perNode: number, request: (origin: string) => BenchRequest): Pick<Workload, "next"> {
  const queues = new Map(
    [...origins].map(([apiUrl, origin]) => [apiUrl, Array.from({ length: perNode }, () => request(origin))]),
  );
  return { next: (apiUrl) => queues.get(apiUrl)?.pop() ?? null };
}

const REGISTERED_AT_ONCE = 16;

async function register(setup: WorkloadSetup, count: number): Promise<readonly Registered[]> {
  const { client, origin } = firstNode(setup, REGISTERED_AT_ONCE);
  const issuer = partyOf("issuer");
  try {
    const registered: Registered[] = [];
    while (registered.length < count) {
      const some = Array.from({ length: Math.min(REGISTERED_AT_ONCE, count - registered.length) }, async () => {
        const party = newParty();
        const body = claimBody(signedClaim(origin, party, issuer));
        const { anchor } = expectOk(await client.createClaim(body));
        return { party, claim: idOf(anchor.anchor_id) };
      });
      registered.push(...(await Promise.all(some)));
    }
    return registered;
  } finally {
    await client.close();
  }
}

function firstNode({ apiKey, origins }: WorkloadSetup, connections = 1): { client: AnchoringClient; origin: string } {
  const [first] = origins;
  if (first === undefined) throw new Error("a cluster has nodes");
  const [apiUrl, origin] = first;
  return { client: new AnchoringClient({ apiUrl, apiKey, connections }), origin };
}

function signedClaim(origin: string, subject: Party, issuer: Party): ReturnType<typeof signClaim> {
  const content = {
    originFingerprint: toOriginFingerprint(hexToBytes(origin, 32)),
    entityFingerprint: randomBytes(32),
    attributeType: 1,
    attributeHash: randomBytes(32),
    issuedAt: 0,
    expiresAt: 0,
  };
  return signClaim(content, subject, issuer);
}

interface GrantWish {
  readonly origin: string;
  readonly grantor: Registered;
  readonly grantee: Registered;
  readonly parent: AnchorId;
  readonly depth: number;
}

function signedGrant({ origin, grantor, grantee, parent, depth }: GrantWish, witness: Party) {
  const content = {
    originFingerprint: toOriginFingerprint(hexToBytes(origin, 32)),
    grantorClaimRef: grantor.claim,
    granteeClaimRef: grantee.claim,
    parentGrantRef: parent,
    scopeHash: randomBytes(32),
    delegationDepth: depth,
    issuedAt: 0,
    notBefore: 0,
    expiresAt: 0,
  };
  return signGrant(content, grantor.party, witness);
}

function newParty(): Party {
  return partyOf(randomBytes(16).toString("hex"));
}

function randomHash(): string {
  return createHash("sha256").update(randomBytes(16)).digest("hex");
}

function isCreated({ status }: { readonly status: number }): boolean {
  return status === 201;
}

function idOf(anchorId: string): AnchorId {
  return toAnchorId(hexToBytes(anchorId, 32));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new RangeError(`no item ${index}`);
  return item;
}
