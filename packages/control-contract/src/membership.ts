/**
 * Calls about trust-root versions and membership: the proposed version, which nodes are ready for it, and the progress
 * of the group.
 */
import { NODE_STATUSES } from "@event-anchoring/protocol";
import { z } from "zod";
import { decodeJson, encodeJson } from "./json-codec.ts";

const readinessSchema = z.strictObject({ ready: z.boolean(), detail: z.string().max(1000) });

/** Whether a node can cosign under a proposed trust root from its first position on. */
export type TrustRootReadiness = z.infer<typeof readinessSchema>;

const count = z.int().min(0);

const memberSchema = z.strictObject({
  nodeId: z.string().min(1).max(32),
  /** In the newest trust root applied here. */
  status: z.enum(NODE_STATUSES),
  /** In the group: `leaving` votes on in the old half of a joint configuration. */
  role: z.enum(["voter", "learner", "leaving", "none"]),
  isLeader: z.boolean(),
  /** The highest log index that the node is known to hold; null: known only to the leader, or to no node. */
  matchIndex: count.nullable(),
  /** Whether the leader has heard from it lately; null: only the leader knows. */
  isAlive: z.boolean().nullable(),
});

const membershipSchema = z.strictObject({
  /** The answering node. */
  nodeId: z.string().min(1).max(32),
  /** Whether it leads: only then are all fields filled. */
  isLeader: z.boolean(),
  /** Version of the newest trust root applied here; 0: none. */
  trustRootVersion: count,
  /** The end of the answering node's log. */
  lastIndex: count,
  /** Null: the group is as the trust root asks. Else the next step, or what it waits for. */
  pending: z.string().min(1).max(1000).nullable(),
  members: z.array(memberSchema).max(1024),
});

/** The group as one node sees it, and what its trust root asks for. */
export type Membership = z.infer<typeof membershipSchema>;
export type Member = Membership["members"][number];

export function encodeTrustRootReadiness(readiness: TrustRootReadiness): Uint8Array {
  return encodeJson(readiness);
}

/** @throws DecodeError */
export function decodeTrustRootReadiness(body: Uint8Array): TrustRootReadiness {
  return decodeJson(body, readinessSchema);
}

export function encodeMembership(membership: Membership): Uint8Array {
  return encodeJson(membership);
}

/** @throws DecodeError */
export function decodeMembership(body: Uint8Array): Membership {
  return decodeJson(body, membershipSchema);
}
