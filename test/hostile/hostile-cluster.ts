/** A running cluster, parties that are registered with it, and the bytes that they would sign. */
import { randomBytes } from "node:crypto";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  bytesToHex,
  hexToBytes,
  originFingerprintOf,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint } from "@event-anchoring/protocol";
import { AnchoringClient, expectOk, served } from "@event-anchoring/testkit/clients";
import { TestOperator } from "@event-anchoring/testkit/cluster";
import { claimBody, grantBody, partyOf, signClaim, signGrant } from "@event-anchoring/testkit/records";
import type { Answer } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import type { JsonBody, Party } from "@event-anchoring/testkit/records";
import type { ClaimInput, GrantInput } from "@event-anchoring/ledger";
import { sharedCluster } from "../shared-cluster.ts";

export interface Registered {
  readonly party: Party;
  readonly issuer: Party;
  readonly entity: Uint8Array;
  readonly claim: AnchorId;
}

export const NOTHING = toAnchorId(new Uint8Array(32));

export function random32(): Uint8Array {
  return Uint8Array.from(randomBytes(32));
}

export class HostileCluster {
  readonly setup: TestCluster;
  /** One for each node, with a default key. */
  readonly clients: readonly AnchoringClient[];
  /** With the scope admin. */
  readonly admin: AnchoringClient;
  readonly origins: readonly OriginFingerprint[];

  private constructor(setup: TestCluster, adminKey: string) {
    const { nodes } = setup.cluster.file;
    this.setup = setup;
    this.clients = nodes.map(
      ({ api_url: apiUrl }) => new AnchoringClient({ apiUrl, apiKey: setup.apiKey, connections: 8 }),
    );
    this.admin = new AnchoringClient({ apiUrl: nodes[0]?.api_url ?? "", apiKey: adminKey });
    this.origins = nodes.map(({ origin_fingerprint: origin }) => toOriginFingerprint(hexToBytes(origin, 32)));
  }

  static async start(): Promise<HostileCluster> {
    const setup = await sharedCluster();
    const operator = await TestOperator.of(setup);
    const { apiKey } = await operator.createKey({ label: "admin", scopes: ["read", "write", "revoke", "admin"] });
    return new HostileCluster(setup, apiKey);
  }

  /** The cluster itself goes on for the next suite. */
  async close(): Promise<void> {
    await Promise.all([...this.clients, this.admin].map((client) => client.close()));
  }

  client(node = 0): AnchoringClient {
    const client = this.clients[node % this.clients.length];
    if (client === undefined) throw new Error("a cluster has nodes");
    return client;
  }

  origin(node = 0): OriginFingerprint {
    const origin = this.origins[node % this.origins.length];
    if (origin === undefined) throw new Error("a cluster has origins");
    return origin;
  }

  claim(subject: Party, issuer: Party, more: Partial<ClaimInput> = {}): ClaimInput {
    const content = {
      originFingerprint: this.origin(),
      entityFingerprint: random32(),
      attributeType: 1,
      attributeHash: random32(),
      issuedAt: 0,
      expiresAt: 0,
      ...more,
    };
    return signClaim(content, subject, issuer);
  }

  grant(grantor: Registered, grantee: AnchorId, witness: Party, more: Partial<GrantInput> = {}): GrantInput {
    const content = {
      originFingerprint: this.origin(),
      grantorClaimRef: grantor.claim,
      granteeClaimRef: grantee,
      parentGrantRef: NOTHING,
      scopeHash: random32(),
      delegationDepth: 3,
      issuedAt: 0,
      notBefore: 0,
      expiresAt: 0,
      ...more,
    };
    return signGrant(content, grantor.party, witness);
  }

  async register(name: string): Promise<Registered> {
    const party = partyOf(`${name} ${bytesToHex(random32())}`);
    const issuer = partyOf(`${name}'s issuer`);
    const input = this.claim(party, issuer);
    const { anchor } = expectOk(await served(() => this.client().createClaim(claimBody(input))));
    return { party, issuer, entity: input.entityFingerprint, claim: toAnchorId(hexToBytes(anchor.anchor_id, 32)) };
  }

  async grantTo(grantor: Registered, grantee: Registered, witness: Party): Promise<AnchorId> {
    const input = this.grant(grantor, grantee.claim, witness);
    const { anchor } = expectOk(await served(() => this.client().createGrant(grantBody(input))));
    return toAnchorId(hexToBytes(anchor.anchor_id, 32));
  }

  /** Sequence that the next leaf will have: what a refused request must not change. */
  async nextSequence(): Promise<number> {
    const event = { origin_fingerprint: bytesToHex(this.origin()), event_hash: bytesToHex(random32()) };
    return expectOk(await this.client().createEvent(event)).anchor.sequence + 1;
  }
}

/** An origin of the same key in a cluster of another id. */
export function foreignOrigin(): OriginFingerprint {
  return originFingerprintOf(random32(), random32(), nodeCrypto.sha256);
}

/** Code and first pointer of a refusal; a status where there is none. */
export function refusalOf(answer: Answer<unknown>): string {
  if (answer.ok) return String(answer.status);
  const pointer = answer.body.errors?.[0]?.pointer;
  return pointer === undefined ? answer.body.code : `${answer.body.code} ${pointer}`;
}

/** A copy with some fields replaced. */
export function altered(body: JsonBody, fields: JsonBody): JsonBody {
  return { ...body, ...fields };
}
