/** Somebody else's entity: who may continue it, who may begin it anew, and who may not. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import { expectOk } from "@event-anchoring/testkit/clients";
import { claimBody, partyOf, revocationBody, signRevocation } from "@event-anchoring/testkit/records";
import type { JsonBody, Party } from "@event-anchoring/testkit/records";
import { HostileCluster, refusalOf } from "./hostile-cluster.ts";
import type { Registered } from "./hostile-cluster.ts";

const thief = partyOf("thief");
const CONFLICT = "claim_conflict /issuer_public_key";
let cluster: HostileCluster;

describe("takeovers", () => {
  beforeAll(async () => {
    cluster = await HostileCluster.start();
  }, 240_000);

  afterAll(async () => {
    await cluster.close();
  }, 240_000);

  function claimFor(owner: Registered, subject: Party, issuer: Party): JsonBody {
    return claimBody(cluster.claim(subject, issuer, { entityFingerprint: owner.entity }));
  }

  async function revokeClaim(owner: Registered): Promise<void> {
    const { claim: targetAnchorId } = owner;
    const content = { originFingerprint: cluster.origin(), targetAnchorId, reason: 1, suspectSince: 0, issuedAt: 0 };
    const body = revocationBody({ ...content, originFingerprint: null, signer: signRevocation(content, owner.issuer) });
    expectOk(await cluster.client(1).revoke("claim", bytesToHex(owner.claim), body));
  }

  /** What every node answers to a query for the pair's active claim. */
  async function activeSubjects(owner: Registered): Promise<readonly string[]> {
    const answers = await Promise.all(cluster.clients.map((client) => client.claimOf(bytesToHex(owner.entity), 1)));
    return answers.map((answer) => (answer.ok ? String(answer.body.anchor["subject_public_key"]) : answer.body.code));
  }

  describe("an entity that somebody has claimed", () => {
    test("is not taken by another issuer, at any node, for the owner's key or the thief's", async () => {
      const owner = await cluster.register("owner");
      for (const [node, client] of cluster.clients.entries())
        for (const subject of [thief, owner.party]) {
          expect([node, refusalOf(await client.createClaim(claimFor(owner, subject, thief)))]).toEqual([
            node,
            CONFLICT,
          ]);
        }
      expect(await activeSubjects(owner)).toEqual(Array(3).fill(owner.party.publicKeyHex));
    });

    test("is not taken with the scope admin while its claim stands", async () => {
      const owner = await cluster.register("owner");
      expect(refusalOf(await cluster.admin.createClaim(claimFor(owner, thief, thief)))).toBe(CONFLICT);
    });

    test("is not taken after its claim was revoked, but by the same issuer or with the scope admin", async () => {
      const owner = await cluster.register("owner");
      await revokeClaim(owner);
      for (const client of cluster.clients)
        expect(refusalOf(await client.createClaim(claimFor(owner, thief, thief)))).toBe(CONFLICT);
      expect(await activeSubjects(owner)).toEqual(Array(3).fill("no_active_claim"));
      expectOk(await cluster.client(2).createClaim(claimFor(owner, owner.party, owner.issuer)));
      expect(await activeSubjects(owner)).toEqual(Array(3).fill(owner.party.publicKeyHex));
    });

    test("is taken over with the scope admin once its claim is revoked, and the old grants stay dead", async () => {
      const [owner, grantee] = [await cluster.register("owner"), await cluster.register("grantee")];
      const grant = bytesToHex(await cluster.grantTo(owner, grantee, partyOf("takeover witness")));
      await revokeClaim(owner);
      const heir = partyOf("heir");
      expectOk(await cluster.admin.createClaim(claimFor(owner, heir, partyOf("heir's issuer"))));
      expect(await activeSubjects(owner)).toEqual(Array(3).fill(heir.publicKeyHex));
      for (const client of cluster.clients) {
        const { valid, state } = expectOk(await client.verify("grant", { anchor_id: grant }));
        expect({ valid, state }).toEqual({ valid: false, state: "revoked" });
      }
    });

    test("does not come back by sending the revoked claim's bytes again", async () => {
      const owner = await cluster.register("owner");
      const renewal = claimFor(owner, owner.party, owner.issuer);
      const { anchor } = expectOk(await cluster.client().createClaim(renewal));
      expectOk(await cluster.client().revoke("claim", anchor.anchor_id));
      for (const client of cluster.clients) {
        const { replayed, anchor: again } = expectOk(await client.createClaim(renewal));
        expect([replayed, again.anchor_id, again.state]).toEqual([true, anchor.anchor_id, "revoked"]);
      }
      expect(await activeSubjects(owner)).toEqual(Array(3).fill("no_active_claim"));
    });

    test("is another pair under another attribute type", async () => {
      const owner = await cluster.register("owner");
      const other = claimBody(cluster.claim(thief, thief, { entityFingerprint: owner.entity, attributeType: 2 }));
      expectOk(await cluster.client().createClaim(other));
      expect(await activeSubjects(owner)).toEqual(Array(3).fill(owner.party.publicKeyHex));
    });
  });
});
