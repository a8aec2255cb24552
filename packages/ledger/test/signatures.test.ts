/** Signatures that somebody forged, moved or mangled, and what deciding asks to have verified. */
import { describe, expect, test } from "@jest/globals";
import {
  bytesToHex,
  claimIssuerPayload,
  claimPayload,
  eventActorPayload,
  grantPayload,
  grantWitnessPayload,
  hexToBytes,
  originFingerprintOf,
  revocationPayload,
  toAnchorId,
} from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { decideEntry, signaturesOf } from "../src/index.ts";
import type { Command, RecordClaimCommand, RecordGrantCommand } from "../src/index.ts";
import { NODE_A, NODE_B, TRUST_ROOT_1, hash, sha256 } from "../../../test/worlds/cluster.ts";
import { GrantWorld } from "../../../test/worlds/grant-world.ts";
import { CREATE_KEY, CREDENTIAL, LedgerHarness, codeOf, event, record } from "../../../test/worlds/ledger-harness.ts";
import { flipped } from "../../../test/worlds/precedence.ts";
import { claim, grant, person, revocation, signedEvent } from "../../../test/worlds/signed-records.ts";

/** Order of the base point, little-endian. */
const L = 2n ** 252n + 27742317777372353535851937790883648493n;

function littleEndian(value: bigint): Uint8Array {
  const hex = value.toString(16).padStart(64, "0");
  return hexToBytes(hex).reverse();
}

/** The same signature with S + L for S: it satisfies the equation, and is not canonical. */
function malleated(signature: Uint8Array): Uint8Array {
  const s = BigInt(`0x${bytesToHex(signature.slice(32).reverse())}`);
  return new Uint8Array([...signature.slice(0, 32), ...littleEndian(s + L)]);
}

const IDENTITY = littleEndian(1n);
const ORDER_2 = littleEndian(2n ** 255n - 20n);
const NOT_CANONICAL = littleEndian(2n ** 255n - 18n);
const ZEROS = new Uint8Array(64);
/** R is the identity, S is 0: good under small-order keys wherever they are allowed. */
const NOTHING_SIGNED = new Uint8Array([...IDENTITY, ...new Uint8Array(32)]);

describe("a claim's signatures", () => {
  const good = claim("x").claim;

  /** The subject's key and signature are what the caller says; the issuer signs over them. */
  function bySubject(subjectPublicKey: Uint8Array, subjectSignature: Uint8Array): RecordClaimCommand {
    const content = { ...good, subjectPublicKey, subjectSignature };
    const issuerSignature = person("issuer").sign(claimIssuerPayload(claimPayload(content), subjectSignature, sha256));
    return { kind: "record_claim", credential: CREDENTIAL, claim: { ...content, issuerSignature } };
  }

  test.each<[string, Uint8Array, Uint8Array]>([
    ["S beyond the order", good.subjectPublicKey, malleated(good.subjectSignature)],
    ["one bit changed", good.subjectPublicKey, flipped(good.subjectSignature)],
    ["zeros", good.subjectPublicKey, ZEROS],
    ["the identity for a key", IDENTITY, NOTHING_SIGNED],
    ["a key of order 2", ORDER_2, NOTHING_SIGNED],
    ["a key that is not canonical", NOT_CANONICAL, NOTHING_SIGNED],
    ["a key that is no point", new Uint8Array(32).fill(2), NOTHING_SIGNED],
    ["another key", person("y").publicKey, good.subjectSignature],
    ["R and S swapped", good.subjectPublicKey, swapped(good.subjectSignature)],
  ])("of the subject: %s", (_, publicKey, signature) => {
    expect(LedgerHarness.started().run(bySubject(publicKey, signature))).toMatchObject({
      records: [{ rejection: { code: "signature_invalid", pointer: "/subject_signature" } }],
    });
  });

  function swapped(signature: Uint8Array): Uint8Array {
    return new Uint8Array([...signature.slice(32), ...signature.slice(0, 32)]);
  }

  test.each<[string, (payload: Uint8Array) => Uint8Array]>([
    ["over the payload itself", (payload) => payload],
    ["over the hash of the payload", (payload) => sha256(payload)],
    [
      "over another subject signature",
      (payload) => claimIssuerPayload(payload, flipped(good.subjectSignature), sha256),
    ],
    ["as a witness of a grant", (payload) => grantWitnessPayload(payload, good.subjectSignature, sha256)],
  ])("of the issuer: not %s", (_, messageOf) => {
    const issuerSignature = person("issuer").sign(messageOf(claimPayload(good)));
    const command: Command = {
      kind: "record_claim",
      credential: CREDENTIAL,
      claim: { ...good, issuerSignature },
    };
    expect(LedgerHarness.started().run(command)).toMatchObject({
      records: [{ rejection: { code: "signature_invalid", pointer: "/issuer_signature" } }],
    });
  });

  test("the two exchanged", () => {
    const { subjectSignature, issuerSignature } = good;
    const exchanged = { ...good, subjectSignature: issuerSignature, issuerSignature: subjectSignature };
    const command: Command = { kind: "record_claim", credential: CREDENTIAL, claim: exchanged };
    expect(codeOf(LedgerHarness.started().run(command))).toBe("signature_invalid");
  });

  test("a claim for the same node of another cluster, or for another node", () => {
    const elsewhere = originFingerprintOf(hash("another cluster"), NODE_A.cosigner.publicKey, sha256);
    for (const originFingerprint of [elsewhere, NODE_B.originFingerprint]) {
      const moved = claim("x", { originFingerprint });
      const command = {
        ...moved,
        claim: { ...moved.claim, originFingerprint: NODE_A.originFingerprint },
      };
      expect(codeOf(LedgerHarness.started().run(command))).toBe("signature_invalid");
    }
  });
});

describe("a grant's signatures", () => {
  test.each<[string, (command: RecordGrantCommand) => Partial<RecordGrantCommand["grant"]>, string]>([
    [
      "the grantor signs as witness",
      ({ grant: g }) => ({ witnessSignature: g.grantorSignature }),
      "/witness_signature",
    ],
    [
      "the witness signs as grantor",
      ({ grant: g }) => ({ grantorSignature: g.witnessSignature }),
      "/grantor_signature",
    ],
    [
      "the witness signs the payload itself",
      ({ grant: g }) => ({ witnessSignature: person("witness").sign(grantPayload(g)) }),
      "/witness_signature",
    ],
    [
      "the witness signs as issuer of a claim",
      ({ grant: g }) => ({
        witnessSignature: person("witness").sign(claimIssuerPayload(grantPayload(g), g.grantorSignature, sha256)),
      }),
      "/witness_signature",
    ],
    ["scope_hash is another", () => ({ scopeHash: hash("wider") }), "/grantor_signature"],
    ["delegation_depth is another", () => ({ delegationDepth: 9 }), "/grantor_signature"],
    ["expires_at is another", () => ({ expiresAt: 2 ** 53 - 1 }), "/grantor_signature"],
  ])("%s", (_, change, pointer) => {
    const { ledger, alice, bob } = new GrantWorld();
    const command = grant(alice, bob);
    expect(ledger.run({ ...command, grant: { ...command.grant, ...change(command) } })).toMatchObject({
      records: [{ rejection: { code: "signature_invalid", pointer } }],
    });
  });
});

describe("what a command asks to have verified", () => {
  const target = { anchorId: toAnchorId(hash("target")), originFingerprint: NODE_B.originFingerprint };

  test("is every signature it carries, over what the parties sign, with its pointer", () => {
    const claimed = claim("x");
    const { claim: c } = claimed;
    expect(signaturesOf(claimed, sha256, TRUST_ROOT_1)).toEqual([
      {
        publicKey: person("x").publicKey,
        message: claimPayload(c),
        signature: c.subjectSignature,
        pointer: "/subject_signature",
      },
      {
        publicKey: person("issuer").publicKey,
        message: claimIssuerPayload(claimPayload(c), c.subjectSignature, sha256),
        signature: c.issuerSignature,
        pointer: "/issuer_signature",
      },
    ]);
    const revoked = revocation("claim", target, { by: "x", reason: 2 });
    expect(signaturesOf(revoked, sha256, TRUST_ROOT_1)).toEqual([
      {
        ...revoked.revocation.signer,
        message: revocationPayload({ ...revoked.revocation, originFingerprint: target.originFingerprint }),
        pointer: "/revoker_signature",
      },
    ]);
    const signed = signedEvent("y", "x");
    expect(signaturesOf(record([event("z"), signed]), sha256, TRUST_ROOT_1)).toEqual([
      { ...signed.actor, message: eventActorPayload(signed), pointer: "/actor_signature" },
    ]);
  });

  test.each<[string, Command]>([
    ["a plain batch", record([event("x")])],
    ["an operator's revocation", revocation("claim", target)],
    ["a key", CREATE_KEY],
    ["an erasure", { kind: "erase_client_event", credential: CREDENTIAL, anchorId: target.anchorId }],
    ["a certify point", { kind: "mark_certify_point" }],
  ])("is nothing for %s", (_, command) => {
    expect(signaturesOf(command, sha256, TRUST_ROOT_1)).toEqual([]);
  });

  /** Holds what deciding verifies against what was foretold. */
  test("covers what deciding verifies: a memo of these verdicts answers everything", () => {
    const { ledger, alice, bob } = new GrantWorld();
    const commands: Command[] = [
      claim("new"),
      grant(alice, bob),
      revocation("claim", alice.claim, { by: "issuer" }),
      record([signedEvent("a", "alice"), event("b"), signedEvent("c", "bob")]),
    ];
    const nameOf = (...parts: readonly Uint8Array[]): string => parts.map(bytesToHex).join(".");
    const foretold = new Set(
      commands.flatMap((command) =>
        signaturesOf(command, sha256, TRUST_ROOT_1).map((each) => nameOf(each.publicKey, each.message, each.signature)),
      ),
    );
    const asked: string[] = [];
    const crypto: Crypto = {
      sha256,
      ed25519Verify(publicKey, message, signature) {
        asked.push(nameOf(publicKey, message, signature));
        return nodeCrypto.ed25519Verify(publicKey, message, signature);
      },
    };
    const entry = ledger.entry([ledger.group(...commands)]);
    const committed = { index: ledger.state.appliedIndex + 1, term: 3, entry };
    const [outcome] = decideEntry(ledger.state, committed, ledger.facts(entry), crypto).outcomes;
    const codes = outcome?.status === "decided" ? outcome.commands.map(codeOf) : [];
    expect(codes).toEqual(["accepted", "accepted", "accepted", "records"]);
    expect(asked).toHaveLength(7);
    expect(new Set(asked)).toEqual(foretold);
  });
});
