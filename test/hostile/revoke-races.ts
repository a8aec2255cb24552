/** Revocations while others grant, act and verify: the log decides, and no node calls a revoked record valid. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import { expectOk, served } from "@event-anchoring/testkit/clients";
import { grantBody, partyOf } from "@event-anchoring/testkit/records";
import type { Answer, WireCreated } from "@event-anchoring/testkit/clients";
import { HostileCluster, random32 } from "./hostile-cluster.ts";
import type { Registered } from "./hostile-cluster.ts";

const ROUNDS = 40;
const WRITES_AROUND = 9;
const VERIFICATIONS_AFTER = 3;
const witness = partyOf("race witness");
let cluster: HostileCluster;

describe("races for a revocation", () => {
  beforeAll(async () => {
    cluster = await HostileCluster.start();
  }, 240_000);

  afterAll(async () => {
    await cluster.close();
  }, 240_000);

  interface Round {
    readonly grantor: Registered;
    readonly grantee: Registered;
    readonly grant: string;
  }

  async function prepare(): Promise<Round> {
    const [grantor, grantee] = await Promise.all([cluster.register("racer"), cluster.register("partner")]);
    return { grantor, grantee, grant: bytesToHex(await cluster.grantTo(grantor, grantee, witness)) };
  }

  /** A verification at one node, with the time at which it was asked. */
  interface Verified {
    readonly kind: "claim" | "grant";
    readonly askedMs: number;
    readonly valid: boolean;
    readonly asOf: number | null;
  }

  /** Verifies at one node, over and over, until some verifications were asked after the revocation was acknowledged. */
  async function verifyUntil(
    node: number,
    { grantor, grant }: Round,
    isAcknowledged: () => boolean,
  ): Promise<readonly Verified[]> {
    const seen: Verified[] = [];
    for (let after = 0; after < VERIFICATIONS_AFTER;) {
      if (isAcknowledged()) after += 1;
      for (const [kind, anchorId] of [["claim", bytesToHex(grantor.claim)] as const, ["grant", grant] as const]) {
        const askedMs = performance.now();
        const { valid, as_of: asOf } = expectOk(
          await served(() => cluster.client(node).verify(kind, { anchor_id: anchorId })),
        );
        seen.push({ kind, askedMs, valid, asOf: asOf.sequence });
      }
    }
    return seen;
  }

  function eventUnder(round: Round, node: number): Promise<Answer<WireCreated>> {
    return cluster.client(node).createEvent({
      origin_fingerprint: bytesToHex(cluster.origin(node)),
      event_hash: bytesToHex(random32()),
      semantic_anchor: { iris_ref: bytesToHex(round.grantee.claim), grant_ref: round.grant },
    });
  }

  /** A writer at each node, one write after another; a revocation sets out after some of them, others in each race. */
  async function around(
    race: number,
    write: (at: number) => Promise<Answer<WireCreated>>,
    revoke: () => Promise<Answer<WireCreated>>,
  ): Promise<{ readonly answers: readonly Answer<WireCreated>[]; readonly revoked: WireCreated }> {
    const answers: Answer<WireCreated>[] = [];
    let revoking: Promise<Answer<WireCreated>> | null = null;
    let next = 0;
    const writer = async (): Promise<void> => {
      while (next < WRITES_AROUND) {
        if (next >= race % WRITES_AROUND) revoking ??= served(revoke);
        const at = next++;
        answers[at] = await served(() => write(at));
      }
    };
    await Promise.all(cluster.clients.map(writer));
    return { answers, revoked: expectOk(await (revoking ?? served(revoke))) };
  }

  describe("a revocation", () => {
    test("is seen by every verification that is asked after it was acknowledged, at any node", async () => {
      let asked = 0;
      for (let race = 0; race < ROUNDS; race++) {
        const round = await prepare();
        let acknowledgedMs = Infinity;
        const readers = cluster.clients.map((_, node) => verifyUntil(node, round, () => acknowledgedMs < Infinity));
        const revoked = expectOk(
          await served(() => cluster.client(race).revoke("claim", bytesToHex(round.grantor.claim))),
        );
        acknowledgedMs = performance.now();
        const seen = (await Promise.all(readers)).flat();
        const late = seen.filter(({ askedMs }) => askedMs >= acknowledgedMs);
        expect(late.filter(({ valid }) => valid)).toEqual([]);
        // And the answers agree with the position that they name, whenever they were asked.
        const isValidAt = ({ asOf }: Verified): boolean => (asOf ?? 0) < revoked.anchor.sequence;
        expect(seen.filter((one) => one.valid !== isValidAt(one))).toEqual([]);
        asked += late.length;
      }
      process.stdout.write(`${ROUNDS} revocations, ${asked} verifications asked after their acknowledgement\n`);
      expect(asked).toBeGreaterThanOrEqual(ROUNDS * cluster.clients.length * VERIFICATIONS_AFTER);
    }, 120_000);

    test("divides the grants sent around it by its place in the log", async () => {
      const found = { accepted: 0, refused: 0 };
      for (let race = 0; race < ROUNDS; race++) {
        const round = await prepare();
        const bodies = Array.from({ length: WRITES_AROUND }, () =>
          grantBody(cluster.grant(round.grantor, round.grantee.claim, witness)),
        );
        const { answers, revoked } = await around(
          race,
          (at) => cluster.client(race + at).createGrant(bodies[at] ?? {}),
          () => cluster.client(race + 1).revoke("claim", bytesToHex(round.grantor.claim)),
        );
        const { sequence } = revoked.anchor;
        const places = answers.map((answer) => (answer.ok ? answer.body.anchor.sequence < sequence : answer.body.code));
        expect(places.filter((place) => place !== true && place !== "claim_not_in_force")).toEqual([]);
        for (const { ok } of answers) found[ok ? "accepted" : "refused"] += 1;
        const after = cluster.grant(round.grantor, round.grantee.claim, witness);
        const late = await Promise.all(
          cluster.clients.map((client) => served(() => client.createGrant(grantBody(after)))),
        );
        expect(late.map(({ status }) => status)).toEqual([422, 422, 422]);
      }
      process.stdout.write(`${found.accepted} grants before their revocation, ${found.refused} refused after it\n`);
      expect(found.accepted + found.refused).toBe(ROUNDS * WRITES_AROUND);
      expect(found.accepted).toBeGreaterThan(0);
      expect(found.refused).toBeGreaterThan(0);
    }, 120_000);

    test("divides the acts recorded around it: those before it were authorised, those after it were not", async () => {
      const found = { authorised: 0, unauthorised: 0 };
      for (let race = 0; race < ROUNDS / 2; race++) {
        const round = await prepare();
        const { answers, revoked } = await around(
          race,
          (at) => eventUnder(round, at),
          () => cluster.client(race).revoke("grant", round.grant),
        );
        const { sequence } = revoked.anchor;
        for (const [at, answer] of answers.entries()) {
          const { anchor } = expectOk(answer);
          const trace = expectOk(await served(() => cluster.client(at + 1).trace(anchor.anchor_id)));
          const isBefore = anchor.sequence < sequence;
          expect([trace.authorised_at_action, trace.authorised_now]).toEqual([isBefore, false]);
          found[isBefore ? "authorised" : "unauthorised"] += 1;
        }
      }
      process.stdout.write(`${found.authorised} acts before their revocation, ${found.unauthorised} after it\n`);
      expect(found.authorised).toBeGreaterThan(0);
      expect(found.unauthorised).toBeGreaterThan(0);
    }, 120_000);
  });
});
