/** The lists of all claims and grants, as the document has them, at every node of a cluster. */
import type { AnyBody, ContractCluster } from "./contract-cluster.ts";
import type { MadeRecords } from "@event-anchoring/testkit/openapi";
import type { Writings } from "./writings.ts";

interface HistoryBody extends AnyBody {
  readonly items: readonly {
    readonly anchor: NonNullable<AnyBody["anchor"]>;
    readonly ended: { readonly code: string } | null;
  }[];
  readonly next_cursor: string | null;
}

type Anchors = readonly NonNullable<AnyBody["anchor"]>[];

interface Histories {
  /** What ended each claim of the entity; null: it is active. */
  readonly ends: readonly (string | null)[];
  readonly claims: Anchors;
  /** The page after the first claim, as each node answers it. */
  readonly secondPages: readonly Anchors[];
  readonly grants: Anchors;
}

/** Asks for the history of a claim that was revoked and followed by another one, and for the grants of an entity. */
export async function askForHistories(
  cluster: ContractCluster,
  writings: Writings,
  { entity: grantor }: MadeRecords,
): Promise<Histories> {
  const ask = async (id: string, query: Record<string, string>, nodeUrl?: string): Promise<HistoryBody> =>
    (await cluster.expect(200, id, { query, ...(nodeUrl === undefined ? {} : { nodeUrl }) })) as HistoryBody;
  const claim = writings.claim({ issuedAt: 1 });
  const entity = String(claim["entity_fingerprint"]);
  const { anchor } = await cluster.expect(201, "createClaimAnchor", { body: claim });
  await cluster.expect(201, "createClaimAnchor", { body: writings.claim({ entity, issuedAt: 2 }) });
  await cluster.expect(201, "revokeClaimAnchor", { path: { anchor_id: anchor?.anchor_id ?? "" } });
  const query = { entity_fingerprint: entity, history: "true" };
  const { items } = await ask("getClaimAnchor", { ...query, attribute_type: "7", limit: "2" });
  const cursor = (await ask("getClaimAnchor", { ...query, limit: "1" })).next_cursor ?? "";
  const secondPages: Anchors[] = [];
  for (const { api_url: nodeUrl } of cluster.setup.cluster.file.nodes) {
    const page = await ask("getClaimAnchor", { ...query, limit: "1", cursor }, nodeUrl);
    secondPages.push(page.items.map((item) => item.anchor));
  }
  const ofGrants = { grantor_fingerprint: grantor, history: "true" };
  const grants = await ask("getGrantAnchor", ofGrants);
  for (const bad of [{ ...ofGrants, cursor }, { history: "true" }, { grantor_fingerprint: grantor }])
    await cluster.expect(400, "getGrantAnchor", { query: bad });
  return {
    ends: items.map(({ ended }) => ended?.code ?? null),
    claims: items.map((item) => item.anchor),
    secondPages,
    grants: grants.items.map((item) => item.anchor),
  };
}
