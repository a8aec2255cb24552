/** A delegation to be verified and traced: root → deployer → agent. */
import { revokedSchema } from "@event-anchoring/api-contract";
import type { AnchorJson } from "@event-anchoring/api-contract";
import type { Harness } from "./api-harness.ts";
import { START_MS } from "./fake-node.ts";
import { claimed, granted } from "./records.ts";

type Role = "root" | "deployer" | "agent";

export interface Delegation {
  /** Names of the entities and of their keys. No two delegations share one. */
  readonly names: Readonly<Record<Role, string>>;
  readonly claims: Readonly<Record<Role, AnchorJson>>;
  /** From the root to the deployer: two hops more. */
  readonly upper: AnchorJson;
  /** From the deployer to the agent: one hop more, and an end. */
  readonly lower: AnchorJson;
}

export const LOWER_EXPIRES_AT = START_MS + 10_000_000;

let delegations = 0;

export async function delegated(harness: Harness): Promise<Delegation> {
  delegations += 1;
  const nameOf = (role: Role): string => `${role} ${delegations}`;
  const names = { root: nameOf("root"), deployer: nameOf("deployer"), agent: nameOf("agent") };
  const claims = {
    root: await claimed(harness, names.root),
    deployer: await claimed(harness, names.deployer),
    agent: await claimed(harness, names.agent),
  };
  const upper = await grantedBetween(harness, { names, claims }, "root", "deployer", { depth: 2 });
  const below = { parent: upper.anchor_id, depth: 1, expiresAt: LOWER_EXPIRES_AT };
  return { names, claims, upper, lower: await grantedBetween(harness, { names, claims }, "deployer", "agent", below) };
}

export function grantedBetween(
  harness: Harness,
  { names, claims }: Pick<Delegation, "names" | "claims">,
  grantor: Role,
  grantee: Role,
  more: { depth?: number; parent?: string; expiresAt?: number } = {},
): Promise<AnchorJson> {
  const refs = { grantorClaim: claims[grantor].anchor_id, granteeClaim: claims[grantee].anchor_id };
  return granted(harness, { ...refs, grantor: names[grantor], ...more });
}

/** The record of a revocation, by the API key unless the body has a signature. */
export async function revoked(harness: Harness, target: AnchorJson, body?: object): Promise<AnchorJson> {
  const path = `/v1/${target.kind}-anchors/${target.anchor_id}/revoke`;
  return revokedSchema.parse((await harness.send("POST", path, body)).json).anchor;
}
