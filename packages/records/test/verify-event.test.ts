import { describe, expect, test } from "@jest/globals";
import { EMPTY_SEMANTIC_ANCHOR, equalBytes } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { EVENT_CHECKS, rememberVerdicts, verifyEvent } from "../src/index.ts";
import type { EventCheckCode, EventVerificationInput } from "../src/judge/verify-event.ts";
import type { CheckResult, VerificationResult } from "../src/index.ts";
import type { LeafWrite } from "@event-anchoring/ledger";
import { NODE_A, NODE_B, hash, sha256 } from "../../../test/worlds/cluster.ts";
import type { TestNode } from "../../../test/worlds/cluster.ts";
import { History } from "./history.ts";
import { event } from "../../../test/worlds/ledger-harness.ts";
import { flipped } from "../../../test/worlds/precedence.ts";
import { acting, signedEvent } from "../../../test/worlds/signed-records.ts";

function inputOf(
  history: History,
  write: LeafWrite,
  more: Partial<EventVerificationInput> = {},
): EventVerificationInput {
  return { ...history.evidence(write), eventHash: null, irisClaim: null, ...more };
}

interface World {
  readonly history: History;
  /** Leaves of origin A, by depth: genesis and three events. */
  readonly leaves: readonly LeafWrite[];
  input(depth: number, more?: Partial<EventVerificationInput>): EventVerificationInput;
}

/** Certified by nodes A and B, unless others are named. */
function worldOf(cosigners: readonly TestNode[] = [NODE_A, NODE_B]): World {
  const history = new History();
  history.cosigners.splice(0, 2, ...cosigners);
  const semanticAnchor = { ...EMPTY_SEMANTIC_ANCHOR, eventDataHash: hash("two") };
  const genesis = history.leaves.find(({ originFingerprint }) =>
    equalBytes(originFingerprint, NODE_A.originFingerprint),
  );
  if (genesis === undefined) throw new Error("no genesis");
  const leaves = [
    genesis,
    history.event(event("one")),
    history.event(event("two", { semanticAnchor })),
    history.event(event("three", { semanticAnchor })),
  ];
  return {
    history,
    leaves,
    input(depth, more) {
      const leaf = leaves[depth];
      if (leaf === undefined) throw new Error("no such leaf");
      return inputOf(history, leaf, more);
    },
  };
}

function resultsOf(verification: VerificationResult<EventCheckCode>): Partial<Record<EventCheckCode, CheckResult>> {
  return Object.fromEntries(verification.checks.map(({ code, result }) => [code, result]));
}

const GOOD = {
  exists: "pass",
  event_hash: "not_checked",
  leaf: "pass",
  parent: "pass",
  inclusion: "pass",
  certificate: "pass",
  actor_signature: "not_checked",
  actor_is_iris_subject: "not_checked",
  event_data_hash_matches: "not_checked",
  depth: "pass",
};

describe("verifying an event", () => {
  const world = worldOf();

  test("a good one passes every check that applies, in their order", () => {
    const verification = verifyEvent(world.input(1, { eventHash: hash("one") }), nodeCrypto);
    expect(verification.valid).toBe(true);
    expect(verification.checks.map(({ code }) => code)).toEqual([...EVENT_CHECKS]);
    expect(resultsOf(verification)).toEqual({ ...GOOD, event_hash: "pass" });
  });

  test("a genesis leaf has no parent, and no event hash", () => {
    const verification = verifyEvent(world.input(0), nodeCrypto);
    expect(verification.valid).toBe(true);
    expect(resultsOf(verification)).toEqual(GOOD);
    expect(verifyEvent(world.input(0, { eventHash: hash("one") }), nodeCrypto).valid).toBe(false);
  });

  test("event_data_hash_matches informs and decides nothing", () => {
    for (const [depth, result] of [
      [2, "pass"],
      [3, "fail"],
    ] as const) {
      const verification = verifyEvent(world.input(depth), nodeCrypto);
      expect(resultsOf(verification).event_data_hash_matches).toBe(result);
      expect(verification.valid).toBe(true);
    }
  });

  const [, one, two, three] = world.leaves;
  if (one === undefined || two === undefined || three === undefined) throw new Error("no leaves");

  test.each<[string, EventCheckCode, (input: EventVerificationInput) => Partial<EventVerificationInput>]>([
    ["another event hash", "event_hash", () => ({ eventHash: hash("other") })],
    ["younger than as_of", "exists", () => ({ asOf: { sequence: two.sequence - 1, timeMs: 0 } })],
    ["another anchor id", "leaf", () => ({ anchorId: three.anchorId })],
    ["an altered leaf", "leaf", ({ receipt }) => ({ receipt: { ...receipt, leaf: flipped(receipt.leaf) } })],
    ["no leaf at all", "leaf", ({ receipt }) => ({ receipt: { ...receipt, leaf: new Uint8Array(371) } })],
    ["no parent", "parent", () => ({ parent: null })],
    ["another parent", "parent", () => ({ parent: three })],
    ["an altered parent", "parent", () => ({ parent: { ...one, bytes: flipped(one.bytes) } })],
    ["another path", "inclusion", ({ receipt }) => ({ receipt: { ...receipt, path: receipt.path.slice(1) } })],
    ["another index", "inclusion", ({ receipt }) => ({ receipt: { ...receipt, index: 3 } })],
    ["another tree size", "inclusion", ({ receipt }) => ({ receipt: { ...receipt, treeSize: 9 } })],
    [
      "a checkpoint that is none",
      "inclusion",
      ({ receipt }) => ({ receipt: { ...receipt, checkpoint: receipt.checkpoint.slice(1) } }),
    ],
  ])("%s fails at %s", (_, code, change) => {
    const input = world.input(2);
    const verification = verifyEvent({ ...input, ...change(input) }, nodeCrypto);
    expect(verification.valid).toBe(false);
    expect(resultsOf(verification)[code]).toBe("fail");
    expect(verification.checks.map((check) => check.code)).toEqual([...EVENT_CHECKS]);
  });

  test.each([
    ["one cosigner", [NODE_A]],
    ["nobody", []],
  ])("a checkpoint signed by %s fails at certificate", (_, cosigners) => {
    const verification = verifyEvent(worldOf(cosigners).input(1), nodeCrypto);
    expect(verification.valid).toBe(false);
    expect(resultsOf(verification)).toEqual({ ...GOOD, certificate: "fail" });
  });

  test("what could not be checked is never valid", () => {
    const input = world.input(2);
    const verification = verifyEvent({ ...input, anchorId: three.anchorId }, nodeCrypto);
    expect(resultsOf(verification)).toMatchObject({
      leaf: "fail",
      inclusion: "not_checked",
      certificate: "not_checked",
    });
    expect(verification.valid).toBe(false);
  });
});

describe("a signed event", () => {
  /** An event of alice's under her claim, and a claim of bob's. */
  function signedWorld(actor = "alice", signature?: Uint8Array) {
    const history = new History();
    const [alice, bob] = [history.claim("alice"), history.claim("bob")];
    const input = signedEvent("act", actor, { semanticAnchor: acting(alice.claim, null) });
    const signer = input.actor === null || signature === undefined ? input.actor : { ...input.actor, signature };
    return { history, alice, bob, act: history.event({ ...input, actor: signer }) };
  }

  test("the actor's signature decides", () => {
    const good = signedWorld();
    const verification = verifyEvent(inputOf(good.history, good.act, { irisClaim: good.alice.claim }), nodeCrypto);
    expect(verification.valid).toBe(true);
    expect(resultsOf(verification)).toEqual({ ...GOOD, actor_signature: "pass", actor_is_iris_subject: "pass" });
    const bad = signedWorld("alice", new Uint8Array(64).fill(1));
    const refused = verifyEvent(inputOf(bad.history, bad.act, { irisClaim: bad.alice.claim }), nodeCrypto);
    expect(refused.valid).toBe(false);
    expect(resultsOf(refused)).toEqual({ ...GOOD, actor_signature: "fail", actor_is_iris_subject: "pass" });
  });

  test("that it is the subject of the claim it names informs, and decides nothing", () => {
    const { history, act, alice, bob } = signedWorld("mallory");
    for (const [irisClaim, result] of [
      [alice.claim, "fail"],
      [bob.claim, "not_checked"],
      [null, "not_checked"],
    ] as const) {
      const verification = verifyEvent(inputOf(history, act, { irisClaim }), nodeCrypto);
      expect(verification.valid).toBe(true);
      expect(resultsOf(verification)).toEqual({ ...GOOD, actor_signature: "pass", actor_is_iris_subject: result });
    }
  });

  test.each<[string, (history: History) => LeafWrite, CheckResult]>([
    ["no claim is named", (history) => history.event(signedEvent("act", "alice")), "not_checked"],
    [
      "it carries no signature of its actor",
      (history) => history.event(event("act", { semanticAnchor: acting(history.claim("alice").claim, null) })),
      "not_checked",
    ],
    [
      "iris_ref names no claim",
      (history) =>
        history.event(signedEvent("act", "alice", { semanticAnchor: acting(history.event(event("other")), null) })),
      "fail",
    ],
  ])("%s", (_, build, result) => {
    const history = new History();
    const act = build(history);
    const irisClaim = history.leaves.at(-2) ?? null;
    expect(resultsOf(verifyEvent(inputOf(history, act, { irisClaim }), nodeCrypto)).actor_is_iris_subject).toBe(result);
  });
});

describe("verdicts are remembered", () => {
  test("a thousand receipts of one checkpoint cost its signatures once, and are judged the same", () => {
    const world = worldOf();
    let verified = 0;
    const counting = {
      sha256,
      ed25519Verify: (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => {
        verified++;
        return nodeCrypto.ed25519Verify(publicKey, message, signature);
      },
    };
    const crypto = rememberVerdicts(counting);
    for (let round = 0; round < 5; round++)
      for (const depth of [0, 1, 2, 3])
        expect(verifyEvent(world.input(depth), crypto)).toEqual(verifyEvent(world.input(depth), nodeCrypto));
    expect(verified).toBe(3);
  });

  test("a verdict is that of key, message and signature together", () => {
    const crypto = rememberVerdicts(nodeCrypto);
    const { publicKey, sign } = NODE_A.auth;
    const message = hash("message");
    const signature = sign(message);
    expect(crypto.ed25519Verify(publicKey, message, signature)).toBe(true);
    expect(crypto.ed25519Verify(NODE_B.auth.publicKey, message, signature)).toBe(false);
    expect(crypto.ed25519Verify(publicKey, hash("other"), signature)).toBe(false);
    expect(crypto.ed25519Verify(publicKey, message, sign(hash("other")))).toBe(false);
    expect(crypto.ed25519Verify(publicKey, message, signature)).toBe(true);
  });
});
