import { describe, expect, test } from "@jest/globals";
import {
  LIMITS,
  encodeCommand,
  encodeEntry,
  encodeGroup,
  fitsEntry,
  mayAppendLeaf,
  needsCertifyPoint,
  packEntry,
  waitingGroupOf,
  weightOf,
} from "../src/index.ts";
import type { Command, ProposalGroup, WaitingGroup } from "../src/index.ts";
import { GENESIS_DOCUMENT } from "./cluster.ts";
import { CREATE_KEY, event, record } from "./ledger-harness.ts";

const MARK: Command = { kind: "mark_certify_point" };
const TRUST_ROOT: Command = { kind: "trust_root", document: GENESIS_DOCUMENT };

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
    expect(weightOf(events(500))).toEqual({
      commands: 500,
      signedCommands: 0,
      bytes: encodeCommand(events(500)).length,
    });
    expect(weightOf(CREATE_KEY).commands).toBe(1);
    expect(waiting(events(10), CREATE_KEY).weight.commands).toBe(11);
  });

  test.each<[Command, boolean, boolean]>([
    [events(1), true, true],
    [{ kind: "genesis", document: "" }, true, true],
    [TRUST_ROOT, true, true],
    [CREATE_KEY, false, false],
    [MARK, false, true],
  ])("leaf and certify point of %p", (command, appends, certifies) => {
    expect(mayAppendLeaf(command)).toBe(appends);
    expect(needsCertifyPoint(command)).toBe(certifies);
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
    ["key-table groups first", [waiting(events(1)), waiting(CREATE_KEY), waiting(MARK)], [1, 0, 2], true],
    ["keys alone need no certify point", [waiting(CREATE_KEY)], [0], false],
    ["a mark does", [waiting(CREATE_KEY), waiting(MARK)], [0, 1], true],
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
