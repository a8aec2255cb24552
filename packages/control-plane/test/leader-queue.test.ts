import { beforeEach, describe, expect, test } from "@jest/globals";
import { type Certificate, type Command, decodeEntry, encodeGroup, waitingGroupOf } from "@event-anchoring/ledger";
import { toOriginFingerprint } from "@event-anchoring/protocol";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import { type Gate, LeaderQueue, type QueuedGroup } from "../src/proposals/leader-queue.ts";
import { StepClock } from "./doubles.ts";
import { eventCommand } from "./commands.ts";

const ORIGIN = toOriginFingerprint(new Uint8Array(32).fill(3));
const GENESIS: Command = { kind: "genesis", document: "a document" };
const MARK: Command = { kind: "mark_certify_point" };

const CERTIFICATE: Certificate = {
  originFingerprint: ORIGIN,
  treeSize: 7,
  rootHash: new Uint8Array(32),
  cosignatures: [{ nodeId: "a", timeS: 1, signature: new Uint8Array(64) }],
};

let clock: StepClock;
let proposed: Uint8Array[];
let refused: { counter: number; code: string }[];
let gate: Gate | null;
let entryVersion: number;
let toRecord: Certificate[];
let takes: boolean;
let cosignedTo: number;
let queue: LeaderQueue;
let counter: number;
/** Groups that signatures are verified of, while they wait. */
let queued: number[];

beforeEach(() => {
  clock = new StepClock();
  proposed = [];
  refused = [];
  gate = null;
  entryVersion = 1;
  toRecord = [];
  takes = true;
  cosignedTo = 0;
  counter = 0;
  queued = [];
  queue = new LeaderQueue({
    clock,
    onQueued: ({ id }) => queued.push(id.counter),
    propose: (payload) => (takes ? proposed.push(payload) : null),
    cosignedTo: () => cosignedTo,
    hasCertificatesToRecord: () => toRecord.length > 0,
    certificatesToRecord: () => toRecord,
    onRecording: (certificates) => (toRecord = toRecord.filter((each) => !certificates.includes(each))),
    gate: () => gate,
    entryVersion: () => entryVersion,
    refuse: (groups, code) => refused.push(...groups.map(({ id }) => ({ counter: id.counter, code }))),
  });
  queue.onLeadership(true);
});

function group(options: { commands?: readonly Command[]; patienceMs?: number } = {}) {
  counter += 1;
  const id = { node: 5n, incarnation: 1, counter };
  const content = { id, notAfter: 50_000, commands: options.commands ?? [eventCommand(ORIGIN, counter)] };
  const bytes = encodeGroup(content);
  return {
    ...waitingGroupOf(content, bytes.length),
    id,
    bytes,
    from: null,
    deadlineMs: clock.monotonicMs() + (options.patienceMs ?? 5000),
  } satisfies QueuedGroup;
}

function countersOf(at: number): number[] {
  return decodeEntry(proposed[at] as Uint8Array).groups.map(({ id }) => id.counter);
}

/** An entry of that many commands is under way. */
function fillPipeline(commands = 2): void {
  queue.offer(Array.from({ length: commands }, () => group()));
}

/** Entries up to this one are decided, cosigned and applied. */
function settle(index: number): void {
  cosignedTo = index;
  queue.onApplied(index);
}

/** Entries 1 to 60, one after another: the queue then knows how long entries take. */
function takeSixtyEntries(eachMs: number): void {
  for (let index = 1; index <= 60; index++) {
    fillPipeline();
    clock.advance(eachMs);
    settle(index);
  }
}

describe("group commit", () => {
  test("proposes at once when nothing is under way", () => {
    queue.offer([group(), group()]);
    expect(proposed).toHaveLength(1);
    expect(countersOf(0)).toEqual([1, 2]);
  });

  test("holds a second entry until its oldest group has waited 3 ms", () => {
    fillPipeline(10);
    queue.offer([group()]);
    clock.advance(2);
    queue.offer([group()]);
    expect(proposed).toHaveLength(1);
    clock.advance(1);
    expect(proposed).toHaveLength(2);
    expect(countersOf(1)).toEqual([11, 12]);
  });

  test("sends a second entry with as many commands as the first, once that has taken 20 ms", () => {
    takeSixtyEntries(100);
    fillPipeline(64);
    clock.advance(19);
    queue.offer(Array.from({ length: 64 }, () => group()));
    expect(proposed).toHaveLength(61);
    clock.advance(1);
    expect(proposed).toHaveLength(62);
    expect(countersOf(61)).toHaveLength(64);
  });

  test("gathers the next writes of those who were answered into one entry with what waits already", () => {
    takeSixtyEntries(8);
    fillPipeline(32);
    queue.offer(Array.from({ length: 31 }, () => group()));
    clock.advance(7);
    settle(61);
    clock.advance(7);
    queue.offer([group()]);
    expect(proposed).toHaveLength(61);
    clock.advance(1);
    expect(proposed).toHaveLength(62);
    expect(countersOf(61)).toHaveLength(32);
    settle(62);
    queue.offer(Array.from({ length: 60 }, () => group()));
    expect(proposed).toHaveLength(63);
  });

  test.each([
    ["the time that entries take", 10, 10],
    ["40 ms at most", 200, 40],
  ])("holds a second entry for %s", (_what, tookMs, waitMs) => {
    takeSixtyEntries(tookMs);
    fillPipeline();
    queue.offer([group()]);
    clock.advance(waitMs - 1);
    expect(proposed).toHaveLength(61);
    clock.advance(1);
    expect(proposed).toHaveLength(62);
  });

  test("counts an entry as under way until it is cosigned, and 50 ms after it is applied at most", () => {
    const fill = (): void => queue.offer([{ ...group(), bytes: new Uint8Array(128 * 1024) }]);
    for (let entry = 0; entry < 3; entry++) fill();
    expect(proposed).toHaveLength(2);
    queue.onApplied(1);
    queue.onDecided();
    clock.advance(49);
    expect(proposed).toHaveLength(2);
    cosignedTo = 1;
    queue.onCosigned();
    expect(proposed).toHaveLength(3);
    fill();
    queue.onApplied(2);
    clock.advance(49);
    expect(proposed).toHaveLength(3);
    clock.advance(1);
    expect(proposed).toHaveLength(4);
    expect(queue.oldestUnappliedMs).toBe(50);
    cosignedTo = 4;
    queue.onCosigned();
    expect(queue.oldestUnappliedMs).toBe(50);
    queue.onApplied(4);
    expect(queue.oldestUnappliedMs).toBe(0);
  });

  test("sends a second entry at once with 128 KiB", () => {
    fillPipeline();
    const large = { ...group(), bytes: new Uint8Array(128 * 1024 - 1) };
    queue.offer([large]);
    expect(proposed).toHaveLength(1);
    expect(queue.depth.bytes).toBe(128 * 1024 - 1);
  });

  test("never has a third entry under way", () => {
    for (let entry = 0; entry < 3; entry++) {
      queue.offer(Array.from({ length: 64 }, () => group()));
      clock.advance(1000);
    }
    expect(proposed).toHaveLength(2);
    settle(1);
    clock.advance(12);
    expect(proposed).toHaveLength(3);
    queue.offer(Array.from({ length: 64 }, () => group()));
    expect(proposed).toHaveLength(3);
  });

  test("takes up its work again when a commit is late news", () => {
    fillPipeline();
    queue.offer([group()]);
    settle(0);
    expect(proposed).toHaveLength(1);
    settle(9);
    expect(proposed).toHaveLength(2);
  });

  test("keeps what the engine did not take, and proposes it later, once", () => {
    takes = false;
    queue.offer([group()]);
    expect(queue.depth.commands).toBe(1);
    takes = true;
    queue.pump();
    queue.pump();
    expect(proposed).toHaveLength(1);
    expect(queue.depth).toEqual({ commands: 0, bytes: 0 });
  });

  test("takes a group once, however often it is offered while it waits", () => {
    takes = false;
    const once = group();
    queue.offer([once, once]);
    queue.offer([once]);
    takes = true;
    queue.pump();
    expect(countersOf(0)).toEqual([1]);
    expect(refused).toEqual([]);
  });

  test("leaves what must be alone in its entry alone", () => {
    takes = false;
    queue.offer([group(), group({ commands: [GENESIS] }), group()]);
    takes = true;
    toRecord = [CERTIFICATE];
    queue.pump();
    settle(1);
    settle(2);
    expect(proposed.map((_payload, at) => countersOf(at))).toEqual([[1], [2], [3]]);
    expect(decodeEntry(proposed[0] as Uint8Array).certificates).toHaveLength(1);
  });
});

describe("refusals", () => {
  test("name what the queue has no room for, and keep the rest", () => {
    takes = false;
    queue.offer(Array.from({ length: 8192 }, () => group()));
    expect(refused).toEqual([]);
    queue.offer([group()]);
    expect(refused).toEqual([{ counter: 8193, code: "overloaded" }]);
    expect(queue.depth.commands).toBe(8192);
  });

  test("name what expired here, which is never proposed", () => {
    takes = false;
    queue.offer([group({ patienceMs: 10 }), group({ patienceMs: 100 })]);
    clock.advance(10);
    takes = true;
    queue.pump();
    expect(refused).toEqual([{ counter: 1, code: "deadline_exceeded" }]);
    expect(countersOf(0)).toEqual([2]);
  });

  test("say no_leader before there is leadership, and to all who wait when it is lost", () => {
    takes = false;
    queue.offer([group()]);
    queue.onLeadership(false);
    queue.offer([group()]);
    expect(refused).toEqual([
      { counter: 1, code: "no_leader" },
      { counter: 2, code: "no_leader" },
    ]);
    takes = true;
    queue.onLeadership(true);
    clock.advance(1000);
    expect(proposed).toEqual([]);
  });

  test("give the gate's reason to clients, those that already wait included; what the group lives by passes", () => {
    takes = false;
    queue.offer([group()]);
    gate = { code: "certification_stalled", detail: "", holds: new Set(["client"]) };
    takes = true;
    queue.offer([group(), group({ commands: [MARK] })]);
    expect(refused).toEqual([
      { counter: 2, code: "certification_stalled" },
      { counter: 1, code: "certification_stalled" },
    ]);
    expect(countersOf(0)).toEqual([3]);
  });

  test("are decided by what a group holds, whoever has sent it", () => {
    const trustRoot: Command = { kind: "trust_root", document: "a document" };
    const revocation: Command = { kind: "revoke_api_key", keyId: new Uint8Array(16) };
    const offered = (holds: Gate["holds"]): number[] => {
      gate = { code: "certification_stalled", detail: "", holds };
      const before = counter;
      const event = eventCommand(ORIGIN, 1);
      const groups = [[event], [revocation], [trustRoot], [MARK], [revocation, event]].map((commands) => ({
        ...group({ commands }),
        from: "b",
      }));
      queue.onLeadership(false);
      queue.onLeadership(true);
      refused = [];
      queue.offer(groups);
      return refused.map((each) => each.counter - before);
    };
    takes = false;
    expect(offered(new Set(["client"]))).toEqual([1, 5]);
    expect(offered(new Set(["client", "operator"]))).toEqual([1, 2, 5]);
    expect(offered(new Set())).toEqual([]);
  });

  test("keep what the group lives by, and certificates, from a clock that must not stamp", () => {
    gate = { code: "clock_unsafe", detail: "", holds: new Set(["client", "operator", "group"]) };
    toRecord = [CERTIFICATE];
    queue.onCosigned();
    queue.offer([group(), group({ commands: [MARK] })]);
    clock.advance(1000);
    queue.pump();
    expect(proposed).toEqual([]);
    expect(refused).toEqual([{ counter: 1, code: "clock_unsafe" }]);
    gate = null;
    queue.pump();
    expect(countersOf(0)).toEqual([2]);
  });

  test("say nothing of groups once they are proposed", () => {
    queue.offer([group({ patienceMs: 5 })]);
    clock.advance(1000);
    queue.onLeadership(false);
    expect(refused).toEqual([]);
  });
});

describe("certificates", () => {
  const certificatesOf = (at: number): readonly Certificate[] => decodeEntry(proposed[at] as Uint8Array).certificates;

  test("ride in the next entry", () => {
    toRecord = [CERTIFICATE];
    queue.onCosigned();
    queue.offer([group()]);
    expect(certificatesOf(0)).toEqual([CERTIFICATE]);
    clock.advance(1000);
    expect(proposed).toHaveLength(1);
  });

  test("get an entry of their own after 25 ms of idleness", () => {
    toRecord = [CERTIFICATE];
    queue.onCosigned();
    clock.advance(24);
    expect(proposed).toEqual([]);
    clock.advance(1);
    expect(certificatesOf(0)).toEqual([CERTIFICATE]);
    expect(decodeEntry(proposed[0] as Uint8Array).certify).toBe(false);
  });

  test("wait while an entry is under way, and are recorded when it is committed", () => {
    fillPipeline();
    toRecord = [CERTIFICATE];
    queue.onCosigned();
    clock.advance(100);
    expect(proposed).toHaveLength(1);
    settle(1);
    clock.advance(25);
    expect(certificatesOf(1)).toEqual([CERTIFICATE]);
  });

  test("are not lost with an entry that the engine did not take", () => {
    takes = false;
    toRecord = [CERTIFICATE];
    queue.onCosigned();
    clock.advance(30);
    takes = true;
    clock.advance(25);
    expect(certificatesOf(0)).toEqual([CERTIFICATE]);
  });

  test("are not lost to an entry that must be alone", () => {
    toRecord = [CERTIFICATE];
    queue.offer([group({ commands: [GENESIS] })]);
    expect(certificatesOf(0)).toEqual([]);
    queue.onCosigned();
    settle(1);
    clock.advance(25);
    expect(certificatesOf(1)).toEqual([CERTIFICATE]);
  });

  test("that an earlier leader did not record are recorded by the next one", () => {
    queue.onLeadership(false);
    toRecord = [CERTIFICATE];
    queue.onLeadership(true);
    clock.advance(25);
    expect(certificatesOf(0)).toEqual([CERTIFICATE]);
  });

  test("are more than one entry may hold only in several entries", () => {
    toRecord = Array.from({ length: 65 }, (_unused, at) => ({ ...CERTIFICATE, treeSize: at + 1 }));
    queue.onCosigned();
    clock.advance(25);
    settle(1);
    clock.advance(25);
    expect(proposed.map((_payload, at) => certificatesOf(at).length)).toEqual([64, 1]);
  });

  test("leave no timer behind when the queue closes", () => {
    toRecord = [CERTIFICATE];
    queue.onCosigned();
    fillPipeline();
    toRecord = [CERTIFICATE];
    queue.onCosigned();
    queue.offer([group()]);
    queue.close();
    expect(clock.timerCount).toBe(0);
  });
});

test("an entry has the version of the rules that are in force when it is proposed", () => {
  queue.offer([group()]);
  entryVersion = 2;
  settle(1);
  queue.offer([group()]);
  expect(proposed.map((payload) => decodeEntry(payload, NEXT_RULES).version)).toEqual([1, 2]);
});
