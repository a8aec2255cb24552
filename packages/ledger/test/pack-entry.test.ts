import { TestActs } from "@event-anchoring/testkit/records";
import { describe, expect, test } from "@jest/globals";
import { toAnchorId } from "@event-anchoring/protocol";
import {
  LIMITS,
  encodeEntry,
  encodeGroup,
  fitsEntry,
  mayAppendLeaf,
  needsCertifyPoint,
  packEntry,
  signaturesOf,
  waitingGroupOf,
  weightOf,
} from "../src/index.ts";
import type { Command, OperatorCommand, ProposalGroup, WaitingGroup } from "../src/index.ts";
import {
  CLUSTER_ID,
  GENESIS_DOCUMENT,
  NODE_A,
  OPERATOR,
  OPERATOR_SIGNER,
  TRUST_ROOT_1,
  hash,
  sha256,
} from "../../../test/worlds/cluster.ts";
import { CREATE_KEY, CREDENTIAL, event, record } from "../../../test/worlds/ledger-harness.ts";
import { claim, grant, revocation, signedEvent } from "../../../test/worlds/signed-records.ts";

const MARK: Command = { kind: "mark_certify_point" };
const TRUST_ROOT: Command = { kind: "trust_root", document: GENESIS_DOCUMENT };

const TARGET = { anchorId: toAnchorId(hash("target")), originFingerprint: NODE_A.originFingerprint };
const PARTY = {
  name: "a",
  claim: { ...TARGET, kind: 2, depth: 1, sequence: 1, acceptedMs: 1, bytes: TARGET.anchorId },
} as const;
const ERASE: Command = { kind: "erase_client_event", credential: CREDENTIAL, anchorId: TARGET.anchorId };
const REVOKE_KEY: OperatorCommand = { kind: "revoke_api_key", keyId: CREDENTIAL.keyId };
const ROTATE_KEY: OperatorCommand = {
  kind: "rotate_api_key",
  keyId: CREDENTIAL.keyId,
  keyHash: hash("new"),
  overlapMs: 0,
  expiresMs: 0,
};

const ACTS = new TestActs({ clusterId: CLUSTER_ID, epoch: 0 }, OPERATOR, OPERATOR_SIGNER.sign);
const ACT = ACTS.act(CREATE_KEY);

function group(...commands: readonly Command[]): ProposalGroup {
  return { id: { node: 1n, incarnation: 1, counter: 1 }, notAfter: 1, commands };
}

function waiting(...commands: readonly Command[]): WaitingGroup {
  const content = group(...commands);
  return waitingGroupOf(content, encodeGroup(content).length);
}

function events(count: number): Command {
  return record(Array.from({ length: count }, (_, at) => event(`e${at}`)));
}

describe("what counts", () => {
  test("an event of a batch counts as one command", () => {
    expect(weightOf(events(500), 7)).toEqual({ commands: 500, signedCommands: 0, bytes: 7 });
    expect(weightOf(CREATE_KEY, 7).commands).toBe(1);
    expect(waiting(events(10), CREATE_KEY).weight.commands).toBe(11);
  });

  test.each<[Command, boolean, boolean]>([
    [events(1), true, true],
    [{ kind: "genesis", document: "" }, true, true],
    [TRUST_ROOT, true, true],
    [claim("a"), true, true],
    [grant(PARTY, PARTY), true, true],
    [revocation("claim", TARGET), true, true],
    [ERASE, false, false],
    [CREATE_KEY, false, false],
    [REVOKE_KEY, false, false],
    [ROTATE_KEY, false, false],
    [ACT, false, false],
    [MARK, false, true],
  ])("leaf and certify point of %p", (command, appends, certifies) => {
    expect(mayAppendLeaf(command)).toBe(appends);
    expect(needsCertifyPoint(command)).toBe(certifies);
  });

  test.each<[string, Command, number, number]>([
    ["a claim", claim("a"), 1, 1],
    ["a grant", grant(PARTY, PARTY), 1, 1],
    ["a signed revocation", revocation("grant", TARGET, { by: "a" }), 1, 1],
    ["an operator's revocation", revocation("grant", TARGET), 1, 0],
    ["an erasure", ERASE, 1, 0],
    ["an operator's act", ACT, 1, 1],
    ["a batch", record([event("x"), signedEvent("y", "a"), signedEvent("z", "a"), event("w")]), 4, 2],
  ])("signatures of %s", (_, command, commands, signedCommands) => {
    expect(weightOf(command, 7)).toEqual({ commands, signedCommands, bytes: 7 });
    expect(waiting(command).weight).toMatchObject({ commands, signedCommands });
    expect(signaturesOf(command, sha256, TRUST_ROOT_1).length > 0).toBe(signedCommands > 0);
  });

  test("a batch of 256 signed events fits, one more never does", () => {
    const signed = signedEvent("x", "a");
    const batch = (count: number): Command => record(Array.from({ length: count }, () => signed));
    expect(fitsEntry(waiting(batch(256)).weight)).toBe(true);
    expect(fitsEntry(waiting(batch(257)).weight)).toBe(false);
  });

  test("a group too large for any entry does not fit", () => {
    expect(fitsEntry(waiting(events(1000)).weight)).toBe(true);
    expect(fitsEntry({ commands: 1025, signedCommands: 0, bytes: 1 })).toBe(false);
    expect(fitsEntry({ commands: 1, signedCommands: 257, bytes: 1 })).toBe(false);
    expect(fitsEntry({ commands: 1, signedCommands: 0, bytes: LIMITS.entryBytesMax })).toBe(false);
  });
});

describe("packing", () => {
  test.each<[string, WaitingGroup[], number[], boolean]>([
    ["nothing waits", [], [], false],
    ["all fit, in order", [waiting(events(1)), waiting(events(2))], [0, 1], true],
    ["key-table groups first", [waiting(events(1)), waiting(ACT), waiting(MARK)], [1, 0, 2], true],
    [
      "every change of a key first",
      [waiting(ERASE), waiting(ACTS.act(ROTATE_KEY)), waiting(ACTS.act(REVOKE_KEY))],
      [1, 2, 0],
      false,
    ],
    ["keys alone need no certify point", [waiting(ACT)], [0], false],
    ["a mark does", [waiting(ACT), waiting(MARK)], [0, 1], true],
    ["a trust root goes alone", [waiting(TRUST_ROOT), waiting(events(1))], [0], true],
    ["and stops those behind it", [waiting(events(1)), waiting(TRUST_ROOT), waiting(events(1))], [0], true],
    ["1,024 commands", [waiting(events(1000)), waiting(events(24))], [0, 1], true],
    ["and no more: a group is never split", [waiting(events(1000)), waiting(events(25))], [0], true],
    ["nobody overtakes", [waiting(events(1000)), waiting(events(25)), waiting(events(1))], [0], true],
  ])("%s", (_, queue, take, certify) => {
    expect(packEntry(queue)).toEqual({ take, certify });
  });

  test("signed commands and bytes are bounded", () => {
    const signed = { ...waiting(events(1)), weight: { commands: 1, signedCommands: 200, bytes: 100 } };
    expect(packEntry([signed, signed]).take).toEqual([0]);
    const large = {
      ...waiting(events(1)),
      weight: { commands: 1, signedCommands: 0, bytes: LIMITS.entryBytesMax / 2 },
    };
    expect(packEntry([large, large]).take).toEqual([0]);
    expect(packEntry([large], LIMITS.entryBytesMax / 2).take).toEqual([]);
  });

  test("what is packed to the brim can be encoded", () => {
    const full = group(events(1));
    const bytes = encodeGroup(full);
    const padded = new Uint8Array(LIMITS.entryBytesMax - 14 - 4 - (bytes.length + 4));
    const queue = [
      waitingGroupOf(full, bytes.length),
      { ...waiting(MARK), weight: { commands: 1, signedCommands: 0, bytes: padded.length } },
    ];
    expect(packEntry(queue).take).toEqual([0, 1]);
    const entry = { version: 1, certify: true, acceptedMs: 1, certificates: [], groups: [bytes, padded] } as const;
    expect(encodeEntry(entry).length).toBe(LIMITS.entryBytesMax);
    expect(() => encodeEntry({ ...entry, groups: [bytes, padded, new Uint8Array(1)] })).toThrow(RangeError);
  });
});
