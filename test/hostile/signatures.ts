/** What is not signed by whom it names, over what it says, for this place, is refused everywhere; nothing is left. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import {
  EMPTY_SEMANTIC_ANCHOR,
  bytesToHex,
  claimPayload,
  eventActorPayload,
  grantPayload,
  hexToBytes,
  revocationPayload,
} from "@event-anchoring/protocol";
import { expectOk } from "@event-anchoring/testkit/clients";
import {
  claimBody,
  eventBody,
  grantBody,
  partyOf,
  revocationBody,
  signEvent,
  signRevocation,
} from "@event-anchoring/testkit/records";
import type { Answer } from "@event-anchoring/testkit/clients";
import type { JsonBody, Party } from "@event-anchoring/testkit/records";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { LOW_ORDER_KEYS, MISSHAPEN, NEUTRAL_SIGNATURE, SPOILED } from "./bad-signatures.ts";
import { HostileCluster, altered, foreignOrigin, random32, refusalOf } from "./hostile-cluster.ts";
import type { Registered } from "./hostile-cluster.ts";

let cluster: HostileCluster;
let grantor: Registered;
let grantee: Registered;
let nextSequence: number;
const subject = partyOf("hostile subject");
const issuer = partyOf("hostile issuer");
const witness = partyOf("hostile witness");
const stranger = partyOf("stranger");

describe("signatures", () => {
  beforeAll(async () => {
    cluster = await HostileCluster.start();
    grantor = await cluster.register("grantor");
    grantee = await cluster.register("grantee");
    nextSequence = await cluster.nextSequence();
  }, 240_000);

  afterAll(async () => {
    await cluster.close();
  }, 240_000);

  type Ask = (body: JsonBody, node: number) => Promise<Answer<unknown>>;

  const createClaim: Ask = (body, node) => cluster.client(node).createClaim(body);
  const createGrant: Ask = (body, node) => cluster.client(node).createGrant(body);
  const createEvent: Ask = (body, node) => cluster.client(node).createEvent(body);

  /** What every node says. */
  async function refusals(ask: Ask, body: JsonBody): Promise<readonly string[]> {
    return (await Promise.all(cluster.clients.map((_, node) => ask(body, node)))).map(refusalOf);
  }

  /** Without the pointer. */
  async function refusalCodes(ask: Ask, body: JsonBody): Promise<readonly string[]> {
    return (await refusals(ask, body)).map((refusal) => refusal.split(" ")[0] ?? "");
  }

  function everywhere(refusal: string): readonly string[] {
    return cluster.clients.map(() => refusal);
  }

  /** Has a key of low order, for which careless verifiers take the neutral element as anybody's signature. */
  function careless(point: string): Party {
    const [publicKey, signature] = [hexToBytes(point, 32), hexToBytes(NEUTRAL_SIGNATURE, 64)];
    return { publicKey, publicKeyHex: point, sign: () => signature };
  }

  function text(body: JsonBody, field: string): string {
    const value = body[field];
    if (typeof value !== "string") throw new Error(`${field} is no text`);
    return value;
  }

  // Between two events of our own there is no leaf: nothing that was refused is written.
  afterEach(async () => {
    const expected = nextSequence + 1;
    nextSequence = await cluster.nextSequence();
    if (nextSequence !== expected) throw new Error(`requests that were refused left ${nextSequence - expected} leaves`);
  });

  /** Every bad shape in every signature of a body that is good otherwise. */
  function describeFields(ask: Ask, goodBody: () => JsonBody, signatures: readonly string[]): void {
    for (const field of signatures) {
      test.each(SPOILED)(`refuses a ${field} %s`, async (_title, spoil) => {
        const body = goodBody();
        expect(await refusals(ask, altered(body, { [field]: spoil(text(body, field)) }))).toEqual(
          everywhere(`signature_invalid /${field}`),
        );
      });

      test.each(MISSHAPEN)(`refuses a ${field} that is %s`, async (_title, spoil) => {
        const body = goodBody();
        const spoiled = altered(body, { [field]: spoil(text(body, field)) });
        expect(await refusals(ask, spoiled)).toEqual(everywhere(`invalid_request /${field}`));
      });
    }
  }

  /** Each field that is signed, changed after the signing. */
  function describeTampering(
    ask: Ask,
    goodBody: () => JsonBody,
    fields: readonly (readonly [field: string, value: unknown])[],
    pointer: string,
  ): void {
    test.each(fields)("refuses a body whose %s was changed after the signing", async (field, value) => {
      expect(await refusals(ask, altered(goodBody(), { [field]: value }))).toEqual(
        everywhere(`signature_invalid ${pointer}`),
      );
    });
  }

  const OTHER_HASH = "ab".repeat(32);

  describe("a claim", () => {
    const good = (): JsonBody => claimBody(cluster.claim(subject, issuer));

    describeFields(createClaim, good, ["subject_signature", "issuer_signature"]);

    describeTampering(
      createClaim,
      good,
      [
        ["entity_fingerprint", OTHER_HASH],
        ["attribute_type", 2],
        ["attribute_hash", OTHER_HASH],
        ["issued_at", 1],
        ["expires_at", 2 ** 50],
        ["subject_public_key", stranger.publicKeyHex],
        ["issuer_public_key", stranger.publicKeyHex],
      ],
      "/subject_signature",
    );

    test.each(LOW_ORDER_KEYS)("is refused by a subject or issuer of low order, %s", async (point) => {
      const bySubject = claimBody(cluster.claim(careless(point), issuer));
      expect(await refusals(createClaim, bySubject)).toEqual(everywhere("signature_invalid /subject_signature"));
      const byIssuer = claimBody(cluster.claim(subject, careless(point)));
      expect(await refusals(createClaim, byIssuer)).toEqual(everywhere("signature_invalid /issuer_signature"));
    });

    test("is refused with its two signatures swapped", async () => {
      const body = good();
      const swapped = { subject_signature: body["issuer_signature"], issuer_signature: body["subject_signature"] };
      expect(await refusals(createClaim, altered(body, swapped))).toEqual(
        everywhere("signature_invalid /subject_signature"),
      );
    });

    test("is refused with the issuer's signature over another signature of the subject", async () => {
      const [one, other] = [good(), good()];
      const mixed = altered(one, { issuer_signature: other["issuer_signature"] });
      expect(await refusals(createClaim, mixed)).toEqual(everywhere("signature_invalid /issuer_signature"));
    });

    test("is refused if the issuer has signed what the subject signs", async () => {
      const input = cluster.claim(subject, issuer);
      const signature = bytesToHex(issuer.sign(claimPayload(input)));
      const body = altered(claimBody(input), { issuer_signature: signature });
      expect(await refusals(createClaim, body)).toEqual(everywhere("signature_invalid /issuer_signature"));
    });

    test("is refused if it was signed for another origin of this cluster", async () => {
      const body = claimBody(cluster.claim(subject, issuer, { originFingerprint: cluster.origin(1) }));
      const moved = altered(body, { origin_fingerprint: bytesToHex(cluster.origin(0)) });
      expect(await refusals(createClaim, moved)).toEqual(everywhere("signature_invalid /subject_signature"));
    });

    test("is refused if it was signed for another cluster, under either name", async () => {
      const body = claimBody(cluster.claim(subject, issuer, { originFingerprint: foreignOrigin() }));
      expect(await refusals(createClaim, body)).toEqual(everywhere("origin_unknown /origin_fingerprint"));
      const moved = altered(body, { origin_fingerprint: bytesToHex(cluster.origin()) });
      expect(await refusals(createClaim, moved)).toEqual(everywhere("signature_invalid /subject_signature"));
    });

    test("is refused if what was signed was an event of the same party", async () => {
      const input = cluster.claim(subject, issuer);
      const event = { ...input, eventHash: input.attributeHash, semanticAnchor: EMPTY_SEMANTIC_ANCHOR };
      const signature = bytesToHex(subject.sign(eventActorPayload(event)));
      const body = altered(claimBody(input), { subject_signature: signature });
      expect(await refusals(createClaim, body)).toEqual(everywhere("signature_invalid /subject_signature"));
    });

    test("is no replay with a bad signature, though its content is there", async () => {
      const body = good();
      expectOk(await createClaim(body, 0));
      const forged = altered(body, { subject_signature: NEUTRAL_SIGNATURE });
      expect(await refusals(createClaim, forged)).toEqual(everywhere("signature_invalid /subject_signature"));
      // The claim itself is the one leaf that this test adds.
      nextSequence += 1;
    });
  });

  describe("a grant", () => {
    const good = (): JsonBody => grantBody(cluster.grant(grantor, grantee.claim, witness));

    describeFields(createGrant, good, ["grantor_signature", "witness_signature"]);

    describeTampering(
      createGrant,
      good,
      [
        ["grantor_claim_ref", OTHER_HASH],
        ["grantee_claim_ref", OTHER_HASH],
        ["parent_grant_ref", OTHER_HASH],
        ["scope_hash", OTHER_HASH],
        ["delegation_depth", 4],
        ["issued_at", 1],
        ["not_before", 1],
        ["expires_at", 2 ** 50],
        ["witness_public_key", stranger.publicKeyHex],
      ],
      "/grantor_signature",
    );

    test.each(LOW_ORDER_KEYS)("is refused by a grantor or witness of low order, %s", async (point) => {
      const byGrantor = grantBody(cluster.grant({ ...grantor, party: careless(point) }, grantee.claim, witness));
      expect(await refusals(createGrant, byGrantor)).toEqual(everywhere("signature_invalid /grantor_signature"));
      const byWitness = grantBody(cluster.grant(grantor, grantee.claim, careless(point)));
      expect(await refusals(createGrant, byWitness)).toEqual(everywhere("signature_invalid /witness_signature"));
    });

    test("is refused by a key that is not the grantor's claim's", async () => {
      for (const party of [stranger, grantor.issuer, grantee.party]) {
        const body = grantBody(cluster.grant({ ...grantor, party }, grantee.claim, witness));
        expect(await refusals(createGrant, body)).toEqual(everywhere("grantor_key_mismatch /grantor_public_key"));
      }
    });

    test("is refused if the grantor is their own witness", async () => {
      const body = grantBody(cluster.grant(grantor, grantee.claim, grantor.party));
      expect(await refusals(createGrant, body)).toEqual(everywhere("witness_is_grantor /witness_public_key"));
    });

    test("is refused if it was signed for another origin, or another cluster", async () => {
      const signedFor = (originFingerprint: OriginFingerprint): JsonBody =>
        grantBody(cluster.grant(grantor, grantee.claim, witness, { originFingerprint }));
      const elsewhere = signedFor(foreignOrigin());
      expect(await refusals(createGrant, elsewhere)).toEqual(everywhere("origin_unknown /origin_fingerprint"));
      for (const body of [elsewhere, signedFor(cluster.origin(1))]) {
        const moved = altered(body, { origin_fingerprint: bytesToHex(cluster.origin()) });
        expect(await refusals(createGrant, moved)).toEqual(everywhere("signature_invalid /grantor_signature"));
      }
    });

    test("is refused if the witness has signed what the grantor signs", async () => {
      const input = cluster.grant(grantor, grantee.claim, witness);
      const signature = bytesToHex(witness.sign(grantPayload(input)));
      const body = altered(grantBody(input), { witness_signature: signature });
      expect(await refusals(createGrant, body)).toEqual(everywhere("signature_invalid /witness_signature"));
    });

    test("is refused with the signatures of a claim of the same keys", async () => {
      const claim = claimBody(cluster.claim(grantor.party, witness));
      const mixed = { grantor_signature: claim["subject_signature"], witness_signature: claim["issuer_signature"] };
      expect(await refusals(createGrant, altered(good(), mixed))).toEqual(
        everywhere("signature_invalid /grantor_signature"),
      );
    });
  });

  describe("a signed event", () => {
    const content = () => ({
      originFingerprint: cluster.origin(),
      eventHash: random32(),
      semanticAnchor: { ...EMPTY_SEMANTIC_ANCHOR, irisRef: grantor.claim },
    });
    const good = (): JsonBody => {
      const event = content();
      return eventBody({ ...event, clientEventId: null, actor: signEvent(event, grantor.party) });
    };

    describeFields(createEvent, good, ["actor_signature"]);

    describeTampering(
      createEvent,
      good,
      [
        ["event_hash", OTHER_HASH],
        ["semantic_anchor", null],
        ["semantic_anchor", { iris_ref: OTHER_HASH }],
        ["actor_public_key", stranger.publicKeyHex],
      ],
      "/actor_signature",
    );

    test.each(LOW_ORDER_KEYS)("is refused by an actor of low order, %s", async (point) => {
      const event = { ...content(), clientEventId: null };
      const body = eventBody({ ...event, actor: signEvent(event, careless(point)) });
      expect(await refusals(createEvent, body)).toEqual(everywhere("signature_invalid /actor_signature"));
    });

    test("is refused if it was signed for another origin", async () => {
      const body = altered(good(), { origin_fingerprint: bytesToHex(cluster.origin(1)) });
      expect(await refusals(createEvent, body)).toEqual(everywhere("signature_invalid /actor_signature"));
    });

    test.each(["actor_public_key", "actor_signature"])("is refused without its %s", async (field) => {
      const body = altered(good(), { [field]: null });
      expect(await refusalCodes(createEvent, body)).toEqual(everywhere("invalid_request"));
    });

    test("spoils nothing but itself in a batch, and an atomic one whole", async () => {
      const [fine, spoiled] = [good(), altered(good(), { actor_signature: NEUTRAL_SIGNATURE })];
      const body = {
        origin_fingerprint: bytesToHex(cluster.origin()),
        events: [fine, spoiled, { event_hash: OTHER_HASH }],
      };
      const refused = await cluster.client(1).createEvents({ ...body, atomic: true });
      expect(refusalOf(refused)).toBe("batch_refused");
      const { results } = expectOk(await cluster.client(2).createEvents(body));
      expect(results.map(({ status, problem }) => problem?.code ?? status)).toEqual([201, "signature_invalid", 201]);
      nextSequence += 2;
    });
  });

  describe("a revocation", () => {
    const content = (target = grantor) => ({
      originFingerprint: cluster.origin(),
      targetAnchorId: target.claim,
      reason: 1,
      suspectSince: 0,
      issuedAt: 0,
    });
    const good = (): JsonBody => {
      const signer = signRevocation(content(), grantor.party);
      return revocationBody({ ...content(), originFingerprint: null, signer });
    };
    const revoke: Ask = (body, node) => cluster.client(node).revoke("claim", bytesToHex(grantor.claim), body);

    describeFields(revoke, good, ["revoker_signature"]);

    describeTampering(
      revoke,
      good,
      [
        ["reason", "cessation"],
        ["suspect_since", 1],
        ["issued_at", 1],
      ],
      "/revoker_signature",
    );

    test("is refused by a stranger, by the grantee and by the witness of a grant", async () => {
      for (const party of [stranger, grantee.party, witness]) {
        const signer = signRevocation(content(), party);
        const body = revocationBody({ ...content(), originFingerprint: null, signer });
        expect(await refusals(revoke, body)).toEqual(everywhere("signature_invalid /revoker_public_key"));
      }
    });

    test("is refused with the signature that revokes another claim of the same issuer", async () => {
      const other = await cluster.register("grantor");
      nextSequence += 1;
      expect(bytesToHex(other.issuer.publicKey)).toBe(bytesToHex(grantor.issuer.publicKey));
      const signer = signRevocation(content(other), other.issuer);
      const body = revocationBody({ ...content(), originFingerprint: null, signer });
      expect(await refusals(revoke, body)).toEqual(everywhere("signature_invalid /revoker_signature"));
    });

    test("is refused if it was signed for the claim in another origin", async () => {
      const elsewhere = { ...content(), originFingerprint: cluster.origin(1) };
      const signer = signRevocation(elsewhere, grantor.party);
      const body = revocationBody({ ...content(), originFingerprint: null, signer });
      expect(await refusals(revoke, body)).toEqual(everywhere("signature_invalid /revoker_signature"));
      const named = revocationBody({ ...elsewhere, signer });
      expect(await refusals(revoke, named)).toEqual(everywhere("origin_mismatch /origin_fingerprint"));
    });

    test("is refused with what the subject signed when it was claimed", async () => {
      const input = cluster.claim(grantor.party, issuer);
      const signature = bytesToHex(grantor.party.sign(claimPayload(input)));
      expect(await refusals(revoke, altered(good(), { revoker_signature: signature }))).toEqual(
        everywhere("signature_invalid /revoker_signature"),
      );
    });

    test("of a claim is none of a grant", async () => {
      const signature = bytesToHex(grantor.party.sign(revocationPayload(content())));
      const body = altered(good(), { revoker_signature: signature });
      const revokeGrant: Ask = (asked, node) => cluster.client(node).revoke("grant", bytesToHex(grantor.claim), asked);
      expect(await refusalCodes(revokeGrant, body)).toEqual(everywhere("wrong_kind"));
    });

    test.each(["revoker_public_key", "revoker_signature"])("is refused without its %s", async (field) => {
      const body = altered(good(), { [field]: null });
      expect(await refusalCodes(revoke, body)).toEqual(everywhere("invalid_request"));
    });
  });
});
