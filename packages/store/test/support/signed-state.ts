/** A node whose state has everything that leaves do not prove, and the head that its cluster signs over it. */
import { advance, apiKeyIdOf, stateHeadOf } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { raftIdOf } from "@event-anchoring/protocol";
import type { StateHead, StateMembers } from "@event-anchoring/protocol";
import { CLUSTER_ID, hash } from "./cluster.ts";
import type { TestDatabase } from "./database.ts";
import { accepted, claimCommand, eraseCommand, grantCommand, holders, revocationCommand } from "./records.ts";
import { StoredLedgerHarness, event, events } from "./stored-ledger.ts";

export const raftId = (nodeId: string): bigint => raftIdOf(CLUSTER_ID, nodeId, nodeCrypto.sha256);
export const MEMBERS: StateMembers = {
  voters: ["a", "b", "c"].map(raftId),
  votersOutgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
};

/** Claims, grants and endings; keys, one of them revoked; client events, one of them erased. */
export async function lived(database: TestDatabase): Promise<StateHead> {
  const ledger = await StoredLedgerHarness.started(database.url);
  const [ada, bob] = await holders(ledger, ["ada", "bob"]);
  if (ada === undefined || bob === undefined) throw new Error("two holders were due");
  const grant = await accepted(ledger, grantCommand(ada, bob));
  await accepted(ledger, revocationCommand("grant", grant, { by: "ada" }));
  await accepted(ledger, claimCommand("ada", { issuedAt: 1 }));
  await ledger.record(events(30, "e"));
  const erased = await ledger.record([event("erased", { clientEventId: "to be erased" })]);
  const [leaf] = erased.writes.leaves;
  if (leaf === undefined) throw new Error("an event was due");
  await ledger.run([eraseCommand(leaf)]);
  const keyHash = hash("second key");
  const key = { keyHash, apiClientId: hash("other").slice(0, 16), label: "", expiresMs: 0, requestsPerSecond: 0 };
  await ledger.run([{ kind: "create_api_key", key: { ...key, scopes: ["read"] } }]);
  await ledger.run([{ kind: "revoke_api_key", keyId: apiKeyIdOf(keyHash) }]);
  const decision = await ledger.decide(ledger.entry([{ kind: "mark_state_point" }]));
  const { stateRoot } = await ledger.store.apply({ decision, confState: MEMBERS });
  advance(ledger.state, decision);
  await ledger.store.close();
  const made = stateHeadOf(ledger.state, { members: MEMBERS, stateRoot });
  if (made === null) throw new Error("a state head was due");
  return made;
}
