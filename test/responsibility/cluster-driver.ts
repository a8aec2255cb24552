/** A running cluster over HTTP: every operation goes to some node, every question to any. */
import { bytesToHex, hexToBytes, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint } from "@event-anchoring/protocol";
import { AnchoringClient, expectOk } from "@event-anchoring/testkit/clients";
import { TestOperator } from "@event-anchoring/testkit/cluster";
import { claimBody, eventBody, grantBody, partyOf, revocationBody } from "@event-anchoring/testkit/records";
import type { Answer, WireAnchor, WireCreated } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import type { Party } from "@event-anchoring/testkit/records";
import type { Proposer, RecordOperation } from "./operations.ts";
import { bytesOf, claimInputOf, eventInputOf, grantInputOf, originNamed, revocationInputOf } from "./signed-input.ts";
import type { Names } from "./signed-input.ts";

/** API keys of three clients; the usual one may do what a default key may. */
export const CLUSTER_PROPOSERS: readonly Proposer[] = [
  { key: "usual", client: "main", scopes: ["read", "write", "revoke"], isLive: true },
  { key: "admin", client: "main", scopes: ["read", "write", "revoke", "admin"], isLive: true },
  { key: "writer", client: "other", scopes: ["write"], isLive: true },
  { key: "revoker", client: "other", scopes: ["revoke"], isLive: true },
  { key: "reader", client: "third", scopes: ["read"], isLive: true },
  { key: "revoked", client: "third", scopes: ["read", "write", "revoke", "admin"], isLive: false },
];

export class ClusterDriver implements Names {
  readonly origins: ReadonlyMap<string, OriginFingerprint>;
  /** By sequence. */
  readonly anchors: WireAnchor[] = [];
  readonly #setup: TestCluster;
  readonly #parties = new Map<string, Party>();
  /** By the name of the key and the node. */
  readonly #clients = new Map<string, AnchoringClient>();

  private constructor(setup: TestCluster) {
    this.#setup = setup;
    this.origins = new Map(
      setup.cluster.file.nodes.map(({ id, origin_fingerprint: origin }) => [
        id,
        toOriginFingerprint(hexToBytes(origin, 32)),
      ]),
    );
  }

  /** On a cluster without any anchor of a client. */
  static async on(setup: TestCluster): Promise<ClusterDriver> {
    const driver = new ClusterDriver(setup);
    const operator = await TestOperator.of(setup);
    for (const { key: label, client, scopes, isLive } of CLUSTER_PROPOSERS) {
      const apiClientId = bytesOf(`client ${client}`).slice(0, 16);
      const key = await operator.createKey({ label, apiClientId, scopes: scopes as readonly "read"[] });
      if (!isLive) await operator.revokeKey(key.keyId);
      for (const { id, api_url: apiUrl } of setup.cluster.file.nodes)
        driver.#clients.set(`${label} ${id}`, new AnchoringClient({ apiUrl, apiKey: key.apiKey }));
    }
    return driver;
  }

  get nodeIds(): readonly string[] {
    return this.#setup.cluster.file.nodes.map(({ id }) => id);
  }

  client(nodeId: string, key = "usual"): AnchoringClient {
    const client = this.#clients.get(`${key} ${nodeId}`);
    if (client === undefined) throw new Error(`there is no client of ${key} at ${nodeId}`);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }

  /** The genesis leaves, as the parents of the first event of each origin name them; the events are anchored too. */
  async begin(): Promise<readonly WireAnchor[]> {
    const events: WireAnchor[] = [];
    const genesis: WireAnchor[] = [];
    const client = this.client(this.nodeIds[0] ?? "");
    for (const [name, origin] of this.origins) {
      const body = { origin_fingerprint: bytesToHex(origin), event_hash: bytesToHex(bytesOf(`first ${name}`)) };
      const { anchor } = expectOk(await client.createEvent(body));
      events.push(anchor);
      genesis.push(expectOk(await client.anchor(String(anchor["parent_anchor_id"]))).anchor);
    }
    this.anchors.push(...genesis.sort((a, b) => a.sequence - b.sequence), ...events);
    return this.anchors;
  }

  propose(operation: RecordOperation, nodeId: string): Promise<Answer<WireCreated>> {
    const client = this.client(nodeId, operation.by.key);
    switch (operation.kind) {
      case "claim":
        return client.createClaim(claimBody(claimInputOf(operation, this)));
      case "grant":
        return client.createGrant(grantBody(grantInputOf(operation, this)));
      case "revocation": {
        const input = revocationInputOf(operation, this);
        return client.revoke(operation.targetKind, bytesToHex(input.targetAnchorId), revocationBody(input));
      }
      case "event":
        return client.createEvent(eventBody(eventInputOf(operation, this)));
    }
  }

  origin(name: string): OriginFingerprint {
    return originNamed(this.origins, name);
  }

  anchorId(sequence: number): AnchorId {
    return toAnchorId(hexToBytes(this.#anchor(sequence).anchor_id, 32));
  }

  originOf(sequence: number): OriginFingerprint {
    return toOriginFingerprint(hexToBytes(this.#anchor(sequence).origin_fingerprint, 32));
  }

  party(name: string): Party {
    const known = this.#parties.get(name);
    if (known !== undefined) return known;
    const party = partyOf(name);
    this.#parties.set(name, party);
    return party;
  }

  idOf(sequence: number): string {
    return this.#anchor(sequence).anchor_id;
  }

  /** null: an id that is none of this history's. */
  sequenceOf(anchorId: string): number | null {
    return this.anchors.find(({ anchor_id: id }) => id === anchorId)?.sequence ?? null;
  }

  #anchor(sequence: number): WireAnchor {
    const anchor = this.anchors[sequence];
    if (anchor === undefined) throw new RangeError(`no anchor has sequence ${sequence}`);
    return anchor;
  }
}
