/** What operators do: whose signature counts, in which order it is judged, and that nothing is done twice. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import {
  LEAF_KIND,
  VKEY_TYPE,
  bytesToHex,
  decodeLeaf,
  makeVkey,
  operatorKeyName,
  operatorRevoker,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { TrustRoot } from "@event-anchoring/protocol";
import { TestActs } from "@event-anchoring/testkit/records";
import { mayAppendLeaf, operatorActMessage, restoreLedgerState, usedCounterIn } from "../src/index.ts";
import type { Command, OperatorCommand } from "../src/index.ts";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  CLUSTER_ID,
  CLUSTER_NAME,
  GENESIS_DOCUMENT,
  OPERATOR,
  OPERATOR_SIGNER,
  TRUST_ROOT_1,
  hash,
  sha256,
  signTrustRoot,
  thkOf,
} from "../../../test/worlds/cluster.ts";
import { LedgerHarness, codeOf, credentialOf, event, keyCommand, record } from "../../../test/worlds/ledger-harness.ts";
import { claim, operatorRevocation } from "../../../test/worlds/signed-records.ts";

const HERE = { clusterId: CLUSTER_ID, epoch: 0 };
const UNKNOWN: OperatorCommand = { kind: "revoke_api_key", keyId: new Uint8Array(16) };

/** As it is: nothing is signed for whoever proposes it. */
function decided(ledger: LedgerHarness, ...commands: readonly Command[]): string[] {
  const [outcome] = ledger.apply(ledger.entry([ledger.groupAsIs(...commands)])).outcomes;
  if (outcome?.status !== "decided") throw new Error(`the group is ${outcome?.status}`);
  return outcome.commands.map(codeOf);
}

/** The next version, with other operators. */
function withOperators(document: string, operators: TrustRoot["operators"]): string {
  const previous = thkOf(document);
  return signTrustRoot({ ...TRUST_ROOT_1, version: 2, previous, operators });
}

function lineOf(name: string, seed: string): TrustRoot["operators"][number] {
  const { publicKey } = createSigner(hash(seed));
  return { name, vkey: makeVkey(operatorKeyName(CLUSTER_NAME, name), VKEY_TYPE.ed25519, publicKey, sha256) };
}

test.each<[string, OperatorCommand]>([
  ["made", keyCommand("x", ["admin"])],
  ["revoked", { kind: "revoke_api_key", keyId: hash("key").slice(0, 16) }],
  [
    "rotated",
    { kind: "rotate_api_key", keyId: hash("key").slice(0, 16), keyHash: hash("n"), overlapMs: 0, expiresMs: 0 },
  ],
])("without an operator's signature no key is %s, whatever else would be wrong with it", (_, command) => {
  const ledger = LedgerHarness.started();
  const before = [...ledger.state.apiKeys.values()];
  expect(decided(ledger, command, UNKNOWN)).toEqual(["operator_signature_missing", "operator_signature_missing"]);
  expect([...ledger.state.apiKeys.values()]).toEqual(before);
});

describe("what another API client has recorded", () => {
  function recorded(ledger: LedgerHarness) {
    return {
      claim: ledger.acceptRecord(claim("alice")),
      event: ledger.accept(event("x", { clientEventId: "id" })),
    };
  }

  test("is revoked and erased by an operator's act, which needs no API key", () => {
    const ledger = LedgerHarness.started();
    const { claim: target, event: named } = recorded(ledger);
    for (const key of ledger.state.apiKeys.values()) ledger.run({ kind: "revoke_api_key", keyId: key.keyId });
    const leaf = decodeLeaf(ledger.acceptRecord(operatorRevocation("claim", target, { reason: 1 })).bytes);
    if (leaf.kind !== LEAF_KIND.revocation) throw new Error("no revocation");
    expect(leaf).toMatchObject({ targetAnchorId: target.anchorId, reason: 1, authority: 0 });
    expect(leaf.revoker).toEqual(operatorRevoker(OPERATOR_SIGNER.publicKey, sha256));
    expect(leaf.signature).toEqual(new Uint8Array(64));
    expect(ledger.tables.records.claims.get(target.sequence)?.revokedAt).toBe(leaf.sequence);
    const erasure = { kind: "erase_client_event", credential: null, anchorId: named.anchorId } as const;
    expect([ledger.run(erasure), ledger.run(erasure)].map(codeOf)).toEqual(["applied", "unchanged"]);
  });

  test("is so by no command of its own, whatever it names", () => {
    const ledger = LedgerHarness.started();
    const { claim: target, event: named } = recorded(ledger);
    const erasure = { kind: "erase_client_event", credential: null, anchorId: named.anchorId } as const;
    const missing = operatorRevocation("claim", { ...target, anchorId: toAnchorId(hash("missing")) });
    const commands = [operatorRevocation("claim", target), missing, erasure];
    expect(decided(ledger, ...commands)).toEqual(commands.map(() => "operator_signature_missing"));
    expect(ledger.tables.records.claims.get(target.sequence)?.revokedAt).toBeNull();
  });

  test("is so once: the same revocation by the same operator is a replay, by another one it is another record", () => {
    const ledger = LedgerHarness.started();
    const { claim: target } = recorded(ledger);
    const command = operatorRevocation("claim", target, { issuedAt: 5 });
    const { sequence } = ledger.acceptRecord(command);
    expect(ledger.run(command)).toMatchObject({ records: [{ status: "replayed", sequence }] });
    const document = withOperators(GENESIS_DOCUMENT, [lineOf("bob", "bob")]);
    expect(decided(ledger, { kind: "trust_root", document })).toEqual(["applied"]);
    const bob = new TestActs(HERE, "bob", createSigner(hash("bob")).sign);
    expect(decided(ledger, bob.act(command))).toEqual(["accepted"]);
    expect(decided(ledger, bob.act(command))).toEqual(["replayed"]);
  });

  test("is judged as any revocation and erasure, after the act, and its counter is used up all the same", () => {
    const ledger = LedgerHarness.started();
    const { claim: target, event: named } = recorded(ledger);
    const nowhere = toOriginFingerprint(hash("nowhere"));
    const missing = { ...target, anchorId: toAnchorId(hash("missing")) };
    const refused: [OperatorCommand, string][] = [
      [operatorRevocation("claim", missing), "reference_not_found"],
      [operatorRevocation("claim", named), "reference_wrong_kind"],
      [operatorRevocation("claim", target, { originFingerprint: nowhere }), "origin_unknown"],
      [operatorRevocation("claim", target, { targetOriginFingerprint: nowhere }), "origin_mismatch"],
      [operatorRevocation("claim", target, { issuedAt: 2 ** 53 - 1 }), "issued_in_future"],
      [{ kind: "erase_client_event", credential: null, anchorId: missing.anchorId }, "reference_not_found"],
      [{ kind: "erase_client_event", credential: null, anchorId: target.anchorId }, "reference_wrong_kind"],
    ];
    for (const [command, code] of refused) {
      const before = ledger.state.nextSequence;
      const act = ledger.acts.act(command);
      expect(decided(ledger, act)).toEqual([code]);
      expect(decided(ledger, act)).toEqual(["operator_counter_used"]);
      expect(decided(ledger, { ...act, counter: act.counter + 1 })).toEqual(["signature_invalid"]);
      expect(ledger.state.nextSequence).toBe(before);
    }
  });

  test("is in an entry with a certify point, as whatever makes a leaf", () => {
    const ledger = LedgerHarness.started();
    const { claim: target, event: named } = recorded(ledger);
    const erasure = { kind: "erase_client_event", credential: null, anchorId: named.anchorId } as const;
    const acts = [operatorRevocation("claim", target), erasure, UNKNOWN].map((command) => ledger.acts.act(command));
    expect(acts.map(mayAppendLeaf)).toEqual([true, false, false]);
  });
});

test("what an operator signs is what PROTOCOL.md says, byte for byte", () => {
  const place = { clusterId: new Uint8Array(32).fill(0xc1), epoch: 0 };
  const keyId = Uint8Array.from({ length: 16 }, (_, at) => at);
  const message = operatorActMessage(place, { operator: "alice", counter: 1 }, { kind: "revoke_api_key", keyId });
  const signature = createSigner(new Uint8Array(32).fill(0x41)).sign(message);
  const page = readFileSync(new URL("../../../docs/PROTOCOL.md", import.meta.url), "utf8");
  expect(page).toContain(`\`${bytesToHex(message)}\`: \`${bytesToHex(signature)}\``);
});

describe("an act is refused", () => {
  const mallory = new TestActs(HERE, "mallory", createSigner(hash("mallory")).sign);
  const pretender = new TestActs(HERE, OPERATOR, createSigner(hash("mallory")).sign);

  test("in this order: unknown operator, signature, counter, and then what the command is refused for", () => {
    const ledger = LedgerHarness.started();
    expect(decided(ledger, mallory.act(UNKNOWN))).toEqual(["operator_unknown"]);
    expect(decided(ledger, pretender.act(UNKNOWN))).toEqual(["signature_invalid"]);
    const used = { ...ledger.acts.act(UNKNOWN) };
    expect(decided(ledger, used)).toEqual(["api_key_unknown"]);
    expect(decided(ledger, used)).toEqual(["operator_counter_used"]);
    expect(decided(ledger, { ...used, signature: new Uint8Array(64) })).toEqual(["signature_invalid"]);
  });

  test("with the counter that is used up, for whoever signs the next one", () => {
    const ledger = LedgerHarness.started();
    const used = ledger.acts.act(UNKNOWN);
    ledger.run(used);
    const outcome = ledger.run(used);
    const detail = outcome?.kind === "rejected" ? outcome.rejection.detail : JSON.stringify(outcome);
    expect(usedCounterIn(detail)).toBe(used.counter);
    expect(usedCounterIn("the trust root lists no operator with counter x")).toBeNull();
  });

  test.each<[string, Partial<typeof HERE>]>([
    ["for another cluster", { clusterId: hash("another cluster") }],
    ["before a restore", { epoch: 1 }],
  ])("if it was signed %s", (_, place) => {
    const ledger = LedgerHarness.started();
    expect(decided(ledger, ledger.acts.act(UNKNOWN, { ...HERE, ...place }))).toEqual(["signature_invalid"]);
  });

  test.each<[string, (act: ReturnType<TestActs["act"]>) => Command]>([
    ["another counter", (act) => ({ ...act, counter: act.counter + 1 })],
    ["another command", (act) => ({ ...act, command: keyCommand("x", ["admin"]) })],
  ])("with %s than was signed", (_, altered) => {
    const ledger = LedgerHarness.started();
    expect(decided(ledger, altered(ledger.acts.act(UNKNOWN)))).toEqual(["signature_invalid"]);
  });

  test("if it uses no counter: those before, whether they did something or not, and those of this entry", () => {
    const ledger = LedgerHarness.started();
    const [first, second, third] = [UNKNOWN, keyCommand("x", ["read"]), UNKNOWN].map((each) => ledger.acts.act(each));
    if (first === undefined || second === undefined || third === undefined) throw new Error("three acts");
    expect(decided(ledger, second, first, third)).toEqual(["applied", "operator_counter_used", "api_key_unknown"]);
    expect(decided(ledger, third)).toEqual(["operator_counter_used"]);
    expect(ledger.state.operatorCounters).toEqual(new Map([[OPERATOR, third.counter]]));
  });
});

describe("the newest counter of an operator", () => {
  test("is part of what is stored, and of the effect", () => {
    const ledger = LedgerHarness.started();
    decided(ledger, ledger.acts.act(UNKNOWN));
    const stored = ledger.stored();
    expect(stored.operatorActs).toEqual([{ operator: OPERATOR, counter: 2 }]);
    expect(restoreLedgerState(stored, nodeCrypto).operatorCounters).toEqual(ledger.state.operatorCounters);
    const other = LedgerHarness.started();
    other.acts.act(UNKNOWN);
    decided(other, other.acts.act(UNKNOWN));
    expect(other.state.effect).not.toEqual(ledger.state.effect);
  });
});

describe("whose signature counts", () => {
  test("is what the trust root in force before the entry says: who is taken out of it can do nothing more", () => {
    const ledger = LedgerHarness.started();
    const early = ledger.acts.act(keyCommand("x", ["read"]));
    const document = withOperators(GENESIS_DOCUMENT, [lineOf("bob", "bob")]);
    expect(decided(ledger, { kind: "trust_root", document })).toEqual(["applied"]);
    expect(decided(ledger, early)).toEqual(["operator_unknown"]);
    const bob = new TestActs(HERE, "bob", createSigner(hash("bob")).sign);
    expect(decided(ledger, bob.act(keyCommand("x", ["write"])))).toEqual(["applied"]);
    expect(codeOf(ledger.run(record([event("e")], { credential: credentialOf("x") })))).toBe("accepted");
  });

  test("of another key under the same name: the new one's, and its counters go on", () => {
    const ledger = LedgerHarness.started();
    const document = withOperators(GENESIS_DOCUMENT, [lineOf(OPERATOR, "another key")]);
    expect(decided(ledger, { kind: "trust_root", document })).toEqual(["applied"]);
    expect(decided(ledger, new TestActs(HERE, OPERATOR, OPERATOR_SIGNER.sign).act(UNKNOWN))).toEqual([
      "signature_invalid",
    ]);
    const renewed = new TestActs(HERE, OPERATOR, createSigner(hash("another key")).sign);
    expect(decided(ledger, renewed.act(UNKNOWN))).toEqual(["operator_counter_used"]);
    expect(decided(ledger, renewed.act(UNKNOWN))).toEqual(["api_key_unknown"]);
  });
});
