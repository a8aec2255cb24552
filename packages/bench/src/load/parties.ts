/** Parties, their claims and grants between them: what scenarios about responsibility begin with. */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { bytesToHex, hexToBytes, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import { AnchoringClient, expectOk } from "@event-anchoring/testkit/clients";
import { claimBody, grantBody, partyOf, signClaim, signGrant } from "@event-anchoring/testkit/records";
import type { Answer, HttpRequest } from "@event-anchoring/testkit/clients";
import type { JsonBody, Party } from "@event-anchoring/testkit/records";
import type { Stock, Workload } from "./load-generator.ts";
import { anOriginAt } from "./measured-cluster.ts";
import type { MeasuredCluster, Origins } from "./measured-cluster.ts";

export const NO_GRANT = toAnchorId(new Uint8Array(32));

/** A party and the claim that was registered for it. */
export interface Registered {
  readonly party: Party;
  readonly claim: AnchorId;
}

/** A party with a fresh key. */
export function newParty(): Party {
  return partyOf(randomBytes(16).toString("hex"));
}

/** A claim about a fresh entity. */
export function newClaimBody(origin: string, subject: Party, issuer: Party): JsonBody {
  const content = {
    originFingerprint: toOriginFingerprint(hexToBytes(origin, 32)),
    entityFingerprint: randomBytes(32),
    attributeType: 1,
    attributeHash: randomBytes(32),
    issuedAt: 0,
    expiresAt: 0,
  };
  return claimBody(signClaim(content, subject, issuer));
}

export interface GrantWish {
  readonly origin: string;
  readonly grantor: Registered;
  readonly grantee: Registered;
  readonly parent: AnchorId;
  readonly depth: number;
}

export function newGrantBody({ origin, grantor, grantee, parent, depth }: GrantWish, witness: Party): JsonBody {
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
  return grantBody(signGrant(content, grantor.party, witness));
}

/** A client of the first node, and that node's origin, while `use` runs. */
export async function withFirstNode<Result>(
  cluster: MeasuredCluster,
  connections: number,
  use: (client: AnchoringClient, origin: string) => Promise<Result>,
): Promise<Result> {
  const [apiUrl] = cluster.origins.keys();
  if (apiUrl === undefined) throw new Error("a cluster has nodes");
  const origin = anOriginAt(cluster.origins, apiUrl);
  return withNode(cluster, apiUrl, connections, (client) => use(client, origin));
}

/** A client of one node, while `use` runs. */
export async function withNode<Result>(
  { apiKey }: MeasuredCluster,
  apiUrl: string,
  connections: number,
  use: (client: AnchoringClient) => Promise<Result>,
): Promise<Result> {
  const client = new AnchoringClient({ apiUrl, apiKey, connections });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

const PATIENCE_MS = 60_000;

/** What is made before a measurement is asked for again while the answer is 503. @throws for every other refusal */
export async function preparing<Body>(ask: () => Promise<Answer<Body>>): Promise<Body> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (answer.ok || answer.status !== 503 || performance.now() > giveUpAt) return expectOk(answer);
    await delay(PAUSE_AFTER_503_MS);
  }
}

const PAUSE_AFTER_503_MS = 100;
const REGISTERED_AT_ONCE = 16;

/** Makes so many parties and claims for them. */
export async function register(cluster: MeasuredCluster, count: number): Promise<readonly Registered[]> {
  const issuer = partyOf("issuer");
  return withFirstNode(cluster, REGISTERED_AT_ONCE, async (client, origin) => {
    const registered: Registered[] = [];
    while (registered.length < count) {
      const some = Array.from({ length: Math.min(REGISTERED_AT_ONCE, count - registered.length) }, async () => {
        const party = newParty();
        const body = newClaimBody(origin, party, issuer);
        const { anchor } = await preparing(() => client.createClaim(body));
        return { party, claim: toAnchorId(hexToBytes(anchor.anchor_id, 32)) };
      });
      registered.push(...(await Promise.all(some)));
    }
    return registered;
  });
}

/** One who acts under a grant. */
export interface Agent extends Registered {
  /** 64 hex digits each. */
  readonly claimId: string;
  readonly grantId: string;
}

/** Parties with a claim, and a grant from one principal for each of them. */
export async function registerAgents(cluster: MeasuredCluster, count: number): Promise<readonly Agent[]> {
  const [grantor, ...grantees] = await register(cluster, count + 1);
  if (grantor === undefined) throw new Error("the principal was not registered");
  const witness = partyOf("witness");
  return withFirstNode(cluster, 1, async (client, origin) => {
    const agents: Agent[] = [];
    for (const grantee of grantees) {
      const body = newGrantBody({ origin, grantor, grantee, parent: NO_GRANT, depth: 0 }, witness);
      const { anchor } = await preparing(() => client.createGrant(body));
      agents.push({ ...grantee, claimId: bytesToHex(grantee.claim), grantId: anchor.anchor_id });
    }
    return agents;
  });
}

/** How many are signed before the event loop has its turn again: connections must not time out meanwhile. */
const SIGNED_AT_ONCE = 100;

/**
 * Requests that are signed before they are needed: the time that clients spend on signing is not the service's.
 * @param make a request to the node of this origin; null when no more can be made
 */
export function signedInAdvance(
  origins: Origins,
  make: (origin: string) => HttpRequest | null,
): Pick<Workload, "next"> & { readonly stock: Stock } {
  const queues = new Map([...origins.keys()].map((url) => [url, [] as HttpRequest[]]));
  const total = (): number => [...queues.values()].reduce((sum, { length }) => sum + length, 0);
  const stock: Stock = {
    get perServer() {
      return Math.min(...[...queues.values()].map(({ length }) => length));
    },
    fill: async (perServer, onMade) => {
      for (const [url, queue] of queues) {
        while (queue.length < perServer) {
          const request = make(anOriginAt(origins, url));
          if (request === null) return;
          queue.push(request);
          if (queue.length % SIGNED_AT_ONCE !== 0) continue;
          onMade(total());
          await new Promise((resolve) => {
            setImmediate(resolve);
          });
        }
      }
    },
  };
  return { next: (url) => queues.get(url)?.pop() ?? null, stock };
}
